// mma, wmma, ldmatrix, stmatrix, movmatrix.
//
// Every fragment is a list of blocks, rows of blocks first. With p elements in 32 bits of register
// (tf32 and f64 count 1, halves 2, bytes 4) a block of A is 8 x 4p and a block of B 4p x 8: lane l
// holds row (A) or column (B) l / 4, elements p * (l % 4) and on. So the register of a whole warp
// is the block, row by row (A) or column by column (B). A block of C is 8 x 8, two elements per
// lane: row l / 4, columns 2 * (l % 4) and on. This is the layout PTX documents for mma; wmma's is
// unspecified, and takes the same. Products are exact and are added in ascending k in f32 (f64,
// s32); the order and the rounding of a GPU's sum are not documented.
#include <type_traits>

#include "device/ptx/isa/access.h"
#include "device/ptx/isa/half.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

constexpr int kMost = 32;  // rows, columns or depth of any shape

bool WholeWarp(Warp& w, uint32_t m) {
  if (m == kAllLanes) return true;
  FaultState& f = w.thread->fault;
  f.kind = FaultKind::kPartialWarp;
  f.lane = static_cast<uint32_t>(__builtin_ctz(m));
  f.warp = w.index;
  f.block = w.block->index;
  f.pc = w.pc;
  f.address = m;
  return false;
}

// A diverged warp comes together first; false: the lanes of `m` wait, or the step is a fault.
bool Together(Warp& w, uint32_t& m, Step& step) {
  ++w.race_time;
  if (m == kAllLanes) return true;
  uint32_t all = m;
  if (w.alive == kAllLanes && w.mask == m) {
    if (GatherLanes(w, kAllLanes, m, &all)) {
      w.mask |= all;
      m = all;
      return true;
    }
    w.mask = 0;
    step = Step::kReschedule;
    return false;
  }
  step = WholeWarp(w, m) ? Step::kNext : Step::kFault;
  return false;
}

constexpr int PackOf(Element e) {
  return e == Element::kF16 || e == Element::kBf16                                              ? 2
         : e == Element::kS8 || e == Element::kU8 || e == Element::kE4m3 || e == Element::kE5m2 ? 4
                                                                                                : 1;
}
constexpr uint32_t SizeOf(Element e) {
  return e == Element::kF64 ? 8 : 4 / static_cast<uint32_t>(PackOf(e));
}

// One block as floats, `width` elements in each of its 8 rows.
template <class T>
inline void Decode(Warp& w, uint32_t op, Element e, T* out, int stride) {
  if constexpr (std::is_same_v<T, double>) {
    const double* s = At<double>(w, op);
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 4; ++c) out[r * stride + c] = s[r * 4 + c];
  } else if constexpr (std::is_same_v<T, float>) {
    switch (e) {
      case Element::kF16: {
        const uint16_t* s = At<uint16_t>(w, op);
        for (int r = 0; r < 8; ++r)
          for (int c = 0; c < 8; ++c) out[r * stride + c] = FromHalf(s[r * 8 + c]);
        return;
      }
      case Element::kBf16: {
        const uint16_t* s = At<uint16_t>(w, op);
        for (int r = 0; r < 8; ++r)
          for (int c = 0; c < 8; ++c) out[r * stride + c] = FromBrain(s[r * 8 + c]);
        return;
      }
      case Element::kTf32: {  // the low 13 bits are not looked at
        const uint32_t* s = At<uint32_t>(w, op);
        for (int r = 0; r < 8; ++r)
          for (int c = 0; c < 4; ++c) out[r * stride + c] = AsFloat(s[r * 4 + c] & 0xffffe000u);
        return;
      }
      default: {
        const uint8_t* s = At<uint8_t>(w, op);
        for (int r = 0; r < 8; ++r)
          for (int c = 0; c < 16; ++c)
            out[r * stride + c] = FromFp8(s[r * 16 + c], e == Element::kE5m2);
        return;
      }
    }
  } else {
    const uint8_t* s = At<uint8_t>(w, op);
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 16; ++c)
        out[r * stride + c] =
            e == Element::kS8 ? static_cast<int8_t>(s[r * 16 + c]) : static_cast<T>(s[r * 16 + c]);
  }
}

