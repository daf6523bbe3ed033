// The commands. Each adds itself to the parser and returns what runs when it was chosen: a function
// that prints its result to stdout and returns the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cudaagent/result.h"

namespace cudaagent::cli {

using Command = std::function<int()>;

Command AddOptimize(CLI::App& app, const std::vector<std::string>& argv);
Command AddEval(CLI::App& app);
Command AddInit(CLI::App& app);
Command AddDescribe(CLI::App& app);
Command AddDoctor(CLI::App& app);
Command AddReplay(CLI::App& app, const std::vector<std::string>& argv);
Command AddRuns(CLI::App& app);
Command AddBest(CLI::App& app);
Command AddExport(CLI::App& app);

// Prints "cudaagent: message" to stderr and returns the error's exit code. With `json`, also one
// document {"schema":1,"error":{"code","message"}} to stdout.
int Report(const Error& error, bool json);

// Writes all of `text` to stdout; a broken pipe is no error, any other failure is kEnvironment.
Result<void> Print(const std::string& text);

}  // namespace cudaagent::cli
