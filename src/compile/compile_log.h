// NVRTC's log, made fit to show: what is wrong with the candidate and where, and nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::compile {

inline constexpr size_t kMaxLogBytes = 64u << 10;

// A name expression NVRTC could not resolve, and why.
struct NameError {
  std::string expression, reason;
};

struct CompileLog {
  // Errors first, then the rest in NVRTC's order. Diagnostics that quote a file which is neither
  // the candidate nor a header of ours or of `include_dirs` are gone; paths are shortened
  // ("kernel.cu", "cuda_fp16.h"); no control characters, valid UTF-8, at most kMaxLogBytes.
  std::string text;
  std::string first_error;  // "kernel.cu(3): identifier \"foo\" is undefined", empty = no error
  int errors = 0;           // in code; errors about name expressions are not counted
  std::vector<NameError> name_errors;  // one for each expression
};

CompileLog ReadLog(std::string_view raw, const std::vector<std::string>& include_dirs);

}  // namespace cudaagent::compile
