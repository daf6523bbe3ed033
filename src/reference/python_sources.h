// python/cudaagent_reference/*.py as text in the binary; the definition is generated (room.cmake).
#pragma once

#include <vector>

namespace cudaagent::reference {

struct PythonSource {
  const char* name;  // file name without ".py"
  const char* text;
};
const std::vector<PythonSource>& PythonSources();

}  // namespace cudaagent::reference
