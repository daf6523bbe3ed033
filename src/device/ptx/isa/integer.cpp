// Integer and logic instructions.
#include "device/ptx/isa/integer_types.h"
#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

template <class T>
constexpr bool kSigned = T(-1) < T(0);
template <class T>
constexpr T kMax = kSigned<T> ? T((Unsigned<T>(1) << (kBits<T> - 1)) - 1) : T(-1);
template <class T>
constexpr T kMin = kSigned<T> ? T(Unsigned<T>(1) << (kBits<T> - 1)) : T(0);

// PTX leaves x / 0 undefined; the hardware gives all ones, and x % 0 the dividend.
template <class T>
T Divide(T a, T b) {
  if (b == 0) return T(-1);
  if (kSigned<T> && b == T(-1)) return T(0 - Unsigned<T>(a));
  return a / b;
}
template <class T>
T Remainder(T a, T b) {
  if (b == 0) return a;
  if (kSigned<T> && b == T(-1)) return 0;
  return a % b;
}

template <class T>
constexpr auto kAdd = [](T a, T b) { return T(Unsigned<T>(a) + Unsigned<T>(b)); };
template <class T>
constexpr auto kSub = [](T a, T b) { return T(Unsigned<T>(a) - Unsigned<T>(b)); };
template <class T>
constexpr auto kMulLo = [](T a, T b) { return T(u64(Unsigned<T>(a)) * u64(Unsigned<T>(b))); };
template <class T>
constexpr auto kMulHi = [](T a, T b) { return T((Wide<T>(a) * Wide<T>(b)) >> kBits<T>); };
template <class T>
constexpr auto kMulWide = [](T a, T b) { return Wide<T>(a) * Wide<T>(b); };
template <class T>
constexpr auto kMadLo = [](T a, T b, T c) {
  return T(u64(Unsigned<T>(a)) * u64(Unsigned<T>(b)) + u64(Unsigned<T>(c)));
};
template <class T>
constexpr auto kMadHi = [](T a, T b, T c) {
  return T(Unsigned<T>(T((Wide<T>(a) * Wide<T>(b)) >> kBits<T>)) + Unsigned<T>(c));
};
template <class T>
constexpr auto kMadWide = [](T a, T b, Wide<T> c) {
  using U = Unsigned<Wide<T>>;
  return Wide<T>(U(Wide<T>(a) * Wide<T>(b)) + U(c));
};

template <class T>
T SaturatingAdd(T a, T b) {
  s64 r = s64(a) + s64(b);
  return r > s64(kMax<T>) ? kMax<T> : r < s64(kMin<T>) ? kMin<T> : T(r);
}
template <class T>
T SaturatingSub(T a, T b) {
  s64 r = s64(a) - s64(b);
  return r > s64(kMax<T>) ? kMax<T> : r < s64(kMin<T>) ? kMin<T> : T(r);
}

template <class T>
T Bfe(T a, u32 pos, u32 len) {
  pos &= 0xff;
  len &= 0xff;
  constexpr u32 kTop = kBits<T> - 1;
  Unsigned<T> u = Unsigned<T>(a);
  bool sign = false;
  if (kSigned<T> && len != 0) {
    u32 at = pos + len - 1 < kTop ? pos + len - 1 : kTop;
    sign = (u >> at) & 1;
  }
  u32 room = pos > kTop ? 0 : kTop + 1 - pos;
  u32 valid = len < room ? len : room;
  if (valid == 0) return sign ? T(~Unsigned<T>(0)) : T(0);
  Unsigned<T> mask = ~Unsigned<T>(0) >> (kTop + 1 - valid);
  Unsigned<T> field = (u >> pos) & mask;
  return T(sign ? field | ~mask : field);
}
template <class T>
T Bfi(T a, T b, u32 pos, u32 len) {
  pos &= 0xff;
  len &= 0xff;
  if (pos >= u32(kBits<T>) || len == 0) return b;
  T mask = len >= u32(kBits<T>) ? T(~T(0)) : T((T(1) << len) - 1);
  mask = T(mask << pos);
  return T((b & ~mask) | ((a << pos) & mask));
}

