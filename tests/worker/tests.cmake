# The tests start the real programs.
foreach(program cudaagent-worker cudaagent-compile)
  if(TARGET ${program})
    add_dependencies(worker_test ${program})
    if(TARGET worker_gpu_test)
      add_dependencies(worker_gpu_test ${program})
    endif()
  endif()
endforeach()
