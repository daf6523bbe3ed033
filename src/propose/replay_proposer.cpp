#include <spdlog/fmt/fmt.h>

#include "propose/answer.h"
#include "propose/proposers.h"
#include "util/text.h"

namespace cudaagent::propose {
namespace {

constexpr size_t kShownBytes = 200;

// Where two texts part, for a person.
std::string FirstDifference(const std::string& recorded, const std::string& asked) {
  const std::vector<std::string> before = util::Split(recorded, '\n');
  const std::vector<std::string> now = util::Split(asked, '\n');
  size_t line = 0;
  while (line < before.size() && line < now.size() && before[line] == now[line]) ++line;
  auto shown = [line](const std::vector<std::string>& lines) {
    return line < lines.size() ? "\"" + util::SanitiseLog(lines[line], kShownBytes) + "\""
                               : std::string("the end");
  };
  return fmt::format("line {}: recorded {}, now {}", line + 1, shown(before), shown(now));
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
