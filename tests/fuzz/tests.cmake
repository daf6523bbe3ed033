# Fuzz targets: tests/fuzz/<name>_fuzz.cpp with libFuzzer's entry point. With clang and the preset `fuzz`
# they are libFuzzer programs; any other compiler gets mutation_main.cpp. ctest runs each for
# $CUDAAGENT_FUZZ_SECONDS (5) from the seeds in its folder of corpus/ and what else is named here.
function(cudaagent_fuzz name)
  cmake_parse_arguments(ARG "" "" "LIBS;SEEDS" ${ARGN})
  add_executable(fuzz_${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}_fuzz.cpp)
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_LIBS} cudaagent_warnings)
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  if(CUDAAGENT_LIBFUZZER)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/mutation_main.cpp)
  endif()
  set(work ${CMAKE_CURRENT_BINARY_DIR}/fuzz/${name})  # libFuzzer keeps what it learnt in the first folder
  file(MAKE_DIRECTORY ${work}/learnt)
  list(TRANSFORM ARG_SEEDS PREPEND "${CMAKE_SOURCE_DIR}/")
  string(REPLACE ";" " " seeds "${ARG_SEEDS}")
  add_test(NAME fuzz.${name} WORKING_DIRECTORY ${work} COMMAND sh -c
    "exec $<TARGET_FILE:fuzz_${name}> -max_total_time=\${CUDAAGENT_FUZZ_SECONDS:-5} -timeout=20 -rss_limit_mb=4096 learnt ${seeds}")
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 1200)
endfunction()

set(corpus tests/fuzz/corpus)
cudaagent_fuzz(plan       LIBS room_candidate SEEDS ${corpus}/plan kernels/faulty)
cudaagent_fuzz(expression LIBS room_candidate SEEDS ${corpus}/expression)
cudaagent_fuzz(settings   LIBS room_config    SEEDS ${corpus}/settings)
cudaagent_fuzz(frame      LIBS room_protocol  SEEDS ${corpus}/message)
cudaagent_fuzz(result     LIBS room_protocol room_graph SEEDS ${corpus}/result)
if(CUDAAGENT_CPU_DEVICE)
  cudaagent_fuzz(ptx      LIBS device_ptx     SEEDS ${corpus}/ptx)
endif()
if(EXISTS ${CMAKE_SOURCE_DIR}/src/llm/sse.h)
  cudaagent_fuzz(sse      LIBS room_llm       SEEDS ${corpus}/sse)
endif()
