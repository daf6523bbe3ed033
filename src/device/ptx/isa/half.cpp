// f16, f16x2, bf16, bf16x2 arithmetic: in f32, rounded once to 16 bits.
#include "device/ptx/isa/half.h"

#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"
#include "device/ptx/isa/single.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

// kN elements of 16 bits: 32 for f16, 64 for f16x2. A lane of f16x2 is two neighbours.
template <int kN>
inline void Keep(uint16_t* d, const uint16_t* t, uint32_t m) {
  if (m == kAllLanes) {
    std::memcpy(d, t, kN * 2);
  } else if (kN == kLanes) {
    Blend(d, t, m);
  } else {
    Blend(reinterpret_cast<uint32_t*>(d), reinterpret_cast<const uint32_t*>(t), m);
  }
}

template <int kN, class H, bool kFtz>
inline float Load(uint16_t h) {
  return H::From(kFtz ? FlushHalf(h) : h);
}
template <class H, bool kFtz, bool kSat, bool kRelu>
inline uint16_t Round(float f) {
  f = kSat ? Saturate(f) : f;
  if (kRelu) f = f == f ? (f > 0.0f ? f : 0.0f) : f;
  uint16_t r = H::To(f);
  return kFtz ? FlushHalf(r) : r;
}

template <int kN, class H, auto F, bool kFtz, bool kSat, bool kRelu>
Step One(Warp& w, const Instr& in, uint32_t m) {
  const uint16_t* a = At<uint16_t>(w, in.op[1]);
  alignas(64) uint16_t t[kN];
#pragma GCC ivdep
  for (int i = 0; i < kN; ++i) t[i] = Round<H, kFtz, kSat, kRelu>(F(Load<kN, H, kFtz>(a[i])));
  Keep<kN>(At<uint16_t>(w, in.op[0]), t, m);
  return Step::kNext;
}
template <int kN, class H, auto F, bool kFtz, bool kSat, bool kRelu>
Step Two(Warp& w, const Instr& in, uint32_t m) {
  const uint16_t* a = At<uint16_t>(w, in.op[1]);
  const uint16_t* b = At<uint16_t>(w, in.op[2]);
  alignas(64) uint16_t t[kN];
#pragma GCC ivdep
  for (int i = 0; i < kN; ++i) {
    t[i] = Round<H, kFtz, kSat, kRelu>(F(Load<kN, H, kFtz>(a[i]), Load<kN, H, kFtz>(b[i])));
  }
  Keep<kN>(At<uint16_t>(w, in.op[0]), t, m);
  return Step::kNext;
}
template <int kN, class H, auto F, bool kFtz, bool kSat, bool kRelu>
Step Three(Warp& w, const Instr& in, uint32_t m) {
  const uint16_t* a = At<uint16_t>(w, in.op[1]);
  const uint16_t* b = At<uint16_t>(w, in.op[2]);
  const uint16_t* c = At<uint16_t>(w, in.op[3]);
  alignas(64) uint16_t t[kN];
#pragma GCC ivdep
  for (int i = 0; i < kN; ++i) {
    t[i] = Round<H, kFtz, kSat, kRelu>(
        F(Load<kN, H, kFtz>(a[i]), Load<kN, H, kFtz>(b[i]), Load<kN, H, kFtz>(c[i])));
  }
  Keep<kN>(At<uint16_t>(w, in.op[0]), t, m);
  return Step::kNext;
}

// Bits only: abs, neg.
template <int kN, auto F>
Step Bits(Warp& w, const Instr& in, uint32_t m) {
  const uint16_t* a = At<uint16_t>(w, in.op[1]);
  alignas(64) uint16_t t[kN];
#pragma GCC ivdep
  for (int i = 0; i < kN; ++i) t[i] = F(a[i]);
  Keep<kN>(At<uint16_t>(w, in.op[0]), t, m);
  return Step::kNext;
}

