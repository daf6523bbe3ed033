// Instructions against their definition, on edge values and random ones, in both builds of the
// executor and with half of the lanes switched off.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "device/ptx/opcode_bench.h"

namespace cudaagent::device::ptx::test {
namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using s16 = int16_t;
using u32 = uint32_t;
using s32 = int32_t;
using u64 = uint64_t;
using s64 = int64_t;
__extension__ using s128 = __int128;
__extension__ using u128 = unsigned __int128;

float F(u64 x) { return std::bit_cast<float>(static_cast<u32>(x)); }
u64 B(float x) { return std::isnan(x) ? 0x7fffffffu : std::bit_cast<u32>(x); }
double Dbl(u64 x) { return std::bit_cast<double>(x); }
u64 B(double x) { return std::bit_cast<u64>(x); }

struct Opcode {
  std::string text, types;
  std::function<u64(u64, u64, u64)> expected;
};

std::ostream& operator<<(std::ostream& out, const Opcode& op) { return out << op.text; }

// Values where instructions go wrong, then random ones, then small ones.
u64 Sample(std::mt19937_64& random, char type, int i) {
  static const u64 kWide[] = {0,
                              1,
                              2,
                              31,
                              32,
                              33,
                              63,
                              64,
                              65,
                              ~u64{0},
                              u64{1} << 63,
                              (u64{1} << 63) - 1,
                              u64{1} << 31,
                              (u64{1} << 31) - 1,
                              u64{1} << 32,
                              0xffff,
                              0x8000,
                              0x7fff,
                              0x80000001,
                              0xfffffffe};
  static const float kFloats[] = {0.0f,           -0.0f,          1.0f,       -1.0f,  0.5f,
                                  1.5f,           2.5f,           -2.5f,      3e-39f, -1e-45f,
                                  1.1754944e-38f, 3.4e38f,        -3.4e38f,   1e10f,  65504.0f,
                                  2147483648.0f,  -2147483648.0f, 0.99999994f};
  switch (type) {
    case 'f':
      if (i < 18) return std::bit_cast<u32>(kFloats[(i * 5 + 3) % 18]);
      if (i == 18) return 0x7f800000;
      if (i == 19) return 0xff800000;
      if (i == 20) return 0x7fc00001;
      if (i < 40)
        return std::bit_cast<u32>(static_cast<float>(static_cast<s64>(random() % 20001) - 10000) /
                                  256.0f);
      return random() & 0xffffffffu;
    case 'd':
      if (i < 18) return B(static_cast<double>(kFloats[i]));
      if (i == 18) return B(std::numeric_limits<double>::infinity());
      if (i == 19) return B(5e-324);
      if (i < 40) return B(static_cast<double>(static_cast<s64>(random() % 20001) - 10000) / 256.0);
      return random() & ~(u64{1} << 62);
    case 'p':
      return random() & 1;
    case 'n':  // a shift or position
      return i % 3 == 0 ? random() % 80 : random() % 33;
    default: {
      u64 v = i < 20 ? kWide[i] : i < 40 ? random() % 100 : random();
      return type == 'h' ? v & 0xffff : type == 'w' ? v & 0xffffffffu : v;
    }
  }
}

std::string Registers(const std::string& types) {
  std::string out;
  for (char c : types) out += c == 'f' || c == 'n' ? 'w' : c == 'd' ? 'l' : c;
  return out;
}

class PtxOpcode : public testing::TestWithParam<Opcode> {};

TEST_P(PtxOpcode, GivesWhatItsDefinitionSays) {
  const Opcode& op = GetParam();
  std::mt19937_64 random(42);
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<std::vector<u64>> rows;
    for (int lane = 0; lane < 32; ++lane) {
      std::vector<u64> row;
      for (size_t i = 1; i < op.types.size(); ++i) {
        int pick = batch == 0 ? (lane * static_cast<int>(i * 2 - 1)) % 32 : batch * 32 + lane;
        row.push_back(Sample(random, op.types[i], pick));
      }
      rows.push_back(row);
    }
    for (const Executor* executor : {&BestExecutor(), &BaselineExecutor()}) {
      for (u32 mask : {0xffffffffu, 0x5a5af00fu}) {
        std::vector<u64> got = RunOpcode(op.text, Registers(op.types), rows, *executor, mask);
        u64 keep = op.types[0] == 'h'                         ? 0xffff
                   : op.types[0] == 'l' || op.types[0] == 'd' ? ~u64{0}
                                                              : 0xffffffffu;
        for (size_t lane = 0; lane < 32; ++lane) {
          std::vector<u64> row = rows[lane];
          row.resize(3);
          u64 want = (mask >> lane & 1) != 0 ? op.expected(row[0], row[1], row[2]) & keep
                     : op.types[0] == 'p'    ? 0
                                             : 0x5555555555555555u & keep;
          ASSERT_EQ(got[lane], want)
              << op.text << " on " << executor->isa << " lane " << lane << std::hex << " a=0x"
              << row[0] << " b=0x" << row[1] << " c=0x" << row[2] << " mask 0x" << mask;
        }
      }
    }
  }
}

// The reference evaluated under a rounding of the host.
template <class G>
u64 Under(int mode, G g) {
  std::fesetround(mode);
  volatile auto r = g();
  std::fesetround(FE_TONEAREST);
  auto result = r;
  return B(result);
}

float Flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

