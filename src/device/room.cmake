# The CPU device is a library of its own (device_ptx): it needs neither torch nor CUDA, and its tests
# link without them. Its executor (ptx/isa) is compiled twice, for x86-64-v3 and for any x86-64; the
# better one is chosen at start.
get_target_property(device_sources room_device SOURCES)
set(ptx_sources ${device_sources})
list(FILTER ptx_sources INCLUDE REGEX "/device/ptx/")
list(FILTER device_sources EXCLUDE REGEX "/device/ptx/")
list(FILTER ptx_sources EXCLUDE REGEX "/ptx/disabled\\.cpp$")

if(CUDAAGENT_CPU_DEVICE)
  set(ptx_isa_sources ${ptx_sources})
  list(FILTER ptx_isa_sources INCLUDE REGEX "/ptx/isa/")
  list(FILTER ptx_sources EXCLUDE REGEX "/ptx/isa/")

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

  add_library(device_ptx STATIC ${ptx_sources} $<TARGET_OBJECTS:device_ptx_baseline>
              $<TARGET_OBJECTS:device_ptx_v3>)
  target_include_directories(device_ptx PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(device_ptx PUBLIC tl::expected Threads::Threads PRIVATE cudaagent_warnings)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(device_ptx PRIVATE -O2)
  endif()
else()
  add_library(device_ptx STATIC ${CMAKE_SOURCE_DIR}/src/device/ptx/disabled.cpp
              ${CMAKE_SOURCE_DIR}/src/device/ptx/gpu_model.cpp)
  target_include_directories(device_ptx PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(device_ptx PUBLIC tl::expected PRIVATE cudaagent_warnings)
endif()

set_target_properties(room_device PROPERTIES SOURCES "${device_sources}")
target_link_libraries(room_device PUBLIC device_ptx)
