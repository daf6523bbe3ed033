#include "device/name_table.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "device/op_call.h"
#include "device/tensor_info.h"

namespace cudaagent::device {
namespace {

constexpr const char* kParamPrefix = "param:";

std::map<std::string, int64_t> Values(const candidate::Plan& plan, const Limits& limits) {
  std::map<std::string, int64_t> values = plan.DefaultTune();
  values["device.sms"] = limits.sms;
  values["device.smem_optin"] = limits.shared_optin_bytes;
  values["device.l2_bytes"] = limits.l2_bytes;
  return values;
}

}  // namespace

NameTable::NameTable(const ProblemInfo& problem, std::map<std::string, int64_t> values,
                     Bindings bindings, at::Device device)
    : scope_(problem, std::move(values)),
      bindings_(std::move(bindings)),
      device_(device),
      guards_(bindings_.guard) {}

Checked<std::unique_ptr<NameTable>> NameTable::Create(const candidate::Plan& plan,
                                                      const ProblemInfo& problem, Bindings bindings,
                                                      const Limits& limits, at::Device device) {
  std::unique_ptr<NameTable> table(
      new NameTable(problem, Values(plan, limits), std::move(bindings), device));
  if (auto bound = table->BindProblem(problem); !bound) return tl::unexpected(bound.error());
  return table;
}

Checked<void> NameTable::BindProblem(const ProblemInfo& problem) {
  const auto bind = [this](const std::map<std::string, at::Tensor>& from, const std::string& name,
                           const std::string& as, Kind kind) -> Checked<void> {
    const auto found = from.find(name);
    if (found == from.end() || !found->second.defined()) {
      return Blame(Verdict::kInfraError,
                   c10::str("The problem's tensor \"", name, "\" was not bound to memory."));
    }
    Set(as, found->second, kind);
    return {};
  };
  // Inputs last: where an input and a parameter coincide the plain name is the input's.
  for (const auto* list : {&problem.parameters, &problem.constants}) {
    for (const TensorInfo& info : *list) {
      const bool statistic = std::find(problem.statistics.begin(), problem.statistics.end(),
                                       info.name) != problem.statistics.end();
      const Kind kind = statistic ? Kind::kStatistic : Kind::kReadOnly;
      for (const std::string& as : {kParamPrefix + info.name, info.name}) {
        if (auto bound = bind(bindings_.parameters, info.name, as, kind); !bound) return bound;
      }
    }
  }
  for (const TensorInfo& info : problem.inputs) {
    if (auto bound = bind(bindings_.inputs, info.name, info.name, Kind::kReadOnly); !bound)
      return bound;
  }
  for (const TensorInfo& info : problem.outputs) {
    if (!ScalarTypeFromName(info.dtype)) {
      return Blame(Verdict::kUnsupported, c10::str("The output ", info.name, " has the dtype ",
                                                   info.dtype, ", which plans cannot express."));
    }
    outputs_[info.name].info = info;
    output_order_.push_back(info.name);
  }
  return {};
}

void NameTable::Set(const std::string& name, const at::Tensor& tensor, Kind kind) {
  entries_[name] = Entry{tensor, kind};
  scope_.SetTensor(name, DescribeTensor(name, tensor));
  ++generation_;
}

Checked<c10::IValue> NameTable::Find(const std::string& written) {
  auto name = candidate::ExpandName(written, scope_);
  if (!name) return tl::unexpected(name.error());
  if (const auto scalar = bindings_.scalars.find(*name); scalar != bindings_.scalars.end()) {
    return scalar->second;
  }
  if (const auto entry = entries_.find(*name); entry != entries_.end()) {
    return Checked<c10::IValue>(tl::in_place, entry->second.tensor);
  }
  if (outputs_.contains(*name)) {
    auto output = AllocateOutput(*name);
    if (!output) return tl::unexpected(output.error());
    return Checked<c10::IValue>(tl::in_place, *output);
  }
  return Blame(Verdict::kBadCandidate, c10::str("nothing is called \"$", *name, "\" here."));
}

Checked<at::Tensor> NameTable::Tensor(const std::string& name) {
  auto found = Find(name);
  if (!found) return tl::unexpected(found.error());
  if (found->isTensor()) return found->toTensor();
  return Blame(Verdict::kBadCandidate,
               c10::str("\"$", name, "\" is a number, not a tensor; pass it by value."));
}

Checked<at::Tensor> NameTable::AllocateOutput(const std::string& name) {
  Output& output = outputs_.at(name);
  if (!output.allocated.defined()) {
    try {
      output.allocated = guards_.Allocate(name, output.info.shape, output.info.strides,
                                          *ScalarTypeFromName(output.info.dtype), device_);
      // Before the first write memory may hold what the reference once left there.
      FillPoison(output.allocated);
    } catch (...) {
      return tl::unexpected(CurrentExceptionAsFault(name, Verdict::kInfraError));
    }
  }
  Set(name, output.allocated, Kind::kOutput);
  return output.allocated;
}

namespace {

Checked<void> CopyInto(const std::string& name, at::Tensor to, const at::Tensor& result) {
  if (result.sizes() != to.sizes() || result.scalar_type() != to.scalar_type()) {
    return Blame(Verdict::kBadCandidate,
                 c10::str("the result is ", Spell(result), ", but ", name, " is ", Spell(to), "."));
  }
  const at::NoGradGuard no_grad;
  to.copy_(result);
  return {};
}

}  // namespace

Checked<void> NameTable::Bind(const std::string& written, const at::Tensor& tensor) {
  auto name = candidate::ExpandName(written, scope_);
  if (!name) return tl::unexpected(name.error());
  const auto output = outputs_.find(*name);
  if (output == outputs_.end()) {
    const auto entry = entries_.find(*name);
    if (preparing_ && entry != entries_.end() && entry->second.kind == Kind::kPrepared) {
      return CopyInto(*name, entry->second.tensor, tensor);
    }
    if (bindings_.scalars.contains(*name) ||
        (entry != entries_.end() && entry->second.kind != Kind::kResult)) {
      return Blame(Verdict::kBadCandidate,
                   c10::str("\"", *name, "\" is taken already; give the result a new name."));
    }
    Set(*name, tensor, Kind::kResult);
    return {};
  }
  const TensorInfo& wanted = output->second.info;
  const TensorInfo got = DescribeTensor(*name, tensor);
  if (got.shape != wanted.shape || got.dtype != wanted.dtype ||
      (tensor.numel() > 0 && got.strides != wanted.strides)) {
    return Blame(Verdict::kBadCandidate, c10::str("the result is ", Spell(got), ", but ", *name,
                                                  " is ", Spell(wanted), "."));
  }
  if (tensor.device() != device_) {
    return Blame(Verdict::kBadCandidate,
                 c10::str("the result lies on ", tensor.device().str(), ", but ", *name,
                          " must be on ", device_.str(), "."));
  }
  std::string owner = ProtectedName(tensor);
  for (const auto& [taken, entry] : entries_) {
    if (entry.kind == Kind::kStatistic && ShareStorage(entry.tensor, tensor)) owner = "$" + taken;
  }
  if (!owner.empty()) {
    return Blame(Verdict::kBadCandidate,
                 c10::str("the result shares memory with ", owner, "; ", *name,
                          " must have its own (aten::clone makes a copy)."));
  }
  Set(*name, tensor, Kind::kOutput);
  return {};
}

std::string NameTable::ProtectedName(const at::Tensor& tensor) const {
  for (const auto& [name, entry] : entries_) {
    const bool read_only =
        entry.kind == Kind::kReadOnly || (entry.kind == Kind::kPrepared && !preparing_);
    if (read_only && ShareStorage(entry.tensor, tensor)) return "$" + name;
  }
  return "";
}

Checked<void> NameTable::AddBuffer(const candidate::BufferSpec& spec, const std::string& where) {
  return Allocate(spec, where, Kind::kBuffer);
}

Checked<void> NameTable::AddPrepared(const candidate::BufferSpec& spec, const std::string& where) {
  return Allocate(spec, where, Kind::kPrepared);
}

void NameTable::BeginPrepare() {
  preparing_ = true;
  prepared_copies_.clear();
  for (const auto& [name, entry] : entries_) {
    if (entry.kind == Kind::kPrepared) FillPoison(entry.tensor);
  }
  ++generation_;
}

void NameTable::EndPrepare() {
  preparing_ = false;
  std::erase_if(entries_, [](const auto& each) { return each.second.kind == Kind::kResult; });
  for (const auto& [name, entry] : entries_) {
    if (entry.kind == Kind::kPrepared) prepared_copies_[name] = AsBytes(entry.tensor).clone();
  }
  ++generation_;
}

Checked<void> NameTable::CheckPrepared() const {
  for (const auto& [name, before] : prepared_copies_) {
    if (at::equal(AsBytes(entries_.at(name).tensor), before)) continue;
    return Blame(Verdict::kInputMutated,
                 c10::str("The candidate's steps changed the prepared value ", name,
                          "; steps only read them."));
  }
  return {};
}

int64_t NameTable::PreparedBytes() const {
  int64_t bytes = 0;
  for (const auto& [name, entry] : entries_) {
    if (entry.kind == Kind::kPrepared) bytes += SpanBytes(entry.tensor);
  }
  return bytes;
}

Checked<void> NameTable::Allocate(const candidate::BufferSpec& spec, const std::string& where,
                                  Kind kind) {
  const auto refuse = [&](const std::string& what) {
    return Blame(Verdict::kBadCandidate, c10::str(where, ": ", what));
  };
  const auto type = ScalarTypeFromName(spec.dtype);
  if (!type) return refuse(c10::str("there is no dtype \"", spec.dtype, "\"."));
  if (entries_.contains(spec.name) || outputs_.contains(spec.name) ||
      bindings_.scalars.contains(spec.name)) {
    return refuse("the name is taken already; choose another.");
  }
  std::vector<int64_t> shape;
  for (const candidate::Expr& extent : spec.shape) {
    auto value = extent.Evaluate(scope_);
    if (!value) return refuse(value.error().message);
    if (*value < 0) {
      return refuse(c10::str("the extent ", extent.text(), " is ", *value, ", below 0."));
    }
    shape.push_back(*value);
  }
  std::vector<int64_t> strides(shape.size());
  int64_t elements = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = elements;
    if (__builtin_mul_overflow(elements, std::max<int64_t>(shape[d], 1), &elements) ||
        elements > (int64_t{1} << 46)) {
      return refuse("the buffer is larger than any device's memory.");
    }
  }
  try {
    const at::Tensor tensor = guards_.Allocate(spec.name, shape, strides, *type, device_);
    FillPoison(tensor);
    Set(spec.name, tensor, kind);
    if (spec.zero) zeroed_.push_back(tensor);
  } catch (...) {
    return tl::unexpected(CurrentExceptionAsFault(where, Verdict::kInfraError));
  }
  return {};
}

