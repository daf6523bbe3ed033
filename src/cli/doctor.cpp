// cudaagent doctor: what is here, what is missing, and how to get it.
#include <spdlog/fmt/fmt.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "evaluate/ceilings_cache.h"
#include "evaluate/device_choice.h"
#include "pool/compiler.h"
#include "pool/environment.h"
#include "pool/worker.h"
#include "protocol/evaluation_json.h"
#include "util/file.h"
#include "util/paths.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::cli {
namespace {

namespace fs = std::filesystem;

enum class Health { kOk, kWarning, kFailure };

struct Finding {
  std::string name;
  Health health = Health::kOk;
  std::string detail;
  std::string fix;     // what to do; empty where nothing is to be done
  double seconds = 0;  // to start a program; 0 where nothing was started
};

const char* Word(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kWarning:
      return "warning";
    case Health::kFailure:
      return "failure";
  }
  return "failure";
}

Finding CheckPrograms() {
  for (const char* program : {"cudaagent-compile", "cudaagent-worker"}) {
    const std::string path = util::ProgramDir() + "/" + program;
    if (!fs::exists(path)) {
      return {"programs", Health::kFailure, path + " is missing",
              "Build it: ./scripts/run does, or ninja " + std::string(program) + "."};
    }
  }
  return {"programs", Health::kOk,
          "cudaagent-compile and cudaagent-worker in " + util::ProgramDir(), ""};
}

Finding CheckCompiler(const std::string& log_dir) {
  pool::CompilerOptions options;
  options.program = util::ProgramDir() + "/cudaagent-compile";
  options.cache_dir = util::CacheDir() + "/cubins";
  options.log_dir = log_dir;
  options.environment = pool::ChildEnvironment();
  util::Stopwatch watch;
  auto hello = pool::CompilerPool(std::move(options)).AwaitReady();
  if (!hello) {
    return {"compiler", Health::kFailure, hello.error().message,
            "Install the CUDA Toolkit's NVRTC (or set CUDA_HOME), or let ./scripts/run make .venv, "
            "whose "
            "torch brings one."};
  }
  return {"compiler", Health::kOk,
          fmt::format("NVRTC {}, ready in {}", hello->nvrtc_version,
                      util::FormatSeconds(watch.Seconds())),
          "", watch.Seconds()};
}

std::string DeviceDetail(const protocol::Hello& hello, double seconds) {
  const DeviceStamp& device = hello.device;
  std::string text = fmt::format("{}, {}, torch {}, Python {}", device.name, device.arch,
                                 device.torch_version, hello.python_version);
  if (!device.driver_version.empty()) text += ", driver " + device.driver_version;
  if (device.kind == "gpu") {
    text += device.cupti_version.empty() ? ", no CUPTI" : ", CUPTI " + device.cupti_version;
  }
  return text + ", ready in " + util::FormatSeconds(seconds);
}

Finding Calibrate(pool::Worker& worker, const DeviceStamp& device);

std::vector<Finding> CheckWorker(const std::string& device, const std::string& log_dir,
                                 bool calibrate) {
  pool::WorkerOptions options;
  options.program = util::ProgramDir() + "/cudaagent-worker";
  options.device = device;
  options.model_gpu = EvalOptions().model_gpu;
  options.log_dir = log_dir;
  options.environment = pool::ChildEnvironment();
  const std::string name = "worker on " + device;
  pool::Worker worker(std::move(options));
  util::Stopwatch watch;
  auto launched = worker.Launch();
  auto hello = launched ? worker.AwaitHello() : tl::unexpected(launched.error());
  if (!hello) {
    return {
        {name, Health::kFailure, hello.error().message,
         device == "cpu"
             ? "The worker belongs to one Python and torch: run ./scripts/run to build it again."
             : "Check nvidia-smi; the driver must be new enough for this torch's CUDA."}};
  }
  const bool no_cupti = hello->device.kind == "gpu" && hello->device.cupti_version.empty();
  std::vector<Finding> findings = {{name, no_cupti ? Health::kWarning : Health::kOk,
                                    DeviceDetail(*hello, watch.Seconds()),
                                    no_cupti ? "Without CUPTI, CUDA events decide and every output "
                                               "says so. Another profiler may hold it, "
                                               "or libcupti is not on the library path."
                                             : "",
                                    watch.Seconds()}};
  if (calibrate) findings.push_back(Calibrate(worker, hello->device));
  return findings;
}

Finding CheckGpu(std::vector<std::string>* devices) {
  auto chosen = evaluate::ChooseDevice("auto", evaluate::MachineView::Here());
  if (chosen && chosen->gpu) {
    devices->push_back(chosen->device);
    return {"gpu", Health::kOk, chosen->why, ""};
  }
  return {
      "gpu", Health::kWarning,
      "no NVIDIA GPU is visible: candidates are checked by the CPU device, and times are estimates",
      "On a machine with one: install the driver, and look at CUDA_VISIBLE_DEVICES and "
      "/dev/nvidiactl."};
}

Finding CheckHostCompiler() {
  for (const char* name : {"cc", "gcc", "clang"}) {
    for (const std::string& folder :
         util::Split(std::getenv("PATH") ? std::getenv("PATH") : "", ':')) {
      if (fs::exists(folder + "/" + name))
        return {"host compiler", Health::kOk, folder + "/" + name, ""};
    }
  }
  return {"host compiler", Health::kWarning,
          "no C compiler on PATH: the torch.compile baseline will fail, and eager decides",
          "Install gcc."};
}

