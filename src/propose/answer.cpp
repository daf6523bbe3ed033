#include "propose/answer.h"

#include "candidate/plan.h"
#include "util/text.h"

namespace cudaagent::propose {
namespace {

constexpr size_t kMaxNoteBytes = 200;

// The last paragraph before the first code fence, on one line.
std::string NoteOf(std::string_view answer) {
  const size_t fence = answer.find("```");
  if (fence == std::string_view::npos) return "";
  std::string_view prose = util::Trim(answer.substr(0, fence));
  if (const size_t paragraph = prose.rfind("\n\n"); paragraph != std::string_view::npos) {
    prose = util::Trim(prose.substr(paragraph));
  }
  std::string note = util::SanitiseLog(prose.substr(0, 4 * kMaxNoteBytes));
  for (char& c : note) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  if (note.size() > kMaxNoteBytes) note = util::SanitiseUtf8(note.substr(0, kMaxNoteBytes)) + "...";
  return note;
}

}  // namespace

void FillFromAnswer(std::string answer, const std::string& origin, Proposal* proposal) {
  proposal->candidate.origin = origin;
  proposal->candidate.note = NoteOf(answer);
  auto found = candidate::ExtractCandidate(answer);
  proposal->candidate.source = found ? std::move(*found) : answer;
  proposal->answer = std::move(answer);
}

}  // namespace cudaagent::propose
