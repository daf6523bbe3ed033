# The whole worker as the driver sees it: the real programs as children. One entry, because starting a
# worker (importing torch) takes seconds and all tests of a file share one.
function(cudaagent_worker_process_tests program label)
  add_executable(${program} ${ARGN})
  target_link_libraries(${program} PRIVATE room_worker GTest::gtest GTest::gmock GTest::gtest_main
                        cudaagent_warnings)
  target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${program} PRIVATE
    CUDAAGENT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" CUDAAGENT_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  foreach(needed cudaagent-worker cudaagent-compile)
    if(TARGET ${needed})
      add_dependencies(${program} ${needed})
    endif()
  endforeach()
  add_test(NAME worker.${program} COMMAND ${program})
  set_tests_properties(worker.${program} PROPERTIES LABELS ${label} TIMEOUT 900)
endfunction()

set(worker_process_dir ${CMAKE_CURRENT_SOURCE_DIR}/worker/process)
cudaagent_worker_process_tests(worker_process_test cpu ${worker_process_dir}/worker_cpu_test.cpp)
cudaagent_worker_process_tests(worker_process_gpu_test gpu ${worker_process_dir}/worker_gpu_test.cpp)
