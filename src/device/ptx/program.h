// A kernel as the executor runs it: instructions with handlers and resolved operands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudaagent::device::ptx {

inline constexpr int kLanes = 32;
inline constexpr uint32_t kAllLanes = 0xffffffffu;
inline constexpr uint32_t kNoOperand = 0x7fffffffu;
inline constexpr uint32_t kLiteral = 0x80000000u;  // operand bit: in the literal pool

// Generic addresses: global memory is the host's own; the other spaces are windows no x86-64
// pointer can lie in.
inline constexpr uint64_t kSharedWindow = 0x0100'0000'0000'0000;
inline constexpr uint64_t kLocalWindow = 0x0200'0000'0000'0000;
inline constexpr uint64_t kParamWindow = 0x0300'0000'0000'0000;
inline constexpr uint64_t kWindowMask = 0xff00'0000'0000'0000;

// Instruction classes: what the estimate charges, in warp instructions.
enum class Cls : uint8_t {
  kAlu,
  kFp32,
  kFp64,
  kHalf,
  kSpecial,
  kMemory,
  kControl,
  kMatrix,
  kCount
};
inline constexpr int kClasses = static_cast<int>(Cls::kCount);

struct Warp;
struct Instr;

// What a handler asks of the loop.
enum class Step : uint8_t {
  kNext,        // go on with the next instruction
  kJump,        // pc and mask were set
  kReschedule,  // the running group ended here: pick another
  kFault,       // Thread::fault was filled
};
using Handler = Step (*)(Warp&, const Instr&, uint32_t mask);

enum class Place : uint8_t { kGeneric, kGlobal, kShared, kLocal, kParam, kConst };

struct Instr {
  Handler run = nullptr;
  uint32_t op[6] = {kNoOperand, kNoOperand, kNoOperand, kNoOperand, kNoOperand, kNoOperand};
  int64_t imm = 0;              // address offset, branch target, ...
  uint32_t guard = kNoOperand;  // predicate
  uint32_t guard_flip = 0;      // all ones where the guard is negated
  uint32_t extra = 0;           // index into Kernel::extras, or an opcode's own small number
  uint32_t line = 0;            // of the candidate's source
  Cls cls = Cls::kAlu;
  uint8_t width[2] = {0, 0};  // register bytes of op[0], op[1] where the opcode does not fix them
  Place place = Place::kGlobal;
  bool wide_address = true;  // the address register has 64 bits
  bool sign = false;
  uint8_t aux = 0;   // a handler's own small number
  bool hot = false;  // a volatile or acquiring access: shortens the quantum (spin loops)
};

static_assert(sizeof(Instr) == 64, "one cache line");

// Longer operand lists: vectors of more than four, matrix fragments, calls.
struct Extra {
  std::vector<uint32_t> ops;
  std::string name;
};

// A special register kept in the warp's block, filled when a warp starts.
enum class Special : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNwarpId,
  kSmId,
  kNsmId,
  kLaneMaskEq,
  kLaneMaskLt,
  kLaneMaskLe,
  kLaneMaskGt,
  kLaneMaskGe,
  kDynamicShared,
  kTotalShared,
  kZero,
  kOne,
  kEnvReg1,
  kEnvReg2,
  kGridId,
};
struct SpecialSlot {
  Special what;
  uint32_t offset = 0;
  uint8_t bytes = 4;
};

struct SharedVariable {
  std::string name;
  uint32_t begin = 0, end = 0;
};

struct Kernel {
  std::string name;   // mangled
  std::string shown;  // as the plan writes it
  std::vector<Instr> code;
  std::vector<uint8_t> literals;  // 64-byte aligned rows, one value per lane
  std::vector<Extra> extras;
  std::vector<SpecialSlot> specials;
  std::vector<SharedVariable> shared;  // static ones, ascending
  uint32_t register_bytes = 0;         // of one warp's block
  uint32_t register_count = 0;         // 32-bit registers per thread (virtual, before allocation)
  uint32_t local_bytes = 0;            // per thread, user's arrays
  uint32_t local_total = 0;            // with call parameters
  uint32_t static_shared = 0;
  uint32_t dynamic_at = 0;  // where dynamic shared memory begins
  std::string dynamic_name;
  uint32_t max_threads = 1024;
  struct Param {
    uint32_t offset, bytes;
  };
  std::vector<Param> params;
  uint32_t param_bytes = 0;
};

}  // namespace cudaagent::device::ptx
