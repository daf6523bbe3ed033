#include "cli/flags.h"

#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <filesystem>

#include "cli/preset.h"
#include "protocol/names.h"
#include "reward/reward.h"
#include "util/file.h"
#include "util/paths.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

// CUDAAGENT_TIMEOUT_CHECK for --timeout-check.
std::string EnvName(const std::string& flag) {
  std::string name = "CUDAAGENT_";
  for (char c : flag.substr(2)) name += c == '-' ? '_' : static_cast<char>(toupper(c));
  return name;
}

template <typename T>
CLI::Option* Add(CLI::App& command, const std::string& flag, T& value, const std::string& help) {
  return command.add_option(flag, value, help)->envname(EnvName(flag))->capture_default_str();
}

void AddFlag(CLI::App& command, const std::string& flag, bool& value, const std::string& help) {
  command.add_flag(flag, value, help)->envname(EnvName(flag.substr(flag.find("--"))));
}

std::vector<std::string> PrecisionNames() {
  std::vector<std::string> names;
  for (const auto& [precision, name] : protocol::kPrecisionNames) names.emplace_back(name);
  return names;
}

// `name` is one of PrecisionNames(): CLI11 has checked it.
Precision PrecisionOf(const std::string& name) {
  for (const auto& [precision, known] : protocol::kPrecisionNames) {
    if (known == name) return precision;
  }
  throw FatalError("no precision is named " + name);
}

Mode ModeOf(const std::string& name) {
  for (const auto& [mode, known] : protocol::kModeNames) {
    if (known == name) return mode;
  }
  throw FatalError("no mode is named " + name);
}

bool IsIdentifier(const std::string& name) {
  if (name.empty() || isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (unsigned char c : name) {
    if (!isalnum(c) && c != '_') return false;
  }
  return true;
}

}  // namespace

CLI::Validator Within(double low, double high) {
  const std::string range = fmt::format("FLOAT in [{:g} - {:g}]", low, high);
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const bool number = CLI::detail::lexical_cast(text, value);
        return number && value >= low && value <= high
                   ? std::string()
                   : fmt::format("{} is not a number from {:g} to {:g}", text, low, high);
      },
      range);
}

void GroupFlags(CLI::App& command, const std::string& title) {
  static const std::string ungrouped = CLI::App().add_option("--any")->get_group();
  for (CLI::Option* option : command.get_options()) {
    const bool help = option == command.get_help_ptr();
    if (!help && !option->get_positional() && option->get_group() == ungrouped)
      option->group(title);
  }
}

void AddProblemFlags(CLI::App& command, ProblemFlags& flags) {
  GroupFlags(command, "The command");
  command
      .add_option("MODEL", flags.model_path,
                  "model.py in KernelBench's contract (trusted code: it runs)")
      ->required();
  Add(command, "--class", flags.class_name, "The nn.Module class to optimize");
  Add(command, "--inputs-fn", flags.inputs_fn,
      "The function that makes forward's arguments: a list, or a dict by name");
  command
      .add_option("--const", flags.consts, "Override a module constant, e.g. --const batch_size=64")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  Add(command, "--dtype", flags.dtype, "Cast floating tensors to this type")
      ->check(CLI::IsMember({"float32", "float16", "bfloat16"}));
  Add(command, "--precision", flags.precision,
      "What float32 matmul and convolution may use, on both sides")
      ->check(CLI::IsMember(PrecisionNames()));
  Add(command, "--mode", flags.mode,
      "The model's mode; train: batch norms normalise by the batch, no dropout may be active")
      ->check(CLI::IsMember({"eval", "train"}));
  GroupFlags(command, "The problem");
}

