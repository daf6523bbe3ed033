#include "compile/compile_child.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "compile/compile_log.h"
#include "compile/cubin_reader.h"
#include "compile/kernel_names.h"
#include "compile/ptx_scan.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

constexpr int kExitOutOfMemory = 12;

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// On the pipe: three times an 8-byte length and as many bytes (reply as JSON, cubin, PTX).
bool WritePiece(int fd, std::string_view bytes) {
  const uint64_t size = bytes.size();
  return WriteAll(fd, std::string_view(reinterpret_cast<const char*>(&size), sizeof size)) &&
         WriteAll(fd, bytes);
}

bool TakePiece(std::string_view& from, std::string& piece) {
  uint64_t size = 0;
  if (from.size() < sizeof size) return false;
  ::memcpy(&size, from.data(), sizeof size);
  from.remove_prefix(sizeof size);
  if (size > from.size()) return false;
  piece.assign(from.substr(0, size));
  from.remove_prefix(size);
  return true;
}

void Blame(protocol::CompileReply& reply, Verdict verdict, std::string message) {
  reply.ok = false;
  reply.verdict = verdict;
  reply.message = std::move(message);
}

std::string Quoted(const std::vector<std::string>& names) {
  return "\"" + util::Join(names, "\", \"") + "\"";
}

std::string KernelsInCode(const std::string& source) {
  const std::vector<std::string> names = GlobalFunctions(source);
  if (names.empty()) return "the code has no __global__ function";
  return "the __global__ functions in the code are " + Quoted(names);
}

std::string NotAKernel(const std::string& expression, const std::string& source) {
  return "The plan's kernel \"" + expression +
         "\" is not a __global__ function: " + KernelsInCode(source) + ".";
}

// "f<256>" -> "f"
std::string BaseOf(const std::string& expression) {
  return std::string(util::Trim(expression.substr(0, expression.find('<'))));
}

std::string MemorySentence(const protocol::CompileJob& job) {
  return "The compile hit its memory cap of " + util::FormatBytes(job.memory_bytes) +
         "; large unrolls, deep template recursion and big constexpr tables are the usual reasons.";
}

std::string TimeSentence(const protocol::CompileJob& job) {
  return "The compile hit its time cap of " + util::FormatSeconds(job.timeout_s) +
         "; large unrolls, deep template recursion and constexpr loops are the usual reasons.";
}

std::string OutputSentence(const char* what) {
  return std::string("The compile hit its output cap: the ") + what + " is larger than " +
         util::FormatBytes(static_cast<int64_t>(kMaxBinaryBytes)) + ".";
}

void JudgeFailure(const protocol::CompileJob& job, const NvrtcOutput& output, const CompileLog& log,
                  protocol::CompileReply& reply) {
  if (output.status == kNvrtcOutOfMemory || util::EndsWith(log.first_error, "): out of memory")) {
    Blame(reply, Verdict::kCompileFailed, MemorySentence(job));
  } else if (output.status == kNvrtcBuiltinFailure) {
    Blame(reply, Verdict::kInfraError, "NVRTC lacks a part of itself: " + log.text);
  } else if (log.errors > 0) {
    std::string sentence = "NVRTC refused the code: " + log.first_error;
    if (log.first_error.empty()) sentence = "NVRTC refused the code";
    if (log.errors > 1) sentence += " (the first of " + std::to_string(log.errors) + " errors)";
    Blame(reply, Verdict::kCompileFailed, sentence + ".");
  } else if (!log.name_errors.empty()) {
    const NameError& error = log.name_errors.front();
    const auto functions = GlobalFunctions(job.source);
    const bool there =
        std::find(functions.begin(), functions.end(), BaseOf(error.expression)) != functions.end();
    if (error.reason.find("non-__global__ function") != std::string::npos) {
      Blame(reply, Verdict::kBadCandidate, NotAKernel(error.expression, job.source));
      return;
    }
    Blame(reply, Verdict::kBadCandidate,
          there ? "The plan's kernel \"" + error.expression +
                      "\" does not fit its definition in the code: " + error.reason + "."
                : "The plan names the kernel \"" + error.expression +
                      "\", which the code does not define: " + KernelsInCode(job.source) + ".");
  } else if (output.status == kNvrtcInvalidOption) {
    Blame(reply, Verdict::kInfraError,
          "NVRTC refused an option (architecture \"" + job.arch + "\"): " + log.text);
  } else {
    Blame(reply, Verdict::kCompileFailed, "NVRTC failed on the code: " + output.status_text + ".");
  }
}

