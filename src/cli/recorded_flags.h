// A command's flags as data: what a run was started with, kept so that it can be resumed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "store/stored_run.h"

namespace cudaagent::cli {

// Every option that was given, by flag or environment, under its long name ("--dtype", "MODEL");
// paths made absolute. Left out is what says where and how to speak: --out, --json, --quiet,
// --resume.
store::FlagValues GivenFlags(const CLI::App& command);

// The flags a resumed run goes on with: the recorded ones, and of `given` those that only say when
// to stop. kUsage names a flag that contradicts the run, or --attempts lowered.
Result<store::FlagValues> ResumedFlags(const CLI::App& command, const store::FlagValues& recorded,
                                       const store::FlagValues& given);

// The words that CLI11 reads as these flags.
std::vector<std::string> Words(const store::FlagValues& flags);

}  // namespace cudaagent::cli
