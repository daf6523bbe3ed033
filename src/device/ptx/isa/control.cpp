// Branches, calls, exits, and the loop that runs a warp.
#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"
#include "device/ptx/race.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

// Sends the lanes of `m` to `target`; the others go on behind this instruction.
inline Step GoTo(Warp& w, uint32_t target, uint32_t m) {
  if (m == w.mask) {
    w.pc = target;
    return Step::kJump;
  }
  PushReady(w, target, m);
  w.mask &= ~m;
  ++w.pc;
  return Step::kJump;
}

// imm: target.
Step Bra(Warp& w, const Instr& in, uint32_t m) { return GoTo(w, static_cast<uint32_t>(in.imm), m); }

// op[0] per-lane values; each distinct one's lanes go to F(value).
template <class F>
Step Scatter(Warp& w, uint32_t op, uint32_t m, F target) {
  const uint32_t* v = At<uint32_t>(w, op);
  uint32_t rest = w.mask & ~m, next = w.pc + 1;
  while (m != 0) {
    uint32_t value = v[__builtin_ctz(m)], same = 0;
    EachLane(m, [&](int l) { same |= v[l] == value ? 1u << l : 0u; });
    m &= ~same;
    uint32_t to = target(value);
    if (m == 0 && rest == 0) {
      w.pc = to;
      w.mask = same;
      return Step::kJump;
    }
    PushReady(w, to, same);
  }
  w.pc = next;
  w.mask = rest;
  return rest != 0 ? Step::kJump : Step::kReschedule;
}

// brx.idx: op[0] index, extra: the table (targets as operands). An index outside is undefined; the
// last target stands for it.
Step Brx(Warp& w, const Instr& in, uint32_t m) {
  const std::vector<uint32_t>& table = w.thread->launch->kernel->extras[in.extra].ops;
  const uint32_t* targets = table.data();
  uint32_t n = static_cast<uint32_t>(in.imm);
  return Scatter(w, in.op[0], m, [&](uint32_t i) { return targets[i < n ? i : n - 1]; });
}

// op[0]: where the lanes keep their return address.
Step Call(Warp& w, const Instr& in, uint32_t m) {
  uint32_t* link = At<uint32_t>(w, in.op[0]);
  EachLane(m, [&](int l) { link[l] = w.pc + 1; });
  return GoTo(w, static_cast<uint32_t>(in.imm), m);
}
Step Ret(Warp& w, const Instr& in, uint32_t m) {
  return Scatter(w, in.op[0], m, [](uint32_t pc) { return pc; });
}

Step Exit(Warp& w, const Instr&, uint32_t m) {
  w.mask &= ~m;
  uint32_t pc = w.pc;
  ExitLanes(w, m);
  w.pc = pc;
  return w.mask == 0 ? Step::kReschedule : Step::kNext;
}

Step Fault(Warp& w, FaultKind kind, uint32_t m) {
  FaultState& f = w.thread->fault;
  f.kind = kind;
  f.lane = static_cast<uint32_t>(__builtin_ctz(m));
  f.warp = w.index;
  f.block = w.block->index;
  f.pc = w.pc;
  return Step::kFault;
}
Step Trap(Warp& w, const Instr&, uint32_t m) { return Fault(w, FaultKind::kTrap, m); }
Step Nop(Warp&, const Instr&, uint32_t) { return Step::kNext; }
Step Fence(Warp& w, const Instr&, uint32_t) {
  if (w.block->race != nullptr) w.block->race->fenced |= 1u << w.index;
  return Step::kNext;
}
Step NanoSleep(Warp& w, const Instr&, uint32_t) {
  w.quantum -= 4096;
  return Step::kNext;
}