std::vector<Opcode> Integers() {
  return {
      {"add.s32 D, A, B", "www", [](u64 a, u64 b, u64) { return a + b; }},
      {"add.u16 D, A, B", "hhh", [](u64 a, u64 b, u64) { return a + b; }},
      {"add.s64 D, A, B", "lll", [](u64 a, u64 b, u64) { return a + b; }},
      {"add.sat.s32 D, A, B", "www",
       [](u64 a, u64 b, u64) {
         return static_cast<u64>(std::clamp<s64>(s64{s32(a)} + s32(b), INT32_MIN, INT32_MAX));
       }},
      {"sub.u32 D, A, B", "www", [](u64 a, u64 b, u64) { return a - b; }},
      {"sub.s64 D, A, B", "lll", [](u64 a, u64 b, u64) { return a - b; }},
      {"mul.lo.s32 D, A, B", "www", [](u64 a, u64 b, u64) { return a * b; }},
      {"mul.lo.u64 D, A, B", "lll", [](u64 a, u64 b, u64) { return a * b; }},
      {"mul.hi.s32 D, A, B", "www",
       [](u64 a, u64 b, u64) { return static_cast<u64>((s64{s32(a)} * s32(b)) >> 32); }},
      {"mul.hi.u32 D, A, B", "www", [](u64 a, u64 b, u64) { return (a * b) >> 32; }},
      {"mul.hi.u64 D, A, B", "lll",
       [](u64 a, u64 b, u64) { return static_cast<u64>((u128{a} * b) >> 64); }},
      {"mul.hi.s64 D, A, B", "lll",
       [](u64 a, u64 b, u64) { return static_cast<u64>((s128{s64(a)} * s64(b)) >> 64); }},
      {"mul.wide.s32 D, A, B", "lww",
       [](u64 a, u64 b, u64) { return static_cast<u64>(s64{s32(a)} * s32(b)); }},
      {"mul.wide.u32 D, A, B", "lww", [](u64 a, u64 b, u64) { return a * b; }},
      {"mul.wide.s16 D, A, B", "whh",
       [](u64 a, u64 b, u64) { return static_cast<u64>(s32{s16(a)} * s16(b)); }},
      {"mul24.lo.s32 D, A, B", "www",
       [](u64 a, u64 b, u64) {
         return static_cast<u64>((s64{s32(u32(a) << 8) >> 8}) * (s32(u32(b) << 8) >> 8));
       }},
      {"mad.lo.s32 D, A, B, C", "wwww", [](u64 a, u64 b, u64 c) { return a * b + c; }},
      {"mad.hi.u32 D, A, B, C", "wwww", [](u64 a, u64 b, u64 c) { return ((a * b) >> 32) + c; }},
      {"mad.wide.s32 D, A, B, C", "lwwl",
       [](u64 a, u64 b, u64 c) { return static_cast<u64>(s64{s32(a)} * s32(b)) + c; }},
      {"mad.wide.u32 D, A, B, C", "lwwl", [](u64 a, u64 b, u64 c) { return a * b + c; }},
      {"div.s32 D, A, B", "www",
       [](u64 a, u64 b, u64) {
         return s32(b) == 0 ? ~u64{0} : static_cast<u64>(s64{s32(a)} / s32(b));
       }},
      {"div.u32 D, A, B", "www", [](u64 a, u64 b, u64) { return b == 0 ? ~u64{0} : a / b; }},
      {"rem.s32 D, A, B", "www",
       [](u64 a, u64 b, u64) { return s32(b) == 0 ? a : static_cast<u64>(s64{s32(a)} % s32(b)); }},
      {"rem.u64 D, A, B", "lll", [](u64 a, u64 b, u64) { return b == 0 ? a : a % b; }},
      {"min.s32 D, A, B", "www", [](u64 a, u64 b, u64) { return u64(std::min(s32(a), s32(b))); }},
      {"max.u16 D, A, B", "hhh", [](u64 a, u64 b, u64) { return std::max(a, b); }},
      {"max.s64 D, A, B", "lll", [](u64 a, u64 b, u64) { return u64(std::max(s64(a), s64(b))); }},
      {"abs.s32 D, A", "ww", [](u64 a, u64, u64) { return s32(a) < 0 ? 0 - a : a; }},
      {"neg.s16 D, A", "hh", [](u64 a, u64, u64) { return 0 - a; }},
      {"sad.s32 D, A, B, C", "wwww",
       [](u64 a, u64 b, u64 c) { return c + static_cast<u64>(std::abs(s64{s32(a)} - s32(b))); }},
      {"and.b32 D, A, B", "www", [](u64 a, u64 b, u64) { return a & b; }},
      {"or.b64 D, A, B", "lll", [](u64 a, u64 b, u64) { return a | b; }},
      {"xor.b16 D, A, B", "hhh", [](u64 a, u64 b, u64) { return a ^ b; }},
      {"not.b32 D, A", "ww", [](u64 a, u64, u64) { return ~a; }},
      {"cnot.b32 D, A", "ww", [](u64 a, u64, u64) { return u64{a == 0}; }},
      {"shl.b32 D, A, B", "wwn", [](u64 a, u64 b, u64) { return b > 31 ? 0 : a << b; }},
      {"shl.b64 D, A, B", "lln", [](u64 a, u64 b, u64) { return b > 63 ? 0 : a << b; }},
      {"shr.u32 D, A, B", "wwn", [](u64 a, u64 b, u64) { return b > 31 ? 0 : a >> b; }},
      {"shr.s32 D, A, B", "wwn",
       [](u64 a, u64 b, u64) { return u64(s32(a) >> std::min<u64>(b, 31)); }},
      {"shr.s16 D, A, B", "hhn",
       [](u64 a, u64 b, u64) { return u64(s16(a) >> std::min<u64>(b, 15)); }},
      {"shr.u64 D, A, B", "lln", [](u64 a, u64 b, u64) { return b > 63 ? 0 : a >> b; }},
      {"shf.l.wrap.b32 D, A, B, C", "wwwn",
       [](u64 a, u64 b, u64 c) { return ((b << 32 | a) << (c & 31)) >> 32; }},
      {"shf.r.wrap.b32 D, A, B, C", "wwwn",
       [](u64 a, u64 b, u64 c) { return (b << 32 | a) >> (c & 31); }},
      {"shf.l.clamp.b32 D, A, B, C", "wwwn",
       [](u64 a, u64 b, u64 c) { return c >= 32 ? a : ((b << 32 | a) << c) >> 32; }},
      {"shf.r.clamp.b32 D, A, B, C", "wwwn",
       [](u64 a, u64 b, u64 c) { return c >= 32 ? b : (b << 32 | a) >> c; }},
      {"popc.b32 D, A", "ww", [](u64 a, u64, u64) { return u64(std::popcount(a)); }},
      {"popc.b64 D, A", "wl", [](u64 a, u64, u64) { return u64(std::popcount(a)); }},
      {"clz.b32 D, A", "ww", [](u64 a, u64, u64) { return u64(std::countl_zero(u32(a))); }},
      {"clz.b64 D, A", "wl", [](u64 a, u64, u64) { return u64(std::countl_zero(a)); }},
      {"bfind.u32 D, A", "ww",
       [](u64 a, u64, u64) { return a == 0 ? ~u64{0} : u64(31 - std::countl_zero(u32(a))); }},
      {"bfind.s32 D, A", "ww",
       [](u64 a, u64, u64) {
         u32 v = s32(a) < 0 ? ~u32(a) : u32(a);
         return v == 0 ? ~u64{0} : u64(31 - std::countl_zero(v));
       }},
      {"bfind.shiftamt.u64 D, A", "wl",
       [](u64 a, u64, u64) { return a == 0 ? ~u64{0} : u64(std::countl_zero(a)); }},
      {"brev.b32 D, A", "ww",
       [](u64 a, u64, u64) {
         u64 r = 0;
         for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
         return r;
       }},
      {"bfe.u32 D, A, B, C", "wwnn",
       [](u64 a, u64 b, u64 c) {
         u64 r = 0;
         for (u64 i = 0; i < 32 && i < c; ++i) r |= (b + i < 32 ? a >> (b + i) & 1 : 0) << i;
         return r;
       }},
      {"bfe.s32 D, A, B, C", "wwnn",
       [](u64 a, u64 b, u64 c) {  // as the PTX manual's pseudo code
         u64 sign = c == 0 ? 0 : a >> std::min<u64>(b + c - 1, 31) & 1, r = 0;
         for (u64 i = 0; i < 32; ++i) r |= (i < c && b + i < 32 ? a >> (b + i) & 1 : sign) << i;
         return r;
       }},
      {"bfi.b32 D, A, B, C, 7", "wwwn",
       [](u64 a, u64 b, u64 c) {
         for (u64 i = 0; i < 7 && c + i < 32; ++i)
           b = (b & ~(u64{1} << (c + i))) | (a >> i & 1) << (c + i);
         return b;
       }},
      {"bfi.b64 D, A, B, 32, C", "llln",
       [](u64 a, u64 b, u64 c) {
         for (u64 i = 0; i < c && 32 + i < 64; ++i)
           b = (b & ~(u64{1} << (32 + i))) | (a >> i & 1) << (32 + i);
         return b;
       }},
      {"prmt.b32 D, A, B, C", "wwww",
       [](u64 a, u64 b, u64 c) {
         u64 r = 0;
         for (int i = 0; i < 4; ++i) {
           u64 s = c >> (4 * i) & 15, byte = (b << 32 | a) >> (8 * (s & 7)) & 255;
           if (s & 8) byte = byte & 128 ? 255 : 0;
           r |= byte << (8 * i);
         }
         return r;
       }},
      {"lop3.b32 D, A, B, C, 0xE8", "wwww",
       [](u64 a, u64 b, u64 c) { return (a & b) | (a & c) | (b & c); }},
      {"lop3.b32 D, A, B, C, 0x96", "wwww", [](u64 a, u64 b, u64 c) { return a ^ b ^ c; }},
      {"lop3.b32 D, A, B, C, 0x2A", "wwww", [](u64 a, u64 b, u64 c) { return c & ~(a & b); }},
      {"dp4a.s32.s32 D, A, B, C", "wwww",
       [](u64 a, u64 b, u64 c) {
         s64 r = s32(c);
         for (int i = 0; i < 4; ++i) r += s64{int8_t(a >> (8 * i))} * int8_t(b >> (8 * i));
         return u64(r);
       }},
      {"dp4a.u32.s32 D, A, B, C", "wwww",
       [](u64 a, u64 b, u64 c) {
         s64 r = s32(c);
         for (int i = 0; i < 4; ++i) r += s64{u8(a >> (8 * i))} * int8_t(b >> (8 * i));
         return u64(r);
       }},
      {"add.cc.u32 %wr6, A, B; addc.u32 D, A, C", "wwww",
       [](u64 a, u64 b, u64 c) { return a + c + ((a + b) >> 32); }},
      {"sub.cc.u32 %wr6, A, B; subc.u32 D, A, C", "wwww",
       [](u64 a, u64 b, u64 c) { return a - c - (a < b ? 1 : 0); }},
      {"mad.lo.cc.u32 %wr6, A, B, C; madc.hi.u32 D, A, B, 0", "wwww",
       [](u64 a, u64 b, u64 c) { return (a * b >> 32) + (((a * b & 0xffffffffu) + c) >> 32); }},
      {"mov.b64 D, {A, B}", "lww", [](u64 a, u64 b, u64) { return b << 32 | a; }},
      {"mov.b64 {%wr6, D}, A", "wl", [](u64 a, u64, u64) { return a >> 32; }},
      {"mov.b32 {D, _}, A", "hw", [](u64 a, u64, u64) { return a; }},
      {"selp.b32 D, A, B, C", "wwwp", [](u64 a, u64 b, u64 c) { return c ? a : b; }},
      {"slct.u32.s32 D, A, B, C", "wwww", [](u64 a, u64 b, u64 c) { return s32(c) >= 0 ? a : b; }},
      {"setp.lt.s32 D, A, B", "pww", [](u64 a, u64 b, u64) { return u64{s32(a) < s32(b)}; }},
      {"setp.hi.u64 D, A, B", "pll", [](u64 a, u64 b, u64) { return u64{a > b}; }},
      {"setp.ge.u16 D, A, B", "phh", [](u64 a, u64 b, u64) { return u64{a >= b}; }},
      {"setp.eq.and.b32 D, A, B, !C", "pwwp",
       [](u64 a, u64 b, u64 c) { return u64{a == b && !c}; }},
      {"setp.ne.xor.s32 %pr6|D, A, B, C", "pwwp",
       [](u64 a, u64 b, u64 c) { return u64{(a == b) != (c != 0)}; }},
      {"set.lt.u32.s32 D, A, B", "www",
       [](u64 a, u64 b, u64) { return s32(a) < s32(b) ? ~u64{0} : 0; }},
      {"and.pred D, A, !B", "ppp", [](u64 a, u64 b, u64) { return u64{a && !b}; }},
      {"xor.pred D, A, B", "ppp", [](u64 a, u64 b, u64) { return u64{(a != 0) != (b != 0)}; }},
      {"not.pred D, A", "pp", [](u64 a, u64, u64) { return u64{a == 0}; }},
  };
}
INSTANTIATE_TEST_SUITE_P(Integer, PtxOpcode, testing::ValuesIn(Integers()));

