#include "worker/worker.h"

#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "measure/measure.h"
#include "reference/reference.h"
#include "util/log.h"
#include "util/time.h"
#include "worker/args.h"
#include "worker/channel.h"
#include "worker/jobs.h"
#include "worker/parent_watch.h"
#include "worker/session.h"

namespace cudaagent::worker {
namespace {

constexpr int kSocket = 3;

enum ExitCode : int {
  kDone = 0,
  kWrongArguments = 2,
  kInvalidFrame = 3,
  kSetupFailed = 6,
  kPoisoned = 9,
};

[[noreturn]] void Exit(ExitCode code) {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(code);
}

[[noreturn]] void ExitSaying(ExitCode code, const std::string& why) {
  std::fprintf(stderr, "cudaagent-worker: %s\n", why.c_str());
  Exit(code);
}

protocol::Hello MakeHello(const Session& session) {
  protocol::Hello hello;
  hello.program = "worker";
  hello.device = session.Stamp();
  hello.python_version = CUDAAGENT_PYTHON_VERSION;
  hello.pid = getpid();
  return hello;
}

// One job to its reply. What escapes a job as an exception is our own bug, never a candidate's
// fault.
protocol::FromChild Serve(const protocol::ToWorker& message, Session& session, Channel& channel) {
  try {
    return std::visit(
        [&](const auto& job) -> protocol::FromChild {
          using Job = std::decay_t<decltype(job)>;
          if constexpr (std::is_same_v<Job, protocol::LoadProblem>) {
            return RunLoadJob(job, session, channel);
          } else if constexpr (std::is_same_v<Job, protocol::EvaluateJob>) {
            return RunEvaluateJob(job, session, channel);
          } else if constexpr (std::is_same_v<Job, protocol::BaselineJob>) {
            return RunBaselineJob(job, session, channel);
          } else if constexpr (std::is_same_v<Job, protocol::CalibrateJob>) {
            return RunCalibrateJob(session, channel);
          } else {
            Exit(kDone);  // Shutdown
          }
        },
        message);
  } catch (const std::exception& error) {
    return protocol::ErrorReply{
        {ErrorCode::kInternal, fmt::format("The worker failed at a job: {}", error.what())}};
  }
}

[[noreturn]] void ServeForever(Session& session, Channel& channel) {
  while (true) {
    auto message = channel.Receive();
    if (!message) ExitSaying(kInvalidFrame, message.error().message);
    if (!*message) Exit(kDone);
    const protocol::FromChild reply = Serve(**message, session, channel);
    channel.Send(reply);
    const auto* evaluation = std::get_if<protocol::EvaluationReply>(&reply);
    if (evaluation && evaluation->poisoned) {
      ExitSaying(kPoisoned, "the device is lost after a candidate's fault");
    }
    if (session.device().poisoned()) ExitSaying(kPoisoned, "the device is lost");
  }
}

}  // namespace

int RunWorker(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  const util::Stopwatch since_start;
  auto args = ParseArgs(std::vector<std::string>(argv + 1, argv + argc));
  if (!args) ExitSaying(kWrongArguments, args.error().message);

  ExitWhenPeerHangsUp(kSocket);
  if (auto started = reference::StartPython(); !started) {
    ExitSaying(kSetupFailed, started.error().message);
  }
  if (auto warm = reference::WarmUp(); !warm) ExitSaying(kSetupFailed, warm.error().message);
  Channel channel(kSocket);
  if (args->spare) channel.WaitReadable();

  if (args->gpu) measure::InitTiming();
  auto session = Session::Open(*args);
  if (!session) ExitSaying(kSetupFailed, session.error().message);
  util::LogInfo(fmt::format("worker ready after {:.2f} s", since_start.Seconds()));
  channel.Send(MakeHello(*session));
  ServeForever(*session, channel);
}

}  // namespace cudaagent::worker
