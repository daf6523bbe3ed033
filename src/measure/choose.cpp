#include "measure/choose.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "measure/statistics.h"

namespace cudaagent::measure {
namespace {

// Below this a difference is noise.
constexpr double kSlowedShare = 0.97;
// Events and spans that differ by more than this are worth a word.
constexpr double kAgreeShare = 0.05;
constexpr double kAgreeNs = 5000;

std::string Microseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", ns / 1e3);
  return text;
}

double MedianOf(const std::vector<Footprint>& footprints, double (*value)(const Footprint&)) {
  std::vector<double> values;
  for (const Footprint& each : footprints) values.push_back(value(each));
  return Median(std::move(values));
}

// A plan launches the same work each time; whatever differs is not the plan's.
std::string DifferingActivities(const std::vector<Footprint>& footprints) {
  const auto [least, most] = std::minmax_element(
      footprints.begin(), footprints.end(),
      [](const Footprint& a, const Footprint& b) { return a.activities < b.activities; });
  if (footprints.empty() || least->activities == most->activities) return "";
  return "between " + std::to_string(least->activities) + " and " +
         std::to_string(most->activities) + " device activities an iteration";
}

void AddFootprint(const std::vector<Footprint>& footprints, Samples* samples) {
  if (footprints.empty()) return;
  samples->busy_ns = MedianOf(footprints, [](const Footprint& f) { return f.busy_ns; });
  samples->own_busy_ns = MedianOf(footprints, [](const Footprint& f) { return f.own_busy_ns; });
  samples->activities = static_cast<int>(
      MedianOf(footprints, [](const Footprint& f) { return static_cast<double>(f.activities); }));
}

}  // namespace

bool SlowedByTracing(double untraced_ns, const Observations& traced) {
  if (traced.span_ns.empty() || traced.event_ns.empty()) return false;
  const double quickest = *std::min_element(traced.event_ns.begin(), traced.event_ns.end());
  return untraced_ns < kSlowedShare * Median(traced.span_ns) &&
         untraced_ns < kSlowedShare * quickest;
}

Samples Choose(bool graph, const Observations& traced, const Observations& plain,
               const Observations& steps, const std::string& cupti_problem) {
  Samples samples;
  samples.event_ns = plain.event_ns.empty() ? traced.event_ns : plain.event_ns;
  AddFootprint(graph ? steps.footprints : traced.footprints, &samples);
  const auto use_events = [&](std::string note) {
    samples.span_ns = samples.event_ns;
    samples.clock = "cuda-events";
    samples.note = std::move(note);
  };
  if (!cupti_problem.empty()) {
    use_events(cupti_problem);
    return samples;
  }
  // A tenth of the iterations may be lost to a full buffer; more is a fault of the measurement.
  if (traced.span_ns.empty() || traced.span_ns.size() * 10 < traced.event_ns.size() * 9) {
    use_events("CUPTI measured " + std::to_string(traced.span_ns.size()) + " of " +
               std::to_string(traced.event_ns.size()) + " iterations: CUDA events decide");
    return samples;
  }
  const double span = Median(traced.span_ns);
  if (!graph && !plain.event_ns.empty() && Median(plain.event_ns) < span) {
    use_events("tracing slows these launches: CUDA events without it decide");
    return samples;
  }
  samples.span_ns = traced.span_ns;
  samples.clock = graph ? "cupti-graph" : "cupti-activity";
  const double events = Median(traced.event_ns);
  if (graph && std::abs(events - span) > kAgreeShare * span + kAgreeNs) {
    samples.note = "CUDA events say " + Microseconds(events) + ", CUPTI " + Microseconds(span);
  }
  const std::string differing = DifferingActivities(graph ? steps.footprints : traced.footprints);
  if (!differing.empty()) samples.note += (samples.note.empty() ? "" : "; ") + differing;
  return samples;
}

}  // namespace cudaagent::measure
