#include <algorithm>
#include <cstdint>

#include "candidate/plan.h"
#include "propose/answer.h"
#include "propose/proposers.h"
#include "util/text.h"

namespace cudaagent::propose {
namespace {

// A model that refuses or says nothing this often in a row will go on so.
constexpr int kMaxSilent = 3;
// No answer worth having is shorter; with less than this left of a budget nobody is asked.
constexpr int64_t kMinAnswerTokens = 1024;

bool IsBlank(const std::string& text) { return util::Trim(text).empty(); }
bool Refused(const ChatReply& reply) {
  return reply.finish_reason == "refusal" || reply.finish_reason == "content_filter";
}
// A whole file in a closed block, so that a cut behind it does no harm.
bool HoldsWholeFile(const std::string& answer) {
  return answer.find("```") != std::string::npos && candidate::ExtractCandidate(answer).has_value();
}

// The two parts of an answer that was cut off. A model that began anew instead of continuing has
// its new answer taken; one that opened a code block within the open one has that line dropped.
std::string Join(const std::string& first, const std::string& rest) {
  if (HoldsWholeFile(rest)) return rest;
  const size_t start = rest.find_first_not_of(" \n");
  if (start != std::string::npos && rest.compare(start, 3, "```") == 0) {
    const size_t line_end = rest.find('\n', start);
    const bool opens =
        line_end != std::string::npos && rest.substr(start, line_end - start) != "```";
    if (opens) return first + rest.substr(line_end + 1);
  }
  return first + rest;
}

class LlmProposer : public Proposer {
 public:
  LlmProposer(std::unique_ptr<LlmClient> client, LlmOptions llm, prompt::Templates templates,
              prompt::PromptOptions options)
      : client_(std::move(client)),
        llm_(llm),
        templates_(std::move(templates)),
        options_(options) {}

  std::string name() const override { return "llm:" + client_->name(); }

  Result<std::optional<Proposal>> Propose(const ProposalContext& context) override {
    auto prompt = prompt::BuildPrompt(templates_, context, options_);
    if (!prompt) return tl::unexpected(prompt.error());
    budget_ = context.tokens_left;
    const std::vector<ChatMessage> messages = {{"system", prompt->system}, {"user", prompt->user}};
    if (RoomFor(messages) < kMinAnswerTokens) {
      const bool asked_before =
          std::any_of(context.history.begin(), context.history.end(),
                      [](const Attempt& attempt) { return attempt.usage.total_tokens() > 0; });
      if (asked_before) return std::nullopt;
      return Fail(ErrorCode::kUsage,
                  "--max-tokens-total leaves no room for one question: the first "
                  "prompt has about " +
                      std::to_string(TokensOf(messages)) + " tokens, and an answer needs " +
                      std::to_string(kMinAnswerTokens) + ".");
    }
    auto reply = AskWhole(messages);
    if (!reply) return tl::unexpected(reply.error());
    if (auto fine = CountSilence(*reply); !fine) return tl::unexpected(fine.error());
    return ToRecord(std::move(*reply), *prompt);
  }

 private:
  // Asks, and once more where the answer was cut at its output limit before the file was whole.
  Result<ChatReply> AskWhole(const std::vector<ChatMessage>& messages) {
    auto reply = Ask(messages, llm_.max_output_tokens);
    if (!reply || reply->finish_reason != "length" || HoldsWholeFile(reply->content)) return reply;
    std::vector<ChatMessage> again = messages;
    int64_t limit = llm_.max_output_tokens;
    if (IsBlank(reply->content)) {
      limit *= 2;  // reasoning took all of it
    } else {
      again.push_back({"assistant", reply->content});
      again.push_back({"user", templates_.Text("continue.md")});
    }
    if (RoomFor(again) < kMinAnswerTokens) return reply;
    auto rest = Ask(again, limit);
    if (!rest) return rest;
    if (!IsBlank(reply->content)) rest->content = Join(reply->content, rest->content);
    rest->reasoning = reply->reasoning + rest->reasoning;
    *rest += *reply;
    return rest;
  }

