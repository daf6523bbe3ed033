// The proposers: a language model, a command of the user's, the built-in rules, and a recording of one.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cudaagent/llm_client.h"
#include "cudaagent/proposer.h"
#include "cudaagent/result.h"
#include "prompt/prompt.h"

namespace cudaagent::propose {

// Asks `client`. An answer without a usable candidate is a Proposal whose source is the answer.
// Three refusals or empty answers in a row are kLlm.
std::unique_ptr<Proposer> MakeLlmProposer(std::unique_ptr<LlmClient> client,
                                          prompt::Templates templates,
                                          prompt::PromptOptions options);

struct CommandConfig {
  std::string command;  // run by /bin/sh -c; prompt on stdin, answer on stdout
  double timeout_s = 600;
  size_t max_answer_bytes = size_t{8} << 20;
};

// The command inherits the environment and stderr is kept for messages only. Not exiting 0, a
// timeout and an answer over the cap are kLlm. An empty answer with exit 0 means there is nothing
// more to propose.
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

// Gives the recorded answers again, without a model, a command or a network. Strict: a prompt that is not
// the recorded one byte for byte, or an attempt beyond the recording, is kUsage and says where.
std::unique_ptr<Proposer> MakeReplayProposer(Recording recording, prompt::Templates templates,
                                             prompt::PromptOptions options);

}  // namespace cudaagent::propose
