#include "device/liveness.h"

#include <functional>

namespace cudaagent::device {
namespace {

using Mention = std::function<void(const std::string&)>;

void Visit(const candidate::OpValue& value, const Mention& mention) {
  if (const auto* ref = std::get_if<candidate::TensorRef>(&value.value)) mention(ref->name);
  if (const auto* list = std::get_if<candidate::OpList>(&value.value)) {
    for (const candidate::OpValue& each : *list) Visit(each, mention);
  }
}

void Visit(const candidate::Step& step, const Mention& mention) {
  if (const auto* kernel = std::get_if<candidate::KernelStep>(&step.what)) {
    for (const candidate::KernelArg& arg : kernel->args) {
      for (const candidate::PointerArg* pointer : candidate::PointersOf(arg)) {
        mention(pointer->tensor.name);
      }
    }
  } else if (const auto* op = std::get_if<candidate::OpStep>(&step.what)) {
    for (const candidate::OpValue& value : op->args) Visit(value, mention);
    for (const auto& [name, value] : op->kwargs) Visit(value, mention);
  } else {
    for (const auto& each : std::get<candidate::RepeatStep>(step.what).steps) Visit(each, mention);
  }
}

}  // namespace

Liveness::Liveness(const std::vector<candidate::Step>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    Visit(steps[i], [&](const std::string& name) {
      const size_t brace = name.find('{');
      if (brace == std::string::npos) {
        last_use_[name] = i;
      } else {
        last_prefix_[name.substr(0, brace)] = i;
      }
    });
  }
}

bool Liveness::UsedAfter(const std::string& name, size_t step) const {
  const auto use = last_use_.find(name);
  if (use != last_use_.end() && use->second > step) return true;
  for (const auto& [prefix, last] : last_prefix_) {
    if (last > step && name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace cudaagent::device
