#include "bench/best_kernels.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>

#include "protocol/describe.h"
#include "protocol/evaluation_json.h"
#include "protocol/json_archive.h"
#include "reward/comparison.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"

namespace cudaagent::bench {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = 64 << 20;
constexpr double kRounding = 1e-9;  // figures of the CPU device are exact

tl::unexpected<Error> NoBest(const std::string& path, const std::string& what) {
  return Fail(ErrorCode::kUsage,
              path + " is not what bench writes as best/<problem>.json: " + what);
}

std::string TextAt(const nlohmann::json& json, const char* name) {
  if (!json.is_object()) return "";
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<void> WriteBest(const std::string& folder, const std::string& key, const BestKernel& best) {
  const fs::path kernel = folder + "/" + key + ".cu";
  if (auto made = util::MakeDirs(kernel.parent_path()); !made) return made;
  const nlohmann::json json = {{"schema", 1},
                               {"kernel", kernel.filename().string()},
                               {"spec", protocol::ToJson(best.spec)},
                               {"options", protocol::Writer::Json(best.options)},
                               {"reward", best.reward},
                               {"baseline", best.baseline},
                               {"evaluation", protocol::ToJson(best.evaluation)},
                               {"provenance",
                                {{"origin", best.origin},
                                 {"run", best.run},
                                 {"attempt", best.attempt},
                                 {"version", best.version},
                                 {"kernel_sha256", util::Sha256Hex(best.source)},
                                 {"model_sha256", util::Sha256Hex(best.spec.source)}}}};
  if (auto written = util::WriteFileAtomic(kernel, best.source); !written) return written;
  return util::WriteFileAtomic(folder + "/" + key + ".json", protocol::ToText(json) + "\n");
}

Result<BestKernel> ReadBest(const std::string& path) {
  auto text = util::ReadFile(path, kMaxBytes);
  if (!text) return tl::unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("spec") || !json.contains("evaluation") ||
      !json.contains("options")) {
    return NoBest(path, "it is no object with spec, options and evaluation.");
  }
  BestKernel best;
  auto spec = protocol::ProblemSpecFromJson(json["spec"]);
  if (!spec) return NoBest(path, spec.error().message);
  auto options = protocol::FromJson<EvalOptions>(json["options"], "options");
  if (!options) return NoBest(path, options.error().message);
  auto evaluation = protocol::EvaluationFromJson(json["evaluation"]);
  if (!evaluation) return NoBest(path, evaluation.error().message);
  best.spec = std::move(*spec);
  best.options = *options;
  best.evaluation = std::move(*evaluation);
  best.reward = TextAt(json, "reward");
  best.baseline = TextAt(json, "baseline");
  const std::string name = TextAt(json, "kernel");
  if (name.empty() || name.find('/') != std::string::npos)
    return NoBest(path, "\"kernel\" names no file beside it.");
  const std::string kernel = (fs::path(path).parent_path() / name).string();
  auto source = util::ReadFile(kernel, kMaxBytes);
  if (!source) return tl::unexpected(source.error());
  best.source = std::move(*source);
  // Not the evaluation's hash: that is of the candidate before tuning chose its values.
  const auto provenance = json.value("provenance", nlohmann::json::object());
  if (util::Sha256Hex(best.source) != TextAt(provenance, "kernel_sha256")) {
    return Fail(ErrorCode::kUsage, kernel + " is not the kernel that " + path +
                                       " tells of: it has changed since it "
                                       "was judged. Judge it with cudaagent "
                                       "eval MODEL.py KERNEL.cu.");
  }
  best.origin = kernel;
  return best;
}

Verified Reproduce(const Evaluation& recorded, const Evaluation& now, double margin) {
  if (now.verdict == Verdict::kInfraError || now.verdict == Verdict::kUnsupported) {
    return {Reproduction::kNotComparable, "It could not be judged here: " + now.message};
  }
  if (recorded.verdict != Verdict::kOk) {
    return {Reproduction::kNotComparable, "The record is of no correct kernel."};
  }
  if (now.verdict != Verdict::kOk) {
    return {Reproduction::kRefuted, fmt::format("It was ok; now it is {}: {}",
                                                cudaagent::ToString(now.verdict), now.message)};
  }
  const double slack = now.estimated ? kRounding : margin;
  auto comparison = reward::Compare(now, recorded, margin);
  if (!comparison) return {Reproduction::kNotComparable, comparison.error().message};
  const reward::Comparison& c = *comparison;
  const std::string ratio =
      fmt::format("{}{:.3f}x [{:.3f}, {:.3f}] of the recorded speed", c.estimated ? "~" : "",
                  c.ratio.value, c.ratio.low, c.ratio.high);
  if (c.ratio.high < 1 / (1 + slack))
    return {Reproduction::kRefuted, "Correct, but slower: " + ratio + "."};
  return {Reproduction::kConfirmed, "Correct, at " + ratio + "."};
}

}  // namespace cudaagent::bench
