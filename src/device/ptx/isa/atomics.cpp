// atom and red. op[0] old value (or none), op[1] b, op[2] c (cas), op[4] address. Host threads run
// blocks side by side, so every update is a real atomic of the host.
#include "device/ptx/isa/access.h"
#include "device/ptx/isa/half.h"
#include "device/ptx/isa/register.h"
#include "device/ptx/isa/single.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using s32 = int32_t;
using u64 = uint64_t;
using s64 = int64_t;

template <class T, auto F>
inline T Update(uint8_t* at, T b, T c) {
  T* p = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, F(old, b, c), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}

template <class T, auto F>
Step Atomic(Warp& w, const Instr& in, uint32_t m) {
  Access access;
  if (!ResolveLanes(w, in, m, sizeof(T), sizeof(T), Use::kAtomic, access)) return Step::kFault;
  const T* b = At<T>(w, in.op[1]);
  const T* c = in.op[2] == kNoOperand ? b : At<T>(w, in.op[2]);
  T* d = in.op[0] == kNoOperand ? nullptr : At<T>(w, in.op[0]);
  w.thread->counters.atomics += static_cast<u32>(__builtin_popcount(m));
  EachLane(m, [&](int l) {
    T old = Update<T, F>(access.host[l], b[l], c[l]);
    if (d != nullptr) d[l] = old;
  });
  return Step::kNext;
}

template <class H, auto F>
inline u32 Pair(u32 a, u32 b) {
  u32 low = H::To(F(H::From(static_cast<u16>(a)), H::From(static_cast<u16>(b))));
  u32 high = H::To(F(H::From(static_cast<u16>(a >> 16)), H::From(static_cast<u16>(b >> 16))));
  return high << 16 | low;
}

constexpr auto kAddF = [](float a, float b) { return a + b; };
constexpr auto kMinF = [](float a, float b) { return MinMax<false>(a, b); };
constexpr auto kMaxF = [](float a, float b) { return MinMax<true>(a, b); };

template <AtomType kType, class T>
void Integers(Families& f) {
  constexpr int kT = static_cast<int>(kType);
  auto set = [&](AtomOp op, Handler run) { f.atom[static_cast<int>(op)][kT] = run; };
  set(AtomOp::kAdd, Atomic<T, [](T a, T b, T) { return T(u64(a) + u64(b)); }>);
  set(AtomOp::kMin, Atomic<T, [](T a, T b, T) { return b < a ? b : a; }>);
  set(AtomOp::kMax, Atomic<T, [](T a, T b, T) { return a < b ? b : a; }>);
  set(AtomOp::kInc, Atomic<T, [](T a, T b, T) { return b <= a ? T(0) : T(a + 1); }>);
  set(AtomOp::kDec, Atomic<T, [](T a, T b, T) { return a == 0 || b < a ? b : T(a - 1); }>);
  set(AtomOp::kAnd, Atomic<T, [](T a, T b, T) { return T(a & b); }>);
  set(AtomOp::kOr, Atomic<T, [](T a, T b, T) { return T(a | b); }>);
  set(AtomOp::kXor, Atomic<T, [](T a, T b, T) { return T(a ^ b); }>);
  set(AtomOp::kExch, Atomic<T, [](T, T b, T) { return b; }>);
  set(AtomOp::kCas, Atomic<T, [](T a, T b, T c) { return a == b ? c : a; }>);
}

template <class H, AtomType kOne, AtomType kTwo>
void Halves(Families& f) {
  constexpr int k1 = static_cast<int>(kOne), k2 = static_cast<int>(kTwo);
  constexpr int kAdd = static_cast<int>(AtomOp::kAdd), kMin = static_cast<int>(AtomOp::kMin),
                kMax = static_cast<int>(AtomOp::kMax);
  f.atom[kAdd][k1] = Atomic<u16, [](u16 a, u16 b, u16) { return H::To(H::From(a) + H::From(b)); }>;
  f.atom[kMin][k1] =
      Atomic<u16, [](u16 a, u16 b, u16) { return H::To(kMinF(H::From(a), H::From(b))); }>;
  f.atom[kMax][k1] =
      Atomic<u16, [](u16 a, u16 b, u16) { return H::To(kMaxF(H::From(a), H::From(b))); }>;
  f.atom[kAdd][k2] = Atomic<u32, [](u32 a, u32 b, u32) { return Pair<H, kAddF>(a, b); }>;
  f.atom[kMin][k2] = Atomic<u32, [](u32 a, u32 b, u32) { return Pair<H, kMinF>(a, b); }>;
  f.atom[kMax][k2] = Atomic<u32, [](u32 a, u32 b, u32) { return Pair<H, kMaxF>(a, b); }>;
}

}  // namespace

void RegisterAtomics(Families& f) {
  Integers<AtomType::kU32, u32>(f);
  Integers<AtomType::kS32, s32>(f);
  Integers<AtomType::kU64, u64>(f);
  Integers<AtomType::kS64, s64>(f);
  Integers<AtomType::kB16, u16>(f);
  constexpr int kAdd = static_cast<int>(AtomOp::kAdd);
  f.atom[kAdd][static_cast<int>(AtomType::kF32)] =
      Atomic<u32, [](u32 a, u32 b, u32) { return AsBits(Canonical(AsFloat(a) + AsFloat(b))); }>;
  f.atom[kAdd][static_cast<int>(AtomType::kF64)] = Atomic<u64, [](u64 a, u64 b, u64) {
    return __builtin_bit_cast(u64, __builtin_bit_cast(double, a) + __builtin_bit_cast(double, b));
  }>;
  Halves<Half, AtomType::kF16, AtomType::kF16x2>(f);
  Halves<Brain, AtomType::kBf16, AtomType::kBf16x2>(f);
}

}  // namespace cudaagent::device::ptx::PTX_ISA
