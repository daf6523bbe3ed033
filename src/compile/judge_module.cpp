#include "compile/judge_module.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/kernel_names.h"
#include "compile/ptx_scan.h"
#include "compile/timer_origin.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

// Static memory beyond what any device takes, or any kernel needs. ptxas counts modulo 2^32 bytes.
constexpr int64_t kMaxGlobalBytes = int64_t{1} << 30;
constexpr int64_t kMaxSharedBytes = int64_t{1} << 20;
constexpr int64_t kMaxLocalBytes = int64_t{1} << 20;  // per thread

std::string Quoted(const std::vector<std::string>& names) {
  return "\"" + util::Join(names, "\", \"") + "\"";
}

// Why a word of PTX is forbidden.
std::string Reason(const std::string& what) {
  if (what.front() != '%') {
    return "The code uses \"" + what +
           "\", which lets cached lines outlast or skip the timing's cache flush.";
  }
  if (what == "%gridid" || what == "%current_graph_exec") {
    return "The code reads " + what +
           ", which tells one launch from another: a kernel that computes a result has no use for "
           "it, one that behaves differently when it is timed has.";
  }
  return "The code reads the clock (" + what +
         "): a kernel that computes a result has no use for it, one that senses when it is timed "
         "has.";
}

// Static arrays too large; empty = none.
std::string TooLarge(const PtxSymbols& symbols) {
  const auto sentence = [](int64_t bytes, int64_t most, const char* what, const char* instead) {
    return "The code's " + std::string(what) + " take " + util::FormatBytes(bytes) +
           ", more than the " + util::FormatBytes(most) + " allowed" + instead + ".";
  };
  if (symbols.global_bytes > kMaxGlobalBytes) {
    return sentence(symbols.global_bytes, kMaxGlobalBytes, "__device__ variables",
                    "; use a buffer of the plan");
  }
  if (symbols.shared_bytes > kMaxSharedBytes) {
    return sentence(symbols.shared_bytes, kMaxSharedBytes, "__shared__ variables", "");
  }
  if (symbols.local_bytes > kMaxLocalBytes) {
    return sentence(symbols.local_bytes, kMaxLocalBytes, "local arrays of one thread", "");
  }
  return "";
}

}  // namespace

std::string KernelsInCode(const std::string& source) {
  const std::vector<std::string> names = GlobalFunctions(source);
  if (names.empty()) return "the code has no __global__ function";
  return "the __global__ functions in the code are " + Quoted(names);
}

std::string NotAKernel(const std::string& expression, const std::string& source) {
  return "The plan's kernel \"" + expression +
         "\" is not a __global__ function: " + KernelsInCode(source) + ".";
}

std::optional<Fault> JudgeModule(const protocol::CompileJob& job, const NvrtcOutput& output,
                                 CompileReport* report) {
  const PtxSymbols symbols = ScanPtx(output.ptx);
  for (const std::string& kernel : job.kernels) {
    const auto lowered = output.lowered.find(kernel);
    if (lowered == output.lowered.end() || std::find(symbols.entries.begin(), symbols.entries.end(),
                                                     lowered->second) == symbols.entries.end()) {
      return Fault{Verdict::kBadCandidate, NotAKernel(kernel, job.source)};
    }
  }
  for (const std::string& name : symbols.extern_functions) {
    if (name == "vprintf" || name == "__assertfail") continue;
    const std::string shown = Signature(name);
    const bool heap = name == "malloc" || name == "free";
    return Fault{
        Verdict::kBadCandidate,
        heap ? "The code allocates memory on the device (malloc, free, new or delete): use a "
               "buffer of the plan, shared memory or local arrays instead."
             : "The code calls \"" + shown +
                   "\", which it does not define: a candidate is one self-contained file, and "
                   "kernels cannot launch kernels."};
  }
  if (std::string large = TooLarge(symbols); !large.empty()) {
    return Fault{Verdict::kBadCandidate, std::move(large)};
  }
  report->flags = symbols.flags;
  report->device_state = symbols.device_state;
  for (const std::string& what : symbols.forbidden) {
    // The toolkit's own barriers and semaphores read the global timer while they wait.
    if (what == "%globaltimer" && TimerOnlyInHeaders(output.ptx) && !RenamesLines(job.source)) {
      report->flags.push_back(what);
      continue;
    }
    return Fault{Verdict::kSuspectedHack, Reason(what)};
  }
  return std::nullopt;
}

}  // namespace cudaagent::compile
