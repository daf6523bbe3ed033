# The worker runs in the one Python it was built for; reference::StartPython checks that it does.
target_compile_definitions(room_worker PRIVATE CUDAAGENT_PYTHON_VERSION="${Python3_VERSION}")
