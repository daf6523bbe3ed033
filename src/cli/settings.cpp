#include "cli/settings.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "config/places.h"
#include "config/trust.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

namespace fs = std::filesystem;
using config::ValueKind;

// They name one run, so they make no sense for all runs.
constexpr std::array<std::string_view, 6> kNoSettings = {"out",    "resume", "fresh",
                                                         "record", "replay", "dry_run"};
// They decide which code runs and where prompts and keys go.
constexpr std::array<std::string_view, 6> kRestricted = {"base_url", "api_key_env", "command",
                                                         "python",   "cache_dir",   "prompts"};

template <typename List>
bool Contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string KeyOf(const std::string& flag) {
  std::string key = flag;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

// "FLOAT:FLOAT in [0.1 - 600]" -> "FLOAT".
std::string TypeWord(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  return name.substr(0, name.find_first_of(": "));
}

ValueKind KindOf(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return ValueKind::kBoolean;
  const std::string type = TypeWord(option);
  if (type == "INT" || type == "UINT") return ValueKind::kInteger;
  return type == "FLOAT" ? ValueKind::kNumber : ValueKind::kText;
}

// As if a flag had given it, so that whoever asks what was given (a run's record does) sees it too.
Result<void> Give(const Setting& setting, const std::string& text, const std::string& where) {
  for (CLI::Option* option : setting.options) {
    if (setting.flagged.contains(option)) continue;
    try {
      option->clear();
      option->add_result(text);
      option->run_callback();
    } catch (const CLI::Error& error) {
      return Fail(ErrorCode::kUsage, where + ": " + util::SanitiseLog(error.what()));
    }
  }
  return {};
}

bool Fits(ValueKind wanted, ValueKind given) {
  return wanted == given || (wanted == ValueKind::kNumber && given == ValueKind::kInteger);
}

// A model's name may carry an endpoint of its own: "name@http://host".
bool DecidesWhereThingsGo(const Setting& setting, const config::FileValue& value) {
  return setting.restricted ||
         (setting.key == "model" && value.text.find("://") != std::string::npos);
}

Error Untrusted(const config::SettingsFile& file, const config::FileValue& value,
                config::Trust trust) {
  return {
      ErrorCode::kUsage,
      fmt::format("{}:{}: {} decides which code runs or where prompts and keys go, so a project "
                  "may set it only "
                  "where you trust its file{}. Read the file, then run: cudaagent config trust {}",
                  file.path, value.line, value.key,
                  trust == config::Trust::kChanged ? "; this one has changed since you did" : "",
                  file.path)};
}

}  // namespace

Settings::Settings(CLI::App& app) {
  Collect(app, "");
  for (const CLI::App* command : app.get_subcommands({})) Collect(*command, command->get_name());
}

void Settings::Collect(const CLI::App& owner, const std::string& command) {
  // CLI11 hands out options as const alone where no name is asked for.
  for (const CLI::Option* known : owner.get_options()) {
    if (known->get_lnames().empty() || known->get_envname().empty()) continue;
    const std::string name = known->get_lnames().front();
    const std::string key = KeyOf(name);
    if (Contains(kNoSettings, key)) continue;
    auto* option = const_cast<CLI::Option*>(known);
    Setting* setting = Find(key);
    if (setting == nullptr) {
      setting = &table_.emplace_back();
      setting->key = key;
      setting->flag = "--" + name;
      setting->env = option->get_envname();
      setting->doc = option->get_description();
      setting->kind = KindOf(*option);
      setting->built_in = option->get_default_str();
      if (setting->kind == ValueKind::kBoolean && setting->built_in.empty())
        setting->built_in = "false";
      setting->is_path = TypeWord(*option) == "PATH";
      setting->restricted = Contains(kRestricted, key);
      setting->value = setting->built_in;
      setting->source = setting->origin = "built-in";
    }
    setting->commands.push_back(command);
    setting->options.push_back(option);
    option->envname("");
  }
}

Setting* Settings::Find(const std::string& key) {
  auto found =
      std::find_if(table_.begin(), table_.end(), [&](const Setting& s) { return s.key == key; });
  return found == table_.end() ? nullptr : &*found;
}

void Settings::NameVariables() {
  for (Setting& setting : table_) {
    for (CLI::Option* option : setting.options) option->envname(setting.env);
  }
}