// vprintf: imm the local offset of the format's address, extra of the arguments', op[2] of the
// result.
Step Printf(Warp& w, const Instr& in, uint32_t m) {
  uint64_t stride = w.thread->launch->kernel->local_total;
  EachLane(m, [&](int l) {
    uint8_t* local = w.local + static_cast<uint64_t>(l) * stride;
    uint64_t format, arguments;
    std::memcpy(&format, local + in.imm, 8);
    std::memcpy(&arguments, local + in.extra, 8);
    int32_t r = DevicePrintf(w, static_cast<uint32_t>(l), format, arguments);
    if (in.op[2] != kNoOperand) std::memcpy(local + in.op[2], &r, 4);
  });
  return Step::kNext;
}
// __assertfail: local offsets imm message, extra file, op[2] line, op[3] function.
Step AssertFail(Warp& w, const Instr& in, uint32_t m) {
  uint32_t l = static_cast<uint32_t>(__builtin_ctz(m));
  uint8_t* local = w.local + static_cast<uint64_t>(l) * w.thread->launch->kernel->local_total;
  uint64_t message;
  std::memcpy(&message, local + in.imm, 8);
  FaultState& f = w.thread->fault;
  ReadString(w, l, message, f.text, sizeof(f.text));
  uint32_t line;
  std::memcpy(&line, local + in.op[2], 4);
  Fault(w, FaultKind::kAssert, m);
  f.address = line;
  return Step::kFault;
}

// The clock counts warp instructions of the block; the global timer the same as nanoseconds.
Step ReadClock(Warp& w, const Instr& in, uint32_t m) {
  uint64_t now = w.block->clock + static_cast<uint64_t>(w.quantum_start - w.quantum);
  Clock which = static_cast<Clock>(in.aux);
  bool high = which == Clock::kClockHigh || which == Clock::kGlobalTimerHigh;
  uint8_t* d = At<uint8_t>(w, in.op[0]);
  uint64_t value = high ? now >> 32 : now;
  int width = in.width[0];
  EachLane(m, [&](int l) { std::memcpy(d + l * width, &value, width); });
  return Step::kNext;
}

// mov.b64 d, {a, b, ...}: op[0] d, op[1..] the parts, imm how many.
template <class T>
Step Pack(Warp& w, const Instr& in, uint32_t m) {
  int n = static_cast<int>(in.imm);
  T* d = At<T>(w, in.op[0]);
  alignas(64) T t[kLanes * 4];
  for (int k = 0; k < n; ++k) {
    const T* s = At<T>(w, in.op[1 + k]);
    for (int l = 0; l < kLanes; ++l) t[l * n + k] = s[l];
  }
  if (m == kAllLanes) {
    std::memcpy(d, t, sizeof(T) * n * kLanes);
  } else {
    EachLane(m, [&](int l) { std::memcpy(d + l * n, t + l * n, sizeof(T) * n); });
  }
  return Step::kNext;
}
template <class T>
Step Unpack(Warp& w, const Instr& in, uint32_t m) {
  int n = static_cast<int>(in.imm);
  const T* s = At<T>(w, in.op[0]);
  for (int k = 0; k < n; ++k) {
    if (in.op[1 + k] == kNoOperand) continue;
    T* d = At<T>(w, in.op[1 + k]);
    if (m == kAllLanes) {
      for (int l = 0; l < kLanes; ++l) d[l] = s[l * n + k];
    } else {
      EachLane(m, [&](int l) { d[l] = s[l * n + k]; });
    }
  }
  return Step::kNext;
}

// isspacep: op[0] p, op[1] generic address, aux a Place.
Step IsSpace(Warp& w, const Instr& in, uint32_t m) {
  const uint64_t* a = At<uint64_t>(w, in.op[1]);
  uint32_t r = 0;
  for (int l = 0; l < kLanes; ++l) {
    uint64_t window = a[l] & kWindowMask;
    bool yes = false;
    switch (static_cast<Place>(in.aux)) {
      case Place::kShared:
        yes = window == kSharedWindow;
        break;
      case Place::kLocal:
        yes = window == kLocalWindow;
        break;
      case Place::kParam:
        yes = window == kParamWindow;
        break;
      default:
        yes = window == 0;
        break;
    }
    r |= yes ? 1u << l : 0u;
  }
  SetPredicate(w, in.op[0], r, m);
  return Step::kNext;
}
// cvta: op[0] = op[1] + imm; cvta.to: op[1] - imm. Windows are powers of two far above any offset.
Step Cvta(Warp& w, const Instr& in, uint32_t m) {
  uint64_t* d = At<uint64_t>(w, in.op[0]);
  const uint64_t* a = At<uint64_t>(w, in.op[1]);
  uint64_t window = static_cast<uint64_t>(in.imm);
  alignas(64) uint64_t t[kLanes];
  for (int l = 0; l < kLanes; ++l) t[l] = a[l] + window;
  Blend(d, t, m);
  return Step::kNext;
}

