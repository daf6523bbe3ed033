// cvt. Common conversions have their own lane loops; the rest goes lane by lane through one exact
// function. op[0] destination, op[1] source, Instr::extra a Conversion; width[0], width[1]: bytes
// of the registers, which may be wider than the types.
#include "device/ptx/isa/half.h"
#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"
#include "device/ptx/isa/single.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

using u64 = uint64_t;
using s64 = int64_t;

constexpr bool IsFloat(Num n) { return n >= Num::kF16; }
constexpr int BytesOf(Num n) {
  constexpr int kBytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 4};
  return kBytes[static_cast<int>(n)];
}
constexpr bool IsSigned(Num n) { return !IsFloat(n) && (static_cast<int>(n) & 1) != 0; }

// A finite or infinite double rounded to `bits` of mantissa (hidden one included) and a least
// exponent `emin` (of the smallest normal), as an exact double.
double RoundTo(double x, int bits, int emin, Round round) {
  if (x == 0 || x != x || __builtin_isinf(x)) return x;
  u64 raw = __builtin_bit_cast(u64, x);
  int exponent = static_cast<int>(raw >> 52 & 0x7ff) - 1023;
  if (exponent < emin) exponent = emin;
  // The unit in the last place as a power of two.
  double unit = __builtin_ldexp(1.0, exponent - bits + 1);
  double scaled = x / unit, whole = __builtin_trunc(scaled), rest = __builtin_fabs(scaled - whole);
  bool negative = x < 0, up = false;
  switch (round) {
    case Round::kRz:
      break;
    case Round::kRm:
      up = negative && rest != 0;
      break;
    case Round::kRp:
      up = !negative && rest != 0;
      break;
    case Round::kRna:
      up = rest >= 0.5;
      break;
    default:
      up = rest > 0.5 || (rest == 0.5 && __builtin_fmod(whole, 2.0) != 0);
      break;
  }
  if (up) whole += negative ? -1 : 1;
  return __builtin_copysign(whole * unit, x);
}
// What overflow gives: infinity, or the largest finite value where the rounding points inwards.
double Overflow(double x, double largest, Round round) {
  if (!(__builtin_fabs(x) > largest) || __builtin_isinf(x)) return x;
  bool inward =
      round == Round::kRz || (round == Round::kRm && x > 0) || (round == Round::kRp && x < 0);
  return __builtin_copysign(inward ? largest : __builtin_inf(), x);
}

// 64-bit integers as doubles, rounded to odd: one later rounding to fewer bits is then exact.
double OddDouble(s64 v, bool is_unsigned) {
  bool negative = !is_unsigned && v < 0;
  u64 a = negative ? 0 - static_cast<u64>(v) : static_cast<u64>(v);
  u64 sticky = 0;
  double scale = 1;
  while (a >> 53 != 0) {
    sticky |= a & 1;
    a >>= 1;
    scale *= 2;
  }
  a |= sticky;
  double d = static_cast<double>(a) * scale;
  return negative ? -d : d;
}

double ToInteger(double x, Round round) {
  switch (round) {
    case Round::kRmi:
    case Round::kRm:
      return __builtin_floor(x);
    case Round::kRpi:
    case Round::kRp:
      return __builtin_ceil(x);
    case Round::kRni:
    case Round::kRn:
      return __builtin_rint(x);
    default:
      return __builtin_trunc(x);
  }
}

u64 FloatBits(double v, Num to, Round round) {
  switch (to) {
    case Num::kF16: {
      v = Overflow(RoundTo(v, 11, -14, round), 65504, round);
      return ToHalf(static_cast<float>(v));
    }
    case Num::kBf16: {
      v = Overflow(RoundTo(v, 8, -126, round), 3.3895313892515355e38, round);
      return ToBrain(static_cast<float>(v));
    }
    case Num::kTf32:
    case Num::kF32: {
      if (v != v) return kNan;
      if (to == Num::kTf32) {
        v = Overflow(RoundTo(v, 11, -126, round), 3.4011621342146535e38, round);
      } else {
        v = Overflow(RoundTo(v, 24, -126, round), 3.4028234663852886e38, round);
      }
      return AsBits(static_cast<float>(v));
    }
    default:
      return __builtin_bit_cast(u64, v);
  }
}

