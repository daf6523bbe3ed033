#include <sys/stat.h>
#include <unistd.h>

#include "propose/answer.h"
#include "propose/proposers.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::propose {
namespace {

constexpr double kPollSeconds = 0.05;
constexpr double kKillSeconds = 5;

size_t FileSize(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<size_t>(info.st_size) : 0;
}

class CommandProposer : public Proposer {
 public:
  CommandProposer(CommandConfig config, prompt::Templates templates, prompt::PromptOptions options)
      : config_(std::move(config)), templates_(std::move(templates)), options_(options) {}

  std::string name() const override { return "command"; }

  Result<std::optional<Proposal>> Propose(const ProposalContext& context) override {
    auto prompt = prompt::BuildPrompt(templates_, context, options_);
    if (!prompt) return tl::unexpected(prompt.error());
    auto answer = Run(prompt->Text());
    if (!answer) return tl::unexpected(answer.error());
    if (util::Trim(*answer).empty()) return std::nullopt;
    Proposal proposal;
    FillFromAnswer(util::SanitiseUtf8(*answer), name(), &proposal);
    proposal.prompt = prompt->Text();
    proposal.prompt_hash = templates_.Hash();
    return proposal;
  }

 private:
  // Prompt and answer are files of a private folder, so neither side can block on a full pipe.
  Result<std::string> Run(const std::string& prompt) const {
    auto folder = util::TempDir::Create("cudaagent-command");
    if (!folder) return tl::unexpected(folder.error());
    const std::string in = folder->path() + "/prompt";
    const std::string out = folder->path() + "/answer";
    const std::string err = folder->path() + "/stderr";
    if (auto written = util::WriteFileAtomic(in, prompt); !written) {
      return tl::unexpected(written.error());
    }
    util::SpawnOptions spawn;
    spawn.argv = {"/bin/sh", "-c", "exec <\"$1\" >\"$2\" 3<&- || exit\nshift 2\n" + config_.command,
                  "sh",      in,   out};
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      spawn.environment.emplace_back(*entry);
    }
    spawn.log_path = err;
    auto process = util::Subprocess::Spawn(spawn);
    if (!process) return tl::unexpected(process.error());
    process->CloseSocket();
    const auto deadline = util::Deadline::After(config_.timeout_s);
    std::optional<util::Death> death;
    while (!(death = process->Wait(kPollSeconds))) {
      if (config_.stop_requested && config_.stop_requested()) {
        (void)process->Kill(kKillSeconds);
        return Fail(ErrorCode::kCancelled, "Stopped while the proposer command ran.");
      }
      if (deadline.Passed()) {
        (void)process->Kill(kKillSeconds);
        return Failed("did not end within " + util::FormatSeconds(config_.timeout_s), err);
      }
      if (FileSize(out) > config_.max_answer_bytes) {
        (void)process->Kill(kKillSeconds);
        break;
      }
    }
    if (FileSize(out) > config_.max_answer_bytes) {
      return Failed(
          "answered more than " + util::FormatBytes(static_cast<int64_t>(config_.max_answer_bytes)),
          err);
    }
    if (death->signalled || death->code != 0) return Failed(death->InWords(), err);
    return util::ReadFile(out, config_.max_answer_bytes);
  }

  tl::unexpected<Error> Failed(const std::string& what, const std::string& stderr_path) const {
    const std::string tail = util::SanitiseLog(util::ReadTail(stderr_path, 2000), 2000);
    return Fail(ErrorCode::kLlm,
                "The proposer command \"" + util::SanitiseLog(config_.command, 200) + "\" " + what +
                    "." +
                    (util::Trim(tail).empty() ? " It wrote nothing to stderr."
                                              : " The end of its stderr:\n" + tail));
  }

  CommandConfig config_;
  prompt::Templates templates_;
  prompt::PromptOptions options_;
};

}  // namespace

std::unique_ptr<Proposer> MakeCommandProposer(CommandConfig config, prompt::Templates templates,
                                              prompt::PromptOptions options) {
  return std::make_unique<CommandProposer>(std::move(config), std::move(templates), options);
}

}  // namespace cudaagent::propose
