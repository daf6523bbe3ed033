// ld and st in every space. Order of tests: all lanes at one address, consecutive lanes, any.
#include "device/ptx/isa/access.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

// Moves one loaded element to a register of `width` bytes, extended by sign or zero.
inline void PutRegister(Warp& w, uint32_t op, int lane, uint64_t bits, int element, int width,
                        bool sign) {
  if (op == kNoOperand) return;
  if (sign && element < 8) {
    int shift = 64 - 8 * element;
    bits = static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
  }
  std::memcpy(At<uint8_t>(w, op) + lane * width, &bits, width);
}

template <class T, int N>
struct Vector {
  T v[N];
};

// op[0..N-1] destinations (N <= 4, else Extra::ops), op[4] address, imm offset.
template <class T, int N>
inline const uint32_t* Elements(Warp& w, const Instr& in) {
  if (N <= 4) return in.op;
  return w.thread->launch->kernel->extras[in.extra].ops.data();
}

// Registers of another size than T, partial warps, scattered lanes.
template <class T, int N>
[[gnu::noinline]] Step LoadLanes(Warp& w, const Instr& in, uint32_t m) {
  constexpr uint32_t kBytes = sizeof(T) * N;
  Access access;
  if (!ResolveLanes(w, in, m, kBytes, sizeof(T), Use::kRead, access)) return Step::kFault;
  const uint32_t* ops = Elements<T, N>(w, in);
  bool same_width = in.width[0] == sizeof(T);
  EachLane(m, [&](int l) {
    Vector<T, N> value;
    std::memcpy(&value, access.host[l], kBytes);
    for (int n = 0; n < N; ++n) {
      if (!same_width) {
        PutRegister(w, ops[n], l, value.v[n], sizeof(T), in.width[0], in.sign);
      } else if (ops[n] != kNoOperand) {
        At<T>(w, ops[n])[l] = value.v[n];
      }
    }
  });
  return Step::kNext;
}

template <class T, int N>
Step LoadOne(Warp& w, const Instr& in, uint32_t m) {
  Access access;
  if (in.width[0] != sizeof(T) || !ResolveRun<sizeof(T) * N, Use::kRead>(w, in, m, access)) {
    return LoadLanes<T, N>(w, in, m);
  }
  const uint32_t* ops = Elements<T, N>(w, in);
  const Vector<T, N>* p = reinterpret_cast<const Vector<T, N>*>(access.host[0]);
  for (int n = 0; n < N; ++n) {
    if (ops[n] == kNoOperand) continue;
    T* d = At<T>(w, ops[n]);
    if (access.kind == Access::kUniform) {
      T v = p->v[n];
      for (int l = 0; l < kLanes; ++l) d[l] = v;
    } else {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) d[l] = p[l].v[n];
    }
  }
  return Step::kNext;
}

// Registers wider than T give their low bytes. Lanes at one address: the highest lane's value
// stays.
template <class T, int N>
[[gnu::noinline]] Step StoreLanes(Warp& w, const Instr& in, uint32_t m) {
  constexpr uint32_t kBytes = sizeof(T) * N;
  Access access;
  if (!ResolveLanes(w, in, m, kBytes, sizeof(T), Use::kWrite, access)) return Step::kFault;
  const uint32_t* ops = Elements<T, N>(w, in);
  const uint8_t* sources[N];
  uint32_t stride = in.width[0];
  for (int n = 0; n < N; ++n) sources[n] = At<uint8_t>(w, ops[n]);
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    uint32_t l = static_cast<uint32_t>(__builtin_ctz(rest));
    Vector<T, N> value;
    for (int n = 0; n < N; ++n) std::memcpy(&value.v[n], sources[n] + l * stride, sizeof(T));
    if (!MayWrite(w, access, l, kBytes, &value)) return Step::kFault;
    std::memcpy(access.host[l], &value, kBytes);
  }
  return Step::kNext;
}

template <class T, int N>
Step StoreOne(Warp& w, const Instr& in, uint32_t m) {
  Access access;
  if (in.width[0] != sizeof(T) || !ResolveRun<sizeof(T) * N, Use::kWrite>(w, in, m, access)) {
    return StoreLanes<T, N>(w, in, m);
  }
  const uint32_t* ops = Elements<T, N>(w, in);
  Vector<T, N>* p = reinterpret_cast<Vector<T, N>*>(access.host[0]);
  for (int n = 0; n < N; ++n) {
    const T* s = At<T>(w, ops[n]);
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) p[l].v[n] = s[l];
  }
  return Step::kNext;
}

template <class T>
void Fill(Families& f, int size) {
  f.load[size][0] = LoadOne<T, 1>;
  f.load[size][1] = LoadOne<T, 2>;
  f.load[size][2] = LoadOne<T, 4>;
  f.load[size][3] = LoadOne<T, 8>;
  f.store[size][0] = StoreOne<T, 1>;
  f.store[size][1] = StoreOne<T, 2>;
  f.store[size][2] = StoreOne<T, 4>;
  f.store[size][3] = StoreOne<T, 8>;
}

}  // namespace

void RegisterMemory(Families& f) {
  Fill<uint8_t>(f, 0);
  Fill<uint16_t>(f, 1);
  Fill<uint32_t>(f, 2);
  Fill<uint64_t>(f, 3);
}

}  // namespace cudaagent::device::ptx::PTX_ISA
