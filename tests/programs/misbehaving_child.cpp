// A child that behaves as badly as the environment variable MISBEHAVE says. In every mode but the
// hello ones it says hello first, reads one frame, then does its deed.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "protocol/frame.h"
#include "protocol/messages.h"
#include "util/time.h"

namespace {

using namespace cudaagent;
using namespace cudaagent::protocol;

constexpr int kFd = 3;

void Say(const FromChild& message) { (void)WriteFrame(kFd, Encode(message)); }
void SayRaw(const std::string& bytes) {
  (void)!::send(kFd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}
ReadResult Listen() { return ReadFrame(kFd, util::Deadline::Never().at()); }

void SayHello(const std::string& program, int version = kProtocolVersion) {
  Hello hello;
  hello.protocol_version = version;
  hello.program = program;
  hello.device.kind = "cpu";
  hello.pid = ::getpid();
  Say(hello);
}

// As a bad pointer does, also where a sanitizer would rather report it.
void CrashHard() {
  ::signal(SIGSEGV, SIG_DFL);
  ::raise(SIGSEGV);
}

[[noreturn]] void Hang() {
  while (true) ::pause();
}

std::string Environment() {
  std::string text;
  for (char** entry = environ; *entry != nullptr; ++entry) text += std::string(*entry) + "\n";
  return text;
}

CompileReply Compiled(const CompileJob& job) {
  CompileReply reply;
  reply.id = job.id;
  reply.ok = true;
  reply.verdict = Verdict::kOk;
  reply.message = job.source;
  return reply;
}

// A well-behaved compiler, but for sources that say otherwise.
int Compile(const std::string& mode) {
  while (true) {
    const ReadResult frame = Listen();
    if (frame.status != ReadStatus::kFrame) return 0;
    const auto message = DecodeToCompiler(frame.payload);
    if (!message || std::holds_alternative<Shutdown>(*message)) return 0;
    CompileJob job = std::get<CompileJob>(*message);
    if (job.source == "die") CrashHard();
    if (job.source == "die once" && std::fopen((mode + ".died").c_str(), "wx")) CrashHard();
    if (job.source == "hang") Hang();
    if (job.source == "slow") ::usleep(300'000);
    if (job.source == "wrong id") job.id += 1000;
    Say(Compiled(job));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* named = std::getenv("MISBEHAVE");
  const std::string mode = named != nullptr ? named : "";
  const bool compile = argc > 1 && std::string(argv[1]) == "--cache-dir";
  std::printf("mode %s\n", mode.c_str());
  std::fflush(stdout);

  if (mode == "no_hello") return 3;
  if (mode == "silent") Hang();
  if (mode == "slow_hello") ::usleep(300'000);
  if (mode == "hello_is_reply") Say(ErrorReply{{ErrorCode::kInternal, "x"}});
  if (mode == "other_program") SayHello("something");
  if (argc > 1 && std::string(argv[argc - 1]) == "--spare") {
    pollfd wait{kFd, POLLIN, 0};
    ::poll(&wait, 1, -1);
    std::printf("woken\n");
  }
  SayHello(compile ? "compile" : "worker", mode == "wrong_version" ? 7 : kProtocolVersion);
  if (compile) return Compile(argv[2]);
  if (mode == "dies_idle") return 0;
  if (mode == "ignores_term") ::signal(SIGTERM, SIG_IGN);

  while (true) {
    const ReadResult frame = Listen();
    if (frame.status != ReadStatus::kFrame) {
      if (mode == "ignores_term" || mode == "grandchild") Hang();
      return 0;
    }
    if (mode == "segv") CrashHard();
    if (mode == "exit0") return 0;
    if (mode == "hang" || mode == "ignores_term") Hang();
    if (mode == "garbage") SayRaw(std::string("\x05\0\0\0{{{{{", 9));
    if (mode == "unknown_type") SayRaw(std::string("\x0c\0\0\0{\"type\":\"x\"}", 16));
    if (mode == "half_frame") {
      SayRaw(std::string("\x64\0\0\0half", 8));
      return 0;
    }
    if (mode == "huge_frame") SayRaw(std::string("\xff\xff\xff\x7f", 4));
    if (mode == "deep_frame") (void)WriteFrame(kFd, std::string(4'000'000, '['));
    if (mode == "unknown_stage") Say(StageNote{"party"});
    if (mode == "stage_forever") {
      while (true) {
        Say(StageNote{"check"});
        ::usleep(10'000);
      }
    }
    if (mode == "hang_in_time") {
      Say(StageNote{"check"});
      Say(StageNote{"time"});
      Hang();
    }
    if (mode == "grandchild") {
      if (::fork() == 0) Hang();
      std::printf("pid %d\n", static_cast<int>(::getpid()));
    }
    if (mode == "env") Say(ErrorReply{{ErrorCode::kInternal, Environment()}});
    if (mode == "fds") {
      std::string open;
      for (int fd = 0; fd < 1024; ++fd) {
        if (::fcntl(fd, F_GETFD) >= 0) open += std::to_string(fd) + " ";
      }
      Say(ErrorReply{{ErrorCode::kInternal, open}});
    }
    if (mode == "closes_and_stays") {
      ::close(kFd);
      Hang();
    }
    Say(StageNote{"check"});
    Say(ErrorReply{{ErrorCode::kInternal, "well"}});
  }
}
