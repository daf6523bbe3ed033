#include "device/plan_runner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <utility>

#include "candidate/validate.h"
#include "device/gpu/graph.h"
#include "device/gpu/memory_peak.h"
#include "device/kernel_step.h"
#include "device/liveness.h"
#include "device/name_table.h"
#include "device/op_call.h"
#include "device/precision_guard.h"
#include "device/tensor_info.h"
#include "util/time.h"

namespace cudaagent::device {
namespace {

using candidate::KernelStep;
using candidate::OpStep;
using candidate::RepeatStep;
using candidate::Step;

// More steps than any sensible plan runs; a repeat gone wrong must end.
constexpr int64_t kMaxStepsPerRun = 100'000;

struct LoadedKernel {
  std::string mangled;
  KernelInfo info;
};

class Runner : public PlanRunner {
 public:
  Runner(const candidate::ParsedCandidate& candidate, Artifact artifact, Device& device)
      : plan_(candidate.plan),
        artifact_(std::move(artifact)),
        device_(device),
        liveness_(plan_.steps) {}

  ~Runner() override {
    // No graph survives an unload; nothing may still run when memory goes.
    DropGraph();
    if (!device_.poisoned()) static_cast<void>(device_.Synchronize());
  }

  Checked<void> Prepare(const ProblemInfo& problem, Bindings bindings) {
    at::Device at_device(at::kCPU);
    if (device_.is_gpu()) at_device = gpu::TorchDevice();
    device_.TellGuard(bindings.guard);
    auto names =
        NameTable::Create(plan_, problem, std::move(bindings), device_.limits(), at_device);
    if (!names) return tl::unexpected(names.error());
    names_ = std::move(*names);
    names_->SetOccupancy([this](const std::string& instance, int64_t threads, int64_t shared) {
      return MaxBlocks(instance, threads, shared);
    });
    // First: shapes of buffers may ask the compiled kernels for max_blocks().
    if (auto loaded = LoadModule(); !loaded) return loaded;
    const auto add = [&](const std::vector<candidate::BufferSpec>& specs, const char* field,
                         auto allocate) -> Checked<void> {
      for (const candidate::BufferSpec& spec : specs) {
        const std::string where = field + spec.name;
        auto wanted = Holds(spec.when, where);
        if (!wanted) return tl::unexpected(wanted.error());
        if (!*wanted) continue;
        if (auto added = (names_.get()->*allocate)(spec, where); !added) return added;
      }
      return {};
    };
    if (auto done = add(plan_.buffers, "buffers.", &NameTable::AddBuffer); !done) return done;
    if (auto done = add(plan_.prepared, "prepared.", &NameTable::AddPrepared); !done) return done;
    return RunPrepare();
  }

  void Poison() override {
    names_->Poison();
    std::set<const void*> done;
    for (const auto* list : {&outputs_, &captured_outputs_}) {
      for (const at::Tensor& tensor : *list) {
        if (names_->IsAllocatedOutput(tensor)) continue;
        if (done.insert(tensor.const_data_ptr()).second) FillPoison(tensor);
      }
    }
  }

  Checked<void> CheckGuards() override {
    if (auto synced = device_.Synchronize(); !synced) return synced;
    try {
      auto own = names_->guards().Check();
      if (own) own = names_->CheckPrepared();
      auto inputs =
          names_->input_guards() != nullptr ? names_->input_guards()->Check() : Checked<void>();
      return own ? inputs : own;
    } catch (...) {
      return Caught("The guard zones could not be read", Verdict::kInfraError);
    }
  }

  Checked<void> Run() override {
    outputs_.clear();
    try {
      const PrecisionGuard precision(plan_.precision);
      auto done = RunOnce();
      if (done) return done;
      // On a GPU an op may be refused for what an earlier kernel did.
      if (device_.is_gpu() && !capturing_) {
        if (auto synced = device_.Synchronize(); !synced) return synced;
      }
      return done;
    } catch (...) {
      return Caught("The plan could not be run", Verdict::kInfraError);
    }
  }