std::vector<Opcode> Floats() {
  return {
      {"add.f32 D, A, B", "fff", [](u64 a, u64 b, u64) { return B(F(a) + F(b)); }},
      {"add.rz.f32 D, A, B", "fff",
       [](u64 a, u64 b, u64) {
         return Under(FE_TOWARDZERO, [&] {
           volatile float x = F(a), y = F(b);
           return x + y;
         });
       }},
      {"add.ftz.f32 D, A, B", "fff",
       [](u64 a, u64 b, u64) { return B(Flushed(Flushed(F(a)) + Flushed(F(b)))); }},
      {"add.sat.f32 D, A, B", "fff",
       [](u64 a, u64 b, u64) {
         float r = F(a) + F(b);
         return B(std::isnan(r) ? 0.0f : r > 1 ? 1.0f : r > 0 ? r : 0.0f);
       }},
      {"sub.f32 D, A, B", "fff", [](u64 a, u64 b, u64) { return B(F(a) - F(b)); }},
      {"mul.f32 D, A, B", "fff", [](u64 a, u64 b, u64) { return B(F(a) * F(b)); }},
      {"mul.rp.f32 D, A, B", "fff",
       [](u64 a, u64 b, u64) {
         return Under(FE_UPWARD, [&] {
           volatile float x = F(a), y = F(b);
           return x * y;
         });
       }},
      {"mul.ftz.f32 D, A, B", "fff",
       [](u64 a, u64 b, u64) { return B(Flushed(Flushed(F(a)) * Flushed(F(b)))); }},
      {"fma.rn.f32 D, A, B, C", "ffff",
       [](u64 a, u64 b, u64 c) { return B(std::fma(F(a), F(b), F(c))); }},
      {"fma.rm.f32 D, A, B, C", "ffff",
       [](u64 a, u64 b, u64 c) {
         return Under(FE_DOWNWARD, [&] {
           volatile float x = F(a), y = F(b), z = F(c);
           return std::fma(x, y, z);
         });
       }},
      {"div.rn.f32 D, A, B", "fff", [](u64 a, u64 b, u64) { return B(F(a) / F(b)); }},
      {"rcp.rn.f32 D, A", "ff", [](u64 a, u64, u64) { return B(1.0f / F(a)); }},
      {"sqrt.rn.f32 D, A", "ff", [](u64 a, u64, u64) { return B(std::sqrt(F(a))); }},
      {"min.f32 D, A, B", "fff",
       [](u64 a, u64 b, u64) {
         float x = F(a), y = F(b);
         if (x == 0 && y == 0) return B(std::signbit(x) ? x : y);
         return B(std::isnan(x) ? y : std::isnan(y) ? x : std::min(x, y));
       }},
      {"max.NaN.f32 D, A, B", "fff",
       [](u64 a, u64 b, u64) {
         float x = F(a), y = F(b);
         if (std::isnan(x) || std::isnan(y)) return B(NAN);
         if (x == 0 && y == 0) return B(std::signbit(x) ? y : x);
         return B(std::max(x, y));
       }},
      {"abs.f32 D, A", "ff", [](u64 a, u64, u64) { return a & 0x7fffffffu; }},
      {"neg.ftz.f32 D, A", "ff",
       [](u64 a, u64, u64) { return std::isnan(F(a)) ? a ^ 0x80000000u : B(-Flushed(F(a))); }},
      {"copysign.f32 D, A, B", "fff",
       [](u64 a, u64 b, u64) { return (b & 0x7fffffffu) | (a & 0x80000000u); }},
      {"setp.lt.f32 D, A, B", "pff", [](u64 a, u64 b, u64) { return u64{F(a) < F(b)}; }},
      {"setp.geu.f32 D, A, B", "pff", [](u64 a, u64 b, u64) { return u64{!(F(a) < F(b))}; }},
      {"setp.ne.f32 D, A, B", "pff",
       [](u64 a, u64 b, u64) { return u64{F(a) < F(b) || F(a) > F(b)}; }},
      {"setp.neu.ftz.f32 D, A, B", "pff",
       [](u64 a, u64 b, u64) { return u64{Flushed(F(a)) != Flushed(F(b))}; }},
      {"setp.nan.f32 D, A, B", "pff",
       [](u64 a, u64 b, u64) { return u64{std::isnan(F(a)) || std::isnan(F(b))}; }},
      {"testp.subnormal.f32 D, A", "pf",
       [](u64 a, u64, u64) { return u64{std::fpclassify(F(a)) == FP_SUBNORMAL}; }},
      {"testp.finite.f32 D, A", "pf", [](u64 a, u64, u64) { return u64{std::isfinite(F(a))}; }},
      {"add.f64 D, A, B", "ddd", [](u64 a, u64 b, u64) { return B(Dbl(a) + Dbl(b)); }},
      {"mul.rz.f64 D, A, B", "ddd",
       [](u64 a, u64 b, u64) {
         return Under(FE_TOWARDZERO, [&] {
           volatile double x = Dbl(a), y = Dbl(b);
           return x * y;
         });
       }},
      {"fma.rn.f64 D, A, B, C", "dddd",
       [](u64 a, u64 b, u64 c) { return B(std::fma(Dbl(a), Dbl(b), Dbl(c))); }},
      {"div.rn.f64 D, A, B", "ddd", [](u64 a, u64 b, u64) { return B(Dbl(a) / Dbl(b)); }},
      {"setp.gt.f64 D, A, B", "pdd", [](u64 a, u64 b, u64) { return u64{Dbl(a) > Dbl(b)}; }},
  };
}
INSTANTIATE_TEST_SUITE_P(Float, PtxOpcode, testing::ValuesIn(Floats()));

