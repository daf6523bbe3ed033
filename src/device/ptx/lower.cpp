#include "device/ptx/lower.h"

#include <algorithm>
#include <cstring>

namespace cudaagent::device::ptx {
namespace {

constexpr uint64_t kMaxLocalBytes = 512 * 1024;
constexpr uint64_t kMaxSharedBytes = 1u << 24;

uint64_t AlignUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

std::string_view BaseOf(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

}  // namespace

Kernel Lowering::Lower(const Function& entry) {
  kernel_ = Kernel{};
  kernel_.name = entry.name;
  kernel_.max_threads = entry.max_threads == 0 ? 1024 : static_cast<uint32_t>(entry.max_threads);
  std::vector<std::string> path;
  Reach(entry, path);
  for (Placed& placed : placed_) PlaceFunction(placed);
  PlaceShared();
  for (int i = 0; i < static_cast<int>(placed_.size()); ++i) Emit(i);
  FinishOffsets();
  return std::move(kernel_);
}

// Depth first; callees come after their callers.
void Lowering::Reach(const Function& function, std::vector<std::string>& path) {
  if (std::find(path.begin(), path.end(), function.name) != path.end()) {
    throw PtxError("the device function " + function.name +
                   " calls itself: recursion is not supported by the CPU device");
  }
  if (placed_of_.count(function.name) == 0) {
    placed_of_[function.name] = static_cast<int>(placed_.size());
    placed_.push_back({});
    placed_.back().function = &function;
  }
  if (path.size() > 200) throw PtxError("device functions call each other more than 200 deep");
  path.push_back(function.name);
  std::vector<std::string> callees;
  for (const Statement& statement : function.body) {
    if (BaseOf(statement.opcode) != "call") continue;
    for (const Operand& operand : statement.operands) {
      if (operand.kind == Operand::Kind::kSymbol) callees.push_back(operand.name);
    }
  }
  std::sort(callees.begin(), callees.end());
  callees.erase(std::unique(callees.begin(), callees.end()), callees.end());
  for (const std::string& callee : callees) {
    auto found = text_.function_of.find(callee);
    if (found == text_.function_of.end()) continue;
    const Function& target = text_.functions[found->second];
    bool again = std::find(path.begin(), path.end(), callee) != path.end();
    if (target.defined && (again || placed_of_.count(callee) == 0)) Reach(target, path);
  }
  path.pop_back();
}

void Lowering::PlaceFunction(Placed& placed) {
  const Function& function = *placed.function;
  for (const Register& reg : function.registers) {
    placed.registers.push_back(Allocate(reg.bytes));
    if (reg.bytes != 0) kernel_.register_count += std::max(1, reg.bytes / 4);
  }
  if (!function.entry) placed.link = Allocate(4);
  placed.variables.resize(function.variables.size());
  for (size_t i = 0; i < function.variables.size(); ++i) {
    const Variable& variable = function.variables[i];
    bool formal = std::find(function.params.begin(), function.params.end(), static_cast<int>(i)) !=
                  function.params.end();
    if (variable.space == Space::kShared) {
      uint64_t at = AlignUp(kernel_.static_shared, variable.align);
      if (at + variable.bytes > kMaxSharedBytes)
        throw PtxError("shared variables larger than 16 MiB");
      placed.variables[i] = at;
      kernel_.shared.push_back(
          {variable.name, static_cast<uint32_t>(at), static_cast<uint32_t>(at + variable.bytes)});
      kernel_.static_shared = static_cast<uint32_t>(at + variable.bytes);
    } else if (variable.space == Space::kParam && formal && function.entry) {
      uint64_t at = AlignUp(kernel_.param_bytes, variable.align);
      if (at + variable.bytes > 65536) throw PtxError("kernel parameters larger than 64 KiB");
      placed.variables[i] = at;
      kernel_.params.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(variable.bytes)});
      kernel_.param_bytes = static_cast<uint32_t>(at + variable.bytes);
    } else if (variable.space == Space::kLocal || variable.space == Space::kParam) {
      uint64_t at = AlignUp(local_end_, std::max<uint64_t>(variable.align, 8));
      placed.variables[i] = at;
      local_end_ = at + variable.bytes;
      if (local_end_ > kMaxLocalBytes) {
        throw PtxError("the kernel " + kernel_.name +
                       " needs more than 512 KiB of local memory per thread");
      }
      if (variable.space == Space::kLocal)
        kernel_.local_bytes += static_cast<uint32_t>(variable.bytes);
    } else {
      throw PtxError("the variable " + variable.name +
                     " lies in a space that functions cannot declare");
    }
  }
}