  Checked<bool> Capture(std::string* note) override {
    if (!device_.is_gpu()) {
      *note = "the CPU device has no graphs: the plan runs step by step";
      return false;
    }
    DropGraph();
    if (auto synced = device_.Synchronize(); !synced) return tl::unexpected(synced.error());
    try {
      const gpu::SideStream side;
      // Libraries allocate workspaces and load kernels on first use, which a capture forbids.
      const gpu::MemoryPeak warming;
      if (auto warm = Run(); !warm) return tl::unexpected(warm.error());
      if (auto synced = device_.Synchronize(); !synced) return tl::unexpected(synced.error());
      extra_bytes_ = Extra(warming.bytes());
      bool out_of_memory = false;
      auto graph = CaptureOnce(note, &out_of_memory);
      if (graph == nullptr && out_of_memory) {
        // A capture cannot reuse the memory that torch keeps from earlier runs.
        gpu::EmptyCache();
        note->clear();
        graph = CaptureOnce(note, &out_of_memory);
      }
      if (auto synced = device_.Synchronize(); !synced) return tl::unexpected(synced.error());
      if (graph == nullptr) {
        captured_outputs_.clear();
        return false;
      }
      graph_ = std::move(graph);
      return true;
    } catch (...) {
      capturing_ = false;
      return Caught("The plan could not be captured", Verdict::kInfraError);
    }
  }

  Checked<void> Replay() override {
    if (graph_ == nullptr) {
      return Blame(Verdict::kInfraError, "A plan was replayed that had not been captured.");
    }
    try {
      graph_->Launch();
    } catch (...) {
      Fault fault =
          CurrentExceptionAsFault("The graph could not be launched", Verdict::kInfraError);
      if (auto synced = device_.Synchronize(); !synced) return synced;
      return tl::unexpected(std::move(fault));
    }
    outputs_ = captured_outputs_;
    return {};
  }

  Checked<void> Reload() override {
    if (auto synced = device_.Synchronize(); !synced) return synced;
    DropGraph();
    kernels_.clear();
    module_.reset();
    if (auto loaded = LoadModule(); !loaded) return loaded;
    return RunPrepare();
  }

  Checked<void> PrepareAgain() override { return RunPrepare(); }

  const std::vector<at::Tensor>& outputs() const override { return outputs_; }
  std::optional<int64_t> extra_bytes() const override { return extra_bytes_; }
  std::optional<PrepareReport> prepared() const override { return prepared_; }

  std::vector<KernelResources> resources() const override {
    std::vector<KernelResources> all;
    for (const auto& [instance, kernel] : kernels_) {
      all.push_back(kernel.info.resources);
      all.back().name = instance;
    }
    return all;
  }

  std::vector<std::string> kernel_names() const override {
    std::vector<std::string> names;
    for (const auto& [instance, kernel] : kernels_) names.push_back(kernel.mangled);
    return names;
  }

 private:
  static tl::unexpected<Fault> Caught(const std::string& what, Verdict verdict) {
    return tl::unexpected(CurrentExceptionAsFault(what, verdict));
  }

  // nullptr with the reason in `note` where the plan cannot be captured.
  std::unique_ptr<gpu::Graph> CaptureOnce(std::string* note, bool* out_of_memory) {
    *out_of_memory = false;
    captured_outputs_.clear();
    outputs_.clear();
    names_->BeginRun();
    capturing_ = true;
    const gpu::MemoryPeak captured;
    auto graph = gpu::Graph::Capture(
        [&] {
          auto done = Run();
          *out_of_memory = !done && done.error().verdict == Verdict::kOutOfMemory;
          return done;
        },
        note);
    capturing_ = false;
    if (graph != nullptr) extra_bytes_ = Extra(captured.bytes());
    captured_outputs_ = std::exchange(outputs_, {});
    names_->BeginRun();
    return graph;
  }

  // `run`: what one run allocates at its peak, outputs that are results of ops included.
  int64_t Extra(int64_t run) const {
    return std::max<int64_t>(0, run + names_->OwnBytes() - names_->OutputBytes());
  }

  void DropGraph() {
    if (graph_ == nullptr) return;
    if (!device_.poisoned()) static_cast<void>(device_.Synchronize());
    captured_outputs_.clear();
    outputs_.clear();
    graph_.reset();
  }