constexpr auto kAdd = [](float a, float b) { return a + b; };
constexpr auto kSub = [](float a, float b) { return a - b; };
constexpr auto kMul = [](float a, float b) { return a * b; };
constexpr auto kMin = [](float a, float b) { return MinMax<false>(a, b); };
constexpr auto kMax = [](float a, float b) { return MinMax<true>(a, b); };
constexpr auto kMinNan = [](float a, float b) { return MinMaxNan<false>(a, b); };
constexpr auto kMaxNan = [](float a, float b) { return MinMaxNan<true>(a, b); };
constexpr auto kFma = [](float a, float b, float c) { return FmaOdd(a, b, c); };
constexpr auto kTanh = [](float a) { return Tanh(a); };
constexpr auto kEx2 = [](float a) { return Exp2(a); };

template <int kN, class H>
void Family(OpTable& t, const char* type, char c) {
  char one[5] = {'D', c, 'S', c, 0}, two[7] = {'D', c, 'S', c, 'S', c, 0};
  char three[9] = {'D', c, 'S', c, 'S', c, 'S', c, 0};
  auto arithmetic = [&](const char* op, Handler plain, Handler ftz, Handler sat, Handler both) {
    for (const char* rn : {"", ".rn"}) {
      t.Add(Name(op, rn, ".", type).text, plain, two, Cls::kHalf);
      t.Add(Name(op, rn, ".ftz.", type).text, ftz, two, Cls::kHalf);
      t.Add(Name(op, rn, ".sat.", type).text, sat, two, Cls::kHalf);
      t.Add(Name(op, rn, ".ftz.sat.", type).text, both, two, Cls::kHalf);
    }
  };
  arithmetic("add", Two<kN, H, kAdd, false, false, false>, Two<kN, H, kAdd, true, false, false>,
             Two<kN, H, kAdd, false, true, false>, Two<kN, H, kAdd, true, true, false>);
  arithmetic("sub", Two<kN, H, kSub, false, false, false>, Two<kN, H, kSub, true, false, false>,
             Two<kN, H, kSub, false, true, false>, Two<kN, H, kSub, true, true, false>);
  arithmetic("mul", Two<kN, H, kMul, false, false, false>, Two<kN, H, kMul, true, false, false>,
             Two<kN, H, kMul, false, true, false>, Two<kN, H, kMul, true, true, false>);
  t.Add(Name("fma.rn.", type).text, Three<kN, H, kFma, false, false, false>, three, Cls::kHalf);
  t.Add(Name("fma.rn.ftz.", type).text, Three<kN, H, kFma, true, false, false>, three, Cls::kHalf);
  t.Add(Name("fma.rn.sat.", type).text, Three<kN, H, kFma, false, true, false>, three, Cls::kHalf);
  t.Add(Name("fma.rn.ftz.sat.", type).text, Three<kN, H, kFma, true, true, false>, three,
        Cls::kHalf);
  t.Add(Name("fma.rn.relu.", type).text, Three<kN, H, kFma, false, false, true>, three, Cls::kHalf);
  t.Add(Name("fma.rn.ftz.relu.", type).text, Three<kN, H, kFma, true, false, true>, three,
        Cls::kHalf);
  t.Add(Name("min.", type).text, Two<kN, H, kMin, false, false, false>, two, Cls::kHalf);
  t.Add(Name("max.", type).text, Two<kN, H, kMax, false, false, false>, two, Cls::kHalf);
  t.Add(Name("min.ftz.", type).text, Two<kN, H, kMin, true, false, false>, two, Cls::kHalf);
  t.Add(Name("max.ftz.", type).text, Two<kN, H, kMax, true, false, false>, two, Cls::kHalf);
  t.Add(Name("min.NaN.", type).text, Two<kN, H, kMinNan, false, false, false>, two, Cls::kHalf);
  t.Add(Name("max.NaN.", type).text, Two<kN, H, kMaxNan, false, false, false>, two, Cls::kHalf);
  t.Add(Name("min.ftz.NaN.", type).text, Two<kN, H, kMinNan, true, false, false>, two, Cls::kHalf);
  t.Add(Name("max.ftz.NaN.", type).text, Two<kN, H, kMaxNan, true, false, false>, two, Cls::kHalf);
  t.Add(Name("abs.", type).text, Bits<kN, [](uint16_t a) { return uint16_t(a & 0x7fff); }>, one,
        Cls::kHalf);
  t.Add(Name("neg.", type).text, Bits<kN, [](uint16_t a) { return uint16_t(a ^ 0x8000); }>, one,
        Cls::kHalf);
  t.Add(Name("abs.ftz.", type).text,
        Bits<kN, [](uint16_t a) { return uint16_t(FlushHalf(a) & 0x7fff); }>, one, Cls::kHalf);
  t.Add(Name("neg.ftz.", type).text,
        Bits<kN, [](uint16_t a) { return uint16_t(FlushHalf(a) ^ 0x8000); }>, one, Cls::kHalf);
  t.Add(Name("tanh.approx.", type).text, One<kN, H, kTanh, false, false, false>, one,
        Cls::kSpecial);
  t.Add(Name("ex2.approx.", type).text, One<kN, H, kEx2, false, false, false>, one, Cls::kSpecial);
  t.Add(Name("ex2.approx.ftz.", type).text, One<kN, H, kEx2, true, false, false>, one,
        Cls::kSpecial);
}

