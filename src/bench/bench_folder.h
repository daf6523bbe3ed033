// A bench on disk:
//
//   bench.json          what was asked: flags, suite, problems with hashes, seed, start
//   rows.jsonl          a row a line, on disk before the next problem is begun on that device
//   problems/<key>/     the run folder of each problem (--optimize)
//   models/<key>.py     model.py files of a suite that is one JSONL file
//   best/<key>.cu       the best correct kernel of each problem, with a .json: evaluation and
//   provenance logs/<key>.log      what each problem's process said report.json         the scores
//   and all rows
#pragma once

#include <string>
#include <vector>

#include "bench/row.h"
#include "bench/suite.h"
#include "cudaagent/result.h"
#include "store/stored_run.h"
#include "util/fd.h"

namespace cudaagent::bench {

struct Description {
  store::FlagValues flags;  // what it is resumed with
  std::vector<std::string> arguments;
  std::string suite;
  bool optimize = false;
  uint64_t seed = 0;
  std::string version;
  std::string started;
  std::vector<Problem> problems;  // without sources
};

// One writer, which the folder's lock ensures.
class BenchFolder {
 public:
  // `out` empty: runs/bench-<utc>-<hash6>. A folder that holds a bench or a run is kUsage.
  static Result<BenchFolder> Create(const std::string& out, Description description);
  // With the rows so far; half a line at the end is cut off, rows of infra errors are dropped so
  // that their jobs are done again. kUsage where another process writes it.
  static Result<BenchFolder> Resume(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const Description& description() const { return description_; }
  const std::vector<Row>& rows() const { return rows_; }

  // On disk before it returns.
  Result<void> Append(Row row);

 private:
  std::string folder_;
  Description description_;
  std::vector<Row> rows_;
  util::UniqueFd lock_, file_;
};

bool HoldsBench(const std::string& folder);
struct StoredBench {
  Description description;
  std::vector<Row> rows;
};
// Of a folder, also one that is being written. A broken line is kUsage with its number, but for an
// unfinished last one; so is a second row of one sample that differs from the first.
Result<StoredBench> ReadBench(const std::string& folder);
// The rows of an earlier bench: its folder, its report.json (or what --json printed), or its
// rows.jsonl.
Result<std::vector<Row>> ReadRows(const std::string& path);

}  // namespace cudaagent::bench
