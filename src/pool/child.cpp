#include "pool/child.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <utility>

#include "protocol/frame.h"
#include "util/file.h"
#include "util/text.h"

namespace cudaagent::pool {
namespace {

constexpr double kSendSeconds = 30;
constexpr double kPoliteSeconds = 2;  // for each of shutdown and SIGTERM
constexpr double kReapSeconds = 10;   // after SIGKILL
constexpr double kExitSeconds = 2;    // from the stream's end to the process's
constexpr size_t kTailBytes = 4000;
constexpr size_t kTailLines = 20;

}  // namespace

std::string LogTail(const std::string& path) {
  const std::string text = util::SanitiseLog(util::ReadTail(path, kTailBytes));
  std::vector<std::string> lines = util::Split(util::Trim(text), '\n');
  if (lines.size() == 1 && lines[0].empty()) return "";
  if (lines.size() > kTailLines) lines.erase(lines.begin(), lines.end() - kTailLines);
  return "  " + util::Join(lines, "\n  ");
}

Child::Child(ChildOptions options, util::Subprocess process)
    : options_(std::move(options)), process_(std::move(process)) {}

Result<std::unique_ptr<Child>> Child::Spawn(ChildOptions options) {
  util::SpawnOptions spawn;
  spawn.argv = {options.program};
  spawn.argv.insert(spawn.argv.end(), options.args.begin(), options.args.end());
  spawn.environment = options.environment;
  spawn.log_path = options.log_path;
  Result<util::Subprocess> process = util::Subprocess::Spawn(spawn);
  if (!process) return tl::unexpected(process.error());
  const timeval limit{static_cast<time_t>(kSendSeconds), 0};
  ::setsockopt(process->socket(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return std::unique_ptr<Child>(new Child(std::move(options), std::move(*process)));
}

Child::~Child() { Kill(); }

Result<protocol::Hello> Child::AwaitHello(util::Deadline deadline) {
  const double limit_s = deadline.RemainingSeconds();
  const auto failed = [&](const std::string& what) {
    Kill();
    std::string message = options_.program + " " + what;
    const std::string tail = LogTail(options_.log_path);
    message += tail.empty() ? " It left nothing in its log " + options_.log_path + "."
                            : " The end of its log (" + options_.log_path + "):\n" + tail;
    return Fail(ErrorCode::kEnvironment, message);
  };
  const tl::expected<protocol::FromChild, Trouble> first = ReceiveAny(deadline);
  if (!first) {
    if (first.error().kind == Trouble::Kind::kTimedOut) {
      return failed("did not say hello within " + util::FormatSeconds(limit_s) + ".");
    }
    return failed(first.error().words + " before it said hello.");
  }
  const auto* hello = std::get_if<protocol::Hello>(&*first);
  if (hello == nullptr) return failed("sent another message before its hello.");
  if (hello->protocol_version != protocol::kProtocolVersion) {
    return failed("speaks protocol version " + std::to_string(hello->protocol_version) +
                  ", this program speaks " + std::to_string(protocol::kProtocolVersion) +
                  ". Build and install the three programs together.");
  }
  if (hello->program != options_.kind) {
    return failed("says it is the program \"" + util::SanitiseLog(hello->program, 60) +
                  "\", not \"" + options_.kind + "\".");
  }
  return *hello;
}

tl::expected<void, Trouble> Child::Send(const std::string& message) {
  if (protocol::WriteFrame(process_.socket(), message)) return {};
  return tl::unexpected(Bury(""));
}

tl::expected<protocol::FromChild, Trouble> Child::Receive(const std::string& stage,
                                                          const StageLimits& limits) {
  std::string now = stage;
  std::map<std::string, util::Deadline> deadlines;
  while (true) {
    const auto limit = limits.find(now);
    if (limit == limits.end()) {
      return GiveUp(Trouble::Kind::kBroken, now, 0,
                    "entered the unknown stage \"" + util::SanitiseLog(now, 60) + "\"");
    }
    const auto [clock, first_time] =
        deadlines.try_emplace(now, util::Deadline::After(limit->second));
    tl::expected<protocol::FromChild, Trouble> message = ReceiveAny(clock->second);
    if (!message) {
      message.error().stage = now;
      message.error().limit_s = limit->second;
      return message;
    }
    const auto* note = std::get_if<protocol::StageNote>(&*message);
    if (note == nullptr) return message;
    now = note->stage;
  }
}

tl::expected<protocol::FromChild, Trouble> Child::ReceiveAny(util::Deadline deadline) {
  protocol::ReadResult frame = protocol::ReadFrame(process_.socket(), deadline.at());
  switch (frame.status) {
    case protocol::ReadStatus::kFrame:
      break;
    case protocol::ReadStatus::kEof:
      return tl::unexpected(Bury(""));
    case protocol::ReadStatus::kTimedOut:
      return GiveUp(Trouble::Kind::kTimedOut, "", 0, "did not answer in time");
    case protocol::ReadStatus::kBroken:
      return GiveUp(Trouble::Kind::kBroken, "", 0, "broke off: " + frame.problem);
  }
  Result<protocol::FromChild> message = protocol::DecodeFromChild(frame.payload);
  if (!message) {
    std::string what = message.error().message;
    if (util::EndsWith(what, ".")) what.pop_back();
    return GiveUp(Trouble::Kind::kBroken, "", 0, "sent nonsense (" + what + ")");
  }
  return std::move(*message);
}

Trouble Child::Bury(const std::string& stage) {
  std::optional<util::Death> death = process_.Wait(kExitSeconds);
  if (death) {
    process_.CloseSocket();
    return Trouble{Trouble::Kind::kDied, stage, 0, death->InWords()};
  }
  Kill();
  return Trouble{Trouble::Kind::kDied, stage, 0, "stopped talking and had to be killed"};
}

tl::unexpected<Trouble> Child::GiveUp(Trouble::Kind kind, const std::string& stage, double limit_s,
                                      std::string words) {
  Kill();
  return tl::unexpected(Trouble{kind, stage, limit_s, std::move(words)});
}

void Child::Stop() {
  if (!process_.running()) return;
  // Its answer is nobody's concern: the end of the stream says the same.
  (void)protocol::WriteFrame(process_.socket(),
                             protocol::Encode(protocol::ToWorker(protocol::Shutdown{})));
  process_.CloseSocket();
  if (process_.Wait(kPoliteSeconds)) return;
  process_.Signal(SIGTERM);
  if (process_.Wait(kPoliteSeconds)) return;
  Kill();
}

void Child::Kill() {
  if (process_.running() && !unkillable_) unkillable_ = !process_.Kill(kReapSeconds);
  process_.CloseSocket();
}

bool Child::alive() { return process_.running() && !process_.Wait(0); }

}  // namespace cudaagent::pool
