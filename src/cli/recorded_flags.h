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

// Sets what `app`, which has `command` as its one command, binds as these flags say. kUsage where
// this version does not take one of them.
Result<void> ParseRecorded(const std::string& command, const store::FlagValues& flags,
                           CLI::App& app);

}  // namespace cudaagent::cli
