#include "propose/proposers.h"

namespace cudaagent::propose {
namespace {

class PromptShower : public Proposer {
 public:
  PromptShower(std::function<void(const prompt::Prompt&)> show, prompt::Templates templates,
               prompt::PromptOptions options)
      : show_(std::move(show)), templates_(std::move(templates)), options_(options) {}

  std::string name() const override { return "nobody"; }

  Result<std::optional<Proposal>> Propose(const ProposalContext& context) override {
    auto prompt = prompt::BuildPrompt(templates_, context, options_);
    if (!prompt) return tl::unexpected(prompt.error());
    show_(*prompt);
    return std::nullopt;
  }

 private:
  std::function<void(const prompt::Prompt&)> show_;
  prompt::Templates templates_;
  prompt::PromptOptions options_;
};

}  // namespace

std::unique_ptr<Proposer> MakePromptShower(std::function<void(const prompt::Prompt&)> show,
                                           prompt::Templates templates,
                                           prompt::PromptOptions options) {
  return std::make_unique<PromptShower>(std::move(show), std::move(templates), options);
}

}  // namespace cudaagent::propose
