#include "compile/device_state.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <unordered_map>

#include "compile/kernel_names.h"
#include "compile/ptx_text.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

// A set of variables. Beyond the first 63 all share the last bit: such a module is told less
// exactly.
using Set = uint64_t;
constexpr size_t kShared = 63;
Set BitOf(size_t variable) { return Set{1} << std::min(variable, kShared); }

// Loops carry addresses back by one turn at a time; a function that needs more is told less
// exactly.
constexpr int kMaxPasses = 16;

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "st.global.u32" -> "st"
std::string_view Stem(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

bool HasModifier(std::string_view opcode, std::string_view modifier) {
  for (size_t at = opcode.find('.'); at != std::string_view::npos;) {
    const size_t next = opcode.find('.', at + 1);
    if (opcode.substr(at + 1, next - at - 1) == modifier) return true;
    at = next;
  }
  return false;
}

// Where an operand list's first operand ends.
size_t FirstOperand(const PtxWordList& operands) {
  int depth = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string_view word = operands[i];
    if (word == "[" || word == "{" || word == "(") ++depth;
    if (word == "]" || word == "}" || word == ")") --depth;
    if (word == "," && depth == 0) return i;
  }
  return operands.size();
}

class Finder {
 public:
  std::vector<DeviceVariable> Find(std::string_view ptx) {
    ForEach(ptx, [&](const PtxWordList& words, int) { Declare(words); });
    if (variables_.empty()) return {};
    std::vector<PtxWordList> function;
    ForEach(ptx, [&](PtxWordList& words, int depth) {
      Initialise(words);
      if (depth > 0) {
        function.push_back(std::move(words));
        return;
      }
      FollowFunction(function);
      function.clear();
    });
    FollowFunction(function);
    std::vector<DeviceVariable> state;
    for (const bool certain : {true, false}) {
      for (size_t i = 0; i < variables_.size(); ++i) {
        const bool written = (written_ & BitOf(i)) != 0;
        const bool exact = written && (i < kShared || variables_.size() == kShared + 1);
        const bool maybe = !exact && (written || (escaped_ & BitOf(i)) != 0);
        if (certain ? !exact : !maybe) continue;
        state.push_back({Signature(std::string(variables_[i].name)), variables_[i].bytes, certain});
      }
    }
    return state;
  }

 private:
  template <typename Use>
  static void ForEach(std::string_view ptx, Use use) {
    PtxStatements statements(ptx);
    std::string_view statement;
    int depth = 0;
    while (statements.Next(&statement, &depth)) {
      PtxWordList words = PtxWords(statement);
      if (!words.empty()) use(words, depth);
    }
  }

  void Declare(const PtxWordList& words) {
    const auto variable = DeclaredVariable(words);
    if (variable && variable->space == ".global" &&
        by_name_.emplace(variable->name, variables_.size()).second) {
      variables_.push_back(*variable);
    }
  }

  // Another variable's initialiser holds the address: code may load it from there.
  void Initialise(const PtxWordList& words) {
    const auto equals = std::find(words.begin(), words.end(), "=");
    if (equals == words.end()) return;
    for (auto word = equals; word != words.end(); ++word) escaped_ |= SetOf(*word);
  }

  // Registers of inline assembly have names without '%'.
  Set SetOf(std::string_view word) const {
    if (!IsPtxName(word)) return 0;
    Set set = 0;
    if (const auto found = by_name_.find(word); found != by_name_.end())
      set |= BitOf(found->second);
    if (const auto held = registers_.find(word); held != registers_.end()) set |= held->second;
    return set;
  }

  void Add(Set set, Set* to) {
    if ((set & ~*to) == 0) return;
    *to |= set;
    changed_ = true;
  }

  void FollowFunction(const std::vector<PtxWordList>& statements) {
    registers_.clear();
    changed_ = !statements.empty();
    for (int pass = 0; pass < kMaxPasses && changed_; ++pass) {
      changed_ = false;
      passed_ = 0;
      for (const PtxWordList& words : statements) Follow(words);
    }
    if (changed_) escaped_ = ~Set{0};
  }