  Checked<void> LoadModule() {
    if (artifact_.lowered.empty()) return {};
    auto module = device_.Load(artifact_);
    if (!module) return tl::unexpected(module.error());
    module_ = std::move(*module);
    for (const auto& [instance, mangled] : artifact_.lowered) {
      auto info = module_->Kernel(mangled);
      if (!info) return tl::unexpected(info.error());
      kernels_[instance] = LoadedKernel{mangled, std::move(*info)};
    }
    return {};
  }

  // All prepare steps once, over the parameters as they are now.
  Checked<void> RunPrepare() {
    if (plan_.prepared.empty() && plan_.prepare.empty()) return {};
    try {
      const PrecisionGuard precision(plan_.precision);
      const util::Stopwatch watch;
      names_->BeginRun();
      names_->ZeroBuffers();
      names_->BeginPrepare();
      BeginSteps();
      Checked<void> done;
      for (size_t i = 0; done && i < plan_.prepare.size(); ++i) done = RunStep(plan_.prepare[i]);
      if (auto synced = device_.Synchronize(); !synced) return synced;
      if (!done) return done;
      prepared_ = PrepareReport{watch.Seconds() * 1e3, names_->PreparedBytes()};
      names_->EndPrepare();
      auto guards = names_->guards().Check();
      return guards;
    } catch (...) {
      return Caught("The prepare steps could not be run", Verdict::kInfraError);
    }
  }

  Checked<int64_t> MaxBlocks(const std::string& instance, int64_t threads, int64_t shared) const {
    const auto refuse = [&](const std::string& what) {
      return Blame(Verdict::kBadCandidate,
                   c10::str("max_blocks(\"", instance, "\", ", threads, ", ", shared, "): ", what));
    };
    const auto loaded = kernels_.find(instance);
    if (loaded == kernels_.end()) return refuse("no step launches this kernel.");
    const Limits& limits = device_.limits();
    if (threads < 1 || threads > limits.max_threads_per_block) {
      return refuse(c10::str("a block has 1 to ", limits.max_threads_per_block, " threads."));
    }
    if (shared < 0 || shared > limits.shared_optin_bytes) {
      return refuse(c10::str("a block has 0 to ", limits.shared_optin_bytes,
                             " bytes of dynamic shared memory."));
    }
    auto blocks = module_->BlocksPerSm(loaded->second.mangled, threads, shared);
    if (!blocks) return tl::unexpected(blocks.error());
    if (*blocks < 1) return refuse("not one such block fits on a multiprocessor.");
    return *blocks * limits.sms;
  }

  void BeginSteps() {
    written_.clear();
    regions_generation_ = -1;
    steps_run_ = 0;
  }

  Checked<bool> Holds(const std::optional<candidate::Expr>& when, const std::string& where) const {
    if (!when) return true;
    auto value = when->Evaluate(names_->values());
    if (!value) {
      return Blame(value.error().verdict, where + ".when: " + value.error().message);
    }
    return *value != 0;
  }

  Checked<void> RunOnce() {
    names_->BeginRun();
    names_->ZeroBuffers();
    BeginSteps();
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (auto done = RunStep(plan_.steps[i]); !done) return done;
      names_->Drop([&](const std::string& name) { return !liveness_.UsedAfter(name, i); });
    }
    auto outputs = names_->Outputs();
    if (!outputs) return tl::unexpected(outputs.error());
    outputs_ = std::move(*outputs);
    return {};
  }

  Checked<void> RunStep(const Step& step) {
    auto wanted = Holds(step.when, step.where);
    if (!wanted) return tl::unexpected(wanted.error());
    if (!*wanted) return {};
    if (++steps_run_ > kMaxStepsPerRun) {
      return Blame(Verdict::kBadCandidate,
                   c10::str(step.where, ": the plan runs more than ", kMaxStepsPerRun, " steps."));
    }
    if (const auto* kernel = std::get_if<KernelStep>(&step.what)) return RunKernel(*kernel, step);
    if (const auto* op = std::get_if<OpStep>(&step.what)) return RunOp(*op, step);
    return RunRepeat(std::get<RepeatStep>(step.what), step);
  }

