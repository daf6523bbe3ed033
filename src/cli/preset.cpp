#include "cli/preset.h"

#include <algorithm>
#include <array>

namespace cudaagent::cli {
namespace {

struct Preset {
  const char* name;
  const char* tier;
  const char* precision;
  const char* mode;
  const char* baseline;
  const char* reward;
  bool hidden_variants;
};

constexpr std::array<Preset, 3> kPresets = {{
    {"verified", "verified", "tf32", "eval", "compile", "milestone", true},
    {"kernelbench", "kernelbench", "torch-default", "train", "eager", "speedup", false},
    {"cuda-agent", "cuda-agent", "fp32", "eval", "compile", "milestone-paper", false},
}};

}  // namespace

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

bool DecidedByPresets(std::string_view flag) {
  constexpr std::array<std::string_view, 6> kFlags = {
      "--tier", "--precision", "--mode", "--baseline", "--reward", "--no-hidden-variants"};
  return std::find(kFlags.begin(), kFlags.end(), flag) != kFlags.end();
}

void ApplyPreset(const CLI::App& command, ProblemFlags& problem, EvalFlags& flags) {
  const auto unset = [&command](const char* flag) {
    return command.get_option(flag)->count() == 0;
  };
  for (const Preset& preset : kPresets) {
    if (flags.preset != preset.name) continue;
    if (unset("--tier")) flags.options.tier = preset.tier;
    if (unset("--precision")) problem.precision = preset.precision;
    if (unset("--mode")) problem.mode = preset.mode;
    if (unset("--baseline")) flags.baseline = preset.baseline;
    if (unset("--reward")) flags.reward = preset.reward;
    if (unset("--no-hidden-variants")) flags.no_hidden_variants = !preset.hidden_variants;
  }
}

}  // namespace cudaagent::cli
