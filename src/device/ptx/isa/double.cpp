// f64 instructions.
#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

template <uint32_t kMode, Handler kHandler>
Step Rounded(Warp& w, const Instr& in, uint32_t m) {
  Rounding mode(kMode);
  return kHandler(w, in, m);
}

template <Handler kPlain>
void AddRounded(OpTable& t, const char* op, const char* sig, bool plain) {
  if (plain) t.Add(Name(op, ".f64").text, kPlain, sig, Cls::kFp64);
  t.Add(Name(op, ".rn.f64").text, kPlain, sig, Cls::kFp64);
  t.Add(Name(op, ".rz.f64").text, Rounded<Rounding::kZero, kPlain>, sig, Cls::kFp64);
  t.Add(Name(op, ".rm.f64").text, Rounded<Rounding::kDown, kPlain>, sig, Cls::kFp64);
  t.Add(Name(op, ".rp.f64").text, Rounded<Rounding::kUp, kPlain>, sig, Cls::kFp64);
}

template <bool kMax>
inline double MinMax(double a, double b) {
  double r = kMax ? (a > b ? a : b) : (a < b ? a : b);
  uint64_t x = __builtin_bit_cast(uint64_t, a), y = __builtin_bit_cast(uint64_t, b);
  r = a == b ? __builtin_bit_cast(double, kMax ? x& y : x | y) : r;
  r = a == a ? r : b;
  return b == b ? r : a;
}

inline double Flush64(double x) {
  uint64_t bits = __builtin_bit_cast(uint64_t, x);
  return __builtin_bit_cast(double,
                            (bits & 0x7ff0000000000000u) != 0 ? bits : bits & (uint64_t{1} << 63));
}

constexpr uint64_t kSign = uint64_t{1} << 63;

}  // namespace

void RegisterDouble(OpTable& t) {
  AddRounded<Map2<double, double, double, [](double a, double b) { return a + b; }>>(
      t, "add", "DdSdSd", true);
  AddRounded<Map2<double, double, double, [](double a, double b) { return a - b; }>>(
      t, "sub", "DdSdSd", true);
  AddRounded<Map2<double, double, double, [](double a, double b) { return a * b; }>>(
      t, "mul", "DdSdSd", true);
  AddRounded<Map2<double, double, double, [](double a, double b) { return a / b; }>>(
      t, "div", "DdSdSd", false);
  constexpr auto kFma = [](double a, double b, double c) { return __builtin_fma(a, b, c); };
  AddRounded<Map3<double, double, double, double, kFma>>(t, "fma", "DdSdSdSd", false);
  AddRounded<Map3<double, double, double, double, kFma>>(t, "mad", "DdSdSdSd", false);
  AddRounded<Map1<double, double, [](double a) { return 1.0 / a; }>>(t, "rcp", "DdSd", false);
  AddRounded<Map1<double, double, [](double a) { return __builtin_sqrt(a); }>>(t, "sqrt", "DdSd",
                                                                               false);
  t.Add("rcp.approx.ftz.f64",
        Map1<double, double, [](double a) { return Flush64(1.0 / Flush64(a)); }>, "DdSd",
        Cls::kSpecial);
  t.Add("rsqrt.approx.f64", Map1<double, double, [](double a) { return 1.0 / __builtin_sqrt(a); }>,
        "DdSd", Cls::kSpecial);
  t.Add("rsqrt.approx.ftz.f64",
        Map1<double, double, [](double a) { return Flush64(1.0 / __builtin_sqrt(Flush64(a))); }>,
        "DdSd", Cls::kSpecial);
  t.Add("min.f64",
        Map2<double, double, double, [](double a, double b) { return MinMax<false>(a, b); }>,
        "DdSdSd", Cls::kFp64);
  t.Add("max.f64",
        Map2<double, double, double, [](double a, double b) { return MinMax<true>(a, b); }>,
        "DdSdSd", Cls::kFp64);
  t.Add("abs.f64", Map1<uint64_t, uint64_t, [](uint64_t a) { return a & ~kSign; }>, "DdSd",
        Cls::kFp64);
  t.Add("neg.f64", Map1<uint64_t, uint64_t, [](uint64_t a) { return a ^ kSign; }>, "DdSd",
        Cls::kFp64);
  t.Add("copysign.f64",
        Map2<uint64_t, uint64_t, uint64_t,
             [](uint64_t a, uint64_t b) { return (b & ~kSign) | (a & kSign); }>,
        "DdSdSd", Cls::kFp64);
}

}  // namespace cudaagent::device::ptx::PTX_ISA
