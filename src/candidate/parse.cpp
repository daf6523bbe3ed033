// A candidate file taken apart: where its plan stands, and whether the rest is device code.
#include "candidate/code_scan.h"
#include "candidate/json_text.h"
#include "candidate/plan.h"
#include "candidate/plan_reader.h"
#include "candidate/plan_text.h"
#include "candidate/spelling.h"

namespace cudaagent::candidate {
namespace {

constexpr size_t kMaxSourceBytes = 2 << 20;

tl::unexpected<Fault> Bad(std::string what) {
  return Blame(Verdict::kBadCandidate, std::move(what));
}

Checked<void> CheckText(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return Bad("the file has " + std::to_string(source.size()) + " bytes; at most " +
               std::to_string(kMaxSourceBytes) + " are read");
  }
  if (size_t at = source.find('\0'); at != std::string_view::npos) {
    return Bad("line " + std::to_string(LineOf(source, at)) + ": the file holds a NUL byte");
  }
  if (size_t at = FindInvalidUtf8(source); at != std::string_view::npos) {
    return Bad("line " + std::to_string(LineOf(source, at)) + ": the file is not valid UTF-8");
  }
  return {};
}

// An LLM's whole answer instead of a file: no line of CUDA starts with a code fence.
bool IsAnswer(std::string_view source) {
  return source.starts_with("```") || source.find("\n```") != std::string_view::npos;
}

}  // namespace

size_t FindPlanMarker(std::string_view text, size_t from) {
  for (size_t at = text.find("/*", from); at != std::string_view::npos;
       at = text.find("/*", at + 2)) {
    size_t word = at + 2;
    while (word < text.size() && (text[word] == ' ' || text[word] == '\t')) ++word;
    if (text.substr(word, 9) != "cudaagent") continue;
    const size_t after = word + 9;
    if (after >= text.size() || IsSpace(text[after]) || text[after] == '{') return at;
  }
  return std::string_view::npos;
}

Checked<ParsedCandidate> ParseCandidate(std::string_view source) {
  if (auto text = CheckText(source); !text) return tl::unexpected(text.error());
  if (source.starts_with("\xEF\xBB\xBF")) source.remove_prefix(3);
  if (IsAnswer(source)) {
    auto extracted = ExtractCandidate(source);
    if (!extracted) return tl::unexpected(extracted.error());
    return Bad("this is an answer with a candidate in a code block; give the block alone");
  }
  const size_t open = FindPlanMarker(source, 0);
  if (open == std::string_view::npos) {
    return Bad(
        "the file has no plan; it must start with a comment /*cudaagent { \"plan\": 1, "
        "\"steps\": [...] } */");
  }
  const std::string before = BlankComments(source.substr(0, open));
  if (before.find_first_not_of(" \t\r\n\f\v") != std::string::npos) {
    return Bad("line " + std::to_string(LineOf(source, open)) +
               ": the plan must come before all code; move the /*cudaagent comment to the top");
  }
  const size_t begin = source.find("cudaagent", open) + 9;
  const size_t close = source.find("*/", begin);
  if (close == std::string_view::npos) {
    return Bad("line " + std::to_string(LineOf(source, open)) +
               ": the plan's comment is not closed by \"*/\"");
  }
  if (FindPlanMarker(source, close) != std::string_view::npos) {
    return Bad("line " + std::to_string(LineOf(source, FindPlanMarker(source, close))) +
               ": a second /*cudaagent comment; a candidate has one plan");
  }
  ParsedCandidate candidate;
  candidate.plan_text = source.substr(begin, close - begin);
  candidate.code = source;
  auto json = ParsePlanJson(candidate.plan_text, LineOf(source, begin));
  if (!json) return tl::unexpected(json.error());
  try {
    candidate.plan = ReadPlan(*json);
  } catch (const Refusal& refusal) {
    return Bad(refusal.message);
  } catch (const nlohmann::json::exception& error) {
    return Bad(std::string("plan: ") + error.what());
  }
  if (auto host = RefuseHostCode(BlankComments(source)); !host) return tl::unexpected(host.error());
  return candidate;
}

}  // namespace cudaagent::candidate
