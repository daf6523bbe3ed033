// A small problem and ways to make candidates for it.
#pragma once

#include <string>

#include "candidate/plan.h"
#include "candidate/validate.h"
#include "cudaagent/problem.h"

namespace cudaagent::candidate {

inline TensorInfo MakeTensor(std::string name, std::vector<int64_t> shape,
                             std::string dtype = "float32") {
  TensorInfo info;
  info.name = std::move(name);
  info.shape = std::move(shape);
  info.dtype = std::move(dtype);
  info.strides.resize(info.shape.size());
  int64_t stride = 1;
  for (size_t i = info.shape.size(); i-- > 0;) {
    info.strides[i] = stride;
    stride *= info.shape[i];
  }
  info.bytes = stride * DtypeBytes(info.dtype);
  return info;
}

// y = f(x, n) with x: 64 x 256, fc.weight: 512 x 256, fc.bias: 512, layers.{0,1}.w, one output.
inline ProblemInfo MakeProblem() {
  ProblemInfo problem;
  problem.inputs = {MakeTensor("x", {64, 256}), MakeTensor("mask", {64}, "bool")};
  problem.scalars = {{"n", "7"}, {"scale", "0.5"}, {"flag", "true"}};
  problem.parameters = {MakeTensor("fc.weight", {512, 256}), MakeTensor("fc.bias", {512}),
                        MakeTensor("layers.0.w", {8, 4}),    MakeTensor("layers.1.w", {16, 4}),
                        MakeTensor("0.weight", {3}),         MakeTensor("mask", {5})};
  problem.constants = {MakeTensor("const0", {2, 2})};
  problem.outputs = {MakeTensor("out0", {64, 512})};
  return problem;
}

// A candidate with these plan fields after "plan": 1, and a kernel `f` unless other code is given.
inline std::string MakeSource(
    const std::string& fields,
    const std::string& code =
        "template <int B> __global__ void f(const float* x, float* y) {}\n"
        "__global__ void g(float* y, int n) {}\n") {
  return "/*cudaagent\n{ \"plan\": 1, " + fields + " }\n*/\n" + code;
}

// The sentence ParseCandidate or ValidatePlan answers with, "" where both are content.
inline std::string Complaint(const std::string& source,
                             const ProblemInfo& problem = MakeProblem()) {
  auto parsed = ParseCandidate(source);
  if (!parsed) {
    return parsed.error().verdict == Verdict::kBadCandidate ? parsed.error().message : "?";
  }
  auto valid = ValidatePlan(*parsed, problem);
  if (valid) return "";
  return valid.error().verdict == Verdict::kBadCandidate ? valid.error().message : "?";
}

// The complaint about one step in front of a valid one that writes out0.
inline std::string StepComplaint(const std::string& step, const std::string& more_fields = "") {
  return Complaint(MakeSource(
      more_fields + (more_fields.empty() ? "" : ", ") + "\"steps\": [" + step +
      ", {\"op\": \"aten::linear\", \"args\": [\"$x\", \"$fc.weight\"], \"out\": \"out0\"}]"));
}

}  // namespace cudaagent::candidate
