// cudaagent config: what is set, by whom, and whom to trust.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/settings.h"
#include "config/places.h"
#include "config/trust.h"
#include "protocol/evaluation_json.h"
#include "util/file.h"

namespace cudaagent::cli {
namespace {

namespace fs = std::filesystem;

struct ConfigCommand {
  std::vector<std::string> argv;
  const CLI::App* root = nullptr;
  CLI::App* sub = nullptr;
  std::vector<std::string> words;  // a command line to look at
  bool origin = false;
  bool json = false;
  bool defaults = false;
  std::string out;   // of init
  std::string file;  // of trust and untrust
};

// A parser like the program's own, to look at what a command line would come to.
struct Shown {
  CLI::App app{"", "cudaagent"};
  GlobalFlags global;
  std::map<std::string, Command> commands;
};

nlohmann::json JsonValue(const Setting& setting) {
  if (setting.value.empty()) return nullptr;
  if (setting.kind == config::ValueKind::kText) return setting.value;
  auto json = nlohmann::json::parse(setting.value, nullptr, false);
  return json.is_discarded() ? nlohmann::json(setting.value) : json;
}

std::string ShowJson(const Settings& settings) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Setting& setting : settings.table()) {
    rows.push_back({{"key", setting.key},
                    {"value", JsonValue(setting)},
                    {"source", setting.source},
                    {"origin", setting.origin},
                    {"flag", setting.flag},
                    {"env", setting.env}});
  }
  return protocol::ToText(
             {{"schema", 1}, {"files", settings.files()}, {"settings", std::move(rows)}}) +
         "\n";
}

std::string ShowText(const Settings& settings, bool origin) {
  std::string text;
  for (const Setting& setting : settings.table()) {
    const std::string line = setting.value.empty()
                                 ? "# " + setting.key + " is not set"
                                 : setting.key + " = " + TomlValue(setting, setting.value);
    text += origin && !setting.value.empty() ? fmt::format("{:<40} # {}\n", line, setting.origin)
                                             : line + "\n";
  }
  return text;
}

// The flags of all commands as given to this call, then the command line to look at.
Result<void> ParseShown(const ConfigCommand& command, Shown& shown) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.root->get_options()) {
    if (option->count() > 0)
      words.push_back("--" + option->get_lnames().front() + "=" + option->results().back());
  }
  words.insert(words.end(), command.words.begin(), command.words.end());
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    shown.app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return Fail(
        ErrorCode::kUsage,
        std::string("The command line after \"config show --\" is not valid: ") + error.what());
  }
  return {};
}

int Show(const ConfigCommand& command) {
  Shown shown;
  AddGlobalFlags(shown.app, shown.global);
  shown.commands = AddCommands(shown.app, command.argv);
  Settings settings(shown.app);
  if (command.defaults) {
    auto printed = Print(DefaultFile(settings.table(), false));
    return printed ? kExitOk : Report(printed.error(), false);
  }
  auto done = ParseShown(command, shown);
  if (done) done = settings.Resolve(shown.global.config);
  if (!done) return Report(done.error(), command.json);
  auto printed = Print(command.json ? ShowJson(settings) : ShowText(settings, command.origin));
  return printed ? kExitOk : Report(printed.error(), false);
}

int ShowPaths() {
  std::error_code ignored;
  auto said = [&](const std::string& path) {
    return fs::exists(path, ignored) ? path : path + " (not there)";
  };
  const std::string project = config::ProjectFile(fs::current_path(ignored).string());
  std::string text =
      "project  " +
      (project.empty() ? "none: no cudaagent.toml here or above, up to the git root" : project);
  if (!project.empty()) {
    auto file = config::ReadSettings(project);
    if (!file) {
      text += " (not readable)";
    } else {
      const bool trusted =
          config::TrustList::Load().Of(project, file->hash) == config::Trust::kTrusted;
      text += trusted ? " (trusted)" : " (not trusted)";
    }
  }
  text += "\nuser     " + said(config::UserFile()) + "\ntrust    " +
          said(config::TrustList::Load().file()) + "\n";
  auto printed = Print(text);
  return printed ? kExitOk : Report(printed.error(), false);
}

int Init(const ConfigCommand& command) {
  Shown shown;
  AddGlobalFlags(shown.app, shown.global);
  shown.commands = AddCommands(shown.app, command.argv);
  const std::string text = DefaultFile(Settings(shown.app).table(), true);
  const std::string path = command.out.empty() ? config::UserFile() : command.out;
  if (path == "-") {
    auto printed = Print(text);
    return printed ? kExitOk : Report(printed.error(), false);
  }
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(path, ignored))) {
    return Report({ErrorCode::kUsage,
                   path + " is there already and is not overwritten. Edit it, or name another "
                          "file with --out."},
                  false);
  }
  Result<void> written;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) written = util::MakeDirs(folder.string());
  if (written) written = util::WriteFileAtomic(path, text);
  if (!written) return Report(written.error(), false);
  std::fprintf(stderr, "wrote %s\n", path.c_str());
  return kExitOk;
}

int ChangeTrust(const ConfigCommand& command, bool trust) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(command.file, error);
  const std::string path = error ? command.file : canonical.string();
  auto list = config::TrustList::Load();
  if (!trust) {
    auto removed = list.Remove(path);
    if (!removed) return Report(removed.error(), false);
    std::fprintf(stderr, *removed ? "%s is no longer trusted\n" : "%s was not trusted\n",
                 path.c_str());
    return kExitOk;
  }
  auto file = config::ReadSettings(path);
  if (!file) return Report(file.error(), false);
  if (auto added = list.Add(path, file->hash); !added) return Report(added.error(), false);
  std::fprintf(stderr, "%s is trusted as it is now; a change ends that\n", path.c_str());
  return kExitOk;
}

int RunConfig(const ConfigCommand& command) {
  const std::string what = command.sub->get_subcommands().front()->get_name();
  if (what == "show") return Show(command);
  if (what == "path") return ShowPaths();
  if (what == "init") return Init(command);
  return ChangeTrust(command, what == "trust");
}

}  // namespace

Command AddConfig(CLI::App& app, const std::vector<std::string>& argv) {
  auto command = std::make_shared<ConfigCommand>();
  command->argv = argv;
  command->root = &app;
  CLI::App* sub =
      app.add_subcommand("config", "Show settings and who set them; trust a project's file");
  command->sub = sub;
  sub->require_subcommand(1);
  CLI::App* show = sub->add_subcommand("show", "Print every setting in force");
  show->add_option("WORDS", command->words,
                   "A command line to look at, as in: config show -- optimize model.py -n 5");
  show->add_flag("--origin", command->origin,
                 "Say who set each: flag, variable, FILE:LINE or built-in");
  show->add_flag("--json", command->json, "Print one JSON document");
  show->add_flag("--defaults", command->defaults,
                 "Print the built-in values as a settings file instead");
  sub->add_subcommand("path", "Print where settings files are looked for");
  CLI::App* init =
      sub->add_subcommand("init", "Write a settings file with every key, commented out");
  init->add_option("-o,--out", command->out, "File to write, default the user's; - is stdout");
  for (const char* name : {"trust", "untrust"}) {
    const bool trust = name == std::string("trust");
    sub->add_subcommand(
           name, trust ? "Let a project's file set what runs and where keys go" : "Take that back")
        ->add_option("FILE", command->file, "The project's cudaagent.toml")
        ->required();
  }
  return [command] { return RunConfig(*command); };
}

}  // namespace cudaagent::cli
