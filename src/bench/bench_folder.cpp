#include "bench/bench_folder.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "protocol/evaluation_json.h"
#include "protocol/json_archive.h"
#include "store/run_folder.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::bench {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRowsBytes = size_t{2} << 30;

}  // namespace

// Found by their arguments' namespace, so outside of the unnamed one.
void Describe(auto& a, protocol::Is<Problem> auto& v) {
  a("key", v.key);
  a("level", v.level);
  a("id", v.id);
  a("name", v.name);
  a("path", v.path);
  a("sha256", v.sha256);
  a("consts", v.consts);
}

void Describe(auto& a, protocol::Is<Description> auto& v) {
  a("flags", v.flags);
  a("arguments", v.arguments);
  a("suite", v.suite);
  a("optimize", v.optimize);
  a("seed", v.seed);
  a("version", v.version);
  a("started", v.started);
  a("problems", v.problems);
}

namespace {

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string FreshFolder(const Description& description) {
  const std::string now = store::CompactNow();
  const std::string identity = description.suite + now + std::to_string(getpid());
  return fmt::format("runs/bench-{}-{}", now, util::Sha256Hex(identity).substr(0, 6));
}

Result<util::UniqueFd> Lock(const std::string& folder) {
  const std::string path = folder + "/lock";
  util::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) {
    return Fail(ErrorCode::kEnvironment,
                fmt::format("Could not create {}: {}.", path, strerror(errno)));
  }
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  // Of the process, so a problem's child, which inherits the descriptor, does not keep it.
  const auto deadline = util::Deadline::After(2);
  while (fcntl(fd.get(), F_SETLK, &whole) != 0) {
    if (deadline.Passed()) {
      return Fail(ErrorCode::kUsage, "Another cudaagent writes the bench in " + folder +
                                         ". Wait for it, or name "
                                         "another folder with --out.");
    }
    usleep(50'000);
  }
  return fd;
}

Result<Description> ReadDescription(const std::string& folder) {
  auto text = util::ReadFile(folder + "/bench.json", 64 << 20);
  if (!text) return tl::unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  auto description = protocol::FromJson<Description>(json, "bench");
  if (description) return description;
  return Fail(ErrorCode::kUsage,
              folder + "/bench.json does not read as a bench's: " + description.error().message);
}

// Keeps one row of each sample: a line that was written twice counts once, two that differ are an
// error.
Result<void> Keep(Row row, const std::string& where, std::vector<Row>* rows,
                  std::map<std::pair<std::string, int>, size_t>* places) {
  const auto [place, fresh] = places->emplace(std::pair{row.problem, row.sample}, rows->size());
  if (fresh) {
    rows->push_back(std::move(row));
    return {};
  }
  if (ToJson((*rows)[place->second]) == ToJson(row)) return {};
  return Fail(ErrorCode::kUsage,
              fmt::format("{}: a second row of {}, sample {}, that differs from the first. Remove "
                          "the wrong one of the two.",
                          where, util::SanitiseLog(row.problem, 200), row.sample));
}

// The rows of a file's text; `whole` gets how many bytes hold whole lines.
Result<std::vector<Row>> ParseRows(const std::string& path, const std::string& text,
                                   size_t* whole) {
  std::vector<Row> rows;
  std::map<std::pair<std::string, int>, size_t> places;
  *whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  int number = 0;
  for (const std::string& line : util::Split(std::string_view(text).substr(0, *whole), '\n')) {
    ++number;
    if (line.empty()) continue;
    auto row = RowFromJson(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false));
    if (!row)
      return Fail(ErrorCode::kUsage,
                  fmt::format("{}, line {}: {}", path, number, row.error().message));
    auto kept = Keep(std::move(*row), fmt::format("{}, line {}", path, number), &rows, &places);
    if (!kept) return tl::unexpected(kept.error());
  }
  return rows;
}

}  // namespace

bool HoldsBench(const std::string& folder) { return Exists(folder + "/bench.json"); }

Result<StoredBench> ReadBench(const std::string& folder) {
  StoredBench bench;
  auto description = ReadDescription(folder);
  if (!description) return tl::unexpected(description.error());
  bench.description = std::move(*description);
  const std::string path = folder + "/rows.jsonl";
  auto text = util::ReadFile(path, kMaxRowsBytes);
  if (!text) return tl::unexpected(text.error());
  size_t whole = 0;
  auto rows = ParseRows(path, *text, &whole);
  if (!rows) return tl::unexpected(rows.error());
  bench.rows = std::move(*rows);
  return bench;
}