Finding CheckCache() {
  const std::string folder = util::CacheDir();
  auto made = util::MakeDirs(folder);
  if (made) made = util::WriteFileAtomic(folder + "/.doctor", "");
  if (!made) {
    return {"cache", Health::kFailure, made.error().message,
            "Make it writable, or set XDG_CACHE_HOME."};
  }
  std::error_code ignored;
  fs::remove(folder + "/.doctor", ignored);
  const auto space = fs::space(folder, ignored);
  const bool tight = !ignored && space.available < (uint64_t{1} << 30);
  return {
      "cache", tight ? Health::kWarning : Health::kOk,
      fmt::format("{}, {} free", folder, util::FormatBytes(static_cast<int64_t>(space.available))),
      tight ? "Free some disk: cubins and inductor's cache live there." : ""};
}

Finding CheckModel(const std::string& model) {
  if (model.empty()) {
    return {"llm", Health::kOk, "no model is configured: the built-in proposer is the default",
            "For an LLM: --model NAME, --base-url URL (or OPENAI_BASE_URL), and a key in "
            "OPENAI_API_KEY."};
  }
  const bool key = std::getenv("OPENAI_API_KEY") != nullptr;
  return {
      "llm", Health::kOk,
      fmt::format("{}; OPENAI_API_KEY is {}", util::SanitiseUtf8(model), key ? "set" : "not set"),
      ""};
}

// Measures the GPU's ceilings anew and keeps them for all later runs.
Finding Calibrate(pool::Worker& worker, const DeviceStamp& device) {
  Finding finding{"ceilings", Health::kFailure, "", "Stop what else uses the GPU, and try again."};
  auto sent = worker.Begin(protocol::CalibrateJob{});
  auto answer =
      sent ? worker.Finish("calibrate", {{"calibrate", 120}}) : tl::unexpected(sent.error());
  if (!answer) {
    finding.detail = "the worker " + answer.error().words;
  } else if (const auto* error = std::get_if<protocol::ErrorReply>(&*answer)) {
    finding.detail = error->error.message;
  } else if (const auto* reply = std::get_if<protocol::CalibrationReply>(&*answer)) {
    const Ceilings& c = reply->ceilings;
    evaluate::KeepCeilings(util::CacheDir(), device, c);
    finding = {
        "ceilings", Health::kOk,
        fmt::format(
            "memory {:.0f} GB/s; TFLOP/s: fp32 {:.1f}, tf32 {:.1f}, fp16 {:.1f}, bf16 {:.1f}",
            c.bytes_per_s / 1e9, c.fp32_flops / 1e12, c.tf32_flops / 1e12, c.fp16_flops / 1e12,
            c.bf16_flops / 1e12),
        ""};
  } else {
    finding.detail = "the worker answered with something else";
  }
  return finding;
}

std::vector<Finding> Examine(const std::string& model, bool calibrate) {
  std::vector<Finding> findings = {CheckPrograms(), CheckCache(), CheckHostCompiler(),
                                   CheckModel(model)};
  std::vector<std::string> devices = {"cpu"};
  findings.push_back(CheckGpu(&devices));
  auto logs = util::TempDir::Create("cudaagent-doctor");
  if (!logs) {
    findings.push_back({"temporary folder", Health::kFailure, logs.error().message, "Set TMPDIR."});
    return findings;
  }
  findings.push_back(CheckCompiler(logs->path()));
  for (const std::string& device : devices) {
    for (Finding& finding : CheckWorker(device, logs->path(), calibrate && device != "cpu")) {
      findings.push_back(std::move(finding));
    }
  }
  if (calibrate && devices.size() == 1) {
    findings.push_back({"ceilings", Health::kFailure, "there is no GPU to calibrate", ""});
  }
  return findings;
}

std::string Text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<8} {:<16} {}\n", Word(finding.health), finding.name, finding.detail);
    if (!finding.fix.empty()) text += fmt::format("{:<25} -> {}\n", "", finding.fix);
  }
  return text;
}

nlohmann::json Json(const std::vector<Finding>& findings) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Finding& finding : findings) {
    rows.push_back({{"name", finding.name},
                    {"health", Word(finding.health)},
                    {"detail", finding.detail},
                    {"fix", finding.fix}});
    if (finding.seconds > 0) rows.back()["seconds"] = finding.seconds;
  }
  return {{"schema", 1}, {"findings", std::move(rows)}};
}

int RunDoctor(bool json, const std::string& model, bool calibrate) {
  const std::vector<Finding> findings = Examine(model, calibrate);
  auto printed = Print(json ? protocol::ToText(Json(findings)) + "\n" : Text(findings));
  if (!printed) return Report(printed.error(), false);
  for (const Finding& finding : findings) {
    if (finding.health == Health::kFailure) return kExitEnvironment;
  }
  return kExitOk;
}

}  // namespace

Command AddDoctor(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* sub =
      app.add_subcommand("doctor", "Say what is here, what is missing and how to get it");
  sub->add_flag("--json", *json, "Print one JSON document");
  auto model = std::make_shared<std::string>();
  sub->add_option("-m,--model", *model, "The language model to look for")
      ->envname("CUDAAGENT_MODEL");
  auto calibrate = std::make_shared<bool>(false);
  sub->add_flag("--calibrate", *calibrate,
                "Measure the GPU's ceilings (memory, matrix products) anew; evaluations tell the "
                "speed of light by them");
  return [json, model, calibrate] { return RunDoctor(*json, *model, *calibrate); };
}

}  // namespace cudaagent::cli
