// Memory of a module's own variables, as the device would place them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/ptx/text.h"

namespace cudaagent::device::ptx {

struct PlacedVariable {
  std::string name;
  uint64_t address = 0;                // as kernels see it
  std::unique_ptr<uint8_t[]> storage;  // null: it lies elsewhere
  uint8_t* base = nullptr;             // of the storage, aligned
  uint64_t bytes = 0;
  bool constant = false;
};

// Places and initialises .global and .const variables. Throws PtxError. Addresses do not change.
class ModuleImage {
 public:
  // Where a variable lies that some other device has placed; 0: it is placed here.
  using Locate = std::function<uint64_t(const std::string& name, uint64_t bytes)>;

  explicit ModuleImage(const ModuleText& text, const Locate& locate = {});
  const std::vector<PlacedVariable>& variables() const { return variables_; }
  const PlacedVariable* Find(const std::string& name) const;

 private:
  std::vector<PlacedVariable> variables_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace cudaagent::device::ptx
