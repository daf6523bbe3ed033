// `bench` with the real programs on the CPU device: rows, gates, JUnit and HTML; a kill in the
// middle; problems that raise, hang, exit or eat memory.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <regex>
#include <thread>

#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class BenchTest : public Workbench {
 protected:
  static std::vector<std::string> Suite(const std::string& problems) {
    return {"bench",      "--suite", kProblems,  "--const-file", kProblems + "small.json",
            "--problems", problems,  "--device", "cpu",          "--quiet"};
  }
  Finished Bench(std::vector<std::string> words, const std::vector<std::string>& more) const {
    words.insert(words.end(), more.begin(), more.end());
    return Call(std::move(words));
  }
  Json ReadJson(const std::string& path) const {
    auto text = util::ReadFile(path);
    EXPECT_TRUE(text) << path;
    return text ? Json::parse(*text) : Json();
  }
  // problem -> row, of a bench folder.
  std::map<std::string, Json> Rows(const std::string& folder) const {
    std::map<std::string, Json> rows;
    const Json report = ReadJson(folder + "/report.json");
    for (const Json& row : report["rows"]) {
      EXPECT_FALSE(rows.contains(row["problem"])) << "two rows of " << row["problem"];
      rows[row["problem"]] = row;
    }
    return rows;
  }
  // What a row says but for clocks, folders and caches.
  static std::string Essence(Json row) {
    for (const char* name : {"seconds", "date", "device"}) row.erase(name);
    if (row.contains("evaluation")) {
      for (const char* name : {"seconds", "date", "compile"}) row["evaluation"].erase(name);
    }
    return row.dump(1);
  }
  std::string Candidates(const std::string& folder, const std::string& kernel) const {
    EXPECT_TRUE(util::MakeDirs(temp_.path() + "/" + folder));
    File(folder + "/scalar_times_matrix.cu", kernel);
    return temp_.path() + "/" + folder;
  }
};

TEST_F(BenchTest, ScoresWithJunitAndHtmlAndTheGatePassesThenFailsOnAPlantedRegression) {
  auto good = util::ReadFile(kFaulty + "correct.cu");
  ASSERT_TRUE(good);
  // Each thread loads what it needs twice, through a volatile pointer: correct, and slower.
  const std::string slow =
      std::regex_replace(*good, std::regex(R"(y\[i\] = x\[i\] \* factor;)"),
                         "{ const volatile float* v = x; float sum = 0; for (int k = 0; k < 8; "
                         "++k) sum = v[i]; y[i] = sum * factor; }");
  ASSERT_NE(slow, *good);
  const std::string first = temp_.path() + "/first", junit = temp_.path() + "/bench.xml";
  const Finished scored =
      Bench(Suite("scalar_times_matrix,softmax"),
            {"--candidates", Candidates("good", *good), "--out", first, "--junit", junit, "--csv",
             temp_.path() + "/rows.csv", "--fail-under", "correctness=0.5", "--json"});
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  EXPECT_EQ(Json::parse(scored.out)["scores"]["all"]["correct"], 1);
  auto rows = Rows(first);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows["scalar_times_matrix"]["outcome"], "correct");
  EXPECT_EQ(rows["softmax"]["outcome"], "no_candidate");
  EXPECT_NE(util::ReadFile(junit)->find("failures=\"1\" errors=\"0\""), std::string::npos);

  const Finished same =
      Bench(Suite("scalar_times_matrix"), {"--candidates", temp_.path() + "/good", "--out",
                                           temp_.path() + "/same", "--against", first});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  const Finished worse =
      Bench(Suite("scalar_times_matrix"),
            {"--candidates", Candidates("slow", slow), "--out", temp_.path() + "/worse",
             "--against", first + "/report.json", "--md", temp_.path() + "/bench.md"});
  EXPECT_EQ(worse.exit_code, 5) << worse.out << worse.err;
  EXPECT_NE(worse.out.find("regression: scalar_times_matrix"), std::string::npos) << worse.out;
  EXPECT_NE(util::ReadFile(temp_.path() + "/bench.md")->find("**regression**"), std::string::npos);

  // A result that was kept is confirmed, and refuted once it says more than is true.
  const std::string best = first + "/best/scalar_times_matrix.json";
  const Finished confirmed = Call({"eval", "--reproduce", best, "--device", "cpu", "--quiet"});
  EXPECT_EQ(confirmed.exit_code, 0) << confirmed.out << confirmed.err;
  Json boast = ReadJson(best);
  for (const char* name : {"median_ms", "ci_low_ms", "ci_high_ms"}) {
    boast["evaluation"]["candidate"][name] =
        boast["evaluation"]["candidate"][name].get<double>() / 2;
  }
  ASSERT_TRUE(util::WriteFileAtomic(best, boast.dump()));
  const Finished refuted = Call({"eval", "--reproduce", best, "--device", "cpu", "--quiet"});
  EXPECT_EQ(refuted.exit_code, 5) << refuted.out << refuted.err;

  const Finished page = Call({"report", first});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_NE(util::ReadFile(first + "/report.html")->find("scalar_times_matrix"), std::string::npos);
}