  // One call, within what is left of the budget.
  Result<ChatReply> Ask(const std::vector<ChatMessage>& messages, int64_t limit) {
    if (budget_) limit = limit > 0 ? std::min(limit, RoomFor(messages)) : RoomFor(messages);
    auto reply = client_->Chat(messages, limit);
    if (!reply) return reply;
    if (reply->total_tokens() == 0) {  // a server that does not tell
      reply->prompt_tokens = TokensOf(messages);
      reply->completion_tokens = prompt::EstimateTokens(reply->content + reply->reasoning);
    } else if (reply->prompt_tokens > 0) {
      tokens_per_estimate_ = static_cast<double>(reply->prompt_tokens) /
                             static_cast<double>(std::max<int64_t>(1, Estimate(messages)));
    }
    if (budget_) *budget_ -= reply->total_tokens();
    return reply;
  }

  static int64_t Estimate(const std::vector<ChatMessage>& messages) {
    int64_t tokens = 0;
    for (const ChatMessage& message : messages) tokens += prompt::EstimateTokens(message.content);
    return tokens;
  }
  // As the model at hand counts, once it has told.
  int64_t TokensOf(const std::vector<ChatMessage>& messages) const {
    return static_cast<int64_t>(static_cast<double>(Estimate(messages)) * tokens_per_estimate_);
  }
  // Tokens that an answer may have.
  int64_t RoomFor(const std::vector<ChatMessage>& messages) const {
    return budget_ ? *budget_ - TokensOf(messages) : INT64_MAX;
  }

  Proposal ToRecord(ChatReply reply, const prompt::Prompt& prompt) const {
    Proposal proposal;
    static_cast<Usage&>(proposal) = reply;
    const bool cut_off = reply.finish_reason == "length";
    proposal.finish_reason = reply.finish_reason;
    proposal.reasoning = std::move(reply.reasoning);
    proposal.prompt = prompt.Text();
    proposal.prompt_hash = templates_.Hash();
    std::string fault;
    if (Refused(reply)) {
      fault = "The model refused to answer (" + reply.finish_reason + ")" +
              (IsBlank(reply.content) ? "." : ": " + util::SanitiseLog(reply.content, 300));
    } else if (cut_off && !HoldsWholeFile(reply.content)) {
      fault =
          "The answer ended at its output limit before the file was whole, and so did the second "
          "try. Write a shorter file with less thought; --max-output-tokens raises the limit.";
    } else if (IsBlank(reply.content)) {
      fault = "The answer has no text.";
    }
    if (fault.empty()) {
      FillFromAnswer(std::move(reply.content), name(), &proposal);
    } else {
      proposal.candidate = {reply.content, name(), "", Fault{Verdict::kBadCandidate, fault}};
      proposal.answer = std::move(reply.content);
    }
    return proposal;
  }

  Result<void> CountSilence(const ChatReply& reply) {
    if (!Refused(reply) && !IsBlank(reply.content)) {
      silent_ = 0;
      return {};
    }
    if (++silent_ < kMaxSilent) return {};
    const std::string times = std::to_string(silent_) + " times in a row";
    if (Refused(reply)) {
      return Fail(ErrorCode::kLlm, client_->name() + " refused to answer " + times + ": " +
                                       util::SanitiseLog(reply.content, 500) +
                                       " Try another model.");
    }
    return Fail(ErrorCode::kLlm, client_->name() + " answered without text " + times +
                                     (reply.finish_reason == "length"
                                          ? "; its output limit was used up before the answer. "
                                            "Raise --max-output-tokens."
                                          : ". Try another model."));
  }

  std::unique_ptr<LlmClient> client_;
  LlmOptions llm_;
  prompt::Templates templates_;
  prompt::PromptOptions options_;
  std::optional<int64_t> budget_;  // what is left of the run's
  double tokens_per_estimate_ = 1;
  int silent_ = 0;
};

}  // namespace

std::unique_ptr<Proposer> MakeLlmProposer(std::unique_ptr<LlmClient> client, LlmOptions llm,
                                          prompt::Templates templates,
                                          prompt::PromptOptions options) {
  return std::make_unique<LlmProposer>(std::move(client), llm, std::move(templates), options);
}

}  // namespace cudaagent::propose