// The accumulator blocks of op[0...]: rows x 8 each; halves take one register, others two.
template <class T>
inline void GetBlock(Warp& w, const uint32_t* op, Element e, T* out, int stride) {
  if (e == Element::kF16) {
    const uint16_t* s = At<uint16_t>(w, op[0]);
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c) out[r * stride + c] = static_cast<T>(FromHalf(s[r * 8 + c]));
    return;
  }
  for (int half = 0; half < 2; ++half) {
    const T* s = At<T>(w, op[half]);
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 4; ++c) out[r * stride + 2 * c + half] = s[r * 4 + c];
  }
}
template <class T>
inline void PutBlock(Warp& w, const uint32_t* op, Element e, const T* in, int stride) {
  if (e == Element::kF16) {
    uint16_t* d = At<uint16_t>(w, op[0]);
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c) d[r * 8 + c] = ToHalf(static_cast<float>(in[r * stride + c]));
    return;
  }
  for (int half = 0; half < 2; ++half) {
    T* d = At<T>(w, op[half]);
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 4; ++c) {
        T value = in[r * stride + 2 * c + half];
        if constexpr (std::is_same_v<T, float>) value = Canonical(value);
        d[r * 4 + c] = value;
      }
  }
}

// S: what sums are kept in; T: what elements are.
template <class T, class S>
void Multiply(Warp& w, const MatrixShape& shape, const uint32_t* op) {
  const int m = shape.m, n = shape.n, k = shape.k;
  alignas(64) T a[kMost * kMost], b[kMost * kMost];
  alignas(64) S c[kMost * kMost];
  const int deep = 4 * PackOf(shape.a);
  const int c_registers = shape.c == Element::kF16 ? 1 : 2,
            d_registers = shape.d == Element::kF16 ? 1 : 2;
  const uint32_t* d_op = op;
  const uint32_t* a_op = d_op + m * n / 64 * d_registers;
  const uint32_t* b_op = a_op + m * k / (8 * deep);
  const uint32_t* c_op = b_op + n * k / (8 * deep);
  for (int x = 0; x < k; x += deep)
    for (int y = 0; y < m; y += 8) Decode(w, *a_op++, shape.a, a + y * k + x, k);
  for (int y = 0; y < n; y += 8) {
    for (int x = 0; x < k; x += deep) {
      alignas(64) T block[8 * 16];
      Decode(w, *b_op++, shape.b, block, deep);
      for (int r = 0; r < 8; ++r)
        for (int i = 0; i < deep; ++i) b[(x + i) * n + y + r] = block[r * deep + i];
    }
  }
  for (int x = 0; x < n; x += 8)
    for (int y = 0; y < m; y += 8, c_op += c_registers) {
      if constexpr (std::is_same_v<T, int32_t>) {
        alignas(64) int32_t block[64];
        GetBlock(w, c_op, shape.c, block, 8);
        for (int i = 0; i < 64; ++i) c[(y + i / 8) * n + x + i % 8] = block[i];
      } else {
        GetBlock(w, c_op, shape.c, c + y * n + x, n);
      }
    }
  for (int y = 0; y < m; y += 4) {
    for (int x = 0; x < n; x += 8) {
      S sum[4][8];
      for (int r = 0; r < 4; ++r)
        for (int i = 0; i < 8; ++i) sum[r][i] = c[(y + r) * n + x + i];
      for (int z = 0; z < k; ++z) {
        const T* row = b + z * n + x;
        for (int r = 0; r < 4; ++r)
          for (int i = 0; i < 8; ++i)
            sum[r][i] += static_cast<S>(a[(y + r) * k + z]) * static_cast<S>(row[i]);
      }
      for (int r = 0; r < 4; ++r)
        for (int i = 0; i < 8; ++i) c[(y + r) * n + x + i] = sum[r][i];
    }
  }
  for (int x = 0; x < n; x += 8)
    for (int y = 0; y < m; y += 8, d_op += d_registers) {
      if constexpr (std::is_same_v<T, int32_t>) {
        alignas(64) int32_t block[64];
        for (int i = 0; i < 64; ++i) {
          int64_t value = c[(y + i / 8) * n + x + i % 8];
          if (shape.saturate) {
            value = value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value;
          }
          block[i] = static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(value)));
        }
        PutBlock(w, d_op, shape.d, block, 8);
      } else {
        PutBlock(w, d_op, shape.d, c + y * n + x, n);
      }
    }
}

