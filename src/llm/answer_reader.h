// The body of a chat completion as its bytes come: a stream of events, or one JSON document from a
// server that does not stream. Private to this room.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cudaagent/llm_client.h"
#include "llm/chat_json.h"
#include "llm/sse.h"

namespace cudaagent::llm {

class AnswerReader {
 public:
  // `max_bytes` bounds a document, one event, and the text of a streamed answer.
  explicit AnswerReader(size_t max_bytes) : max_bytes_(max_bytes), sse_(max_bytes) {}

  // False: nothing that follows matters (the answer is whole, an error, or too large).
  bool Feed(std::string_view bytes);

  // Once the transfer ended, well or not: exactly one of the three is what became of it. An answer
  // that lacks its end is none.
  void Finish();
  std::optional<ChatReply> reply;
  std::optional<ApiError> error;
  std::string failure;    // in words, after "The LLM at HOST "
  bool transient = true;  // of `failure`: asking again may help

 private:
  enum class Form { kUnknown, kDocument, kEvents };

  bool TakeEvents(const std::vector<SseEvent>& events, bool whole);
  void FinishDocument();
  bool TooLarge();

  const size_t max_bytes_;
  Form form_ = Form::kUnknown;
  std::string document_;
  SseParser sse_;
  ChatReply partial_;
  bool began_ = false;  // a chunk came
  bool done_ = false;   // [DONE]
};

}  // namespace cudaagent::llm
