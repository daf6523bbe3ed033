#include "cli/search_flags.h"

#include <random>

#include "cli/duration.h"
#include "cli/flags.h"

namespace cudaagent::cli {

void AddSearchFlags(CLI::App& command, SearchFlags& flags) {
  GroupFlags(command, "The command");
  command.add_option("-n,--attempts", flags.limits.attempts, "Proposals to evaluate for a problem")
      ->envname("CUDAAGENT_ATTEMPTS")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--patience", flags.limits.patience,
                  "Stop after this many without a new best; 0 = never")
      ->envname("CUDAAGENT_PATIENCE")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--target-speedup", flags.target_speedup,
                  "Stop at this speedup over the deciding baseline; optimize: exit 7 where it is "
                  "not reached")
      ->envname("CUDAAGENT_TARGET_SPEEDUP")
      ->check(Within(0.001, 1e6));
  command
      .add_option("--sol-target", flags.limits.sol_target,
                  "Stop once the best reaches this share of the speed of light: nothing is left; "
                  "0 = never")
      ->envname("CUDAAGENT_SOL_TARGET")
      ->check(Within(0.0, 10.0))
      ->capture_default_str();
  command
      .add_option("--max-time", flags.max_time,
                  "Start no proposal after this: 90s, 10m, 2h; a resumed run's earlier time counts")
      ->envname("CUDAAGENT_MAX_TIME");
  command
      .add_option("--max-tokens-total", flags.max_tokens_total,
                  "Tokens that all questions and answers of a run may have; no call may exceed "
                  "what is left")
      ->envname("CUDAAGENT_MAX_TOKENS_TOTAL")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command
      .add_flag("--no-confirm", flags.no_confirm,
                "Call the best kernel best without judging it again in a fresh worker")
      ->envname("CUDAAGENT_NO_CONFIRM");
  command
      .add_flag("--no-tune", flags.no_tune, "Judge candidates at their default tune values only")
      ->envname("CUDAAGENT_NO_TUNE");
  GroupFlags(command, "The search");
}

uint64_t FreshSeed() {
  std::random_device random;
  return (uint64_t{random()} << 32 | random()) | 1;
}

Result<search::Limits> ToLimits(const SearchFlags& flags) {
  search::Limits limits = flags.limits;
  limits.confirm = !flags.no_confirm;
  if (flags.max_tokens_total > 0) limits.max_tokens = flags.max_tokens_total;
  if (flags.target_speedup > 0) limits.target_speedup = flags.target_speedup;
  if (flags.max_time.empty()) return limits;
  auto seconds = ParseDuration(flags.max_time);
  if (!seconds) return tl::unexpected(seconds.error());
  limits.max_seconds = *seconds;
  return limits;
}

}  // namespace cudaagent::cli
