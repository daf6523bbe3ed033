// The commands. Each adds itself to the parser and returns what runs when it was chosen: a function
// that prints its result to stdout and returns the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cudaagent/result.h"

namespace cudaagent::cli {

using Command = std::function<int()>;

Command AddOptimize(CLI::App& app, const std::vector<std::string>& argv);
Command AddEval(CLI::App& app);
Command AddBench(CLI::App& app, const std::vector<std::string>& argv);
Command AddInit(CLI::App& app);
Command AddDescribe(CLI::App& app);
Command AddDoctor(CLI::App& app);
Command AddReport(CLI::App& app);
Command AddReplay(CLI::App& app, const std::vector<std::string>& argv);
Command AddRuns(CLI::App& app);
Command AddBest(CLI::App& app);
Command AddExport(CLI::App& app);
Command AddCompare(CLI::App& app);
Command AddConfig(CLI::App& app, const std::vector<std::string>& argv);
Command AddCache(CLI::App& app);
Command AddCompletion(CLI::App& app);

// Flags of every command, before or after its name.
struct GlobalFlags {
  std::string log_level = "warn";
  std::string config;     // "" = the project's and the user's settings files
  std::string python;     // "" = the one the worker was built for
  std::string cache_dir;  // "" = util::CacheDir()
};
void AddGlobalFlags(CLI::App& app, GlobalFlags& flags);

// Every command by name.
std::map<std::string, Command> AddCommands(CLI::App& app, const std::vector<std::string>& argv);

// Prints "cudaagent: message" to stderr and returns the error's exit code. With `json`, also one
// document {"schema":1,"error":{"code","message"}} to stdout.
int Report(const Error& error, bool json);

// Writes all of `text` to stdout; a broken pipe is no error, any other failure is kEnvironment.
Result<void> Print(const std::string& text);

}  // namespace cudaagent::cli
