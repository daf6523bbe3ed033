// Settings: every flag with an environment twin is one, and its key in a settings file is the
// flag's name in snake case. The one table is made from the command line's own options, so it
// cannot be out of date. Sources, best first: flag, environment, project file, user file, built-in
// default.
#pragma once

#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <vector>

#include "config/settings_file.h"
#include "cudaagent/result.h"

namespace cudaagent::cli {

struct Setting {
  std::string key;   // "time_limit"
  std::string flag;  // "--time-limit"
  std::string env;   // "CUDAAGENT_TIME_LIMIT"
  std::string doc;
  std::string built_in;  // as a flag would be given; "" = not set
  config::ValueKind kind = config::ValueKind::kText;
  bool is_path = false;     // relative to the file that sets it
  bool restricted = false;  // a project file may set it only where the user trusts the file
  std::vector<std::string> commands;  // that take it; "" = all
  std::vector<CLI::Option*> options;  // one per command

  // After Settings::Resolve: what it came to and who set it.
  std::set<const CLI::Option*> flagged;  // given by flag
  std::string value;                     // "" = not set
  std::string source;                    // "built-in", "user", "project", "environment", "flag"
  std::string origin;  // for a person: "built-in", "/x/cudaagent.toml:3", "CUDAAGENT_TIME_LIMIT",
                       // "--time-limit"
};

class Settings {
 public:
  // `app` has all its commands, is not yet parsed, and outlives this. The environment twins are
  // taken away from CLI11 until NameVariables: Resolve reads them, so that what came from where is
  // known.
  explicit Settings(CLI::App& app);

  // Gives the twins back, for --help.
  void NameVariables();

  // After parsing: gives every option without a flag its value from the best other source, as if it
  // had been given by flag (count() and results() say so). `file`: read instead of project and user
  // file, and trusted. kUsage names the variable or FILE:LINE.
  Result<void> Resolve(const std::string& file);

  const std::vector<Setting>& table() const { return table_; }
  // The files read, best first.
  const std::vector<std::string>& files() const { return files_; }

 private:
  void Collect(const CLI::App& owner, const std::string& command);
  Setting* Find(const std::string& key);
  Result<void> ApplyFile(const config::SettingsFile& file, const std::string& source);

  std::vector<Setting> table_;
  std::vector<std::string> files_;
};

// `value` as TOML: quoted where the setting is a text.
std::string TomlValue(const Setting& setting, const std::string& value);

// All settings with their built-in values as a settings file; `commented`: every line is a comment,
// for the user to edit.
std::string DefaultFile(const std::vector<Setting>& table, bool commented);

}  // namespace cudaagent::cli
