#include "propose/answer.h"
#include "propose/proposers.h"
#include "util/text.h"

namespace cudaagent::propose {
namespace {

// A model that refuses or says nothing this often in a row will go on so.
constexpr int kMaxSilent = 3;

class LlmProposer : public Proposer {
 public:
  LlmProposer(std::unique_ptr<LlmClient> client, prompt::Templates templates,
              prompt::PromptOptions options)
      : client_(std::move(client)), templates_(std::move(templates)), options_(options) {}

  std::string name() const override { return "llm:" + client_->name(); }

  Result<std::optional<Proposal>> Propose(const ProposalContext& context) override {
    auto prompt = prompt::BuildPrompt(templates_, context, options_);
    if (!prompt) return tl::unexpected(prompt.error());
    auto reply = client_->Chat({{"system", prompt->system}, {"user", prompt->user}});
    if (!reply) return tl::unexpected(reply.error());
    if (auto fine = CountSilence(*reply); !fine) return tl::unexpected(fine.error());
    Proposal proposal =
        ToProposal(std::move(reply->content), name(), reply->finish_reason == "length");
    proposal.prompt = prompt->Text();
    proposal.prompt_tokens = reply->prompt_tokens;
    proposal.completion_tokens = reply->completion_tokens;
    return proposal;
  }

 private:
  Result<void> CountSilence(const ChatReply& reply) {
    const bool refused =
        reply.finish_reason == "refusal" || reply.finish_reason == "content_filter";
    if (!refused && !util::Trim(reply.content).empty()) {
      silent_ = 0;
      return {};
    }
    if (++silent_ < kMaxSilent) return {};
    const std::string times = std::to_string(silent_) + " times in a row";
    if (refused) {
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
  prompt::Templates templates_;
  prompt::PromptOptions options_;
  int silent_ = 0;
};

}  // namespace

std::unique_ptr<Proposer> MakeLlmProposer(std::unique_ptr<LlmClient> client,
                                          prompt::Templates templates,
                                          prompt::PromptOptions options) {
  return std::make_unique<LlmProposer>(std::move(client), std::move(templates), options);
}

}  // namespace cudaagent::propose
