// ld and st in every space. Order of tests: all lanes at one address, consecutive lanes, any.
#include "device/ptx/isa/access.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

// Gives every lane its pointer where only lane 0 has one.
inline void Spread(Access& access, uint32_t bytes) {
  if (access.kind != Access::kConsecutive) return;
  for (int l = 1; l < kLanes; ++l) access.host[l] = access.host[0] + l * bytes;
}

// Moves one loaded element to a register of `width` bytes, extended by sign or zero.
inline void PutRegister(Warp& w, uint32_t op, int lane, uint64_t bits, int element, int width, bool sign) {
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

template <class T, int N>
Step LoadOne(Warp& w, const Instr& in, uint32_t m) {
  constexpr uint32_t kBytes = sizeof(T) * N;
  Access access;
  if (!Resolve(w, in, m, kBytes, sizeof(T), Use::kRead, access)) return Step::kFault;
  const uint32_t* ops = Elements<T, N>(w, in);
  bool same_width = in.width[0] == sizeof(T);
  if (access.kind == Access::kUniform) {
    Vector<T, N> value;
    std::memcpy(&value, access.host[0], kBytes);
    for (int n = 0; n < N; ++n) {
      if (ops[n] == kNoOperand) continue;
      if (same_width) {
        T* d = At<T>(w, ops[n]);
        T v = value.v[n];
        if (m == kAllLanes) {
          for (int l = 0; l < kLanes; ++l) d[l] = v;
        } else {
          EachLane(m, [&](int l) { d[l] = v; });
        }
      } else {
        EachLane(m, [&](int l) { PutRegister(w, ops[n], l, value.v[n], sizeof(T), in.width[0], in.sign); });
      }
    }
    return Step::kNext;
  }
  if (access.kind == Access::kConsecutive && same_width) {
    const Vector<T, N>* p = reinterpret_cast<const Vector<T, N>*>(access.host[0]);
    for (int n = 0; n < N; ++n) {
      if (ops[n] == kNoOperand) continue;
      T* d = At<T>(w, ops[n]);
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) d[l] = p[l].v[n];
    }
    return Step::kNext;
  }
  if (same_width) {
    EachLane(m, [&](int l) {
      Vector<T, N> value;
      std::memcpy(&value, access.host[l], kBytes);
      for (int n = 0; n < N; ++n) {
        if (ops[n] != kNoOperand) At<T>(w, ops[n])[l] = value.v[n];
      }
    });
    return Step::kNext;
  }
  Spread(access, kBytes);
  EachLane(m, [&](int l) {
    Vector<T, N> value;
    std::memcpy(&value, access.host[l], kBytes);
    for (int n = 0; n < N; ++n) PutRegister(w, ops[n], l, value.v[n], sizeof(T), in.width[0], in.sign);
  });
  return Step::kNext;
}

// Registers wider than T give their low bytes.
template <class T, int N>
Step StoreOne(Warp& w, const Instr& in, uint32_t m) {
  constexpr uint32_t kBytes = sizeof(T) * N;
  Access access;
  if (!Resolve(w, in, m, kBytes, sizeof(T), Use::kWrite, access)) return Step::kFault;
  const uint32_t* ops = Elements<T, N>(w, in);
  const uint8_t* sources[N];
  uint32_t stride = in.width[0];
  for (int n = 0; n < N; ++n) sources[n] = At<uint8_t>(w, ops[n]);
  if (access.kind == Access::kConsecutive && stride == sizeof(T)) {
    Vector<T, N>* p = reinterpret_cast<Vector<T, N>*>(access.host[0]);
    for (int n = 0; n < N; ++n) {
      const T* s = reinterpret_cast<const T*>(sources[n]);
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) p[l].v[n] = s[l];
    }
    return Step::kNext;
  }
  Spread(access, kBytes);
  // Lanes at one address: the highest lane's value stays.
  EachLane(m, [&](int l) {
    Vector<T, N> value;
    for (int n = 0; n < N; ++n) std::memcpy(&value.v[n], sources[n] + l * stride, sizeof(T));
    std::memcpy(access.host[l], &value, kBytes);
  });
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