Result<void> Settings::Resolve(const std::string& explicit_file) {
  std::vector<std::pair<std::string, std::string>> places;  // path, source; worst first
  if (!explicit_file.empty()) {
    places.emplace_back(explicit_file, "user");
  } else {
    std::error_code ignored;
    if (fs::exists(config::UserFile(), ignored)) places.emplace_back(config::UserFile(), "user");
    const std::string project = config::ProjectFile(fs::current_path(ignored).string());
    if (!project.empty()) places.emplace_back(project, "project");
  }
  for (Setting& setting : table_) {
    for (CLI::Option* option : setting.options) {
      if (option->count() > 0) setting.flagged.insert(option);
    }
  }
  for (const auto& [path, source] : places) {
    auto file = config::ReadSettings(path);
    if (!file) return tl::unexpected(file.error());
    if (auto applied = ApplyFile(*file, source); !applied) return applied;
    files_.insert(files_.begin(), path);
  }
  for (Setting& setting : table_) {
    const char* value = std::getenv(setting.env.c_str());
    if (value != nullptr && *value != '\0') {
      if (auto given = Give(setting, value, setting.env); !given) return given;
      setting.value = value;
      setting.source = "environment";
      setting.origin = setting.env;
    }
    for (const CLI::Option* option : setting.flagged) {
      setting.value = option->results().back();
      setting.source = "flag";
      setting.origin = setting.flag;
    }
  }
  NameVariables();
  return {};
}

Result<void> Settings::ApplyFile(const config::SettingsFile& file, const std::string& source) {
  const config::Trust trust = source == "project"
                                  ? config::TrustList::Load().Of(file.path, file.hash)
                                  : config::Trust::kTrusted;
  for (const config::FileValue& value : file.values) {
    const std::string where = file.path + ":" + std::to_string(value.line);
    Setting* setting = Find(value.key);
    if (setting == nullptr) {
      std::vector<std::string> keys;
      for (const Setting& known : table_) keys.push_back(known.key);
      return Fail(ErrorCode::kUsage,
                  fmt::format("{}: unknown key \"{}\".{} \"cudaagent config show\" lists all keys.",
                              where, value.key, util::DidYouMean(value.key, keys)));
    }
    if (!Fits(setting->kind, value.kind)) {
      return Fail(
          ErrorCode::kUsage,
          fmt::format("{}: {} must be {}, not {}.", where, value.key,
                      config::Describe(setting->kind),
                      value.kind == ValueKind::kOther ? value.text : config::Describe(value.kind)));
    }
    if (trust != config::Trust::kTrusted && DecidesWhereThingsGo(*setting, value)) {
      return tl::unexpected(Untrusted(file, value, trust));
    }
    std::string text = value.text;
    if (setting->is_path && text.find('/') != std::string::npos) {
      text = (fs::absolute(file.path).parent_path() / text).lexically_normal().string();
    }
    if (auto given = Give(*setting, text, where + ": " + value.key); !given) return given;
    setting->value = text;
    setting->source = source;
    setting->origin = where;
  }
  return {};
}

std::string TomlValue(const Setting& setting, const std::string& value) {
  return setting.kind == ValueKind::kText ? config::Quote(value) : value;
}

std::string DefaultFile(const std::vector<Setting>& table, bool commented) {
  std::string text =
      "# Settings of cudaagent. A flag wins over the environment, that over the project's "
      "cudaagent.toml,\n"
      "# that over ~/.config/cudaagent/config.toml, that over the built-in values, which are "
      "written here.\n";
  for (const Setting& setting : table) {
    const std::string commands =
        Contains(setting.commands, "") ? "all commands" : util::Join(setting.commands, ", ");
    text +=
        fmt::format("\n# {}\n# {} or {}; {}\n", setting.doc, setting.flag, setting.env, commands);
    if (setting.built_in.empty()) {
      text += fmt::format("# {} = {}\n", setting.key,
                          setting.kind == ValueKind::kText ? "\"...\"" : "... (not set)");
    } else {
      text += fmt::format("{}{} = {}\n", commented ? "# " : "", setting.key,
                          TomlValue(setting, setting.built_in));
    }
  }
  return text;
}

}  // namespace cudaagent::cli