// extra: the registers of D, A, B, C in turn; imm a MatrixShape.
Step Mma(Warp& w, const Instr& in, uint32_t m) {
  Step step;
  if (!Together(w, m, step)) return step;
  MatrixShape shape = __builtin_bit_cast(MatrixShape, in.imm);
  const uint32_t* op = w.thread->launch->kernel->extras[in.extra].ops.data();
  if (shape.a == Element::kF64) {
    Multiply<double, double>(w, shape, op);
  } else if (shape.a == Element::kS8 || shape.a == Element::kU8) {
    Multiply<int32_t, int64_t>(w, shape, op);
  } else {
    Multiply<float, float>(w, shape, op);
  }
  return Step::kNext;
}

// Where the elements of one register lie in memory: `count` of them, `apart` elements apart, the
// first of lane l at first[l].
struct Spread {
  uint64_t first[kLanes];
  int count = 1;
  uint64_t apart = 1;
};
Spread SpreadOf(const FragmentShape& f, int index, uint64_t ld) {
  Spread s;
  const bool c = f.role == 'c';
  // A C block of 4-byte elements takes two registers; all others one.
  const int pack = PackOf(f.element), registers = c && pack == 1 ? 2 : 1;
  const int tall = f.role == 'b' ? 4 * pack : 8, blocks_down = f.rows / tall;
  const int block = index / registers, part = index % registers;
  const int wide = f.role == 'b' ? 8 : c ? 8 : 4 * pack;
  const int row0 = block % blocks_down * tall, column0 = block / blocks_down * wide;
  s.count = pack;
  // B's elements of one register go down, the others' go right.
  bool down = f.role == 'b';
  s.apart = down == f.column_major ? 1 : ld;
  for (int l = 0; l < kLanes; ++l) {
    int major = l / 4, minor = c ? l % 4 * 2 + part : l % 4 * pack;
    uint64_t row = static_cast<uint64_t>(row0 + (down ? minor : major));
    uint64_t column = static_cast<uint64_t>(column0 + (down ? major : minor));
    s.first[l] = f.column_major ? column * ld + row : row * ld + column;
  }
  return s;
}

// wmma.load, wmma.store: extra the aux registers, then the address's offset; op[1] the leading
// dimension in elements or none, op[4] the address, imm a FragmentShape. Halves of A and B have
// registers to spare: they repeat the first ones.
template <bool kStore>
Step Wmma(Warp& w, const Instr& in, uint32_t m) {
  Step step;
  if (!Together(w, m, step)) return step;
  FragmentShape f = __builtin_bit_cast(FragmentShape, in.imm);
  const std::vector<uint32_t>& extra = w.thread->launch->kernel->extras[in.extra].ops;
  const uint32_t* op = extra.data();
  const int registers = in.aux;
  const uint64_t offset = op[registers];
  const uint32_t size = SizeOf(f.element);
  uint64_t ld =
      in.op[1] == kNoOperand ? (f.column_major ? f.rows : f.columns) : *At<uint32_t>(w, in.op[1]);
  uint64_t base = in.wide_address ? *At<uint64_t>(w, in.op[4]) : *At<uint32_t>(w, in.op[4]);
  base += static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(offset)));
  const int distinct = f.rows * f.columns / (kLanes * PackOf(f.element));
  for (int i = 0; i < registers; ++i) {
    if (i >= distinct) {
      if (!kStore) std::memcpy(At<uint8_t>(w, op[i]), At<uint8_t>(w, op[i % distinct]), 4 * kLanes);
      continue;
    }
    Spread s = SpreadOf(f, i, ld);
    uint8_t* reg = At<uint8_t>(w, op[i]);
    const uint32_t lane_bytes = size == 8 ? 8 : 4;
    // Elements of one register that follow one another are one access.
    const bool joined = s.apart == 1;
    const uint32_t bytes = joined ? size * static_cast<uint32_t>(s.count) : size;
    for (int e = 0; e < (joined ? 1 : s.count); ++e) {
      alignas(64) uint64_t address[kLanes];
      for (int l = 0; l < kLanes; ++l)
        address[l] = base + (s.first[l] + static_cast<uint64_t>(e) * s.apart) * size;
      Access access;
      if (!ResolveAddresses(w, in.place, address, kAllLanes, bytes, size,
                            kStore ? Use::kWrite : Use::kRead, access))
        return Step::kFault;
      for (uint32_t l = 0; l < kLanes; ++l) {
        uint8_t* part = reg + l * lane_bytes + static_cast<uint32_t>(e) * size;
        if (!kStore) {
          std::memcpy(part, access.host[l], bytes);
          continue;
        }
        if (!MayWrite(w, access, l, bytes, part)) return Step::kFault;
        std::memcpy(access.host[l], part, bytes);
      }
    }
  }
  ++w.race_time;  // whose lane an element was is unspecified
  return Step::kNext;
}

