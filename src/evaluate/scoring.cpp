#include "evaluate/scoring.h"

#include <cmath>

namespace cudaagent::evaluate {
namespace {

// A positive figure and how far its interval reaches to either side, as logarithms.
struct LogFigure {
  double value = 0;
  double below = 0;
  double above = 0;
};

std::optional<LogFigure> ToLog(double value, double low, double high) {
  if (!(value > 0) || !std::isfinite(value)) return std::nullopt;
  LogFigure figure;
  figure.value = std::log(value);
  if (low > 0 && low <= value) figure.below = figure.value - std::log(low);
  if (std::isfinite(high) && high >= value) figure.above = std::log(high) - figure.value;
  return figure;
}

std::optional<LogFigure> ToLog(const Timing& t) {
  return ToLog(t.median_ms, t.ci_low_ms, t.ci_high_ms);
}

LogFigure Times(const LogFigure& a, const LogFigure& b) {
  return {a.value + b.value, std::hypot(a.below, b.below), std::hypot(a.above, b.above)};
}

LogFigure Over(const LogFigure& a, const LogFigure& b) {
  return Times(a, {-b.value, b.above, b.below});
}

Speedup ToSpeedup(const LogFigure& figure) {
  return {std::exp(figure.value), std::exp(figure.value - figure.below),
          std::exp(figure.value + figure.above)};
}

void AddNote(const std::string& note, Evaluation* evaluation) {
  if (note.empty()) return;
  std::string& all = evaluation->protocol.note;
  all += (all.empty() ? "" : "; ") + note;
}

}  // namespace

void Score(const BaselineState& baseline, Evaluation* evaluation) {
  evaluation->protocol.baseline = baseline.decides;
  AddNote(baseline.note, evaluation);
  if (!evaluation->candidate || !evaluation->eager) return;
  const std::optional<LogFigure> candidate = ToLog(*evaluation->candidate);
  const std::optional<LogFigure> eager = ToLog(*evaluation->eager);
  if (!candidate || !eager) return;
  if (!evaluation->speedup_eager) evaluation->speedup_eager = ToSpeedup(Over(*eager, *candidate));
  if (!baseline.baseline) return;
  const std::optional<LogFigure> eager_then = ToLog(baseline.baseline->eager);
  if (!eager_then) return;
  const double drift = std::exp(eager->value - eager_then->value);
  std::map<std::string, Timing> compiled = baseline.baseline->compiled;
  for (auto& [mode, timing] : compiled) {
    for (double* each : {&timing.median_ms, &timing.ci_low_ms, &timing.ci_high_ms, &timing.busy_ms,
                         &timing.event_ms}) {
      *each *= drift;
    }
  }
  if (compiled.size() > 1) evaluation->baselines = compiled;
  const auto deciding = baseline.baseline->compiled.find(baseline.mode);
  if (deciding == baseline.baseline->compiled.end()) return;
  evaluation->protocol.compile_mode = baseline.mode;
  if (evaluation->speedup_compile) return;  // they took turns
  const std::optional<LogFigure> compiled_then = ToLog(deciding->second);
  const Speedup& over_eager = *evaluation->speedup_eager;
  const std::optional<LogFigure> speedup = ToLog(over_eager.value, over_eager.low, over_eager.high);
  if (!compiled_then || !speedup) return;
  // compiled now / candidate = (eager now / candidate) * (compiled then / eager then)
  evaluation->speedup_compile = ToSpeedup(Times(*speedup, Over(*compiled_then, *eager_then)));
  evaluation->compiled_baseline = compiled[baseline.mode];
}

void Decide(const std::string& wanted, BaselineState* state) {
  state->decides = "eager";
  state->mode.clear();
  if (!state->baseline || state->baseline->compiled.empty()) return;
  const auto& compiled = state->baseline->compiled;
  const auto first = compiled.contains("default") ? compiled.find("default") : compiled.begin();
  state->mode = first->first;
  if (wanted == "eager") return;
  if (wanted == "best") {
    for (const auto& [mode, timing] : compiled) {
      if (timing.median_ms < compiled.at(state->mode).median_ms) state->mode = mode;
    }
    if (state->baseline->eager.median_ms <= compiled.at(state->mode).median_ms) return;
  }
  state->decides = "compile";
}

}  // namespace cudaagent::evaluate
