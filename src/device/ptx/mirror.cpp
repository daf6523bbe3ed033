#include "device/ptx/mirror.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace cudaagent::device::ptx {
namespace {

constexpr uint64_t kHostPage = 4096;

}  // namespace

std::unique_ptr<LazyMemory> LazyMemory::Map(uint64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  return std::unique_ptr<LazyMemory>(new LazyMemory(static_cast<uint8_t*>(data), bytes));
}

LazyMemory::~LazyMemory() { munmap(data_, bytes_); }

Mirror::Mirror(DeviceMemory& memory, uint64_t address, uint64_t bytes, std::atomic<int64_t>* left,
               std::unique_ptr<LazyMemory> host)
    : memory_(memory),
      address_(address),
      bytes_(bytes),
      left_(left),
      host_(std::move(host)),
      data_(host_->data() + address % kHostPage),
      present_((bytes + kPage - 1) / kPage) {}

std::unique_ptr<Mirror> Mirror::Map(DeviceMemory& memory, uint64_t address, uint64_t bytes,
                                    std::atomic<int64_t>* left) {
  std::unique_ptr<LazyMemory> host = LazyMemory::Map(bytes + address % kHostPage);
  if (host == nullptr) return nullptr;
  return std::unique_ptr<Mirror>(new Mirror(memory, address, bytes, left, std::move(host)));
}

bool Mirror::Fetch(uint64_t offset, uint64_t bytes) {
  const uint64_t last = (offset + bytes - 1) / kPage;
  for (uint64_t page = offset / kPage; page <= last; ++page) {
    if (present_[page].load(std::memory_order_acquire) == 0 && !Copy(page)) return false;
  }
  return true;
}

bool Mirror::Copy(uint64_t page) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (present_[page].load(std::memory_order_relaxed) != 0) return true;
  const uint64_t at = page * kPage, bytes = std::min(kPage, bytes_ - at);
  if (left_->fetch_sub(static_cast<int64_t>(bytes)) < static_cast<int64_t>(bytes)) return false;
  if (!memory_.Read(address_ + at, bytes, data_ + at)) return false;
  present_[page].store(1, std::memory_order_release);
  return true;
}

}  // namespace cudaagent::device::ptx
