#include "candidate/plan_reader.h"

#include <algorithm>

#include "candidate/arg_reader.h"
#include "candidate/spelling.h"
#include "candidate/step_reader.h"

namespace cudaagent::candidate {
namespace {

constexpr size_t kMaxTuneValues = 64;

std::string OneOf(const Node& node, std::string_view what, const std::vector<std::string>& known) {
  const std::string text = node.String(what);
  if (std::find(known.begin(), known.end(), text) == known.end()) {
    node.Refuse("unknown value " + Quote(text) + Suggest(text, known));
  }
  return text;
}

void ReadTune(const Node& node, Plan* plan) {
  for (const auto& [name, values] : node.Fields("an object of lists of integers")) {
    if (!IsIdentifier(name)) values.Refuse("a tune name is an identifier");
    CheckOwnName(values, name);
    std::vector<int64_t> numbers;
    for (const Node& each : values.Elements("a list of integers")) {
      numbers.push_back(each.Integer("an integer"));
    }
    if (numbers.empty() || numbers.size() > kMaxTuneValues) {
      values.Refuse("expected 1 to " + std::to_string(kMaxTuneValues) + " integers, found " +
                    std::to_string(numbers.size()));
    }
    plan->tune.emplace_back(name, std::move(numbers));
  }
}

void ReadTuned(const Node& node, Plan* plan) {
  std::vector<std::string> names;
  for (const auto& [name, values] : plan->tune) names.push_back(name);
  for (const auto& [name, value] : node.Fields("an object of integers")) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      value.Refuse(Quote(name) + " is not in \"tune\"" + Suggest(name, names));
    }
    plan->tuned[name] = value.Integer("an integer");
  }
}

std::vector<BufferSpec> ReadBuffers(const Node& node, bool may_zero) {
  std::vector<BufferSpec> buffers;
  for (const auto& [name, spec] : node.Fields("an object of {\"dtype\", \"shape\"}")) {
    CheckOwnName(spec, name);
    if (!IsIdentifier(name)) spec.Refuse("a name here is an identifier");
    spec.AllowFields("{\"dtype\", \"shape\"}",
                     may_zero ? std::vector<std::string>{"dtype", "shape", "zero", "when"}
                              : std::vector<std::string>{"dtype", "shape", "when"});
    BufferSpec buffer;
    buffer.name = name;
    buffer.dtype = ReadDtype(spec.Field("dtype"));
    for (const Node& each : spec.Field("shape").Elements("a list of integers or expressions")) {
      buffer.shape.push_back(each.Expression());
    }
    if (spec.Has("zero")) buffer.zero = spec.Field("zero").Bool();
    buffer.when = spec.When();
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

CompileOptions ReadCompile(const Node& node) {
  node.AllowFields("compile options", {"std", "fast_math", "maxrregcount", "include"});
  CompileOptions options;
  if (node.Has("std")) {
    options.standard = OneOf(node.Field("std"), "a standard", {"c++17", "c++20"});
  }
  if (node.Has("fast_math")) options.fast_math = node.Field("fast_math").Bool();
  if (node.Has("maxrregcount")) {
    const Node count = node.Field("maxrregcount");
    const int64_t registers = count.Integer("16 to 255");
    if (registers < 16 || registers > 255) {
      count.Refuse("expected 16 to 255, found " + std::to_string(registers));
    }
    options.max_registers = static_cast<int>(registers);
  }
  if (node.Has("include")) {
    for (const Node& each : node.Field("include").Elements("a list of libraries")) {
      OneOf(each, "a library", {"cutlass"});
      each.Refuse(
          "CUTLASS is not on the include path of this version; write the kernel without it, "
          "or leave the product to an op such as aten::linear");
    }
  }
  return options;
}

void ReadPrecision(const Node& node, Plan* plan) {
  node.AllowFields("an object of precisions", {"matmul", "conv", "rnn"});
  for (const auto& [key, value] : node.Fields("an object of precisions")) {
    plan->precision[key] = OneOf(value, "a precision", {"fp32", "tf32"});
  }
}

}  // namespace

Plan ReadPlan(const Json& json) {
  const Node root(json, "");
  root.AllowFields("an object", {"plan", "tune", "tuned", "require", "buffers", "prepared",
                                 "prepare", "steps", "precision", "compile"});
  Plan plan;
  const Node version = root.Field("plan");
  if (version.Integer("the version 1") != 1) {
    version.Refuse("this version reads plans of version 1 only; write \"plan\": 1");
  }
  if (root.Has("tune")) ReadTune(root.Field("tune"), &plan);
  if (root.Has("tuned")) ReadTuned(root.Field("tuned"), &plan);
  if (root.Has("require")) {
    for (const Node& each : root.Field("require").Elements("a list of conditions")) {
      plan.require.push_back(each.Expression());
    }
  }
  if (root.Has("buffers")) plan.buffers = ReadBuffers(root.Field("buffers"), true);
  if (root.Has("prepared")) plan.prepared = ReadBuffers(root.Field("prepared"), false);
  if (root.Has("prepare")) plan.prepare = ReadSteps(root.Field("prepare"));
  const Node steps = root.Field("steps");
  plan.steps = ReadSteps(steps);
  if (plan.steps.empty()) steps.Refuse("expected at least one step");
  if (root.Has("precision")) ReadPrecision(root.Field("precision"), &plan);
  if (root.Has("compile")) plan.compile = ReadCompile(root.Field("compile"));
  return plan;
}

std::vector<const PointerArg*> PointersOf(const KernelArg& arg) {
  if (const auto* one = std::get_if<PointerArg>(&arg)) return {one};
  std::vector<const PointerArg*> pointers;
  if (const auto* several = std::get_if<PointersArg>(&arg)) {
    for (const PointerArg& each : several->pointers) pointers.push_back(&each);
  }
  return pointers;
}

std::map<std::string, int64_t> Plan::DefaultTune() const {
  std::map<std::string, int64_t> values;
  for (const auto& [name, list] : tune) {
    auto chosen = tuned.find(name);
    values[name] = chosen != tuned.end() ? chosen->second : list.front();
  }
  return values;
}

}  // namespace cudaagent::candidate
