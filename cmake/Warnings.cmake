# Warnings for our own code; third-party headers are SYSTEM.
option(CUDAAGENT_WERROR "Treat warnings as errors" OFF)

add_library(cudaagent_warnings INTERFACE)
target_compile_options(cudaagent_warnings INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
if(CUDAAGENT_WERROR)
  target_compile_options(cudaagent_warnings INTERFACE -Werror)
endif()
