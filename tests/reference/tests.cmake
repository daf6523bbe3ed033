# One process for all tests that start Python: importing torch takes seconds each time.
file(GLOB reference_python_tests CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_SOURCE_DIR}/reference/python/*.cpp)
add_executable(reference_python_test ${reference_python_tests})
target_link_libraries(reference_python_test PRIVATE room_reference GTest::gtest GTest::gmock
                      GTest::gtest_main cudaagent_warnings)
target_include_directories(reference_python_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(reference_python_test PRIVATE
  CUDAAGENT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
add_test(NAME reference.python COMMAND reference_python_test)
set_tests_properties(reference.python PROPERTIES LABELS unit TIMEOUT 300)
target_sources(reference_gpu_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/reference/python/models.cpp)
