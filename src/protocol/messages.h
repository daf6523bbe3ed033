// What driver, compiler and worker say to each other. Bytes, versions, deadlines and exit codes:
// docs/worker_protocol.md. Parsing treats the peer as hostile: every field is checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cudaagent/ceilings.h"
#include "cudaagent/evaluation.h"
#include "cudaagent/options.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"

namespace cudaagent::protocol {

inline constexpr int kProtocolVersion = 2;

// ---- child -> driver, first frame ----
struct Hello {
  int protocol_version = kProtocolVersion;
  std::string program;        // "worker" | "compile"
  DeviceStamp device;         // worker only
  std::string nvrtc_version;  // compile only
  std::string python_version;
  int64_t pid = 0;
};

// ---- driver -> worker ----
struct LoadProblem {
  ProblemSpec spec;
};
struct EvaluateJob {
  std::string source;                            // the candidate file
  std::string cubin_path, ptx_path;              // both empty for a plan without kernels
  std::map<std::string, std::string> lowered;    // kernel instance -> mangled name
  std::map<std::string, std::string> demangled;  // kernel instance -> signature
  EvalOptions options;
  bool trials = true;        // false: an earlier job passed them with this code
  bool eager = true;         // false: the candidate is timed alone, to rank it
  std::string compile_mode;  // torch.compile takes turns as well, in this mode; empty = it does not
};
// Times torch.compile'd forward in these modes against eager, interleaved. Slow the first time.
struct BaselineJob {
  EvalOptions options;
  std::vector<std::string> modes = {"default"};
};
// Measures the device's ceilings; needs no problem.
struct CalibrateJob {};
struct Shutdown {};

// ---- driver -> compiler ---- several may be in flight
struct CompileJob {
  int64_t id = 0;
  std::string source;
  std::string arch;  // "sm_90a"
  std::string standard = "c++17";
  bool fast_math = false;
  int max_registers = 0;
  std::vector<std::string> kernels;  // name expressions: "f<256, 2>"
  double timeout_s = 60;
  int64_t memory_bytes = 4LL << 30;
};

// ---- child -> driver ----
struct StageNote {
  std::string stage;  // "load" | "check" | "time" | "baseline"
};
struct ProblemReply {
  ProblemInfo problem;
};
struct EvaluationReply {
  Evaluation evaluation;  // verdict, message, stage, check, timings, counters, seconds
  bool poisoned = false;  // the worker exits after this frame
};
struct BaselineReply {
  bool ok = false;      // eager and one mode at least were timed
  std::string message;  // why not
  Timing eager;
  std::map<std::string, Timing> compiled;       // by mode
  std::map<std::string, std::string> failures;  // modes that could not be had, and why
  double seconds = 0;                           // how long it took, compilation included
};
struct CalibrationReply {
  Ceilings ceilings;
};
struct ErrorReply {
  Error error;  // the job failed through no fault of a candidate
};
struct CompileReply {
  int64_t id = 0;
  bool ok = false;
  Verdict verdict =
      Verdict::kCompileFailed;  // where !ok: kCompileFailed, kBadCandidate or kInfraError
  std::string message;          // where !ok: one sentence; the log has the rest
  CompileReport report;
  std::map<std::string, std::string> lowered, demangled;
};

using ToWorker = std::variant<LoadProblem, EvaluateJob, BaselineJob, CalibrateJob, Shutdown>;
using ToCompiler = std::variant<CompileJob, Shutdown>;
using FromChild = std::variant<Hello, StageNote, ProblemReply, EvaluationReply, BaselineReply,
                               ErrorReply, CompileReply, CalibrationReply>;

std::string Encode(const ToWorker& message);
std::string Encode(const ToCompiler& message);
std::string Encode(const FromChild& message);
Result<ToWorker> DecodeToWorker(std::string_view json);
Result<ToCompiler> DecodeToCompiler(std::string_view json);
Result<FromChild> DecodeFromChild(std::string_view json);

}  // namespace cudaagent::protocol
