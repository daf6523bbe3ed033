// KernelBench's own files (ScalingIntelligence/KernelBench at 423217d): eval_results.json,
// baseline_time_*.json and pass_at_k_results.json. Times are milliseconds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/row.h"
#include "bench/suite.h"
#include "cudaagent/result.h"

namespace cudaagent::bench {

// "level1" -> "1_Name.py" -> mean in ms.
using BaselineTimes = std::map<std::string, std::map<std::string, double>>;
Result<BaselineTimes> ReadBaselineTimes(const std::string& path);
// What did not meet: times of the problems' levels that belong to none of them
// ("level1/1_Name.py"), and the correct rows' problems (keys) that have no time.
std::vector<std::string> TimesOfNone(const BaselineTimes& times,
                                     const std::vector<Problem>& problems);
std::vector<std::string> WithoutTime(const BaselineTimes& times, const std::vector<Row>& rows);

// The rows of one level's eval_results.json, their speedups over these baselines (either may be
// empty). Entries for problems that are not among `problems` are counted in `unknown`. What the
// file says is taken as it is: nothing of it was checked here. kUsage where it is none of
// KernelBench's, holds a sample twice, or calls a row correct whose runtime is no time (-1 is "not
// timed").
Result<std::vector<Row>> ReadEvalResults(const std::string& path,
                                         const std::vector<Problem>& problems,
                                         const BaselineTimes& eager, const BaselineTimes& compiled,
                                         int* unknown);

// Writes FOLDER/level1/eval_results.json, pass_at_k_results.json, baseline_time_torch.json and,
// where torch.compile was timed, baseline_time_torch_compile_inductor_default.json; a folder a
// level. Our figures are medians: they stand where KernelBench has its means, and "statistic" says
// so.
Result<void> WriteKernelBenchFiles(const std::string& folder, const std::vector<Row>& rows);

}  // namespace cudaagent::bench
