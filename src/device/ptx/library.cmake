# The CPU device is a library of its own (device_ptx): it needs neither torch nor CUDA, and its tests and
# fuzz target link without them. Its executor (ptx/isa) is compiled twice, for x86-64-v3 and for any
# x86-64; the better one is chosen at start.
if(CUDAAGENT_CPU_DEVICE)
  file(GLOB ptx_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
  list(FILTER ptx_sources EXCLUDE REGEX "/ptx/disabled\\.cpp$")
  file(GLOB_RECURSE ptx_isa_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/isa/*.cpp)

  # Strict IEEE: no contraction; no errno and no floating-point traps, so that loops vectorise. Always
  # optimised: an interpreter built -O0 is of no use to a test either.
  set(ptx_isa_flags -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing)
  foreach(isa v3 baseline)
    add_library(device_ptx_${isa} OBJECT ${ptx_isa_sources})
    target_include_directories(device_ptx_${isa} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(device_ptx_${isa} PRIVATE tl::expected cudaagent_warnings)
    target_compile_options(device_ptx_${isa} PRIVATE ${ptx_isa_flags})
    target_compile_definitions(device_ptx_${isa} PRIVATE PTX_ISA=${isa})
  endforeach()
  target_compile_options(device_ptx_v3 PRIVATE -march=x86-64-v3)

  add_library(device_ptx STATIC ${CMAKE_CURRENT_LIST_DIR}/../module.cpp ${ptx_sources} $<TARGET_OBJECTS:device_ptx_baseline>
              $<TARGET_OBJECTS:device_ptx_v3>)
  target_include_directories(device_ptx PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(device_ptx PUBLIC tl::expected Threads::Threads PRIVATE cudaagent_warnings)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(device_ptx PRIVATE -O2)
  endif()
else()
  add_library(device_ptx STATIC ${CMAKE_CURRENT_LIST_DIR}/../module.cpp ${CMAKE_CURRENT_LIST_DIR}/disabled.cpp ${CMAKE_CURRENT_LIST_DIR}/gpu_model.cpp)
  target_include_directories(device_ptx PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(device_ptx PUBLIC tl::expected PRIVATE cudaagent_warnings)
endif()
