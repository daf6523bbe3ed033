// Additions, subtractions and products with a carry in or out.
#include "device/ptx/isa/integer_types.h"
#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

// Carry chains. The carry flag is a hidden predicate, op[5].
template <class T, bool kSubtract, bool kIn, bool kOut>
Step Carry(Warp& w, const Instr& in, uint32_t m) {
  T* d = At<T>(w, in.op[0]);
  const T* a = At<T>(w, in.op[1]);
  const T* b = At<T>(w, in.op[2]);
  u32 carry = Mask(w, in.op[5]), out = 0;
  EachLane(m, [&](int l) {
    u128 x = a[l], y = b[l], k = kIn ? (carry >> l & 1) : 0;
    u128 r = kSubtract ? x - y - k : x + y + k;
    d[l] = T(r);
    out |= (u32(r >> kBits<T>) & 1) << l;
  });
  if (kOut) SetPredicate(w, in.op[5], out, m);
  return Step::kNext;
}
template <class T, bool kHigh, bool kIn, bool kOut>
Step MadCarry(Warp& w, const Instr& in, uint32_t m) {
  T* d = At<T>(w, in.op[0]);
  const T* a = At<T>(w, in.op[1]);
  const T* b = At<T>(w, in.op[2]);
  const T* c = At<T>(w, in.op[3]);
  using U = Unsigned<T>;
  u32 carry = Mask(w, in.op[5]), out = 0;
  EachLane(m, [&](int l) {
    U p = kHigh ? U((Wide<T>(a[l]) * Wide<T>(b[l])) >> kBits<T>) : U(u64(U(a[l])) * u64(U(b[l])));
    u128 r = u128(p) + U(c[l]) + (kIn ? (carry >> l & 1) : 0);
    d[l] = T(r);
    out |= (u32(r >> kBits<T>) & 1) << l;
  });
  if (kOut) SetPredicate(w, in.op[5], out, m);
  return Step::kNext;
}

template <class T>
void Carries(OpTable& t, const char* type, char c) {
  char two[7] = {'D', c, 'S', c, 'S', c, 0}, three[9] = {'D', c, 'S', c, 'S', c, 'S', c, 0};
  Cls alu = Cls::kAlu;
  using U = Unsigned<T>;
  t.Add(Name("add.cc.", type).text, Carry<U, false, false, true>, two, alu);
  t.Add(Name("addc.", type).text, Carry<U, false, true, false>, two, alu);
  t.Add(Name("addc.cc.", type).text, Carry<U, false, true, true>, two, alu);
  t.Add(Name("sub.cc.", type).text, Carry<U, true, false, true>, two, alu);
  t.Add(Name("subc.", type).text, Carry<U, true, true, false>, two, alu);
  t.Add(Name("subc.cc.", type).text, Carry<U, true, true, true>, two, alu);
  t.Add(Name("mad.lo.cc.", type).text, MadCarry<T, false, false, true>, three, alu);
  t.Add(Name("mad.hi.cc.", type).text, MadCarry<T, true, false, true>, three, alu);
  t.Add(Name("madc.lo.", type).text, MadCarry<T, false, true, false>, three, alu);
  t.Add(Name("madc.hi.", type).text, MadCarry<T, true, true, false>, three, alu);
  t.Add(Name("madc.lo.cc.", type).text, MadCarry<T, false, true, true>, three, alu);
  t.Add(Name("madc.hi.cc.", type).text, MadCarry<T, true, true, true>, three, alu);
}

}  // namespace

void RegisterCarry(OpTable& t) {
  Carries<u32>(t, "u32", 'w');
  Carries<s32>(t, "s32", 'w');
  Carries<u32>(t, "b32", 'w');
  Carries<u64>(t, "u64", 'l');
  Carries<s64>(t, "s64", 'l');
  Carries<u64>(t, "b64", 'l');
}

}  // namespace cudaagent::device::ptx::PTX_ISA
