// PTX text as data: module variables, functions, registers, statements. Knows the grammar, not what
// an opcode means. Register and variable names are resolved while parsing, so that scopes end here.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::device::ptx {

// What this device cannot parse or does not know, as one sentence. Thrown by the loader's files,
// caught once in PtxModule: it never leaves the room.
class PtxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Space : uint8_t { kNone, kReg, kGlobal, kConst, kShared, kLocal, kParam };

struct Variable {
  std::string name;
  Space space = Space::kNone;
  uint64_t align = 1;
  uint64_t bytes = 0;  // 0: an unsized array (dynamic shared memory)
  bool unsized = false;
  std::vector<uint8_t> initial;  // may be shorter than bytes: the rest is zero
  struct Address {               // an initialiser that is the address of a variable
    uint64_t at = 0;
    uint32_t width = 8;
    std::string symbol;
    int64_t offset = 0;
    bool generic = false;
  };
  std::vector<Address> addresses;
};

struct Register {
  uint8_t bytes = 4;  // 0: a predicate
};

struct Operand {
  enum class Kind : uint8_t {
    kRegister,
    kSpecial,
    kInteger,
    kFloat32,
    kFloat64,
    kSymbol,
    kVariable,
    kVector,
    kAddress,
    kList,
    kSink
  };
  Kind kind = Kind::kSink;
  bool negated = false;        // "!%p1"
  int index = -1;              // kRegister: Function::registers; kVariable: Function::variables
  uint64_t bits = 0;           // literals
  int64_t offset = 0;          // kAddress, kSymbol, kVariable: "+ 16"
  std::string name;            // kSymbol, kSpecial: the name
  std::vector<Operand> items;  // kVector, kList: elements; kAddress: its base; else "a|b": b
};

struct Statement {
  std::string opcode;  // with every modifier: "setp.ne.s32"
  int guard = -1;      // register index of the predicate
  bool guard_negated = false;
  uint32_t line = 0;              // of the candidate's source, 0 = unknown
  uint32_t text_line = 0;         // of the PTX text
  uint32_t target = 0;            // branches: index of the statement to go to
  std::vector<uint32_t> targets;  // brx.idx
  std::vector<Operand> operands;
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;
  std::vector<Register> registers;
  std::vector<Variable> variables;  // parameters, results, local and shared variables
  std::vector<int> params;          // indices into variables, in order
  std::vector<int> results;
  std::vector<Statement> body;
  int max_threads = 0;  // .maxntid, 0 = not given
  uint32_t text_line = 0;
};

struct ModuleText {
  std::string target;               // "sm_90a"
  std::vector<Variable> variables;  // .global, .const, .shared at module scope
  std::map<std::string, int> variable_of;
  std::vector<Function> functions;
  std::map<std::string, int> function_of;
};

// Parses a whole PTX module. Throws PtxError. Time and memory grow linearly with the text.
ModuleText ParsePtx(std::string_view text);

// Bytes of a PTX type ("u32" -> 4), 0 for a predicate, -1 where it is no type.
int TypeBytes(std::string_view type);

}  // namespace cudaagent::device::ptx
