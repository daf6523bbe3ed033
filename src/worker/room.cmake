# The worker runs in the one Python it was built for; reference::StartPython checks that it does.
target_compile_definitions(room_worker PRIVATE CUDAAGENT_PYTHON_VERSION="${Python3_VERSION}")
# In record_function.h a check that libtorch, built with NDEBUG, never prepares for would fire.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/worker/op_recorder.cpp PROPERTIES
                            COMPILE_DEFINITIONS NDEBUG)
