// PTX as text, and as statements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::compile {

// Without comments (each one space) and with what stands between quotes left out; lines stay lines.
// PTX is free-form and a candidate may write parts of it, so nothing may be concluded from where a
// line begins.
std::string PlainPtx(std::string_view ptx);

// PTX identifiers may hold '$', names of special registers and virtual ones begin with '%'.
bool IsPtxWordPart(char c);

// A word that names something: not a number, not punctuation.
bool IsPtxName(std::string_view word);

using PtxWordList = std::vector<std::string_view>;

// The words of one statement, dots included ("st.global.u32", "%rd1", "[", "runs", "+", "4", "]").
PtxWordList PtxWords(std::string_view statement);

struct PtxVariable {
  std::string_view space;  // ".global", ".shared", ".local", ".const"
  std::string_view name;   // mangled
  int64_t bytes = 0;       // INT64_MAX where the number is larger
};

// ".visible .global .align 4 .b8 x[16] = {...}"; nullopt for what declares no variable in memory.
std::optional<PtxVariable> DeclaredVariable(const PtxWordList& words);

// Statements end at ';' and at the braces of blocks. Those of an initialiser and of a vector of
// registers are part of their statement.
class PtxStatements {
 public:
  explicit PtxStatements(std::string_view ptx) : ptx_(ptx) {}

  // False at the end. `depth` is that of the statement: 0 outside of functions.
  bool Next(std::string_view* statement, int* depth);

 private:
  bool IsVector(size_t open) const;

  std::string_view ptx_;
  size_t at_ = 0;
  int depth_ = 0;
  bool in_vector_ = false;
};

}  // namespace cudaagent::compile
