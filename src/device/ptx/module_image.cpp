#include "device/ptx/module_image.h"

#include <algorithm>
#include <cstring>

namespace cudaagent::device::ptx {

ModuleImage::ModuleImage(const ModuleText& text, const Locate& locate) {
  uint64_t total = 0;
  for (const Variable& variable : text.variables) {
    if (variable.space != Space::kGlobal && variable.space != Space::kConst) continue;
    total += variable.bytes;
    if (total > (uint64_t{1} << 31)) throw PtxError("the module's variables are larger than 2 GiB");
    PlacedVariable placed;
    placed.name = variable.name;
    placed.bytes = variable.bytes;
    placed.constant = variable.space == Space::kConst;
    if (locate) placed.address = locate(variable.name, variable.bytes);
    if (placed.address != 0) {
      by_name_[variable.name] = variables_.size();
      variables_.push_back(std::move(placed));
      continue;
    }
    uint64_t align = std::max<uint64_t>(variable.align, 16);
    placed.storage = std::make_unique<uint8_t[]>(variable.bytes + align + 1);
    uint64_t raw = reinterpret_cast<uint64_t>(placed.storage.get());
    placed.base = placed.storage.get() + ((align - raw % align) % align);
    placed.address = reinterpret_cast<uint64_t>(placed.base);
    std::copy(variable.initial.begin(), variable.initial.end(), placed.base);
    by_name_[variable.name] = variables_.size();
    variables_.push_back(std::move(placed));
  }
  for (const Variable& variable : text.variables) {
    for (const Variable::Address& address : variable.addresses) {
      const PlacedVariable* target = Find(address.symbol);
      const PlacedVariable* holder = Find(variable.name);
      if (target == nullptr || holder == nullptr || address.width != 8) {
        throw PtxError(
            "the initialiser of " + variable.name + " names " + address.symbol +
            ", which is no variable: tables of functions are not supported by the CPU device");
      }
      if (holder->base == nullptr) continue;  // initialised where it lies
      uint64_t value = target->address + static_cast<uint64_t>(address.offset);
      std::memcpy(holder->base + address.at, &value, 8);
    }
  }
}

const PlacedVariable* ModuleImage::Find(const std::string& name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &variables_[found->second];
}

}  // namespace cudaagent::device::ptx
