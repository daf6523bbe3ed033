#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "propose/answer.h"
#include "propose/proposers.h"
#include "util/text.h"

namespace cudaagent::propose {
namespace {

constexpr size_t kShownBytes = 160;
constexpr size_t kShownBefore = 40;  // of these, before the first difference

// Where two texts part, for a person.
std::string FirstDifference(const std::string& recorded, const std::string& asked) {
  const std::vector<std::string> before = util::Split(recorded, '\n');
  const std::vector<std::string> now = util::Split(asked, '\n');
  size_t line = 0;
  while (line < before.size() && line < now.size() && before[line] == now[line]) ++line;
  if (line == before.size() || line == now.size()) {
    return fmt::format("line {}: the {} prompt ends there", line + 1,
                       line == before.size() ? "recorded" : "new");
  }
  const std::string &a = before[line], &b = now[line];
  const size_t column = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  const size_t from = column > kShownBefore ? column - kShownBefore : 0;
  const auto shown = [from](const std::string& text) {
    return util::SanitiseLog((from > 0 ? "..." : "") + text.substr(from, kShownBytes));
  };
  return fmt::format("line {}: recorded \"{}\", now \"{}\"", line + 1, shown(a), shown(b));
}

class ReplayProposer : public Proposer {
 public:
  ReplayProposer(Recording recording, prompt::Templates templates, prompt::PromptOptions options)
      : recording_(std::move(recording)), templates_(std::move(templates)), options_(options) {}

  std::string name() const override { return "replay"; }

  Result<std::optional<Proposal>> Propose(const ProposalContext& context) override {
    const int number = static_cast<int>(context.history.size());
    const auto found = recording_.proposals.find(number);
    if (found == recording_.proposals.end()) {
      if (recording_.exhausted) return std::nullopt;
      return Fail(ErrorCode::kUsage,
                  fmt::format("Replay: the recording has no answer for attempt {}.", number));
    }
    const Proposal& recorded = found->second;
    if (recorded.prompt.empty()) return recorded;  // nobody was asked: the built-in rules
    auto prompt = prompt::BuildPrompt(templates_, context, options_);
    if (!prompt) return tl::unexpected(prompt.error());
    const std::string asked = prompt->Text();
    if (asked != recorded.prompt) {
      return Fail(
          ErrorCode::kUsage,
          fmt::format(
              "Replay: the prompt of attempt {} is not the recorded one. First difference in {}.",
              number, FirstDifference(recorded.prompt, asked)));
    }
    Proposal proposal = recorded;
    if (!recorded.candidate.fault) {
      FillFromAnswer(recorded.answer, recorded.candidate.origin, &proposal);
    }
    return proposal;
  }

 private:
  Recording recording_;
  prompt::Templates templates_;
  prompt::PromptOptions options_;
};

}  // namespace

std::unique_ptr<Proposer> MakeReplayProposer(Recording recording, prompt::Templates templates,
                                             prompt::PromptOptions options) {
  return std::make_unique<ReplayProposer>(std::move(recording), std::move(templates), options);
}

}  // namespace cudaagent::propose