// Shared variables of the module: those with a size behind the functions' own; the unsized ones,
// all at one address, last.
void Lowering::PlaceShared() {
  uint64_t dynamic_align = 16;
  for (const Variable& variable : text_.variables) {
    if (variable.space != Space::kShared) continue;
    if (variable.unsized) {
      dynamic_align = std::max(dynamic_align, variable.align);
      continue;
    }
    // Only what this kernel's functions name counts against its shared memory.
    bool used = false;
    for (const Placed& placed : placed_) {
      for (const Statement& statement : placed.function->body) {
        for (const Operand& operand : statement.operands) {
          used |= operand.name == variable.name;
          for (const Operand& item : operand.items) used |= item.name == variable.name;
        }
      }
    }
    if (!used) continue;
    uint64_t at = AlignUp(kernel_.static_shared, variable.align);
    if (at + variable.bytes > kMaxSharedBytes)
      throw PtxError("shared variables larger than 16 MiB");
    module_shared_[variable.name] = at;
    kernel_.shared.push_back(
        {variable.name, static_cast<uint32_t>(at), static_cast<uint32_t>(at + variable.bytes)});
    kernel_.static_shared = static_cast<uint32_t>(at + variable.bytes);
  }
  uint64_t end = AlignUp(kernel_.static_shared, dynamic_align);
  for (const Variable& variable : text_.variables) {
    if (variable.space == Space::kShared && variable.unsized) {
      module_shared_[variable.name] = end;
      kernel_.dynamic_name = variable.name;
    }
  }
  kernel_.dynamic_at = static_cast<uint32_t>(end);
}

void Lowering::Emit(int index) {
  current_ = index;
  Placed& placed = placed_[index];
  placed.start = static_cast<uint32_t>(kernel_.code.size());
  for (const Statement& statement : placed.function->body) {
    statement_ = &statement;
    placed.code_at.push_back(static_cast<uint32_t>(kernel_.code.size()));
    EmitStatement();
  }
  placed.code_at.push_back(static_cast<uint32_t>(kernel_.code.size()));
  // Falling off the end returns.
  Instr end;
  end.cls = Cls::kControl;
  end.run = placed.function->entry ? families_.exit : families_.ret;
  end.op[0] = placed.link;
  Push(end);
}

void Lowering::FinishOffsets() {
  for (const Fix& fix : fixes_) {
    kernel_.code[fix.instr].imm = placed_[fix.function].code_at[fix.statement];
  }
  for (const Fix& fix : table_fixes_) {
    for (uint32_t& target : kernel_.extras[fix.instr].ops)
      target = placed_[fix.function].code_at[target];
  }
  for (const CallFix& fix : call_fixes_) {
    kernel_.code[fix.instr].imm = placed_[placed_of_.at(fix.function)].start;
  }
  kernel_.register_bytes = static_cast<uint32_t>(AlignUp(register_end_, 64));
  kernel_.local_total = static_cast<uint32_t>(AlignUp(local_end_, 16));
}

Instr Lowering::Start() const {
  Instr instr;
  instr.line = statement_->line;
  if (statement_->guard >= 0) {
    instr.guard = placed_[current_].registers[statement_->guard];
    instr.guard_flip = statement_->guard_negated ? kAllLanes : 0;
  }
  return instr;
}

