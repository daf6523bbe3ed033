#include "device/guarded_memory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <cstring>
#include <utility>

#include "device/gpu/unmapped_memory.h"

namespace cudaagent::device {
namespace {

// A word that is NaN as float32, in both halves as float16 and bfloat16, and doubled as float64:
// what reads a zone computes NaN.
constexpr uint32_t kPattern = 0x7FFDFFA5;

// The byte the pattern has at this offset of the block.
uint8_t PatternByte(int64_t offset) { return static_cast<uint8_t>(kPattern >> (8 * (offset % 4))); }

// [begin, end) of `bytes` becomes the pattern; both are rounded out to whole words by the caller.
void FillPattern(const at::Tensor& bytes, int64_t begin, int64_t end) {
  bytes.slice(0, begin, end).view(at::kInt).fill_(static_cast<int64_t>(kPattern));
}

int64_t RoundDown(int64_t value, int64_t unit) { return value / unit * unit; }
int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

struct Damage {
  int64_t count = 0;  // bytes that differ
  int64_t first = 0;  // offsets within the zone
  int64_t last = 0;
};

// `zone` starts at `offset` of its block.
Damage Compare(const uint8_t* zone, int64_t bytes, int64_t offset) {
  Damage damage;
  for (int64_t i = 0; i < bytes; ++i) {
    if (zone[i] == PatternByte(offset + i)) continue;
    if (damage.count++ == 0) damage.first = i;
    damage.last = i;
  }
  return damage;
}

std::string Count(int64_t n) { return c10::str(n, n == 1 ? " byte" : " bytes"); }

}  // namespace

GuardLayout ZonesLayout(int64_t span) {
  constexpr int64_t kGuard = GuardedMemory::kGuardBytes;
  return {kGuard, kGuard, RoundUp(span, GuardedMemory::kAlignment) + 2 * kGuard};
}

GuardLayout StrictLayout(int64_t span, int64_t granularity) {
  const int64_t aligned = RoundUp(span, GuardedMemory::kAlignment);
  const int64_t total = RoundUp(GuardedMemory::kGuardBytes + aligned, granularity);
  return {total - aligned, aligned - span, total};
}

int64_t SpanBytes(const at::Tensor& tensor) {
  int64_t last = 0;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) == 0) return 0;
    last += (tensor.size(d) - 1) * tensor.stride(d);
  }
  return (last + 1) * static_cast<int64_t>(tensor.element_size());
}

at::Tensor AsBytes(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  at::Tensor bytes = at::empty({0}, tensor.options().dtype(at::kByte));
  const int64_t offset = tensor.storage_offset() * static_cast<int64_t>(tensor.element_size());
  return bytes.set_(tensor.storage(), offset, {SpanBytes(tensor)}, {1});
}

void FillPoison(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) return;
  const at::NoGradGuard no_grad;
  const at::Tensor bytes = AsBytes(tensor);
  // Wide stores where the memory allows them: an output may have gigabytes.
  const bool aligned = bytes.storage_offset() % 8 == 0;
  const int64_t wide = aligned ? RoundDown(bytes.numel(), 8) : 0;
  if (wide > 0) bytes.slice(0, 0, wide).view(at::kLong).fill_(-1);
  if (wide < bytes.numel()) bytes.slice(0, wide).fill_(0xFF);
}

at::Tensor GuardedMemory::Allocate(const std::string& name, at::IntArrayRef sizes,
                                   at::IntArrayRef strides, at::ScalarType dtype,
                                   at::Device device) {
  const at::NoGradGuard no_grad;
  const auto item = static_cast<int64_t>(c10::elementSize(dtype));
  int64_t span = item;
  for (size_t d = 0; d < sizes.size(); ++d) {
    span = sizes[d] == 0 ? 0 : span + (sizes[d] - 1) * strides[d] * item;
    if (span == 0) break;
  }
  Block block;
  block.name = name;
  GuardLayout layout;
  int64_t skew = 0;
  if (guard_ == Guard::kStrict && device.is_cuda()) {
    layout = StrictLayout(span, gpu::MappingGranularity(device));
    block.bytes = gpu::AllocateBeforeUnmapped(layout.total, device);
  } else {
    layout = ZonesLayout(span);
    block.bytes =
        at::empty({layout.total + kAlignment}, at::TensorOptions().dtype(at::kByte).device(device));
    const auto address = reinterpret_cast<uintptr_t>(block.bytes.data_ptr());
    skew = static_cast<int64_t>((kAlignment - address % kAlignment) % kAlignment);
  }
  block.begin = skew + layout.begin;
  block.end = block.begin + span;
  block.after = layout.after;
  FillPattern(block.bytes, 0, block.begin);
  FillPattern(block.bytes, RoundDown(block.end, 4), block.bytes.numel());
  at::Tensor tensor = at::empty({0}, at::TensorOptions().dtype(dtype).device(device));
  tensor.set_(block.bytes.storage(), block.begin / item, sizes, strides);
  blocks_.push_back(std::move(block));
  return tensor;
}

Checked<void> GuardedMemory::Check() {
  if (blocks_.empty()) return {};
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> zones;
  for (const Block& block : blocks_) {
    zones.push_back(block.bytes.slice(0, block.begin - kGuardBytes, block.begin));
    zones.push_back(block.bytes.slice(0, block.end, block.end + block.after));
  }
  // One kernel and one copy, however many zones.
  const at::Tensor host = at::cat(zones).cpu();
  const auto* bytes = host.const_data_ptr<uint8_t>();
  Fault fault;
  bool damaged = false;
  for (Block& block : blocks_) {
    const Damage before = Compare(bytes, kGuardBytes, block.begin - kGuardBytes);
    const Damage after = Compare(bytes + kGuardBytes, block.after, block.end);
    bytes += kGuardBytes + block.after;
    if (before.count == 0 && after.count == 0) continue;
    FillPattern(block.bytes, RoundDown(block.begin - kGuardBytes, 4), block.begin);
    for (int64_t at = block.end; at < RoundUp(block.end, 4); ++at) {
      block.bytes.select(0, at).fill_(PatternByte(at));
    }
    FillPattern(block.bytes, RoundUp(block.end, 4), RoundUp(block.end + block.after, 4));
    if (std::exchange(damaged, true)) continue;
    const bool past = after.count > 0;
    const int64_t gap = past ? after.first : kGuardBytes - 1 - before.last;
    fault.verdict = Verdict::kOutOfBounds;
    fault.message =
        c10::str("A kernel wrote ", Count(past ? after.count : before.count),
                 past ? " past the end of " : " before the start of ", block.name,
                 gap == 0 ? ", right beside it." : c10::str(", ", Count(gap), " away from it."));
  }
  if (damaged) return tl::unexpected<Fault>(std::move(fault));
  return {};
}

}  // namespace cudaagent::device