Result<std::vector<Row>> ReadRows(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    auto bench = ReadBench(path);
    if (!bench) return tl::unexpected(bench.error());
    return std::move(bench->rows);
  }
  auto text = util::ReadFile(path, kMaxRowsBytes);
  if (!text) return tl::unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("rows") && json["rows"].is_array()) {
    std::vector<Row> rows;
    std::map<std::pair<std::string, int>, size_t> places;
    for (const auto& each : json["rows"]) {
      auto row = RowFromJson(each);
      if (!row) return Fail(ErrorCode::kUsage, path + ": " + row.error().message);
      if (auto kept = Keep(std::move(*row), path, &rows, &places); !kept)
        return tl::unexpected(kept.error());
    }
    return rows;
  }
  size_t whole = 0;
  auto rows = ParseRows(path, *text, &whole);
  if (rows && !rows->empty()) return rows;
  return Fail(ErrorCode::kUsage, path + " holds no rows of a bench" +
                                     (rows ? "." : ": " + rows.error().message) +
                                     " Give a bench folder, its report.json or its rows.jsonl.");
}

Result<BenchFolder> BenchFolder::Create(const std::string& out, Description description) {
  BenchFolder bench;
  bench.folder_ = fs::absolute(out.empty() ? FreshFolder(description) : out).lexically_normal();
  while (bench.folder_.size() > 1 && bench.folder_.back() == '/') bench.folder_.pop_back();
  if (auto made = util::MakeDirs(bench.folder_); !made) return tl::unexpected(made.error());
  auto lock = Lock(bench.folder_);
  if (!lock) return tl::unexpected(lock.error());
  bench.lock_ = std::move(*lock);
  for (const char* file : {"/bench.json", "/rows.jsonl", "/run.db", "/run.json"}) {
    if (!Exists(bench.folder_ + file)) continue;
    return Fail(ErrorCode::kUsage,
                bench.folder_ +
                    " already holds a bench or a run. To go on with a bench: cudaagent "
                    "bench --resume " +
                    bench.folder_ + ". Else name another folder with --out.");
  }
  description.started = util::NowIso8601();
  protocol::Writer writer;
  Describe(writer, description);
  nlohmann::json json = writer.Take();
  json["schema"] = 1;
  bench.description_ = std::move(description);
  // The rows' file first: a folder with a bench.json is whole.
  const std::string path = bench.folder_ + "/rows.jsonl";
  bench.file_ = util::UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!bench.file_.valid()) {
    return Fail(ErrorCode::kEnvironment,
                fmt::format("Could not create {}: {}.", path, strerror(errno)));
  }
  auto written =
      util::WriteFileAtomic(bench.folder_ + "/bench.json", protocol::ToText(json) + "\n");
  if (!written) return tl::unexpected(written.error());
  return bench;
}

Result<BenchFolder> BenchFolder::Resume(const std::string& folder) {
  BenchFolder bench;
  bench.folder_ = fs::absolute(folder).lexically_normal();
  while (bench.folder_.size() > 1 && bench.folder_.back() == '/') bench.folder_.pop_back();
  if (!HoldsBench(bench.folder_)) {
    return Fail(ErrorCode::kUsage, bench.folder_ + " holds no bench (there is no bench.json).");
  }
  auto lock = Lock(bench.folder_);
  if (!lock) return tl::unexpected(lock.error());
  bench.lock_ = std::move(*lock);
  auto stored = ReadBench(bench.folder_);
  if (!stored) return tl::unexpected(stored.error());
  bench.description_ = std::move(stored->description);
  std::string text;
  for (Row& row : stored->rows) {
    if (row.outcome == Outcome::kInfraError) continue;
    text += protocol::ToText(ToJson(row), -1) + "\n";
    bench.rows_.push_back(std::move(row));
  }
  const std::string path = bench.folder_ + "/rows.jsonl";
  if (auto written = util::WriteFileAtomic(path, text); !written)
    return tl::unexpected(written.error());
  bench.file_ = util::UniqueFd(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!bench.file_.valid()) {
    return Fail(ErrorCode::kEnvironment,
                fmt::format("Could not open {}: {}.", path, strerror(errno)));
  }
  return bench;
}

Result<void> BenchFolder::Append(Row row) {
  const std::string line = protocol::ToText(ToJson(row), -1) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(file_.get(), line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return Fail(ErrorCode::kEnvironment,
                  fmt::format("Could not write {}/rows.jsonl: {}. Make room and go on with: "
                              "cudaagent bench --resume {}",
                              folder_, strerror(errno), folder_));
    }
    done += n;
  }
  if (fsync(file_.get()) != 0) {
    return Fail(ErrorCode::kEnvironment,
                fmt::format("Could not write {}/rows.jsonl: {}.", folder_, strerror(errno)));
  }
  rows_.push_back(std::move(row));
  return {};
}

}  // namespace cudaagent::bench
