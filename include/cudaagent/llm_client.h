// The seam between a proposer and a language model behind HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cudaagent/result.h"

namespace cudaagent {

struct ChatMessage {
  std::string role;  // "system" | "user" | "assistant"
  std::string content;
};

struct ChatReply {
  std::string content;        // the answer, reasoning removed
  std::string reasoning;      // kept apart; code is never taken from it
  std::string finish_reason;  // "stop" | "length" | "content_filter" | "refusal"
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  std::string request_id;
};

class LlmClient {
 public:
  virtual ~LlmClient() = default;
  virtual std::string name() const = 0;  // provider/model, never a key
  // Blocks; retries what is worth retrying. An Error (kLlm) is final.
  virtual Result<ChatReply> Chat(const std::vector<ChatMessage>& messages) = 0;
};

}  // namespace cudaagent
