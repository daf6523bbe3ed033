#include "compile/precompiled_headers.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "compile/jail.h"
#include "util/log.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

struct Known {
  const char* header;
  bool heavy;  // brings in libcu++'s templates: from half a second to two to parse
};

// In the order they are put before a candidate.
constexpr Known kKnown[] = {
    {"cuda_fp16.h", false},
    {"cuda_bf16.h", false},
    {"cuda_fp8.h", false},
    {"mma.h", false},
    {"cuda_pipeline.h", false},
    {"cooperative_groups.h", true},
    {"cooperative_groups/memcpy_async.h", true},
    {"cooperative_groups/reduce.h", true},
    {"cooperative_groups/scan.h", true},
    {"cuda/atomic", true},
    {"cuda/barrier", true},
    {"cuda/pipeline", true},
    {"cuda/ptx", true},
    {"cuda/std/array", true},
    {"cuda/std/cmath", true},
    {"cuda/std/limits", true},
    {"cuda/std/tuple", true},
    {"cuda/std/type_traits", true},
    {"cuda/std/utility", true},
    {"cub/block/block_load.cuh", true},
    {"cub/block/block_reduce.cuh", true},
    {"cub/block/block_scan.cuh", true},
    {"cub/block/block_store.cuh", true},
    {"cub/cub.cuh", true},
    {"cub/warp/warp_reduce.cuh", true},
    {"curand_kernel.h", true},
};

constexpr size_t kHeapBytes = 512u << 20;  // cub.cuh needs 180 MB; untouched pages cost nothing
constexpr int64_t kBuildMemoryBytes = 4LL << 30;
constexpr double kBuildSeconds = 120;

bool Heavy(const std::string& header) {
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [&](const Known& known) { return known.heavy && header == known.header; });
}

// What of `included` may be precompiled, in one order. mma.h rides along with cooperative_groups.h:
// everything in it is in its own namespace, and one file then serves both.
std::vector<std::string> Precompilable(const std::vector<std::string>& included) {
  const auto has = [&](std::string_view name) {
    return std::find(included.begin(), included.end(), name) != included.end();
  };
  std::vector<std::string> headers;
  for (const Known& known : kKnown) {
    const bool rides = std::string_view(known.header) == "mma.h" && has("cooperative_groups.h");
    if (has(known.header) || rides) headers.emplace_back(known.header);
  }
  return headers;
}

bool Subset(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return std::all_of(part.begin(), part.end(), [&](const std::string& header) {
    return std::find(whole.begin(), whole.end(), header) != whole.end();
  });
}

// Heavy headers decide; the light ones break ties.
size_t Worth(const std::vector<std::string>& headers) {
  size_t worth = 0;
  for (const std::string& header : headers) worth += Heavy(header) ? 100 : 1;
  return worth;
}

}  // namespace

std::vector<std::string> LeadingIncludes(std::string_view source) {
  std::vector<std::string> headers;
  size_t at = 0;
  const auto skip_blanks = [&](std::string_view blanks) {
    while (at < source.size() && blanks.find(source[at]) != std::string_view::npos) ++at;
  };
  for (;;) {
    skip_blanks(" \t\r\n");
    if (source.substr(at, 2) == "//") {
      at = source.find('\n', at);
      if (at == std::string_view::npos || source[at - 1] == '\\') return headers;
    } else if (source.substr(at, 2) == "/*") {
      at = source.find("*/", at + 2);
      if (at == std::string_view::npos) return headers;
      at += 2;
    } else if (at < source.size() && source[at] == '#') {
      const size_t end = std::min(source.find('\n', at), source.size());
      const std::string_view line = source.substr(at, end - at);
      std::string_view rest = util::Trim(line.substr(1));
      if (!util::StartsWith(rest, "include")) return headers;
      rest = util::Trim(rest.substr(7));
      if (rest.size() < 3 || (rest[0] != '<' && rest[0] != '"')) return headers;
      const size_t close = rest.find(rest[0] == '<' ? '>' : '"', 1);
      if (close == std::string_view::npos) return headers;
      const std::string_view after = util::Trim(rest.substr(close + 1));
      if (!after.empty() && !util::StartsWith(after, "//")) return headers;
      headers.emplace_back(rest.substr(1, close - 1));
      at = end;
    } else {
      return headers;
    }
  }
}

PrecompiledHeaders::PrecompiledHeaders(ChildSetup setup, std::string dir)
    : setup_(std::move(setup)), dir_(std::move(dir)) {}

