// Rows to test with.
#pragma once

#include <string>

#include "bench/row.h"

namespace cudaagent::bench {

// A correct row as measured on a GPU: `ms` with a 95 % interval of +-`half` of it, eager at 4 ms
// exactly.
inline Row Measured(const std::string& key, double ms, double half = 0.001) {
  Row row;
  row.problem = row.name = key;
  row.outcome = Outcome::kCorrect;
  row.attempts = 1;
  row.best_attempt = 0;
  row.device = "gpu:0";
  row.date = "2026-01-01T00:00:00Z";
  Evaluation e;
  e.verdict = Verdict::kOk;
  e.message = "All fine.";
  e.problem_hash = "p";
  e.candidate_hash = "c";
  e.device.kind = "gpu";
  e.device.uuid = "GPU-1";
  e.protocol.precision = "tf32";
  e.protocol.baseline = "eager";
  Timing t;
  t.median_ms = ms;
  t.ci_low_ms = ms * (1 - half);
  t.ci_high_ms = ms * (1 + half);
  t.samples = 100;
  t.clock = "cupti-graph";
  e.candidate = t;
  Timing four = t;
  four.median_ms = four.ci_low_ms = four.ci_high_ms = 4;
  e.eager = four;
  e.speedup_eager = Speedup{4 / ms, 4 / ms / (1 + half), 4 / ms / (1 - half)};
  row.evaluation = e;
  return row;
}

// The same from the CPU device: exact, and no measurement.
inline Row Estimated(const std::string& key, double ms) {
  Row row = Measured(key, ms, 0);
  row.device = "cpu";
  row.evaluation->estimated = true;
  row.evaluation->device.kind = "cpu";
  row.evaluation->device.uuid = "";
  row.evaluation->device.name = "PTX interpreter (models NVIDIA H200)";
  row.evaluation->candidate->clock = "estimated";
  return row;
}

inline Row Failed(const std::string& key, Outcome outcome, const std::string& message) {
  Row row;
  row.problem = row.name = key;
  row.outcome = outcome;
  row.message = message;
  return row;
}

}  // namespace cudaagent::bench
