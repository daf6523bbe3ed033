// Moves, selections, predicate logic.
#include "device/ptx/isa/integer_types.h"
#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

template <class T>
void Moves(OpTable& t, const char* type, char c) {
  char one[5] = {'D', c, 'S', c, 0};
  t.Add(Name("mov.", type).text, Map1<T, T, [](T a) { return a; }>, one, Cls::kAlu);
}

// selp d, a, b, p and slct d, a, b, c.
template <class T>
Step Select(Warp& w, const Instr& in, uint32_t m) {
  T* d = At<T>(w, in.op[0]);
  const T* a = At<T>(w, in.op[1]);
  const T* b = At<T>(w, in.op[2]);
  uint32_t p = Mask(w, in.op[3]) ^ ((in.extra >> 2) & 1 ? kAllLanes : 0);
  alignas(64) T t[kLanes];
#pragma GCC ivdep
  for (int l = 0; l < kLanes; ++l) t[l] = (p >> l) & 1 ? a[l] : b[l];
  if (m == kAllLanes) {
    std::memcpy(d, t, sizeof(t));
  } else {
    Blend(d, t, m);
  }
  return Step::kNext;
}
template <class T>
void Selects(OpTable& t, const char* type, char c) {
  char selp[9] = {'D', c, 'S', c, 'S', c, 'S', 'p', 0};
  char slct[9] = {'D', c, 'S', c, 'S', c, 'S', 'w', 0};
  t.Add(Name("selp.", type).text, Select<T>, selp, Cls::kAlu);
  t.Add(Name("slct.", type, ".s32").text,
        Map3<T, T, T, s32, [](T a, T b, s32 k) { return k >= 0 ? a : b; }>, slct, Cls::kAlu);
  slct[7] = 'f';
  t.Add(Name("slct.", type, ".f32").text,
        Map3<T, T, T, float, [](T a, T b, float k) { return k >= 0 ? a : b; }>, slct, Cls::kAlu);
  t.Add(Name("slct.ftz.", type, ".f32").text,
        Map3<T, T, T, float, [](T a, T b, float k) { return Flush(k) >= 0 ? a : b; }>, slct,
        Cls::kAlu);
}

enum PredicateOp { kPredAnd, kPredOr, kPredXor, kPredNot, kPredMov };
template <PredicateOp kOp>
Step Predicate(Warp& w, const Instr& in, uint32_t m) {
  uint32_t a = Mask(w, in.op[1]) ^ (in.extra & 1 ? kAllLanes : 0), r = a;
  if (kOp == kPredNot) {
    r = ~a;
  } else if (kOp != kPredMov) {
    uint32_t b = Mask(w, in.op[2]) ^ (in.extra & 2 ? kAllLanes : 0);
    r = kOp == kPredAnd ? a & b : kOp == kPredOr ? a | b : a ^ b;
  }
  SetPredicate(w, in.op[0], r, m);
  return Step::kNext;
}

}  // namespace

void RegisterMove(OpTable& t) {
  for (const char* type : {"b16", "u16", "s16"}) {
    Moves<u16>(t, type, 'h');
    Selects<u16>(t, type, 'h');
  }
  for (const char* type : {"b32", "u32", "s32"}) {
    Moves<u32>(t, type, 'w');
    Selects<u32>(t, type, 'w');
  }
  for (const char* type : {"b64", "u64", "s64"}) {
    Moves<u64>(t, type, 'l');
    Selects<u64>(t, type, 'l');
  }
  Moves<u16>(t, "f16", 'H');
  Moves<u16>(t, "bf16", 'H');
  Moves<u32>(t, "f16x2", 'X');
  Moves<u32>(t, "f32", 'f');
  Moves<u64>(t, "f64", 'd');
  Selects<u32>(t, "f32", 'f');
  Selects<u64>(t, "f64", 'd');
  t.Add("and.pred", Predicate<kPredAnd>, "DpSpSp", Cls::kAlu);
  t.Add("or.pred", Predicate<kPredOr>, "DpSpSp", Cls::kAlu);
  t.Add("xor.pred", Predicate<kPredXor>, "DpSpSp", Cls::kAlu);
  t.Add("not.pred", Predicate<kPredNot>, "DpSp", Cls::kAlu);
  t.Add("mov.pred", Predicate<kPredMov>, "DpSp", Cls::kAlu);
}

}  // namespace cudaagent::device::ptx::PTX_ISA
