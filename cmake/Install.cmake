# cmake --install BUILD --prefix DIR. The three programs lie side by side and find each other so; prompts, kernel
# templates, device headers and the worker's Python are inside them. The worker goes on using the Python
# and torch it was built for.
if(TARGET cudaagent)
  # Made by the program itself, so the build comes first, as with every install.
  install(CODE "
    foreach(row bash:share/bash-completion/completions/cudaagent zsh:share/zsh/site-functions/_cudaagent
                fish:share/fish/vendor_completions.d/cudaagent.fish)
      string(REGEX MATCH \"^[a-z]+\" shell \${row})
      string(REGEX REPLACE \"^[a-z]+:\" \"\" path \${row})
      set(script \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${path}\")
      get_filename_component(folder \${script} DIRECTORY)
      file(MAKE_DIRECTORY \${folder})
      execute_process(COMMAND \"$<TARGET_FILE:cudaagent>\" completion \${shell} OUTPUT_FILE \${script} COMMAND_ERROR_IS_FATAL ANY)
      message(STATUS \"Installing: \${script}\")
    endforeach()")
endif()
install(FILES configs/default.toml configs/candidate.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/cudaagent)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
