// A file that a person named for output.
#pragma once

#include <string>

#include "cudaagent/result.h"

namespace cudaagent::cli {

// "-" is stdout. A plain file is replaced in one step, also behind a symbolic link; a device, a pipe
// or a terminal is written to. kEnvironment names the path and what is wrong.
Result<void> WriteOutputFile(const std::string& path, const std::string& text);

}  // namespace cudaagent::cli