inline void Transpose(const uint16_t* s, uint16_t* d) {
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 8; ++c) d[c * 8 + r] = s[r * 8 + c];
}

// op[0...3] the registers of aux 8 x 8 matrices of halves, op[4] the address of each row: lanes 0
// to 7 name those of the first matrix, and so on.
template <bool kTransposed>
Step LoadMatrix(Warp& w, const Instr& in, uint32_t m) {
  Step step;
  if (!Together(w, m, step)) return step;
  uint32_t rows = in.aux == 4 ? kAllLanes : (1u << (8 * in.aux)) - 1;
  Access access;
  if (!ResolveLanes(w, in, rows, 16, 2, Use::kRead, access)) return Step::kFault;
  for (int j = 0; j < in.aux; ++j) {
    alignas(64) uint16_t block[64];
    for (int r = 0; r < 8; ++r) std::memcpy(block + 8 * r, access.host[8 * j + r], 16);
    if (in.op[j] == kNoOperand) continue;
    uint16_t* d = At<uint16_t>(w, in.op[j]);
    if (kTransposed)
      Transpose(block, d);
    else
      std::memcpy(d, block, sizeof(block));
  }
  return Step::kNext;
}
template <bool kTransposed>
Step StoreMatrix(Warp& w, const Instr& in, uint32_t m) {
  Step step;
  if (!Together(w, m, step)) return step;
  uint32_t rows = in.aux == 4 ? kAllLanes : (1u << (8 * in.aux)) - 1;
  Access access;
  if (!ResolveLanes(w, in, rows, 16, 2, Use::kWrite, access)) return Step::kFault;
  for (int j = 0; j < in.aux; ++j) {
    alignas(64) uint16_t block[64];
    const uint16_t* s = At<uint16_t>(w, in.op[j]);
    if (kTransposed)
      Transpose(s, block);
    else
      std::memcpy(block, s, sizeof(block));
    for (int r = 0; r < 8; ++r) {
      if (!MayWrite(w, access, static_cast<uint32_t>(8 * j + r), 16, block + 8 * r))
        return Step::kFault;
      std::memcpy(access.host[8 * j + r], block + 8 * r, 16);
    }
  }
  ++w.race_time;
  return Step::kNext;
}
// movmatrix.trans: op[0] = op[1] transposed.
Step MoveMatrix(Warp& w, const Instr& in, uint32_t m) {
  Step step;
  if (!Together(w, m, step)) return step;
  alignas(64) uint16_t block[64];
  Transpose(At<uint16_t>(w, in.op[1]), block);
  std::memcpy(At<uint16_t>(w, in.op[0]), block, sizeof(block));
  return Step::kNext;
}

}  // namespace

void RegisterMatrix(Families& f) {
  f.mma = Mma;
  f.wmma_load = Wmma<false>;
  f.wmma_store = Wmma<true>;
  f.ldmatrix[0] = LoadMatrix<false>;
  f.ldmatrix[1] = LoadMatrix<true>;
  f.stmatrix[0] = StoreMatrix<false>;
  f.stmatrix[1] = StoreMatrix<true>;
  f.movmatrix = MoveMatrix;
}

}  // namespace cudaagent::device::ptx::PTX_ISA
