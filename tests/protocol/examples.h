// Messages with every field set to something that is not its default.
#pragma once

#include "protocol/messages.h"

namespace cudaagent::protocol {

inline TensorInfo ExampleTensor(const std::string& name) {
  return TensorInfo{name, {2, 3, 0}, {3, 1, 1}, "float16", 12, false};
}

inline ProblemSpec ExampleSpec() {
  return ProblemSpec{"/m.py",    "import torch\n\xC3\xA9", "Net",         {{"dim", "1024"}},
                     "bfloat16", Precision::kTorchDefault, "more_inputs", Mode::kTrain};
}

inline ProblemInfo ExampleProblem() {
  ProblemInfo info;
  info.hash = "abc";
  info.inputs = {ExampleTensor("x"), ExampleTensor("y")};
  info.scalars = {{"k", "3.5"}};
  info.parameters = {ExampleTensor("fc.weight")};
  info.statistics = {"fc.weight"};
  info.constants = {ExampleTensor("const0")};
  info.outputs = {ExampleTensor("out0")};
  info.graph_json = "{\"nodes\":[]}";
  info.export_error = "none";
  return info;
}

inline EvalOptions ExampleOptions() {
  EvalOptions options;
  options.trials = 7;
  options.tier = "kernelbench";
  options.time_limit_s = 3.5;
  options.min_iterations = 11;
  options.max_iterations = 201;
  options.ci_half_width = 0.02;
  options.warm_l2 = true;
  options.check_only = true;
  options.energy = true;
  options.clock = "events";
  options.guard = "strict";
  options.hidden_variants = false;
  options.races = false;
  options.allow_prepare = false;
  options.model_gpu = "a100";
  options.instruction_budget = 1ULL << 63;
  options.seed = 3;
  return options;
}

inline Timing ExampleTiming() {
  return Timing{1.5, 1.25, 1.75, 100, 1.125, 3, "cupti-graph", 1.625};
}

inline CompileReport ExampleCompile() {
  return CompileReport{true,       true,         0.125,
                       "a log\n",  {"prefetch"}, {DeviceVariable{"runs", 4, true}},
                       "/c.cubin", "/c.ptx",     {KernelResources{"f<2>", 32, 16, 1024, 256}}};
}

inline Evaluation ExampleEvaluation() {
  Evaluation e;
  e.verdict = Verdict::kWrongResult;
  e.message = "out0 differs.";
  e.stage = "check";
  e.candidate_hash = "c";
  e.problem_hash = "p";
  e.device =
      DeviceStamp{"gpu", "NVIDIA H200", "GPU-1", "sm_90a", "580", "13.0", "13.0", "13.1", "2.11"};
  e.protocol = ProtocolStamp{2,         "tf32",    "verified", 5,   "cupti-graph", false,  true,
                             "compile", "default", true,       "n", "strict",      "train"};
  e.compile = ExampleCompile();
  e.check.trials = 5;
  e.check.passed = 4;
  e.check.max_abs_error = 0.5;
  e.check.max_rel_error = 0.25;
  e.check.tiers = {TierResult{"verified", true, 1e-3, 1e-4}};
  e.check.mismatch = Mismatch{"out0", {1, 2}, 1.5, 2.5, 1, 0.4, 10, 20, "all rows"};
  e.check.variants = 4;
  e.check.variants_passed = 3;
  e.check.skipped_variants = {"inputs x -1: not finite"};
  e.check.races = RaceReport{2, 3, 17, 0.125, {"races: not looked for in kernel g (why)"}};
  e.check.determinism = "bitwise";
  e.check.timed_checks = 4;
  e.check.seeds = {1, 1ULL << 62};
  e.check.notes = {"a note"};
  e.candidate = ExampleTiming();
  e.eager = Timing{2.5, 2.5, 2.5, 10, 0, 0, "estimated"};
  e.compiled_baseline = ExampleTiming();
  e.baselines = {{"default", ExampleTiming()}, {"max-autotune", ExampleTiming()}};
  e.gpu = GpuCondition{1980, 3201, 41, {"power cap"}, 1, true};
  e.energy_mj = 1.5;
  e.eager_energy_mj = 2.5;
  e.floor_ms = 0.125;
  e.sol_ms = 0.25;
  e.sol = 0.5;
  e.speedup_eager = Speedup{1.5, 1.25, 1.75};
  e.speedup_compile = Speedup{0.5, 0.25, 0.75};
  e.degenerate = "zeros pass for the result";
  e.estimated = true;
  e.own_kernel_share = 0.75;
  e.extra_bytes = 1 << 20;
  e.prepare = PrepareReport{1.5, 4096};
  e.counters = {KernelCounters{"f", 1, 2, 3, 4, 5, 6, 7, 0.5, 8.5}};
  e.tuning = Tuning{4,
                    1,
                    1,
                    2,
                    "--max-variants 2",
                    1.5,
                    {{"B", 128}},
                    {TuningVariant{{{"B", 128}}, Verdict::kOk, "m", 0.5}}};
  e.reward = -1;
  e.reward_name = "milestone";
  e.seconds = {{"check", 0.5}};
  e.date = "2026-01-01T00:00:00Z";
  return e;
}

}  // namespace cudaagent::protocol
