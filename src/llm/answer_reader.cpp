#include "llm/answer_reader.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "util/text.h"

namespace cudaagent::llm {

bool AnswerReader::Feed(std::string_view bytes) {
  if (form_ == Form::kUnknown) {
    // Told by the first character: content types are not always true, and some servers keep a
    // connection alive with blank lines before a document.
    const size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return true;
    bytes.remove_prefix(first);
    const bool document = bytes.front() == '{' || bytes.front() == '[' || bytes.front() == '<';
    form_ = document ? Form::kDocument : Form::kEvents;
  }
  if (form_ == Form::kDocument) {
    if (document_.size() + bytes.size() > max_bytes_) return TooLarge();
    document_ += bytes;
    return true;
  }
  if (!TakeEvents(sse_.Feed(bytes), /*whole=*/true)) return false;
  return sse_.overflowed() ? TooLarge() : true;
}

bool AnswerReader::TakeEvents(const std::vector<SseEvent>& events, bool whole) {
  for (const SseEvent& event : events) {
    if (util::Trim(event.data) == "[DONE]") {
      done_ = true;
      return false;
    }
    error = ParseApiError(event.data);
    if (!error && event.type == "error") {
      error.emplace();
      error->message = event.data;
    }
    if (error) return false;
    // What is no chunk is one of the extras that servers invent. One that is no JSON may be a lost
    // piece of the answer, which is then no answer; at the end it is one that was cut off.
    if (AddChunk(event.data, &partial_)) {
      began_ = true;
    } else if (whole && util::Trim(event.data).starts_with('{') &&
               !nlohmann::json::accept(event.data)) {
      failure = "sent a piece of its answer that is not JSON";
      return false;
    }
    if (partial_.content.size() + partial_.reasoning.size() > max_bytes_) return TooLarge();
  }
  return true;
}

void AnswerReader::Finish() {
  if (error || !failure.empty()) return;
  if (form_ == Form::kDocument) return FinishDocument();
  if (!done_) TakeEvents(sse_.Finish(), /*whole=*/false);
  if (error || !failure.empty()) return;
  if (began_ && (done_ || !partial_.finish_reason.empty())) {
    Settle(&partial_);
    reply = std::move(partial_);
  } else {
    failure = began_ ? "broke off its answer" : "answered with no answer in it";
  }
}

void AnswerReader::FinishDocument() {
  reply = ParseReply(document_);
  if (!reply) error = ParseApiError(document_);
  if (!reply && !error) failure = "answered with no answer in it";
}

bool AnswerReader::TooLarge() {
  failure =
      "gave an answer that is larger than " + util::FormatBytes(static_cast<int64_t>(max_bytes_));
  transient = false;
  return false;
}

}  // namespace cudaagent::llm