template <class T>
u64 Clamp(double v) {
  if (std::isnan(v)) return 0;
  if (v >= std::ldexp(1.0, std::numeric_limits<T>::digits))
    return u64(std::numeric_limits<T>::max());
  if (v <= static_cast<double>(std::numeric_limits<T>::min()))
    return u64(std::numeric_limits<T>::min());
  return u64(static_cast<T>(v));
}

std::vector<Opcode> Conversions() {
  return {
      {"cvt.u64.u32 D, A", "lw", [](u64 a, u64, u64) { return a; }},
      {"cvt.s64.s32 D, A", "lw", [](u64 a, u64, u64) { return u64(s64{s32(a)}); }},
      {"cvt.u32.u64 D, A", "wl", [](u64 a, u64, u64) { return a; }},
      {"cvt.s32.s8 D, A", "ww", [](u64 a, u64, u64) { return u64(s64{int8_t(a)}); }},
      {"cvt.u32.u8 D, A", "wh", [](u64 a, u64, u64) { return a & 255; }},
      {"cvt.s16.s8 D, A", "hh", [](u64 a, u64, u64) { return u64(s64{int8_t(a)}); }},
      {"cvt.sat.u8.s32 D, A", "ww",
       [](u64 a, u64, u64) { return u64(std::clamp(s32(a), 0, 255)); }},
      {"cvt.sat.s16.s32 D, A", "hw",
       [](u64 a, u64, u64) { return u64(std::clamp(s32(a), -32768, 32767)); }},
      {"cvt.rn.f32.s32 D, A", "fw", [](u64 a, u64, u64) { return B(static_cast<float>(s32(a))); }},
      {"cvt.rn.f32.u32 D, A", "fw", [](u64 a, u64, u64) { return B(static_cast<float>(u32(a))); }},
      {"cvt.rz.f32.u64 D, A", "fl",
       [](u64 a, u64, u64) {
         return Under(FE_TOWARDZERO, [&] {
           volatile u64 x = a;
           return static_cast<float>(x);
         });
       }},
      {"cvt.rn.f64.s64 D, A", "dl", [](u64 a, u64, u64) { return B(static_cast<double>(s64(a))); }},
      {"cvt.rp.f64.u64 D, A", "dl",
       [](u64 a, u64, u64) {
         return Under(FE_UPWARD, [&] {
           volatile u64 x = a;
           return static_cast<double>(x);
         });
       }},
      {"cvt.rzi.s32.f32 D, A", "wf", [](u64 a, u64, u64) { return Clamp<s32>(std::trunc(F(a))); }},
      {"cvt.rni.s32.f32 D, A", "wf", [](u64 a, u64, u64) { return Clamp<s32>(std::rint(F(a))); }},
      {"cvt.rmi.u32.f32 D, A", "wf", [](u64 a, u64, u64) { return Clamp<u32>(std::floor(F(a))); }},
      {"cvt.rpi.s64.f32 D, A", "lf", [](u64 a, u64, u64) { return Clamp<s64>(std::ceil(F(a))); }},
      {"cvt.rzi.u64.f64 D, A", "ld",
       [](u64 a, u64, u64) { return Clamp<u64>(std::trunc(Dbl(a))); }},
      {"cvt.rzi.ftz.s32.f32 D, A", "wf",
       [](u64 a, u64, u64) { return Clamp<s32>(std::trunc(Flushed(F(a)))); }},
      {"cvt.rni.f32.f32 D, A", "ff", [](u64 a, u64, u64) { return B(std::rint(F(a))); }},
      {"cvt.rzi.f32.f32 D, A", "ff", [](u64 a, u64, u64) { return B(std::trunc(F(a))); }},
      {"cvt.rmi.f32.f32 D, A", "ff", [](u64 a, u64, u64) { return B(std::floor(F(a))); }},
      {"cvt.sat.f32.f32 D, A", "ff",
       [](u64 a, u64, u64) {
         float r = F(a);
         return B(std::isnan(r) ? 0.0f : r > 1 ? 1.0f : r > 0 ? r : 0.0f);
       }},
      {"cvt.f64.f32 D, A", "df", [](u64 a, u64, u64) { return B(static_cast<double>(F(a))); }},
      {"cvt.rn.f32.f64 D, A", "fd", [](u64 a, u64, u64) { return B(static_cast<float>(Dbl(a))); }},
      {"cvt.rm.f32.f64 D, A", "fd",
       [](u64 a, u64, u64) {
         return Under(FE_DOWNWARD, [&] {
           volatile double x = Dbl(a);
           return static_cast<float>(x);
         });
       }},
      {"cvt.rna.tf32.f32 D, A", "ff",
       [](u64 a, u64, u64) {
         if (std::isnan(F(a)) || std::isinf(F(a))) return B(F(a));
         return (a + 0x1000) & 0xffffe000u;
       }},
  };
}
INSTANTIATE_TEST_SUITE_P(Conversion, PtxOpcode, testing::ValuesIn(Conversions()));