void AddEvalFlags(CLI::App& command, EvalFlags& flags) {
  GroupFlags(command, "The command");
  Add(command, "--device", flags.device, "auto, cpu (the PTX interpreter), gpu or gpu:N");
  Add(command, "--preset", flags.preset,
      "Rules of a published evaluation for tier, precision, mode, baseline, reward and hidden "
      "variants, where those are "
      "not given")
      ->check(CLI::IsMember(PresetNames()));
  Add(command, "--reward", flags.reward, "Which reward to give")
      ->check(CLI::IsMember(reward::Names()));
  Add(command, "--baseline", flags.baseline,
      "Which baseline decides: torch.compile, eager, or the faster of what was timed")
      ->check(CLI::IsMember({"compile", "eager", "best"}));
  Add(command, "--baselines", flags.baselines,
      "default: eager and torch.compile; all: torch.compile's reduce-overhead and max-autotune too")
      ->check(CLI::IsMember({"default", "all"}));
  Add(command, "--tier", flags.options.tier, "Deciding tolerance")
      ->check(CLI::IsMember({"verified", "kernelbench", "cuda-agent", "strict"}));
  Add(command, "--trials", flags.options.trials, "Fresh random inputs that must all verify")
      ->check(CLI::Range(1, 1000));
  AddFlag(
      command, "--no-hidden-variants", flags.no_hidden_variants,
      "Check inputs as generated only: no scaled inputs, new parameters, determinism, strict tier");
  AddFlag(command, "--no-race-check", flags.no_race_check,
          "On a GPU, do not look for races by interpreting some blocks of each kernel");
  command
      .add_option(
          "--seed", flags.options.seed,
          "Where the random inputs come from, to repeat them; default: nobody can foresee it")
      ->envname("CUDAAGENT_SEED")
      ->check(CLI::Validator(
          [](std::string& text) {
            return text.find('-') == std::string::npos ? std::string()
                                                       : "a seed is not negative: " + text;
          },
          ""));
  Add(command, "--time-limit", flags.options.time_limit_s,
      "Seconds the timing of one candidate may take")
      ->check(Within(0.1, 600.0));
  AddFlag(command, "--warm-l2", flags.options.warm_l2,
          "Do not flush the L2 cache between iterations");
  Add(command, "--clock", flags.options.clock,
      "cupti (the device's own stamps, where it is to be had) or events (CUDA events)")
      ->check(CLI::IsMember({"cupti", "events"}));
  AddFlag(command, "--energy", flags.options.energy,
          "Measure the energy of one run too (NVML; a second more)");
  Add(command, "--guard", flags.options.guard,
      "What surrounds buffers on a GPU: zones (writes are found) or strict (unmapped memory: reads "
      "fault too)")
      ->check(CLI::IsMember({"zones", "strict"}));
  AddFlag(command, "--check-only", flags.options.check_only, "Verify, do not time");
  command
      .add_option(
          "--also-const", flags.also,
          "Verify what is correct at further shapes too, e.g. --also-const batch_size=8,dim=100")
      ->type_name("NAME=VALUE,...")
      ->allow_extra_args(false);
  AddFlag(command, "--no-prepare", flags.no_prepare,
          "Refuse candidates that prepare values of the parameters outside of the timing");
  Add(command, "--model-gpu", flags.options.model_gpu,
      "GPU whose ceilings the CPU device's estimates use");
  Add(command, "--timeout-compile", flags.timeouts.compile_s, "Seconds for one compile")
      ->check(Within(1.0, 3600.0));
  Add(command, "--timeout-check", flags.timeouts.check_s, "Seconds for verifying one candidate")
      ->check(Within(1.0, 3600.0));
  Add(command, "--timeout-time", flags.timeouts.time_s, "Seconds for timing one candidate")
      ->check(Within(1.0, 3600.0));
  Add(command, "--timeout-load", flags.timeouts.load_s, "Seconds for loading model.py")
      ->check(Within(1.0, 3600.0));
  GroupFlags(command, "Checking and timing");
}

void AddTuneFlags(CLI::App& command, EvalFlags& flags) {
  GroupFlags(command, "The command");
  Add(command, "--max-variants", flags.tune.max_variants,
      "Combinations of a plan's tune values to try, nearest to the front of the lists first")
      ->check(CLI::Range(1, 4096));
  Add(command, "--tune-limit", flags.tune.limit_s,
      "Seconds that tuning one candidate may take beyond the default values' own evaluation")
      ->check(Within(1.0, 36000.0));
  GroupFlags(command, "Tuning");
}

