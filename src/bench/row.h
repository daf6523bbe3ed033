// What became of one job: one problem, one sample. Every job yields exactly one row.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/suite.h"
#include "cudaagent/attempt.h"
#include "cudaagent/result.h"
#include "cudaagent/usage.h"

namespace cudaagent::bench {

enum class Outcome {
  kCorrect,        // the best candidate is correct
  kIncorrect,      // candidates were judged, none is correct
  kNoCandidate,    // there was nothing to judge
  kUnsupported,    // the device at hand cannot run it
  kProblemFailed,  // model.py would not load: it raised, hung, exited or needed too much memory
  kTimedOut,       // the problem's time ended before a candidate was found correct
  kInfraError,     // the machine, or we, failed
};
const char* ToString(Outcome outcome);
std::optional<Outcome> OutcomeFromString(const std::string& name);

struct Row {
  std::string problem;  // Problem::key
  int level = 0;
  int problem_id = 0;
  std::string name;
  int sample = 0;
  std::string model_sha256;
  std::map<std::string, std::string> consts;
  Outcome outcome = Outcome::kInfraError;
  std::string message;                   // one sentence or more
  std::optional<Evaluation> evaluation;  // of the best candidate, else of the last one
  std::string origin;                    // who wrote that candidate: a proposer's name, a file
  std::string stopped;                   // why the loop ended; empty where none ran
  std::map<std::string, int> verdicts;   // of all its candidates, the baseline included
  int attempts = 0;                      // how many these are
  int best_attempt = -1;
  Usage usage;
  std::string device;  // the one it was given: "gpu:1"
  double seconds = 0;  // wall clock of the job, worker start included
  std::string date;    // ISO 8601 UTC

  bool correct() const { return outcome == Outcome::kCorrect; }
};

// A row that names the job and nothing else yet.
Row RowOf(const Problem& problem, int sample);

nlohmann::json ToJson(const Row& row);
// kUsage names what is wrong; texts of any origin are safe to give.
Result<Row> RowFromJson(const nlohmann::json& json);

// Time of baseline / time of candidate of a correct row; nullopt where it was not timed.
std::optional<Speedup> SpeedupOf(const Row& row);

}  // namespace cudaagent::bench
