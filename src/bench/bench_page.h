// A bench as a page for people: report/html.h.
#pragma once

#include <string>

#include "bench/bench_folder.h"
#include "bench/scores.h"
#include "report/html.h"

namespace cudaagent::bench {

// With the attempts of every run below FOLDER/problems.
report::Page PageOf(const std::string& folder, const StoredBench& bench,
                    const ScoreOptions& options);

}  // namespace cudaagent::bench
