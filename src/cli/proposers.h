// Which proposer a run uses, and why.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "cudaagent/proposer.h"
#include "cudaagent/result.h"
#include "prompt/prompt.h"

namespace cudaagent::cli {

struct ProposerFlags {
  std::string proposer;            // "" = decide; builtin | llm | command | replay
  std::string model;               // the LLM's name
  std::string base_url;            // "" = OpenAI's
  std::string api_key_env;         // "" = OPENAI_API_KEY, for the default host and loopback alone
  std::string command;             // a shell command line: prompt on stdin, answer on stdout
  std::string replay;              // the folder of the run whose answers are given again
  std::string prompts;             // folder whose files replace the built-in prompts
  double timeout_llm_s = 600;      // without a byte; of a command, for its whole answer
  std::string llm_give_up = "5m";  // after an endpoint's first failure in a row
  bool no_builtin = false;         // an LLM is asked from the first attempt on
  double temperature = -1;         // below 0 = the server's own
  int64_t max_output_tokens = 32768;
};

void AddProposerFlags(CLI::App& command, ProposerFlags& flags);

struct ChosenProposer {
  std::unique_ptr<Proposer> proposer;
  std::string why;             // for a person: "builtin (no model is configured: ...)"
  bool builtin_first = false;  // attempt 1 is the built-in rules'
};

// An LLM's key leaves the environment here. kUsage where flags contradict or something is missing.
Result<ChosenProposer> MakeProposer(const ProposerFlags& flags);

// For --dry-run: asks nobody and needs no key. `show` gets the prompt that a model's first question
// would be.
Result<ChosenProposer> MakeDryProposer(const ProposerFlags& flags,
                                       std::function<void(const prompt::Prompt&)> show);

}  // namespace cudaagent::cli
