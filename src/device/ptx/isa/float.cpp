// f32 instructions.
#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"
#include "device/ptx/isa/single.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

template <bool kFtz>
inline float In(float x) {
  return kFtz ? Flush(x) : x;
}
template <bool kFtz, bool kSat>
inline float Out(float x) {
  float r = kSat ? Saturate(x) : Canonical(x);
  return kFtz ? Flush(r) : r;
}

template <class F, bool kFtz, bool kSat>
constexpr auto kOne = [](float a) { return Out<kFtz, kSat>(F()(In<kFtz>(a))); };
template <class F, bool kFtz, bool kSat>
constexpr auto kTwo =
    [](float a, float b) { return Out<kFtz, kSat>(F()(In<kFtz>(a), In<kFtz>(b))); };
template <class F, bool kFtz, bool kSat>
constexpr auto kThree = [](float a, float b, float c) {
  return Out<kFtz, kSat>(F()(In<kFtz>(a), In<kFtz>(b), In<kFtz>(c)));
};

template <uint32_t kMode, Handler kHandler>
Step Rounded(Warp& w, const Instr& in, uint32_t m) {
  Rounding mode(kMode);
  return kHandler(w, in, m);
}

struct AddF {
  float operator()(float a, float b) const { return a + b; }
};
struct SubF {
  float operator()(float a, float b) const { return a - b; }
};
struct MulF {
  float operator()(float a, float b) const { return a * b; }
};
struct DivF {
  float operator()(float a, float b) const { return a / b; }
};
struct FmaF {
  float operator()(float a, float b, float c) const { return Fma(a, b, c); }
};
struct RcpF {
  float operator()(float a) const { return 1.0f / a; }
};
struct SqrtF {
  float operator()(float a) const { return __builtin_sqrtf(a); }
};
struct RsqrtF {
  float operator()(float a) const { return ReciprocalSqrt(a); }
};
struct Ex2F {
  float operator()(float a) const { return Exp2(a); }
};
struct Lg2F {
  float operator()(float a) const { return Log2(a); }
};
struct SinF {
  float operator()(float a) const { return SinCos<false>(a); }
};
struct CosF {
  float operator()(float a) const { return SinCos<true>(a); }
};
struct TanhF {
  float operator()(float a) const { return Tanh(a); }
};
struct MinF {
  float operator()(float a, float b) const { return MinMax<false>(a, b); }
};
struct MaxF {
  float operator()(float a, float b) const { return MinMax<true>(a, b); }
};
struct MinNanF {
  float operator()(float a, float b) const { return MinMaxNan<false>(a, b); }
};
struct MaxNanF {
  float operator()(float a, float b) const { return MinMaxNan<true>(a, b); }
};
struct MinXorF {
  float operator()(float a, float b) const {
    return WithSign(MinMax<false>(Fabs(a), Fabs(b)), AsFloat(AsBits(a) ^ AsBits(b)));
  }
};
struct MaxXorF {
  float operator()(float a, float b) const {
    return WithSign(MinMax<true>(Fabs(a), Fabs(b)), AsFloat(AsBits(a) ^ AsBits(b)));
  }
};

template <class F, bool kFtz, bool kSat>
constexpr Handler Pick1() {
  return Map1<float, float, kOne<F, kFtz, kSat>>;
}
template <class F, bool kFtz, bool kSat>
constexpr Handler Pick2() {
  return Map2<float, float, float, kTwo<F, kFtz, kSat>>;
}
template <class F, bool kFtz, bool kSat>
constexpr Handler Pick3() {
  return Map3<float, float, float, float, kThree<F, kFtz, kSat>>;
}

// Registers op[.rnd][.ftz][.sat].f32 for all four roundings and, where `plain`, without one.
template <Handler kPlain>
void AddRounded(OpTable& t, const char* op, const char* mods, const char* sig, bool plain,
                Cls cls) {
  if (plain) t.Add(Name(op, mods, ".f32").text, kPlain, sig, cls);
  t.Add(Name(op, ".rn", mods, ".f32").text, kPlain, sig, cls);
  t.Add(Name(op, ".rz", mods, ".f32").text, Rounded<Rounding::kZero, kPlain>, sig, cls);
  t.Add(Name(op, ".rm", mods, ".f32").text, Rounded<Rounding::kDown, kPlain>, sig, cls);
  t.Add(Name(op, ".rp", mods, ".f32").text, Rounded<Rounding::kUp, kPlain>, sig, cls);
}

