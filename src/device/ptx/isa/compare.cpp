// setp and set: a comparison, an optional combination with a predicate, one or two results.
#include "device/ptx/isa/half.h"
#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

// Instr::aux of setp: how the comparison combines with the predicate c.
enum Combine : uint8_t { kNone, kAnd, kOr, kXor };
// Instr::aux of set: what stands for true.
enum True : uint8_t { kOnes, kOneFloat };

void Finish(Warp& w, const Instr& in, uint32_t r, uint32_t m) {
  uint32_t q = ~r;
  if (in.aux != kNone) {
    uint32_t c = Mask(w, in.op[3]) ^ ((in.extra >> 2) & 1 ? kAllLanes : 0);
    r = in.aux == kAnd ? r & c : in.aux == kOr ? r | c : r ^ c;
    q = in.aux == kAnd ? q & c : in.aux == kOr ? q | c : q ^ c;
  }
  SetPredicate(w, in.op[0], r, m);
  SetPredicate(w, in.op[5], q, m);
}

// setp d|q, a, b [, c]: op = d, a, b, c, -, q.
template <class T, auto F>
Step Setp(Warp& w, const Instr& in, uint32_t m) {
  uint32_t r = Compare<T, T, F>(At<T>(w, in.op[1]), At<T>(w, in.op[2]));
  Finish(w, in, r, m);
  return Step::kNext;
}

// set d, a, b: all ones or 1.0 where the comparison holds.
template <class T, auto F>
Step Set(Warp& w, const Instr& in, uint32_t m) {
  uint32_t r = Compare<T, T, F>(At<T>(w, in.op[1]), At<T>(w, in.op[2]));
  uint32_t* d = At<uint32_t>(w, in.op[0]);
  uint32_t yes = in.aux == kOnes ? 0xffffffffu : 0x3f800000u;
  EachLane(m, [&](int l) { d[l] = (r >> l) & 1 ? yes : 0u; });
  return Step::kNext;
}

template <class T, auto F>
void AddCompare(OpTable& t, const char* compare, const char* ftz, const char* type, char c) {
  char sig[7] = {'T', 'p', 'S', c, 'S', c, 0}, with[9] = {'T', 'p', 'S', c, 'S', c, 'S', 'p', 0};
  char set[7] = {'D', 'w', 'S', c, 'S', c, 0};
  t.Add(Name("setp.", compare, ftz, ".", type).text, Setp<T, F>, sig, Cls::kAlu, kNone);
  t.Add(Name("setp.", compare, ".and", ftz, ".", type).text, Setp<T, F>, with, Cls::kAlu, kAnd);
  t.Add(Name("setp.", compare, ".or", ftz, ".", type).text, Setp<T, F>, with, Cls::kAlu, kOr);
  t.Add(Name("setp.", compare, ".xor", ftz, ".", type).text, Setp<T, F>, with, Cls::kAlu, kXor);
  for (const char* d : {".u32.", ".s32.", ".b32."}) {
    t.Add(Name("set.", compare, ftz, d, type).text, Set<T, F>, set, Cls::kAlu, kOnes);
  }
  set[1] = 'f';
  t.Add(Name("set.", compare, ftz, ".f32.", type).text, Set<T, F>, set, Cls::kAlu, kOneFloat);
}

template <class T>
void Integers(OpTable& t, const char* type, char c, bool ordered) {
  AddCompare<T, [](T a, T b) { return a == b; }>(t, "eq", "", type, c);
  AddCompare<T, [](T a, T b) { return a != b; }>(t, "ne", "", type, c);
  if (!ordered) return;
  AddCompare<T, [](T a, T b) { return a < b; }>(t, "lt", "", type, c);
  AddCompare<T, [](T a, T b) { return a <= b; }>(t, "le", "", type, c);
  AddCompare<T, [](T a, T b) { return b < a; }>(t, "gt", "", type, c);
  AddCompare<T, [](T a, T b) { return b <= a; }>(t, "ge", "", type, c);
  if (T(-1) < T(0)) return;
  AddCompare<T, [](T a, T b) { return a < b; }>(t, "lo", "", type, c);
  AddCompare<T, [](T a, T b) { return a <= b; }>(t, "ls", "", type, c);
  AddCompare<T, [](T a, T b) { return b < a; }>(t, "hi", "", type, c);
  AddCompare<T, [](T a, T b) { return b <= a; }>(t, "hs", "", type, c);
}

