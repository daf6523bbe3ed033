// The result of one evaluation: what was checked, what was measured, under which protocol.
// JSON form: src/protocol/evaluation_json.h, documented in docs/evaluation.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cudaagent/verdict.h"

namespace cudaagent {

// Where it ran. Every figure carries this.
struct DeviceStamp {
  std::string kind;  // "gpu" or "cpu"
  std::string name;  // "NVIDIA H200"; for the CPU device "PTX interpreter (models NVIDIA H200)"
  std::string uuid;  // GPU-...; empty on the CPU device
  std::string arch;  // "sm_90a"
  std::string driver_version;  // "580.159.04", empty on the CPU device
  std::string cuda_version;    // toolkit the worker was built with: "13.0"
  std::string nvrtc_version;
  std::string cupti_version;  // empty where CUPTI is not used
  std::string torch_version;
};

// The rules of the game this evaluation was played under.
struct ProtocolStamp {
  int version = 3;
  std::string precision;  // "fp32" | "tf32" | "torch-default"
  std::string tier;       // the deciding tolerance tier: "verified", "kernelbench", "cuda-agent"
  int trials = 0;         // fresh inputs checked
  std::string clock;      // "cupti-graph" | "cupti-activity" | "cuda-events" | "estimated"
  bool cold_l2 = true;
  bool graph = false;         // the plan was captured and replayed as one CUDA graph
  std::string baseline;       // which baseline decides: "compile" | "eager"
  std::string compile_mode;   // of torch.compile where that decides: "default", "max-autotune"
  bool fresh_worker = false;  // the worker had run no other candidate
  std::string note;           // anything a reader must know ("compile failed: eager decides")
  std::string guard;  // "zones" | "strict"; "exact" on the CPU device; empty where nothing ran
  std::string mode;   // the model's: "eval" | "train"
};

// Resources of one compiled kernel. Zero where the device cannot tell.
struct KernelResources {
  std::string name;         // demangled, as the plan writes it
  int registers = 0;        // per thread
  int64_t local_bytes = 0;  // per thread: spills and stack
  int64_t static_shared_bytes = 0;
  int max_threads = 0;
};

// A __device__ variable that the candidate's code writes: what it holds outlives a call.
struct DeviceVariable {
  std::string name;  // demangled: "counter", "f()::cache"
  int64_t bytes = 0;
  bool certain = false;  // false: its address gets away, so it may be written
};

struct CompileReport {
  bool attempted = false;
  bool cached = false;  // served by the cubin cache
  double seconds = 0;
  std::string log;                 // NVRTC's log, capped and sanitised
  std::vector<std::string> flags;  // what the PTX uses that a reader should know ("prefetch")
  std::vector<DeviceVariable> device_state;
  std::string cubin_path;
  std::string ptx_path;
  std::vector<KernelResources> kernels;
};

// The worst element of the worst output, and how far wrong the whole is.
struct Mismatch {
  std::string output;  // "out0"
  std::vector<int64_t> index;
  double got = 0;
  double expected = 0;
  double abs_error = 0;
  double rel_error = 0;
  int64_t differing = 0;  // elements outside the deciding tier
  int64_t total = 0;
  std::string hint;  // a pattern in words ("all rows after 32 are wrong"), may be empty
};

struct TierResult {
  std::string name;
  bool passed = false;
  double atol = 0;  // as applied: scaled by the output's RMS
  double rtol = 0;
};

// What the interpreter looked at of a plan that ran on a GPU. Nothing found does not mean that
// there is nothing: docs/measurement.md.
struct RaceReport {
  int kernels = 0;  // looked at; their launches and blocks
  int launches = 0;
  int64_t blocks = 0;
  double seconds = 0;
  std::vector<std::string> remarks;  // "races: not looked for in kernel f (why)"
};

struct CheckReport {
  int trials = 0;
  int passed = 0;
  double max_abs_error = 0;
  double max_rel_error = 0;
  std::vector<TierResult> tiers;
  std::optional<Mismatch> mismatch;
  int variants = 0;  // hidden variants of inputs and parameters that apply
  int variants_passed = 0;
  std::vector<std::string> skipped_variants;  // "inputs x -1: the reference is not finite there"
  std::optional<RaceReport> races;            // not looked for = nullopt
  std::string determinism;  // two runs on one input: "bitwise" | "within tolerance"; "" = not run
  int timed_checks = 0;     // iterations of the timing whose outputs were compared
  std::vector<uint64_t> seeds;  // of the inputs, told after scoring
  std::vector<std::string> notes;
};

// A duration with its uncertainty. `median_ms` of `samples` iterations; [ci_low, ci_high] is a 95 %
// bootstrap interval of the median. Not measured = std::nullopt in the holder, never 0.
struct Timing {
  double median_ms = 0;
  double ci_low_ms = 0;
  double ci_high_ms = 0;
  int samples = 0;
  double busy_ms = 0;   // sum of kernel durations of one iteration, 0 = not measured
  int kernels = 0;      // device activities per iteration, 0 = not measured
  std::string clock;    // as ProtocolStamp::clock
  double event_ms = 0;  // median by CUDA events around the same iterations, 0 = not measured
};

// How the GPU fared while it was timed, as NVML tells it. 0 = not told.
struct GpuCondition {
  int sm_mhz = 0;
  int memory_mhz = 0;
  int celsius = 0;
  std::vector<std::string> slowdowns;  // why clocks were lower than they could be ("power cap")
  int dropped_blocks = 0;  // of iterations that heat or the power brake slowed down; repeated
  bool disturbed = false;  // such blocks are among the samples all the same: none was better
};

// Ratio of medians baseline / candidate with a 95 % bootstrap interval.
struct Speedup {
  double value = 0;
  double low = 0;
  double high = 0;
};

// What the CPU device counted in one kernel of the plan. Deterministic.
struct KernelCounters {
  std::string name;
  int64_t launches = 0;
  int64_t instructions = 0;     // warp instructions
  int64_t global_requests = 0;  // warp-level loads and stores
  int64_t global_sectors = 0;   // 32-byte sectors they touched
  int64_t global_bytes = 0;     // bytes the lanes asked for
  int64_t shared_requests = 0;
  int64_t shared_wavefronts = 0;  // 1 per request when free of bank conflicts
  double active_lane_share = 0;   // mean active lanes per instruction / 32
  double estimated_us = 0;
};

// What a plan made once of the parameters, outside of every timing.
struct PrepareReport {
  double milliseconds = 0;  // wall clock of the prepare steps
  int64_t bytes = 0;        // of the prepared values
};

// One combination of a plan's tune values and how it fared.
struct TuningVariant {
  std::map<std::string, int64_t> values;
  Verdict verdict = Verdict::kInfraError;
  std::string message;              // what is wrong with it, empty for kOk
  std::optional<double> median_ms;  // its latest timing; absent where it was not timed
};

// What trying the combinations of a plan's tune values came to. In order of trying; [0] is the
// default where that satisfies `require`.
struct Tuning {
  int tried = 0;
  int failed = 0;
  int verified = 0;                       // passed every trial
  int64_t untried = 0;                    // satisfy `require`, but a limit came first
  std::string note;                       // which limit, empty where all were tried
  double seconds = 0;                     // wall time of all of it
  std::map<std::string, int64_t> chosen;  // empty where none is left
  std::vector<TuningVariant> variants;
};

// Seconds spent, by stage ("parse", "compile", "load", "check", "time").
using StageSeconds = std::map<std::string, double>;

struct Evaluation {
  Verdict verdict = Verdict::kInfraError;
  std::string message;         // one sentence; for kOk what was found
  std::string stage;           // where the verdict fell
  std::string candidate_hash;  // sha256 of the source
  std::string problem_hash;
  DeviceStamp device;
  ProtocolStamp protocol;
  CompileReport compile;
  CheckReport check;
  std::optional<Timing> candidate;
  std::optional<Timing> eager;
  std::optional<Timing> compiled_baseline;  // torch.compile in the mode that decides
  std::map<std::string, Timing> baselines;  // torch.compile by mode, where several were timed
  std::optional<GpuCondition> gpu;          // where NVML is to be had
  std::optional<double> energy_mj;          // millijoules of one run, back to back; where asked for
  std::optional<double> eager_energy_mj;    // the same of eager
  // What the device's memory needs at its peak for the bytes that any implementation must move,
  // less what the L2 cache may hold. Absent where there is no such bound.
  std::optional<double> floor_ms;
  // The roofline of the ATen graph over measured ceilings (docs/measurement.md), and its share of
  // the candidate's time. Honest algebra may be beyond it.
  std::optional<double> sol_ms;
  std::optional<double> sol;
  std::optional<Speedup> speedup_eager;
  std::optional<Speedup> speedup_compile;
  // Why the problem cannot tell work from none ("zeros pass for the result"); such a problem has no
  // wins. Empty: it can.
  std::string degenerate;
  bool estimated = false;                  // timings are a model's estimate, not a measurement
  std::optional<double> own_kernel_share;  // device time in the candidate's own kernels / busy
  // Device memory of one run at its peak beyond inputs, parameters and outputs (GPU).
  std::optional<int64_t> extra_bytes;
  std::optional<PrepareReport> prepare;  // absent where the plan prepares nothing
  std::vector<KernelCounters> counters;
  std::optional<Tuning> tuning;  // absent where nothing was tuned
  std::optional<double> reward;  // absent for kInfraError and kUnsupported
  std::string reward_name;       // "milestone"
  StageSeconds seconds;
  std::string date;  // ISO 8601 UTC
};

}  // namespace cudaagent