void PrecompiledHeaders::Warm(const std::vector<std::string>& nvrtc_options) {
  const NvrtcLibrary& library = *setup_.library;
  if (library.SetPchHeapSize != nullptr && library.GetPchCreateStatus != nullptr) {
    usable_ = library.SetPchHeapSize(kHeapBytes) == kNvrtcSuccess;
  }
  NvrtcInput input;
  input.source = "\n";
  input.options = nvrtc_options;
  const std::string path = dir_ + "/0.pch";
  if (usable_) input.first.create_pch = path;
  // NVRTC makes a temporary file here, and nothing else in this process does.
  const char* before = ::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", setup_.tmp_dir.c_str(), 1);
  const NvrtcOutput output = RunNvrtc(library, input);
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  if (output.status != kNvrtcSuccess) {
    util::LogWarn("The compiler could not be warmed up: " + output.log);
    usable_ = false;
  }
  if (!usable_) return;
  const auto remove = [](const std::string* file) {
    ::unlink(file->c_str());
    delete file;
  };
  files_.push_back(
      {{nvrtc_options, {}}, std::shared_ptr<const std::string>(new std::string(path), remove), 0});
  Want({nvrtc_options, Precompilable({"cooperative_groups.h"})});
}

void PrecompiledHeaders::Want(Wanted wanted) {
  const auto known = [&](const std::vector<Wanted>& list) {
    return std::find(list.begin(), list.end(), wanted) != list.end();
  };
  constexpr size_t kMaxQueue = 16, kMaxFailures = 64;
  if (wanted_.size() >= kMaxQueue || failed_.size() >= kMaxFailures) return;
  if (known(wanted_) || known(failed_) || (building_ && building_->what == wanted)) return;
  wanted_.push_back(std::move(wanted));
}

PrecompiledHeaders::Choice PrecompiledHeaders::For(const std::string& source,
                                                   const std::vector<std::string>& nvrtc_options) {
  if (!usable_) return {};
  const std::vector<std::string> headers = Precompilable(LeadingIncludes(source));
  File* best = nullptr;
  for (File& file : files_) {
    if (file.what.options != nvrtc_options || !Subset(file.what.headers, headers)) continue;
    if (best == nullptr || Worth(file.what.headers) > Worth(best->what.headers)) best = &file;
  }
  // Another one pays where a heavy header, or the prelude under these options, is not covered.
  if (best == nullptr || Worth(headers) / 100 > Worth(best->what.headers) / 100) {
    Want({nvrtc_options, headers});
  }
  if (best == nullptr) return {};
  best->last_use = ++uses_;
  return {{best->what.headers, *best->path, ""}, best->path};
}

void PrecompiledHeaders::MakeNext() {
  if (!usable_ || building_ || wanted_.empty()) return;
  Wanted what = std::move(wanted_.front());
  wanted_.erase(wanted_.begin());
  const std::string path = dir_ + "/" + std::to_string(++made_) + ".pch";
  auto task = ForkedTask::Start(
      [&](int) {
        (void)!::nice(10);
        if (!EnterCompileJail(setup_, kBuildMemoryBytes, kBuildSeconds, {dir_})) return 1;
        NvrtcInput input;
        input.source = "\n";
        input.options = what.options;
        input.first.headers = what.headers;
        input.first.create_pch = path;
        return RunNvrtc(*setup_.library, input).status == kNvrtcSuccess ? 0 : 1;
      },
      kBuildSeconds, 1);
  if (!task) {
    util::LogWarn(task.error().message);
    return;
  }
  building_ = std::make_unique<Building>(Building{std::move(what), path, std::move(*task)});
}

void PrecompiledHeaders::FinishTask() {
  const std::unique_ptr<Building> built = std::move(building_);
  const ForkedTask::End end = built->task.Finish();
  if (end.signal != 0 || end.status != 0 || ::access(built->path.c_str(), R_OK) != 0) {
    util::LogInfo("No precompiled header was made for " + util::Join(built->what.headers, ", "));
    ::unlink(built->path.c_str());
    failed_.push_back(built->what);
    return;
  }
  if (files_.size() >= kMaxFiles) {
    files_.erase(std::min_element(files_.begin(), files_.end(), [](const File& a, const File& b) {
      return a.last_use < b.last_use;
    }));
  }
  const auto remove = [](const std::string* file) {
    ::unlink(file->c_str());
    delete file;
  };
  files_.push_back({built->what,
                    std::shared_ptr<const std::string>(new std::string(built->path), remove),
                    ++uses_});
}

}  // namespace cudaagent::compile