  // Directives (".loc" ends with its line, which the words do not show) and labels may precede the
  // instruction; its modifiers may stand apart ("st .global .u32").
  void Follow(const PtxWordList& words) {
    size_t at = 0;
    while (at < words.size() && !IsOpcode(words, at)) ++at;
    if (at == words.size()) return;
    std::string name(words[at]);
    for (++at; at < words.size() && words[at].front() == '.'; ++at) name += words[at];
    const std::string_view stem = Stem(name);
    const PtxWordList operands(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    if (stem == "call") return FollowCall(operands);
    const size_t first_end = FirstOperand(operands);
    Set address = 0, value = 0, first = 0;  // in brackets, outside, either in the first operand
    bool bracket = false, to_caller = false;
    for (size_t i = 0; i < operands.size(); ++i) {
      bracket = operands[i] == "[" || (bracket && operands[i] != "]");
      const Set set = SetOf(operands[i]);
      (bracket ? address : value) |= set;
      if (i < first_end) first |= set;
      to_caller = to_caller || util::StartsWith(operands[i], "func_retval");
    }
    if (util::StartsWith(name, "st.param") && !to_caller) {
      passed_ |= address | value;
    } else if (IsOneOf(stem, {"st", "atom", "red", "multimem"})) {
      Add(address, &written_);
      Add(value, &escaped_);
    } else if (IsOneOf(stem, {"ld", "ldu", "prefetch", "prefetchu", "discard", "applypriority"}) ||
               IsSharedCopy(name) || HasModifier(name, "load")) {
      // Reads; what it reads is not followed: an address that is stored has escaped already.
    } else if (stem == "cp") {
      Add(first, &written_);
      Add((address | value) & ~first, &escaped_);
    } else if (address != 0) {
      Add(address, &escaped_);  // an instruction on memory that is not known here
    } else if (value != 0) {
      for (size_t i = 0; i < first_end; ++i) {
        if (IsPtxName(operands[i])) Add(value, &registers_[operands[i]]);
      }
    }
  }

  // cp.async.ca.shared.global, cp.async.bulk.shared::cluster.global: into shared memory.
  static bool IsSharedCopy(std::string_view name) {
    if (Stem(name) != "cp") return false;
    const size_t shared = name.find(".shared"), global = name.find(".global");
    return HasModifier(name, "prefetch") ||
           (!HasModifier(name, "reduce") && shared != std::string_view::npos &&
            (global == std::string_view::npos || shared < global));
  }

  static bool IsOpcode(const PtxWordList& words, size_t at) {
    const std::string_view word = words[at];
    if (std::islower(static_cast<unsigned char>(word.front())) == 0) return false;
    return word.find('.') != std::string_view::npos || word == "call" ||
           (at + 1 < words.size() && words[at + 1].front() == '.');
  }

  // printf and assert only read what they are given.
  void FollowCall(const PtxWordList& operands) {
    const bool reads = std::any_of(operands.begin(), operands.end(), [](std::string_view word) {
      return word == "vprintf" || word == "__assertfail";
    });
    if (!reads) Add(passed_, &escaped_);
    passed_ = 0;
    for (const std::string_view word : operands) Add(SetOf(word), &escaped_);
  }

  std::vector<PtxVariable> variables_;
  std::unordered_map<std::string_view, size_t> by_name_;  // parts of the text
  std::unordered_map<std::string_view, Set> registers_;   // of the function at hand
  Set written_ = 0, escaped_ = 0;
  Set passed_ = 0;  // given to a call whose name is not known yet
  bool changed_ = false;
};

}  // namespace

std::vector<DeviceVariable> FindDeviceState(std::string_view plain_ptx) {
  return Finder().Find(plain_ptx);
}

}  // namespace cudaagent::compile
