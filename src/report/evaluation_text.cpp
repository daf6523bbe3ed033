#include "report/evaluation_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "util/text.h"

namespace cudaagent::report {
namespace {

std::string TimingRow(const char* name, const std::optional<Timing>& timing, bool estimated) {
  if (!timing) return "";
  if (estimated)
    return fmt::format("  {:<14} {:>10.4f} ms  (estimated)\n", name, timing->median_ms);
  std::string row =
      fmt::format("  {:<14} {:>10.4f} ms  95 % [{:.4f}, {:.4f}]  n = {}", name, timing->median_ms,
                  timing->ci_low_ms, timing->ci_high_ms, timing->samples);
  if (timing->busy_ms > 0) row += fmt::format("  busy {:.4f} ms", timing->busy_ms);
  if (timing->kernels > 0) row += fmt::format("  {} activities", timing->kernels);
  return row + "\n";
}

std::string MismatchText(const Mismatch& m) {
  std::string index;
  for (int64_t i : m.index) index += (index.empty() ? "" : ", ") + std::to_string(i);
  std::string text = fmt::format(
      "  worst: {}[{}] is {:.9g}, expected {:.9g} (off by {:.3g}); {} of {} "
      "elements differ\n",
      m.output, index, m.got, m.expected, m.abs_error, m.differing, m.total);
  if (!m.hint.empty()) text += "  hint:  " + m.hint + "\n";
  return text;
}

std::string ValuesText(const std::map<std::string, int64_t>& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

std::string TuningRow(const std::optional<Tuning>& tuning, bool estimated) {
  if (!tuning) return "";
  const std::string chosen = ValuesText(tuning->chosen);
  std::string text =
      fmt::format("  tuned          {}: {} of {} combinations verify",
                  chosen.empty() ? "nothing" : chosen, tuning->verified, tuning->tried);
  double least = 0, most = 0;
  for (const TuningVariant& variant : tuning->variants) {
    if (variant.verdict != Verdict::kOk || !variant.median_ms) continue;
    least = most == 0 ? *variant.median_ms : std::min(least, *variant.median_ms);
    most = std::max(most, *variant.median_ms);
  }
  if (most > 0) text += fmt::format(", {}{:.4f} to {:.4f} ms", estimated ? "~" : "", least, most);
  text += fmt::format("; {}", util::FormatSeconds(tuning->seconds));
  if (tuning->untried > 0) {
    text += fmt::format("; {} not tried ({})", tuning->untried, tuning->note);
  }
  text += "\n";
  for (const TuningVariant& variant : tuning->variants) {
    if (variant.verdict == Verdict::kOk) continue;
    text += fmt::format("  dropped        {}: {}: {}\n", ValuesText(variant.values),
                        ToString(variant.verdict), variant.message);
    break;
  }
  return text;
}

// Time, speedups and reward, as far as there are any.
std::string Figures(const Evaluation& e) {
  std::string text;
  if (e.candidate) {
    text += fmt::format("  {}{:.4f} ms", e.estimated ? "~" : "", e.candidate->median_ms);
  }
  if (e.speedup_eager) text += "  eager " + SpeedupText(*e.speedup_eager, e.estimated);
  if (e.speedup_compile) text += "  compile " + SpeedupText(*e.speedup_compile, e.estimated);
  if (e.reward) text += fmt::format("  reward {:g}", *e.reward);
  return text;
}

std::string GpuRows(const Evaluation& e) {
  std::string text;
  if (e.gpu) {
    text += fmt::format("  gpu            SM {} MHz, memory {} MHz, {} C", e.gpu->sm_mhz,
                        e.gpu->memory_mhz, e.gpu->celsius);
    if (!e.gpu->slowdowns.empty()) {
      text += ", clocks lowered by " + util::Join(e.gpu->slowdowns, ", ");
    }
    if (e.gpu->dropped_blocks > 0) {
      text += fmt::format("; {} slowed blocks dropped", e.gpu->dropped_blocks);
    }
    text += e.gpu->disturbed ? "; the times are of a GPU that was slowed down\n" : "\n";
  }
  if (e.energy_mj) {
    text += fmt::format("  energy         {:>10.4g} mJ a run", *e.energy_mj);
    if (e.eager_energy_mj) text += fmt::format(", eager {:.4g} mJ", *e.eager_energy_mj);
    text += "\n";
  }
  return text;
}

std::string CounterRows(const std::vector<KernelCounters>& counters) {
  std::string text;
  for (const KernelCounters& c : counters) {
    const double sectors =
        c.global_requests > 0 ? static_cast<double>(c.global_sectors) / c.global_requests : 0;
    text +=
        fmt::format("  {}: {} launch{}, {} warp instructions, {:.1f} sectors per global request",
                    c.name, c.launches, c.launches == 1 ? "" : "es", c.instructions, sectors);
    if (c.shared_requests > 0) {
      text += fmt::format(", {:.2f} wavefronts per shared request",
                          static_cast<double>(c.shared_wavefronts) / c.shared_requests);
    }
    text += fmt::format(", {:.0f} % lanes active, about {:.2f} us\n", 100 * c.active_lane_share,
                        c.estimated_us);
  }
  return text;
}

std::string StateRow(const std::vector<DeviceVariable>& state) {
  std::string text;
  for (const DeviceVariable& each : state) {
    if (text.size() > 300) {
      text += ", ...";
      break;
    }
    text += fmt::format("{}{} ({} B{})", text.empty() ? "" : ", ", each.name, each.bytes,
                        each.certain ? "" : ", may be written");
  }
  return text.empty() ? "" : "  device state   " + text + ": outlives a call\n";
}

}  // namespace

std::string SpeedupText(const Speedup& speedup, bool estimated) {
  if (estimated) return fmt::format("~{:.2f}x", speedup.value);
  return fmt::format("{:.2f}x [{:.2f}, {:.2f}]", speedup.value, speedup.low, speedup.high);
}

std::string EvaluationText(const Evaluation& e) {
  std::string text = fmt::format("{}: {}\n", ToString(e.verdict), e.message);
  if (e.check.trials > 0) {
    text += fmt::format("  checked        {} of {} trials pass at tier {}", e.check.passed,
                        e.check.trials, e.protocol.tier);
    const bool compared = e.check.passed > 0 || e.check.mismatch;
    text += compared ? fmt::format(", worst absolute error {:.3g}\n", e.check.max_abs_error) : "\n";
  }
  if (e.check.mismatch) text += MismatchText(*e.check.mismatch);
  if (e.check.variants > 0) {
    text += fmt::format("  variants       {} of {} hidden variants pass", e.check.variants_passed,
                        e.check.variants);
    if (!e.check.determinism.empty()) text += ", two runs equal: " + e.check.determinism;
    text += "\n";
  }
  for (const std::string& skipped : e.check.skipped_variants)
    text += "  skipped:  " + skipped + "\n";
  if (e.check.races) {
    const RaceReport& races = *e.check.races;
    text += fmt::format("  races          looked for in {} block{} of {} kernel{}, {:.2f} s\n",
                        races.blocks, races.blocks == 1 ? "" : "s", races.kernels,
                        races.kernels == 1 ? "" : "s", races.seconds);
    for (const std::string& remark : races.remarks) text += "  note:  " + remark + "\n";
  }
  if (!e.degenerate.empty()) {
    text += "  degenerate     " + e.degenerate + "; no speedup on this problem counts as a win\n";
  }
  for (const std::string& note : e.check.notes) text += "  note:  " + note + "\n";
  text += TimingRow("kernel", e.candidate, e.estimated) + TimingRow("eager", e.eager, e.estimated) +
          TimingRow("torch.compile", e.compiled_baseline, e.estimated);
  for (const auto& [mode, timing] : e.baselines) {
    if (mode != e.protocol.compile_mode) text += TimingRow(mode.c_str(), timing, e.estimated);
  }
  if (e.speedup_eager) {
    text += "  over eager     " + SpeedupText(*e.speedup_eager, e.estimated) + "\n";
  }
  if (e.speedup_compile) {
    text += "  over compile   " + SpeedupText(*e.speedup_compile, e.estimated) + "\n";
  }
  if (e.floor_ms && e.candidate && e.candidate->median_ms > 0) {
    text += fmt::format("  memory floor   {:>9.4f} ms, {:.0f} % of the kernel's time\n",
                        *e.floor_ms, 100 * *e.floor_ms / e.candidate->median_ms);
  }
  if (e.sol_ms && e.sol) {
    text += fmt::format("  speed of light {:>10.4f} ms, {:.0f} % of it reached\n", *e.sol_ms,
                        100 * *e.sol);
  }
  text += GpuRows(e);
  if (e.prepare) {
    text += fmt::format("  prepared once  {:.4g} ms, {} bytes, outside of the timing\n",
                        e.prepare->milliseconds, e.prepare->bytes);
  }
  text += TuningRow(e.tuning, e.estimated);
  if (e.reward) text += fmt::format("  reward         {:g} ({})\n", *e.reward, e.reward_name);
  for (const KernelResources& k : e.compile.kernels) {
    text += fmt::format("  {}: {} registers, {} B local, {} B static shared\n", k.name, k.registers,
                        k.local_bytes, k.static_shared_bytes);
  }
  text += StateRow(e.compile.device_state);
  text += CounterRows(e.counters);
  if (e.verdict == Verdict::kCompileFailed && !e.compile.log.empty()) {
    text += util::SanitiseLog(e.compile.log, 4096);
    if (text.back() != '\n') text += '\n';
  }
  if (!e.device.name.empty()) {
    text += fmt::format("  on {}, {}, precision {}{}, clock {}{}{}\n", e.device.name, e.device.arch,
                        e.protocol.precision, e.protocol.mode == "train" ? ", train mode" : "",
                        e.protocol.clock.empty() ? "none" : e.protocol.clock,
                        e.protocol.guard == "strict" ? ", strict guards" : "",
                        e.protocol.note.empty() ? "" : "; " + e.protocol.note);
  }
  return text;
}

std::string ConfirmationLine(const Attempt& attempt) {
  const Evaluation& e = attempt.judgement();
  std::string line = fmt::format("attempt {:<3} ", attempt.number);
  if (e.verdict != Verdict::kOk) {
    return line + fmt::format("refuted  {}: {}", ToString(e.verdict), e.message);
  }
  return line + "confirmed" + Figures(e);
}

std::string AttemptLine(const Attempt& attempt, bool new_best) {
  const Evaluation& e = attempt.evaluation;
  std::string line = fmt::format("attempt {:<3} {:<8} {}", attempt.number, attempt.candidate.origin,
                                 ToString(e.verdict));
  const std::string tokens = attempt.usage.total_tokens() > 0
                                 ? fmt::format("  {}+{} tokens", attempt.usage.prompt_tokens,
                                               attempt.usage.completion_tokens)
                                 : "";
  if (e.verdict != Verdict::kOk) return line + ": " + e.message + tokens;
  line += Figures(e) + tokens;
  if (!attempt.candidate.note.empty()) line += "  " + attempt.candidate.note;
  return line + (new_best ? "  (best so far)" : "");
}

}  // namespace cudaagent::report
