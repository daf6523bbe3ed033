#include "candidate/step_reader.h"

#include <algorithm>

#include "candidate/arg_reader.h"
#include "candidate/kernel_name.h"
#include "candidate/spelling.h"

namespace cudaagent::candidate {
namespace {

constexpr int kMaxRepeatDepth = 6;

std::vector<Expr> ReadDimensions(const Node& node) {
  std::vector<Expr> dimensions;
  if (!node.json().is_array()) return {node.Expression()};
  for (const Node& each : node.Elements("one to three integers or expressions")) {
    dimensions.push_back(each.Expression());
  }
  if (dimensions.empty() || dimensions.size() > 3) {
    node.Refuse("expected one to three integers or expressions, found " +
                std::to_string(dimensions.size()));
  }
  return dimensions;
}

KernelStep ReadKernel(const Node& node) {
  node.RefuseUnsupported({"cluster", "programmatic"});
  node.AllowFields("a step",
                   {"kernel", "grid", "block", "shared_bytes", "args", "cooperative", "when"});
  KernelStep step;
  const Node name = node.Field("kernel");
  auto kernel = ParseKernelName(name.String("a kernel's name"));
  if (!kernel) name.Refuse(kernel.error().message);
  step.kernel = *kernel;
  step.grid = ReadDimensions(node.Field("grid"));
  step.block = ReadDimensions(node.Field("block"));
  if (node.Has("shared_bytes")) step.shared_bytes = node.Field("shared_bytes").Expression();
  if (node.Has("cooperative")) step.cooperative = node.Field("cooperative").Bool();
  for (const Node& each : node.Field("args").Elements("a list of kernel arguments")) {
    step.args.push_back(ReadKernelArg(each));
  }
  return step;
}

// Every operator that names where its result goes, by aten's own convention.
bool Mutates(const OpStep& step) {
  return step.op.ends_with('_') || step.overload == "out" || step.overload.ends_with("_out");
}

std::string ReadOutName(const Node& node) {
  std::string name = node.String("a name for the op's result");
  if (name.starts_with('$'))
    node.Refuse("a result is named without \"$\": " + Quote(name.substr(1)));
  CheckOwnName(node, name);
  return name;
}

void ReadOut(const Node& node, OpStep* step) {
  if (!node.Has("out")) {
    if (!Mutates(*step)) node.Refuse("the op's result has no name; add \"out\": \"name\"");
    return;
  }
  const Node out = node.Field("out");
  if (!out.json().is_array()) {
    step->out.push_back(ReadOutName(out));
    return;
  }
  step->out_is_list = true;
  for (const Node& each : out.Elements("a list of names")) {
    if (each.json().is_null()) {
      step->out.push_back(std::nullopt);
    } else {
      step->out.push_back(ReadOutName(each));
    }
  }
  if (step->out.empty()) out.Refuse("expected at least one name");
}

OpStep ReadOp(const Node& node) {
  node.AllowFields("a step", {"op", "args", "kwargs", "out", "when"});
  OpStep step;
  const Node op = node.Field("op");
  const std::string text = op.String("an op such as \"aten::linear\"");
  const size_t colons = text.find("::");
  const size_t dot = text.find('.');
  step.op = text.substr(0, dot);
  if (dot != std::string::npos) step.overload = text.substr(dot + 1);
  if (colons == std::string::npos || !IsIdentifier(text.substr(0, colons)) ||
      !IsIdentifier(std::string_view(step.op).substr(std::min(colons + 2, step.op.size()))) ||
      (dot != std::string::npos && !IsIdentifier(step.overload))) {
    op.Refuse(Quote(text) +
              " is not an op's name; write \"aten::name\" or \"aten::name.overload\"");
  }
  if (step.overload == "default") step.overload.clear();
  if (node.Has("args")) {
    for (const Node& each : node.Field("args").Elements("a list of arguments")) {
      step.args.push_back(ReadOpValue(each));
    }
  }
  if (node.Has("kwargs")) {
    for (const auto& [key, value] : node.Field("kwargs").Fields("an object of named arguments")) {
      if (!IsIdentifier(key)) value.Refuse("an argument's name is an identifier");
      step.kwargs.emplace_back(key, ReadOpValue(value));
    }
  }
  ReadOut(node, &step);
  return step;
}

RepeatStep ReadRepeat(const Node& node, int depth) {
  if (depth >= kMaxRepeatDepth) {
    node.Refuse("repeats nest deeper than " + std::to_string(kMaxRepeatDepth) + " levels");
  }
  node.AllowFields("a step", {"repeat", "from", "count", "steps", "when"});
  RepeatStep step;
  const Node counter = node.Field("repeat");
  step.counter = counter.String("the counter's name");
  CheckOwnName(counter, step.counter);
  if (!IsIdentifier(step.counter)) counter.Refuse(Quote(step.counter) + " is not an identifier");
  step.from = node.Has("from") ? node.Field("from").Expression() : Expr(0);
  step.count = node.Field("count").Expression();
  step.steps = ReadSteps(node.Field("steps"), depth + 1);
  if (step.steps.empty()) node.Field("steps").Refuse("expected at least one step");
  return step;
}

}  // namespace

std::vector<Step> ReadSteps(const Node& list, int depth) {
  std::vector<Step> steps;
  for (const Node& node : list.Elements("a list of steps")) {
    if (!node.json().is_object()) node.Refuse("expected a step, found " + node.Describe());
    const int kinds = node.Has("kernel") + node.Has("op") + node.Has("repeat");
    if (kinds != 1) {
      node.Refuse(kinds == 0 ? "a step has one of \"kernel\", \"op\" and \"repeat\"; this has none"
                             : "a step has only one of \"kernel\", \"op\" and \"repeat\"");
    }
    Step step;
    step.where = node.where();
    step.when = node.When();
    if (node.Has("kernel")) {
      step.what = ReadKernel(node);
    } else if (node.Has("op")) {
      step.what = ReadOp(node);
    } else {
      step.what = ReadRepeat(node, depth);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace cudaagent::candidate
