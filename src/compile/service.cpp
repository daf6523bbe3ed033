#include "compile/service.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "compile/compile_pool.h"
#include "compile/jail.h"
#include "protocol/frame.h"
#include "protocol/messages.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

constexpr int kDriverFd = 3;
constexpr int kExitOk = 0, kExitBroken = 3, kExitUsage = 2, kExitCandidate = 4,
              kExitEnvironment = 6;

bool Send(int fd, const protocol::FromChild& message) {
  const auto written = protocol::WriteFrame(fd, protocol::Encode(message));
  if (!written) util::LogError(written.error().message);
  return written.has_value();
}

void WaitAndAdvance(CompilePool& pool, std::vector<pollfd>& fds) {
  pool.AddPollFds(fds);
  while (::poll(fds.data(), fds.size(), pool.PollTimeoutMillis()) < 0 && errno == EINTR) {
  }
  pool.Advance();
}

// One frame from the driver. nullopt = go on, else the exit status.
std::optional<int> Receive(int fd, CompilePool& pool) {
  // poll said there is something; a driver that stops within a frame is no driver.
  constexpr std::chrono::seconds kFrameTime{10};
  protocol::ReadResult read =
      protocol::ReadFrame(fd, std::chrono::steady_clock::now() + kFrameTime);
  if (read.status == protocol::ReadStatus::kEof) return kExitOk;
  if (read.status != protocol::ReadStatus::kFrame) {
    util::LogError("The driver sent a broken frame: " + read.problem);
    return kExitBroken;
  }
  auto message = protocol::DecodeToCompiler(read.payload);
  if (!message) {
    util::LogError("The driver sent a message that cannot be read: " + message.error().message);
    return kExitBroken;
  }
  if (std::holds_alternative<protocol::Shutdown>(*message)) return kExitOk;
  pool.Submit(std::move(std::get<protocol::CompileJob>(*message)));
  return std::nullopt;
}

void PrintReply(const protocol::CompileReply& reply) {
  if (!reply.report.log.empty()) std::fputs(reply.report.log.c_str(), stderr);
  if (!reply.ok) {
    std::printf("%s: %s\n", std::string(ToString(reply.verdict)).c_str(), reply.message.c_str());
    return;
  }
  std::printf("ok in %s%s\ncubin: %s\nptx:   %s\n",
              util::FormatSeconds(reply.report.seconds).c_str(),
              reply.report.cached ? " (cached)" : "", reply.report.cubin_path.c_str(),
              reply.report.ptx_path.c_str());
  for (const KernelResources& kernel : reply.report.kernels) {
    std::printf("%s: %d registers, %lld bytes local, %lld bytes shared, %s\n", kernel.name.c_str(),
                kernel.registers, static_cast<long long>(kernel.local_bytes),
                static_cast<long long>(kernel.static_shared_bytes),
                reply.demangled.at(kernel.name).c_str());
  }
}

int Once(const Options& options) {
  auto source = util::ReadFile(options.once);
  if (!source) {
    std::fprintf(stderr, "%s\n", source.error().message.c_str());
    return kExitUsage;
  }
  auto pool = CompilePool::Create(options);
  if (!pool) {
    std::fprintf(stderr, "%s\n", pool.error().message.c_str());
    return kExitEnvironment;
  }
  protocol::CompileJob job;
  job.source = std::move(*source);
  job.arch = options.arch;
  job.standard = options.standard;
  job.fast_math = options.fast_math;
  job.max_registers = options.max_registers;
  job.kernels = options.kernels;
  job.timeout_s = options.timeout_s;
  job.memory_bytes = options.memory_bytes;
  (*pool)->Submit(std::move(job));
  for (;;) {
    for (const protocol::CompileReply& reply : (*pool)->TakeReplies()) {
      PrintReply(reply);
      if (reply.ok) return kExitOk;
      return reply.verdict == Verdict::kInfraError ? kExitEnvironment : kExitCandidate;
    }
    std::vector<pollfd> fds;
    WaitAndAdvance(**pool, fds);
  }
}

}  // namespace

int Serve(int fd, const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  LeaveNetwork();
  auto pool = CompilePool::Create(options);
  if (!pool) {
    util::LogError(pool.error().message);
    Send(fd, protocol::ErrorReply{pool.error()});
    return kExitEnvironment;
  }
  protocol::Hello hello;
  hello.program = "compile";
  hello.nvrtc_version = (*pool)->library().version();
  hello.pid = ::getpid();
  if (!Send(fd, hello)) return kExitBroken;
  (*pool)->Warm();
  for (;;) {
    for (protocol::CompileReply& reply : (*pool)->TakeReplies()) {
      if (!Send(fd, std::move(reply))) return kExitBroken;
    }
    std::vector<pollfd> fds = {{fd, POLLIN, 0}};
    WaitAndAdvance(**pool, fds);
    if (fds[0].revents == 0) continue;
    if (const auto status = Receive(fd, **pool)) return *status;
  }
}

int Main(const std::vector<std::string>& arguments, const std::string& version) {
  auto options = ParseOptions(arguments);
  if (!options) {
    std::fprintf(stderr, "%s\n", options.error().message.c_str());
    return kExitUsage;
  }
  if (options->help || options->version) {
    const std::string text = options->help ? HelpText() : "cudaagent-compile " + version + "\n";
    std::fputs(text.c_str(), stdout);
    return kExitOk;
  }
  if (!options->once.empty()) return Once(*options);
  pollfd probe{kDriverFd, POLLIN, 0};
  if (::poll(&probe, 1, 0) < 0 || (probe.revents & POLLNVAL) != 0) {
    std::fprintf(stderr,
                 "cudaagent-compile is started by cudaagent, which talks to it on descriptor 3. To "
                 "compile one file by hand: cudaagent-compile --once FILE --kernel NAME\n");
    return kExitUsage;
  }
  return Serve(kDriverFd, *options);
}

}  // namespace cudaagent::compile
