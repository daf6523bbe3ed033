# With -DCUDAAGENT_FETCH_DEPS=ON, libraries that the system lacks are fetched: each at one commit, named by
# its full hash. For machines with a network but without the packages; OpenSSL and libcurl always come from
# the system. FETCHCONTENT_SOURCE_DIR_<NAME> takes a checkout of yours instead.
include(FetchContent)
set(FETCHCONTENT_TRY_FIND_PACKAGE_MODE OPT_IN)

# cudaagent_fetch(<package> <GitHub owner/name> <commit, the release it is> [SOURCE_SUBDIR <folder>])
function(cudaagent_fetch package repository commit)
  FetchContent_Declare(${package} SYSTEM GIT_REPOSITORY https://github.com/${repository}.git GIT_TAG ${commit}
                       ${ARGN})
  FetchContent_MakeAvailable(${package})
  set(${package}_SOURCE_DIR ${${package}_SOURCE_DIR} PARENT_SCOPE)
  message(STATUS "${package}: from ${${package}_SOURCE_DIR}")
endfunction()

set(JSON_Install OFF)
set(JSON_BuildTests OFF)
set(SPDLOG_INSTALL OFF)
set(CLI11_INSTALL OFF)
set(INSTALL_GTEST OFF)

macro(cudaagent_fetch_missing)
  if(NOT nlohmann_json_FOUND)
    cudaagent_fetch(nlohmann_json nlohmann/json 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03)  # 3.11.3
  endif()
  if(NOT spdlog_FOUND)
    cudaagent_fetch(spdlog gabime/spdlog 7e635fca68d014934b4af8a1cf874f63989352b7)  # 1.12.0
  endif()
  if(NOT CLI11_FOUND)
    cudaagent_fetch(CLI11 CLIUtils/CLI11 f4d0731cebb123ff0ace712c099dffbcd2c58e5a)  # 2.4.1
  endif()
  if(NOT tl-expected_FOUND)
    # Header only; its own build would install itself and make packages.
    cudaagent_fetch(tl-expected TartanLlama/expected 292eff8bd8ee230a7df1d6a1c00c4ea0eb2f0362  # 1.1.0
                    SOURCE_SUBDIR only-its-headers)
    add_library(tl_expected INTERFACE)
    add_library(tl::expected ALIAS tl_expected)
    target_include_directories(tl_expected SYSTEM INTERFACE ${tl-expected_SOURCE_DIR}/include)
  endif()
  if(NOT tomlplusplus_FOUND)
    cudaagent_fetch(tomlplusplus marzer/tomlplusplus 30172438cee64926dc41fdd9c11fb3ba5b2ba9de)  # 3.4.0
  endif()
  if(CUDAAGENT_BUILD_TESTS AND NOT GTest_FOUND)
    cudaagent_fetch(googletest google/googletest f8d7d77c06936315286eb55f8de22cd23c188571)  # 1.14.0
  endif()
endmacro()