u64 One(u64 raw, const Conversion& c) {
  int from_bytes = BytesOf(c.from), to_bytes = BytesOf(c.to);
  if (!IsFloat(c.from)) {
    int shift = 64 - 8 * from_bytes;
    u64 v = raw << shift;
    v = IsSigned(c.from) ? static_cast<u64>(static_cast<s64>(v) >> shift) : v >> shift;
    if (IsFloat(c.to)) {
      Round round = c.round == Round::kNone ? Round::kRn : c.round;
      double d = OddDouble(static_cast<s64>(v), !IsSigned(c.from));
      // Odd rounding keeps 53 bits; for f64 itself round the integer directly.
      if (c.to == Num::kF64 && from_bytes == 8) {
        Rounding mode(round == Round::kRz   ? Rounding::kZero
                      : round == Round::kRm ? Rounding::kDown
                      : round == Round::kRp ? Rounding::kUp
                                            : Rounding::kNearest);
        volatile u64 source = v;
        volatile double r = IsSigned(c.from) ? static_cast<double>(static_cast<s64>(source))
                                             : static_cast<double>(source);
        d = r;
      }
      u64 bits = FloatBits(d, c.to, round);
      if (c.sat && c.to == Num::kF32) bits = AsBits(Saturate(AsFloat(static_cast<uint32_t>(bits))));
      return bits;
    }
    if (c.sat) {
      int drop = 64 - 8 * to_bytes;
      if (IsSigned(c.to)) {
        s64 high = static_cast<s64>(~u64{0} >> 1) >> drop, low = -high - 1;
        if (IsSigned(c.from)) {
          s64 s = static_cast<s64>(v);
          v = static_cast<u64>(s > high ? high : s < low ? low : s);
        } else if (v > static_cast<u64>(high)) {
          v = static_cast<u64>(high);
        }
      } else {
        u64 high = ~u64{0} >> drop;
        if (IsSigned(c.from) && static_cast<s64>(v) < 0) v = 0;
        if (v > high) v = high;
      }
    }
    return v;
  }
  double v = 0;
  switch (c.from) {
    case Num::kF16:
      v = static_cast<double>(FromHalf(static_cast<uint16_t>(raw)));
      break;
    case Num::kBf16:
      v = static_cast<double>(FromBrain(static_cast<uint16_t>(raw)));
      break;
    case Num::kF64:
      v = __builtin_bit_cast(double, raw);
      break;
    default: {
      float f = AsFloat(static_cast<uint32_t>(raw));
      v = static_cast<double>(c.ftz ? Flush(f) : f);
    }
  }
  if (!IsFloat(c.to)) {
    if (v != v) return 0;
    v = ToInteger(v, c.round);
    int bits = 8 * to_bytes;
    double top = __builtin_ldexp(1.0, IsSigned(c.to) ? bits - 1 : bits);
    if (IsSigned(c.to)) {
      if (v >= top) return (u64{1} << (bits - 1)) - 1;
      if (v <= -top) return ~u64{0} << (bits - 1);
      return static_cast<u64>(static_cast<s64>(v));
    }
    if (v >= top) return ~u64{0} >> (64 - bits);
    if (v <= 0) return 0;
    return static_cast<u64>(v);
  }
  bool to_whole = c.round >= Round::kRni && c.round <= Round::kRpi;
  Round round = c.round == Round::kNone || to_whole ? Round::kRn : c.round;
  if (to_whole) v = __builtin_copysign(ToInteger(v, c.round), v);
  if (c.sat) v = v > 0 ? (v < 1 ? v : 1) : 0;
  if (c.relu && v == v) v = v > 0 ? v : 0;
  u64 bits = FloatBits(v, c.to, round);
  if (c.ftz && c.to == Num::kF32) bits = AsBits(Flush(AsFloat(static_cast<uint32_t>(bits))));
  return bits;
}

// Loads the low bytes, widens integers by their sign to the destination register.
Step Convert(Warp& w, const Instr& in, uint32_t m) {
  Conversion c = Conversion::Unpack(in.extra);
  uint8_t* d = At<uint8_t>(w, in.op[0]);
  const uint8_t* s = At<uint8_t>(w, in.op[1]);
  int sw = in.width[1], dw = in.width[0], to_bytes = BytesOf(c.to);
  EachLane(m, [&](int l) {
    u64 raw = 0;
    std::memcpy(&raw, s + l * sw, sw);
    u64 r = One(raw, c);
    int shift = 64 - 8 * to_bytes;
    r <<= shift;
    r = IsSigned(c.to) ? static_cast<u64>(static_cast<s64>(r) >> shift) : r >> shift;
    std::memcpy(d + l * dw, &r, dw);
  });
  return Step::kNext;
}

