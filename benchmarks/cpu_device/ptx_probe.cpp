// Loads PTX files on the CPU device, or runs one kernel with made-up arguments; one JSON document a
// line on stdout. For the scripts beside this folder: cpu_device.py, ptx_coverage.py.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "device/ptx/ptx_device.h"
#include "device/ptx/text.h"

namespace {

using namespace cudaagent;
using namespace cudaagent::device;
using nlohmann::json;

struct Options {
  std::vector<std::string> files;
  bool launch = false;  // load: also run each kernel with arguments made up
  std::string kernel;
  std::vector<uint32_t> grid{1, 1, 1}, block{128, 1, 1};
  size_t shared = 0;
  int repeat = 1;
  bool races = true;
  uint64_t budget = 2'000'000'000;
  std::vector<std::string> arguments;
};

// Arguments of a launch: buffers keep their addresses.
struct Arguments {
  std::vector<std::unique_ptr<std::vector<uint8_t>>> buffers;
  std::vector<MemoryRegion> regions;
  std::vector<std::byte> params;

  void Put(const void* value, size_t bytes, size_t at) {
    if (params.size() < at + bytes) params.resize(at + bytes);
    std::memcpy(params.data() + at, value, bytes);
  }
  void Buffer(std::vector<uint8_t> data, size_t at) {
    buffers.push_back(std::make_unique<std::vector<uint8_t>>(std::move(data)));
    void* base = buffers.back()->data();
    regions.push_back(
        {"arg" + std::to_string(buffers.size()), base, buffers.back()->size(), true, true});
    Put(&base, 8, at);
  }
};

// "f32:1024" and "i32:1024" are buffers of that many elements, "int:7" and "float:0.5" scalars.
Arguments Make(const std::vector<std::string>& words, const KernelInfo& info) {
  Arguments made;
  if (words.size() != info.params.size()) {
    throw std::runtime_error("the kernel takes " + std::to_string(info.params.size()) +
                             " arguments");
  }
  for (size_t i = 0; i < words.size(); ++i) {
    size_t colon = words[i].find(':'), at = info.params[i].offset;
    std::string kind = words[i].substr(0, colon), value = words[i].substr(colon + 1);
    if (kind == "int") {
      int v = std::stoi(value);
      made.Put(&v, 4, at);
    } else if (kind == "float") {
      float v = std::stof(value);
      made.Put(&v, 4, at);
    } else if (kind == "f32" || kind == "i32") {
      size_t n = std::stoul(value);
      std::vector<uint8_t> data(4 * n);
      for (size_t k = 0; k < n; ++k) {
        float f = static_cast<float>(k * 7919 % 8191) / 4096.0f - 1.0f;
        int32_t integer = static_cast<int32_t>(k * 7919 % 8191);
        std::memcpy(data.data() + 4 * k, kind == "f32" ? static_cast<const void*>(&f) : &integer,
                    4);
      }
      made.Buffer(std::move(data), at);
    } else {
      throw std::runtime_error("unknown argument " + words[i]);
    }
  }
  return made;
}

// What a kernel might take: pointers to zeros, small integers.
Arguments Guess(const KernelInfo& info) {
  Arguments made;
  for (const ParamLayout& param : info.params) {
    if (param.bytes == 8) {
      made.Buffer(std::vector<uint8_t>(1 << 20), param.offset);
    } else {
      std::vector<uint8_t> raw(param.bytes);
      if (param.bytes == 4) raw[0] = 64;
      made.Put(raw.data(), raw.size(), param.offset);
    }
  }
  return made;
}

std::string Word(const Fault& fault) { return std::string(ToString(fault.verdict)); }

Checked<void> Launch(ptx::PtxDevice& device, Module& module, const std::string& kernel,
                     const Options& options, const Arguments& arguments) {
  device.SetRegions(arguments.regions);
  device::Launch launch;
  launch.kernel = kernel;
  launch.grid = {options.grid[0], options.grid[1], options.grid[2]};
  launch.block = {options.block[0], options.block[1], options.block[2]};
  launch.dynamic_shared_bytes = options.shared;
  launch.params = arguments.params;
  return module.Run(launch);
}

std::vector<std::string> Entries(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::vector<std::string> names;
  for (const ptx::Function& function : ptx::ParsePtx(text.str()).functions) {
    if (function.entry && function.defined) names.push_back(function.name);
  }
  return names;
}

void Load(const Options& options) {
  for (const std::string& path : options.files) {
    ptx::PtxDevice device(*ptx::FindGpuModel("h200"), options.budget, ptx::BestExecutor(), 1,
                          options.races);
    Artifact artifact;
    artifact.ptx_path = path;
    std::vector<std::string> names;
    auto module = device.Load(artifact);
    if (module) names = Entries(path);
    if (!module) {
      std::cout << json{{"file", path},
                        {"load", Word(module.error())},
                        {"said", module.error().message}}
                << std::endl;
      continue;
    }
    for (const std::string& name : names) {
      json line{{"file", path}, {"kernel", name}, {"load", "ok"}};
      Checked<KernelInfo> info = (*module)->Kernel(name);
      if (!info) {
        line["load"] = Word(info.error());
        line["said"] = info.error().message;
      } else if (options.launch) {
        Options own = options;
        own.block[0] = static_cast<uint32_t>(std::min(info->resources.max_threads, 128));
        own.shared = 32768;
        Checked<void> ran = Launch(device, **module, name, own, Guess(*info));
        line["run"] = ran ? "ok" : Word(ran.error());
        if (!ran) line["said"] = ran.error().message;
      }
      std::cout << line << std::endl;
    }
  }
}

void Run(const Options& options) {
  ptx::PtxDevice device(*ptx::FindGpuModel("h200"), 1'000'000'000'000, ptx::BestExecutor(), 1,
                        options.races);
  Artifact artifact;
  artifact.ptx_path = options.files.at(0);
  auto module = device.Load(artifact);
  if (!module) throw std::runtime_error(module.error().message);
  Checked<KernelInfo> info = (*module)->Kernel(options.kernel);
  if (!info) throw std::runtime_error(info.error().message);
  Arguments arguments = Make(options.arguments, *info);
  json line{{"kernel", options.kernel}, {"races", options.races}, {"cpu_ms", json::array()}};
  for (int i = 0; i < options.repeat; ++i) {
    timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    Checked<void> ran = Launch(device, **module, options.kernel, options, arguments);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    if (!ran) throw std::runtime_error(ran.error().message);
    line["cpu_ms"].push_back(1e3 * static_cast<double>(to.tv_sec - from.tv_sec) +
                             1e-6 * static_cast<double>(to.tv_nsec - from.tv_nsec));
  }
  std::vector<KernelCounters> counted = device.TakeCounters();
  line["warp_instructions"] = counted.at(0).instructions / options.repeat;
  std::cout << line << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Loads PTX on the CPU device, or runs a kernel of it");
  app.require_subcommand(1);
  CLI::App* load = app.add_subcommand("load", "Load every kernel of these files");
  load->add_option("files", options.files)->required();
  load->add_flag("--launch", options.launch, "Run each one with arguments made up");
  load->add_option("--budget", options.budget, "Thread instructions of a launch");
  CLI::App* run = app.add_subcommand("run", "Run one kernel and time it");
  std::string file;
  run->add_option("file", file)->required();
  run->add_option("kernel", options.kernel)->required();
  run->add_option("arguments", options.arguments, "f32:N i32:N int:V float:V");
  run->add_option("--grid", options.grid)->expected(3)->delimiter(',');
  run->add_option("--block", options.block)->expected(3)->delimiter(',');
  run->add_option("--shared", options.shared);
  run->add_option("--repeat", options.repeat);
  run->add_option("--races", options.races, "0: do not look for races");
  CLI11_PARSE(app, argc, argv);
  try {
    if (*load) {
      Load(options);
    } else {
      options.files = {file};
      Run(options);
    }
  } catch (const std::exception& error) {
    std::cerr << "ptx_probe: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
