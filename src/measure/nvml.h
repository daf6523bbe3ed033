// What the driver's management library (NVML, taken by dlopen) says of the GPU that torch uses
// while it is timed: clocks, why they were lowered, temperature, energy. Nothing is ever set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cudaagent::measure {

// Why clocks are lower than they could be, as NVML's bits (nvml.h, nvmlClocksEventReason*).
struct ClockEvents {
  uint64_t bits = 0;

  // Slowdowns that spoil a measurement: heat, or the board's power brake.
  bool throttled() const;
  // The usual companion of heavy matrix work: told, and no reason to drop anything.
  bool power_capped() const;
  // Both kinds in words.
  std::vector<std::string> Words() const;
};

class Nvml {
 public:
  // Of the current device; loaded at the first call and kept. One thread.
  static Nvml& Get();

  bool usable() const { return device_ != nullptr; }
  // Why not; empty where it is usable.
  const std::string& problem() const { return problem_; }

  // Each is nothing where NVML is not usable or the device does not tell.
  std::optional<ClockEvents> Events();
  std::optional<int> SmMegahertz();
  std::optional<int> MemoryMegahertz();
  std::optional<int> Celsius();
  // Since the driver was loaded.
  std::optional<uint64_t> Millijoules();

 private:
  Nvml();
  std::string Open();
  // What the function `name` of NVML tells: one number of `what`, or one of the whole device.
  std::optional<int> Ask(const char* name, int what);
  std::optional<uint64_t> Ask(const char* name);

  void* library_ = nullptr;
  void* device_ = nullptr;
  std::string problem_;
};

}  // namespace cudaagent::measure
