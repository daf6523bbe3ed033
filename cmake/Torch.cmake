# The one Python and torch the worker is built for, and CUDA headers for it.
# CUDAAGENT_PYTHON names the interpreter; empty = ./.venv, else python3.
if(NOT CUDAAGENT_PYTHON)
  if(DEFINED ENV{CUDAAGENT_PYTHON} AND NOT "$ENV{CUDAAGENT_PYTHON}" STREQUAL "")
    set(python "$ENV{CUDAAGENT_PYTHON}")
  elseif(EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
    set(python ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  else()
    find_program(python NAMES python3)
  endif()
  set(CUDAAGENT_PYTHON "${python}" CACHE FILEPATH "The Python whose torch the worker is built for" FORCE)
endif()

set(Python3_EXECUTABLE "${CUDAAGENT_PYTHON}")
set(Python3_FIND_VIRTUALENV STANDARD)
find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Embed)

execute_process(
  COMMAND ${CUDAAGENT_PYTHON} -c "
import os, importlib.util as u
s = u.find_spec('torch')
assert s, 'torch is not installed'
root = os.path.dirname(s.origin)
ns = {}
exec(open(os.path.join(root, 'version.py')).read(), ns)
wheels = os.path.join(os.path.dirname(root), 'nvidia', 'cu13')
print(root, ns['__version__'], wheels if os.path.isdir(wheels) else '-', sep=';', end='')"
  OUTPUT_VARIABLE torch_facts RESULT_VARIABLE torch_failed ERROR_VARIABLE torch_error)
if(torch_failed)
  message(FATAL_ERROR "${CUDAAGENT_PYTHON} has no usable torch: ${torch_error}\n"
          "Run scripts/run, which makes .venv with torch, or set CUDAAGENT_PYTHON.")
endif()
list(GET torch_facts 0 CUDAAGENT_TORCH_ROOT)
list(GET torch_facts 1 CUDAAGENT_TORCH_VERSION)
list(GET torch_facts 2 CUDAAGENT_CUDA_WHEELS)

# CUDA headers: the toolkit where there is one, else the wheels.
find_path(CUDAAGENT_CUDA_INCLUDE crt/host_config.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda ${CUDAAGENT_CUDA_WHEELS}
  PATH_SUFFIXES include NO_DEFAULT_PATH)
if(NOT CUDAAGENT_CUDA_INCLUDE)
  message(FATAL_ERROR "No CUDA headers: neither a toolkit (CUDA_HOME, /usr/local/cuda) nor the wheels "
          "beside torch (${CUDAAGENT_CUDA_WHEELS}) have crt/host_config.h.")
endif()
find_path(CUDAAGENT_CUPTI_INCLUDE cupti.h
  HINTS ${CUDAAGENT_CUDA_INCLUDE} ${CUDAAGENT_CUDA_INCLUDE}/../extras/CUPTI/include
        ${CUDAAGENT_CUDA_WHEELS}/include NO_DEFAULT_PATH)
message(STATUS "Worker: Python ${Python3_VERSION}, torch ${CUDAAGENT_TORCH_VERSION} in "
        "${CUDAAGENT_TORCH_ROOT}, CUDA headers in ${CUDAAGENT_CUDA_INCLUDE}")

add_library(cudaagent_torch INTERFACE)
target_include_directories(cudaagent_torch SYSTEM INTERFACE
  ${CUDAAGENT_TORCH_ROOT}/include ${CUDAAGENT_TORCH_ROOT}/include/torch/csrc/api/include
  ${CUDAAGENT_CUDA_INCLUDE} ${CUDAAGENT_CUPTI_INCLUDE})
set(torch_lib ${CUDAAGENT_TORCH_ROOT}/lib)
target_link_directories(cudaagent_torch INTERFACE ${torch_lib})
target_link_libraries(cudaagent_torch INTERFACE
  ${torch_lib}/libtorch_python.so ${torch_lib}/libtorch.so ${torch_lib}/libtorch_cuda.so
  ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10_cuda.so ${torch_lib}/libc10.so
  Python3::Python dl)
# One C++ runtime: torch's exceptions must be ours. libtorch.so exports a std::filesystem of its own, so
# libstdc++ comes first in the link order. A toolchain that has libstdc++ as an archive only would bring a
# second runtime: the system's shared one takes its place.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.so
                OUTPUT_VARIABLE shared_libstdcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
if(IS_ABSOLUTE "${shared_libstdcxx}")
  set(first_of_all -lstdc++)
else()
  find_file(CUDAAGENT_LIBSTDCXX libstdc++.so.6
            PATHS /usr/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu /usr/lib64 /usr/lib REQUIRED)
  set(first_of_all -nostdlib++ ${CUDAAGENT_LIBSTDCXX} -lm)
endif()
string(REPLACE ";" " " first_of_all "${first_of_all}")
target_link_options(cudaagent_torch INTERFACE
  "SHELL:-Wl,--push-state,--no-as-needed ${first_of_all} -Wl,--pop-state")
# The libraries torch itself needs are found through its own RUNPATHs, not at our link.
target_link_options(cudaagent_torch INTERFACE
  -Wl,-rpath,${torch_lib} -Wl,--no-as-needed -Wl,--allow-shlib-undefined)
# torch's include folder carries an fmt of its own, newer than the system's: use it without a library.
target_compile_definitions(cudaagent_torch INTERFACE FMT_HEADER_ONLY=1
  CUDAAGENT_PYTHON="${CUDAAGENT_PYTHON}" CUDAAGENT_TORCH_VERSION="${CUDAAGENT_TORCH_VERSION}")
