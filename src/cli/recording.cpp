#include "cli/recording.h"

#include <algorithm>

#include "store/run_list.h"

namespace cudaagent::cli {

Result<propose::Recording> ReadRecording(const std::string& folder) {
  auto run = store::ReadRun(folder);
  if (!run) return tl::unexpected(run.error());
  propose::Recording recording;
  for (store::StoredAttempt& each : run->attempts) {
    if (!each.proposal) continue;
    if (!each.proposal->prompt.empty() && each.attempt.evaluation.device.kind == "gpu") {
      return Fail(ErrorCode::kUsage,
                  "The run in " + folder +
                      " was measured on a GPU: its prompts hold measured times, which no "
                      "replay gives again. Replay a run of --device cpu.");
    }
    recording.proposals.emplace(each.attempt.number, std::move(*each.proposal));
  }
  recording.exhausted = run->stopped == search::ToString(search::StopReason::kExhausted);
  return recording;
}

Result<void> CompareWithRecording(const std::string& folder, const search::Outcome& outcome) {
  auto recorded = store::ReadRun(folder);
  if (!recorded) return tl::unexpected(recorded.error());
  const size_t common = std::min(outcome.attempts.size(), recorded->attempts.size());
  int best = -1;
  bool estimated = true;
  for (size_t i = 0; i < common; ++i) {
    const Attempt& now = outcome.attempts[i];
    const Attempt& before = recorded->attempts[i].attempt;
    const std::string what = "Replay: attempt " + std::to_string(i);
    if (now.candidate.source != before.candidate.source) {
      return Fail(ErrorCode::kUsage, what + " gave another candidate than the recorded one.");
    }
    if (now.evaluation.verdict != before.evaluation.verdict) {
      return Fail(ErrorCode::kUsage, what + " is " + std::string(ToString(now.evaluation.verdict)) +
                                         ", recorded is " +
                                         std::string(ToString(before.evaluation.verdict)) + ".");
    }
    if (recorded->attempts[i].new_best) best = before.number;
    if (now.evaluation.verdict == Verdict::kOk && !now.evaluation.estimated) estimated = false;
  }
  // Measured times differ from day to day, and with them the best of near equals.
  if (estimated && common == outcome.attempts.size() && best != outcome.best) {
    return Fail(ErrorCode::kUsage, "Replay: the best is attempt " + std::to_string(outcome.best) +
                                       ", recorded is " + std::to_string(best) + ".");
  }
  return {};
}

}  // namespace cudaagent::cli
