// Result files and graphs, which people may have edited or cut short.
#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"
#include "graph/graph.h"
#include "protocol/evaluation_json.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cudaagent;
  const std::string_view text = fuzz::TextOf(data, size);
  (void)graph::ParseGraph(text);
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return 0;
  (void)protocol::ProblemInfoFromJson(json);
  (void)protocol::ProblemSpecFromJson(json);
  (void)protocol::TimingFromJson(json);
  auto evaluation = protocol::EvaluationFromJson(json);
  if (!evaluation) return 0;
  const std::string once = protocol::ToText(protocol::ToJson(*evaluation));
  auto again = protocol::EvaluationFromJson(nlohmann::json::parse(once));
  fuzz::Require(again.has_value(), "a result that was read can be written and read");
  fuzz::Require(protocol::ToText(protocol::ToJson(*again)) == once,
                "reading and writing is stable");
  return 0;
}