template <class F>
void Arithmetic2(OpTable& t, const char* op) {
  AddRounded<Pick2<F, false, false>()>(t, op, "", "DfSfSf", true, Cls::kFp32);
  AddRounded<Pick2<F, true, false>()>(t, op, ".ftz", "DfSfSf", true, Cls::kFp32);
  AddRounded<Pick2<F, false, true>()>(t, op, ".sat", "DfSfSf", true, Cls::kFp32);
  AddRounded<Pick2<F, true, true>()>(t, op, ".ftz.sat", "DfSfSf", true, Cls::kFp32);
}

template <class F>
void Approximate(OpTable& t, const char* op) {
  t.Add(Name(op, ".f32").text, Pick1<F, false, false>(), "DfSf", Cls::kSpecial);
  t.Add(Name(op, ".ftz.f32").text, Pick1<F, true, false>(), "DfSf", Cls::kSpecial);
}
template <class F>
void Binary(OpTable& t, const char* op, const char* mods, Cls cls) {
  t.Add(Name(op, mods, ".f32").text, Pick2<F, false, false>(), "DfSfSf", cls);
  t.Add(Name(op, ".ftz", mods, ".f32").text, Pick2<F, true, false>(), "DfSfSf", cls);
}

template <bool kFtz>
constexpr auto kAbs = [](float a) { return Fabs(In<kFtz>(a)); };
template <bool kFtz>
constexpr auto kNeg = [](float a) { return AsFloat(AsBits(In<kFtz>(a)) ^ 0x80000000u); };

template <class A, auto F>
Step Test(Warp& w, const Instr& in, uint32_t m) {
  const A* a = At<A>(w, in.op[1]);
  SetPredicate(w, in.op[0], Compare<A, A, F>(a, a), m);
  return Step::kNext;
}
template <class A, class Bits, Bits kExponent>
void Tests(OpTable& t, const char* type, const char* sig) {
  constexpr Bits kSign = Bits(1) << (sizeof(Bits) * 8 - 1), kSmallest = kExponent & (0 - kExponent);
  auto add = [&](const char* what, Handler run) {
    t.Add(Name("testp.", what, type).text, run, sig, Cls::kAlu);
  };
  add("finite.", Test<Bits, [](Bits a, Bits) { return (a & ~kSign) < kExponent; }>);
  add("infinite.", Test<Bits, [](Bits a, Bits) { return (a & ~kSign) == kExponent; }>);
  add("number.", Test<Bits, [](Bits a, Bits) { return (a & ~kSign) <= kExponent; }>);
  add("notanumber.", Test<Bits, [](Bits a, Bits) { return kExponent < (a & ~kSign); }>);
  add("normal.", Test<Bits, [](Bits a, Bits) {
        return kSmallest <= (a & ~kSign) && (a & ~kSign) < kExponent;
      }>);
  add("subnormal.",
      Test<Bits, [](Bits a, Bits) { return (a & ~kSign) != 0 && (a & ~kSign) < kSmallest; }>);
}

}  // namespace