void NameTable::ZeroBuffers() {
  const at::NoGradGuard no_grad;
  for (at::Tensor& tensor : zeroed_) tensor.zero_();
}

void NameTable::BeginRun() {
  std::erase_if(entries_, [](const auto& each) {
    return each.second.kind == Kind::kResult || each.second.kind == Kind::kOutput;
  });
  for (const auto& [name, output] : outputs_) {
    if (output.allocated.defined()) Set(name, output.allocated, Kind::kOutput);
  }
  ++generation_;
}

Checked<std::vector<at::Tensor>> NameTable::Outputs() {
  std::vector<at::Tensor> tensors;
  for (const std::string& name : output_order_) {
    const auto entry = entries_.find(name);
    if (entry == entries_.end()) {
      return Blame(Verdict::kBadCandidate, c10::str("No step that ran writes ", name, "."));
    }
    tensors.push_back(entry->second.tensor);
  }
  return tensors;
}

void NameTable::Poison() {
  for (const auto& [name, entry] : entries_) {
    if (entry.kind == Kind::kBuffer) FillPoison(entry.tensor);
  }
  for (const auto& [name, output] : outputs_) FillPoison(output.allocated);
}

int64_t NameTable::OwnBytes() const {
  int64_t bytes = 0;
  for (const auto& [name, entry] : entries_) {
    if (entry.kind == Kind::kBuffer || entry.kind == Kind::kPrepared) {
      bytes += SpanBytes(entry.tensor);
    }
  }
  for (const auto& [name, output] : outputs_) {
    if (output.allocated.defined()) bytes += SpanBytes(output.allocated);
  }
  return bytes;
}

