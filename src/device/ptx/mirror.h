// A region of a GPU's memory on the host, copied page by page when the interpreter first touches
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/ptx/machine.h"
#include "device/shadow.h"

namespace cudaagent::device::ptx {

// Zeroed host memory that takes room only where it is touched.
class LazyMemory {
 public:
  static std::unique_ptr<LazyMemory> Map(uint64_t bytes);  // null where there is no address space
  ~LazyMemory();
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;
  uint8_t* data() const { return data_; }

 private:
  LazyMemory(uint8_t* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  uint8_t* data_;
  uint64_t bytes_;
};

class Mirror : public PageSource {
 public:
  static constexpr uint64_t kPage = 64 << 10;

  // Of [address, address + bytes), bytes > 0. Null where there is no address space for it. `left`:
  // bytes that may still be copied, shared by several mirrors.
  static std::unique_ptr<Mirror> Map(DeviceMemory& memory, uint64_t address, uint64_t bytes,
                                     std::atomic<int64_t>* left);
  bool Fetch(uint64_t offset, uint64_t bytes) override;
  // Host address less device address; both are aligned alike.
  uint64_t shift() const { return reinterpret_cast<uint64_t>(data_) - address_; }

 private:
  Mirror(DeviceMemory& memory, uint64_t address, uint64_t bytes, std::atomic<int64_t>* left,
         std::unique_ptr<LazyMemory> host);
  bool Copy(uint64_t page);

  DeviceMemory& memory_;
  uint64_t address_, bytes_;
  std::atomic<int64_t>* left_;
  std::unique_ptr<LazyMemory> host_;
  uint8_t* data_;
  std::vector<std::atomic<uint8_t>> present_;  // of each page
  std::mutex mutex_;
};

}  // namespace cudaagent::device::ptx
