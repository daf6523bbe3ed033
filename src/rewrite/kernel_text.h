// The lines of a kernel: variables, loads, computations, stores. Internal to emit_*.cpp.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewrite/emit.h"
#include "rewrite/program.h"

namespace cudaagent::rewrite {

class KernelText {
 public:
  using Aligned = std::function<bool(const std::string&)>;
  // Canonical: names are numbers. `vector` elements are handled side by side.
  KernelText(const Program& program, int vector, bool canonical, const Aligned& aligned);

  // The widest vector that suits the program's sizes and types: 16 bytes of its smallest element
  // type, less where the sizes do not divide. `unit`: elements that lie together.
  static int WidestVector(const Program& program, int64_t unit);
  static bool NeedsWideIndex(const Program& program);

  const std::string& IndexType() const { return index_type_; }
  // Parameters and tensors that occur in `body`, in the order of the program.
  std::string Parameters(const std::string& body, const std::vector<std::string>& more = {}) const;
  std::vector<std::string> Inputs(const std::string& body) const;
  std::vector<std::string> Outputs(const std::string& body) const;

  // Values that the targets need and that were not emitted yet, operands first. Reductions and
  // their fields are never emitted: a finished reduction is `name.field`.
  std::set<int> Needed(const std::vector<int>& targets) const;

  // Declares every needed value that is constant on blocks of `granularity` elements (0: constant
  // everywhere) once, at the present place: kernel start, row start.
  std::string Hoist(const std::set<int>& needed, const std::function<bool(const ProgramValue&)>& at,
                    const IndexNames& names);
  // The loads and computations of one vector of elements, then `store(k)` for each of them. Leaves
  // no trace: what it declares lives in the loop it is put in.
  std::string Lanes(const std::set<int>& needed, const IndexNames& names,
                    const std::function<std::string(const std::string& lane)>& store,
                    const std::string& after);

  // A tensor whose elements were put into an array of registers before: used instead of loading.
  void Cache(int load, const std::string& array_element) { cached_[load] = array_element; }
  // Whether the value differs between the elements of one vector.
  bool IsPerLane(const ProgramValue& value) const;
  // Whether the elements of one vector are loaded by one access.
  bool IsPacked(const ProgramValue& load) const;
  std::string PackType(const std::string& dtype) const;
  std::string LoadText(const ProgramValue& load, const IndexNames& names);

  std::string Variable(int value);
  std::string Use(int value);
  std::string OutputParameter(size_t output) const { return output_names_[output]; }
  // `text`, a float or bool, as an element of the output's type.
  static std::string Converted(const std::string& text, const std::string& dtype);
  static std::string AccumulatorType(ReduceKind kind);
  static std::string ElementType(const std::string& dtype);
  // float words an accumulator takes.
  static int AccumulatorWords(ReduceKind kind);
  static bool NeedsPosition(ReduceKind kind);

  int vector() const { return vector_; }
  const Program& program() const { return program_; }

 private:
  std::string Fresh(const std::string& wish);
  std::string Expression(const ProgramValue& value);
  std::string Offset(const ProgramValue& load, const IndexNames& names);
  std::string ScalarLoad(const ProgramValue& load, const IndexNames& names);

  const Program& program_;
  int vector_;
  bool canonical_;
  const Aligned& aligned_;
  std::string index_type_;
  std::vector<std::string> inputs_;               // refs
  std::map<std::string, std::string> parameter_;  // ref -> name
  std::vector<std::string> output_names_;
  std::set<std::string> taken_;
  std::map<int, std::string> variables_;
  std::set<int> hoisted_;
  std::map<int, std::string> cached_;
};

// Whether `word` stands in the text as a whole identifier.
bool HasWord(const std::string& text, const std::string& word);
std::string Indented(const std::string& text, int spaces);

}  // namespace cudaagent::rewrite