// Kernels the plan names but the module lacks, and functions only a linker or the device runtime
// has.
bool JudgeModule(const protocol::CompileJob& job, const NvrtcOutput& output,
                 protocol::CompileReply& reply) {
  const PtxSymbols symbols = ScanPtx(output.ptx);
  for (const std::string& kernel : job.kernels) {
    const auto lowered = output.lowered.find(kernel);
    if (lowered == output.lowered.end() || std::find(symbols.entries.begin(), symbols.entries.end(),
                                                     lowered->second) == symbols.entries.end()) {
      Blame(reply, Verdict::kBadCandidate, NotAKernel(kernel, job.source));
      return false;
    }
  }
  for (const std::string& name : symbols.extern_functions) {
    if (name == "vprintf" || name == "__assertfail") continue;
    const std::string shown = Signature(name);
    const bool heap = name == "malloc" || name == "free";
    Blame(reply, Verdict::kBadCandidate,
          heap ? "The code allocates memory on the device (malloc, free, new or delete): use a "
                 "buffer of the plan, shared memory or local arrays instead."
               : "The code calls \"" + shown +
                     "\", which it does not define: a candidate is one self-contained file, and "
                     "kernels cannot launch kernels.");
    return false;
  }
  reply.report.flags = symbols.flags;
  for (const std::string& what : symbols.forbidden) {
    // The toolkit's own barriers and semaphores read the global timer while they wait.
    if (what == "%globaltimer" && symbols.timer_only_in_headers && !RenamesLines(job.source)) {
      reply.report.flags.push_back(what);
      continue;
    }
    const bool timer = what.front() == '%';
    Blame(reply, Verdict::kSuspectedHack,
          timer ? "The code reads the clock (" + what +
                      "): a kernel that computes a result has no use for it, one that senses when "
                      "it is timed has."
                : "The code uses \"" + what +
                      "\", which lets cached lines outlast or skip the timing's cache flush.");
    return false;
  }
  return true;
}

int RunCompile(const ChildSetup& setup, const protocol::CompileJob& job, const FirstHeaders& first,
               int fd) {
  std::set_new_handler([] { ::_exit(kExitOutOfMemory); });
  Compiled compiled;
  compiled.reply.id = job.id;
  // The parent's clock kills at the time cap; the limit on CPU time holds should the parent be
  // stopped.
  if (auto jailed = EnterCompileJail(setup, job.memory_bytes, job.timeout_s + 5); !jailed) {
    Blame(compiled.reply, Verdict::kInfraError, jailed.error().message);
  } else {
    NvrtcInput input{job.source, NvrtcOptions(job, setup.include_dirs), job.kernels, first};
    compiled = Judge(job, RunNvrtc(*setup.library, input), setup.include_dirs, setup.jail);
  }
  return WritePiece(fd, protocol::Encode(protocol::FromChild(compiled.reply))) &&
                 WritePiece(fd, compiled.cubin) && WritePiece(fd, compiled.ptx)
             ? 0
             : 1;
}

}  // namespace

