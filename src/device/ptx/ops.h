// The table of opcodes. The key is an opcode with every modifier ("fma.rn.ftz.f32"); what is not in
// it, and is none of the families decoded in lower_memory.cpp, is unsupported by name.
//
// A signature is one pair of letters per operand. First: 'D' destination, 'S' source, 'T'
// destination and, after "|", a second predicate. Second, the operand's type: b 8, h 16, w 32, l 64
// bits integer; f f32, d f64; H one half (f16 or bf16), X two; p predicate.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "device/ptx/program.h"

namespace cudaagent::device::ptx {

struct Op {
  Handler run = nullptr;
  std::string signature;
  Cls cls = Cls::kAlu;
  uint8_t aux = 0;  // copied to Instr::aux
};

class OpTable {
 public:
  void Add(const char* opcode, Handler run, const char* signature, Cls cls, uint8_t aux = 0);
  const Op* Find(std::string_view opcode) const;
  size_t size() const { return ops_.size(); }

 private:
  std::unordered_map<std::string, Op> ops_;
};

enum class AtomOp : uint8_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExch, kCas, kCount };
enum class AtomType : uint8_t {
  kU32,
  kS32,
  kU64,
  kS64,
  kF32,
  kF64,
  kF16x2,
  kBf16x2,
  kF16,
  kBf16,
  kB16,
  kCount
};
enum class ReduxOp : uint8_t { kAdd, kMinS, kMaxS, kMinU, kMaxU, kAnd, kOr, kXor };
enum class Clock : uint8_t {
  kClock32,
  kClockHigh,
  kClock64,
  kGlobalTimer,
  kGlobalTimerLow,
  kGlobalTimerHigh
};

// One end of a conversion.
enum class Num : uint8_t {
  kU8,
  kS8,
  kU16,
  kS16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kBf16,
  kF32,
  kF64,
  kTf32,
  kCount
};
enum class Round : uint8_t { kNone, kRn, kRz, kRm, kRp, kRni, kRzi, kRmi, kRpi, kRna };
// Instr::extra of a conversion.
struct Conversion {
  Num to = Num::kU32, from = Num::kU32;
  Round round = Round::kNone;
  bool ftz = false, sat = false, relu = false;
  uint32_t Pack() const {
    return static_cast<uint32_t>(to) | static_cast<uint32_t>(from) << 4 |
           static_cast<uint32_t>(round) << 8 | uint32_t{ftz} << 12 | uint32_t{sat} << 13 |
           uint32_t{relu} << 14;
  }
  static Conversion Unpack(uint32_t bits) {
    return {static_cast<Num>(bits & 15),
            static_cast<Num>(bits >> 4 & 15),
            static_cast<Round>(bits >> 8 & 15),
            (bits >> 12 & 1) != 0,
            (bits >> 13 & 1) != 0,
            (bits >> 14 & 1) != 0};
  }
};

// What a matrix of a warp-wide instruction holds, as its fragment's registers name it.
enum class Element : uint8_t { kF16, kBf16, kTf32, kS8, kU8, kF64, kE4m3, kE5m2, kF32, kS32 };
// Instr::imm of mma and wmma.
struct MatrixShape {
  uint8_t m = 0, n = 0, k = 0;
  Element a = Element::kF16, b = Element::kF16, c = Element::kF32, d = Element::kF32;
  bool saturate = false;
};
static_assert(sizeof(MatrixShape) == 8);
// Instr::imm of wmma.load and wmma.store: a fragment of blocks (see isa/matrix.cpp).
struct FragmentShape {
  uint8_t rows = 0, columns = 0;
  Element element = Element::kF16;
  char role = 'a';            // a, b, c (also d)
  bool column_major = false;  // in memory
  uint8_t unused[3] = {};
};
static_assert(sizeof(FragmentShape) == 8);

// Handlers of the families whose modifiers are decoded (lower_memory.cpp, lower_warp.cpp). What
// Instr's fields mean to each is said where the handler is defined.
struct Families {
  Handler load[4][4];  // [log2 of element bytes][log2 of vector length]
  Handler store[4][4];
  Handler atom[static_cast<int>(AtomOp::kCount)][static_cast<int>(AtomType::kCount)];
  Handler convert;       // any cvt; see also convert_fast
  Handler convert_pair;  // cvt.rn.f16x2.f32 d, a, b
  Handler convert_fast[static_cast<int>(Num::kCount)][static_cast<int>(Num::kCount)];  // plain ones
  Handler bra, brx, exit, call, ret, trap, nop, fence, nanosleep, printf, assertfail;
  Handler bar_sync, bar_arrive, bar_red, bar_warp;
  Handler shfl[4];      // up, down, bfly, idx
  Handler vote[4];      // all, any, uni, ballot
  Handler match[2][2];  // [any, all][32, 64 bits]
  Handler redux;
  Handler activemask, clock;
  Handler pack[4], unpack[4];  // mov of vectors, [log2 of element bytes]
  Handler isspacep, cvta, copy_local;
  Handler mma, wmma_load, wmma_store;
  Handler ldmatrix[2], stmatrix[2];  // [as stored, .trans]
  Handler movmatrix;
  Handler cp_async, cp_async_commit, cp_async_wait;
};

// One build of the executor.
struct Executor {
  const OpTable* ops = nullptr;
  const Families* families = nullptr;
  // Runs a warp until it waits, ends, faults or its quantum is over; true = go on later.
  enum class Outcome : uint8_t { kBlocked, kQuantum, kFault };
  Outcome (*run_warp)(Warp&) = nullptr;
  const char* isa = "";
};

// The best executor this processor can run; the same one for the life of the process.
const Executor& BestExecutor();
// The baseline build, for tests that compare both.
const Executor& BaselineExecutor();

}  // namespace cudaagent::device::ptx
