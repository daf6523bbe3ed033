// What a person sees of a bench on stderr: a line for each row, and on a terminal a last line that
// lives.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/row.h"
#include "util/time.h"

namespace cudaagent::cli {

class BenchProgress {
 public:
  // `done` of `total` rows are there already.
  BenchProgress(bool quiet, int done, int total);
  ~BenchProgress();

  void OnRow(const bench::Row& row);
  void OnTick(const std::vector<std::pair<std::string, double>>& running);

 private:
  std::string Eta() const;
  void Clear();

  bool quiet_, terminal_;
  int before_, done_, total_;
  int failed_ = 0;
  bool live_ = false;
  double shown_at_ = -1;
  util::Stopwatch watch_;
};

}  // namespace cudaagent::cli