// Copies local bytes of each lane: imm = from << 32 | to, extra bytes.
Step CopyLocal(Warp& w, const Instr& in, uint32_t m) {
  uint64_t stride = w.thread->launch->kernel->local_total;
  uint64_t from = static_cast<uint64_t>(in.imm) >> 32,
           to = static_cast<uint64_t>(in.imm) & 0xffffffffu;
  EachLane(m, [&](int l) {
    uint8_t* local = w.local + static_cast<uint64_t>(l) * stride;
    std::memmove(local + to, local + from, in.extra);
  });
  return Step::kNext;
}

}  // namespace

Executor::Outcome RunWarp(Warp& w) {
  const Instr* code = w.thread->launch->kernel->code.data();
  Counters& c = w.thread->counters;
  for (;;) {
    if (w.mask == 0 || w.pc >= w.stop_pc) {
      if (!PickGroup(w)) return Executor::Outcome::kBlocked;
    }
    uint32_t pc = w.pc;
    const uint32_t mask = w.mask, stop = w.stop_pc;
    const uint32_t lanes = static_cast<uint32_t>(__builtin_popcount(mask));
    Step step = Step::kNext;
    uint32_t start = pc;
    // Straight-line code: ends at a jump, at another group's pc, or by a reschedule.
    do {
      const Instr& in = code[pc];
      uint32_t m = mask;
      ++c.by_class[static_cast<int>(in.cls)];
      if (in.guard != kNoOperand) {
        m &= *reinterpret_cast<uint32_t*>(w.base[0] + in.guard) ^ in.guard_flip;
        if (m == 0) {
          ++pc;
          continue;
        }
      }
      w.pc = pc;
      step = in.run(w, in, m);
      if (step != Step::kNext) break;
      ++pc;
    } while (pc != stop && w.mask == mask);
    uint32_t ran = pc - start + (step != Step::kNext ? 1 : 0);
    c.lanes += static_cast<uint64_t>(ran) * lanes;
    w.quantum -= ran;
    if (step == Step::kNext) {
      w.pc = pc;
    } else if (step == Step::kReschedule) {
      w.mask = 0;
    } else if (step == Step::kFault) {
      return Executor::Outcome::kFault;
    }
    if (w.quantum < 0) return Executor::Outcome::kQuantum;
  }
}

void RegisterControl(Families& f) {
  f.bra = Bra;
  f.brx = Brx;
  f.call = Call;
  f.ret = Ret;
  f.exit = Exit;
  f.trap = Trap;
  f.nop = Nop;
  f.fence = Fence;
  f.nanosleep = NanoSleep;
  f.printf = Printf;
  f.assertfail = AssertFail;
  f.clock = ReadClock;
  f.pack[0] = Pack<uint8_t>;
  f.pack[1] = Pack<uint16_t>;
  f.pack[2] = Pack<uint32_t>;
  f.pack[3] = Pack<uint64_t>;
  f.unpack[0] = Unpack<uint8_t>;
  f.unpack[1] = Unpack<uint16_t>;
  f.unpack[2] = Unpack<uint32_t>;
  f.unpack[3] = Unpack<uint64_t>;
  f.isspacep = IsSpace;
  f.cvta = Cvta;
  f.copy_local = CopyLocal;
}

Executor MakeExecutor(OpTable& table, Families& families) {
  RegisterInteger(table);
  RegisterCarry(table);
  RegisterMove(table);
  RegisterFloat(table);
  RegisterDouble(table);
  RegisterHalf(table);
  RegisterCompare(table);
  RegisterConvert(families);
  RegisterMemory(families);
  RegisterAtomics(families);
  RegisterWarp(families);
  RegisterControl(families);
  RegisterMatrix(families);
  RegisterAsync(families);
#define PTX_ISA_TEXT_(x) #x
#define PTX_ISA_TEXT(x) PTX_ISA_TEXT_(x)
  return {&table, &families, RunWarp, PTX_ISA_TEXT(PTX_ISA)};
}

}  // namespace cudaagent::device::ptx::PTX_ISA
