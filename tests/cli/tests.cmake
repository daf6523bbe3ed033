# The commands that need no worker are tested through the program itself.
add_dependencies(cli_test cudaagent)
target_link_libraries(cli_test PRIVATE nlohmann_json::nlohmann_json)
