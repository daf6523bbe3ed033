#include "candidate/expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "candidate/problem_fixture.h"

namespace cudaagent::candidate {
namespace {

class ExprTest : public ::testing::Test {
 protected:
  ProblemScope scope_{MakeProblem(), {{"BLOCK", 256}, {"i", 0}, {"device.sms", 132}}};

  std::string Result(std::string_view text) const {
    auto expr = Expr::Parse(text);
    if (!expr) return "parse: " + expr.error().message;
    auto value = expr->Evaluate(scope_);
    return value ? std::to_string(*value) : value.error().message;
  }
};

TEST_F(ExprTest, ArithmeticIsAsInC) {
  EXPECT_EQ(Result("1 + 2 * 3"), "7");
  EXPECT_EQ(Result("(1 + 2) * 3"), "9");
  EXPECT_EQ(Result("10 - 4 - 3"), "3");
  EXPECT_EQ(Result("-7 / 2"), "-3");
  EXPECT_EQ(Result("-7 % 2"), "-1");
  EXPECT_EQ(Result("- -5"), "5");
  EXPECT_EQ(Result("2 + 3 == 5 && !(1 > 2) || 0"), "1");
  EXPECT_EQ(Result("1 < 2 == 1"), "1");
  EXPECT_EQ(Result("3 >= 3 && 3 <= 3 && 2 != 3"), "1");
  EXPECT_EQ(Result("1 ? 2 : 0 ? 3 : 4"), "2");
  EXPECT_EQ(Result("0 ? 2 : 0 ? 3 : 4"), "4");
  EXPECT_EQ(Result("min(4, 2, 3) + max(1, 9) + ceil_div(7, 2)"), "15");
  EXPECT_EQ(Result("ceil_div(-7, 2)"), "-3");
  EXPECT_EQ(Result("ceil_div(-7, -2)"), "4");
  EXPECT_EQ(Result("true + !false"), "2");
}

TEST_F(ExprTest, NamesAndSizesComeFromTheScope) {
  EXPECT_EQ(Result("x.size(0) * x.size(-1)"), std::to_string(64 * 256));
  EXPECT_EQ(Result("$x.numel + x.numel()"), std::to_string(2 * 64 * 256));
  EXPECT_EQ(Result("x.stride(0)"), "256");
  EXPECT_EQ(Result("fc.weight.size(0) / BLOCK"), "2");
  EXPECT_EQ(Result("0.weight.numel"), "3");
  EXPECT_EQ(Result("layers.{i + 1}.w.size(0) + layers.{i}.w.size(0)"), "24");
  EXPECT_EQ(Result("n * 2 + flag"), "15");
  EXPECT_EQ(Result("device.sms * 2"), "264");
  EXPECT_EQ(Result("mask.numel"), "64") << "the input wins";
  EXPECT_EQ(Result("$param:mask.numel"), "5");
}

TEST_F(ExprTest, OverflowAndDivisionByZeroAreErrors) {
  EXPECT_EQ(Result("9223372036854775807 + 1"), "overflow in \"9223372036854775807 + 1\"");
  EXPECT_EQ(Result("-9223372036854775807 - 2"), "overflow in \"-9223372036854775807 - 2\"");
  EXPECT_EQ(Result("4294967296 * 4294967296"), "overflow in \"4294967296 * 4294967296\"");
  EXPECT_EQ(Result("(-9223372036854775807 - 1) / -1"),
            "overflow in \"(-9223372036854775807 - 1) / -1\"");
  EXPECT_EQ(Result("(-9223372036854775807 - 1) % -1"), "0");
  EXPECT_EQ(Result("1 / (n - 7)"), "division by zero in \"1 / (n - 7)\"");
  EXPECT_EQ(Result("1 % 0"), "division by zero in \"1 % 0\"");
  EXPECT_EQ(Result("ceil_div(1, 0)"), "division by zero in \"ceil_div(1, 0)\"");
}

TEST_F(ExprTest, UnneededOperandsAreNotEvaluated) {
  EXPECT_EQ(Result("n == 0 || 1 / n >= 0"), "1");
  EXPECT_EQ(Result("0 && 1 / 0"), "0");
  EXPECT_EQ(Result("1 || nothing"), "1");
  EXPECT_EQ(Result("1 ? 5 : 1 / 0"), "5");
}

TEST_F(ExprTest, EvaluationErrorsNameTheText) {
  EXPECT_EQ(Result("BLOK * 2"), "unknown name \"BLOK\" in \"BLOK * 2\"");
  EXPECT_EQ(Result("y.size(0)"), "unknown tensor \"y\" in \"y.size(0)\"");
  EXPECT_EQ(Result("x + 1"),
            "\"x\" is a tensor; use its .size(i), .stride(i) or .numel in \"x + 1\"");
  EXPECT_EQ(Result("x.size(2)"), "dimension 2 of \"x\", which has 2 dimensions, in \"x.size(2)\"");
  EXPECT_EQ(Result("scale"), "unknown name \"scale\" in \"scale\"") << "it is no integer";
}

TEST_F(ExprTest, ParseErrorsNameTheColumn) {
  EXPECT_EQ(Result(""), "parse: expected a number, a name or '(' at column 1 of \"\"");
  EXPECT_EQ(Result("x.size(0"), "parse: expected ')' at column 9 of \"x.size(0\"");
  EXPECT_EQ(Result("1 +"), "parse: expected a number, a name or '(' at column 4 of \"1 +\"");
  EXPECT_EQ(Result("1 2"), "parse: unexpected \"2\" at column 3 of \"1 2\"");
  EXPECT_EQ(Result("x.shape[0]"),
            "parse: unexpected \"[\" (sizes are written x.size(0)) at column 8 of \"x.shape[0]\"");
  EXPECT_EQ(Result("0.5"), "parse: \"0.5\" is not a decimal integer at column 1 of \"0.5\"");
  EXPECT_EQ(Result("1e5"), "parse: \"1e5\" is not a decimal integer at column 1 of \"1e5\"");
  EXPECT_EQ(Result("0x10"), "parse: \"0x10\" is not a decimal integer at column 1 of \"0x10\"");
  EXPECT_EQ(Result("99999999999999999999"),
            "parse: \"99999999999999999999\" does not fit in 64 bits at column 1 of "
            "\"99999999999999999999\"");
  EXPECT_EQ(Result("x.item(0)"),
            "parse: a tensor has .size(i), .stride(i) and .numel, nothing else at column 7 of "
            "\"x.item(0)\"");
  EXPECT_EQ(
      Result("cdiv(1, 2)"),
      "parse: unknown function \"cdiv\"; known: min, max, ceil_div, max_blocks at column 1 of "
      "\"cdiv(1, 2)\"");
  EXPECT_EQ(Result("ceildiv(1, 2)"),
            "parse: unknown function \"ceildiv\"; did you mean \"ceil_div\"? at column 1 of "
            "\"ceildiv(1, 2)\"");
  EXPECT_EQ(Result("min(1)"), "parse: min takes two or more arguments at column 7 of \"min(1)\"");
  EXPECT_EQ(Result("1 ? 2"), "parse: expected ':' of '?:' at column 6 of \"1 ? 2\"");
  EXPECT_EQ(Result("a = 1"),
            "parse: unexpected \"=\" (operators are == != && ||) at column 3 of "
            "\"a = 1\"");
}

TEST_F(ExprTest, DepthAndLengthAreBounded) {
  for (std::string_view piece : {"(", "-", "!", "1?", "min(1,", "x.size(", "a.{"}) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += piece;
    EXPECT_EQ(Result(text + "1").substr(0, 44), "parse: the expression nests too deeply at co")
        << piece;
  }
  std::string sum = "1";
  for (int i = 0; i < 1000; ++i) sum += "+1";
  EXPECT_EQ(Result(sum), "1001");
  sum.append(2048, ' ');
  EXPECT_EQ(Result(sum), "parse: the expression has 4049 characters, at most 2048 are allowed");
  EXPECT_NE(Result(std::string(10 << 20, '(')).find("at most 2048"), std::string::npos);
}

TEST_F(ExprTest, RandomTextNeverCrashes) {
  std::mt19937 random(7);
  const std::string_view pieces[] = {
      "x",        ".size(",    ")",    "(",  "1", "0",
      "-",        "/",         "%",    "*",  "?", ":",
      "{",        "}",         "min(", ",",  " ", "9223372036854775807",
      "&&",       "||",        "!",    "==", "$", "param:",
      ".",        "numel",     "\x80", "\n", "n", "fc.weight",
      ".stride(", "ceil_div(", "<",    "\"", "'", "[",
      "~"};
  int parsed = 0;
  for (int round = 0; round < 200000; ++round) {
    std::string text;
    for (int length = random() % 12; length >= 0; --length) {
      text += pieces[random() % std::size(pieces)];
    }
    auto expr = Expr::Parse(text);
    if (!expr) {
      EXPECT_FALSE(expr.error().message.empty());
      continue;
    }
    ++parsed;
    auto value = expr->Evaluate(scope_);
    EXPECT_TRUE(value || value.error().verdict == Verdict::kBadCandidate);
  }
  EXPECT_GT(parsed, 1000);
}

TEST_F(ExprTest, RealsDivideAndTakeRoots) {
  const auto real = [&](std::string_view text) {
    auto expr = Expr::ParseReal(text);
    EXPECT_TRUE(expr) << expr.error().message;
    auto value = expr->EvaluateReal(scope_);
    EXPECT_TRUE(value) << value.error().message;
    return value ? *value : -1;
  };
  EXPECT_DOUBLE_EQ(real("1 / 3"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(real("1.5e-3 * 2"), 3e-3);
  EXPECT_DOUBLE_EQ(real("sqrt(2) + rsqrt(x.size(1))"), std::sqrt(2.0) + 1.0 / 16);
  EXPECT_DOUBLE_EQ(real("scale * n"), 3.5) << "non-tensor inputs";
  EXPECT_DOUBLE_EQ(real("n > 5 && scale < 1 ? max(0.25, scale) : 0"), 0.5);
  EXPECT_DOUBLE_EQ(real("-0.weight.numel"), -3) << "a name may start with a digit";
  EXPECT_DOUBLE_EQ(real("layers.{i / 2 + 1}.w.size(0) / 3"), 16.0 / 3)
      << "pieces of names are integers";
}

TEST_F(ExprTest, RealsHaveErrorsOfTheirOwn) {
  const auto complaint = [&](std::string_view text) {
    auto expr = Expr::ParseReal(text);
    if (!expr) return expr.error().message;
    auto value = expr->EvaluateReal(scope_);
    return value ? std::string() : value.error().message;
  };
  EXPECT_EQ(complaint("1 / (n - 7)"), "division by zero in \"1 / (n - 7)\"");
  EXPECT_EQ(complaint("sqrt(0 - 1)"), "the root of a negative number in \"sqrt(0 - 1)\"");
  EXPECT_EQ(complaint("7 % 2"), "\"%\" is for integers, not for an fexpr in \"7 % 2\"");
  EXPECT_EQ(complaint("exp(1)"),
            "unknown function \"exp\"; known: min, max, sqrt, rsqrt at column 1 of "
            "\"exp(1)\"");
  EXPECT_EQ(complaint("1.2.3").substr(0, 5), "\"1.2.");
  EXPECT_EQ(Result("sqrt(4)").substr(0, 30), "parse: unknown function \"sqrt\"");
}

TEST_F(ExprTest, MaxBlocksAsksTheDeviceForTheInstance) {
  EXPECT_EQ(Result("max_blocks(\"f<BLOCK>\", BLOCK, 0)"),
            "max_blocks is known on a device only; it cannot be used here, in "
            "\"max_blocks(\"f<BLOCK>\", BLOCK, 0)\"");
  scope_.SetOccupancy([](const std::string& instance, int64_t threads, int64_t shared) {
    return Checked<int64_t>(instance == "f<256>" ? threads + shared : -1);
  });
  EXPECT_EQ(Result("min(max_blocks('f<BLOCK>', BLOCK, 4 * 4), 1000)"), "272");
  for (const char* text : {"max_blocks(f, 1, 2)", "max_blocks('f', 1)", "max_blocks('f', 1, 2, 3)",
                           "max_blocks('f, 1, 2)", "max_blocks()"}) {
    EXPECT_NE(Result(text).find("expected max_blocks(\"kernel\", threads, shared_bytes)"),
              std::string::npos)
        << text << ": " << Result(text);
  }
  EXPECT_TRUE(Expr::Parse("1 + max_blocks('f', 1, 2)")->Names(scope_)->max_blocks);
}

TEST_F(ExprTest, NamesListsWhatIsMentioned) {
  auto names = Expr::Parse("BLOCK * layers.{i}.w.size(i) + x.numel")->Names(scope_);
  ASSERT_TRUE(names);
  EXPECT_EQ(names->values, (std::vector<std::string>{"BLOCK", "i", "i"}));
  EXPECT_EQ(names->tensors, (std::vector<std::string>{"layers.0.w", "x"}));
}

TEST_F(ExprTest, NamePiecesAreExpanded) {
  EXPECT_EQ(*ExpandName("layers.{i + 1}.weight", scope_), "layers.1.weight");
  EXPECT_EQ(*ExpandName("h{2 * 3}", scope_), "h6");
  EXPECT_EQ(*ExpandName("param:mask", scope_), "param:mask");
  EXPECT_EQ(ExpandName("h{j}", scope_).error().message, "unknown name \"j\" in \"h{j}\"");
  EXPECT_EQ(ExpandName("h{", scope_).error().message,
            "expected a number, a name or '(' at column 3 of \"h{\"");
}

}  // namespace
}  // namespace cudaagent::candidate
