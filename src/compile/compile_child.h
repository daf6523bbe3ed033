// One compile in a jailed child: what the child does, and what its answer or its death means.
#pragma once

#include <string>
#include <vector>

#include "compile/forked_task.h"
#include "compile/jail.h"
#include "compile/nvrtc_compiler.h"
#include "protocol/messages.h"

namespace cudaagent::compile {

// Caps on what one compile may hand back.
inline constexpr size_t kMaxBinaryBytes = 32u << 20;  // cubin and PTX each

// A reply with what it talks about. `report.cubin_path` and `ptx_path` are not set yet.
struct Compiled {
  protocol::CompileReply reply;
  std::string cubin, ptx;
};

// What is wrong with a job before any compiler is asked: text no file may hold, options outside
// what docs/compile.md allows. True = `reply` says what.
bool RefuseJob(const protocol::CompileJob& job, protocol::CompileReply& reply);

// What NVRTC's answer means for the candidate.
Compiled Judge(const protocol::CompileJob& job, NvrtcOutput output,
               const std::vector<std::string>& include_dirs, JailKind jail);

struct ChildSetup {
  const NvrtcLibrary* library = nullptr;
  std::vector<std::string> include_dirs;
  JailKind jail = JailKind::kNone;
  std::vector<std::string> readable;  // what the jail lets it read, beside the include folders
  // Where NVRTC, when it uses precompiled headers, makes the unlinked, sparse file it maps its heap
  // from. The one thing a child may write to.
  std::string tmp_dir;
};

// For the child: enters the jail with what every compile needs, and points TMPDIR to tmp_dir.
// `writable` is allowed beside it.
Result<void> EnterCompileJail(const ChildSetup& setup, int64_t memory_bytes, double cpu_seconds,
                              const std::vector<std::string>& writable = {});

Result<ForkedTask> StartCompile(const ChildSetup& setup, const protocol::CompileJob& job,
                                const FirstHeaders& first);

// After task.Read() returned true. A cap that was hit is kCompileFailed; a child killed from
// outside or one that could not enter its jail is kInfraError.
Compiled FinishCompile(const protocol::CompileJob& job, ForkedTask& task);

}  // namespace cudaagent::compile
