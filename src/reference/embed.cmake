# cmake -DDIR=<folder of .py files> -DOUT=<.cpp> -P embed.cmake: the files as C++ string literals.
file(GLOB files ${DIR}/*.py)
list(SORT files)
set(text "#include \"reference/python_sources.h\"\n\nnamespace cudaagent::reference {\n\n")
string(APPEND text "const std::vector<PythonSource>& PythonSources() {\n"
                   "  static const std::vector<PythonSource> sources = {\n")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} content)
  string(APPEND text "      {\"${name}\", R\"PYTHON__(${content})PYTHON__\"},\n")
endforeach()
string(APPEND text "  };\n  return sources;\n}\n\n}  // namespace cudaagent::reference\n")
file(WRITE ${OUT} "${text}")
