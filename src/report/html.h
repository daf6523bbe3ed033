// A run or a bench as one HTML file that needs no network: docs/bench.md. What comes from
// problems, candidates, models and logs is data inside of script tags, with every < escaped, and
// reaches the page as text alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cudaagent/evaluation.h"
#include "store/stored_run.h"

namespace cudaagent::report {

struct PageAttempt {
  int number = 0;
  int parent = -1;
  std::string origin, note, verdict, message, feedback, source;
  std::optional<double> speedup, median_ms;
  bool new_best = false;
  int64_t tokens = 0;
  double elapsed_s = 0;
};

struct PageProblem {
  std::string name;  // "level1/3_Name"
  int level = 0;
  std::string outcome;  // "correct", "incorrect", ...
  std::string message;
  std::string degenerate;  // why a win on it proves nothing; "" = it does
  std::optional<Speedup> speedup;
  std::optional<double> median_ms, floor_ms;
  bool estimated = false;
  double seconds = 0;
  int64_t tokens = 0;
  std::map<std::string, int> verdicts;
  std::vector<PageAttempt> attempts;  // with their sources; none where they are not kept
};

struct Page {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // "device" -> "NVIDIA H200"
  std::vector<std::vector<std::string>> scores;  // a table, its first row the header; empty = none
  std::vector<PageProblem> problems;
};

// One problem of a run, with all its attempts.
PageProblem ProblemOf(const store::StoredRun& run);
Page PageOfRun(const store::StoredRun& run);

std::string Html(const Page& page);

// Text as the content or a quoted attribute of HTML or XML: valid UTF-8, with &, <, > and "
// escaped.
std::string EscapeMarkup(const std::string& text);

}  // namespace cudaagent::report
