#include "cli/settings.h"

#include "cli/commands.h"
#include "cli/driver_bench.h"

namespace cudaagent::cli {
namespace {

using SettingsTest = DriverBench;

TEST_F(SettingsTest, AFlagWinsOverTheEnvironmentOverTheProjectOverTheUserOverTheBuiltIn) {
  EXPECT_EQ(Shown("attempts")["origin"], "built-in");
  const auto built_in = Shown("attempts")["value"];
  const std::string user = UserFile("\nattempts = 31\n");
  EXPECT_EQ(Shown("attempts")["value"], 31);
  EXPECT_EQ(Shown("attempts")["origin"], user + ":2");
  const std::string project = ProjectFile("# ours\n\nattempts = 32\n");
  EXPECT_EQ(Shown("attempts")["value"], 32);
  EXPECT_EQ(Shown("attempts")["origin"], project + ":3");
  environment_["CUDAAGENT_ATTEMPTS"] = "33";
  EXPECT_EQ(Shown("attempts")["value"], 33);
  EXPECT_EQ(Shown("attempts")["origin"], "CUDAAGENT_ATTEMPTS");
  const auto flag = Shown("attempts", {"--", "optimize", "model.py", "-n", "34"});
  EXPECT_EQ(flag["value"], 34);
  EXPECT_EQ(flag["origin"], "--attempts");
  EXPECT_NE(built_in, 34);
}

TEST_F(SettingsTest, TheFileIsTheNearestUpToTheGitRoot) {
  File(root_ + "/cudaagent.toml", "attempts = 1\n");  // above the root: not ours
  std::filesystem::create_directories(project_ + "/a/b");
  EXPECT_EQ(Shown("attempts", {}, "/a/b")["source"], "built-in");
  ProjectFile("attempts = 2\n");
  EXPECT_EQ(Shown("attempts", {}, "/a/b")["value"], 2);
  File(project_ + "/a/cudaagent.toml", "attempts = 3\n");
  EXPECT_EQ(Shown("attempts", {}, "/a/b")["value"], 3);
}

TEST_F(SettingsTest, OutsideAGitTreeOnlyTheWorkingFolderIsLookedAt) {
  std::filesystem::remove_all(project_ + "/.git");
  std::filesystem::create_directories(project_ + "/a");
  ProjectFile("attempts = 2\n");
  EXPECT_EQ(Shown("attempts")["value"], 2);
  EXPECT_EQ(Shown("attempts", {}, "/a")["source"], "built-in");
}

TEST_F(SettingsTest, ASettingReachesTheCommandItIsFor) {
  UserFile("device = \"tpu\"\n");
  File(project_ + "/model.py", "class Model: pass\n");
  const test::Finished result = Call({"describe", "model.py"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("tpu"), std::string::npos) << result.err;
  EXPECT_EQ(Call({"describe", "model.py", "--device", "xpu"}).err.find("tpu"), std::string::npos);
}

TEST_F(SettingsTest, AnUnknownKeyIsAnErrorWithFileLineAndTheNearestKey) {
  const std::string file = ProjectFile("\ntime-limit = 3\n");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"config", "show"},
                                                {"doctor"},
                                                {"describe", "model.py"},
                                                {"cache", "stat"}}) {
    const test::Finished result = Call(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(
        result.err.find(file + ":2: unknown key \"time-limit\". Did you mean \"time_limit\"?"),
        std::string::npos)
        << result.err;
  }
}

TEST_F(SettingsTest, AWrongTypeOrValueIsAnErrorWithFileAndLine) {
  for (const auto& [text, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"attempts = \"many\"", ":1: attempts must be an integer, not a text in quotes"},
           {"attempts = 1.5", ":1: attempts must be an integer, not a number"},
           {"time_limit = true", ":1: time_limit must be a number, not true or false"},
           {"warm_l2 = 1", ":1: warm_l2 must be true or false, not an integer"},
           {"model = [\"a\"]", ":1: model must be a text in quotes, not an array"},
           {"[attempts]\nn = 1", ":1: attempts must be an integer, not a table"},
           {"trials = 0", ":1: trials: "},
           {"dtype = \"float99\"", ":1: dtype: "},
           {"# fine\nattempts = ", ":2: this is not TOML"},
           {"attempts = 1\nattempts = 2", ":2: this is not TOML"}}) {
    const std::string file = ProjectFile(text);
    const test::Finished result = Call({"config", "show"});
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_NE(result.err.find(file + complaint), std::string::npos) << text << "\n" << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(SettingsTest, AWrongVariableIsAnErrorThatNamesIt) {
  environment_["CUDAAGENT_ATTEMPTS"] = "many";
  const test::Finished result = Call({"doctor"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("CUDAAGENT_ATTEMPTS"), std::string::npos) << result.err;
}

TEST_F(SettingsTest, AStrangersProjectMaySetNothingThatRunsCodeOrSendsKeys) {
  for (const char* line :
       {"base_url = \"http://evil\"", "api_key_env = \"AWS_SECRET\"", "command = \"rm -rf /\"",
        "python = \"./python\"", "cache_dir = \"cache\"", "model = \"m@http://evil\""}) {
    const std::string file = ProjectFile(std::string(line) + "\n");
    const test::Finished result = Call({"config", "show"});
    EXPECT_EQ(result.exit_code, 2) << line;
    EXPECT_NE(result.err.find(file + ":1: "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("cudaagent config trust " + file), std::string::npos) << result.err;
    UserFile(std::string(line) + "\n");
    std::filesystem::remove(file);
    EXPECT_EQ(Call({"config", "show"}).exit_code, 0) << "the user's own file may";
    std::filesystem::remove(root_ + "/config/cudaagent/config.toml");
  }
}

TEST_F(SettingsTest, TrustHoldsForTheFileAsItIsAndEndsWithAChangeOrUntrust) {
  const std::string file = ProjectFile("command = \"./mine\"\n");
  EXPECT_EQ(Call({"config", "trust", "cudaagent.toml"}).exit_code, 0);
  EXPECT_EQ(Shown("command")["value"], "./mine");
  ProjectFile("command = \"./other\"\n");
  const test::Finished changed = Call({"config", "show"});
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_NE(changed.err.find("has changed since"), std::string::npos) << changed.err;
  EXPECT_EQ(Call({"config", "trust", file}).exit_code, 0);
  EXPECT_EQ(Shown("command")["value"], "./other");
  EXPECT_EQ(Call({"config", "untrust", file}).exit_code, 0);
  EXPECT_EQ(Call({"config", "show"}).exit_code, 2);
}

TEST_F(SettingsTest, TheTrustOfOneFolderIsNotThatOfItsCopy) {
  ProjectFile("command = \"./mine\"\n");
  EXPECT_EQ(Call({"config", "trust", "cudaagent.toml"}).exit_code, 0);
  File(project_ + "/sub/cudaagent.toml", "command = \"./mine\"\n");
  EXPECT_EQ(Call({"config", "show"}, "/sub").exit_code, 2);
}

TEST_F(SettingsTest, APathInAFileIsRelativeToThatFile) {
  UserFile("cache_dir = \"./kept\"\n");
  EXPECT_EQ(Shown("cache_dir")["value"], root_ + "/config/cudaagent/kept");
  const test::Finished stat = Call({"cache", "stat", "--json"});
  EXPECT_EQ(nlohmann::json::parse(stat.out)["path"], root_ + "/config/cudaagent/kept");
  const test::Finished flag = Call({"cache", "stat", "--json", "--cache-dir", "here"});
  EXPECT_EQ(nlohmann::json::parse(flag.out)["path"], project_ + "/here");
}

TEST_F(SettingsTest, ANamedFileReplacesProjectAndUserFile) {
  ProjectFile("attempts = 2\n");
  UserFile("patience = 3\n");
  const std::string file = File(root_ + "/other.toml", "trials = 4\n");
  const std::vector<std::string> words = {"--config", file, "config", "show", "--origin"};
  const test::Finished shown = Call(words);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("# " + file + ":1"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("cudaagent.toml"), std::string::npos) << shown.out;
  EXPECT_EQ(Call({"config", "show", "--origin", "--config", file}).out,
            shown.out);  // after the name as well
  EXPECT_EQ(Call({"--config", "/nowhere.toml", "config", "show"}).exit_code, 2);
}

TEST_F(SettingsTest, InitWritesAFileThatChangesNothingAndNeverOverwrites) {
  EXPECT_EQ(Call({"config", "init"}).exit_code, 0);
  const auto shown = Call({"config", "show", "--origin"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out.find("config.toml"), std::string::npos) << shown.out;
  const test::Finished again = Call({"config", "init"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("not overwritten"), std::string::npos) << again.err;
  EXPECT_NE(Call({"config", "init", "-o", "-"}).out.find("# attempts = "), std::string::npos);
}

TEST_F(SettingsTest, WhatMendsSettingsWorksWhereTheyAreBroken) {
  ProjectFile("nonsense = [\n");
  EXPECT_EQ(Call({"config", "path"}).exit_code, 0);
  EXPECT_EQ(Call({"config", "untrust", "cudaagent.toml"}).exit_code, 0);
  EXPECT_EQ(Call({"completion", "bash"}).exit_code, 0);
  EXPECT_EQ(Call({"--help"}).exit_code, 0);
  EXPECT_EQ(Call({"optimize", "--help"}).exit_code, 0);
}

TEST_F(SettingsTest, HelpStillNamesTheVariables) {
  EXPECT_NE(Call({"optimize", "--help"}).out.find("CUDAAGENT_ATTEMPTS"), std::string::npos);
}

TEST_F(SettingsTest, TheDefaultFileHoldsTheBuiltInValues) {
  const std::string path = std::string(CUDAAGENT_SOURCE_DIR) + "/configs/default.toml";
  EXPECT_EQ(Call({"config", "show", "--defaults"}).out, *util::ReadFile(path))
      << "flags have changed: cudaagent config show --defaults > configs/default.toml";
  const std::string plain = Call({"config", "show"}).out;
  EXPECT_EQ(Call({"--config", path, "config", "show"}).out, plain);
  environment_["CUDAAGENT_ATTEMPTS"] = "77";
  EXPECT_NE(Call({"config", "show"}).out, plain);
}

TEST(SettingsTableTest, EveryKeyIsTheFlagInSnakeCaseAndHasOneType) {
  CLI::App app;
  GlobalFlags global;
  AddGlobalFlags(app, global);
  const auto commands = AddCommands(app, {"cudaagent"});
  Settings settings(app);
  std::map<std::string, int> keys, variables;
  for (const Setting& setting : settings.table()) {
    EXPECT_EQ(++keys[setting.key], 1) << setting.key;
    EXPECT_EQ(++variables[setting.env], 1) << setting.env;
    std::string upper = "CUDAAGENT_";
    for (char c : setting.key) upper += static_cast<char>(toupper(c));
    EXPECT_TRUE(setting.env == upper || setting.env == "OPENAI_BASE_URL") << setting.env;
    for (const CLI::Option* option : setting.options) {
      EXPECT_EQ(option->get_default_str(), setting.options[0]->get_default_str()) << setting.key;
      EXPECT_EQ(option->get_items_expected_max(), setting.options[0]->get_items_expected_max())
          << setting.key;
    }
  }
  EXPECT_GT(keys.size(), 20u);
}

}  // namespace
}  // namespace cudaagent::cli