bool RefuseJob(const protocol::CompileJob& job, protocol::CompileReply& reply) {
  reply.id = job.id;
  reply.report.attempted = false;
  const auto refuse = [&](Verdict verdict, std::string message) {
    Blame(reply, verdict, std::move(message));
    return true;
  };
  if (job.source.find('\0') != std::string::npos) {
    return refuse(Verdict::kBadCandidate, "The code holds a NUL character; it must be plain text.");
  }
  if (job.standard != "c++17" && job.standard != "c++20") {
    return refuse(Verdict::kBadCandidate,
                  "The plan's \"std\" is \"" + util::SanitiseLog(job.standard, 64) +
                      "\"; it may be \"c++17\" (the default) or \"c++20\".");
  }
  const bool arch_fits = util::StartsWith(job.arch, "sm_") && job.arch.size() <= 8 &&
                         std::all_of(job.arch.begin() + 3, job.arch.end(), [](char c) {
                           return (c >= '0' && c <= '9') || c == 'a' || c == 'f';
                         });
  if (!arch_fits) {
    return refuse(Verdict::kInfraError, "The architecture \"" + util::SanitiseLog(job.arch, 64) +
                                            "\" is none NVRTC knows; it looks like \"sm_90a\".");
  }
  if (job.max_registers < 0 || job.max_registers > 255) {
    return refuse(Verdict::kBadCandidate, "The plan's \"maxrregcount\" is " +
                                              std::to_string(job.max_registers) +
                                              "; it must lie between 1 and 255.");
  }
  for (const std::string& kernel : job.kernels) {
    const bool plain =
        !kernel.empty() && kernel.size() <= 4096 &&
        std::all_of(kernel.begin(), kernel.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (!plain) {
      return refuse(Verdict::kBadCandidate, "The plan's kernel name \"" +
                                                util::SanitiseLog(kernel, 256) +
                                                "\" is empty, too long or not plain ASCII.");
    }
  }
  return false;
}

Compiled Judge(const protocol::CompileJob& job, NvrtcOutput output,
               const std::vector<std::string>& include_dirs, JailKind jail) {
  Compiled compiled;
  protocol::CompileReply& reply = compiled.reply;
  reply.id = job.id;
  reply.report.attempted = true;
  const CompileLog log = ReadLog(output.log, include_dirs);
  reply.report.log = log.text;
  if (jail == JailKind::kNone) {
    reply.report.log =
        "note: this machine has neither Landlock nor a root to change: the compiler ran without a "
        "file jail\n" +
        reply.report.log;
  }
  if (output.status != kNvrtcSuccess) {
    JudgeFailure(job, output, log, reply);
    return compiled;
  }
  if (!JudgeModule(job, output, reply)) return compiled;
  if (output.cubin.size() > kMaxBinaryBytes || output.ptx.size() > kMaxBinaryBytes) {
    Blame(reply, Verdict::kCompileFailed,
          OutputSentence(output.cubin.size() > kMaxBinaryBytes ? "cubin" : "PTX"));
    return compiled;
  }
  const auto resources = ReadCubin(output.cubin);
  for (const std::string& kernel : job.kernels) {
    const std::string& lowered = output.lowered[kernel];
    reply.demangled[kernel] = Signature(lowered);
    KernelResources row;
    if (const auto found = resources.find(lowered); found != resources.end()) row = found->second;
    row.name = kernel;
    reply.report.kernels.push_back(row);
  }
  reply.lowered = std::move(output.lowered);
  reply.ok = true;
  reply.verdict = Verdict::kOk;
  // Line tables of PTX readers show the name a person knows.
  if (const size_t at = output.ptx.find(kSourceName); at != std::string::npos) {
    output.ptx.erase(at, std::strlen(kSourceDir));
  }
  compiled.cubin = std::move(output.cubin);
  compiled.ptx = std::move(output.ptx);
  return compiled;
}

Result<void> EnterCompileJail(const ChildSetup& setup, int64_t memory_bytes, double cpu_seconds,
                              const std::vector<std::string>& writable) {
  constexpr int64_t kMaxFileBytes = 1LL << 30;
  JailLimits limits;
  limits.readable = setup.include_dirs;
  limits.readable.insert(limits.readable.end(), setup.readable.begin(), setup.readable.end());
  limits.writable = writable;
  limits.writable.push_back(setup.tmp_dir);
  limits.memory_bytes = memory_bytes;
  limits.cpu_seconds = cpu_seconds;
  limits.file_bytes = kMaxFileBytes;
  ::setenv("TMPDIR", setup.tmp_dir.c_str(), 1);
  return EnterJail(setup.jail, limits);
}

Result<ForkedTask> StartCompile(const ChildSetup& setup, const protocol::CompileJob& job,
                                const FirstHeaders& first) {
  constexpr size_t kReplyBytes = 8u << 20;
  return ForkedTask::Start([&](int fd) { return RunCompile(setup, job, first, fd); }, job.timeout_s,
                           2 * kMaxBinaryBytes + kReplyBytes);
}

Compiled FinishCompile(const protocol::CompileJob& job, ForkedTask& task) {
  const ForkedTask::End end = task.Finish();
  Compiled compiled;
  compiled.reply.id = job.id;
  compiled.reply.report.attempted = true;
  if (end.timed_out || end.signal == SIGXCPU) {
    Blame(compiled.reply, Verdict::kCompileFailed, TimeSentence(job));
    return compiled;
  }
  if (end.overflowed) {
    Blame(compiled.reply, Verdict::kCompileFailed, OutputSentence("answer"));
    return compiled;
  }
  if (end.status == kExitOutOfMemory) {
    Blame(compiled.reply, Verdict::kCompileFailed, MemorySentence(job));
    return compiled;
  }
  if (end.signal == SIGKILL || end.signal == SIGTERM) {
    Blame(compiled.reply, Verdict::kInfraError,
          "The compile process was killed from outside (" + std::string(::strsignal(end.signal)) +
              "); the machine may be short of memory.");
    return compiled;
  }
  if (end.signal != 0) {
    Blame(compiled.reply, Verdict::kCompileFailed,
          "NVRTC crashed on the code (" + std::string(::strsignal(end.signal)) +
              "); deep template recursion and nesting are the usual reasons.");
    return compiled;
  }
  std::string_view rest = task.output();
  std::string json;
  if (TakePiece(rest, json) && TakePiece(rest, compiled.cubin) && TakePiece(rest, compiled.ptx)) {
    if (auto message = protocol::DecodeFromChild(json)) {
      if (auto* reply = std::get_if<protocol::CompileReply>(&*message)) {
        compiled.reply = std::move(*reply);
        compiled.reply.id = job.id;
        return compiled;
      }
    }
  }
  compiled.cubin.clear();
  compiled.ptx.clear();
  Blame(compiled.reply, Verdict::kInfraError,
        "The compile process ended with status " + std::to_string(end.status) +
            " and without an answer.");
  return compiled;
}

}  // namespace cudaagent::compile
