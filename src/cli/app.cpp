#include "cli/app.h"

#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/hide_keys.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "protocol/evaluation_json.h"
#include "protocol/names.h"
#include "util/log.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

constexpr const char* kFooter =
    "\nExit codes: 0 done, 1 internal error, 2 usage, 3 the LLM endpoint failed, 4 no correct "
    "candidate,\n"
    "5 compare: slower, bench: a gate failed, eval --reproduce: refuted, 6 environment (no device, "
    "a library\n"
    "or program missing, out of memory or disk),\n"
    "7 the target was not reached or the budget ended first, 8 a suspected hack, 130/143 a "
    "signal.\n"
    "stdout carries the result only; progress goes to stderr. Settings: flag, then "
    "CUDAAGENT_<NAME>,\n"
    "then ./cudaagent.toml, then ~/.config/cudaagent/config.toml; API keys come from the "
    "environment only.";

// "optimise" -> "Did you mean optimize?" where the first word is no command.
std::string CommandHint(const CLI::App& app, const std::vector<std::string>& argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (argv.size() < 2 || argv[1].empty() || argv[1][0] == '-') return "";
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return "";
  return "." + util::DidYouMean(argv[1], names);
}

// " Did you mean "--attempts"?" for a flag that the command does not have.
std::string FlagHint(const CLI::App& app, const std::vector<std::string>& argv) {
  const CLI::App* chosen = &app;
  for (const CLI::App* command : app.get_subcommands()) chosen = command;
  std::vector<std::string> names;
  for (const CLI::Option* option : chosen->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& word : argv) {
    const std::string flag = word.substr(0, word.find('='));
    if (!util::StartsWith(flag, "--") || flag.size() < 4) continue;
    if (std::find(names.begin(), names.end(), flag) != names.end()) continue;
    const std::string hint = util::DidYouMean(flag, names);
    return hint.empty() ? "" : "." + hint;
  }
  return "";
}

int OnParseError(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& argv) {
  if (error.get_exit_code() == 0) {  // --help, --version
    const bool help = error.get_name() == "CallForHelp" || error.get_name() == "CallForAllHelp";
    const CLI::App* chosen = &app;
    for (const CLI::App* command : app.get_subcommands()) chosen = command;
    auto printed = Print(help ? chosen->help() : std::string(error.what()) + "\n");
    return printed ? kExitOk : Report(printed.error(), false);
  }
  std::fprintf(stderr,
               "cudaagent: %s%s\nRun \"cudaagent --help\" or \"cudaagent COMMAND --help\".\n",
               util::SanitiseLog(error.what()).c_str(),
               (CommandHint(app, argv) + FlagHint(app, argv)).c_str());
  return kExitUsage;
}

// Children and the rest of this program find both in the environment.
Result<void> Apply(const GlobalFlags& flags) {
  if (!flags.python.empty()) ::setenv("CUDAAGENT_PYTHON", flags.python.c_str(), 1);
  if (!flags.cache_dir.empty()) {
    const std::string folder =
        std::filesystem::absolute(flags.cache_dir).lexically_normal().string();
    ::setenv("CUDAAGENT_CACHE_DIR", folder.c_str(), 1);
  }
  return util::SetLogLevel(flags.log_level);
}

}  // namespace

const char* Version() { return CUDAAGENT_VERSION; }

int ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal:
      return kExitInternal;
    case ErrorCode::kUsage:
      return kExitUsage;
    case ErrorCode::kLlm:
      return kExitLlm;
    case ErrorCode::kEnvironment:
      return kExitEnvironment;
    case ErrorCode::kCancelled:
      return StopSignal() == 15 ? kExitTerminated : kExitInterrupted;
  }
  return kExitInternal;
}

int ExitCodeOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return kExitOk;
    case Verdict::kInfraError:
    case Verdict::kUnsupported:
      return kExitEnvironment;
    case Verdict::kSuspectedHack:
      return kExitQuarantined;
    default:
      return kExitNoCorrectCandidate;
  }
}

Result<void> Print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return {};
  }
  if (errno == EPIPE) return {};
  return Fail(ErrorCode::kEnvironment,
              std::string("Writing the result to stdout failed: ") + std::strerror(errno) + ".");
}

int Report(const Error& error, bool json) {
  const std::string message = util::SanitiseLog(error.message);
  std::fprintf(stderr, "cudaagent: %s\n", message.c_str());
  if (json) {
    const nlohmann::json document = {
        {"schema", 1}, {"error", {{"code", protocol::NameOf(error.code)}, {"message", message}}}};
    (void)Print(protocol::ToText(document) + "\n");  // stderr already has it
  }
  return ExitCodeOf(error.code);
}

void AddGlobalFlags(CLI::App& app, GlobalFlags& flags) {
  app.fallthrough();  // commands inherit it: these flags may also follow the command's name
  app.add_option("--log-level", flags.log_level, "debug, info, warn, error or off")
      ->envname("CUDAAGENT_LOG_LEVEL")
      ->capture_default_str();
  app.add_option("--config", flags.config,
                 "Read this settings file instead of the project's and the user's")
      ->type_name("PATH");
  app.add_option("--python", flags.python,
                 "The Python whose torch the worker uses; default: the one it was built for")
      ->envname("CUDAAGENT_PYTHON")
      ->type_name("PATH");
  app.add_option("--cache-dir", flags.cache_dir,
                 "Where cubins and baselines are kept; default ~/.cache/cudaagent")
      ->envname("CUDAAGENT_CACHE_DIR")
      ->type_name("PATH");
}

std::map<std::string, Command> AddCommands(CLI::App& app, const std::vector<std::string>& argv) {
  std::map<std::string, Command> commands;
  commands["optimize"] = AddOptimize(app, argv);
  commands["eval"] = AddEval(app);
  commands["bench"] = AddBench(app, argv);
  commands["init"] = AddInit(app);
  commands["describe"] = AddDescribe(app);
  commands["runs"] = AddRuns(app);
  commands["best"] = AddBest(app);
  commands["export"] = AddExport(app);
  commands["compare"] = AddCompare(app);
  commands["report"] = AddReport(app);
  commands["replay"] = AddReplay(app, argv);
  commands["doctor"] = AddDoctor(app);
  commands["config"] = AddConfig(app, argv);
  commands["cache"] = AddCache(app);
  commands["completion"] = AddCompletion(app);
  return commands;
}

int Run(int argc, char** argv) {
  // model.py runs under the same user: this process's memory and environment are not its to read.
  prctl(PR_SET_DUMPABLE, 0);
  HideKeys();
  InstallSignalHandlers();
  const std::vector<std::string> arguments(argv, argv + argc);

  CLI::App app(
      "cudaagent: asks a proposer for CUDA kernels, compiles, checks, times and rewards them.",
      "cudaagent");
  app.set_version_flag("--version", "cudaagent " CUDAAGENT_VERSION " (" CUDAAGENT_BUILD ")");
  app.require_subcommand(1);
  app.footer(kFooter);
  GlobalFlags global;
  AddGlobalFlags(app, global);
  std::map<std::string, Command> commands = AddCommands(app, arguments);
  Settings settings(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    settings.NameVariables();
    return OnParseError(app, error, arguments);
  }
  const std::string chosen = app.get_subcommands().front()->get_name();
  // Those that mend settings must work where settings are broken.
  if (chosen != "config" && chosen != "completion") {
    if (auto resolved = settings.Resolve(global.config); !resolved)
      return Report(resolved.error(), false);
  }
  if (auto applied = Apply(global); !applied) return Report(applied.error(), false);
  return commands.at(chosen)();
}

}  // namespace cudaagent::cli