u32 Permute(u32 a, u32 b, u32 c) {
  u64 bytes = u64(b) << 32 | a;
  u32 r = 0;
  for (int i = 0; i < 4; ++i) {
    u32 s = c >> (4 * i);
    u32 v = u32(bytes >> (8 * (s & 7))) & 0xff;
    if (s & 8) v = v & 0x80 ? 0xff : 0;
    r |= v << (8 * i);
  }
  return r;
}
template <int kMode>  // f4e, b4e, rc8, ecl, ecr, rc16
u32 PermuteMode(u32 a, u32 b, u32 c) {
  static constexpr u16 kTable[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
      {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
      {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return Permute(a, b, kTable[kMode][c & 3]);
}

template <class T>
u32 LeadingZeros(T a) {
  if (a == 0) return kBits<T>;
  return sizeof(T) == 8 ? u32(__builtin_clzll(a)) : u32(__builtin_clz(u32(a)));
}
template <class T>
u32 FindHigh(T a) {
  Unsigned<T> u = Unsigned<T>(kSigned<T> && a < 0 ? ~a : a);
  return u == 0 ? ~0u : u32(kBits<T>) - 1 - LeadingZeros(u);
}
template <class T>
u32 FindHighShift(T a) {
  u32 at = FindHigh(a);
  return at == ~0u ? at : u32(kBits<T>) - 1 - at;
}
u32 Reverse(u32 x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
u32 CountBits(u32 x) {
  x -= x >> 1 & 0x55555555u;
  x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
  return ((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

template <class T>
T ShiftLeft(T a, u32 n) {
  return n >= u32(kBits<T>) ? T(0) : T(Unsigned<T>(a) << n);
}
template <class T>
T ShiftRight(T a, u32 n) {
  u32 k = n >= u32(kBits<T>) ? kBits<T> - 1 : n;
  if (kSigned<T>) return T(a >> k);
  return n >= u32(kBits<T>) ? T(0) : T(a >> k);
}

template <class A, class B>
u32 Dot4(u32 a, u32 b, u32 c) {
  u32 r = c;
  for (int i = 0; i < 4; ++i) {
    r += u32(s32(A(a >> (8 * i))) * s32(B(b >> (8 * i))));
  }
  return r;
}
template <class A, class B, int kHigh>
u32 Dot2(u32 a, u32 b, u32 c) {
  u32 r = c;
  for (int i = 0; i < 2; ++i) {
    r += u32(s32(A(a >> (16 * i))) * s32(B(b >> (16 * kHigh + 8 * i))));
  }
  return r;
}

// lop3: in.extra is the truth table.
Step Lop3(Warp& w, const Instr& in, uint32_t m) {
  u32* d = At<u32>(w, in.op[0]);
  const u32* a = At<u32>(w, in.op[1]);
  const u32* b = At<u32>(w, in.op[2]);
  const u32* c = At<u32>(w, in.op[3]);
  u32 k = At<u32>(w, in.op[4])[0];
  u32 k0 = -(k & 1), k1 = -(k >> 1 & 1), k2 = -(k >> 2 & 1), k3 = -(k >> 3 & 1);
  u32 k4 = -(k >> 4 & 1), k5 = -(k >> 5 & 1), k6 = -(k >> 6 & 1), k7 = -(k >> 7 & 1);
  alignas(64) u32 t[kLanes];
#pragma GCC ivdep
  for (int l = 0; l < kLanes; ++l) {
    u32 x = a[l], y = b[l], z = c[l];
    u32 low = (~y & ((~z & k0) | (z & k1))) | (y & ((~z & k2) | (z & k3)));
    u32 high = (~y & ((~z & k4) | (z & k5))) | (y & ((~z & k6) | (z & k7)));
    t[l] = (~x & low) | (x & high);
  }
  Blend(d, t, m);
  return Step::kNext;
}

// Four sources: D = F(a, b, c, d).
template <class T, auto F>
Step Insert(Warp& w, const Instr& in, uint32_t m) {
  T* d = At<T>(w, in.op[0]);
  const T* a = At<T>(w, in.op[1]);
  const T* b = At<T>(w, in.op[2]);
  const u32* p = At<u32>(w, in.op[3]);
  const u32* n = At<u32>(w, in.op[4]);
  EachLane(m, [&](int l) { d[l] = F(a[l], b[l], p[l], n[l]); });
  return Step::kNext;
}

template <class T>
void Arithmetic(OpTable& t, const char* type, char c, char wide) {
  auto sig = [&](char d, int n, char last) {
    Name s("");
    int k = 0;
    s.text[k++] = 'D';
    s.text[k++] = d;
    for (int i = 0; i < n; ++i) {
      s.text[k++] = 'S';
      s.text[k++] = i == n - 1 ? last : c;
    }
    return s;
  };
  Cls alu = Cls::kAlu;
  t.Add(Name("add.", type).text, Map2<T, T, T, kAdd<T>>, sig(c, 2, c).text, alu);
  t.Add(Name("sub.", type).text, Map2<T, T, T, kSub<T>>, sig(c, 2, c).text, alu);
  t.Add(Name("mul.lo.", type).text, Map2<T, T, T, kMulLo<T>>, sig(c, 2, c).text, alu);
  t.Add(Name("mul.hi.", type).text, Map2<T, T, T, kMulHi<T>>, sig(c, 2, c).text, alu);
  t.Add(Name("mad.lo.", type).text, Map3<T, T, T, T, kMadLo<T>>, sig(c, 3, c).text, alu);
  t.Add(Name("mad.hi.", type).text, Map3<T, T, T, T, kMadHi<T>>, sig(c, 3, c).text, alu);
  if constexpr (sizeof(T) < 8) {
    using W = Wide<T>;
    t.Add(Name("mul.wide.", type).text, Map2<W, T, T, kMulWide<T>>, sig(wide, 2, c).text, alu);
    t.Add(Name("mad.wide.", type).text, Map3<W, T, T, W, kMadWide<T>>, sig(wide, 3, wide).text,
          alu);
  }
  t.Add(Name("div.", type).text, Map2<T, T, T, [](T a, T b) { return Divide(a, b); }>,
        sig(c, 2, c).text, alu);
  t.Add(Name("rem.", type).text, Map2<T, T, T, [](T a, T b) { return Remainder(a, b); }>,
        sig(c, 2, c).text, alu);
  t.Add(Name("min.", type).text, Map2<T, T, T, [](T a, T b) { return a < b ? a : b; }>,
        sig(c, 2, c).text, alu);
  t.Add(Name("max.", type).text, Map2<T, T, T, [](T a, T b) { return b < a ? a : b; }>,
        sig(c, 2, c).text, alu);
  t.Add(Name("shr.", type).text, Map2<T, T, u32, [](T a, u32 b) { return ShiftRight(a, b); }>,
        sig(c, 2, 'w').text, alu);
  if constexpr (sizeof(T) <= 4) {
    t.Add(Name("sad.", type).text,
          Map3<T, T, T, T,
               [](T a, T b, T k) {
                 return T(Unsigned<T>(k) + Unsigned<T>(a < b ? Unsigned<T>(b) - Unsigned<T>(a)
                                                             : Unsigned<T>(a) - Unsigned<T>(b)));
               }>,
          sig(c, 3, c).text, alu);
  } else {
    t.Add(Name("sad.", type).text,
          Map3<T, T, T, T,
               [](T a, T b, T k) {
                 return T(Unsigned<T>(k) + (a < b ? Unsigned<T>(b) - Unsigned<T>(a)
                                                  : Unsigned<T>(a) - Unsigned<T>(b)));
               }>,
          sig(c, 3, c).text, alu);
  }
  if constexpr (kSigned<T>) {
    t.Add(Name("abs.", type).text,
          Map1<T, T, [](T a) { return a < 0 ? T(0 - Unsigned<T>(a)) : a; }>, sig(c, 1, c).text,
          alu);
    t.Add(Name("neg.", type).text, Map1<T, T, [](T a) { return T(0 - Unsigned<T>(a)); }>,
          sig(c, 1, c).text, alu);
  }
  if constexpr (sizeof(T) >= 4) {
    t.Add(Name("bfe.", type).text,
          Map3<T, T, u32, u32, [](T a, u32 b, u32 n) { return Bfe(a, b, n); }>,
          c == 'w' ? "DwSwSwSw" : "DlSlSwSw", alu);
    t.Add(Name("bfind.", type).text, Map1<u32, T, [](T a) { return FindHigh(a); }>,
          c == 'w' ? "DwSw" : "DwSl", alu);
    t.Add(Name("bfind.shiftamt.", type).text, Map1<u32, T, [](T a) { return FindHighShift(a); }>,
          c == 'w' ? "DwSw" : "DwSl", alu);
  }
}

template <class T>
void Bitwise(OpTable& t, const char* type, char c) {
  char two[7] = {'D', c, 'S', c, 'S', c, 0}, one[5] = {'D', c, 'S', c, 0};
  char shift[7] = {'D', c, 'S', c, 'S', 'w', 0};
  Cls alu = Cls::kAlu;
  t.Add(Name("and.", type).text, Map2<T, T, T, [](T a, T b) { return T(a & b); }>, two, alu);
  t.Add(Name("or.", type).text, Map2<T, T, T, [](T a, T b) { return T(a | b); }>, two, alu);
  t.Add(Name("xor.", type).text, Map2<T, T, T, [](T a, T b) { return T(a ^ b); }>, two, alu);
  t.Add(Name("not.", type).text, Map1<T, T, [](T a) { return T(~a); }>, one, alu);
  t.Add(Name("cnot.", type).text, Map1<T, T, [](T a) { return T(a == 0); }>, one, alu);
  t.Add(Name("shl.", type).text, Map2<T, T, u32, [](T a, u32 b) { return ShiftLeft(a, b); }>, shift,
        alu);
  t.Add(Name("shr.", type).text, Map2<T, T, u32, [](T a, u32 b) { return ShiftRight(a, b); }>,
        shift, alu);
}

template <class T, bool kLeft>
u32 Funnel(u32 a, u32 b, u32 c) {
  u32 n = c;
  u64 both = u64(b) << 32 | a;
  return kLeft ? u32((both << n) >> 32) : u32(both >> n);
}

u32 FindSet(u32 mask, u32 base, s32 offset) {
  if (base > 31) return ~0u;
  if (offset == 0) return (mask >> base & 1) != 0 ? base : ~0u;
  s64 left = offset < 0 ? -s64(offset) : offset;
  for (s32 at = s32(base); at >= 0 && at < 32; at += offset < 0 ? -1 : 1) {
    if ((mask >> at & 1) != 0 && --left == 0) return u32(at);
  }
  return ~0u;
}

void Others(OpTable& t) {
  Cls alu = Cls::kAlu;
  t.Add("add.sat.s32", Map2<s32, s32, s32, [](s32 a, s32 b) { return SaturatingAdd(a, b); }>,
        "DwSwSw", alu);
  t.Add("sub.sat.s32", Map2<s32, s32, s32, [](s32 a, s32 b) { return SaturatingSub(a, b); }>,
        "DwSwSw", alu);
  t.Add("mad.hi.sat.s32",
        Map3<s32, s32, s32, s32,
             [](s32 a, s32 b, s32 c) { return SaturatingAdd(s32((s64(a) * b) >> 32), c); }>,
        "DwSwSwSw", alu);
  t.Add("mul24.lo.u32",
        Map2<u32, u32, u32, [](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }>, "DwSwSw",
        alu);
  t.Add("mul24.lo.s32",
        Map2<s32, s32, s32,
             [](s32 a, s32 b) {
               return s32(u32(s32(u32(a) << 8) >> 8) * u32(s32(u32(b) << 8) >> 8));
             }>,
        "DwSwSw", alu);
  t.Add("bfi.b32", Insert<u32, Bfi<u32>>, "DwSwSwSwSw", alu);
  t.Add("bfi.b64", Insert<u64, Bfi<u64>>, "DlSlSlSwSw", alu);
  t.Add("prmt.b32", Map3<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return Permute(a, b, c); }>,
        "DwSwSwSw", alu);
  t.Add("prmt.b32.f4e", Map3<u32, u32, u32, u32, PermuteMode<0>>, "DwSwSwSw", alu);
  t.Add("prmt.b32.b4e", Map3<u32, u32, u32, u32, PermuteMode<1>>, "DwSwSwSw", alu);
  t.Add("prmt.b32.rc8", Map3<u32, u32, u32, u32, PermuteMode<2>>, "DwSwSwSw", alu);
  t.Add("prmt.b32.ecl", Map3<u32, u32, u32, u32, PermuteMode<3>>, "DwSwSwSw", alu);
  t.Add("prmt.b32.ecr", Map3<u32, u32, u32, u32, PermuteMode<4>>, "DwSwSwSw", alu);
  t.Add("prmt.b32.rc16", Map3<u32, u32, u32, u32, PermuteMode<5>>, "DwSwSwSw", alu);
  t.Add("lop3.b32", Lop3, "DwSwSwSwSw", alu);
  t.Add("popc.b32", Map1<u32, u32, [](u32 a) { return CountBits(a); }>, "DwSw", alu);
  t.Add("popc.b64",
        Map1<u32, u64, [](u64 a) { return CountBits(u32(a)) + CountBits(u32(a >> 32)); }>, "DwSl",
        alu);
  t.Add("clz.b32", Map1<u32, u32, LeadingZeros<u32>>, "DwSw", alu);
  t.Add("clz.b64", Map1<u32, u64, LeadingZeros<u64>>, "DwSl", alu);
  t.Add("brev.b32", Map1<u32, u32, [](u32 a) { return Reverse(a); }>, "DwSw", alu);
  t.Add("brev.b64",
        Map1<u64, u64, [](u64 a) { return u64(Reverse(u32(a))) << 32 | Reverse(u32(a >> 32)); }>,
        "DlSl", alu);
  t.Add(
      "shf.l.wrap.b32",
      Map3<u32, u32, u32, u32, [](u32 a, u32 b, u32 c) { return Funnel<u32, true>(a, b, c & 31); }>,
      "DwSwSwSw", alu);
  t.Add("shf.r.wrap.b32",
        Map3<u32, u32, u32, u32,
             [](u32 a, u32 b, u32 c) { return Funnel<u32, false>(a, b, c & 31); }>,
        "DwSwSwSw", alu);
  t.Add("shf.l.clamp.b32",
        Map3<u32, u32, u32, u32,
             [](u32 a, u32 b, u32 c) { return Funnel<u32, true>(a, b, c < 32 ? c : 32); }>,
        "DwSwSwSw", alu);
  t.Add("shf.r.clamp.b32",
        Map3<u32, u32, u32, u32,
             [](u32 a, u32 b, u32 c) { return Funnel<u32, false>(a, b, c < 32 ? c : 32); }>,
        "DwSwSwSw", alu);
  t.Add("dp4a.u32.u32", Map3<u32, u32, u32, u32, Dot4<u8, u8>>, "DwSwSwSw", alu);
  t.Add("dp4a.s32.s32", Map3<u32, u32, u32, u32, Dot4<int8_t, int8_t>>, "DwSwSwSw", alu);
  t.Add("dp4a.u32.s32", Map3<u32, u32, u32, u32, Dot4<u8, int8_t>>, "DwSwSwSw", alu);
  t.Add("dp4a.s32.u32", Map3<u32, u32, u32, u32, Dot4<int8_t, u8>>, "DwSwSwSw", alu);
  t.Add("dp2a.lo.s32.s32", Map3<u32, u32, u32, u32, Dot2<s16, int8_t, 0>>, "DwSwSwSw", alu);
  t.Add("dp2a.hi.s32.s32", Map3<u32, u32, u32, u32, Dot2<s16, int8_t, 1>>, "DwSwSwSw", alu);
  t.Add("dp2a.lo.u32.u32", Map3<u32, u32, u32, u32, Dot2<u16, u8, 0>>, "DwSwSwSw", alu);
  t.Add("dp2a.hi.u32.u32", Map3<u32, u32, u32, u32, Dot2<u16, u8, 1>>, "DwSwSwSw", alu);
  t.Add("fns.b32", Map3<u32, u32, u32, s32, FindSet>, "DwSwSwSw", alu);
}

// Two 16-bit integers in a register.
template <class T, auto F>
Step Halfwords(Warp& w, const Instr& in, uint32_t m) {
  return Map2<u32, u32, u32, [](u32 a, u32 b) {
    u32 low = static_cast<uint16_t>(F(T(a & 0xffff), T(b & 0xffff)));
    u32 high = static_cast<uint16_t>(F(T(a >> 16), T(b >> 16)));
    return high << 16 | low;
  }>(w, in, m);
}
template <class T>
constexpr auto kSmaller = [](T a, T b) { return a < b ? a : b; };
template <class T>
constexpr auto kLarger = [](T a, T b) { return b < a ? a : b; };
template <class T>
void Packed(OpTable& t, const char* type) {
  t.Add(Name("add.", type).text, Halfwords<T, kAdd<T>>, "DwSwSw", Cls::kAlu);
  t.Add(Name("min.", type).text, Halfwords<T, kSmaller<T>>, "DwSwSw", Cls::kAlu);
  t.Add(Name("max.", type).text, Halfwords<T, kLarger<T>>, "DwSwSw", Cls::kAlu);
}

}  // namespace

void RegisterInteger(OpTable& t) {
  Packed<uint16_t>(t, "u16x2");
  Packed<int16_t>(t, "s16x2");
  t.Add("min.relu.s16x2",
        Halfwords<int16_t,
                  [](int16_t a, int16_t b) {
                    int16_t r = a < b ? a : b;
                    return r < 0 ? int16_t{0} : r;
                  }>,
        "DwSwSw", Cls::kAlu);
  t.Add("max.relu.s16x2",
        Halfwords<int16_t,
                  [](int16_t a, int16_t b) {
                    int16_t r = b < a ? a : b;
                    return r < 0 ? int16_t{0} : r;
                  }>,
        "DwSwSw", Cls::kAlu);
  Arithmetic<u16>(t, "u16", 'h', 'w');
  Arithmetic<s16>(t, "s16", 'h', 'w');
  Arithmetic<u32>(t, "u32", 'w', 'l');
  Arithmetic<s32>(t, "s32", 'w', 'l');
  Arithmetic<u64>(t, "u64", 'l', 'l');
  Arithmetic<s64>(t, "s64", 'l', 'l');
  Bitwise<u16>(t, "b16", 'h');
  Bitwise<u32>(t, "b32", 'w');
  Bitwise<u64>(t, "b64", 'l');
  Others(t);
}

}  // namespace cudaagent::device::ptx::PTX_ISA
