#include "cli/bench_progress.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bench/text.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

bool IsLiveTerminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb" &&
         std::getenv("CI") == nullptr;
}

}  // namespace

BenchProgress::BenchProgress(bool quiet, int done, int total)
    : quiet_(quiet), terminal_(IsLiveTerminal()), before_(done), done_(done), total_(total) {}

BenchProgress::~BenchProgress() { Clear(); }

std::string BenchProgress::Eta() const {
  const int here = done_ - before_;
  if (here == 0 || done_ >= total_) return "";
  return ", about " + util::FormatSeconds(watch_.Seconds() / here * (total_ - done_)) + " left";
}

void BenchProgress::Clear() {
  if (live_) std::fputs("\r\033[K", stderr);
  live_ = false;
}

void BenchProgress::OnRow(const bench::Row& row) {
  ++done_;
  failed_ += row.correct() ? 0 : 1;
  if (quiet_) return;
  Clear();
  const std::string sample = row.sample > 0 ? fmt::format(" sample {}", row.sample) : "";
  const std::string line =
      fmt::format("[{}/{}] {}{}  {}  ({}{})\n", done_, total_, row.problem, sample,
                  bench::OutcomeText(row), util::FormatSeconds(row.seconds), Eta());
  std::fputs(line.c_str(), stderr);
  shown_at_ = -1;
}

void BenchProgress::OnTick(const std::vector<std::pair<std::string, double>>& running) {
  if (quiet_ || !terminal_ || (shown_at_ >= 0 && watch_.Seconds() - shown_at_ < 1)) return;
  shown_at_ = watch_.Seconds();
  std::string line = fmt::format("{} of {}, {} failed{}", done_, total_, failed_, Eta());
  for (const auto& [key, seconds] : running) line += fmt::format("; {} {:.0f} s", key, seconds);
  std::fputs(("\r\033[K" + line.substr(0, 150)).c_str(), stderr);
  std::fflush(stderr);
  live_ = true;
}

}  // namespace cudaagent::cli
