// Moves, conversions, warp-wide instructions, barriers, branches and calls.
#include <array>

#include "device/ptx/lower.h"

namespace cudaagent::device::ptx {
namespace {

char Letter(uint32_t bytes) { return bytes == 1 ? 'b' : bytes == 2 ? 'h' : bytes == 4 ? 'w' : 'l'; }

struct ClockName {
  std::string_view name;
  Clock clock;
};
constexpr std::array<ClockName, 6> kClocks = {{{"%clock", Clock::kClock32},
                                               {"%clock_hi", Clock::kClockHigh},
                                               {"%clock64", Clock::kClock64},
                                               {"%globaltimer", Clock::kGlobalTimer},
                                               {"%globaltimer_lo", Clock::kGlobalTimerLow},
                                               {"%globaltimer_hi", Clock::kGlobalTimerHigh}}};

constexpr std::array<std::pair<std::string_view, Num>, 13> kNums = {{{"u8", Num::kU8},
                                                                     {"s8", Num::kS8},
                                                                     {"u16", Num::kU16},
                                                                     {"s16", Num::kS16},
                                                                     {"u32", Num::kU32},
                                                                     {"s32", Num::kS32},
                                                                     {"u64", Num::kU64},
                                                                     {"s64", Num::kS64},
                                                                     {"f16", Num::kF16},
                                                                     {"bf16", Num::kBf16},
                                                                     {"f32", Num::kF32},
                                                                     {"f64", Num::kF64},
                                                                     {"tf32", Num::kTf32}}};
constexpr std::array<std::pair<std::string_view, Round>, 9> kRounds = {{{"rn", Round::kRn},
                                                                        {"rz", Round::kRz},
                                                                        {"rm", Round::kRm},
                                                                        {"rp", Round::kRp},
                                                                        {"rni", Round::kRni},
                                                                        {"rzi", Round::kRzi},
                                                                        {"rmi", Round::kRmi},
                                                                        {"rpi", Round::kRpi},
                                                                        {"rna", Round::kRna}}};

Num NumOf(std::string_view word) {
  for (const auto& [name, value] : kNums) {
    if (word == name) return value;
  }
  return Num::kCount;
}

bool IsFloat(Num n) { return n >= Num::kF16; }

// The rounding the fast conversion of this pair has.
Round FastRound(Num to, Num from) {
  if (from == Num::kF32 && to == Num::kF32) return Round::kRni;
  if (IsFloat(from) && !IsFloat(to)) return Round::kRzi;
  bool exact = !IsFloat(to) ||
               (to == Num::kF64 && from != Num::kU64 && from != Num::kS64 && IsFloat(from)) ||
               (to == Num::kF32 && (from == Num::kF16 || from == Num::kBf16));
  return exact ? Round::kNone : Round::kRn;
}

}  // namespace

bool Lowering::Mov() {
  Words words = Split();
  if (words.items.size() != 2) return false;
  int bytes = TypeBytes(words.items[1]);
  if (bytes <= 0 || bytes > 8) return false;
  ExpectOperands(2, 2);
  const Operand& d = statement_->operands[0];
  const Operand& s = statement_->operands[1];
  Instr instr = Start();
  if (d.kind == Operand::Kind::kVector || s.kind == Operand::Kind::kVector) {
    bool pack = s.kind == Operand::Kind::kVector;
    const std::vector<Operand>& parts = pack ? s.items : d.items;
    if (d.kind == s.kind || parts.empty() || parts.size() > 4 || bytes % parts.size() != 0)
      Bad("a vector of this length");
    uint32_t part = static_cast<uint32_t>(bytes / parts.size());
    instr.imm = static_cast<int64_t>(parts.size());
    instr.run = (pack ? families_.pack : families_.unpack)[__builtin_ctz(part)];
    instr.op[0] = pack ? Destination(d, Letter(bytes)) : Source(s, Letter(bytes));
    for (size_t i = 0; i < parts.size(); ++i) {
      instr.op[1 + i] = pack ? Source(parts[i], Letter(part)) : Destination(parts[i], Letter(part));
    }
    if (pack && instr.op[0] == kNoOperand) Bad("no destination");
    Push(instr);
    return true;
  }
  if (s.kind == Operand::Kind::kSpecial) {
    for (const ClockName& clock : kClocks) {
      if (clock.name != s.name) continue;
      instr.run = families_.clock;
      instr.aux = static_cast<uint8_t>(clock.clock);
      instr.width[0] = static_cast<uint8_t>(bytes);
      instr.op[0] = Destination(d, Letter(bytes));
      if (instr.op[0] == kNoOperand) Bad("no destination");
      Push(instr);
      return true;
    }
  }
  const Op* op = ops_.Find(bytes == 1   ? "mov.b16"
                           : bytes == 2 ? "mov.b16"
                           : bytes == 4 ? "mov.b32"
                                        : "mov.b64");
  if (bytes == 1) return false;
  instr.run = op->run;
  instr.cls = op->cls;
  instr.op[0] = Destination(d, Letter(bytes));
  instr.op[1] = Source(s, Letter(bytes));
  if (instr.op[0] == kNoOperand) Bad("no destination");
  Push(instr);
  return true;
}

bool Lowering::Cvt() {
  Words words = Split();
  Conversion c;
  bool pack = false;
  while (words.at + 2 < words.items.size()) {
    std::string_view word = words.items[words.at++];
    bool known = false;
    for (const auto& [name, value] : kRounds) {
      if (word == name) {
        c.round = value;
        known = true;
      }
    }
    if (word == "ftz") known = c.ftz = true;
    if (word == "sat") known = c.sat = true;
    if (word == "relu") known = c.relu = true;
    if (!known) return false;
  }
  if (words.at + 2 != words.items.size()) return false;
  std::string_view to = words.items[words.at], from = words.items[words.at + 1];
  if ((to == "f16x2" || to == "bf16x2") && from == "f32") {
    pack = true;
    to = to == "f16x2" ? "f16" : "bf16";
  }
  c.to = NumOf(to);
  c.from = NumOf(from);
  if (c.to == Num::kCount || c.from == Num::kCount || c.from == Num::kTf32) return false;
  bool whole = c.round >= Round::kRni && c.round <= Round::kRpi;
  if (IsFloat(c.from) && !IsFloat(c.to) && !whole) return false;
  if (!IsFloat(c.from) && (whole || c.round == Round::kRna)) return false;
  if (!IsFloat(c.from) && !IsFloat(c.to) && c.round != Round::kNone) return false;
  if (c.round == Round::kRna && c.to != Num::kTf32) return false;
  Instr instr = Start();
  instr.extra = c.Pack();
  if (pack) {
    ExpectOperands(3, 3);
    instr.run = families_.convert_pair;
    instr.op[0] = Destination(statement_->operands[0], 'w');
    instr.op[1] = Source(statement_->operands[1], 'f');
    instr.op[2] = Source(statement_->operands[2], 'f');
    if (instr.op[0] == kNoOperand) Bad("no destination");
    Push(instr);
    return true;
  }
  ExpectOperands(2, 2);
  uint32_t to_bytes = c.to == Num::kTf32 ? 4u : static_cast<uint32_t>(TypeBytes(to));
  uint32_t from_bytes = static_cast<uint32_t>(TypeBytes(from));
  const Operand& d = statement_->operands[0];
  if (d.kind != Operand::Kind::kRegister) Bad("a destination that is no register");
  instr.op[0] = SourceAny(d, to_bytes, &instr.width[0]);
  instr.op[1] = SourceAny(statement_->operands[1], from_bytes, &instr.width[1]);
  instr.run = families_.convert;
  if (IsFloat(c.to) || IsFloat(c.from))
    instr.cls = Cls::kSpecial;  // a quarter of the rate, as on the GPU
  Handler fast = families_.convert_fast[static_cast<int>(c.to)][static_cast<int>(c.from)];
  bool plain =
      !c.ftz && !c.sat && !c.relu && instr.width[0] == to_bytes && instr.width[1] == from_bytes;
  if (fast != nullptr && plain && c.round == FastRound(c.to, c.from)) instr.run = fast;
  Push(instr);
  return true;
}

bool Lowering::Shuffle() {
  Words words = Split();
  static constexpr std::array<std::string_view, 4> kModes = {"up", "down", "bfly", "idx"};
  if (words.items.size() != 4 || words.items[1] != "sync" || words.items[3] != "b32") return false;
  for (size_t mode = 0; mode < kModes.size(); ++mode) {
    if (words.items[2] != kModes[mode]) continue;
    ExpectOperands(5, 5);
    const std::vector<Operand>& operands = statement_->operands;
    Instr instr = Start();
    instr.run = families_.shfl[mode];
    instr.op[0] = Destination(operands[0], 'w');
    if (!operands[0].items.empty()) instr.op[5] = Destination(operands[0].items[0], 'p');
    for (int i = 1; i < 5; ++i) instr.op[i] = Source(operands[i], 'w');
    Push(instr);
    return true;
  }
  return false;
}

bool Lowering::Vote(std::string_view base) {
  std::string_view opcode = statement_->opcode;
  const std::vector<Operand>& operands = statement_->operands;
  Instr instr = Start();
  if (base == "activemask") {
    if (opcode != "activemask.b32") return false;
    ExpectOperands(1, 1);
    instr.run = families_.activemask;
    instr.op[0] = Destination(operands[0], 'w');
    if (instr.op[0] == kNoOperand) Bad("no destination");
    Push(instr);
    return true;
  }
  ExpectOperands(3, 3);
  instr.op[2] = Source(operands[2], 'w');
  if (base == "vote") {
    static constexpr std::array<std::string_view, 4> kModes = {
        "vote.sync.all.pred", "vote.sync.any.pred", "vote.sync.uni.pred", "vote.sync.ballot.b32"};
    for (size_t mode = 0; mode < kModes.size(); ++mode) {
      if (opcode != kModes[mode]) continue;
      instr.run = families_.vote[mode];
      instr.op[0] = Destination(operands[0], mode == 3 ? 'w' : 'p');
      instr.op[1] = Source(operands[1], 'p');
      instr.extra = operands[1].negated ? 1 : 0;
      if (instr.op[0] == kNoOperand) Bad("no destination");
      Push(instr);
      return true;
    }
    return false;
  }
  if (base == "match") {
    bool all = opcode.rfind("match.all.sync.", 0) == 0,
         any = opcode.rfind("match.any.sync.", 0) == 0;
    bool wide = opcode.size() == 18 && opcode.substr(15) == "b64";
    if ((!all && !any) || (!wide && opcode.substr(15) != "b32")) return false;
    instr.run = families_.match[all ? 1 : 0][wide ? 1 : 0];
    instr.op[0] = Destination(operands[0], 'w');
    if (!operands[0].items.empty()) instr.op[5] = Destination(operands[0].items[0], 'p');
    instr.op[1] = Source(operands[1], wide ? 'l' : 'w');
    if (instr.op[0] == kNoOperand) Bad("no destination");
    Push(instr);
    return true;
  }
  static constexpr std::array<std::pair<std::string_view, ReduxOp>, 10> kRedux = {
      {{"redux.sync.add.u32", ReduxOp::kAdd},
       {"redux.sync.add.s32", ReduxOp::kAdd},
       {"redux.sync.min.s32", ReduxOp::kMinS},
       {"redux.sync.max.s32", ReduxOp::kMaxS},
       {"redux.sync.min.u32", ReduxOp::kMinU},
       {"redux.sync.max.u32", ReduxOp::kMaxU},
       {"redux.sync.and.b32", ReduxOp::kAnd},
       {"redux.sync.or.b32", ReduxOp::kOr},
       {"redux.sync.xor.b32", ReduxOp::kXor},
       {"", ReduxOp::kAdd}}};
  for (const auto& [name, op] : kRedux) {
    if (opcode != name) continue;
    instr.run = families_.redux;
    instr.aux = static_cast<uint8_t>(op);
    instr.op[0] = Destination(operands[0], 'w');
    instr.op[1] = Source(operands[1], 'w');
    if (instr.op[0] == kNoOperand) Bad("no destination");
    Push(instr);
    return true;
  }
  return false;
}

bool Lowering::Barriers(std::string_view) {
  Words words = Split();
  const std::vector<Operand>& operands = statement_->operands;
  Instr instr = Start();
  instr.cls = Cls::kControl;
  if (words.Accept("warp")) {
    if (!words.Accept("sync") || !words.done()) return false;
    ExpectOperands(1, 1);
    instr.run = families_.bar_warp;
    instr.op[0] = Source(operands[0], 'w');
    Push(instr);
    return true;
  }
  words.Accept("cta");
  if (words.Accept("sync") || words.Accept("arrive")) {
    instr.run = words.items[words.at - 1] == "sync" ? families_.bar_sync : families_.bar_arrive;
    words.Accept("aligned");
    if (!words.done()) return false;
    ExpectOperands(1, 2);
    instr.op[2] = Source(operands[0], 'w');
    if (operands.size() == 2) instr.op[3] = Source(operands[1], 'w');
    Push(instr);
    return true;
  }
  if (!words.Accept("red")) return false;
  instr.run = families_.bar_red;
  bool popc = words.Accept("popc");
  if (!popc) {
    instr.aux = words.Accept("and") ? 1 : words.Accept("or") ? 2 : 0;
    if (instr.aux == 0) return false;
  }
  words.Accept("aligned");
  if (!words.Accept(popc ? "u32" : "pred") || !words.done()) return false;
  ExpectOperands(3, 4);
  instr.op[0] = Destination(operands[0], popc ? 'w' : 'p');
  if (instr.op[0] == kNoOperand) Bad("no destination");
  instr.op[2] = Source(operands[1], 'w');
  if (operands.size() == 4) instr.op[3] = Source(operands[2], 'w');
  instr.op[4] = Source(operands.back(), 'p');
  instr.extra = operands.back().negated ? 1 : 0;
  Push(instr);
  return true;
}

bool Lowering::Control(std::string_view base) {
  std::string_view opcode = statement_->opcode;
  Placed& placed = placed_[current_];
  Instr instr = Start();
  instr.cls = Cls::kControl;
  uint32_t at = static_cast<uint32_t>(kernel_.code.size());
  if (opcode == "bra" || opcode == "bra.uni") {
    instr.run = families_.bra;
    fixes_.push_back({at, current_, statement_->target});
  } else if (opcode == "brx.idx" || opcode == "brx.idx.uni") {
    ExpectOperands(2, 2);
    if (statement_->targets.empty()) Bad("an empty table");
    instr.run = families_.brx;
    instr.op[0] = Source(statement_->operands[0], 'w');
    instr.extra = static_cast<uint32_t>(kernel_.extras.size());
    instr.imm = static_cast<int64_t>(statement_->targets.size());
    kernel_.extras.push_back({statement_->targets, ""});
    table_fixes_.push_back({instr.extra, current_, 0});
  } else if (opcode == "exit" ||
             ((opcode == "ret" || opcode == "ret.uni") && placed.function->entry)) {
    instr.run = families_.exit;
  } else if (opcode == "ret" || opcode == "ret.uni") {
    instr.run = families_.ret;
    instr.op[0] = placed.link;
  } else if (opcode == "trap") {
    instr.run = families_.trap;
  } else if (opcode == "brkpt") {
    instr.run = families_.nop;
  } else if (base == "call") {
    Call();
    return true;
  } else {
    return false;
  }
  Push(instr);
  return true;
}

// call (results), function, (arguments). Arguments are copied to the callee's own variables.
void Lowering::Call() {
  if (statement_->opcode != "call" && statement_->opcode != "call.uni") Unknown();
  const std::vector<Operand>& operands = statement_->operands;
  const Operand* results = nullptr;
  const Operand* arguments = nullptr;
  const Operand* target = nullptr;
  for (const Operand& operand : operands) {
    if (operand.kind == Operand::Kind::kList) {
      (target == nullptr ? results : arguments) = &operand;
    } else if (target == nullptr) {
      target = &operand;
    }
  }
  if (target == nullptr || target->kind != Operand::Kind::kSymbol) {
    Bad("indirect calls are not supported by the CPU device");
  }
  static const std::vector<Operand> kNone;
  const std::vector<Operand>& given = arguments != nullptr ? arguments->items : kNone;
  const std::vector<Operand>& taken = results != nullptr ? results->items : kNone;
  auto local = [&](const Operand& operand) -> std::pair<uint64_t, uint64_t> {
    if (operand.kind != Operand::Kind::kVariable) Bad("an argument that is no .param variable");
    const Variable& variable = placed_[current_].function->variables[operand.index];
    if (variable.space != Space::kParam ||
        PlaceOf(Operand{Operand::Kind::kAddress, false, -1, 0, 0, "", {operand}}) ==
            Place::kParam) {
      Bad("an argument that is no .param variable");
    }
    return {placed_[current_].variables[operand.index], variable.bytes};
  };
  Instr instr = Start();
  instr.cls = Cls::kControl;
  if (target->name == "vprintf") {
    if (given.size() != 2) Bad("vprintf takes two arguments");
    instr.run = families_.printf;
    instr.imm = static_cast<int64_t>(local(given[0]).first);
    instr.extra = static_cast<uint32_t>(local(given[1]).first);
    if (!taken.empty()) instr.op[2] = static_cast<uint32_t>(local(taken[0]).first);
    Push(instr);
    return;
  }
  if (target->name == "__assertfail") {
    if (given.size() != 5) Bad("__assertfail takes five arguments");
    instr.run = families_.assertfail;
    instr.imm = static_cast<int64_t>(local(given[0]).first);
    instr.op[2] = static_cast<uint32_t>(local(given[2]).first);
    Push(instr);
    return;
  }
  auto found = placed_of_.find(target->name);
  if (found == placed_of_.end()) {
    throw PtxError("the kernel " + kernel_.name + " calls " + target->name.substr(0, 80) +
                   ", which the module does not define and the CPU device does not offer");
  }
  const Placed& callee = placed_[found->second];
  if (given.size() != callee.function->params.size() ||
      taken.size() > callee.function->results.size()) {
    Bad("another number of arguments than " + target->name.substr(0, 80) + " takes");
  }
  auto copy = [&](uint64_t from, uint64_t to, uint64_t bytes) {
    Instr move = Start();
    move.run = families_.copy_local;
    move.imm = static_cast<int64_t>(from << 32 | to);
    move.extra = static_cast<uint32_t>(bytes);
    Push(move);
  };
  for (size_t i = 0; i < given.size(); ++i) {
    auto [at, bytes] = local(given[i]);
    int formal = callee.function->params[i];
    copy(at, callee.variables[formal], std::min(bytes, callee.function->variables[formal].bytes));
  }
  instr.run = families_.call;
  instr.op[0] = callee.link;
  call_fixes_.push_back({static_cast<uint32_t>(kernel_.code.size()), target->name});
  Push(instr);
  for (size_t i = 0; i < taken.size(); ++i) {
    auto [at, bytes] = local(taken[i]);
    int formal = callee.function->results[i];
    copy(callee.variables[formal], at, std::min(bytes, callee.function->variables[formal].bytes));
  }
}

}  // namespace cudaagent::device::ptx
