// The README beside a best kernel.
#pragma once

#include <string>
#include <vector>

#include "cudaagent/attempt.h"
#include "cudaagent/problem.h"

namespace cudaagent::store {

// Markdown: what it is for, its figures with interval, device, protocol and versions, and the
// command that checks it again. `recheck` are the words of that command, quoted as a shell needs.
std::string BestReadme(const Attempt& attempt, const ProblemSpec& spec,
                       const std::vector<std::string>& recheck);

// A word as a POSIX shell reads it back unchanged.
std::string ShellQuote(const std::string& word);

}  // namespace cudaagent::store
