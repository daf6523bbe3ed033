# The installed programs, used from where they were installed.
if(TARGET cudaagent AND TARGET cudaagent-compile AND TARGET cudaagent-worker)
  add_test(NAME install.ProgramsWorkFromAnInstalledPlace
           COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/install_test.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_COMMAND})
  set_tests_properties(install.ProgramsWorkFromAnInstalledPlace PROPERTIES LABELS e2e TIMEOUT 300)
endif()
