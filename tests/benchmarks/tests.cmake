# Benchmark scripts against a program that only pretends; standard library alone.
find_program(CUDAAGENT_TEST_PYTHON python3 REQUIRED)
file(GLOB script_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.py)
foreach(script IN LISTS script_tests)
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME benchmarks.${name} COMMAND ${CUDAAGENT_TEST_PYTHON} ${script})
  set_tests_properties(benchmarks.${name} PROPERTIES LABELS unit TIMEOUT 300)
endforeach()

# Every candidate of kernels/hacks gets its verdict without a GPU too.
if(TARGET cudaagent AND TARGET cudaagent-compile AND TARGET cudaagent-worker AND CUDAAGENT_CPU_DEVICE)
  add_test(NAME corpus.EveryCandidateGetsItsVerdictOnTheCpuDevice
           COMMAND ${CUDAAGENT_TEST_PYTHON} ${CMAKE_SOURCE_DIR}/benchmarks/corpus.py --cudaagent
                   $<TARGET_FILE:cudaagent> --device cpu --jobs 2 --seed 1)
  set_tests_properties(corpus.EveryCandidateGetsItsVerdictOnTheCpuDevice
                       PROPERTIES LABELS "e2e;corpus" TIMEOUT 600 PROCESSORS 2)
endif()
