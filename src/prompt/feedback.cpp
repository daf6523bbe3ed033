#include "prompt/feedback.h"

#include <algorithm>
#include <vector>

#include "candidate/tune.h"
#include "prompt/build_log.h"
#include "prompt/figures.h"
#include "prompt/quote.h"

namespace cudaagent::prompt {
namespace {

constexpr size_t kMaxLogBytes = 6000;

// What usually helps; empty where the message says it all.
std::string Advice(Verdict verdict) {
  switch (verdict) {
    case Verdict::kLaunchRejected:
      return "Use fewer threads, registers or less shared memory per block.";
    case Verdict::kNondeterministic:
      return "Look for a race: a missing __syncthreads(), several blocks writing one address, "
             "memory "
             "read before it is written.";
    case Verdict::kInputMutated:
      return "Write results to outputs and buffers only.";
    case Verdict::kOutOfBounds:
      return "Check every index against the sizes, the tail of the last block above all.";
    case Verdict::kDeviceFault:
      return "Look for misaligned vector accesses and for barriers that not all threads reach.";
    case Verdict::kTimedOut:
      return "Look for a loop or a wait that does not end.";
    case Verdict::kOutOfMemory:
      return "Use smaller buffers.";
    case Verdict::kWorkerCrashed:
      return "The process that ran it died twice; simplify what the kernels and ops do.";
    default:
      return "";
  }
}

std::string MismatchText(const Mismatch& m) {
  std::string index;
  for (int64_t i : m.index) index += (index.empty() ? "" : ", ") + std::to_string(i);
  std::string text = "Worst element: " + m.output + "[" + index + "] is " + Number(m.got, 7) +
                     ", expected " + Number(m.expected, 7) + " (off by " + Number(m.abs_error, 3) +
                     ").";
  if (m.total > 0) {
    text += " " + std::to_string(m.differing) + " of " + std::to_string(m.total) + " elements (" +
            Number(100.0 * static_cast<double>(m.differing) / static_cast<double>(m.total), 3) +
            " %) are outside the tolerance.";
  }
  if (!m.hint.empty()) text += " Pattern: " + OneLine(m.hint) + ".";
  return text + "\n";
}

std::string CompileText(const Evaluation& e) {
  if (e.compile.log.empty()) return "";
  int more = 0;
  const std::string errors = FirstErrors(e.compile.log, 3, &more);
  std::string text = "The compiler's log:\n" + Fenced(errors, "text", kMaxLogBytes) + "\n";
  if (more > 0)
    text += "(and " + std::to_string(more) + " more errors, which may follow from these)\n";
  return text;
}

std::string TimesText(const Evaluation& e) {
  if (!e.candidate) return "";
  std::string text = "Time: " + TimingText(*e.candidate, e.estimated);
  auto against = [&](const char* name, const std::optional<Timing>& timing,
                     const std::optional<Speedup>& speedup) {
    if (!timing) return;
    text += std::string("; ") + name + " " + TimingText(*timing, e.estimated);
    if (speedup) text += ", so this is " + SpeedupText(*speedup, e.estimated) + " as fast";
  };
  against("eager", e.eager, e.speedup_eager);
  against("torch.compile", e.compiled_baseline, e.speedup_compile);
  text += ".\n";
  if (e.estimated) {
    text += "These times are a model's estimate on the CPU device, not measurements.\n";
  } else {
    text += "Brackets are 95 % intervals" +
            std::string(e.protocol.cold_l2 ? "; the L2 cache is cold.\n" : ".\n");
  }
  const Timing& t = *e.candidate;
  if (!e.estimated && t.busy_ms > 0 && t.kernels > 1 && t.busy_ms < 0.85 * t.median_ms) {
    text += "The device is busy for " + Number(t.busy_ms, 3) + " ms of it in " +
            std::to_string(t.kernels) +
            " activities; the rest are gaps between them, so fewer and "
            "larger kernels would help.\n";
  }
  if (e.own_kernel_share) {
    text += "Your own kernels take " + Number(100 * *e.own_kernel_share, 3) +
            " % of the device time, ops the rest.\n";
  }
  if (!e.protocol.note.empty()) text += "Note: " + OneLine(e.protocol.note) + "\n";
  return text;
}

// What the driver's own search over the tune values found.
std::string TuningText(const Evaluation& e) {
  if (!e.tuning || e.tuning->variants.empty()) return "";
  const Tuning& tuning = *e.tuning;
  std::string text = "Tuning: ";
  const TuningVariant* slowest = nullptr;
  const TuningVariant* failed = nullptr;
  for (const TuningVariant& each : tuning.variants) {
    if (each.verdict != Verdict::kOk) {
      if (failed == nullptr) failed = &each;
    } else if (each.median_ms && (slowest == nullptr || *each.median_ms > *slowest->median_ms)) {
      slowest = &each;
    }
  }
  if (tuning.chosen.empty()) {
    text += "none of " + std::to_string(tuning.tried) + " combinations of tune values works.";
  } else {
    text += OneLine(candidate::TuneText(tuning.chosen), 200) + " won among " +
            std::to_string(tuning.verified) + " correct combinations";
    if (slowest != nullptr && e.candidate && slowest->values != tuning.chosen) {
      text += "; the slowest, " + OneLine(candidate::TuneText(slowest->values), 200) + ", takes " +
              Number(*slowest->median_ms, 3) + " ms against " + Number(e.candidate->median_ms, 3) +
              " ms";
    }
    text += ".";
  }
  if (failed != nullptr) {
    text += " " + std::to_string(tuning.failed) + " failed, for example " +
            OneLine(candidate::TuneText(failed->values), 200) + ": " +
            OneLine(failed->message, 300);
  }
  if (tuning.untried > 0) {
    text += " " + std::to_string(tuning.untried) + " were not tried (" + tuning.note + ").";
  }
  return text + "\n";
}

std::string ResourcesText(const std::vector<KernelResources>& kernels) {
  std::string text;
  for (size_t i = 0; i < kernels.size() && i < 8; ++i) {
    const KernelResources& k = kernels[i];
    text += "Kernel " + OneLine(k.name, 120) + ": " + std::to_string(k.registers) + " registers";
    if (k.static_shared_bytes > 0) {
      text += ", " + std::to_string(k.static_shared_bytes) + " bytes of static shared memory";
    }
    if (k.local_bytes > 0) {
      text +=
          ", " + std::to_string(k.local_bytes) +
          " bytes of local memory per thread (spills or indexed arrays, which cost memory traffic)";
    }
    text += ".\n";
  }
  return text;
}

// One kernel's memory behaviour, only where something is to be said.
std::string CounterText(const KernelCounters& c) {
  std::string text;
  if (c.global_requests > 0 && c.global_sectors > 0) {
    const auto requests = static_cast<double>(c.global_requests);
    const double sectors = static_cast<double>(c.global_sectors) / requests;
    const double needed = static_cast<double>(c.global_bytes) / 32 / requests;
    if (needed < 0.6 * sectors) {
      text += " It touches " + Number(sectors, 3) +
              " sectors of 32 bytes per global access where " + Number(needed, 3) + " would do (" +
              Number(100 * needed / sectors, 2) +
              " % of the moved bytes are used): let neighbouring threads access neighbouring "
              "addresses.";
    } else if (needed < 6) {
      text += " Its global accesses are coalesced (" + Number(sectors, 3) +
              " sectors per access); 16-byte vector accesses would need fewer instructions.";
    } else {
      text += " Its global accesses are coalesced and wide (" + Number(sectors, 3) +
              " sectors per access).";
    }
  }
  if (c.shared_requests > 0) {
    const double wavefronts =
        static_cast<double>(c.shared_wavefronts) / static_cast<double>(c.shared_requests);
    if (wavefronts > 1.3) {
      text +=
          " Shared memory takes " + Number(wavefronts, 3) +
          " passes per access (1 is free of bank conflicts, 4 is normal for 16-byte accesses): pad "
          "or swizzle the arrays.";
    }
  }
  if (c.active_lane_share > 0 && c.active_lane_share < 0.8) {
    text += " Only " + Number(100 * c.active_lane_share, 2) +
            " % of the lanes are active on average: threads diverge or idle.";
  }
  return text;
}

std::string CountersText(std::vector<KernelCounters> counters) {
  std::stable_sort(counters.begin(), counters.end(),
                   [](const auto& a, const auto& b) { return a.estimated_us > b.estimated_us; });
  double total = 0;
  for (const KernelCounters& each : counters) total += each.estimated_us;
  std::string text;
  for (size_t i = 0; i < counters.size() && i < 3; ++i) {
    const std::string facts = CounterText(counters[i]);
    if (facts.empty()) continue;
    text += "Kernel " + OneLine(counters[i].name, 120);
    if (total > 0 && counters.size() > 1) {
      text += " (about " + Number(100 * counters[i].estimated_us / total, 2) +
              " % of the kernels' time)";
    }
    text += ":" + facts + "\n";
  }
  return text;
}

}  // namespace

std::string Feedback(const Evaluation& e) {
  std::string text =
      "Verdict: " + std::string(ToString(e.verdict)) + ". " + OneLine(e.message, 2000) + "\n";
  if (std::string advice = Advice(e.verdict); !advice.empty()) text += advice + "\n";
  if (e.verdict == Verdict::kCompileFailed) return text + CompileText(e) + TuningText(e);
  if (e.check.trials > 0 && e.verdict != Verdict::kOk) {
    text += std::to_string(e.check.passed) + " of " + std::to_string(e.check.trials) +
            " checks with fresh inputs pass.\n";
  }
  if (e.check.mismatch) text += MismatchText(*e.check.mismatch);
  for (size_t i = 0; i < e.check.notes.size() && i < 5; ++i) {
    text += "Note: " + OneLine(e.check.notes[i]) + "\n";
  }
  text += TimesText(e);
  text += TuningText(e);
  text += ResourcesText(e.compile.kernels);
  text += CountersText(e.counters);
  return text;
}

}  // namespace cudaagent::prompt