void Lowering::Unknown() const {
  std::string line =
      statement_->line != 0 ? " (line " + std::to_string(statement_->line) + ")" : "";
  throw PtxError("the CPU device does not know the PTX instruction " +
                 statement_->opcode.substr(0, 120) + line);
}

void Lowering::Bad(const std::string& what) const {
  throw PtxError("PTX line " + std::to_string(statement_->text_line) + ": " +
                 statement_->opcode.substr(0, 120) + ": " + what);
}

Lowering::Words Lowering::Split() const {
  Words words;
  std::string_view rest = statement_->opcode;
  for (;;) {
    size_t dot = rest.find('.');
    words.items.push_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) return words;
    rest.remove_prefix(dot + 1);
  }
}

void Lowering::ExpectOperands(size_t least, size_t most) const {
  size_t n = statement_->operands.size();
  if (n < least || n > most) Bad("has " + std::to_string(n) + " operands");
}

void Lowering::EmitStatement() {
  if (!FromTable() && !Structured()) Unknown();
}

// Opcodes of the table: operands as the signature says.
bool Lowering::FromTable() {
  const Op* op = ops_.Find(statement_->opcode);
  if (op == nullptr) return false;
  const std::vector<Operand>& operands = statement_->operands;
  size_t n = op->signature.size() / 2;
  if (operands.size() != n) {
    if (BaseOf(statement_->opcode) == "mov") return false;
    Bad("has " + std::to_string(operands.size()) + " operands");
  }
  if (BaseOf(statement_->opcode) == "mov") {
    // Vectors, addresses and clocks are Mov()'s.
    for (const Operand& operand : operands) {
      if (operand.kind != Operand::Kind::kRegister && operand.kind != Operand::Kind::kInteger &&
          operand.kind != Operand::Kind::kFloat32 && operand.kind != Operand::Kind::kFloat64) {
        return false;
      }
    }
  }
  Instr instr = Start();
  instr.run = op->run;
  instr.cls = op->cls;
  instr.aux = op->aux;
  for (size_t i = 0; i < n; ++i) {
    char role = op->signature[2 * i], type = op->signature[2 * i + 1];
    const Operand& operand = operands[i];
    if (role == 'S') {
      instr.op[i] = Source(operand, type);
      if (operand.negated) {
        if (type != 'p') Bad("an operand that is no predicate is negated");
        instr.extra |= 1u << (i - 1);
      }
      continue;
    }
    instr.op[i] = Destination(operand, type);
    if (!operand.items.empty()) {
      if (role != 'T' || operand.items.size() != 1) Bad("a second destination");
      instr.op[5] = Destination(operand.items[0], 'p');
    }
    if (instr.op[i] == kNoOperand && type != 'p') Bad("no destination");
  }
  std::string_view opcode = statement_->opcode;
  std::string_view base = BaseOf(opcode);
  if (base == "addc" || base == "subc" || base == "madc" ||
      opcode.find(".cc") != std::string_view::npos) {
    if (carry_ == kNoOperand) carry_ = Allocate(0);
    instr.op[5] = carry_;
  }
  Push(instr);
  return true;
}

bool Lowering::Structured() {
  std::string_view base = BaseOf(statement_->opcode);
  if (base == "ld" || base == "ldu" || base == "st") return LoadStore(base);
  if (base == "mov") return Mov();
  if (base == "cvt") return Cvt();
  if (base == "cvta" || base == "isspacep") return Cvta();
  if (base == "atom" || base == "red") return Atom(base);
  if (base == "shfl") return Shuffle();
  if (base == "vote" || base == "match" || base == "redux" || base == "activemask")
    return Vote(base);
  if (base == "bar" || base == "barrier") return Barriers(base);
  if (base == "mma" || base == "wmma" || base == "ldmatrix" || base == "stmatrix" ||
      base == "movmatrix")
    return Matrix(base);
  if (base == "cp") return AsyncCopies();
  if (Control(base)) return true;
  return NoEffect(base);
}

}  // namespace cudaagent::device::ptx