int64_t NameTable::OutputBytes() const {
  int64_t bytes = 0;
  for (const auto& [name, output] : outputs_) bytes += output.info.bytes;
  return bytes;
}

bool NameTable::IsAllocatedOutput(const at::Tensor& tensor) const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [&](const auto& each) { return ShareStorage(each.second.allocated, tensor); });
}

void NameTable::Drop(const std::function<bool(const std::string&)>& is_dead) {
  const auto dropped = std::erase_if(entries_, [&](const auto& each) {
    return each.second.kind == Kind::kResult && is_dead(each.first);
  });
  if (dropped > 0) ++generation_;
}

std::vector<MemoryRegion> NameTable::Regions(const std::set<std::string>& written) const {
  // Names that authors know come first: they name the region where tensors share memory.
  std::vector<const std::pair<const std::string, Entry>*> order;
  for (const auto& each : entries_) order.push_back(&each);
  const auto rank = [](const auto* each) {
    return std::pair(each->second.kind, each->first.starts_with(kParamPrefix));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  struct Ranked {
    MemoryRegion region;
    size_t rank = 0;
    char* begin() const { return static_cast<char*>(region.base); }
    char* end() const { return begin() + region.bytes; }
  };
  std::vector<Ranked> all;
  for (const auto* each : order) {
    const auto& [name, entry] = *each;
    const auto bytes = static_cast<size_t>(SpanBytes(entry.tensor));
    if (bytes == 0 || entry.tensor.device() != device_) continue;
    const auto in = [&entry = entry](const at::Tensor& t) { return ShareStorage(t, entry.tensor); };
    const auto output = outputs_.find(name);
    const bool undefined = entry.kind == Kind::kBuffer ||
                           (entry.kind == Kind::kPrepared && preparing_) ||
                           (output != outputs_.end() && in(output->second.allocated));
    MemoryRegion region;
    region.name = name;
    region.base = const_cast<void*>(entry.tensor.const_data_ptr());
    region.bytes = bytes;
    region.writable = entry.kind != Kind::kReadOnly && ProtectedName(entry.tensor).empty();
    region.initialised =
        !undefined || written.contains(name) || std::any_of(zeroed_.begin(), zeroed_.end(), in);
    all.push_back({std::move(region), all.size()});
  }
  std::sort(all.begin(), all.end(),
            [](const Ranked& a, const Ranked& b) { return a.begin() < b.begin(); });
  // Views share memory: one region covers them all, with the first-ranked one's name and rights.
  std::vector<Ranked> merged;
  for (Ranked& each : all) {
    if (merged.empty() || merged.back().end() <= each.begin()) {
      merged.push_back(std::move(each));
      continue;
    }
    Ranked& into = merged.back();
    char* begin = into.begin();
    char* end = std::max(into.end(), each.end());
    if (each.rank < into.rank) into = std::move(each);
    into.region.base = begin;
    into.region.bytes = static_cast<size_t>(end - begin);
  }
  std::vector<MemoryRegion> regions;
  for (Ranked& each : merged) regions.push_back(std::move(each.region));
  return regions;
}

}  // namespace cudaagent::device
