// A worker without torch or a device that does what the problem's and the candidate's text say, in
// words after "fake:". Tests of the evaluator drive it.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "protocol/frame.h"
#include "protocol/messages.h"
#include "util/time.h"

namespace {

using namespace cudaagent;
using namespace cudaagent::protocol;

void Say(const FromChild& message) { (void)WriteFrame(3, Encode(message)); }

// As a bad pointer does, also where a sanitizer would rather report it.
void CrashHard() {
  ::signal(SIGSEGV, SIG_DFL);
  ::raise(SIGSEGV);
}

[[noreturn]] void Hang() {
  while (true) ::pause();
}

// Whether `text` says "fake: WHAT".
bool Says(const std::string& text, const std::string& what) {
  return text.find("fake: " + what) != std::string::npos;
}

// What follows "fake: NAME=" up to white space.
std::string Value(const std::string& text, const std::string& name, const std::string& otherwise) {
  const std::string key = "fake: " + name + "=";
  const size_t at = text.find(key);
  if (at == std::string::npos) return otherwise;
  const size_t from = at + key.size();
  return text.substr(from, text.find_first_of(" \n", from) - from);
}

Timing Milliseconds(double value) {
  Timing timing;
  timing.median_ms = timing.ci_low_ms = timing.ci_high_ms = value;
  timing.samples = 10;
  timing.clock = "cupti-activity";
  return timing;
}

TensorInfo Four(const std::string& name) {
  TensorInfo info;
  info.name = name;
  info.shape = {4};
  info.strides = {1};
  info.dtype = "float32";
  info.bytes = 16;
  return info;
}

FromChild Load(const std::string& source) {
  const std::string poison = Value(source, "load_dies_if", "");
  if (!poison.empty() && ::access(poison.c_str(), F_OK) == 0) ::_exit(1);
  if (Says(source, "load_hangs")) Hang();
  if (Says(source, "load_error")) return ErrorReply{{ErrorCode::kUsage, "model.py, line 3: no."}};
  ProblemReply reply;
  reply.problem.hash = "problem";
  reply.problem.inputs = {Four("x")};
  reply.problem.outputs = {Four("out0")};
  return reply;
}

FromChild Baseline(const BaselineJob& job, const std::string& source) {
  const std::string count = Value(source, "count_baselines", "");
  if (!count.empty()) std::ofstream(count, std::ios::app) << "b";
  if (Says(source, "baseline_hangs")) Hang();
  if (Says(source, "baseline_dies")) ::raise(SIGABRT);
  BaselineReply reply;
  reply.ok = !Says(source, "baseline_fails");
  reply.message = reply.ok ? "" : "graph break";
  reply.eager = Milliseconds(4);
  for (const std::string& mode : job.modes) {
    reply.compiled[mode] = Milliseconds(mode == "max-autotune" ? 1 : 2);
  }
  return reply;
}

// The value chosen for the tune name B: "fake: WHAT@4" is meant for B = 4 alone.
std::string TunedB(const std::string& source) {
  const std::string key = "\"tuned\": {\"B\": ";
  const size_t at = source.find(key);
  return at == std::string::npos ? "" : std::to_string(std::atoi(source.c_str() + at + key.size()));
}

FromChild Evaluate(const EvaluateJob& job, int served, bool spare) {
  std::string source = job.source;
  if (const std::string b = TunedB(source); !b.empty()) {
    for (const char* word : {"die", "hang", "wrong", "poison"}) {
      if (Says(source, word + ("@" + b))) source += std::string("\n// fake: ") + word + "!\n";
    }
    if (const std::string ms = Value(source, "ms@" + b, ""); !ms.empty()) {
      source += "\n// fake: candidate_ms=" + ms + "\n";
    }
    // What was asked of each value, for the test to read.
    const std::string log = Value(source, "log", "");
    if (!log.empty()) {
      std::ofstream(log, std::ios::app) << b << (job.trials ? "t" : "-") << (job.eager ? "e" : "-")
                                        << job.options.max_iterations << " ";
    }
  }
  Say(StageNote{"check"});
  if (Says(source, "die\n") || Says(source, "die!")) CrashHard();
  if (Says(source, "served_die") && served > 0) CrashHard();
  if (Says(source, "hang\n") || Says(source, "hang!")) Hang();
  if (Says(source, "error")) return ErrorReply{{ErrorCode::kEnvironment, "out of memory."}};
  EvaluationReply reply;
  Evaluation& e = reply.evaluation;
  e.verdict = Verdict::kOk;
  e.message = "All fine.";
  e.stage = "time";
  e.check.notes = {"pid " + std::to_string(::getpid()), spare ? "a spare" : "no spare",
                   "seed " + std::to_string(job.options.seed)};
  if (Says(source, "wrong_when_confirmed") && !job.compile_mode.empty()) {
    e.verdict = Verdict::kWrongResult;
    e.message = "Wrong in a fresh worker.";
    e.stage = "check";
    return reply;
  }
  if (Says(source, "wrong!")) {
    e.verdict = Verdict::kWrongResult;
    e.message = "Off by one.";
    e.stage = "check";
    return reply;
  }
  if (Says(source, "poison\n") || Says(source, "poison!")) {
    e.verdict = Verdict::kDeviceFault;
    e.message = "Trap.";
    e.stage = "check";
    reply.poisoned = true;
    return reply;
  }
  Say(StageNote{"time"});
  e.candidate = Milliseconds(std::stod(Value(source, "candidate_ms", "1")));
  if (job.eager) e.eager = Milliseconds(std::stod(Value(source, "eager_ms", "4")));
  if (!job.compile_mode.empty()) {
    e.compiled_baseline = Milliseconds(3.5);
    e.speedup_compile = Speedup{3.5, 3.4, 3.6};
  }
  e.seconds = {{"check", 0.5}, {"time", 0.25}};
  return reply;
}

}  // namespace

int main(int argc, char** argv) {
  Hello hello;
  hello.program = "worker";
  hello.device.kind = argc > 2 && std::string(argv[2]) == "cpu" ? "cpu" : "gpu";
  hello.device.arch = "sm_90a";
  if (hello.device.kind == "gpu") hello.device.uuid = "GPU-fake-" + std::to_string(::getppid());
  hello.device.torch_version = "0";
  // A spare says hello once its first job is there, like the real one.
  char byte;
  const bool spare = std::string(argv[argc - 1]) == "--spare";
  if (spare) (void)!::recv(3, &byte, 1, MSG_PEEK);
  Say(hello);
  std::string problem;
  for (int served = -1;; ++served) {
    const ReadResult frame = ReadFrame(3, util::Deadline::Never().at());
    if (frame.status != ReadStatus::kFrame) return 0;
    const Result<ToWorker> job = DecodeToWorker(frame.payload);
    if (!job) return 3;
    if (const auto* load = std::get_if<LoadProblem>(&*job)) {
      problem = load->spec.source;
      Say(StageNote{"load"});
      Say(Load(problem));
    } else if (const auto* baseline = std::get_if<BaselineJob>(&*job)) {
      Say(StageNote{"baseline"});
      Say(Baseline(*baseline, problem));
    } else if (const auto* evaluate = std::get_if<EvaluateJob>(&*job)) {
      const FromChild answer = Evaluate(*evaluate, served, spare);
      Say(answer);
      const auto* reply = std::get_if<EvaluationReply>(&answer);
      if (reply != nullptr && reply->poisoned) return 9;
    } else {
      return 0;
    }
  }
}
