// Matrix instructions of a warp and asynchronous copies.
#include <array>
#include <bit>
#include <optional>

#include "device/ptx/lower.h"

namespace cudaagent::device::ptx {
namespace {

constexpr std::array<std::pair<std::string_view, Element>, 10> kElements = {
    {{"f16", Element::kF16},
     {"bf16", Element::kBf16},
     {"tf32", Element::kTf32},
     {"s8", Element::kS8},
     {"u8", Element::kU8},
     {"f64", Element::kF64},
     {"e4m3", Element::kE4m3},
     {"e5m2", Element::kE5m2},
     {"f32", Element::kF32},
     {"s32", Element::kS32}}};
std::optional<Element> ElementOf(std::string_view word) {
  for (const auto& [name, value] : kElements) {
    if (word == name) return value;
  }
  return std::nullopt;
}

bool IsFp8(Element e) { return e == Element::kE4m3 || e == Element::kE5m2; }
bool IsByte(Element e) { return e == Element::kS8 || e == Element::kU8; }
int PackOf(Element e) {
  return e == Element::kF16 || e == Element::kBf16 ? 2 : IsByte(e) || IsFp8(e) ? 4 : 1;
}

// "m16n8k32" -> 16, 8, 32.
bool ShapeOf(std::string_view word, uint8_t* m, uint8_t* n, uint8_t* k) {
  size_t at = 0;
  auto number = [&](char letter, uint8_t* to) {
    if (at >= word.size() || word[at] != letter) return false;
    int value = 0;
    for (++at; at < word.size() && word[at] >= '0' && word[at] <= '9' && value < 100; ++at)
      value = 10 * value + (word[at] - '0');
    *to = static_cast<uint8_t>(value);
    return value > 0 && value <= 32;
  };
  return number('m', m) && number('n', n) && number('k', k) && at == word.size();
}

// The shapes mma has for these elements, as n = 8 and m k.
bool MmaShape(const MatrixShape& s) {
  auto is = [&](int m, int k) { return s.m == m && s.n == 8 && s.k == k; };
  switch (s.a) {
    case Element::kF16:
    case Element::kBf16:
      return is(16, 8) || is(16, 16);
    case Element::kTf32:
      return is(16, 4) || is(16, 8);
    case Element::kS8:
    case Element::kU8:
      return is(8, 16) || is(16, 16) || is(16, 32);
    case Element::kE4m3:
    case Element::kE5m2:
      return is(16, 16) || is(16, 32);
    case Element::kF64:
      return is(8, 4) || is(16, 4) || is(16, 8) || is(16, 16);
    default:
      return false;
  }
}
bool WmmaShape(const MatrixShape& s) {
  bool wide = (s.m == 16 && s.n == 16) || (s.m == 32 && s.n == 8) || (s.m == 8 && s.n == 32);
  switch (s.a) {
    case Element::kTf32:
      return s.m == 16 && s.n == 16 && s.k == 8;
    case Element::kF64:
      return s.m == 8 && s.n == 8 && s.k == 4;
    default:
      return wide && s.k == 16 && !IsFp8(s.a);
  }
}

// Whether the accumulators go with the factors.
bool Accumulates(const MatrixShape& s) {
  auto both = [&](Element e) { return s.c == e && s.d == e; };
  auto of = [](Element e) { return e == Element::kF16 || e == Element::kF32; };
  bool alike = s.a == s.b || (IsByte(s.a) && IsByte(s.b)) || (IsFp8(s.a) && IsFp8(s.b));
  if (!alike) return false;
  if (IsByte(s.a)) return both(Element::kS32);
  if (s.a == Element::kF64) return both(Element::kF64);
  if (s.a == Element::kF16) return of(s.c) && of(s.d);
  if (IsFp8(s.a)) return both(Element::kF16) || both(Element::kF32);
  return both(Element::kF32);
}

size_t RegistersOf(int rows, int columns, Element e) {
  return static_cast<size_t>(rows * columns / (kLanes * PackOf(e)));
}
char LetterOf(Element e) { return e == Element::kF64 ? 'd' : 'w'; }

}  // namespace

// A vector of `count` registers, of which the first `kept` go to `ops`.
void Lowering::Registers(const Operand& operand, size_t count, size_t kept, char type,
                         std::vector<uint32_t>& ops) {
  const std::vector<Operand> single{operand};
  const std::vector<Operand>& items =
      operand.kind == Operand::Kind::kVector ? operand.items : single;
  if (items.size() != count) Bad("a fragment of another size");
  for (size_t i = 0; i < kept; ++i) ops.push_back(Source(items[i], type));
}

bool Lowering::Matrix(std::string_view base) {
  if (base == "mma") return Mma();
  if (base == "wmma") return Wmma();
  Words words = Split();
  if (!words.Accept("sync") || !words.Accept("aligned")) return false;
  // Count and .trans may stand before the shape: "ldmatrix.sync.aligned.x4.trans.m8n8".
  auto count = [&] {
    return words.Accept("x1") ? 1 : words.Accept("x2") ? 2 : words.Accept("x4") ? 4 : 0;
  };
  int matrices = base == "movmatrix" ? 0 : count();
  bool transposed = matrices != 0 && words.Accept("trans");
  if (!words.Accept("m8n8")) return false;
  Instr instr = Start();
  if (base == "movmatrix") {
    if (!words.Accept("trans") || !words.Accept("b16") || !words.done()) return false;
    ExpectOperands(2, 2);
    instr.run = families_.movmatrix;
    instr.op[0] = Destination(statement_->operands[0], 'w');
    instr.op[1] = Source(statement_->operands[1], 'w');
    if (instr.op[0] == kNoOperand) Bad("no destination");
    Push(instr);
    return true;
  }
  bool load = base == "ldmatrix";
  instr.aux = static_cast<uint8_t>(matrices != 0 ? matrices : count());
  transposed = words.Accept("trans") || transposed;
  Place place =
      words.Accept("shared") || words.Accept("shared::cta") ? Place::kShared : Place::kGeneric;
  if (instr.aux == 0 || !words.Accept("b16") || !words.done()) return false;
  ExpectOperands(2, 2);
  instr.cls = Cls::kMemory;
  std::vector<uint32_t> ops;
  Registers(statement_->operands[load ? 0 : 1], instr.aux, instr.aux, 'w', ops);
  Address(statement_->operands[load ? 1 : 0], place, instr);
  uint32_t address = instr.op[4];
  for (size_t i = 0; i < ops.size(); ++i) {
    if (load && (ops[i] & kLiteral) != 0) Bad("a destination that is no register");
    instr.op[i] = ops[i];
  }
  instr.op[4] = address;
  instr.run = (load ? families_.ldmatrix : families_.stmatrix)[transposed ? 1 : 0];
  Push(instr);
  return true;
}

bool Lowering::Mma() {
  Words words = Split();
  MatrixShape shape;
  if (!words.Accept("sync") || !words.Accept("aligned") ||
      !ShapeOf(words.Peek(), &shape.m, &shape.n, &shape.k)) {
    return false;
  }
  ++words.at;
  if (!words.Accept("row") || !words.Accept("col")) return false;
  shape.saturate = words.Accept("satfinite");
  std::array<Element, 4> types;
  for (Element& type : types) {
    std::optional<Element> element = ElementOf(words.Peek());
    if (!element) return false;
    type = *element;
    ++words.at;
  }
  if (!words.done()) return false;
  shape.d = types[0];
  shape.a = types[1];
  shape.b = types[2];
  shape.c = types[3];
  if (!MmaShape(shape) || !Accumulates(shape) || (shape.saturate && !IsByte(shape.a))) return false;
  ExpectOperands(4, 4);
  std::vector<uint32_t> ops;
  const std::vector<Operand>& operands = statement_->operands;
  char type = LetterOf(shape.a);
  size_t d = RegistersOf(shape.m, 8, shape.d), a = RegistersOf(shape.m, shape.k, shape.a);
  size_t b = RegistersOf(8, shape.k, shape.b), c = RegistersOf(shape.m, 8, shape.c);
  Registers(operands[0], d, d, type, ops);
  for (uint32_t op : ops) {
    if ((op & kLiteral) != 0) Bad("a destination that is no register");
  }
  Registers(operands[1], a, a, type, ops);
  Registers(operands[2], b, b, type, ops);
  Registers(operands[3], c, c, type, ops);
  Instr instr = Start();
  instr.cls = shape.a == Element::kF64 ? Cls::kFp64 : Cls::kMatrix;
  instr.run = families_.mma;
  instr.imm = std::bit_cast<int64_t>(shape);
  instr.extra = static_cast<uint32_t>(kernel_.extras.size());
  kernel_.extras.push_back({ops, ""});
  Push(instr);
  return true;
}

bool Lowering::Wmma() {
  Words words = Split();
  const std::vector<Operand>& operands = statement_->operands;
  Instr instr = Start();
  MatrixShape shape;
  std::vector<uint32_t> ops;
  // Registers PTX gives to A and B: eight for halves, whatever the shape.
  auto given = [](size_t distinct, Element e) { return e == Element::kF16 ? 8 : distinct; };
  if (words.Accept("mma")) {
    if (!words.Accept("sync") || !words.Accept("aligned")) return false;
    if (!words.Accept("row") && !words.Accept("col")) return false;
    if (!words.Accept("row") && !words.Accept("col")) return false;
    if (!ShapeOf(words.Peek(), &shape.m, &shape.n, &shape.k)) return false;
    ++words.at;
    std::vector<Element> types;
    while (std::optional<Element> element = ElementOf(words.Peek())) {
      types.push_back(*element);
      ++words.at;
    }
    words.Accept("rn");
    shape.saturate = words.Accept("satfinite");
    if (!words.done()) return false;
    if (types.size() == 2) types = {types[0], Element::kF16, Element::kF16, types[1]};
    if (types.size() != 4) return false;
    shape.d = types[0];
    shape.a = types[1];
    shape.b = types[2];
    shape.c = types[3];
    if (!WmmaShape(shape) || !Accumulates(shape) || (shape.saturate && !IsByte(shape.a)))
      return false;
    ExpectOperands(4, 4);
    char type = LetterOf(shape.a);
    size_t d = RegistersOf(shape.m, shape.n, shape.d), a = RegistersOf(shape.m, shape.k, shape.a);
    size_t b = RegistersOf(shape.k, shape.n, shape.b), c = RegistersOf(shape.m, shape.n, shape.c);
    Registers(operands[0], d, d, type, ops);
    for (uint32_t op : ops) {
      if ((op & kLiteral) != 0) Bad("a destination that is no register");
    }
    Registers(operands[1], given(a, shape.a), a, type, ops);
    Registers(operands[2], given(b, shape.b), b, type, ops);
    Registers(operands[3], c, c, type, ops);
    instr.cls = shape.a == Element::kF64 ? Cls::kFp64 : Cls::kMatrix;
    instr.run = families_.mma;
    instr.imm = std::bit_cast<int64_t>(shape);
    instr.extra = static_cast<uint32_t>(kernel_.extras.size());
    kernel_.extras.push_back({ops, ""});
    Push(instr);
    return true;
  }
  bool load = words.Accept("load");
  if (!load && !words.Accept("store")) return false;
  FragmentShape fragment;
  fragment.role = words.Accept("a") && load ? 'a' : words.Accept("b") && load ? 'b' : 'c';
  if (fragment.role == 'c' && !words.Accept(load ? "c" : "d")) return false;
  if (!words.Accept("sync") || !words.Accept("aligned")) return false;
  fragment.column_major = words.Accept("col");
  if (!fragment.column_major && !words.Accept("row")) return false;
  if (!ShapeOf(words.Peek(), &shape.m, &shape.n, &shape.k)) return false;
  ++words.at;
  Place place = Place::kGeneric;
  if (words.Accept("shared") || words.Accept("shared::cta"))
    place = Place::kShared;
  else if (words.Accept("global"))
    place = Place::kGlobal;
  std::optional<Element> element = ElementOf(words.Peek());
  ++words.at;
  if (!element || !words.done()) return false;
  fragment.element = *element;
  bool factor = fragment.role != 'c';
  shape.a = factor                      ? *element
            : *element == Element::kS32 ? Element::kS8
            : *element == Element::kF64 ? Element::kF64
            : shape.k == 8              ? Element::kTf32
                                        : Element::kF16;
  if (!WmmaShape(shape) || (factor && (*element == Element::kF32 || *element == Element::kS32)))
    return false;
  fragment.rows = fragment.role == 'b' ? shape.k : shape.m;
  fragment.columns = fragment.role == 'a' ? shape.k : shape.n;
  size_t distinct = RegistersOf(fragment.rows, fragment.columns, *element);
  size_t count = factor ? given(distinct, *element) : distinct;
  ExpectOperands(2, 3);
  Registers(operands[load ? 0 : 1], count, count, LetterOf(*element), ops);
  if (load) {
    for (uint32_t op : ops) {
      if ((op & kLiteral) != 0) Bad("a destination that is no register");
    }
  }
  Address(operands[load ? 1 : 0], place, instr);
  ops.push_back(static_cast<uint32_t>(static_cast<int32_t>(instr.imm)));
  instr.cls = Cls::kMemory;
  instr.run = load ? families_.wmma_load : families_.wmma_store;
  instr.aux = static_cast<uint8_t>(count);
  instr.imm = std::bit_cast<int64_t>(fragment);
  if (operands.size() == 3) instr.op[1] = Source(operands[2], 'w');
  instr.extra = static_cast<uint32_t>(kernel_.extras.size());
  kernel_.extras.push_back({ops, ""});
  Push(instr);
  return true;
}

bool Lowering::AsyncCopies() {
  Words words = Split();
  const std::vector<Operand>& operands = statement_->operands;
  Instr instr = Start();
  instr.cls = Cls::kMemory;
  if (!words.Accept("async")) return false;
  if (words.Accept("commit_group")) {
    if (!words.done()) return false;
    instr.run = families_.cp_async_commit;
    Push(instr);
    return true;
  }
  if (words.Accept("wait_all") || words.Accept("wait_group")) {
    bool all = words.items[words.at - 1] == "wait_all";
    if (!words.done()) return false;
    instr.run = families_.cp_async_wait;
    instr.aux = all ? 1 : 0;
    if (!all) {
      ExpectOperands(1, 1);
      if (operands[0].kind != Operand::Kind::kInteger) Bad("a count that is no number");
      instr.imm = static_cast<int64_t>(operands[0].bits);
    }
    Push(instr);
    return true;
  }
  bool whole_line = words.Accept("cg");
  if (!whole_line && !words.Accept("ca")) return false;
  if (!words.Accept("shared") && !words.Accept("shared::cta")) return false;
  if (!words.Accept("global")) return false;
  bool policy = words.Accept("L2::cache_hint");
  words.Accept("L2::64B") || words.Accept("L2::128B") || words.Accept("L2::256B");
  if (!words.done()) return false;
  ExpectOperands(3 + (policy ? 1 : 0), 4 + (policy ? 1 : 0));
  if (operands[2].kind != Operand::Kind::kInteger) Bad("a size that is no number");
  uint64_t bytes = operands[2].bits;
  if (bytes != 16 && (whole_line || (bytes != 4 && bytes != 8))) Bad("a size PTX does not have");
  instr.aux = static_cast<uint8_t>(bytes);
  Instr source;
  Address(operands[1], Place::kGlobal, source);
  if (source.imm != static_cast<int32_t>(source.imm)) Bad("an offset of more than 32 bits");
  Address(operands[0], Place::kShared, instr);
  instr.op[1] = source.op[4];
  instr.extra = static_cast<uint32_t>(static_cast<int32_t>(source.imm));
  if (operands.size() == (policy ? 5u : 4u)) {
    const Operand& last = operands[3];
    bool predicate = last.kind == Operand::Kind::kRegister && RegisterBytes(last) == 0;
    if (predicate && last.negated) Bad("a negated predicate");
    instr.op[predicate ? 3 : 2] = Source(last, predicate ? 'p' : 'w');
  }
  instr.run = families_.cp_async;
  Push(instr);
  return true;
}

}  // namespace cudaagent::device::ptx
