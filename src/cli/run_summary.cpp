#include "cli/run_summary.h"

#include "cli/app.h"
#include "cli/signals.h"
#include "protocol/evaluation_json.h"
#include "report/evaluation_text.h"
#include "reward/reward.h"

namespace cudaagent::cli {
namespace {

// How sure the best is.
std::string Standing(const Attempt& best) {
  if (best.confirmation) {
    return "confirmed in a fresh worker, with new inputs" +
           std::string(best.confirmation->speedup_compile ? ", by turns with torch.compile\n"
                                                          : "\n");
  }
  return best.evaluation.estimated ? "" : "not confirmed in a fresh worker\n";
}

}  // namespace

const Attempt* Quarantined(const search::Outcome& outcome) {
  const Attempt* best = outcome.best < 0 ? nullptr : &outcome.attempts[outcome.best];
  const auto time = [](const Attempt& attempt) {
    const auto& timing = attempt.judgement().candidate;
    return timing ? std::optional(timing->median_ms) : std::nullopt;
  };
  const Attempt* caught = nullptr;
  for (const Attempt& attempt : outcome.attempts) {
    if (attempt.judgement().verdict != Verdict::kSuspectedHack) continue;
    const bool faster =
        best == nullptr || (time(attempt) && time(*best) && *time(attempt) < *time(*best));
    if (!faster) continue;
    if (caught == nullptr ||
        (time(attempt) && (!time(*caught) || *time(attempt) < *time(*caught)))) {
      caught = &attempt;
    }
  }
  return caught;
}

nlohmann::json SummaryJson(const search::Outcome& outcome, const std::string& folder,
                           const std::vector<AlsoResult>& also) {
  nlohmann::json attempts = nlohmann::json::array();
  Usage usage;
  for (const Attempt& attempt : outcome.attempts) {
    nlohmann::json row = {{"attempt", attempt.number},
                          {"origin", attempt.candidate.origin},
                          {"verdict", std::string(ToString(attempt.evaluation.verdict))}};
    if (attempt.evaluation.candidate) row["median_ms"] = attempt.evaluation.candidate->median_ms;
    if (attempt.evaluation.reward) row["reward"] = *attempt.evaluation.reward;
    if (attempt.confirmation) {
      row["confirmation"] = {{"verdict", std::string(ToString(attempt.confirmation->verdict))},
                             {"message", attempt.confirmation->message}};
    }
    if (attempt.usage.total_tokens() > 0) row["usage"] = protocol::ToJson(attempt.usage);
    usage += attempt.usage;
    attempts.push_back(std::move(row));
  }
  nlohmann::json json = {{"schema", 1},
                         {"folder", folder},
                         {"stopped", search::ToString(outcome.reason)},
                         {"attempts", std::move(attempts)}};
  if (usage.total_tokens() > 0) json["usage"] = protocol::ToJson(usage);
  if (outcome.error) json["error"] = {{"message", outcome.error->message}};
  if (const Attempt* caught = Quarantined(outcome)) json["quarantined"] = caught->number;
  if (outcome.best >= 0) {
    const Attempt& best = outcome.attempts[outcome.best];
    json["best"] = {{"attempt", outcome.best},
                    {"kernel", folder + "/best/kernel.cu"},
                    {"confirmed", best.confirmation.has_value()},
                    {"evaluation", protocol::ToJson(best.judgement())}};
    if (!also.empty()) json["best"]["also"] = AlsoJson(also);
  }
  return json;
}

std::string SummaryText(const search::Outcome& outcome, const std::string& folder,
                        const std::vector<AlsoResult>& also) {
  const size_t count = outcome.attempts.size();
  std::string text =
      std::to_string(count) + (count == 1 ? " attempt" : " attempts, the baseline among them") +
      "; stopped: " + (outcome.error ? "by an error" : search::ToString(outcome.reason)) + "\n";
  if (const Attempt* caught = Quarantined(outcome)) {
    text += "quarantined: attempt " + std::to_string(caught->number) +
            " would be the fastest, and is suspected of a hack: " + caught->judgement().message +
            "\n";
  }
  if (outcome.best < 0)
    return text + "no correct candidate; every attempt is in " + folder + "/attempts\n";
  const Attempt& best = outcome.attempts[outcome.best];
  text += "best kernel: " + folder + "/best/kernel.cu (attempt " + std::to_string(best.number) +
          ", " + best.candidate.origin + ")\n";
  const Evaluation& judgement = best.judgement();
  text += Standing(best);
  const auto speedup = reward::DecidingSpeedup(judgement);
  if (speedup && speedup->value <= 1 && !judgement.estimated) {
    text += "nothing was faster than " + judgement.protocol.baseline +
            ": this is the best of what is correct, no gain\n";
  }
  if (speedup && speedup->value <= 1 && judgement.estimated) {
    text +=
        "estimates of kernels and of operators do not compare: what has kernels of its own goes "
        "first, and a GPU decides\n";
  }
  return text + report::EvaluationText(judgement) + AlsoText(also);
}

int ExitCodeOfOutcome(const search::Outcome& outcome, const search::Limits& limits) {
  if (outcome.error) return ExitCodeOf(outcome.error->code);
  if (outcome.reason == search::StopReason::kInterrupted) return 128 + StopSignal();
  if (Quarantined(outcome) != nullptr) return kExitQuarantined;
  if (outcome.best < 0) return kExitNoCorrectCandidate;
  const bool missed = limits.target_speedup && outcome.reason != search::StopReason::kTarget;
  return missed ? kExitBudget : kExitOk;
}

}  // namespace cudaagent::cli
