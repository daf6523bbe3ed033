# The CPU device's tests link device_ptx alone: no torch, no CUDA.
if(NOT CUDAAGENT_CPU_DEVICE)
  return()
endif()
file(GLOB ptx_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/ptx/*.cpp)
list(FILTER ptx_tests EXCLUDE REGEX "_gpu_test\\.cpp$")
add_executable(device_ptx_test ${ptx_tests})
target_link_libraries(device_ptx_test PRIVATE device_ptx GTest::gtest GTest::gmock GTest::gtest_main
                      ${CMAKE_DL_LIBS} cudaagent_warnings)
target_include_directories(device_ptx_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(device_ptx_test PRIVATE CUDAAGENT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
gtest_discover_tests(device_ptx_test TEST_PREFIX "device." PROPERTIES LABELS cpu TIMEOUT 300
                     DISCOVERY_TIMEOUT 120)

# Both devices side by side.
if(TARGET device_gpu_test)
  target_sources(device_gpu_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/ptx/agreement_gpu_test.cpp
                 ${CMAKE_CURRENT_LIST_DIR}/ptx/nvrtc.cpp)
endif()
