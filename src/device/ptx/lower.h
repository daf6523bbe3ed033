// From parsed PTX to a kernel the executor runs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/ptx/module_image.h"
#include "device/ptx/ops.h"
#include "device/ptx/program.h"
#include "device/ptx/text.h"

namespace cudaagent::device::ptx {

// Lowers one entry with every function it calls. Registers are placed once per function, lane by
// lane: lanes in one function from different callers do not meet in a register, recursion would,
// and is refused. Throws PtxError for what the device does not know, by name.
class Lowering {
 public:
  Lowering(const ModuleText& text, const ModuleImage& image, const Executor& executor)
      : text_(text), image_(image), ops_(*executor.ops), families_(*executor.families) {}

  Kernel Lower(const Function& entry);

 private:
  struct Placed {  // one function inside the kernel
    const Function* function = nullptr;
    std::vector<uint32_t> registers;  // offset of each
    std::vector<uint64_t> variables;  // offset in its space
    std::vector<uint32_t> code_at;    // statement -> instruction
    uint32_t start = 0;
    uint32_t link = kNoOperand;  // where lanes keep their return address
  };
  struct Fix {  // a branch target to fill in
    uint32_t instr;
    int function;
    uint32_t statement;
  };
  struct Words {  // an opcode split at its dots, consumed one by one
    std::vector<std::string_view> items;
    size_t at = 1;
    bool Accept(std::string_view word) {
      if (at >= items.size() || items[at] != word) return false;
      ++at;
      return true;
    }
    std::string_view Peek() const { return at < items.size() ? items[at] : std::string_view(); }
    bool done() const { return at >= items.size(); }
  };

  // lower.cpp
  void Reach(const Function& function, std::vector<std::string>& path);
  void PlaceFunction(Placed& placed);
  void PlaceShared();
  void Emit(int index);
  void EmitStatement();
  void FinishOffsets();
  bool FromTable();
  bool Structured();
  Instr Start() const;  // guard and line of the current statement
  void Push(Instr instr) { kernel_.code.push_back(instr); }
  [[noreturn]] void Unknown() const;
  [[noreturn]] void Bad(const std::string& what) const;
  Words Split() const;
  void ExpectOperands(size_t least, size_t most) const;

  // lower_operands.cpp
  uint32_t Allocate(uint32_t bytes);
  uint32_t LiteralOf(uint64_t bits, uint32_t bytes);
  uint32_t RegisterOf(const Operand& operand) const;
  uint32_t RegisterBytes(const Operand& operand) const;
  uint32_t SpecialOf(const std::string& name, uint32_t bytes);
  uint32_t Source(const Operand& operand, char type);
  uint32_t SourceAny(const Operand& operand, uint32_t least, uint8_t* width);
  uint32_t Destination(const Operand& operand, char type);
  uint64_t AddressOf(const Operand& operand, Space* space) const;
  void Address(const Operand& operand, Place place, Instr& instr);
  Place PlaceOf(const Operand& operand) const;

  // lower_memory.cpp
  bool LoadStore(std::string_view base);
  bool Atom(std::string_view base);
  bool NoEffect(std::string_view base);
  bool Cvta();

  // lower_matrix.cpp
  bool Matrix(std::string_view base);
  bool Mma();
  bool Wmma();
  bool AsyncCopies();
  void Registers(const Operand& operand, size_t count, size_t kept, char type,
                 std::vector<uint32_t>& ops);

  // lower_warp.cpp
  bool Mov();
  bool Cvt();
  bool Shuffle();
  bool Vote(std::string_view base);
  bool Barriers(std::string_view base);
  bool Control(std::string_view base);
  void Call();

  const ModuleText& text_;
  const ModuleImage& image_;
  const OpTable& ops_;
  const Families& families_;
  Kernel kernel_;
  std::vector<Placed> placed_;
  std::map<std::string, int> placed_of_;
  int current_ = 0;
  const Statement* statement_ = nullptr;
  std::vector<Fix> fixes_;
  std::vector<Fix> table_fixes_;  // Fix::instr: an index into Kernel::extras
  struct CallFix {
    uint32_t instr;
    std::string function;
  };
  std::vector<CallFix> call_fixes_;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> literals_;
  std::map<std::pair<int, uint32_t>, uint32_t> special_;
  std::map<std::string, uint64_t> module_shared_;
  uint32_t register_end_ = 0;
  uint32_t carry_ = kNoOperand;
  uint64_t local_end_ = 0;
};

}  // namespace cudaagent::device::ptx