TEST_F(BenchTest, KilledAndResumedItEndsTheSame) {
  const std::vector<std::string> rules = {"--optimize", "--proposer", "builtin", "--attempts",
                                          "1",          "--seed",     "7"};
  const auto words = [&](const std::string& out) {
    std::vector<std::string> all = Suite("scalar_times_matrix,softmax,rms_norm");
    all.insert(all.end(), rules.begin(), rules.end());
    all.insert(all.end(), {"--out", temp_.path() + "/" + out});
    return all;
  };
  ASSERT_EQ(Call(words("whole")).exit_code, 0);
  const std::string cut = temp_.path() + "/cut";
  {
    RunningProgram driver(Words(words("cut")), environment_);
    // Once the first row is there, the second problem is under way.
    for (int i = 0; i < 2400; ++i) {
      std::error_code none;
      const auto bytes = fs::file_size(cut + "/rows.jsonl", none);
      if (!none && bytes > 0 && fs::exists(cut + "/problems/scalar_times_matrix/run.db")) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    kill(driver.pid(), SIGKILL);
    EXPECT_EQ(driver.Wait().exit_code, 137);
  }
  const Finished resumed = Call({"bench", "--resume", cut, "--quiet"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  const auto whole = Rows(temp_.path() + "/whole"), again = Rows(cut);
  ASSERT_EQ(whole.size(), 3u);
  ASSERT_EQ(again.size(), 3u);
  for (const auto& [problem, row] : whole)
    EXPECT_EQ(Essence(row), Essence(again.at(problem))) << problem;
  for (const auto& [problem, row] : whole) {
    const std::string file = "/best/" + problem + ".cu";
    EXPECT_EQ(*util::ReadFile(temp_.path() + "/whole" + file), *util::ReadFile(cut + file));
  }

  const Finished other = Call({"bench", "--resume", cut, "--tier", "kernelbench"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("--tier contradicts the bench"), std::string::npos) << other.err;
}

TEST_F(BenchTest, ProblemsThatRaiseHangExitOrEatMemoryCostOnlyTheirOwnRows) {
  const std::string head = "import torch\nimport torch.nn as nn\n";
  const std::string model =
      "class Model(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
      "def get_inputs():\n    return [torch.randn(64, 64)]\ndef get_init_inputs():\n    return "
      "[]\n";
  ASSERT_TRUE(util::MakeDirs(temp_.path() + "/suite"));
  File("suite/a_raises.py", head + model + "raise ValueError('not today')\n");
  File("suite/b_hangs.py", head + model + "import time\ntime.sleep(1000)\n");
  File("suite/c_exits.py", head + model + "import os\nos._exit(0)\n");
  File("suite/d_eats.py",
       head + model + "hoard = []\nwhile True: hoard.append(bytearray(1 << 24))\n");
  File("suite/e_asks_too_much.py", head + model + "torch.empty(1 << 50)\n");
  File("suite/f_fine.py", head + model);
  const std::string out = temp_.path() + "/out";
  const Finished bench = Call({"bench",
                               "--suite",
                               temp_.path() + "/suite",
                               "--optimize",
                               "--proposer",
                               "builtin",
                               "--attempts",
                               "1",
                               "--device",
                               "cpu",
                               "--jobs",
                               "2",
                               "--timeout-load",
                               "20",
                               "--memory-limit",
                               "3GB",
                               "--problem-timeout",
                               "4m",
                               "--out",
                               out,
                               "--quiet"});
  EXPECT_EQ(bench.exit_code, 0) << bench.err;
  auto rows = Rows(out);
  ASSERT_EQ(rows.size(), 6u);
  for (const auto& [problem, words] :
       std::map<std::string, std::string>{{"a_raises", "not today"},
                                          {"b_hangs", "within 20"},
                                          {"c_exits", "os._exit(0)"},
                                          {"d_eats", "memory"},
                                          {"e_asks_too_much", "memory"}}) {
    EXPECT_EQ(rows[problem]["outcome"], "problem_failed")
        << problem << ": " << rows[problem]["message"];
    EXPECT_NE(rows[problem]["message"].get<std::string>().find(words), std::string::npos)
        << problem << ": " << rows[problem]["message"];
  }
  EXPECT_EQ(rows["f_fine"]["outcome"], "correct") << rows["f_fine"]["message"];
}

}  // namespace
}  // namespace cudaagent::test
