// The JSON of chat completions: what is sent, what comes back. Private to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudaagent/llm_client.h"

namespace cudaagent::llm {

// How the output limit is called by the server at hand.
enum class LimitField { kMaxCompletionTokens, kMaxTokens, kNone };
std::string_view ToString(LimitField field);

// What a server has turned out to accept.
struct Dialect {
  LimitField limit = LimitField::kMaxCompletionTokens;
  bool temperature = true;
  bool stream = true;
  bool stream_options = true;  // asks for the usage at the end of a stream
};

std::string RequestBody(const std::string& model, const std::vector<ChatMessage>& messages,
                        int64_t max_output_tokens, double temperature, const Dialect& dialect);

// An error as the provider words it, whatever its shape.
struct ApiError {
  int64_t status = 0;  // of the body, where it states one
  std::string code;    // or its type
  std::string param;
  std::string message;     // may quote anything
  bool exhausted = false;  // quota or spending limit: waiting does not help
};
// nullopt: the body holds no error.
std::optional<ApiError> ParseApiError(std::string_view body);

// nullopt: the body is no answer. Reasoning is taken out of the content.
std::optional<ChatReply> ParseReply(std::string_view body);

// Adds one chunk of a streamed answer to `reply`. Reasoning within the content stays there; see
// SplitReasoning. False: this is no chunk.
bool AddChunk(std::string_view data, ChatReply* reply);

// Makes a refusal one, and "length" of every word for it, once an answer is whole.
void Settle(ChatReply* reply);

// Moves <think>...</think> from `content` to `reasoning`. A block that never closes is all
// reasoning; a closing tag without an opening one makes all before it reasoning.
void SplitReasoning(std::string* content, std::string* reasoning);

}  // namespace cudaagent::llm