  Checked<void> RunRepeat(const RepeatStep& repeat, const Step& step) {
    auto from = repeat.from.Evaluate(names_->values());
    if (!from) return Blame(from.error().verdict, step.where + ".from: " + from.error().message);
    auto count = repeat.count.Evaluate(names_->values());
    if (!count) {
      return Blame(count.error().verdict, step.where + ".count: " + count.error().message);
    }
    if (*count < 0 || *count > kMaxStepsPerRun) {
      return Blame(
          Verdict::kBadCandidate,
          c10::str(step.where, ".count: ", *count, " is not between 0 and ", kMaxStepsPerRun, "."));
    }
    int64_t counter = 0;
    for (int64_t i = 0; i < *count; ++i) {
      if (__builtin_add_overflow(*from, i, &counter)) {
        return Blame(Verdict::kBadCandidate, step.where + ": the counter overflows.");
      }
      names_->SetCounter(repeat.counter, counter);
      for (const Step& each : repeat.steps) {
        if (auto done = RunStep(each); !done) return done;
      }
    }
    return {};
  }

  Checked<void> RunOp(const OpStep& op, const Step& step) {
    auto results = CallOp(op, step.where, *names_);
    if (!results) return tl::unexpected(results.error());
    for (size_t i = 0; i < results->size(); ++i) {
      if (!op.out[i]) continue;
      if (auto bound = names_->Bind(*op.out[i], (*results)[i]); !bound) {
        return Blame(bound.error().verdict, step.where + ": " + bound.error().message);
      }
    }
    return {};
  }

  Checked<void> RunKernel(const KernelStep& kernel, const Step& step) {
    auto instance = candidate::KernelInstance(kernel.kernel, names_->values());
    if (!instance) {
      return Blame(instance.error().verdict, step.where + ": " + instance.error().message);
    }
    const auto loaded = kernels_.find(*instance);
    if (loaded == kernels_.end()) {
      return Blame(Verdict::kBadCandidate, c10::str(step.where, ": kernel \"", *instance,
                                                    "\" is not among the compiled ones."));
    }
    if (checked_.insert({&kernel, *instance}).second) {
      const auto signature = artifact_.demangled.find(*instance);
      if (signature != artifact_.demangled.end()) {
        auto fits = candidate::CheckSignature(kernel, signature->second);
        if (!fits) return Blame(fits.error().verdict, step.where + ": " + fits.error().message);
      }
    }
    auto launch = PrepareLaunch(kernel, step.where, *instance, loaded->second.mangled,
                                loaded->second.info, device_.limits(), *names_);
    if (!launch) return tl::unexpected(launch.error());
    ShowRegions(kernel);
    return module_->Run(*launch);
  }

  // Regions change when an op binds a name; what kernels wrote before then counts as initialised.
  void ShowRegions(const KernelStep& kernel) {
    if (!device_.wants_regions()) return;
    if (regions_generation_ != names_->generation()) {
      device_.SetRegions(names_->Regions(written_));
      regions_generation_ = names_->generation();
    }
    for (const candidate::KernelArg& arg : kernel.args) {
      for (const candidate::PointerArg* pointer : candidate::PointersOf(arg)) {
        auto name = candidate::ExpandName(pointer->tensor.name, names_->values());
        if (name) written_.insert(*name);
      }
    }
  }

  const candidate::Plan plan_;
  const Artifact artifact_;
  Device& device_;
  const Liveness liveness_;
  std::unique_ptr<Module> module_;
  std::map<std::string, LoadedKernel> kernels_;  // by instance
  std::set<std::pair<const KernelStep*, std::string>> checked_;
  std::unique_ptr<NameTable> names_;
  std::vector<at::Tensor> outputs_;
  std::vector<at::Tensor> captured_outputs_;
  std::unique_ptr<gpu::Graph> graph_;  // after the module: destroyed before it
  bool capturing_ = false;
  std::optional<int64_t> extra_bytes_;
  std::optional<PrepareReport> prepared_;
  std::set<std::string> written_;
  int64_t regions_generation_ = -1;
  int64_t steps_run_ = 0;
};

}  // namespace

Checked<std::unique_ptr<PlanRunner>> PlanRunner::Create(const candidate::ParsedCandidate& candidate,
                                                        const ProblemInfo& problem,
                                                        const Artifact& artifact, Bindings bindings,
                                                        Device& device) {
  auto runner = std::make_unique<Runner>(candidate, artifact, device);
  if (auto ready = runner->Prepare(problem, std::move(bindings)); !ready) {
    return tl::unexpected(ready.error());
  }
  return runner;
}

}  // namespace cudaagent::device
