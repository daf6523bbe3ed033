// Operands: registers, literals, special registers, addresses.
#include <array>
#include <cstring>

#include "device/ptx/lower.h"

namespace cudaagent::device::ptx {
namespace {

constexpr uint32_t kMaxRegisterBytes = 16u << 20;  // of one warp

uint32_t BytesOfType(char type) {
  switch (type) {
    case 'p':
      return 0;
    case 'b':
      return 1;
    case 'h':
    case 'H':
      return 2;
    case 'l':
    case 'd':
      return 8;
    default:
      return 4;
  }
}

struct SpecialName {
  std::string_view name;
  Special what;
};
constexpr std::array<SpecialName, 52> kSpecials = {
    {{"%tid.x", Special::kTidX},
     {"%tid.y", Special::kTidY},
     {"%tid.z", Special::kTidZ},
     {"%tid.w", Special::kZero},
     {"%tid", Special::kTidX},
     {"%ntid.x", Special::kNtidX},
     {"%ntid.y", Special::kNtidY},
     {"%ntid.z", Special::kNtidZ},
     {"%ntid.w", Special::kZero},
     {"%ntid", Special::kNtidX},
     {"%ctaid.x", Special::kCtaidX},
     {"%ctaid.y", Special::kCtaidY},
     {"%ctaid.z", Special::kCtaidZ},
     {"%ctaid.w", Special::kZero},
     {"%ctaid", Special::kCtaidX},
     {"%nctaid.x", Special::kNctaidX},
     {"%nctaid.y", Special::kNctaidY},
     {"%nctaid.z", Special::kNctaidZ},
     {"%nctaid.w", Special::kZero},
     {"%nctaid", Special::kNctaidX},
     {"%laneid", Special::kLaneId},
     {"%warpid", Special::kWarpId},
     {"%nwarpid", Special::kNwarpId},
     {"%smid", Special::kSmId},
     {"%nsmid", Special::kNsmId},
     {"%gridid", Special::kGridId},
     {"%lanemask_eq", Special::kLaneMaskEq},
     {"%lanemask_lt", Special::kLaneMaskLt},
     {"%lanemask_le", Special::kLaneMaskLe},
     {"%lanemask_gt", Special::kLaneMaskGt},
     {"%lanemask_ge", Special::kLaneMaskGe},
     {"%dynamic_smem_size", Special::kDynamicShared},
     {"%total_smem_size", Special::kTotalShared},
     {"%aggr_smem_size", Special::kTotalShared},
     {"%envreg1", Special::kEnvReg1},
     {"%envreg2", Special::kEnvReg2},
     // A launch without clusters is one cluster per block.
     {"%cluster_ctaid.x", Special::kZero},
     {"%cluster_ctaid.y", Special::kZero},
     {"%cluster_ctaid.z", Special::kZero},
     {"%cluster_nctaid.x", Special::kOne},
     {"%cluster_nctaid.y", Special::kOne},
     {"%cluster_nctaid.z", Special::kOne},
     {"%cluster_ctarank", Special::kZero},
     {"%cluster_nctarank", Special::kOne},
     {"%clusterid.x", Special::kCtaidX},
     {"%clusterid.y", Special::kCtaidY},
     {"%clusterid.z", Special::kCtaidZ},
     {"%nclusterid.x", Special::kNctaidX},
     {"%nclusterid.y", Special::kNctaidY},
     {"%nclusterid.z", Special::kNctaidZ},
     {"%reserved_smem_offset_begin", Special::kZero},
     {"%reserved_smem_offset_end", Special::kZero}}};

}  // namespace

// Predicates (bytes 0) are one mask of 32 lanes; others one value per lane.
uint32_t Lowering::Allocate(uint32_t bytes) {
  uint32_t size = bytes == 0 ? 4 : bytes * kLanes;
  uint32_t align = bytes == 0 ? 4 : 64;
  uint32_t at = (register_end_ + align - 1) / align * align;
  register_end_ = at + size;
  if (register_end_ > kMaxRegisterBytes)
    throw PtxError("the kernel " + kernel_.name + " uses too many registers");
  return at;
}

uint32_t Lowering::LiteralOf(uint64_t bits, uint32_t bytes) {
  if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
  auto [found, fresh] = literals_.try_emplace({bits, bytes}, 0);
  if (!fresh) return found->second;
  size_t at = (kernel_.literals.size() + 63) / 64 * 64;
  kernel_.literals.resize(at + static_cast<size_t>(bytes) * kLanes);
  for (int l = 0; l < kLanes; ++l) {
    std::memcpy(kernel_.literals.data() + at + static_cast<size_t>(l) * bytes, &bits, bytes);
  }
  found->second = static_cast<uint32_t>(at) | kLiteral;
  return found->second;
}

uint32_t Lowering::RegisterOf(const Operand& operand) const {
  return placed_[current_].registers[operand.index];
}
uint32_t Lowering::RegisterBytes(const Operand& operand) const {
  return placed_[current_].function->registers[operand.index].bytes;
}

uint32_t Lowering::SpecialOf(const std::string& name, uint32_t bytes) {
  Special what = Special::kZero;
  bool known = false;
  for (const SpecialName& special : kSpecials) {
    if (special.name == name) {
      what = special.what;
      known = true;
    }
  }
  if (!known && name.rfind("%envreg", 0) == 0) known = true;  // the driver's; zero here
  if (!known)
    Bad("the special register or name " + name.substr(0, 60) + " is not known to the CPU device");
  auto [found, fresh] = special_.try_emplace({static_cast<int>(what), bytes}, 0);
  if (fresh) {
    found->second = Allocate(bytes);
    kernel_.specials.push_back({what, found->second, static_cast<uint8_t>(bytes)});
  }
  return found->second;
}

// The address a symbol stands for, in its own space.
uint64_t Lowering::AddressOf(const Operand& operand, Space* space) const {
  if (operand.kind == Operand::Kind::kVariable) {
    const Variable& variable = placed_[current_].function->variables[operand.index];
    *space = variable.space;
    return placed_[current_].variables[operand.index];
  }
  if (const PlacedVariable* placed = image_.Find(operand.name)) {
    *space = placed->constant ? Space::kConst : Space::kGlobal;
    return placed->address;
  }
  if (auto shared = module_shared_.find(operand.name); shared != module_shared_.end()) {
    *space = Space::kShared;
    return shared->second;
  }
  if (text_.function_of.count(operand.name) != 0) {
    Bad("takes the address of a function: function pointers are not supported by the CPU device");
  }
  Bad("the name " + operand.name.substr(0, 80) + " is not declared");
}

uint32_t Lowering::Source(const Operand& operand, char type) {
  uint32_t bytes = BytesOfType(type);
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      if (RegisterBytes(operand) != bytes) Bad("an operand's register has another size");
      if (!operand.items.empty()) Bad("a pair as a source");
      return RegisterOf(operand);
    case Operand::Kind::kSpecial:
      if (bytes == 0 && operand.name == "%is_explicit_cluster") return LiteralOf(0, 4);
      if (bytes == 0) Bad("a predicate was expected");
      return SpecialOf(operand.name, bytes);
    case Operand::Kind::kInteger:
      if (type == 'p') return LiteralOf(operand.bits != 0 ? ~uint64_t{0} : 0, 4);
      if (type == 'f' || type == 'd') Bad("an integer where a floating-point number was expected");
      return LiteralOf(operand.bits, bytes);
    case Operand::Kind::kFloat32: {
      if (bytes == 4) return LiteralOf(operand.bits, 4);
      if (type != 'd') Bad("a literal of another size");
      float narrow;
      uint32_t word = static_cast<uint32_t>(operand.bits);
      std::memcpy(&narrow, &word, 4);
      double wide = narrow;
      uint64_t bits;
      std::memcpy(&bits, &wide, 8);
      return LiteralOf(bits, 8);
    }
    case Operand::Kind::kFloat64: {
      if (bytes == 8) return LiteralOf(operand.bits, 8);
      if (type != 'f') Bad("a literal of another size");
      double wide;
      std::memcpy(&wide, &operand.bits, 8);
      float narrow = static_cast<float>(wide);
      uint32_t word;
      std::memcpy(&word, &narrow, 4);
      return LiteralOf(word, 4);
    }
    case Operand::Kind::kSymbol:
    case Operand::Kind::kVariable: {
      Space space;
      uint64_t address = AddressOf(operand, &space) + static_cast<uint64_t>(operand.offset);
      if (bytes == 8 || (bytes == 4 && (space == Space::kShared || space == Space::kLocal ||
                                        space == Space::kParam))) {
        return LiteralOf(address, bytes);
      }
      Bad("an address in an operand of this size");
    }
    default:
      Bad("an operand of this form");
  }
}

