#include "measure/interleave.h"

#include <algorithm>
#include <random>
#include <set>

#include "measure/statistics.h"

namespace cudaagent::measure {
namespace {

// Even past the deadline: a median of fewer means nothing.
constexpr int kLeastRounds = 3;

Checked<void> RunRound(const std::vector<Contender>& contenders, IterationClock* clock) {
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (contenders[i].prepare) {
      if (auto done = contenders[i].prepare(); !done) return done;
    }
    if (auto done = clock->Begin(i); !done) return done;
    if (auto done = contenders[i].run(); !done) return done;
    if (auto done = clock->End(i); !done) return done;
  }
  return {};
}

// Rounds among the first `least` that a candidate cannot know of, drawn from the operating system.
std::set<int> SecretRounds(int least) {
  std::random_device source;
  std::uniform_int_distribution<int> any(1, least);
  std::set<int> rounds;
  while (static_cast<int>(rounds.size()) < std::min(kSecretInspections, least)) {
    rounds.insert(any(source));
  }
  return rounds;
}

Checked<void> Inspect(const std::vector<Contender>& contenders, IterationClock* clock) {
  if (auto done = clock->Collect(); !done) return done;
  for (const Contender& contender : contenders) {
    if (!contender.inspect) continue;
    if (auto done = contender.inspect(); !done) return done;
  }
  return {};
}

}  // namespace

bool IsNarrow(const std::vector<double>& spans, double half_width) {
  if (spans.empty()) return false;
  const Interval interval = MedianInterval(spans);
  return (interval.high - interval.low) / 2 < half_width * Median(spans);
}

Checked<void> RunRounds(const std::vector<Contender>& contenders, int rounds,
                        IterationClock* clock) {
  for (int i = 0; i < rounds; ++i) {
    if (auto done = RunRound(contenders, clock); !done) return done;
  }
  return clock->Collect();
}

Checked<RunReport> RunUntilNarrow(const std::vector<Contender>& contenders,
                                  const EvalOptions& options,
                                  std::chrono::steady_clock::time_point deadline,
                                  IterationClock* clock) {
  RunReport report;
  const int most = std::max(options.max_iterations, 1);
  int kept = 0;  // rounds up to the last look
  int next_look = std::clamp(options.min_iterations, 1, most);
  const std::set<int> secret = SecretRounds(next_look);
  for (int rounds = 1;; ++rounds) {
    if (auto done = RunRound(contenders, clock); !done) return tl::unexpected(done.error());
    const bool late = rounds >= kLeastRounds && std::chrono::steady_clock::now() >= deadline;
    if (rounds < next_look && !late) {
      if (!secret.contains(rounds)) continue;
      if (auto done = Inspect(contenders, clock); !done) return tl::unexpected(done.error());
      continue;
    }
    if (auto done = clock->Collect(); !done) return tl::unexpected(done.error());
    if (clock->TakeDisturbance()) {
      if (report.dropped_blocks < kMostDroppedBlocks && !late) {
        ++report.dropped_blocks;
        clock->Drop();
        rounds = kept;
        continue;
      }
      report.disturbed = true;
    }
    clock->Keep();
    kept = rounds;
    bool narrow = true;
    for (size_t i = 0; i < contenders.size(); ++i) {
      narrow = narrow && IsNarrow(clock->Spans(i), options.ci_half_width);
    }
    if (narrow || late || rounds >= most) {
      if (auto done = Inspect(contenders, clock); !done) return tl::unexpected(done.error());
      return report;
    }
    // Looks cost a flush and a bootstrap: space them as the sample grows.
    next_look = std::min(most, rounds + std::max(5, rounds / 4));
  }
}

}  // namespace cudaagent::measure