// setp on two halves: p for the low one, q for the high one.
template <class H, auto F>
Step SetpTwo(Warp& w, const Instr& in, uint32_t m) {
  const uint16_t* a = At<uint16_t>(w, in.op[1]);
  const uint16_t* b = At<uint16_t>(w, in.op[2]);
  uint32_t low = 0, high = 0;
  for (int l = 0; l < kLanes; ++l) {
    low |= F(H::From(a[2 * l]), H::From(b[2 * l])) ? 1u << l : 0u;
    high |= F(H::From(a[2 * l + 1]), H::From(b[2 * l + 1])) ? 1u << l : 0u;
  }
  SetPredicate(w, in.op[0], low, m);
  SetPredicate(w, in.op[5], high, m);
  return Step::kNext;
}
// set: 1.0 or 0 (type f16x2) or 0xffff or 0 (u32) per half.
template <class H, auto F, uint16_t kTrue>
Step SetTwo(Warp& w, const Instr& in, uint32_t m) {
  const uint16_t* a = At<uint16_t>(w, in.op[1]);
  const uint16_t* b = At<uint16_t>(w, in.op[2]);
  alignas(64) uint16_t t[2 * kLanes];
  for (int i = 0; i < 2 * kLanes; ++i) t[i] = F(H::From(a[i]), H::From(b[i])) ? kTrue : 0;
  Keep<2 * kLanes>(At<uint16_t>(w, in.op[0]), t, m);
  return Step::kNext;
}
template <class H, auto F, uint16_t kTrue>
Step SetOne(Warp& w, const Instr& in, uint32_t m) {
  const uint16_t* a = At<uint16_t>(w, in.op[1]);
  const uint16_t* b = At<uint16_t>(w, in.op[2]);
  alignas(64) uint16_t t[kLanes];
  for (int i = 0; i < kLanes; ++i) t[i] = F(H::From(a[i]), H::From(b[i])) ? kTrue : 0;
  Keep<kLanes>(At<uint16_t>(w, in.op[0]), t, m);
  return Step::kNext;
}