void RegisterFloat(OpTable& t) {
  Arithmetic2<AddF>(t, "add");
  Arithmetic2<SubF>(t, "sub");
  Arithmetic2<MulF>(t, "mul");
  for (const char* op : {"fma", "mad"}) {
    bool plain = op[0] == 'm';
    AddRounded<Pick3<FmaF, false, false>()>(t, op, "", "DfSfSfSf", plain, Cls::kFp32);
    AddRounded<Pick3<FmaF, true, false>()>(t, op, ".ftz", "DfSfSfSf", plain, Cls::kFp32);
    AddRounded<Pick3<FmaF, false, true>()>(t, op, ".sat", "DfSfSfSf", plain, Cls::kFp32);
    AddRounded<Pick3<FmaF, true, true>()>(t, op, ".ftz.sat", "DfSfSfSf", plain, Cls::kFp32);
  }
  AddRounded<Pick2<DivF, false, false>()>(t, "div", "", "DfSfSf", false, Cls::kSpecial);
  AddRounded<Pick2<DivF, true, false>()>(t, "div", ".ftz", "DfSfSf", false, Cls::kSpecial);
  Binary<DivF>(t, "div.approx", "", Cls::kSpecial);
  Binary<DivF>(t, "div.full", "", Cls::kSpecial);
  AddRounded<Pick1<RcpF, false, false>()>(t, "rcp", "", "DfSf", false, Cls::kSpecial);
  AddRounded<Pick1<RcpF, true, false>()>(t, "rcp", ".ftz", "DfSf", false, Cls::kSpecial);
  AddRounded<Pick1<SqrtF, false, false>()>(t, "sqrt", "", "DfSf", false, Cls::kSpecial);
  AddRounded<Pick1<SqrtF, true, false>()>(t, "sqrt", ".ftz", "DfSf", false, Cls::kSpecial);
  Approximate<RcpF>(t, "rcp.approx");
  Approximate<SqrtF>(t, "sqrt.approx");
  Approximate<RsqrtF>(t, "rsqrt.approx");
  Approximate<Ex2F>(t, "ex2.approx");
  Approximate<Lg2F>(t, "lg2.approx");
  Approximate<SinF>(t, "sin.approx");
  Approximate<CosF>(t, "cos.approx");
  Approximate<TanhF>(t, "tanh.approx");
  Binary<MinF>(t, "min", "", Cls::kAlu);
  Binary<MaxF>(t, "max", "", Cls::kAlu);
  Binary<MinNanF>(t, "min", ".NaN", Cls::kAlu);
  Binary<MaxNanF>(t, "max", ".NaN", Cls::kAlu);
  Binary<MinXorF>(t, "min", ".xorsign.abs", Cls::kAlu);
  Binary<MaxXorF>(t, "max", ".xorsign.abs", Cls::kAlu);
  t.Add("abs.f32", Map1<float, float, kAbs<false>>, "DfSf", Cls::kAlu);
  t.Add("abs.ftz.f32", Map1<float, float, kAbs<true>>, "DfSf", Cls::kAlu);
  t.Add("neg.f32", Map1<float, float, kNeg<false>>, "DfSf", Cls::kAlu);
  t.Add("neg.ftz.f32", Map1<float, float, kNeg<true>>, "DfSf", Cls::kAlu);
  t.Add("copysign.f32", Map2<float, float, float, [](float a, float b) { return WithSign(b, a); }>,
        "DfSfSf", Cls::kAlu);
  // Conversions of expf, powf and their like; all others are in convert.cpp.
  t.Add("cvt.sat.f32.f32", Map1<float, float, [](float a) { return Saturate(a); }>, "DfSf",
        Cls::kAlu);
  t.Add("cvt.ftz.sat.f32.f32", Map1<float, float, [](float a) { return Flush(Saturate(a)); }>,
        "DfSf", Cls::kAlu);
  t.Add("cvt.rzi.f32.f32",
        Map1<float, float, [](float a) { return Canonical(WithSign(__builtin_truncf(a), a)); }>,
        "DfSf", Cls::kAlu);
  t.Add("cvt.rmi.f32.f32",
        Map1<float, float, [](float a) { return Canonical(WithSign(__builtin_floorf(a), a)); }>,
        "DfSf", Cls::kAlu);
  t.Add("cvt.rpi.f32.f32",
        Map1<float, float, [](float a) { return Canonical(WithSign(__builtin_ceilf(a), a)); }>,
        "DfSf", Cls::kAlu);
  Tests<float, uint32_t, 0x7f800000u>(t, "f32", "DpSf");
  Tests<double, uint64_t, 0x7ff0000000000000u>(t, "f64", "DpSd");
}

}  // namespace cudaagent::device::ptx::PTX_ISA
