// Server-sent events (WHATWG HTML, "Parsing an event stream"): bytes in, events out. Private to
// this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::llm {

struct SseEvent {
  std::string type;  // of the "event:" line, usually empty
  std::string data;  // the "data:" lines, joined by newlines
};

// Bytes may be cut anywhere: inside a line end, a UTF-8 character, a field's name. Lines end in LF,
// CRLF or CR; comments and fields other than event and data are skipped.
class SseParser {
 public:
  // Lines and events of more than `max_bytes` are an overflow.
  explicit SseParser(size_t max_bytes) : max_bytes_(max_bytes) {}

  // The events that `bytes` complete.
  std::vector<SseEvent> Feed(std::string_view bytes);
  // The event that the end of the stream completes: some servers omit the last blank line.
  std::vector<SseEvent> Finish();
  // More than the cap was sent in one line or event; nothing is read any more.
  bool overflowed() const { return overflowed_; }

 private:
  void TakeLine(std::vector<SseEvent>* events);
  void Dispatch(std::vector<SseEvent>* events);

  size_t max_bytes_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool first_line_ = true;
  bool overflowed_ = false;
};

}  // namespace cudaagent::llm
