#include "bench/quality.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/embedded_quality.h"

namespace cudaagent::bench {
namespace {

struct Listed {
  Quality quality;
  bool loose_only = false;
};

using List = std::multimap<std::pair<int, std::string>, Listed>;

// The list travels in the program; the one that does not read as meant is a bug.
List ReadList() {
  const auto json = nlohmann::json::parse(EmbeddedQuality().at("problem_quality.json"));
  List list;
  for (const auto& each : json.at("classes")) {
    Listed listed;
    listed.quality.kind = each.at("kind");
    listed.quality.note = each.at("note");
    listed.quality.degenerate = each.at("degenerate");
    listed.loose_only = each.value("loose_only", false);
    for (const auto& problem : each.at("problems")) {
      list.emplace(std::pair<int, std::string>(problem.at(0), problem.at(1)), listed);
    }
  }
  return list;
}

}  // namespace

std::optional<Quality> QualityOf(int level, const std::string& name, bool loose) {
  static const List list = ReadList();
  std::optional<Quality> found;
  const auto [first, last] = list.equal_range({level, name});
  for (auto it = first; it != last; ++it) {
    if (it->second.loose_only && !loose) continue;
    if (!found || (it->second.quality.degenerate && !found->degenerate)) found = it->second.quality;
  }
  return found;
}

std::string WhyDegenerate(const Row& row) {
  if (row.evaluation && !row.evaluation->degenerate.empty()) return row.evaluation->degenerate;
  const bool loose = row.evaluation && row.evaluation->protocol.tier == "cuda-agent";
  const auto quality = QualityOf(row.level, row.name, loose);
  return quality && quality->degenerate ? quality->note : "";
}

}  // namespace cudaagent::bench