// A source register of at least `least` bytes; its size goes to *width.
uint32_t Lowering::SourceAny(const Operand& operand, uint32_t least, uint8_t* width) {
  if (operand.kind == Operand::Kind::kRegister) {
    uint32_t bytes = RegisterBytes(operand);
    if (bytes < least || bytes > 8) Bad("an operand's register has another size");
    *width = static_cast<uint8_t>(bytes);
    return RegisterOf(operand);
  }
  *width = static_cast<uint8_t>(least);
  char type = least == 1 ? 'b' : least == 2 ? 'h' : least == 4 ? 'w' : 'l';
  if (operand.kind == Operand::Kind::kFloat32) type = 'f';
  if (operand.kind == Operand::Kind::kFloat64) type = least == 4 ? 'f' : 'd';
  return Source(operand, type);
}

uint32_t Lowering::Destination(const Operand& operand, char type) {
  if (operand.kind == Operand::Kind::kSink) return kNoOperand;
  if (operand.kind != Operand::Kind::kRegister) Bad("a destination that is no register");
  if (RegisterBytes(operand) != BytesOfType(type)) Bad("the destination has another size");
  return RegisterOf(operand);
}

// The space of an address operand that the opcode leaves to its symbol (ld.param).
Place Lowering::PlaceOf(const Operand& operand) const {
  const Operand& base = operand.items.at(0);
  if (base.kind != Operand::Kind::kVariable && base.kind != Operand::Kind::kSymbol) {
    return placed_[current_].function->entry ? Place::kParam : Place::kLocal;
  }
  if (base.kind == Operand::Kind::kVariable) {
    const Function& function = *placed_[current_].function;
    for (int param : function.params) {
      if (param == base.index && function.entry) return Place::kParam;
    }
  }
  return Place::kLocal;
}

void Lowering::Address(const Operand& operand, Place place, Instr& instr) {
  if (operand.kind != Operand::Kind::kAddress) Bad("an address was expected");
  const Operand& base = operand.items.at(0);
  instr.place = place;
  instr.imm = operand.offset;
  if (base.kind == Operand::Kind::kRegister) {
    uint32_t bytes = RegisterBytes(base);
    if (bytes != 4 && bytes != 8) Bad("an address register of this size");
    if (bytes == 4 && place == Place::kGlobal) Bad("a 32-bit address of global memory");
    instr.wide_address = bytes == 8;
    instr.op[4] = RegisterOf(base);
    return;
  }
  instr.wide_address = true;
  if (base.kind == Operand::Kind::kInteger) {
    instr.op[4] = LiteralOf(base.bits, 8);
    return;
  }
  Space space;
  uint64_t address = AddressOf(base, &space);
  if (place == Place::kGeneric) {
    if (space == Space::kShared) address += kSharedWindow;
    if (space == Space::kLocal) address += kLocalWindow;
    if (space == Space::kParam) Bad("a generic address of a parameter");
  }
  instr.op[4] = LiteralOf(address, 8);
}

}  // namespace cudaagent::device::ptx
