#include "store/best_readme.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

namespace cudaagent::store {
namespace {

std::string Row(const std::string& name, const std::optional<Timing>& timing, bool estimated) {
  if (!timing) return "";
  if (estimated) return fmt::format("| {} | about {:.4f} ms | – | – |\n", name, timing->median_ms);
  return fmt::format("| {} | {:.4f} ms | {:.4f} to {:.4f} ms | {} |\n", name, timing->median_ms,
                     timing->ci_low_ms, timing->ci_high_ms, timing->samples);
}

std::string Row(const std::string& name, const std::optional<Speedup>& speedup, bool estimated) {
  if (!speedup) return "";
  if (estimated) return fmt::format("- {}: about {:.2f}x\n", name, speedup->value);
  return fmt::format("- {}: {:.2f}x (95 % interval {:.2f} to {:.2f})\n", name, speedup->value,
                     speedup->low, speedup->high);
}

std::string Figures(const Evaluation& e) {
  std::string text;
  if (e.estimated) {
    text +=
        "No GPU was used: correctness was checked by the CPU device; every time below is a model's "
        "estimate, not a measurement.\n\n";
  }
  text += "| | median | 95 % interval | samples |\n| --- | --- | --- | --- |\n";
  text += Row("this kernel", e.candidate, e.estimated) +
          Row("PyTorch eager", e.eager, e.estimated) +
          Row("torch.compile", e.compiled_baseline, e.estimated);
  return text + "\n" + Row("over eager", e.speedup_eager, e.estimated) +
         Row("over torch.compile", e.speedup_compile, e.estimated);
}

std::string Conditions(const Evaluation& e) {
  std::string text =
      fmt::format("- device: {}{}, target {}\n", e.device.name,
                  e.device.uuid.empty() ? "" : " (" + e.device.uuid + ")", e.device.arch);
  if (!e.device.driver_version.empty()) text += "- driver: " + e.device.driver_version + "\n";
  text += "- torch " + e.device.torch_version;
  for (const auto& [name, version] :
       {std::pair{"CUDA", e.device.cuda_version}, std::pair{"NVRTC", e.device.nvrtc_version},
        std::pair{"CUPTI", e.device.cupti_version}}) {
    if (!version.empty()) text += fmt::format(", {} {}", name, version);
  }
  text += "\n";
  text += fmt::format(
      "- protocol {}: precision {}{}, tolerance {}, {} trials, clock {}, {} L2, {}\n",
      e.protocol.version, e.protocol.precision, e.protocol.mode == "train" ? ", train mode" : "",
      e.protocol.tier, e.protocol.trials, e.protocol.clock, e.protocol.cold_l2 ? "cold" : "warm",
      e.protocol.graph ? "one CUDA graph" : "step by step");
  if (!e.protocol.note.empty()) text += "- note: " + e.protocol.note + "\n";
  return text + "- date: " + e.date + "\n";
}

}  // namespace

std::string ShellQuote(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-+=./:,@%") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string BestReadme(const Attempt& attempt, const ProblemSpec& spec,
                       const std::vector<std::string>& recheck) {
  std::string command;
  for (const std::string& word : recheck)
    command += (command.empty() ? "" : " ") + ShellQuote(word);
  const Evaluation& e = attempt.judgement();
  std::string text = "# Best kernel\n\n";
  text += fmt::format("For `{}` ({}, {}). Attempt {}, written by {}.", spec.path, spec.class_name,
                      spec.dtype, attempt.number, attempt.candidate.origin);
  if (!attempt.candidate.note.empty()) text += " " + attempt.candidate.note;
  text += "\n\n";
  if (!spec.consts.empty()) {
    text += "With";
    for (const auto& [name, value] : spec.consts) text += " `" + name + " = " + value + "`";
    text += ".\n\n";
  }
  text += fmt::format("Verified: {} of {} trials, worst absolute error {:.3g}.", e.check.passed,
                      e.check.trials, e.check.max_abs_error);
  if (attempt.confirmation) {
    text += " Confirmed in a fresh worker with new inputs; the figures are of that.";
  } else if (!e.estimated) {
    text += " Not confirmed in a fresh worker.";
  }
  text += "\n\n";
  text += Figures(e) + "\n" + Conditions(e);
  text += "\nCheck it again:\n\n```\n" + command + "\n```\n";
  return text;
}

}  // namespace cudaagent::store