// kView turns a stored value into what is compared.
template <class T, auto kView>
void Floats(OpTable& t, const char* ftz, const char* type, char c) {
  AddCompare<T, [](T a, T b) { return kView(a) == kView(b); }>(t, "eq", ftz, type, c);
  AddCompare<T, [](T a, T b) { return kView(a) < kView(b) || kView(b) < kView(a); }>(t, "ne", ftz,
                                                                                     type, c);
  AddCompare<T, [](T a, T b) { return kView(a) < kView(b); }>(t, "lt", ftz, type, c);
  AddCompare<T, [](T a, T b) { return kView(a) <= kView(b); }>(t, "le", ftz, type, c);
  AddCompare<T, [](T a, T b) { return kView(b) < kView(a); }>(t, "gt", ftz, type, c);
  AddCompare<T, [](T a, T b) { return kView(b) <= kView(a); }>(t, "ge", ftz, type, c);
  AddCompare<T, [](T a, T b) { return !(kView(a) < kView(b) || kView(b) < kView(a)); }>(
      t, "equ", ftz, type, c);
  AddCompare<T, [](T a, T b) { return !(kView(a) == kView(b)); }>(t, "neu", ftz, type, c);
  AddCompare<T, [](T a, T b) { return !(kView(b) <= kView(a)); }>(t, "ltu", ftz, type, c);
  AddCompare<T, [](T a, T b) { return !(kView(b) < kView(a)); }>(t, "leu", ftz, type, c);
  AddCompare<T, [](T a, T b) { return !(kView(a) <= kView(b)); }>(t, "gtu", ftz, type, c);
  AddCompare<T, [](T a, T b) { return !(kView(a) < kView(b)); }>(t, "geu", ftz, type, c);
  AddCompare<T, [](T a, T b) { return kView(a) == kView(a) && kView(b) == kView(b); }>(
      t, "num", ftz, type, c);
  AddCompare<T, [](T a, T b) { return kView(a) != kView(a) || kView(b) != kView(b); }>(
      t, "nan", ftz, type, c);
}

}  // namespace

void RegisterCompare(OpTable& t) {
  Integers<uint16_t>(t, "b16", 'h', false);
  Integers<uint32_t>(t, "b32", 'w', false);
  Integers<uint64_t>(t, "b64", 'l', false);
  Integers<uint16_t>(t, "u16", 'h', true);
  Integers<int16_t>(t, "s16", 'h', true);
  Integers<uint32_t>(t, "u32", 'w', true);
  Integers<int32_t>(t, "s32", 'w', true);
  Integers<uint64_t>(t, "u64", 'l', true);
  Integers<int64_t>(t, "s64", 'l', true);
  Floats<float, [](float a) { return a; }>(t, "", "f32", 'f');
  Floats<float, [](float a) { return Flush(a); }>(t, ".ftz", "f32", 'f');
  Floats<double, [](double a) { return a; }>(t, "", "f64", 'd');
  Floats<uint16_t, [](uint16_t a) { return FromHalf(a); }>(t, "", "f16", 'H');
  Floats<uint16_t, [](uint16_t a) { return FromHalf(FlushHalf(a)); }>(t, ".ftz", "f16", 'H');
  Floats<uint16_t, [](uint16_t a) { return FromBrain(a); }>(t, "", "bf16", 'H');
}

}  // namespace cudaagent::device::ptx::PTX_ISA
