// Can this problem tell work from none? Probes are answers that no honest kernel gives: where one
// passes, so would a kernel that does nothing, and no speedup on the problem means anything.
#pragma once

#include <string>

#include "cudaagent/result.h"
#include "reference/reference.h"

namespace cudaagent::verify {

// Why the problem is degenerate at `tier`, as a clause ("zeros pass as out0"), or "" where every
// probe fails. A probe must pass with inputs as generated and in every hidden variant that applies.
// Probes: zeros; one constant; a copy of an input; the output for other inputs. The reference runs
// two to six times; its parameters are as before when it returns.
Result<std::string> FindDegenerate(reference::Reference& reference, const std::string& tier);

}  // namespace cudaagent::verify
