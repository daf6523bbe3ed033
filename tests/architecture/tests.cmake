# The arrows of CMakeLists.txt against every #include, and what the driver may link.
string(REPLACE ";" "\n" arrow_lines "${arrows}")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/arrows.txt "${arrow_lines}\n")
add_executable(architecture_test architecture/includes_test.cpp)
target_link_libraries(architecture_test PRIVATE GTest::gtest GTest::gtest_main cudaagent_warnings)
target_compile_definitions(architecture_test PRIVATE
  CUDAAGENT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" CUDAAGENT_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
  CUDAAGENT_ARROWS_FILE="${CMAKE_CURRENT_BINARY_DIR}/arrows.txt")
gtest_discover_tests(architecture_test TEST_PREFIX "architecture." PROPERTIES LABELS unit)
