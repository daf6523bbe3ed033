// A compiler that compiles nothing and answers what the source's "fake:" words say.
#include <string>

#include "protocol/frame.h"
#include "protocol/messages.h"
#include "util/time.h"

using namespace cudaagent;
using namespace cudaagent::protocol;

int main() {
  Hello hello;
  hello.program = "compile";
  hello.nvrtc_version = "13.0";
  (void)WriteFrame(3, Encode(FromChild(hello)));
  while (true) {
    const ReadResult frame = ReadFrame(3, util::Deadline::Never().at());
    if (frame.status != ReadStatus::kFrame) return 0;
    const Result<ToCompiler> message = DecodeToCompiler(frame.payload);
    const auto* job = message ? std::get_if<CompileJob>(&*message) : nullptr;
    if (job == nullptr) return 0;
    CompileReply reply;
    reply.id = job->id;
    reply.ok = job->source.find("fake: compile_fails") == std::string::npos;
    reply.verdict = reply.ok ? Verdict::kOk : Verdict::kCompileFailed;
    reply.message = reply.ok ? "" : "line 7: expected a ;.";
    // "fake: no_kernel=f<4>": that instance does not compile.
    for (const std::string& name : job->kernels) {
      if (job->source.find("fake: no_kernel=" + name) == std::string::npos) continue;
      reply.ok = false;
      reply.verdict = Verdict::kCompileFailed;
      reply.message = "static assertion failed.";
    }
    if (job->source.find("fake: compiler_broken") != std::string::npos) {
      reply.ok = false;
      reply.verdict = Verdict::kInfraError;
      reply.message = "The cache is full.";
    }
    reply.report.log = "a log";
    reply.report.cubin_path = "/cache/a.cubin";
    const bool odd = job->source.find("fake: odd_signature") != std::string::npos;
    for (const std::string& name : job->kernels) {
      reply.lowered[name] = "_" + name;
      reply.demangled[name] = name + (odd ? "(int)" : "(float const*, float*)");
    }
    (void)WriteFrame(3, Encode(FromChild(reply)));
  }
}
