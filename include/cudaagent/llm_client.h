// The seam between a proposer and a language model behind HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "cudaagent/usage.h"

namespace cudaagent {

struct ChatMessage {
  std::string role;  // "system" | "user" | "assistant"
  std::string content;
};

struct ChatReply : Usage {
  std::string content;        // the answer, or the refusal; reasoning removed
  std::string reasoning;      // kept apart; code is never taken from it
  std::string refusal;        // the model's words where it refuses, empty else
  std::string finish_reason;  // "stop" | "length" | "content_filter" | "refusal" | the server's own
  std::string request_id;
};

// One call at a time.
class LlmClient {
 public:
  virtual ~LlmClient() = default;
  virtual std::string name() const = 0;  // provider/model, never a key
  // Blocks; retries what is worth retrying. The answer is whole, or was cut at its output limit and
  // says so. `max_output_tokens` 0 = as configured. An Error is final: kLlm, or kCancelled where a
  // signal asked to stop.
  virtual Result<ChatReply> Chat(const std::vector<ChatMessage>& messages,
                                 int64_t max_output_tokens) = 0;
};

}  // namespace cudaagent
