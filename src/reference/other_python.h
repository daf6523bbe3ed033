// A Python named at run time must be the worker's twin: the same version, the same torch.
#pragma once

#include <string>

#include "cudaagent/result.h"

namespace cudaagent::reference {

// Asks the interpreter itself. kEnvironment where it does not start, does not answer within 20
// seconds, or is another one.
Result<void> CheckSamePython(const std::string& executable);

// "The worker was built for Python 3.11 with torch 2.11.0 (...), but ... has `found`. ..."
std::string WrongPython(const std::string& executable, const std::string& found);

}  // namespace cudaagent::reference
