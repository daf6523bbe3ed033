# Stand-ins for the real programs, under their names.
foreach(fake worker compiler)
  add_executable(fake_${fake} ${CMAKE_CURRENT_SOURCE_DIR}/programs/fake_${fake}.cpp)
  target_link_libraries(fake_${fake} PRIVATE room_protocol cudaagent_warnings)
  set_target_properties(fake_${fake} PROPERTIES
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fakes)
  if(TARGET evaluate_test)
    add_dependencies(evaluate_test fake_${fake})
  endif()
endforeach()
set_target_properties(fake_worker PROPERTIES OUTPUT_NAME cudaagent-worker)
set_target_properties(fake_compiler PROPERTIES OUTPUT_NAME cudaagent-compile)