// --- 16-bit floats: every value against a definition by doubles ---

double HalfValue(u32 h) {
  int e = h >> 10 & 31;
  double m = (h & 1023) / 1024.0;
  double v = e == 31  ? (m != 0 ? NAN : INFINITY)
             : e == 0 ? std::ldexp(m, -14)
                      : std::ldexp(1 + m, e - 15);
  return h & 0x8000 ? -v : v;
}
u32 HalfOf(double v, int mantissa = 10, int bias = 15) {
  if (std::isnan(v)) return 0x7fff;
  u32 sign = std::signbit(v) ? 0x8000 : 0;
  v = std::fabs(v);
  int e = v == 0 ? -bias + 1 : std::max(std::isinf(v) ? bias + 1 : std::ilogb(v), 1 - bias);
  if (std::isinf(v)) return sign | (u32(2 * bias + 1) << mantissa);
  double unit = std::ldexp(1.0, e - mantissa), whole = std::nearbyint(v / unit);
  if (whole * unit >= std::ldexp(1.0, bias + 1)) return sign | (u32(2 * bias + 1) << mantissa);
  u32 m = static_cast<u32>(whole);
  return sign | (m + (u32(e + bias - 1) << mantissa));
}
double BrainValue(u32 b) { return static_cast<double>(std::bit_cast<float>(b << 16)); }

