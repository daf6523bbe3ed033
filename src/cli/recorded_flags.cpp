#include "cli/recorded_flags.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "cli/preset.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

using Values = std::vector<std::string>;

const std::set<std::string> kNotRecorded = {"--help", "--out", "--json", "--quiet", "--resume"};
const std::set<std::string> kPaths = {"MODEL",         "--prompts",      "--suite",
                                      "--candidates",  "--const-file",   "--results",
                                      "--eager-times", "--compile-times"};
// They do not change what an attempt is, only whether there is another.
const std::set<std::string> kMayChange = {"--attempts",   "--patience", "--target-speedup",
                                          "--sol-target", "--max-time", "--no-confirm",
                                          "--api-key-env"};

std::string NameOf(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_single_name()
                                     : "--" + option.get_lnames().front();
}

const CLI::Option* Find(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options()) {
    if (NameOf(*option) == name) return option;
  }
  return nullptr;
}

// Values as the user could write them; those of a flag that was not given are its default.
Values ValuesIn(const CLI::App& command, const store::FlagValues& flags, const std::string& name) {
  if (const auto found = flags.find(name); found != flags.end()) return found->second;
  const CLI::Option* option = Find(command, name);
  if (option == nullptr || option->get_default_str().empty()) return {};
  return {option->get_default_str()};
}

std::string InWords(const std::string& name, const Values& values) {
  if (values.empty()) return "none";
  return util::SanitiseLog(
      name[0] == '-' ? name + " " + util::Join(values, " " + name + " ") : util::Join(values, " "),
      400);
}

std::string WithTwin(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = Find(command, name);
  const std::string twin = option == nullptr ? "" : option->get_envname();
  return twin.empty() || std::getenv(twin.c_str()) == nullptr ? name : name + " (or " + twin + ")";
}

}  // namespace

store::FlagValues GivenFlags(const CLI::App& command) {
  store::FlagValues flags;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = NameOf(*option);
    if (option->count() == 0 || kNotRecorded.contains(name)) continue;
    Values values = option->results();
    if (std::all_of(values.begin(), values.end(), [](const auto& v) { return v.empty(); }))
      continue;
    if (kPaths.contains(name)) {
      for (std::string& path : values) {
        path = std::filesystem::absolute(path).lexically_normal().string();
      }
    }
    flags[name] = std::move(values);
  }
  return flags;
}

Result<store::FlagValues> ResumedFlags(const CLI::App& command, const store::FlagValues& recorded,
                                       const store::FlagValues& given) {
  store::FlagValues flags = recorded;
  const std::string run = command.get_name() == "bench" ? "bench" : "run";
  const auto preset = recorded.find("--preset");
  for (const auto& [name, values] : given) {
    if (preset != recorded.end() && !recorded.contains(name) && DecidedByPresets(name)) {
      return Fail(ErrorCode::kUsage, WithTwin(command, name) + " contradicts the " + run +
                                         ": now " + InWords(name, values) + ", the " + run +
                                         " has what " + InWords("--preset", preset->second) +
                                         " says. Leave it out, or start a new " + run + ".");
    }
    const Values before = ValuesIn(command, recorded, name);
    if (values == before) continue;
    if (!kMayChange.contains(name)) {
      return Fail(ErrorCode::kUsage, WithTwin(command, name) + " contradicts the " + run +
                                         ": now " + InWords(name, values) + ", the " + run +
                                         " has " + InWords(name, before) +
                                         ". Leave it out, or start a new " + run + ".");
    }
    if (name == "--attempts" && !before.empty() &&
        std::atoll(values.front().c_str()) < std::atoll(before.front().c_str())) {
      return Fail(ErrorCode::kUsage, WithTwin(command, name) + " may only be raised: now " +
                                         values.front() + ", the " + run + " has " +
                                         before.front() + ".");
    }
    flags[name] = values;
  }
  return flags;
}

Result<void> ParseRecorded(const std::string& command, const store::FlagValues& flags,
                           CLI::App& app) {
  std::vector<std::string> words = {command};
  for (const auto& [name, values] : flags) {
    for (const std::string& value : values) {
      words.push_back(name[0] == '-' ? name + "=" + value : value);
    }
  }
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return Fail(ErrorCode::kUsage, std::string("The ") + (command == "bench" ? "bench" : "run") +
                                       " was started with flags that this version does not take: " +
                                       error.what() + ".");
  }
  return {};
}

}  // namespace cudaagent::cli
