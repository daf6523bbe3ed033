// The one code path under every command: parse, compile, check, time, reward. Owns the compiler and
// the worker of one device and cures both: a crash is confirmed in a fresh worker, a hang is
// killed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cudaagent/evaluator.h"
#include "cudaagent/options.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"

namespace cudaagent::evaluate {

struct Timeouts {
  double hello_s = 120;     // worker start: importing torch from a cold disk
  double load_s = 300;      // model.py, export
  double compile_s = 60;    // one NVRTC compile
  double check_s = 60;      // verification of one candidate
  double time_s = 60;       // timing of one candidate
  double baseline_s = 300;  // torch.compile of the model
};

// Whether the driver tries the combinations of a plan's "tune" values itself (docs/measurement.md).
enum class TuneMode {
  kNever,    // the values as they stand: "tuned", else the first of each list
  kUntuned,  // candidates that carry no "tuned"
  kAlways,   // all; values that stand in "tuned" are tried first
};

struct TuneOptions {
  TuneMode mode = TuneMode::kNever;
  int max_variants = 64;
  double limit_s = 60;  // wall clock for all beyond the default values' own evaluation
};

struct Config {
  ProblemSpec spec;
  EvalOptions options;
  Timeouts timeouts;
  TuneOptions tune;
  std::string device = "auto";  // "auto" | "cpu" | "gpu" | "gpu:N"
  std::string reward = "milestone";
  std::string baseline = "compile";  // which one decides: "compile" | "eager" | "best"
  bool all_baselines = false;        // time torch.compile's other modes too
  std::string cache_dir;             // cubins, baselines; created when missing
  std::string log_dir;               // worker and compiler logs; a temporary folder when empty
  std::string program_dir;           // where cudaagent-worker and cudaagent-compile lie
  // Where it is set, programs are started at once, but the device is left alone until this returns.
  // It gives the UUID of the GPU that device_choice will find, as far as the caller knows it: "" =
  // not.
  std::function<std::string()> await_turn;
  // One line of progress for a person ("loading the problem"). Called from the calling thread.
  std::function<void(const std::string&)> progress;
};

// Starts compiler and worker side by side, loads the problem, measures or recalls the baseline.
// kUsage: the configuration or model.py is at fault; kEnvironment: no device, program or worker.
Result<std::unique_ptr<Evaluator>> StartEvaluator(Config config);

// What the worker learns of the problem, without a compiler or a baseline.
Result<ProblemInfo> LoadProblemInfo(Config config);

}  // namespace cudaagent::evaluate
