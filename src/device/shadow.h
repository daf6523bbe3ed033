// The shadow of a plan's run on a GPU: before a kernel is launched, the PTX interpreter runs some
// blocks of that launch on copies of the memory they touch and looks for what the GPU's schedule
// may hide, races in shared memory above all. What a sample can and cannot show:
// docs/measurement.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cudaagent/evaluation.h"
#include "cudaagent/fault.h"
#include "device/device.h"

namespace cudaagent::device {

// Memory of the device whose launches are shadowed. Called from several threads.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Copies to the host; false where that fails.
  virtual bool Read(uint64_t address, uint64_t bytes, void* to) = 0;
  // Where a variable of the loaded module lies; 0 where that is not known.
  virtual uint64_t AddressOf(const std::string& variable, uint64_t bytes) = 0;
};

struct ShadowOptions {
  uint64_t seed = 0;             // which blocks are chosen
  uint64_t budget = 40'000'000;  // thread instructions of the whole run
  int64_t copied = 256 << 20;    // bytes of device memory of the whole run
  int blocks = 8;                // of a sample: the first, the last, random ones
  int launches = 2;              // of each kernel
  int threads = 0;               // host threads; 0: as many as there are cores, at most 8
  int sms = 1;                   // of the GPU
};

// For one run of one plan; one thread at a time.
class Shadow {
 public:
  virtual ~Shadow() = default;
  // What the launches to come may touch.
  virtual void SetRegions(std::vector<MemoryRegion> regions) = 0;
  // Whether a launch is to be looked at. Asked once for each, in order.
  virtual bool Wants(const Launch& launch) = 0;
  // Interprets blocks of the launch that comes next; nothing else may run on the device. A Fault is
  // the candidate's. What stops the interpreter but is no such fault becomes a remark.
  virtual Checked<void> Look(const Launch& launch, DeviceMemory& memory) = 0;
  virtual const RaceReport& report() const = 0;
};

// Null where the program was built without the interpreter.
std::unique_ptr<Shadow> OpenShadow(const Artifact& artifact, const ShadowOptions& options);

}  // namespace cudaagent::device
