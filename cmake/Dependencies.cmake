# Third-party libraries, found on the system (package names in README.md).
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(CURL REQUIRED)
find_package(SQLite3 3.37 REQUIRED)  # STRICT tables

macro(cudaagent_require package debian)
  if(NOT ${package}_FOUND)
    find_package(${package} CONFIG QUIET)
  endif()
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found. Install ${debian} (Debian 12, Ubuntu 24.04), or run "
            "scripts/run, which does.")
  endif()
endmacro()

cudaagent_require(nlohmann_json nlohmann-json3-dev)
cudaagent_require(spdlog libspdlog-dev)
cudaagent_require(CLI11 libcli11-dev)
cudaagent_require(tl-expected libexpected-dev)
if(CUDAAGENT_BUILD_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "GoogleTest was not found. Install libgtest-dev and libgmock-dev, or configure "
            "with -DCUDAAGENT_BUILD_TESTS=OFF.")
  endif()
endif()

# CUDA headers, NVRTC and CUPTI: the toolkit, else the wheels beside torch (cmake/Torch.cmake).
# Nothing CUDA is linked: NVRTC, CUPTI and the driver are taken by dlopen.
