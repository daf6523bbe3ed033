// An integer expression of a plan: parsed, named, evaluated; also as a name with "{expr}" pieces
// and as a demangled signature.
#include "candidate/expr.h"
#include "candidate/problem_fixture.h"
#include "candidate/validate.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cudaagent;
  static const candidate::ProblemScope scope(candidate::MakeProblem(), {{"B", 256}, {"i", -3}});
  const std::string_view text = fuzz::TextOf(data, size);
  (void)candidate::ExpandName(text, scope);
  (void)candidate::CheckSignature({}, std::string(text));
  auto expr = candidate::Expr::Parse(text);
  if (!expr) return 0;
  (void)expr->Names(scope);
  auto value = expr->Evaluate(scope);
  auto again = candidate::Expr::Parse(expr->text());
  fuzz::Require(again.has_value(), "an expression's own text parses");
  auto same = again->Evaluate(scope);
  fuzz::Require(value.has_value() == same.has_value() && (!value || *value == *same),
                "an expression's own text has its value");
  return 0;
}
