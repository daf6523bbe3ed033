#include "llm/sse.h"

namespace cudaagent::llm {

std::vector<SseEvent> SseParser::Feed(std::string_view bytes) {
  std::vector<SseEvent> events;
  while (!bytes.empty() && !overflowed_) {
    if (after_cr_) {  // the LF of a CRLF ends nothing more
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > max_bytes_) {
      overflowed_ = true;
      break;
    }
    line_ += piece;
    if (end == std::string_view::npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    TakeLine(&events);
  }
  return events;
}

std::vector<SseEvent> SseParser::Finish() {
  std::vector<SseEvent> events;
  if (overflowed_) return events;
  if (!line_.empty()) TakeLine(&events);
  Dispatch(&events);
  return events;
}

void SseParser::TakeLine(std::vector<SseEvent>* events) {
  std::string_view line = line_;
  if (first_line_ && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  first_line_ = false;
  if (line.empty()) {
    Dispatch(events);
  } else if (line.front() != ':') {
    const size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "event") event_.type = value;
    if (field == "data") {
      if (has_data_) event_.data += '\n';
      event_.data += value;
      has_data_ = true;
      overflowed_ = event_.data.size() > max_bytes_;
    }
  }
  line_.clear();
}

void SseParser::Dispatch(std::vector<SseEvent>* events) {
  if (has_data_ && !overflowed_) events->push_back(std::move(event_));
  event_ = {};
  has_data_ = false;
}

}  // namespace cudaagent::llm
