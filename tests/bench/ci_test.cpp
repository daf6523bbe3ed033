#include "bench/ci.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/row_fixture.h"
#include "bench/text.h"

namespace cudaagent::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kHostile =
    "]]> <script>alert(1)</script> & \"x\" \x1b[31m\x01 | `rm` @all\n::error::%0A";

std::vector<Row> Mixed() {
  Row hack = Measured("hack", 1);
  hack.outcome = Outcome::kIncorrect;
  hack.evaluation->verdict = Verdict::kSuspectedHack;
  return {Measured("good", 2),
          Failed("wrong", Outcome::kIncorrect, kHostile),
          hack,
          Failed("raises", Outcome::kProblemFailed, "model.py, line 3: no."),
          Failed("broken", Outcome::kInfraError, "ECC"),
          Failed("wgmma", Outcome::kUnsupported, "not here"),
          Failed("slow", Outcome::kTimedOut, "late")};
}

ScoreTable Table(const std::vector<Row>& rows) {
  std::vector<std::string> keys;
  for (const Row& row : rows) keys.push_back(row.problem);
  return ScoreAll(rows, keys, {});
}

TEST(CiTest, JunitCountsFailuresErrorsAndSkipped) {
  const std::string xml = Junit(Mixed(), {});
  EXPECT_THAT(
      xml,
      HasSubstr(R"(<testsuite name="problems" tests="7" failures="3" errors="2" skipped="1")"));
  EXPECT_THAT(xml, HasSubstr("<failure type=\"hack\""));
  EXPECT_THAT(xml, HasSubstr("<failure type=\"timeout\" message=\"late\"/>"));
  EXPECT_THAT(xml, HasSubstr("<error type=\"problem_failed\" message=\"model.py, line 3: no.\"/>"));
  EXPECT_THAT(xml, Not(HasSubstr("<script>")));
  EXPECT_EQ(xml.find('\x01'), std::string::npos);
  EXPECT_EQ(xml.find('\x1b'), std::string::npos);
}

TEST(CiTest, TheSpeedOfLightHasItsColumnWhereSomeRowHasIt) {
  std::vector<Row> rows = {Measured("a", 2), Measured("b", 1)};
  EXPECT_THAT(Markdown(rows, Table(rows), {}, 1 << 16), Not(HasSubstr("speed of light")));
  rows[0].evaluation->sol = 0.5;
  const std::string text = Markdown(rows, Table(rows), {}, 1 << 16);
  EXPECT_THAT(text, HasSubstr("| n | speed of light |"));
  EXPECT_THAT(text, HasSubstr("| 50.0 % of 1 |"));
  EXPECT_THAT(Csv(rows), HasSubstr(",sol,"));
  EXPECT_THAT(Csv(rows), HasSubstr(",0.5,false,"));
}

TEST(CiTest, JunitMarksARegressionOnItsOwnCaseAndTheGatesInASuite) {
  GateReport gates;
  gates.failures = {"fast_1 is 0.1, below the 0.6 that --fail-under asks for."};
  gates.changes = {{"good", 0, Change::kSlower, "~0.5x the speed it had"}};
  const std::string xml = Junit(Mixed(), gates);
  EXPECT_THAT(xml, HasSubstr("<failure type=\"regression\" message=\"~0.5x the speed it had\"/>"));
  EXPECT_THAT(xml, HasSubstr("failures=\"4\" errors=\"2\""));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"gates\" tests=\"1\" failures=\"1\""));
  EXPECT_TRUE(gates.failed());
  EXPECT_FALSE(GateReport{}.failed());
}

TEST(CiTest, MarkdownHoldsNoMarkupOfOthers) {
  const std::string md = Markdown(Mixed(), Table(Mixed()), {}, 1 << 20);
  EXPECT_THAT(md, Not(HasSubstr("<script>")));
  EXPECT_THAT(md, Not(HasSubstr("@all")));
  EXPECT_THAT(md, Not(HasSubstr("`rm`")));
  EXPECT_THAT(md, HasSubstr("1 of 7 problems correct"));
  EXPECT_EQ(EscapeMarkdown("a|b\nc"), "a&#124;b c");
}

TEST(CiTest, MarkdownStaysBelowItsCapAndSaysWhatIsLeftOut) {
  std::vector<Row> rows;
  for (int i = 0; i < 3000; ++i)
    rows.push_back(Failed("p" + std::to_string(i), Outcome::kIncorrect, kHostile));
  const std::string md = Markdown(rows, Table(rows), {}, 64 << 10);
  EXPECT_LT(md.size(), size_t{64} << 10);
  EXPECT_THAT(md, HasSubstr("more rows do not fit here"));
  EXPECT_EQ(md.substr(md.size() - 12), "</details>\n\n");
}

TEST(CiTest, AnnotationsAreEscapedAndTen) {
  EXPECT_EQ(EscapeCommand("50%: a,b\nc", false), "50%25: a,b%0Ac");
  EXPECT_EQ(EscapeCommand("50%: a,b\nc", true), "50%25%3A a%2Cb%0Ac");
  std::vector<Row> rows;
  for (int i = 0; i < 30; ++i) rows.push_back(Failed("p", Outcome::kIncorrect, kHostile));
  const std::string text = Annotations(rows, {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_EQ(text.rfind("::error title=p::", 0), 0u);
}

TEST(CiTest, CsvQuotesAndDisarmsFormulas) {
  EXPECT_EQ(CsvField("plain"), "plain");
  EXPECT_EQ(CsvField("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(CsvField("=cmd()"), "'=cmd()");
  const std::string csv =
      Csv({Measured("good", 2), Failed("w", Outcome::kIncorrect, "line\nbreak")});
  EXPECT_THAT(csv, HasSubstr("good,0,0,good,0,correct,ok,2,"));
  EXPECT_THAT(csv, HasSubstr("\"line\nbreak\""));
}

TEST(RowTest, ARowComesBackAsItWas) {
  Row row = Measured("a", 2);
  row.consts = {{"n", "4"}};
  row.verdicts = {{"ok", 1}};
  row.usage.prompt_tokens = 5;
  auto back = RowFromJson(ToJson(row));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(ToJson(*back), ToJson(row));
  for (const char* bad : {"[]", "{}", R"({"schema":1})", R"({"schema":2})"}) {
    EXPECT_FALSE(RowFromJson(nlohmann::json::parse(bad))) << bad;
  }
  nlohmann::json twisted = ToJson(row);
  twisted["outcome"] = "great";
  EXPECT_THAT(RowFromJson(twisted).error().message, HasSubstr("outcome"));
  twisted = ToJson(row);
  twisted["evaluation"]["verdict"] = 3;
  EXPECT_FALSE(RowFromJson(twisted));
}

}  // namespace
}  // namespace cudaagent::bench
