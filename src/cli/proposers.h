// Which proposer a run uses, and why.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cudaagent/proposer.h"
#include "cudaagent/result.h"

namespace cudaagent::cli {

struct ProposerFlags {
  std::string proposer;            // "" = decide; builtin | llm | command | replay
  std::string model;               // the LLM's name
  std::string base_url;            // "" = OpenAI's
  std::string api_key_env;         // "" = OPENAI_API_KEY, for the default host and loopback alone
  std::string command;             // a shell command line: prompt on stdin, answer on stdout
  std::string replay;              // the folder of the run whose answers are given again
  std::string prompts;             // folder whose files replace the built-in prompts
  double timeout_llm_s = 600;
  double temperature = -1;         // below 0 = the server's own
  int64_t max_output_tokens = 32768;
};

void AddProposerFlags(CLI::App& command, ProposerFlags& flags);

struct ChosenProposer {
  std::unique_ptr<Proposer> proposer;
  std::string why;  // for a person: "builtin (no model is configured: ...)"
};

// An LLM's key leaves the environment here. kUsage where flags contradict or something is missing.
Result<ChosenProposer> MakeProposer(const ProposerFlags& flags);

}  // namespace cudaagent::cli
