#include "compile/cubin_reader.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "util/text.h"

namespace cudaagent::compile {
namespace {

constexpr uint16_t kMachineCuda = 190;  // EM_CUDA
constexpr uint8_t kFormatSized = 0x04;  // attribute with a 16-bit size and as many bytes
// From sm_90 on the system keeps the first KiB of a block's shared memory; the section counts it.
constexpr int64_t kReservedSharedBytes = 1024;
constexpr uint8_t kMaxThreads = 0x05, kFrameSize = 0x11, kRegisterCount = 0x2f;

template <typename T>
std::optional<T> At(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view Slice(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.substr(offset, size);
}

std::string_view CString(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

struct Section {
  Elf64_Shdr header;
  std::string_view name, bytes;
};

// Calls `use(attribute, value bytes)` for every sized attribute of a .nv.info section.
template <typename Use>
void ForEachAttribute(std::string_view info, Use use) {
  while (info.size() >= 4) {
    const auto format = static_cast<uint8_t>(info[0]), attribute = static_cast<uint8_t>(info[1]);
    if (format != kFormatSized) {  // the value is in the header's last two bytes
      info.remove_prefix(4);
      continue;
    }
    const uint16_t size = *At<uint16_t>(info, 2);
    if (size > info.size() - 4) return;
    use(attribute, info.substr(4, size));
    info.remove_prefix(4u + size);
  }
}

}  // namespace

std::map<std::string, KernelResources> ReadCubin(std::string_view cubin) {
  std::map<std::string, KernelResources> kernels;
  const auto header = At<Elf64_Ehdr>(cubin, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != kMachineCuda ||
      header->e_shentsize != sizeof(Elf64_Shdr)) {
    return kernels;
  }
  std::vector<Section> sections;
  for (uint32_t i = 0; i < header->e_shnum; ++i) {
    const auto raw = At<Elf64_Shdr>(cubin, header->e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
    if (!raw) return kernels;
    sections.push_back({*raw, {}, {}});
    if (raw->sh_type != SHT_NOBITS) {
      sections.back().bytes = Slice(cubin, raw->sh_offset, raw->sh_size);
    }
  }
  if (header->e_shstrndx >= sections.size()) return kernels;
  std::string_view symbols, symbol_names;
  int64_t reserved = 0;
  for (Section& section : sections) {
    section.name = CString(sections[header->e_shstrndx].bytes, section.header.sh_name);
    if (section.header.sh_type == SHT_SYMTAB) {
      symbols = section.bytes;
      if (section.header.sh_link < sections.size()) {
        symbol_names = sections[section.header.sh_link].bytes;
      }
    }
    if (section.name == ".nv.shared.reserved.0") reserved = kReservedSharedBytes;
    if (util::StartsWith(section.name, ".text.")) {
      kernels[std::string(section.name.substr(6))] = {};
    }
  }
  const auto kernel_of = [&](std::string_view name) -> KernelResources* {
    const auto found = kernels.find(std::string(name));
    return found == kernels.end() ? nullptr : &found->second;
  };
  for (const Section& section : sections) {
    if (util::StartsWith(section.name, ".nv.shared.")) {
      if (auto* kernel = kernel_of(section.name.substr(11))) {
        kernel->static_shared_bytes =
            std::max<int64_t>(static_cast<int64_t>(section.header.sh_size) - reserved, 0);
      }
    } else if (section.name == ".nv.info") {
      ForEachAttribute(section.bytes, [&](uint8_t attribute, std::string_view value) {
        const auto index = At<uint32_t>(value, 0), amount = At<uint32_t>(value, 4);
        if (!index || !amount) return;
        const auto symbol = At<Elf64_Sym>(symbols, uint64_t{*index} * sizeof(Elf64_Sym));
        if (!symbol) return;
        auto* kernel = kernel_of(CString(symbol_names, symbol->st_name));
        if (kernel == nullptr) return;
        if (attribute == kRegisterCount) kernel->registers = static_cast<int>(*amount);
        if (attribute == kFrameSize) kernel->local_bytes = *amount;
      });
    } else if (util::StartsWith(section.name, ".nv.info.")) {
      auto* kernel = kernel_of(section.name.substr(9));
      if (kernel == nullptr) continue;
      ForEachAttribute(section.bytes, [&](uint8_t attribute, std::string_view value) {
        if (attribute != kMaxThreads) return;
        const auto x = At<uint32_t>(value, 0), y = At<uint32_t>(value, 4),
                   z = At<uint32_t>(value, 8);
        if (x && y && z && *x <= 1024 && *y <= 1024 && *z <= 1024) {
          kernel->max_threads = static_cast<int>(*x * *y * *z);
        }
      });
    }
  }
  return kernels;
}

}  // namespace cudaagent::compile
