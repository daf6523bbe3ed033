# Warnings for our own code; third-party headers are SYSTEM.
option(CUDAAGENT_WERROR "Treat warnings as errors" OFF)

add_library(cudaagent_warnings INTERFACE)
target_compile_options(cudaagent_warnings INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
# GCC 12 sees overlapping copies and overflows inside std::string and std::atomic that are not there.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(cudaagent_warnings INTERFACE -Wno-restrict -Wno-stringop-overflow)
endif()
if(CUDAAGENT_WERROR)
  target_compile_options(cudaagent_warnings INTERFACE -Werror)
endif()
