// Lane loops: how a lambda over one lane becomes a handler over a warp. Included only by isa/*.cpp,
// which are compiled once per instruction set; all of it lives in that build's own namespace, so
// that the linker can never give the baseline a function compiled for a newer processor.
#pragma once

#include <cstdint>
#include <cstring>

#include "device/ptx/machine.h"
#include "device/ptx/ops.h"

#ifndef PTX_ISA
#error "isa/*.cpp are compiled with PTX_ISA set, see room.cmake"
#endif

namespace cudaagent::device::ptx::PTX_ISA {

template <class T>
inline T* At(Warp& w, uint32_t op) {
  return reinterpret_cast<T*>(w.base[op >> 31] + (op & ~kLiteral));
}

inline uint32_t Mask(Warp& w, uint32_t op) { return *At<uint32_t>(w, op); }

template <class T>
inline void Blend(T* d, const T* t, uint32_t m) {
  if constexpr (sizeof(T) == 8) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) d[l] = (static_cast<uint64_t>(m) >> l) & 1 ? t[l] : d[l];
  } else {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) d[l] = (m >> l) & 1 ? t[l] : d[l];
  }
}

// Handlers from lambdas. Inactive lanes are computed and dropped, so F must be total.
template <class D, class A, auto F>
Step Map1(Warp& w, const Instr& in, uint32_t m) {
  D* d = At<D>(w, in.op[0]);
  const A* a = At<A>(w, in.op[1]);
  if (m == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) d[l] = F(a[l]);
  } else {
    alignas(64) D t[kLanes];
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) t[l] = F(a[l]);
    Blend(d, t, m);
  }
  return Step::kNext;
}

template <class D, class A, class B, auto F>
Step Map2(Warp& w, const Instr& in, uint32_t m) {
  D* d = At<D>(w, in.op[0]);
  const A* a = At<A>(w, in.op[1]);
  const B* b = At<B>(w, in.op[2]);
  if (m == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) d[l] = F(a[l], b[l]);
  } else {
    alignas(64) D t[kLanes];
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) t[l] = F(a[l], b[l]);
    Blend(d, t, m);
  }
  return Step::kNext;
}

template <class D, class A, class B, class C, auto F>
Step Map3(Warp& w, const Instr& in, uint32_t m) {
  D* d = At<D>(w, in.op[0]);
  const A* a = At<A>(w, in.op[1]);
  const B* b = At<B>(w, in.op[2]);
  const C* c = At<C>(w, in.op[3]);
  if (m == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) d[l] = F(a[l], b[l], c[l]);
  } else {
    alignas(64) D t[kLanes];
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) t[l] = F(a[l], b[l], c[l]);
    Blend(d, t, m);
  }
  return Step::kNext;
}

// A lane loop whose body names lanes itself: active lanes only, not vectorised.
template <class F>
inline void EachLane(uint32_t m, F f) {
  for (; m != 0; m &= m - 1) f(__builtin_ctz(m));
}

// Lanes for which F holds, as a mask.
template <class A, class B, auto F>
inline uint32_t Compare(const A* a, const B* b) {
  uint32_t r = 0;
  for (int l = 0; l < kLanes; ++l) r |= F(a[l], b[l]) ? (1u << l) : 0u;
  return r;
}

inline void SetPredicate(Warp& w, uint32_t op, uint32_t value, uint32_t m) {
  if (op == kNoOperand) return;
  uint32_t* p = At<uint32_t>(w, op);
  *p = (*p & ~m) | (value & m);
}

// Builds opcode names without std::string: "setp" + ".lt" + ".f32".
struct Name {
  char text[64] = {};
  template <class... Parts>
  explicit Name(Parts... parts) {
    int n = 0;
    auto put = [&](const char* part) {
      while (*part != 0 && n < 63) text[n++] = *part++;
    };
    (put(parts), ...);
  }
};

inline float AsFloat(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t AsBits(float value) { return __builtin_bit_cast(uint32_t, value); }

// Subnormals become zero of the same sign.
inline float Flush(float x) {
  uint32_t bits = AsBits(x);
  return AsFloat((bits & 0x7f800000u) != 0 ? bits : bits & 0x80000000u);
}
inline constexpr uint32_t kNan = 0x7fffffffu;  // the NaN PTX's f32 instructions return
inline float Canonical(float x) { return x == x ? x : AsFloat(kNan); }
inline float Saturate(float x) {
  float y = x > 0.0f ? x : 0.0f;  // NaN -> 0
  return y < 1.0f ? y : 1.0f;
}

// Rounding of the host's SSE unit, for as long as it lives. Operands must come from memory and
// results go to memory between construction and destruction.
class Rounding {
 public:
  enum Mode : uint32_t { kNearest = 0, kDown = 0x2000, kUp = 0x4000, kZero = 0x6000 };
  explicit Rounding(uint32_t mode) {
    saved_ = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((saved_ & ~0x6000u) | mode);
    asm volatile("" ::: "memory");
  }
  ~Rounding() {
    asm volatile("" ::: "memory");
    __builtin_ia32_ldmxcsr(saved_);
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  uint32_t saved_;
};

}  // namespace cudaagent::device::ptx::PTX_ISA
