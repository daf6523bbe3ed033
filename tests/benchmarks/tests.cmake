# Benchmark scripts against a program that only pretends; standard library alone.
find_program(CUDAAGENT_TEST_PYTHON python3 REQUIRED)
file(GLOB script_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.py)
foreach(script IN LISTS script_tests)
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME benchmarks.${name} COMMAND ${CUDAAGENT_TEST_PYTHON} ${script})
  set_tests_properties(benchmarks.${name} PROPERTIES LABELS unit TIMEOUT 300)
endforeach()
