// An endpoint's event stream: wherever the bytes are cut, the events are the same.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "llm/sse.h"

namespace {

using cudaagent::llm::SseEvent;
using cudaagent::llm::SseParser;
constexpr size_t kMaxBytes = 512;

// `cut` seeds the lengths of the pieces; 0 = all at once.
std::vector<SseEvent> Parse(std::string_view text, uint32_t cut, bool* overflowed) {
  SseParser parser(kMaxBytes);
  std::vector<SseEvent> events;
  const bool at_once = cut == 0;
  while (!text.empty()) {
    cut = cut * 1664525 + 1013904223;
    const size_t length = at_once ? text.size() : 1 + (cut >> 24) % 7;
    for (SseEvent& event : parser.Feed(text.substr(0, length))) events.push_back(std::move(event));
    text.remove_prefix(std::min(length, text.size()));
  }
  for (SseEvent& event : parser.Finish()) events.push_back(std::move(event));
  *overflowed = parser.overflowed();
  return events;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cudaagent;
  const std::string_view text = fuzz::TextOf(data, size);
  bool whole_overflowed = false, cut_overflowed = false;
  const auto whole = Parse(text, 0, &whole_overflowed);
  const auto pieces = Parse(text, 1 + static_cast<uint32_t>(size), &cut_overflowed);
  fuzz::Require(whole_overflowed == cut_overflowed,
                "an overflow does not depend on where bytes are cut");
  fuzz::Require(whole.size() == pieces.size(),
                "the number of events does not depend on where bytes are cut");
  for (size_t i = 0; i < whole.size(); ++i) {
    fuzz::Require(whole[i].type == pieces[i].type && whole[i].data == pieces[i].data,
                  "events do not depend on where bytes are cut");
    fuzz::Require(whole[i].data.size() <= kMaxBytes, "an event respects the cap");
  }
  return 0;
}
