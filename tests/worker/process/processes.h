// The real worker and the real compiler as children of a test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "candidate/plan.h"
#include "candidate/validate.h"
#include "protocol/frame.h"
#include "protocol/messages.h"
#include "util/subprocess.h"
#include "util/time.h"

namespace cudaagent::worker {

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> ChildEnvironment() {
  std::vector<std::string> environment;
  for (const char* name :
       {"PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"}) {
    if (const char* value = std::getenv(name))
      environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

// One of our programs and its socket. `Expect` skips nothing: stages are read like replies.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    arguments[0] = std::string(CUDAAGENT_BIN_DIR) + "/" + arguments[0];
    log_ = testing::TempDir() + "cudaagent_worker_test_" + std::to_string(getpid()) + ".log";
    auto spawned = util::Subprocess::Spawn({arguments, ChildEnvironment(), log_, ""});
    if (spawned) child_ = std::move(*spawned);
    EXPECT_TRUE(spawned) << (spawned ? "" : spawned.error().message);
  }

  util::Subprocess& child() { return child_; }
  std::string Log() const { return ReadText(log_); }

  template <typename Message>
  void Send(const Message& message) {
    const auto sent = protocol::WriteFrame(child_.socket(), protocol::Encode(message));
    EXPECT_TRUE(sent) << (sent ? "" : sent.error().message);
  }
  void SendBytes(const std::string& bytes) {
    EXPECT_EQ(write(child_.socket(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }

  std::optional<protocol::FromChild> Next(double seconds = 240) {
    const auto read = protocol::ReadFrame(child_.socket(), util::Deadline::After(seconds).at());
    if (read.status != protocol::ReadStatus::kFrame) return std::nullopt;
    auto message = protocol::DecodeFromChild(read.payload);
    if (!message) {
      ADD_FAILURE() << message.error().message;
      return std::nullopt;
    }
    return std::move(*message);
  }

  // The next message that is no stage note; the notes are kept in `stages`.
  template <typename Reply>
  std::optional<Reply> Expect(double seconds = 240) {
    while (auto message = Next(seconds)) {
      if (const auto* note = std::get_if<protocol::StageNote>(&*message)) {
        stages.push_back(note->stage);
        continue;
      }
      if (auto* reply = std::get_if<Reply>(&*message)) return std::move(*reply);
      if (const auto* error = std::get_if<protocol::ErrorReply>(&*message)) {
        ADD_FAILURE() << "an error reply: " << error->error.message;
      } else {
        ADD_FAILURE() << "a reply of another type";
      }
      return std::nullopt;
    }
    ADD_FAILURE() << "no reply; the log says:\n" << Log();
    return std::nullopt;
  }

  std::vector<std::string> stages;

 private:
  std::string log_;
  util::Subprocess child_;
};

// A problem of benchmarks/problems/ at the given sizes.
inline ProblemSpec Benchmark(const std::string& name, std::map<std::string, std::string> consts) {
  ProblemSpec spec;
  spec.path = std::string(CUDAAGENT_SOURCE_DIR) + "/benchmarks/problems/" + name + ".py";
  spec.source = ReadText(spec.path);
  spec.consts = std::move(consts);
  return spec;
}
inline ProblemSpec Softmax(const std::string& batch = "64", const std::string& dim = "1024") {
  return Benchmark("softmax", {{"batch_size", batch}, {"dim", dim}});
}
// What kernels/faulty/ are for.
inline ProblemSpec ScalarTimesMatrix() {
  return Benchmark("scalar_times_matrix", {{"rows", "64"}, {"columns", "256"}});
}

// Compiles the kernels of `source` for `problem` with the real compiler.
inline protocol::EvaluateJob Compiled(const std::string& source, const ProblemInfo& problem,
                                      const std::string& arch = "sm_90a") {
  protocol::EvaluateJob job;
  job.source = source;
  auto parsed = candidate::ParseCandidate(source);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().message;
    return job;
  }
  auto kernels = candidate::KernelInstances(*parsed, problem);
  if (!kernels) {
    ADD_FAILURE() << kernels.error().message;
    return job;
  }
  if (kernels->empty()) return job;
  static Program* compiler = new Program(
      {"cudaagent-compile", "--cache-dir", testing::TempDir() + "cudaagent_worker_test_cubins"});
  static const auto hello = compiler->Expect<protocol::Hello>();
  if (!hello) return job;
  protocol::CompileJob compile;
  compile.id = 1;
  compile.source = source;
  compile.arch = arch;
  compile.kernels = *kernels;
  compiler->Send(protocol::ToCompiler(compile));
  const auto reply = compiler->Expect<protocol::CompileReply>();
  if (!reply) return job;
  EXPECT_TRUE(reply->ok) << reply->message << "\n" << reply->report.log;
  job.cubin_path = reply->report.cubin_path;
  job.ptx_path = reply->report.ptx_path;
  job.lowered = reply->lowered;
  job.demangled = reply->demangled;
  return job;
}

}  // namespace cudaagent::worker
