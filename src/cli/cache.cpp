// cudaagent cache: what is kept between runs, and how to take it away.
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cache/cubins.h"
#include "cli/app.h"
#include "cli/commands.h"
#include "cli/duration.h"
#include "protocol/evaluation_json.h"
#include "util/paths.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

namespace fs = std::filesystem;

// What a run that goes on may be about to load.
constexpr std::time_t kInUseSeconds = 600;

struct CacheCommand {
  CLI::App* sub = nullptr;
  bool json = false;
  std::string max_size = "2GiB";
  std::string older_than;
  bool dry_run = false;
  bool yes = false;
};

struct Kept {
  cache::Entry entry;
  bool cubin = false;  // else a baseline
};

std::string CubinDir() { return util::CacheDir() + "/cubins"; }
std::string BaselineDir() { return util::CacheDir() + "/baselines"; }

std::vector<Kept> Everything() {
  std::vector<Kept> all;
  for (cache::Entry& entry : cache::CubinEntries(CubinDir()))
    all.push_back({std::move(entry), true});
  std::error_code error;
  for (const auto& file : fs::directory_iterator(BaselineDir(), error)) {
    struct stat status;
    const std::string path = file.path().string();
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    all.push_back({{path, status.st_size, status.st_mtime}, false});
  }
  return all;
}

int64_t BytesOf(const std::vector<Kept>& all) {
  int64_t bytes = 0;
  for (const Kept& kept : all) bytes += kept.entry.bytes;
  return bytes;
}

void Remove(const Kept& kept) {
  std::error_code ignored;
  if (kept.cubin) {
    cache::RemoveCubin(kept.entry.path, CubinDir());
  } else {
    fs::remove(kept.entry.path, ignored);
  }
}

int PrintOr(const std::string& text) {
  auto printed = Print(text);
  return printed ? kExitOk : Report(printed.error(), false);
}

int Stat(const CacheCommand& command) {
  nlohmann::json json = {{"schema", 1}, {"path", util::CacheDir()}};
  std::string text = "path       " + util::CacheDir() + "\n";
  const std::vector<Kept> all = Everything();
  for (const bool cubins : {true, false}) {
    std::vector<Kept> part;
    std::copy_if(all.begin(), all.end(), std::back_inserter(part),
                 [&](const Kept& k) { return k.cubin == cubins; });
    const char* name = cubins ? "cubins" : "baselines";
    json[name] = {{"entries", part.size()},
                  {"bytes", BytesOf(part)},
                  {"path", cubins ? CubinDir() : BaselineDir()}};
    text += fmt::format("{:<10} {:>7} {:<8} {:>10}\n", name, part.size(),
                        part.size() == 1 ? "entry" : "entries", util::FormatBytes(BytesOf(part)));
  }
  const int64_t whole = cache::BytesBelow(util::CacheDir());
  const int64_t other = std::max<int64_t>(0, whole - BytesOf(all));
  json["other"] = {{"bytes", other}};
  json["bytes"] = whole;
  text += fmt::format("{:<10} {:>7} {:<8} {:>10}  precompiled headers and scratch of compilers\n",
                      "other", "", "", util::FormatBytes(other));
  text +=
      fmt::format("{:<10} {:>7} {:<8} {:>10}\n", "all", all.size(), "", util::FormatBytes(whole));
  return PrintOr(command.json ? protocol::ToText(json) + "\n" : text);
}

// Takes away `chosen` unless it is a dry run, and says so.
int Discard(const CacheCommand& command, const std::vector<Kept>& chosen, int64_t before) {
  const int64_t bytes = BytesOf(chosen);
  if (!command.dry_run) {
    for (const Kept& kept : chosen) Remove(kept);
    cache::RemoveAbandoned(CubinDir());
  }
  if (command.json) {
    return PrintOr(protocol::ToText({{"schema", 1},
                                     {"dry_run", command.dry_run},
                                     {"removed", chosen.size()},
                                     {"removed_bytes", bytes},
                                     {"remaining_bytes", before - bytes}}) +
                   "\n");
  }
  return PrintOr(
      fmt::format("{} {} of {} in {}; {} remain\n", command.dry_run ? "would remove" : "removed",
                  fmt::format("{} {}", chosen.size(), chosen.size() == 1 ? "entry" : "entries"),
                  util::FormatBytes(bytes), util::CacheDir(), util::FormatBytes(before - bytes)));
}

int CollectGarbage(const CacheCommand& command) {
  auto max_bytes = ParseSize(command.max_size);
  if (!max_bytes) return Report(max_bytes.error(), command.json);
  double older_than = -1;
  if (!command.older_than.empty()) {
    auto seconds = ParseDuration(command.older_than);
    if (!seconds) return Report(seconds.error(), command.json);
    older_than = *seconds;
  }
  std::vector<Kept> all = Everything();
  const int64_t before = BytesOf(all);
  std::sort(all.begin(), all.end(),
            [](const Kept& a, const Kept& b) { return a.entry.used < b.entry.used; });
  const std::time_t now = std::time(nullptr);
  int64_t bytes = before;
  std::vector<Kept> chosen;
  for (Kept& kept : all) {
    const auto age = static_cast<double>(now - kept.entry.used);
    if (age < kInUseSeconds) break;
    if (bytes <= *max_bytes && (older_than < 0 || age <= older_than)) break;
    bytes -= kept.entry.bytes;
    chosen.push_back(std::move(kept));
  }
  return Discard(command, chosen, before);
}

int Clear(const CacheCommand& command) {
  if (!command.yes && !command.dry_run) {
    return Report({ErrorCode::kUsage,
                   "cache clear removes every compiled kernel and baseline in " + util::CacheDir() +
                       ". Say --yes to do it, or --dry-run to see what it would remove."},
                  command.json);
  }
  const std::vector<Kept> all = Everything();
  return Discard(command, all, BytesOf(all));
}

int RunCache(const CacheCommand& command) {
  const std::string what = command.sub->get_subcommands().front()->get_name();
  return what == "stat" ? Stat(command) : what == "gc" ? CollectGarbage(command) : Clear(command);
}

}  // namespace

Command AddCache(CLI::App& app) {
  auto command = std::make_shared<CacheCommand>();
  CLI::App* sub = app.add_subcommand(
      "cache", "Look at compiled kernels and baselines kept on disk, and remove them");
  command->sub = sub;
  sub->require_subcommand(1);
  CLI::App* stat = sub->add_subcommand("stat", "Entries and bytes");
  CLI::App* gc =
      sub->add_subcommand("gc", "Remove what was used longest ago; the last ten minutes' stay");
  gc->add_option("--max-size", command->max_size, "Until no more than this is left, e.g. 500MB")
      ->capture_default_str();
  gc->add_option("--older-than", command->older_than,
                 "And everything not used for this long, e.g. 30d");
  CLI::App* clear = sub->add_subcommand("clear", "Remove all of it");
  clear->add_flag("--yes", command->yes, "Do it");
  for (CLI::App* part : {gc, clear})
    part->add_flag("--dry-run", command->dry_run, "Only say what would be removed");
  for (CLI::App* part : {stat, gc, clear})
    part->add_flag("--json", command->json, "Print one JSON document");
  return [command] { return RunCache(*command); };
}

}  // namespace cudaagent::cli
