# The worker's Python files travel inside its binary (python/cudaagent_reference/bootstrap.py).
set(reference_python_dir ${CMAKE_SOURCE_DIR}/python/cudaagent_reference)
file(GLOB reference_python CONFIGURE_DEPENDS ${reference_python_dir}/*.py)
set(reference_embedded ${CMAKE_BINARY_DIR}/generated/reference_python_sources.cpp)
add_custom_command(
  OUTPUT ${reference_embedded}
  COMMAND ${CMAKE_COMMAND} -DDIR=${reference_python_dir} -DOUT=${reference_embedded}
          -P ${CMAKE_SOURCE_DIR}/src/reference/embed.cmake
  DEPENDS ${reference_python} ${CMAKE_SOURCE_DIR}/src/reference/embed.cmake
  VERBATIM)
target_sources(${target} PRIVATE ${reference_embedded})