void AddOutputFlags(CLI::App& command, OutputFlags& flags) {
  GroupFlags(command, "The command");
  command.add_flag("--json", flags.json, "Print one JSON document on stdout instead of text");
  AddFlag(command, "-q,--quiet", flags.quiet, "No progress on stderr");
  GroupFlags(command, "Output");
}

Result<std::map<std::string, std::string>> ToConstants(const char* flag,
                                                       const std::vector<std::string>& texts) {
  std::map<std::string, std::string> constants;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || !IsIdentifier(name)) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("{} {} is not NAME=VALUE. Write for example {} batch_size=64.", flag,
                              util::SanitiseUtf8(text), flag));
    }
    if (!constants.emplace(name, text.substr(equals + 1)).second) {
      return Fail(ErrorCode::kUsage, fmt::format("{} gives {} twice. Give it once.", flag, name));
    }
  }
  return constants;
}

Result<ProblemSpec> ToSpec(const ProblemFlags& flags) {
  auto source = util::ReadFile(flags.model_path, 16 << 20);
  if (!source) return tl::unexpected(source.error());
  ProblemSpec spec;
  spec.path = std::filesystem::absolute(flags.model_path).lexically_normal().string();
  spec.source = std::move(*source);
  spec.class_name = flags.class_name;
  spec.inputs_fn = flags.inputs_fn;
  spec.dtype = flags.dtype;
  spec.precision = PrecisionOf(flags.precision);
  spec.mode = ModeOf(flags.mode);
  auto constants = ToConstants("--const", flags.consts);
  if (!constants) return tl::unexpected(constants.error());
  spec.consts = std::move(*constants);
  return spec;
}

evaluate::Config ToConfig(const ProblemSpec& spec, const EvalFlags& flags,
                          const OutputFlags& output) {
  evaluate::Config config;
  config.spec = spec;
  config.device = flags.device;
  config.reward = flags.reward;
  config.baseline = flags.baseline;
  config.all_baselines = flags.baselines == "all";
  config.options = flags.options;
  config.options.hidden_variants = !flags.no_hidden_variants;
  config.options.races = !flags.no_race_check;
  config.options.allow_prepare = !flags.no_prepare;
  config.timeouts = flags.timeouts;
  config.tune = flags.tune;
  config.cache_dir = util::CacheDir();
  config.program_dir = util::ProgramDir();
  if (!output.quiet) {
    config.progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  }
  return config;
}

std::vector<std::string> RecheckCommand(const ProblemSpec& spec, const ProblemFlags& problem,
                                        const EvalFlags& eval) {
  std::vector<std::string> words = {util::ProgramDir() + "/cudaagent", "eval", spec.path};
  auto add = [&words](const char* flag, const std::string& value, const std::string& usual) {
    if (value == usual) return;
    words.push_back(flag);
    words.push_back(value);
  };
  const ProblemFlags plain_problem;
  const EvalFlags plain;
  add("--class", problem.class_name, plain_problem.class_name);
  add("--inputs-fn", problem.inputs_fn, plain_problem.inputs_fn);
  for (const auto& [name, value] : spec.consts) add("--const", name + "=" + value, "");
  add("--dtype", problem.dtype, plain_problem.dtype);
  add("--precision", problem.precision, plain_problem.precision);
  add("--mode", problem.mode, plain_problem.mode);
  add("--device", eval.device, plain.device);
  add("--reward", eval.reward, plain.reward);
  add("--baseline", eval.baseline, plain.baseline);
  add("--baselines", eval.baselines, plain.baselines);
  add("--tier", eval.options.tier, plain.options.tier);
  add("--trials", std::to_string(eval.options.trials), std::to_string(plain.options.trials));
  add("--clock", eval.options.clock, plain.options.clock);
  add("--guard", eval.options.guard, plain.options.guard);
  if (eval.options.warm_l2) words.push_back("--warm-l2");
  if (eval.no_prepare) words.push_back("--no-prepare");
  if (eval.no_hidden_variants) words.push_back("--no-hidden-variants");
  if (eval.no_race_check) words.push_back("--no-race-check");
  return words;
}

}  // namespace cudaagent::cli
