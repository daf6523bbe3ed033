// The candidate in an LLM's answer.
#include <optional>
#include <vector>

#include "candidate/plan.h"
#include "candidate/plan_text.h"
#include "candidate/spelling.h"

namespace cudaagent::candidate {
namespace {

// A line of three or more backticks or tildes, indented by at most three spaces.
struct Fence {
  char mark = 0;
  size_t length = 0;
  bool bare = false;  // nothing follows, so it may close a block
};

std::optional<Fence> ReadFence(std::string_view line) {
  size_t at = 0;
  while (at < line.size() && at < 3 && line[at] == ' ') ++at;
  if (at >= line.size() || (line[at] != '`' && line[at] != '~')) return std::nullopt;
  Fence fence{line[at], 0, false};
  while (at < line.size() && line[at] == fence.mark) ++at, ++fence.length;
  if (fence.length < 3) return std::nullopt;
  std::string_view info = line.substr(at);
  if (fence.mark == '`' && info.find('`') != std::string_view::npos) return std::nullopt;
  fence.bare = info.find_first_not_of(" \t\r\n") == std::string_view::npos;
  return fence;
}

struct Block {
  std::string_view text;
  bool closed = false;
};

std::vector<Block> FencedBlocks(std::string_view answer) {
  std::vector<Block> blocks;
  std::optional<Fence> open;
  size_t begin = 0;
  for (size_t at = 0; at < answer.size();) {
    size_t newline = answer.find('\n', at);
    const size_t next = newline == std::string_view::npos ? answer.size() : newline + 1;
    const auto fence = ReadFence(answer.substr(at, next - at));
    if (fence && !open) {
      open = fence;
      begin = next;
    } else if (fence && open && fence->bare && fence->mark == open->mark &&
               fence->length >= open->length) {
      blocks.push_back({answer.substr(begin, at - begin), true});
      open.reset();
    }
    at = next;
  }
  if (open) blocks.push_back({answer.substr(std::min(begin, answer.size())), false});
  return blocks;
}

bool HoldsPlan(std::string_view text) { return FindPlanMarker(text, 0) != std::string_view::npos; }

}  // namespace

Checked<std::string> ExtractCandidate(std::string_view answer) {
  size_t start = 0;
  while (start < answer.size() && IsSpace(answer[start])) ++start;
  if (FindPlanMarker(answer, start) == start && start < answer.size()) {
    return std::string(answer.substr(start));
  }
  const std::vector<Block> blocks = FencedBlocks(answer);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (!HoldsPlan(block->text)) continue;
    if (!block->closed) {
      return Blame(
          Verdict::kBadCandidate,
          "the code block with the plan is not closed, so the answer was cut off; send the "
          "whole file in one ```cuda block");
    }
    return std::string(block->text);
  }
  if (HoldsPlan(answer)) {
    return Blame(
        Verdict::kBadCandidate,
        "the answer's plan stands outside a code block; send the whole file, plan first, in "
        "one ```cuda block");
  }
  if (blocks.empty()) {
    return Blame(Verdict::kBadCandidate,
                 "the answer has no code block; send the whole file, starting with the /*cudaagent "
                 "plan, in one ```cuda block");
  }
  return Blame(Verdict::kBadCandidate,
               "no code block of the answer holds a plan; the file in the ```cuda block must start "
               "with the comment /*cudaagent {...} */");
}

}  // namespace cudaagent::candidate
