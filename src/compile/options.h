// The command line of cudaagent-compile (docs/compile.md).
#pragma once

#include <string>
#include <vector>

#include "compile/nvrtc_library.h"
#include "cudaagent/result.h"

namespace cudaagent::compile {

struct Options {
  ToolkitPlaces places;
  std::string cache_dir;            // empty = util::CacheDir()/compile
  int64_t cache_bytes = 2LL << 30;  // --cache-size-mib
  int jobs = 0;                     // compiles at once, 0 = CPU cores
  std::string jail = "auto";        // "auto" | "landlock" | "chroot" | "none"
  std::string arch = "sm_90a";      // headers are precompiled for it; --once compiles for it
  bool version = false, help = false;

  // --once: compile one file, print what came of it, exit.
  std::string once;                  // path, empty = serve fd 3
  std::vector<std::string> kernels;  // --kernel
  std::string standard = "c++17";    // --std
  bool fast_math = false;
  int max_registers = 0;
  double timeout_s = 60;
  int64_t memory_bytes = 4LL << 30;  // --memory-mib
};

// kUsage with one sentence where an argument is unknown, lacks its value or has a bad one.
Result<Options> ParseOptions(const std::vector<std::string>& arguments);

// What --help prints.
std::string HelpText();

}  // namespace cudaagent::compile
