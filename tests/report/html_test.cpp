// The page of a report: what it holds, and, where a Chromium is installed, how it opens.
#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <regex>

#include "support/run_program.h"
#include "util/file.h"

namespace cudaagent::report {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kHostile =
    "</script><script>document.title='owned'</script><img src=x onerror=alert(1)> {{data}} "
    "{{script}}";

PageProblem Problem(const std::string& name, int attempts, const std::string& filler) {
  PageProblem problem;
  problem.name = name;
  problem.outcome = "correct";
  problem.message = "Fine.";
  problem.speedup = Speedup{1.5, 1.4, 1.6};
  problem.median_ms = 2;
  problem.floor_ms = 1;
  problem.seconds = 60;
  for (int i = 0; i < attempts; ++i) {
    PageAttempt attempt;
    attempt.number = i;
    attempt.parent = i - 1;
    attempt.origin = "llm:test";
    attempt.verdict = i % 3 == 2 ? "wrong_result" : "ok";
    attempt.message = "Attempt " + std::to_string(i) + ".";
    attempt.feedback = "Try harder.";
    attempt.source = "line one\nline of " + std::to_string(i) + "\n" + filler + "last\n";
    attempt.tokens = 1000;
    attempt.elapsed_s = i;
    if (attempt.verdict == "ok") {
      attempt.speedup = 1 + i * 0.1;
      attempt.median_ms = 2;
      attempt.new_best = true;
    }
    ++problem.verdicts[attempt.verdict];
    problem.attempts.push_back(attempt);
  }
  return problem;
}

TEST(HtmlTest, NothingOfACandidateBecomesMarkup) {
  PageProblem problem = Problem("p", 2, "");
  problem.message = kHostile;
  problem.attempts[1].source = problem.attempts[1].feedback = problem.attempts[1].message =
      kHostile;
  Page page;
  page.title = kHostile;
  page.facts = {{"model", kHostile}};
  page.problems = {problem};
  const std::string html = Html(page);
  EXPECT_THAT(html, Not(HasSubstr("document.title='owned'</script>")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("http://example")));
  // One page, two scripts' data, one script: no more tags than are ours.
  size_t tags = 0;
  for (size_t at = 0; (at = html.find("<script", at)) != std::string::npos; ++at) ++tags;
  EXPECT_EQ(tags, 3u);
}

TEST(HtmlTest, NamesNothingToFetch) {
  const std::string html = Html(Page{"t", {}, {}, {Problem("p", 1, "")}});
  const std::regex fetched(R"re((src|href)="(?!#)|@import|url\()re");
  EXPECT_FALSE(std::regex_search(html, fetched));
}

class ChromiumTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* path :
         {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
      if (access(path, X_OK) == 0) browser_ = path;
    }
    if (browser_.empty())
      GTEST_SKIP() << "no Chromium here: apt-get install --no-install-recommends chromium";
    temp_ = std::move(*util::TempDir::Create("page"));
  }
  // The page's DOM once its scripts have run.
  std::string Open(const std::string& html) {
    const std::string path = temp_.path() + "/page.html";
    EXPECT_TRUE(util::WriteFileAtomic(path, html));
    const test::Finished run = test::RunProgram(
        {browser_, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--user-data-dir=" + temp_.path() + "/profile", "--dump-dom", "file://" + path});
    EXPECT_EQ(run.exit_code, 0) << run.err.substr(0, 2000);
    return run.out;
  }
  std::string browser_;
  util::TempDir temp_;
};

TEST_F(ChromiumTest, OpensAProblemItsAttemptsAndTheirDifference) {
  Page page{"two problems", {{"device", kHostile}}, {{"", "correct"}, {"all", "2 of 2"}}, {}};
  page.problems = {Problem("level1/1_One", 3, ""), Problem("level1/2_Two", 2, "")};
  page.problems[0].attempts[1].source += kHostile;
  const std::string dom = Open(Html(page) +
                               "<script>document.querySelector('#table td button').click();"
                               "const all = () => document.querySelectorAll('details:not([open])');"
                               "for (let i = 0; i < 3; ++i) for (const d of all()) { d.open = "
                               "true; d.dispatchEvent(new Event('toggle')); }"
                               "</script>");
  EXPECT_THAT(dom, HasSubstr("2 of 2 problems"));
  EXPECT_THAT(dom, HasSubstr("aria-expanded=\"true\""));
  EXPECT_THAT(
      dom,
      HasSubstr("<span class=\"cut\">- line of 0</span><span class=\"add\">+ line of 1</span>"));
  EXPECT_THAT(dom, HasSubstr("Try harder."));
  EXPECT_THAT(dom, HasSubstr("<title>two problems"));
  EXPECT_THAT(dom, Not(HasSubstr("<img")));
}

TEST_F(ChromiumTest, AWholeKernelBenchWithFiftyAttemptsEachIsThereWithinASecond) {
  std::string filler;
  for (int i = 0; i < 60; ++i)
    filler += "  if (threadIdx.x < " + std::to_string(i) + ") y[i] = x[i] * factor;\n";
  Page page{"large", {}, {}, {}};
  for (int i = 0; i < 250; ++i)
    page.problems.push_back(Problem("level1/" + std::to_string(i), 50, filler));
  const std::string dom = Open(Html(page));
  std::smatch ready;
  const std::string start = dom.substr(0, 2000);
  ASSERT_TRUE(std::regex_search(start, ready, std::regex("data-ready=\"([0-9]+)\""))) << start;
  RecordProperty("ready_ms", ready[1]);
  std::printf("ready after %s ms\n", ready[1].str().c_str());
  // A second on an idle machine; a busy one may take longer.
  EXPECT_LT(std::stoi(ready[1]), 4000);
  EXPECT_THAT(dom, HasSubstr("250 of 250 problems"));
}

}  // namespace
}  // namespace cudaagent::report
