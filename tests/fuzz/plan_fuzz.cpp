// A candidate file, as a proposer's answer brings it: from the answer to NVRTC's name expressions.
#include "candidate/plan.h"
#include "candidate/problem_fixture.h"
#include "candidate/validate.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cudaagent;
  static const ProblemInfo problem = candidate::MakeProblem();
  const std::string_view text = fuzz::TextOf(data, size);
  (void)candidate::ExtractCandidate(text);
  auto parsed = candidate::ParseCandidate(text);
  if (!parsed) {
    fuzz::Require(!parsed.error().message.empty(), "a refused candidate is told why");
    return 0;
  }
  if (!candidate::ValidatePlan(*parsed, problem)) return 0;
  (void)candidate::KernelInstances(*parsed, problem);
  for (const candidate::Step& step : parsed->plan.steps) {
    const auto* kernel = std::get_if<candidate::KernelStep>(&step.what);
    if (kernel != nullptr)
      (void)candidate::CheckSignature(*kernel, "f<256, 2>(float4 const*, int, float*)");
  }
  return 0;
}
