// Instructions on memory: ld, st, atom, red, cvta, and hints without effect here.
#include <array>

#include "device/ptx/lower.h"

namespace cudaagent::device::ptx {
namespace {

int Log2(uint32_t n) { return __builtin_ctz(n); }

bool In(std::string_view word, std::initializer_list<std::string_view> list) {
  for (std::string_view item : list) {
    if (word == item) return true;
  }
  return false;
}

bool IsScope(std::string_view w) { return In(w, {"cta", "cluster", "gpu", "gl", "sys"}); }
bool IsOrder(std::string_view w) {
  return In(w, {"weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile", "mmio"});
}
bool IsCacheHint(std::string_view w) {
  return In(
      w, {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged",
          "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::evict_normal",
          "L2::evict_first", "L2::evict_last", "L2::64B", "L2::128B", "L2::256B"});
}
bool SpaceWord(std::string_view w, Place* place) {
  if (w == "global")
    *place = Place::kGlobal;
  else if (w == "shared" || w == "shared::cta" || w == "shared::cluster")
    *place = Place::kShared;
  else if (w == "local")
    *place = Place::kLocal;
  else if (w == "const")
    *place = Place::kConst;
  else if (w == "param" || w == "param::entry" || w == "param::func")
    *place = Place::kParam;
  else
    return false;
  return true;
}

}  // namespace

bool Lowering::LoadStore(std::string_view base) {
  Words words = Split();
  Place place = Place::kGeneric;
  uint32_t vector = 1;
  bool hot = false, policy = false, param = false;
  while (words.at + 1 < words.items.size()) {
    std::string_view word = words.items[words.at++];
    if (SpaceWord(word, &place)) {
      param = place == Place::kParam;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      vector = static_cast<uint32_t>(word[1] - '0');
    } else if (word == "L2::cache_hint") {
      policy = true;
    } else if (IsOrder(word)) {
      hot |= word != "weak";
    } else if (!IsScope(word) && !IsCacheHint(word)) {
      return false;
    }
  }
  std::string_view type = words.Peek();
  int bytes = TypeBytes(type);
  if (bytes <= 0 || bytes > 8 || bytes * vector > 32) return false;
  bool load = base != "st";
  ExpectOperands(2 + (policy ? 1 : 0), 2 + (policy ? 1 : 0));
  const Operand& value = statement_->operands[load ? 0 : 1];
  const Operand& address = statement_->operands[load ? 1 : 0];
  if (address.kind != Operand::Kind::kAddress) Bad("an address was expected");
  Instr instr = Start();
  instr.cls = Cls::kMemory;
  instr.hot = hot;
  instr.sign = type[0] == 's';
  if (param) place = PlaceOf(address);
  Address(address, place, instr);
  std::vector<Operand> single{value};
  const std::vector<Operand>& values = value.kind == Operand::Kind::kVector ? value.items : single;
  if (values.size() != vector) Bad("a vector of another length");
  std::vector<uint32_t> ops;
  for (size_t i = 0; i < values.size(); ++i) {
    uint8_t width = 0;
    if (load && values[i].kind == Operand::Kind::kSink) {
      ops.push_back(kNoOperand);
      continue;
    }
    if (load && values[i].kind != Operand::Kind::kRegister)
      Bad("a destination that is no register");
    ops.push_back(SourceAny(values[i], static_cast<uint32_t>(bytes), &width));
    if (instr.width[0] != 0 && width != instr.width[0]) {
      // Registers and literals of different sizes: literals are made of the registers' size.
      Bad("elements of different sizes");
    }
    instr.width[0] = width;
  }
  if (instr.width[0] == 0) instr.width[0] = static_cast<uint8_t>(bytes);
  if (vector <= 4) {
    for (size_t i = 0; i < ops.size(); ++i) instr.op[i] = ops[i];
  } else {
    instr.extra = static_cast<uint32_t>(kernel_.extras.size());
    kernel_.extras.push_back({ops, ""});
  }
  instr.run =
      (load ? families_.load : families_.store)[Log2(static_cast<uint32_t>(bytes))][Log2(vector)];
  Push(instr);
  return true;
}

bool Lowering::Atom(std::string_view base) {
  static constexpr std::array<std::pair<std::string_view, AtomOp>, 10> kOps = {
      {{"add", AtomOp::kAdd},
       {"min", AtomOp::kMin},
       {"max", AtomOp::kMax},
       {"inc", AtomOp::kInc},
       {"dec", AtomOp::kDec},
       {"and", AtomOp::kAnd},
       {"or", AtomOp::kOr},
       {"xor", AtomOp::kXor},
       {"exch", AtomOp::kExch},
       {"cas", AtomOp::kCas}}};
  static constexpr std::array<std::pair<std::string_view, AtomType>, 13> kTypes = {
      {{"u32", AtomType::kU32},
       {"b32", AtomType::kU32},
       {"s32", AtomType::kS32},
       {"u64", AtomType::kU64},
       {"b64", AtomType::kU64},
       {"s64", AtomType::kS64},
       {"f32", AtomType::kF32},
       {"f64", AtomType::kF64},
       {"f16x2", AtomType::kF16x2},
       {"bf16x2", AtomType::kBf16x2},
       {"f16", AtomType::kF16},
       {"bf16", AtomType::kBf16},
       {"b16", AtomType::kB16}}};
  Words words = Split();
  Place place = Place::kGeneric;
  AtomOp op = AtomOp::kCount;
  bool policy = false, releases = false;
  while (words.at + 1 < words.items.size()) {
    std::string_view word = words.items[words.at++];
    bool known = SpaceWord(word, &place) || IsOrder(word) || IsScope(word) || word == "noftz";
    if (word == "L2::cache_hint") known = policy = true;
    releases |= word == "release" || word == "acq_rel";
    for (const auto& [name, value] : kOps) {
      if (word == name) {
        op = value;
        known = true;
      }
    }
    if (!known) return false;
  }
  AtomType type = AtomType::kCount;
  for (const auto& [name, value] : kTypes) {
    if (words.Peek() == name) type = value;
  }
  if (op == AtomOp::kCount || type == AtomType::kCount) return false;
  Handler run = families_.atom[static_cast<int>(op)][static_cast<int>(type)];
  if (run == nullptr || place == Place::kLocal || place == Place::kConst || place == Place::kParam)
    return false;
  bool cas = op == AtomOp::kCas, atom = base == "atom";
  size_t n = (atom ? 1 : 0) + 2 + (cas ? 1 : 0);
  ExpectOperands(n, n + (policy ? 1 : 0));
  size_t at = 0;
  Instr instr = Start();
  instr.run = run;
  instr.cls = Cls::kMemory;
  instr.hot = atom;
  instr.aux = releases ? 1 : 0;
  uint32_t bytes = static_cast<uint32_t>(TypeBytes(words.Peek()));
  char letter = bytes == 2 ? 'h' : bytes == 4 ? 'w' : 'l';
  if (atom) instr.op[0] = Destination(statement_->operands[at++], letter);
  Address(statement_->operands[at++], place, instr);
  uint8_t width;
  instr.op[1] = SourceAny(statement_->operands[at++], bytes, &width);
  if (width != bytes) Bad("an operand's register has another size");
  if (cas) instr.op[2] = Source(statement_->operands[at++], letter);
  Push(instr);
  return true;
}

bool Lowering::Cvta() {
  Words words = Split();
  Instr instr = Start();
  bool to = words.Accept("to");
  Place place = Place::kGlobal;
  if (!SpaceWord(words.Peek(), &place)) return false;
  ++words.at;
  ExpectOperands(2, 2);
  if (words.items[0] == "isspacep") {
    if (!words.done() || to) return false;
    instr.run = families_.isspacep;
    instr.aux = static_cast<uint8_t>(place);
    instr.op[0] = Destination(statement_->operands[0], 'p');
    instr.op[1] = Source(statement_->operands[1], 'l');
    Push(instr);
    return true;
  }
  if (!words.Accept("u64") || !words.done()) return false;
  uint64_t window = place == Place::kShared  ? kSharedWindow
                    : place == Place::kLocal ? kLocalWindow
                    : place == Place::kParam ? kParamWindow
                                             : 0;
  instr.run = families_.cvta;
  instr.imm = static_cast<int64_t>(to ? 0 - window : window);
  instr.op[0] = Destination(statement_->operands[0], 'l');
  instr.op[1] = Source(statement_->operands[1], 'l');
  Push(instr);
  return true;
}

// Fences and hints: one host order, no cache to steer.
bool Lowering::NoEffect(std::string_view base) {
  Words words = Split();
  bool fence = base == "membar" || base == "fence";
  bool hint =
      base == "prefetch" || base == "prefetchu" || base == "discard" || base == "applypriority";
  bool dependency = base == "griddepcontrol" || base == "nanosleep" || base == "pmevent";
  if (!fence && !hint && !dependency) return false;
  for (; !words.done(); ++words.at) {
    std::string_view word = words.Peek();
    Place place;
    bool known =
        fence  ? IsScope(word) || IsOrder(word)
        : hint ? SpaceWord(word, &place) || IsCacheHint(word) || In(word, {"L1", "L2", "tensormap"})
               : In(word, {"wait", "launch_dependents", "u32"});
    if (!known) return false;
  }
  Instr instr = Start();
  instr.cls = Cls::kMemory;
  instr.run = base == "nanosleep" ? families_.nanosleep : fence ? families_.fence : families_.nop;
  Push(instr);
  return true;
}

}  // namespace cudaagent::device::ptx
