// One call of NVRTC: text in, cubin, PTX, lowered names and log out. Runs in the calling process:
// only the jailed child (compile_child.h) gives it a candidate's text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compile/nvrtc_library.h"
#include "protocol/messages.h"

namespace cudaagent::compile {

// The candidate's name to NVRTC. The folder does not exist, so #include "x" finds nothing beside it
// (--no-source-include would do that too, but breaks the toolkit's own headers), and what line
// information records is the same on every machine.
inline constexpr const char* kSourceDir = "/candidate/";
inline constexpr const char* kSourceName = "/candidate/kernel.cu";

// The options of a compile, without precompiled headers (docs/compile.md explains each). Part of
// the cache key.
std::vector<std::string> NvrtcOptions(const protocol::CompileJob& job,
                                      const std::vector<std::string>& include_dirs);

// Headers put before the candidate's first line, the prelude first.
struct FirstHeaders {
  std::vector<std::string> headers;  // "cooperative_groups.h"
  std::string use_pch;               // a precompiled form of exactly these, or empty
  std::string create_pch;            // write one, or empty
};

struct NvrtcInput {
  std::string source;
  std::vector<std::string> options;
  std::vector<std::string> kernels;  // name expressions
  FirstHeaders first;
};

struct NvrtcOutput {
  int status = kNvrtcSuccess;
  std::string status_text;  // NVRTC's name for it
  std::string log;          // as NVRTC wrote it, up to 4 MiB
  std::string cubin, ptx;
  std::map<std::string, std::string> lowered;
};

NvrtcOutput RunNvrtc(const NvrtcLibrary& library, const NvrtcInput& input);

}  // namespace cudaagent::compile
