// Problem and history -> the messages sent to a language model. Templates are configs/prompts/*.md
// with {{name}} for what is filled in; the program carries them, a folder may override them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cudaagent/attempt.h"
#include "cudaagent/proposer.h"
#include "cudaagent/result.h"

namespace cudaagent::prompt {

// Template texts by file name ("system.md").
class Templates {
 public:
  // What the program was built with; files of the same names in `folder` (if not empty) win. kUsage
  // where the folder or a file in it cannot be read, or names what there is not.
  static Result<Templates> Load(const std::string& folder);
  const std::string& Text(const std::string& name) const;
  // SHA-256 of all texts: which prompt an attempt was made with.
  std::string Hash() const;

 private:
  std::map<std::string, std::string> texts_;
};

// Puts values in for {{name}}, once each or more often. Values are not searched again. {{-name}}
// leaves a value out on purpose. kUsage names an unknown name, one that `text` does not use, or an
// unclosed
// "{{".
Result<std::string> Fill(std::string_view text, const std::map<std::string, std::string>& values);

struct Prompt {
  std::string system;
  std::string user;
  std::string Text() const {
    return system + "\n" + user;
  }  // as one text, for commands and records
};

// Tokens of a text, roughly: one for four bytes. Tokenizers differ by model, and no vocabulary is
// carried for an estimate.
int64_t EstimateTokens(std::string_view text);

struct PromptOptions {
  int shown_attempts = 8;           // lines of history: the first, the best and the latest
  size_t max_source_bytes = 65536;  // of one file shown
};

Result<Prompt> BuildPrompt(const Templates& templates, const ProposalContext& context,
                           const PromptOptions& options);

}  // namespace cudaagent::prompt
