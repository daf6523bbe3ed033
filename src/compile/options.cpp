#include "compile/options.h"

#include <charconv>
#include <functional>

#include "util/text.h"

namespace cudaagent::compile {
namespace {

using Setter = std::function<bool(Options&, const std::string&)>;

struct Row {
  const char* name;
  const char* value;  // nullptr = a flag
  const char* help;
  Setter set;  // false = the value does not fit
};

template <typename T>
bool Number(const std::string& text, T low, T high, T& into) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    return false;
  }
  into = value;
  return true;
}

bool Mebibytes(const std::string& text, int64_t& into) {
  int64_t mib = 0;
  if (!Number<int64_t>(text, 1, 1 << 30, mib)) return false;
  into = mib << 20;
  return true;
}

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"--nvrtc", "FILE", "this libnvrtc and no other",
       [](Options& o, const std::string& v) {
         o.places.nvrtc_path = v;
         return true;
       }},
      {"--nvrtc-dir", "DIR", "look for libnvrtc here first (repeatable)",
       [](Options& o, const std::string& v) {
         o.places.nvrtc_dirs.push_back(v);
         return true;
       }},
      {"--include-dir", "DIR", "a header folder before the toolkit's (repeatable)",
       [](Options& o, const std::string& v) {
         o.places.include_dirs.push_back(v);
         return true;
       }},
      {"--cache-dir", "DIR", "where compiled kernels are kept",
       [](Options& o, const std::string& v) {
         o.cache_dir = v;
         return true;
       }},
      {"--cache-size-mib", "N", "how large that may grow (default 2048)",
       [](Options& o, const std::string& v) { return Mebibytes(v, o.cache_bytes); }},
      {"--jobs", "N", "compiles at once (default: CPU cores)",
       [](Options& o, const std::string& v) { return Number(v, 1, 1024, o.jobs); }},
      {"--jail", "KIND", "auto, landlock, chroot or none",
       [](Options& o, const std::string& v) {
         o.jail = v;
         return v == "auto" || v == "landlock" || v == "chroot" || v == "none";
       }},
      {"--arch", "ARCH", "the architecture to prepare for (default sm_90a)",
       [](Options& o, const std::string& v) {
         o.arch = v;
         return util::StartsWith(v, "sm_");
       }},
      {"--once", "FILE", "compile this file, print the result, exit",
       [](Options& o, const std::string& v) {
         o.once = v;
         return true;
       }},
      {"--kernel", "NAME", "with --once: a kernel that must be there, \"f<256>\" (repeatable)",
       [](Options& o, const std::string& v) {
         o.kernels.push_back(v);
         return true;
       }},
      {"--std", "STD", "with --once: c++17 or c++20",
       [](Options& o, const std::string& v) {
         o.standard = v;
         return true;
       }},
      {"--fast-math", nullptr, "with --once: --use_fast_math",
       [](Options& o, const std::string&) {
         o.fast_math = true;
         return true;
       }},
      {"--max-registers", "N", "with --once: --maxrregcount",
       [](Options& o, const std::string& v) { return Number(v, 1, 255, o.max_registers); }},
      {"--timeout", "SECONDS", "with --once: time cap (default 60)",
       [](Options& o, const std::string& v) {
         int seconds = 0;
         if (!Number(v, 1, 3600, seconds)) return false;
         o.timeout_s = seconds;
         return true;
       }},
      {"--memory-mib", "N", "with --once: memory cap (default 4096)",
       [](Options& o, const std::string& v) { return Mebibytes(v, o.memory_bytes); }},
      {"--version", nullptr, "print the version",
       [](Options& o, const std::string&) {
         o.version = true;
         return true;
       }},
      {"--help", nullptr, "print this",
       [](Options& o, const std::string&) {
         o.help = true;
         return true;
       }},
  };
  return rows;
}

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i], value;
    const size_t equals = name.find('=');
    const bool joined = equals != std::string::npos && util::StartsWith(name, "--");
    if (joined) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const Row* row = nullptr;
    std::vector<std::string> known;
    for (const Row& candidate : Rows()) {
      known.emplace_back(candidate.name);
      if (name == candidate.name) row = &candidate;
    }
    if (row == nullptr) {
      return Fail(ErrorCode::kUsage, "cudaagent-compile has no option \"" + name + "\"." +
                                         util::DidYouMean(name, known) + " See --help.");
    }
    if (row->value != nullptr && !joined) {
      if (++i == arguments.size()) {
        return Fail(ErrorCode::kUsage, name + " needs a value (" + row->value + ").");
      }
      value = arguments[i];
    }
    if ((row->value == nullptr && joined) || !row->set(options, value)) {
      return Fail(ErrorCode::kUsage,
                  "\"" + value + "\" is no value for " + name + ": " + row->help + ".");
    }
  }
  return options;
}

std::string HelpText() {
  std::string text =
      "Usage: cudaagent-compile [OPTIONS]\n\n"
      "Compiles CUDA candidates with NVRTC for cudaagent, which starts it and talks to it on\n"
      "descriptor 3. With --once it compiles one file for a person (docs/compile.md).\n\n";
  for (const Row& row : Rows()) {
    std::string left = "  " + std::string(row.name);
    if (row.value != nullptr) left += " " + std::string(row.value);
    left.resize(std::max<size_t>(left.size() + 2, 26), ' ');
    text += left + row.help + "\n";
  }
  return text;
}

}  // namespace cudaagent::compile
