#include "cli/proposers.h"

#include "cli/duration.h"
#include "cli/flags.h"
#include "cli/recording.h"
#include "cli/signals.h"
#include "llm/openai.h"
#include "prompt/prompt.h"
#include "propose/proposers.h"

namespace cudaagent::cli {
namespace {

ChosenProposer BuiltinFirst(const ProposerFlags& flags, ChosenProposer chosen) {
  if (flags.no_builtin) return chosen;
  chosen.proposer = propose::MakeBuiltinFirst(std::move(chosen.proposer));
  chosen.builtin_first = true;
  return chosen;
}

Result<ChosenProposer> MakeLlm(const ProposerFlags& flags, prompt::Templates templates) {
  llm::LlmConfig config;
  config.model = flags.model;
  if (!flags.base_url.empty()) config.base_url = flags.base_url;
  config.api_key_env = flags.api_key_env;
  config.idle_timeout_s = flags.timeout_llm_s;
  auto give_up = ParseDuration(flags.llm_give_up);
  if (!give_up) return tl::unexpected(give_up.error());
  config.retry.give_up_s = *give_up;
  config.temperature = flags.temperature;
  config.max_output_tokens = flags.max_output_tokens;
  config.stop_requested = [] { return StopSignal() != 0; };
  auto client = llm::MakeOpenAiClient(std::move(config));
  if (!client) return tl::unexpected(client.error());
  ChosenProposer chosen;
  chosen.why = "llm (" + (*client)->name() + ")";
  propose::LlmOptions options;
  options.max_output_tokens = flags.max_output_tokens;
  chosen.proposer = propose::MakeLlmProposer(std::move(*client), options, std::move(templates), {});
  return BuiltinFirst(flags, std::move(chosen));
}

Result<ChosenProposer> MakeReplay(const ProposerFlags& flags, prompt::Templates templates) {
  if (flags.replay.empty()) return Fail(ErrorCode::kUsage, "--proposer replay needs --replay RUN.");
  auto recording = ReadRecording(flags.replay);
  if (!recording) return tl::unexpected(recording.error());
  ChosenProposer chosen;
  chosen.why = "replay (" + std::to_string(recording->proposals.size()) + " answers of " +
               flags.replay + ")";
  chosen.proposer = propose::MakeReplayProposer(std::move(*recording), std::move(templates), {});
  return chosen;
}

}  // namespace

void AddProposerFlags(CLI::App& command, ProposerFlags& flags) {
  GroupFlags(command, "The command");
  command
      .add_option("--proposer", flags.proposer,
                  "builtin (rules, offline), llm, command or replay; default: llm where a model is "
                  "configured, command or replay where one is given, else builtin")
      ->envname("CUDAAGENT_PROPOSER")
      ->check(CLI::IsMember({"builtin", "llm", "command", "replay"}));
  command.add_option("-m,--model", flags.model, "The language model to ask")
      ->envname("CUDAAGENT_MODEL");
  command
      .add_option("--base-url", flags.base_url,
                  "An OpenAI-compatible endpoint up to /v1; a host other than OpenAI's or loopback "
                  "gets a key only with --api-key-env")
      ->envname("OPENAI_BASE_URL");
  command
      .add_option("--api-key-env", flags.api_key_env,
                  "The environment variable that holds the key (default OPENAI_API_KEY)")
      ->envname("CUDAAGENT_API_KEY_ENV");
  command
      .add_option("--command", flags.command,
                  "A shell command that proposes: prompt on stdin, answer on stdout")
      ->envname("CUDAAGENT_COMMAND");
  command
      .add_option(
          "--replay", flags.replay,
          "A run whose recorded answers are given again; a prompt that is not the recorded one "
          "is an error")
      ->envname("CUDAAGENT_REPLAY");
  command
      .add_option("--prompts", flags.prompts, "A folder whose files replace the built-in prompts")
      ->type_name("PATH")
      ->envname("CUDAAGENT_PROMPTS");
  command
      .add_option("--timeout-llm", flags.timeout_llm_s,
                  "Seconds without a byte of an answer; for --command, of its whole run")
      ->envname("CUDAAGENT_TIMEOUT_LLM")
      ->check(Within(1.0, 7200.0))
      ->capture_default_str();
  command
      .add_option(
          "--llm-give-up", flags.llm_give_up,
          "End the run, exit 3, where the LLM's endpoint has failed for this long: 90s, 10m, 2h")
      ->envname("CUDAAGENT_LLM_GIVE_UP")
      ->capture_default_str();
  command.add_flag("--no-builtin", flags.no_builtin,
                   "Ask the LLM from the first attempt on; else attempt 1 is the built-in rules' "
                   "first candidate");
  command
      .add_option("--temperature", flags.temperature,
                  "Sampling temperature; default: the server's own")
      ->envname("CUDAAGENT_TEMPERATURE")
      ->check(Within(0.0, 2.0));
  command
      .add_option(
          "--max-output-tokens", flags.max_output_tokens,
          "Tokens of one answer, reasoning included, doubled once where reasoning used them up; "
          "0 = the server's own")
      ->envname("CUDAAGENT_MAX_OUTPUT_TOKENS")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 24))
      ->capture_default_str();
  GroupFlags(command, "The proposer");
}

Result<ChosenProposer> MakeProposer(const ProposerFlags& flags) {
  auto templates = prompt::Templates::Load(flags.prompts);
  if (!templates) return tl::unexpected(templates.error());
  if (flags.proposer == "replay" || (flags.proposer.empty() && !flags.replay.empty())) {
    return MakeReplay(flags, std::move(*templates));
  }
  if (flags.proposer == "llm" || (flags.proposer.empty() && !flags.model.empty())) {
    return MakeLlm(flags, std::move(*templates));
  }
  ChosenProposer chosen;
  if (flags.proposer == "command" || (flags.proposer.empty() && !flags.command.empty())) {
    if (flags.command.empty()) {
      return Fail(ErrorCode::kUsage, "--proposer command needs --command \"PROGRAM ARGS\".");
    }
    propose::CommandConfig config;
    config.command = flags.command;
    config.timeout_s = flags.timeout_llm_s;
    config.stop_requested = [] { return StopSignal() != 0; };
    chosen.proposer = propose::MakeCommandProposer(std::move(config), std::move(*templates), {});
    chosen.why = "command (" + flags.command + ")";
    return chosen;
  }
  chosen.proposer = propose::MakeBuiltinProposer();
  chosen.why = flags.proposer.empty()
                   ? "builtin, the offline rules (no model is configured: --model asks an LLM)"
                   : "builtin, the offline rules";
  return chosen;
}

Result<ChosenProposer> MakeDryProposer(const ProposerFlags& flags,
                                       std::function<void(const prompt::Prompt&)> show) {
  auto templates = prompt::Templates::Load(flags.prompts);
  if (!templates) return tl::unexpected(templates.error());
  ChosenProposer chosen;
  chosen.why = "nobody (--dry-run)";
  chosen.proposer = propose::MakePromptShower(std::move(show), std::move(*templates), {});
  return BuiltinFirst(flags, std::move(chosen));
}

}  // namespace cudaagent::cli
