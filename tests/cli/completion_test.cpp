#include <set>
#include <sstream>

#include "cli/driver_bench.h"

namespace cudaagent::cli {
namespace {

class CompletionTest : public DriverBench {
 protected:
  std::string Script(const std::string& shell) const {
    const test::Finished script = Call({"completion", shell});
    EXPECT_EQ(script.exit_code, 0) << script.err;
    return File(root_ + "/completion." + shell, script.out);
  }
  // What bash offers after these words, the last of which is being typed.
  std::set<std::string> Bash(const std::vector<std::string>& words) const {
    const std::string program =
        "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); "
        "_cudaagent; "
        "printf '%s\\n' \"${COMPREPLY[@]}\"";
    std::vector<std::string> argv = {"/bin/bash", "-c",           program,
                                     "bash",      Script("bash"), "cudaagent"};
    argv.insert(argv.end(), words.begin(), words.end());
    return Lines(test::RunProgram(argv));
  }
  static std::set<std::string> Lines(const test::Finished& finished) {
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    std::set<std::string> lines;
    std::istringstream in(finished.out);
    for (std::string line; std::getline(in, line);) {
      if (!line.empty()) lines.insert(line.substr(0, line.find('\t')));
    }
    return lines;
  }
  // "" where the shell is not here.
  static std::string Shell(const std::string& name) {
    for (const char* folder : {"/usr/bin/", "/bin/", "/usr/local/bin/"}) {
      if (std::filesystem::exists(folder + name)) return folder + name;
    }
    return "";
  }
};

using Words = std::set<std::string>;

TEST_F(CompletionTest, BashOffersCommandsFlagsAndTheirValues) {
  EXPECT_EQ(Bash({"opt"}), Words({"optimize"}));
  EXPECT_EQ(Bash({"config", ""}), Words({"init", "path", "show", "trust", "untrust"}));
  EXPECT_EQ(Bash({"optimize", "m.py", "--atte"}), Words({"--attempts"}));
  EXPECT_EQ(Bash({"eval", "--dtype", "b"}), Words({"bfloat16"}));
  EXPECT_EQ(Bash({"eval", "--dtype", "=", "float1"}), Words({"float16"}));
  EXPECT_EQ(Bash({"eval", "--baseline", "="}), Words({"best", "compile", "eager"}));
  EXPECT_EQ(Bash({"completion", ""}), Words({"bash", "fish", "zsh"}));
  EXPECT_EQ(Bash({"cache", "gc", "--dry"}), Words({"--dry-run"}));
  EXPECT_EQ(Bash({"optimize", "--log-l"}), Words({"--log-level"}));  // a flag of all commands
}

TEST_F(CompletionTest, BashLeavesFilesAndNumbersToTheShell) {
  EXPECT_EQ(Bash({"optimize", ""}), Words({}));
  EXPECT_EQ(Bash({"optimize", "--attempts", ""}), Words({}));
  EXPECT_EQ(Bash({"optimize", "--prompts", ""}), Words({}));
}

// Every flag that --help lists is offered.
TEST_F(CompletionTest, BashKnowsEveryFlagOfEveryCommand) {
  for (const char* command : {"optimize", "eval", "init", "describe", "doctor"}) {
    const std::string help = Call({command, "--help"}).out;
    const Words offered = Bash({command, "--"});
    size_t flags = 0;
    for (size_t at = help.find("  -"); at != std::string::npos; at = help.find("\n  -", at + 1)) {
      const size_t name = help.find("--", at);
      const std::string flag = help.substr(name, help.find_first_of(" ,\n", name) - name);
      EXPECT_TRUE(offered.contains(flag)) << command << " " << flag;
      ++flags;
    }
    EXPECT_GE(flags, 2u) << command;
  }
}

TEST_F(CompletionTest, FishOffersTheSame) {
  const std::string fish = Shell("fish");
  if (fish.empty()) GTEST_SKIP() << "fish is not installed";
  const auto offers = [&](const std::string& line) {
    return Lines(test::RunProgram(
        {fish, "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", Script("fish"), line},
        environment_));
  };
  EXPECT_EQ(offers("cudaagent opt"), Words({"optimize"}));
  EXPECT_EQ(offers("cudaagent config "), Words({"init", "path", "show", "trust", "untrust"}));
  EXPECT_EQ(offers("cudaagent optimize m.py --atte"), Words({"--attempts"}));
  EXPECT_EQ(offers("cudaagent eval --dtype b"), Words({"bfloat16"}));
  EXPECT_EQ(offers("cudaagent cache gc --dry"), Words({"--dry-run"}));
}

TEST_F(CompletionTest, ZshReadsTheScript) {
  const std::string zsh = Shell("zsh");
  if (zsh.empty()) GTEST_SKIP() << "zsh is not installed";
  const test::Finished checked = test::RunProgram(
      {zsh, "-f", "-c",
       "autoload -Uz compinit && compinit -u -D && source $1 && print ${_comps[cudaagent]}", "zsh",
       Script("zsh")},
      environment_);
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_EQ(checked.err, "");
  EXPECT_EQ(checked.out, "_cudaagent\n");
}

TEST_F(CompletionTest, AnotherShellIsAUsageError) {
  EXPECT_EQ(Call({"completion", "tcsh"}).exit_code, 2);
}

}  // namespace
}  // namespace cudaagent::cli
