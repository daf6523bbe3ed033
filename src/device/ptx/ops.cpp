#include "device/ptx/ops.h"

#include "device/ptx/isa_entry.h"

namespace cudaagent::device::ptx {

void OpTable::Add(const char* opcode, Handler run, const char* signature, Cls cls, uint8_t aux) {
  ops_[opcode] = Op{run, signature, cls, aux};
}

const Op* OpTable::Find(std::string_view opcode) const {
  auto found = ops_.find(std::string(opcode));
  return found == ops_.end() ? nullptr : &found->second;
}

namespace {

struct Build {
  OpTable table;
  Families families{};
  Executor executor;
};

}  // namespace

const Executor& BaselineExecutor() {
  static const Build& build = []() -> const Build& {
    Build* made = new Build;  // lives as long as the process
    made->executor = baseline::MakeExecutor(made->table, made->families);
    return *made;
  }();
  return build.executor;
}

const Executor& V3Executor() {
  static const Build& build = []() -> const Build& {
    Build* made = new Build;  // lives as long as the process
    made->executor = v3::MakeExecutor(made->table, made->families);
    return *made;
  }();
  return build.executor;
}

}  // namespace cudaagent::device::ptx
