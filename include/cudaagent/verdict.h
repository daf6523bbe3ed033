// What an evaluation concluded about a candidate. Names on the wire are lower snake case.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace cudaagent {

enum class Verdict {
  kOk,
  kBadCandidate,    // no code, no plan, a plan that is invalid for this problem
  kCompileFailed,   // NVRTC refused it, or the compile hit its time, memory or output cap
  kLaunchRejected,  // the device refused the launch (resources, configuration)
  kWrongResult,
  kNondeterministic,  // two runs on the same input differ beyond tolerance
  kInputMutated,      // an input or a parameter changed
  kOutOfBounds,       // an access outside every buffer, or into a guard zone
  kDeviceFault,       // trap, misaligned address, illegal instruction, barrier misuse
  kTimedOut,
  kOutOfMemory,
  kSuspectedHack,
  kWorkerCrashed,  // the worker process died while this candidate ran, twice
  kUnsupported,    // the device at hand cannot run it, and says why; no reward
  kInfraError,     // nobody's fault and nobody's reward
};

inline constexpr std::array<std::pair<Verdict, std::string_view>, 15> kVerdictNames = {{
    {Verdict::kOk, "ok"},
    {Verdict::kBadCandidate, "bad_candidate"},
    {Verdict::kCompileFailed, "compile_failed"},
    {Verdict::kLaunchRejected, "launch_rejected"},
    {Verdict::kWrongResult, "wrong_result"},
    {Verdict::kNondeterministic, "nondeterministic"},
    {Verdict::kInputMutated, "input_mutated"},
    {Verdict::kOutOfBounds, "out_of_bounds"},
    {Verdict::kDeviceFault, "device_fault"},
    {Verdict::kTimedOut, "timed_out"},
    {Verdict::kOutOfMemory, "out_of_memory"},
    {Verdict::kSuspectedHack, "suspected_hack"},
    {Verdict::kWorkerCrashed, "worker_crashed"},
    {Verdict::kUnsupported, "unsupported"},
    {Verdict::kInfraError, "infra_error"},
}};

constexpr std::string_view ToString(Verdict verdict) {
  for (const auto& [value, name] : kVerdictNames) {
    if (value == verdict) return name;
  }
  return "infra_error";
}

constexpr std::optional<Verdict> VerdictFromString(std::string_view text) {
  for (const auto& [value, name] : kVerdictNames) {
    if (name == text) return value;
  }
  return std::nullopt;
}

}  // namespace cudaagent
