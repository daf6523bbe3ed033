// A file that a person named for output.
#pragma once

#include <string>

#include "cudaagent/result.h"

namespace cudaagent::cli {

// "-" is stdout. A plain file is replaced in one step, also behind a symbolic link; a device, a
// pipe or a terminal is written to. kEnvironment names the path and what is wrong.
Result<void> WriteOutputFile(const std::string& path, const std::string& text);

// Whether that will be possible, as far as can be known before: nothing is replaced or left behind.
// For use before hours of work.
Result<void> TryOutputFile(const std::string& path);

}  // namespace cudaagent::cli
