// The loop: one chain of attempts, each proposed from all that came before it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cudaagent/attempt.h"
#include "cudaagent/evaluator.h"
#include "cudaagent/proposer.h"
#include "cudaagent/result.h"
#include "cudaagent/store.h"

namespace cudaagent::search {

struct Limits {
  int attempts = 10;  // proposals; 0 = only the init baseline
  int patience = 0;   // stop after this many in a row without a new best; 0 = never
  std::optional<double> target_speedup;  // over the deciding baseline, its interval's lower end
  std::optional<double> max_seconds;     // over all sittings; checked before each proposal
  std::optional<int64_t> max_tokens;     // of all calls of a language model; binds before a call
  double sol_target =
      0.95;             // stop once the best reaches this share of the speed of light; 0 = never
  bool confirm = true;  // measured bests are judged again in a fresh worker
};

enum class StopReason {
  kSpeedOfLight,
  kAttempts,
  kPatience,
  kTarget,
  kTime,
  kTokens,
  kExhausted,
  kInterrupted
};
std::string ToString(StopReason reason);
// The reason of these words, as ToString gives them.
std::optional<StopReason> StopReasonOf(const std::string& words);

// Where a run starts: at its baseline or, resumed, after all that was done before.
struct Start {
  std::optional<Candidate> init;  // attempt 0; none where the model could not be exported
  std::vector<Attempt> history;   // attempts of earlier sittings, 0 first; they are not done again
  double elapsed_s = 0;           // of earlier sittings
};

// What the loop tells whoever watches, and what it asks. All are called on the loop's thread.
struct Observer {
  std::function<void(int number, const std::string& proposer)> on_propose;
  std::function<void(const Attempt& attempt, bool new_best)> on_attempt;
  std::function<void(const Attempt& attempt)> on_confirm;       // about to be confirmed
  std::function<void(const Attempt& attempt)> on_confirmed;     // or refuted
  std::function<std::string(const Attempt& attempt)> feedback;  // text for the next proposal
  std::function<bool()> stop_requested;                         // a person pressed Ctrl-C
};

struct Outcome {
  std::vector<Attempt> attempts;  // in order; [0] is the init baseline where there is one
  int best = -1;                  // index of the best correct attempt, -1 = none
  StopReason reason = StopReason::kAttempts;
  std::optional<Error> error;  // what ended the run early; attempts so far are stored
  double elapsed_s = 0;        // over all sittings
};

// True where `a` is a better kernel than `b`: correct before incorrect, then by the deciding
// speedup, then by time. Speedups are used because they are drift corrected; times where there is
// no baseline. Among estimates, a candidate with kernels of its own comes before one without: an
// ATen op is costed by its roofline, a kernel by what it was counted doing, so the two do not
// compare.
bool Better(const Evaluation& a, const Evaluation& b);

// Evaluates the baseline as attempt 0 unless the history holds it, then proposes and evaluates
// until a limit is reached, then confirms the best. Every attempt is stored before the next begins.
// Resumed from any prefix of a run's attempts it does what the whole run would have done.
Outcome Refine(const ProblemSpec& spec, const Start& start, Evaluator& evaluator,
               Proposer& proposer, Store& store, const Limits& limits, const Observer& observer);

}  // namespace cudaagent::search
