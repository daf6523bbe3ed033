#include <algorithm>

#include "propose/proposers.h"
#include "util/log.h"

namespace cudaagent::propose {
namespace {

class BuiltinFirst : public Proposer {
 public:
  explicit BuiltinFirst(std::unique_ptr<Proposer> next) : next_(std::move(next)) {}

  std::string name() const override { return next_->name(); }

  Result<std::optional<Proposal>> Propose(const ProposalContext& context) override {
    const bool there = std::any_of(
        context.history.begin(), context.history.end(),
        [this](const Attempt& attempt) { return attempt.candidate.origin == builtin_->name(); });
    if (!asked_ && !there) {
      asked_ = true;
      auto proposal = builtin_->Propose(context);
      if (proposal && *proposal) return proposal;
      if (!proposal) util::LogWarn("The built-in proposer failed: " + proposal.error().message);
    }
    return next_->Propose(context);
  }

 private:
  std::unique_ptr<Proposer> next_;
  std::unique_ptr<Proposer> builtin_ = MakeBuiltinProposer();
  bool asked_ = false;
};

}  // namespace

std::unique_ptr<Proposer> MakeBuiltinFirst(std::unique_ptr<Proposer> next) {
  return std::make_unique<BuiltinFirst>(std::move(next));
}

}  // namespace cudaagent::propose
