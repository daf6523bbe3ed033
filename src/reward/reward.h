// Rewards: pure functions of an evaluation. Definitions in docs/rewards.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudaagent/evaluation.h"

namespace cudaagent::reward {

// "More than 5 % faster" as the CUDA-Agent paper writes it (arXiv 2602.24286, equation 1):
// (t_baseline - t) / t_baseline > 0.05, that is a speedup above 1 / 0.95.
inline constexpr double kSignificantSpeedup = 1.0 / 0.95;

// The names Compute() knows, the default first.
const std::vector<std::string>& Names();

// The reward `name` gives, or nullopt where the evaluation carries none: infra_error and
// unsupported (nobody's lesson), and an unknown name. A wrong candidate gets the reward's floor.
//   milestone        -1 wrong, 1 correct, 2 significantly faster than eager, 3 than eager and
//                    torch.compile; judged on the lower end of the 95 % interval
//   milestone-paper  the same on the medians
//   log-speedup      ln(speedup over the deciding baseline), 0 inside its interval around 1, -1
//   wrong speedup          speedup over the deciding baseline, 0 wrong sol              share of
//   the speed of light that is reached, at most 1; 0 wrong, or not known weighted         0.3
//   compiled + 0.4 correct + 0.3 * speedup (at most 3), less 0.1 where that is below
//                    1; -0.5 no code or not compiled, -0.3 wrong (KernelGYM's weights)
//   fast1            1 where the deciding speedup's lower end is above 1, else 0
// A speedup that was not measured earns nothing beyond "correct".
std::optional<double> Compute(std::string_view name, const Evaluation& evaluation);

// The speedup that decides: over torch.compile where the protocol names it and it was measured,
// else over eager; nullopt where neither was measured.
std::optional<Speedup> DecidingSpeedup(const Evaluation& evaluation);

}  // namespace cudaagent::reward