struct HalfOpcode {
  std::string text;
  bool brain;
  int operands;
  std::function<double(double, double, double)> exact;
};
std::ostream& operator<<(std::ostream& out, const HalfOpcode& op) { return out << op.text; }

class PtxHalf : public testing::TestWithParam<HalfOpcode> {};

TEST_P(PtxHalf, RoundsTheExactResultOnce) {
  const HalfOpcode& op = GetParam();
  std::mt19937_64 random(7);
  for (int batch = 0; batch < 12; ++batch) {
    std::vector<std::vector<u64>> rows;
    for (int lane = 0; lane < 32; ++lane) {
      std::vector<u64> row;
      for (int i = 0; i < op.operands; ++i) {
        u64 v = random() & 0xffff;
        // Half of them close in magnitude, so that sums round and cancel.
        if (batch % 2 == 0) v = (v & 0x83ff) | (op.brain ? 0x3f00 : 0x3c00) | (random() & 0x400);
        row.push_back(v);
      }
      rows.push_back(row);
    }
    for (const Executor* executor : {&BestExecutor(), &BaselineExecutor()}) {
      std::vector<u64> got = RunOpcode(op.text, std::string(op.operands + 1, 'h'), rows, *executor);
      for (size_t lane = 0; lane < 32; ++lane) {
        double v[3] = {};
        for (int i = 0; i < op.operands; ++i) {
          v[i] = op.brain ? BrainValue(u32(rows[lane][i])) : HalfValue(u32(rows[lane][i]));
        }
        u32 want = op.brain ? HalfOf(op.exact(v[0], v[1], v[2]), 7, 127)
                            : HalfOf(op.exact(v[0], v[1], v[2]));
        ASSERT_EQ(got[lane], want)
            << op.text << " on " << executor->isa << " of " << v[0] << " " << v[1] << " " << v[2];
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Arithmetic, PtxHalf,
    testing::Values(
        HalfOpcode{"add.f16 D, A, B", false, 2, [](double a, double b, double) { return a + b; }},
        HalfOpcode{"sub.f16 D, A, B", false, 2, [](double a, double b, double) { return a - b; }},
        HalfOpcode{"mul.f16 D, A, B", false, 2, [](double a, double b, double) { return a * b; }},
        HalfOpcode{"fma.rn.f16 D, A, B, C", false, 3,
                   [](double a, double b, double c) { return a * b + c; }},
        HalfOpcode{"add.bf16 D, A, B", true, 2, [](double a, double b, double) { return a + b; }},
        HalfOpcode{"mul.bf16 D, A, B", true, 2, [](double a, double b, double) { return a * b; }}));

TEST(PtxHalf, ConvertsEveryHalfToSingleAndBack) {
  for (u32 first = 0; first < 65536; first += 32 * 37) {
    std::vector<std::vector<u64>> rows;
    for (u32 i = 0; i < 32; ++i) rows.push_back({(first + i * 37) & 0xffff});
    std::vector<u64> single = RunOpcode("cvt.f32.f16 D, A", "wh", rows, BestExecutor());
    std::vector<std::vector<u64>> back_rows;
    for (size_t i = 0; i < 32; ++i) {
      double want = HalfValue(u32(rows[i][0]));
      if (!std::isnan(want)) {
        ASSERT_EQ(F(single[i]), want);
      }
      back_rows.push_back({single[i]});
    }
    std::vector<u64> back = RunOpcode("cvt.rn.f16.f32 D, A", "hw", back_rows, BestExecutor());
    for (size_t i = 0; i < 32; ++i) {
      u64 want = std::isnan(HalfValue(u32(rows[i][0]))) ? 0x7fff : rows[i][0];
      ASSERT_EQ(back[i], want);
    }
  }
}

TEST(PtxInteger, WorksOnPairsOfHalfwords) {
  std::vector<std::vector<u64>> rows = {{0x80017fffu, 0x00010001u}, {0xfffe0005u, 0x0003fff0u}};
  auto run = [&](const char* text) {
    std::vector<u64> got = RunOpcode(text, "www", rows, BestExecutor());
    return std::vector<u64>{got[0], got[1]};
  };
  EXPECT_EQ(run("add.u16x2 D, A, B"), (std::vector<u64>{0x80028000u, 0x0001fff5u}));
  EXPECT_EQ(run("min.s16x2 D, A, B"), (std::vector<u64>{0x80010001u, 0xfffefff0u}));
  EXPECT_EQ(run("max.s16x2 D, A, B"), (std::vector<u64>{0x00017fffu, 0x00030005u}));
  EXPECT_EQ(run("min.u16x2 D, A, B"), (std::vector<u64>{0x00010001u, 0x00030005u}));
  EXPECT_EQ(run("max.u16x2 D, A, B"), (std::vector<u64>{0x80017fffu, 0xfffefff0u}));
  EXPECT_EQ(run("min.relu.s16x2 D, A, B"), (std::vector<u64>{0x00000001u, 0x00000000u}));
  EXPECT_EQ(run("max.relu.s16x2 D, A, B"), (std::vector<u64>{0x00017fffu, 0x00030005u}));
}

TEST(PtxHalf, ConvertsPairsOfEightBitFloats) {
  // Every finite e4m3 and e5m2 number survives the way to f16 and back.
  for (const char* type : {"e4m3x2", "e5m2x2"}) {
    std::vector<std::vector<u64>> rows;
    for (u32 i = 0; i < 128; ++i) {
      if (type[1] == '5' && (i & 0x7c) == 0x7c) continue;
      rows.push_back({(i == 0x7f ? 1 : i) << 8 | 0x80 | (i == 0x7f ? 2 : i)});
    }
    for (size_t first = 0; first < rows.size(); first += 32) {
      std::vector<std::vector<u64>> part;
      for (size_t i = 0; i < 32; ++i) part.push_back(rows[std::min(first + i, rows.size() - 1)]);
      std::vector<u64> got = RunOpcode(
          std::string("cvt.rn.f16x2.") + type + " C, A; cvt.rn.satfinite." + type + ".f16x2 D, C",
          "hhww", part, BestExecutor());
      for (size_t i = 0; i < 32; ++i) ASSERT_EQ(got[i], part[i][0]) << type;
    }
  }
  auto pair = [](float a, float b) {
    return std::vector<u64>{std::bit_cast<u32>(a), std::bit_cast<u32>(b)};
  };
  // 448 is e4m3's largest; 17 lies between 16 and 18 and goes to the even one; 2^-9 is the least.
  std::vector<u64> got =
      RunOpcode("cvt.rn.satfinite.e4m3x2.f32 D, A, B", "hww",
                {pair(1, -1.5f), pair(1e9f, -449), pair(17, 19), pair(0.001953125f, 0.0009f)},
                BestExecutor());
  EXPECT_EQ(got[0], 0x38bcu);
  EXPECT_EQ(got[1], 0x7efeu);
  EXPECT_EQ(got[2], 0x585au);
  EXPECT_EQ(got[3], 0x0100u);
  got = RunOpcode("cvt.rn.satfinite.relu.e5m2x2.f32 D, A, B", "hww",
                  {pair(1, -1.5f), pair(1e9f, 0.3f)}, BestExecutor());
  EXPECT_EQ(got[0], 0x3c00u);
  EXPECT_EQ(got[1], 0x7b35u);
}

TEST(PtxHalf, PacksTwoSinglesUpperFirst) {
  std::vector<u64> got =
      RunOpcode("cvt.rn.f16x2.f32 D, A, B", "www", {{0x3f800000, 0x40000000}}, BestExecutor());
  EXPECT_EQ(got[0], 0x3c004000u);
  got = RunOpcode("cvt.rn.bf16x2.f32 D, A, B", "www", {{0x3f800000, 0x40000000}}, BestExecutor());
  EXPECT_EQ(got[0], 0x3f804000u);
}

// --- approximate functions: within the error PTX documents, or better ---

struct Approximate {
  std::string text;
  double (*exact)(double);
  float from, to;
  double relative, absolute;
};
std::ostream& operator<<(std::ostream& out, const Approximate& a) { return out << a.text; }

class PtxApproximate : public testing::TestWithParam<Approximate> {};

TEST_P(PtxApproximate, StaysWithinTheDocumentedError) {
  const Approximate& op = GetParam();
  for (const Executor* executor : {&BestExecutor(), &BaselineExecutor()}) {
    for (int batch = 0; batch < 40; ++batch) {
      std::vector<std::vector<u64>> rows;
      for (int lane = 0; lane < 32; ++lane) {
        float t = static_cast<float>(batch * 32 + lane) / 1279.0f;
        rows.push_back({std::bit_cast<u32>(op.from + (op.to - op.from) * t)});
      }
      std::vector<u64> got = RunOpcode(op.text, "ww", rows, *executor);
      for (size_t lane = 0; lane < 32; ++lane) {
        double want = op.exact(static_cast<double>(F(rows[lane][0])));
        ASSERT_NEAR(F(got[lane]), want, op.relative * std::fabs(want) + op.absolute)
            << op.text << " of " << F(rows[lane][0]);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Functions, PtxApproximate,
    testing::Values(Approximate{"ex2.approx.f32 D, A", [](double x) { return std::exp2(x); }, -130,
                                127, std::ldexp(1, -22), 2e-45},
                    Approximate{"lg2.approx.f32 D, A", [](double x) { return std::log2(x); },
                                0.001f, 100, std::ldexp(1, -22), 1e-9},
                    Approximate{"sin.approx.f32 D, A", [](double x) { return std::sin(x); }, -3.2f,
                                3.2f, 0, std::ldexp(1, -22)},
                    Approximate{"cos.approx.f32 D, A", [](double x) { return std::cos(x); }, -100,
                                100, 0, std::ldexp(1, -22)},
                    Approximate{"tanh.approx.f32 D, A", [](double x) { return std::tanh(x); }, -12,
                                12, std::ldexp(1, -11), 0},
                    Approximate{"rsqrt.approx.f32 D, A", [](double x) { return 1 / std::sqrt(x); },
                                1e-6f, 1e6f, std::ldexp(1, -22), 0},
                    Approximate{"rcp.approx.ftz.f32 D, A", [](double x) { return 1 / x; }, 0.01f,
                                1e6f, std::ldexp(1, -23), 0},
                    Approximate{"sqrt.approx.f32 D, A", [](double x) { return std::sqrt(x); }, 0,
                                1e6f, std::ldexp(1, -23), 0}));

TEST(PtxApproximate, KeepsTheSpecialValues) {
  auto one = [](const std::string& op, u32 x) {
    return RunOpcode(op + " D, A", "ww", {{x}}, BestExecutor())[0];
  };
  constexpr u32 kInf = 0x7f800000, kMinusInf = 0xff800000, kNan = 0x7fffffff;
  EXPECT_EQ(one("ex2.approx.f32", kInf), kInf);
  EXPECT_EQ(one("ex2.approx.f32", kMinusInf), 0u);
  EXPECT_EQ(one("ex2.approx.f32", 0x7fc00000), kNan);
  EXPECT_EQ(one("ex2.approx.ftz.f32", 0xc3020000), 0u);  // 2^-130 is subnormal
  EXPECT_EQ(one("lg2.approx.f32", 0), kMinusInf);
  EXPECT_EQ(one("lg2.approx.f32", kInf), kInf);
  EXPECT_EQ(one("lg2.approx.f32", 0xbf800000), kNan);
  EXPECT_EQ(one("rsqrt.approx.f32", 0), kInf);
  EXPECT_EQ(one("rsqrt.approx.f32", kInf), 0u);
  EXPECT_EQ(one("rcp.approx.f32", 0x80000000), kMinusInf);
  EXPECT_EQ(one("sin.approx.f32", kInf), kNan);
  EXPECT_EQ(one("tanh.approx.f32", kInf), 0x3f800000u);
}

}  // namespace
}  // namespace cudaagent::device::ptx::test
