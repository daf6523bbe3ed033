// The problems of a batch: where they come from, which of them are meant. A suite is
//   a KernelBench checkout    DIR/level1/3_Name.py or DIR/KernelBench/level1/3_Name.py
//   any folder of model.py    DIR/name.py, no levels
//   a JSONL export            one object a line with "level", "problem_id", "name" and "code"
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cudaagent/result.h"

namespace cudaagent::bench {

struct Problem {
  std::string key;  // "level1/3_Name", or "name" where there are no levels; unique, a relative path
  int level = 0;    // 0 = none
  int id = 0;       // the number in its name; without levels its place in the folder, from 1
  std::string name;  // "3_Name"
  std::string path;  // of model.py; empty for an export's, whose `source` has yet to be written
  std::string source;
  std::string sha256;                         // of `source`
  std::map<std::string, std::string> consts;  // NAME -> Python literal
  std::optional<Error> unusable;  // its file cannot be read, or its name is no name; never selected
};

struct Selection {
  std::set<int> levels;  // empty = all
  std::string problems;  // "1-20,40" by id, or names; empty = all
  std::string shard;  // "i/N": every N-th of what is selected, from the i-th (1-based); empty = all
  // A JSON file of constants by problem: {"softmax": {"dim": 64}}. Values are numbers, true, false,
  // or texts that hold a Python literal. A name that no problem of the chosen levels has is an
  // error.
  std::string const_file;
};

// The chosen problems in order of level and id. kUsage says what is wrong with the folder, the file
// or the selection, and where nothing is left.
Result<std::vector<Problem>> ReadSuite(const std::string& path, const Selection& selection);

// A candidate for a problem: one of several samples.
struct Sample {
  int number = 0;
  std::string path;
};

// The candidates of a folder by problem key, samples in order. A file is a problem's where it is
// named
//   level_1_problem_3_sample_0_kernel.cu          as KernelBench names its own
//   level1/3_Name.cu, name.cu, and with several   level1/3_Name_sample_2.cu
// `unknown` gets the files that belong to none of the problems.
Result<std::map<std::string, std::vector<Sample>>> FindCandidates(
    const std::string& folder, const std::vector<Problem>& problems,
    std::vector<std::string>* unknown);

}  // namespace cudaagent::bench