template <class H, uint16_t kOne16, auto F>
void AddSet(OpTable& t, const char* compare, const char* type, const char* type2) {
  t.Add(Name("setp.", compare, ".", type2).text, SetpTwo<H, F>, "TpSXSX", Cls::kHalf);
  t.Add(Name("set.", compare, ".", type2, ".", type2).text, SetTwo<H, F, kOne16>, "DXSXSX",
        Cls::kHalf);
  t.Add(Name("set.", compare, ".u32.", type2).text, SetTwo<H, F, 0xffff>, "DwSXSX", Cls::kHalf);
  t.Add(Name("set.", compare, ".", type, ".", type).text, SetOne<H, F, kOne16>, "DHSHSH",
        Cls::kHalf);
  t.Add(Name("set.", compare, ".u16.", type).text, SetOne<H, F, 0xffff>, "DhSHSH", Cls::kHalf);
}
template <class H, uint16_t kOne16>
void Sets(OpTable& t, const char* type, const char* type2) {
  AddSet<H, kOne16, [](float a, float b) { return a == b; }>(t, "eq", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return a < b || b < a; }>(t, "ne", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return a < b; }>(t, "lt", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return a <= b; }>(t, "le", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return b < a; }>(t, "gt", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return b <= a; }>(t, "ge", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return !(a < b || b < a); }>(t, "equ", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return !(a == b); }>(t, "neu", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return !(b <= a); }>(t, "ltu", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return !(b < a); }>(t, "leu", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return !(a <= b); }>(t, "gtu", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return !(a < b); }>(t, "geu", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return a == a && b == b; }>(t, "num", type, type2);
  AddSet<H, kOne16, [](float a, float b) { return a != a || b != b; }>(t, "nan", type, type2);
}

inline float Positive(float v) { return v < 0.0f ? 0.0f : v; }

// Conversions of pairs of 8-bit floats; the first source, or the upper half, is the upper byte.
template <bool kE5m2, bool kRelu>
void Bytes(OpTable& t, const char* type, const char* relu) {
  t.Add(Name("cvt.rn.satfinite", relu, ".", type, ".f32").text,
        Map2<uint16_t, float, float,
             [](float a, float b) {
               if (kRelu) a = Positive(a), b = Positive(b);
               return static_cast<uint16_t>(ToFp8(a, kE5m2) << 8 | ToFp8(b, kE5m2));
             }>,
        "DhSfSf", Cls::kSpecial);
  t.Add(Name("cvt.rn.satfinite", relu, ".", type, ".f16x2").text,
        Map1<uint16_t, uint32_t,
             [](uint32_t v) {
               float a = FromHalf(static_cast<uint16_t>(v >> 16)),
                     b = FromHalf(static_cast<uint16_t>(v));
               if (kRelu) a = Positive(a), b = Positive(b);
               return static_cast<uint16_t>(ToFp8(a, kE5m2) << 8 | ToFp8(b, kE5m2));
             }>,
        "DhSX", Cls::kSpecial);
  t.Add(Name("cvt.rn", relu, ".f16x2.", type).text,
        Map1<uint32_t, uint16_t,
             [](uint16_t v) {
               float a = FromFp8(static_cast<uint8_t>(v >> 8), kE5m2),
                     b = FromFp8(static_cast<uint8_t>(v), kE5m2);
               if (kRelu) a = Positive(a), b = Positive(b);
               return static_cast<uint32_t>(ToHalf(a)) << 16 | ToHalf(b);
             }>,
        "DXSh", Cls::kSpecial);
}

}  // namespace

void RegisterHalf(OpTable& t) {
  Bytes<false, false>(t, "e4m3x2", "");
  Bytes<false, true>(t, "e4m3x2", ".relu");
  Bytes<true, false>(t, "e5m2x2", "");
  Bytes<true, true>(t, "e5m2x2", ".relu");
  Family<kLanes, Half>(t, "f16", 'H');
  Family<2 * kLanes, Half>(t, "f16x2", 'X');
  Family<kLanes, Brain>(t, "bf16", 'H');
  Family<2 * kLanes, Brain>(t, "bf16x2", 'X');
  Sets<Half, 0x3c00>(t, "f16", "f16x2");
  Sets<Brain, 0x3f80>(t, "bf16", "bf16x2");
}

}  // namespace cudaagent::device::ptx::PTX_ISA