// cvt.rn.f16x2.f32 d, a, b: a goes to the upper half.
Step ConvertPair(Warp& w, const Instr& in, uint32_t m) {
  Conversion c = Conversion::Unpack(in.extra);
  uint32_t* d = At<uint32_t>(w, in.op[0]);
  const uint32_t* a = At<uint32_t>(w, in.op[1]);
  const uint32_t* b = At<uint32_t>(w, in.op[2]);
  alignas(64) uint32_t t[kLanes];
  if (c.round == Round::kRn && !c.relu && !c.sat && c.to == Num::kF16) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) {
      t[l] = static_cast<uint32_t>(ToHalf(AsFloat(a[l]))) << 16 | ToHalf(AsFloat(b[l]));
    }
  } else if (c.round == Round::kRn && !c.relu && !c.sat) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) {
      t[l] = static_cast<uint32_t>(ToBrain(AsFloat(a[l]))) << 16 | ToBrain(AsFloat(b[l]));
    }
  } else {
    for (int l = 0; l < kLanes; ++l)
      t[l] = static_cast<uint32_t>(One(a[l], c) << 16 | One(b[l], c));
  }
  Blend(d, t, m);
  return Step::kNext;
}

inline int32_t ToInt(float x) {
  // Truncation that saturates; NaN gives 0. The host gives INT_MIN for all that does not fit.
  float y = x < 2147483648.0f ? x : -2147483648.0f;
  int32_t r = static_cast<int32_t>(y > -2147483648.0f ? y : -2147483648.0f);
  r = x >= 2147483648.0f ? 0x7fffffff : r;
  return x == x ? r : 0;
}
// Nearest even as a float: exact beyond 2^23, where every float is whole.
inline float NearestFloat(float x) {
  float r = NearestSmall(x);
  r = Fabs(x) < 4194304.0f ? r : __builtin_rintf(x);
  return Canonical(WithSign(r, x));
}

}  // namespace

// Plain conversions (no .ftz, .sat, .relu; the rounding that the type pair implies) in registers of
// exactly their size: lower_warp.cpp asks for these first.
void RegisterConvert(Families& f) {
  f.convert = Convert;
  f.convert_pair = ConvertPair;
  auto set = [&](Num to, Num from, Handler run) {
    f.convert_fast[static_cast<int>(to)][static_cast<int>(from)] = run;
  };
  using u32 = uint32_t;
  using s32 = int32_t;
  for (Num to : {Num::kU64, Num::kS64}) {
    set(to, Num::kU32, Map1<u64, u32, [](u32 a) { return u64(a); }>);
    set(to, Num::kS32, Map1<u64, s32, [](s32 a) { return u64(s64(a)); }>);
  }
  for (Num to : {Num::kU32, Num::kS32}) {
    set(to, Num::kU64, Map1<u32, u64, [](u64 a) { return u32(a); }>);
    set(to, Num::kS64, Map1<u32, u64, [](u64 a) { return u32(a); }>);
    set(to, Num::kU16, Map1<u32, uint16_t, [](uint16_t a) { return u32(a); }>);
    set(to, Num::kS16, Map1<u32, int16_t, [](int16_t a) { return u32(s32(a)); }>);
    set(to, Num::kU32, Map1<u32, u32, [](u32 a) { return a; }>);
    set(to, Num::kS32, Map1<u32, u32, [](u32 a) { return a; }>);
  }
  for (Num to : {Num::kU16, Num::kS16}) {
    set(to, Num::kU32, Map1<uint16_t, u32, [](u32 a) { return uint16_t(a); }>);
    set(to, Num::kS32, Map1<uint16_t, u32, [](u32 a) { return uint16_t(a); }>);
  }
  set(Num::kF32, Num::kS32, Map1<float, s32, [](s32 a) { return static_cast<float>(a); }>);
  set(Num::kF32, Num::kU32, Map1<float, u32, [](u32 a) { return static_cast<float>(a); }>);
  set(Num::kF64, Num::kS32, Map1<double, s32, [](s32 a) { return static_cast<double>(a); }>);
  set(Num::kF64, Num::kU32, Map1<double, u32, [](u32 a) { return static_cast<double>(a); }>);
  set(Num::kF64, Num::kF32, Map1<double, float, [](float a) { return static_cast<double>(a); }>);
  set(Num::kF32, Num::kF64,
      Map1<float, double, [](double a) { return Canonical(static_cast<float>(a)); }>);
  set(Num::kF32, Num::kF16, Map1<float, uint16_t, [](uint16_t a) { return FromHalf(a); }>);
  set(Num::kF32, Num::kBf16, Map1<float, uint16_t, [](uint16_t a) { return FromBrain(a); }>);
  set(Num::kF16, Num::kF32, Map1<uint16_t, float, [](float a) { return ToHalf(a); }>);
  set(Num::kBf16, Num::kF32, Map1<uint16_t, float, [](float a) { return ToBrain(a); }>);
  set(Num::kS32, Num::kF32, Map1<s32, float, [](float a) { return ToInt(a); }>);           // .rzi
  set(Num::kF32, Num::kF32, Map1<float, float, [](float a) { return NearestFloat(a); }>);  // .rni
}

}  // namespace cudaagent::device::ptx::PTX_ISA
