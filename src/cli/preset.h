// --preset: the rules of a published evaluation, as near as this tool keeps to them
// (docs/measurement.md lists each exactly, and what differs).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"

namespace cudaagent::cli {

// "verified" first, which changes nothing.
std::vector<std::string> PresetNames();

// Whether presets decide a flag ("--mode") that is not given.
bool DecidedByPresets(std::string_view flag);

// Sets what `flags.preset` says and `command` was not given by flag, variable or settings file.
void ApplyPreset(const CLI::App& command, ProblemFlags& problem, EvalFlags& flags);

}  // namespace cudaagent::cli
