# Third-party libraries, found on the system (package names in README.md).
option(CUDAAGENT_FETCH_DEPS "Fetch libraries that the system lacks, at pinned commits" OFF)

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(CURL REQUIRED)
find_package(SQLite3 3.37 REQUIRED)  # STRICT tables

# Library and Debian's package of it. CMAKE_DISABLE_FIND_PACKAGE_<library> makes one count as missing.
set(libraries nlohmann_json nlohmann-json3-dev  spdlog libspdlog-dev  CLI11 libcli11-dev
              tl-expected libexpected-dev  tomlplusplus libtomlplusplus-dev)
if(CUDAAGENT_BUILD_TESTS)
  list(APPEND libraries GTest "libgtest-dev and libgmock-dev")
endif()
set(missing "")
while(libraries)
  list(POP_FRONT libraries library package)
  find_package(${library} QUIET)
  if(NOT ${library}_FOUND)
    list(APPEND missing ${package})
  endif()
endwhile()
if(missing AND CUDAAGENT_FETCH_DEPS)
  include(FetchDependencies)
  cudaagent_fetch_missing()
elseif(missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "Libraries are missing. Install ${missing} (Debian 12, Ubuntu 24.04), or run scripts/run, which "
          "does; or configure with -DCUDAAGENT_FETCH_DEPS=ON, which fetches them.")
endif()

# CUDA headers, NVRTC and CUPTI: the toolkit, else the wheels beside torch (cmake/Torch.cmake).
# Nothing CUDA is linked: NVRTC, CUPTI and the driver are taken by dlopen.
