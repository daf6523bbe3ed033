# service_test.cpp starts the program itself.
if(TARGET compile_test AND TARGET cudaagent-compile)
  add_dependencies(compile_test cudaagent-compile)
endif()
