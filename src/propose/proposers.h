// The proposers: a language model, a command of the user's, the built-in rules, a recording of one;
// and what is put before or in place of one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cudaagent/llm_client.h"
#include "cudaagent/proposer.h"
#include "cudaagent/result.h"
#include "prompt/prompt.h"

namespace cudaagent::propose {

struct LlmOptions {
  int64_t max_output_tokens = 32768;  // of one answer, reasoning included; 0 = the server's own
};

// Asks `client`. An answer that was cut at its output limit is continued once, or asked for once
// more with twice the limit where reasoning used all of it; half a file is never a candidate. A
// refusal, an answer cut off twice and an answer without text are proposals with a fault; an answer
// without a usable file is one whose source is the answer. Three refusals or empty answers in a row
// are kLlm. Usage that the server does not tell is estimated.
std::unique_ptr<Proposer> MakeLlmProposer(std::unique_ptr<LlmClient> client, LlmOptions llm,
                                          prompt::Templates templates,
                                          prompt::PromptOptions options);

struct CommandConfig {
  std::string command;  // run by /bin/sh -c; prompt on stdin, answer on stdout
  double timeout_s = 600;
  size_t max_answer_bytes = size_t{8} << 20;
  std::function<bool()> stop_requested;  // asked while it runs; may be empty
};

// The command inherits the environment and stderr is kept for messages only. Not exiting 0, a
// timeout and an answer over the cap are kLlm, being told to stop is kCancelled. An empty answer
// with exit 0 means there is nothing more to propose.
std::unique_ptr<Proposer> MakeCommandProposer(CommandConfig config, prompt::Templates templates,
                                              prompt::PromptOptions options);

// The rewrite rules' candidates in order of promise, those already in the history left out, then
// nothing more. Nothing at all where the model could not be exported.
std::unique_ptr<Proposer> MakeBuiltinProposer();

// What was asked and answered in a run, by the number of the attempt.
struct Recording {
  std::map<int, Proposal> proposals;
  bool exhausted = false;  // its proposer ended the run: it had nothing more to propose
};

// Gives the recorded answers again, without a model, a command or a network. Strict: a prompt that
// is not the recorded one byte for byte, or an attempt beyond the recording, is kUsage and says
// where.
std::unique_ptr<Proposer> MakeReplayProposer(Recording recording, prompt::Templates templates,
                                             prompt::PromptOptions options);
// The built-in rules' first candidate, unless the history holds one, then `next` alone, whose name
// it has. Rules that fail or have nothing to say are passed over.
std::unique_ptr<Proposer> MakeBuiltinFirst(std::unique_ptr<Proposer> next);

// Builds the prompt that a model would get, hands it to `show`, and proposes nothing.
std::unique_ptr<Proposer> MakePromptShower(std::function<void(const prompt::Prompt&)> show,
                                           prompt::Templates templates,
                                           prompt::PromptOptions options);

}  // namespace cudaagent::propose
