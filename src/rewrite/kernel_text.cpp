#include "rewrite/kernel_text.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <sstream>

#include "rewrite/plan_writer.h"

namespace cudaagent::rewrite {
namespace {

using Kind = ProgramValue::Kind;

// Words of the language and of the templates that no variable may be called.
const std::set<std::string>& Reserved() {
  static const std::set<std::string> words = {"i",           "k",           "o",
                                              "r",           "u",           "row",
                                              "lane",        "slice",       "group",
                                              "column",      "first",       "item",
                                              "stride",      "col",         "and",
                                              "or",          "not",         "xor",
                                              "bool",        "char",        "int",
                                              "long",        "short",       "float",
                                              "double",      "unsigned",    "signed",
                                              "void",        "auto",        "const",
                                              "static",      "extern",      "register",
                                              "volatile",    "if",          "else",
                                              "for",         "while",       "do",
                                              "switch",      "case",        "default",
                                              "break",       "continue",    "goto",
                                              "return",      "true",        "false",
                                              "new",         "delete",      "this",
                                              "class",       "struct",      "union",
                                              "enum",        "template",    "typename",
                                              "namespace",   "using",       "operator",
                                              "public",      "private",     "protected",
                                              "virtual",     "friend",      "inline",
                                              "sizeof",      "typedef",     "try",
                                              "catch",       "throw",       "explicit",
                                              "export",      "mutable",     "asm",
                                              "nullptr",     "constexpr",   "alignas",
                                              "alignof",     "decltype",    "bitand",
                                              "bitor",       "compl",       "final",
                                              "override",    "Pack",        "Load",
                                              "Store",       "Sum",         "Max",
                                              "Min",         "Moments",     "OnlineSoftmax",
                                              "ArgMax",      "ArgMin",      "MergeParts",
                                              "Plus",        "Times",       "WarpScan",
                                              "ScanTile",    "SmoothL1",    "KlDiv",
                                              "tile",        "carry",       "scanned",
                                              "part",        "parts",       "at",
                                              "end",         "kTile",       "kParts",
                                              "kPart",       "kRows",       "kRow",
                                              "kResults",    "d",           "h",
                                              "w",           "out_d",       "out_h",
                                              "out_w",       "outer",       "last",
                                              "begin",       "lanes",       "held",
                                              "Gelu",        "GeluTanh",    "Sigmoid",
                                              "Mish",        "Elu",         "Softplus",
                                              "MaxOf",       "MinOf",       "LogSumExp",
                                              "LanesReduce", "BlockReduce", "kThreads",
                                              "kVector",     "kUnroll",     "kElements",
                                              "kColumns",    "kItems",      "kLanes",
                                              "kSlices",     "kReduced",    "kInner",
                                              "kTiles",      "expf",        "logf",
                                              "sqrtf",       "rsqrtf",      "tanhf",
                                              "erff",        "powf",        "fabsf",
                                              "threadIdx",   "blockIdx",    "blockDim",
                                              "gridDim",     "warpSize",    "INFINITY",
                                              "NAN"};
  return words;
}

int64_t ItemSize(const std::string& dtype) {
  return dtype == "float16" || dtype == "bfloat16" ? 2 : 4;
}

const char* TypeName(ValueType type) {
  switch (type) {
    case ValueType::kBool:
      return "bool";
    case ValueType::kInt:
      return "long long";
    case ValueType::kFloat:
      break;
  }
  return "float";
}

}  // namespace

bool HasWord(const std::string& text, const std::string& word) {
  auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]))) return true;
  }
  return false;
}

std::string Indented(const std::string& text, int spaces) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool plain = line.empty() || line[0] == '#';
    result += (plain ? "" : std::string(static_cast<size_t>(spaces), ' ')) + line + "\n";
  }
  return result;
}

std::string KernelText::ElementType(const std::string& dtype) {
  if (dtype == "float16") return "__half";
  if (dtype == "bfloat16") return "__nv_bfloat16";
  if (dtype == "bool") return "bool";
  if (dtype == "int64") return "long long";
  if (dtype == "int32") return "int";
  return "float";
}

int KernelText::AccumulatorWords(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kMoments:
      return 3;
    case ReduceKind::kOnlineSoftmax:
    case ReduceKind::kArgMax:
    case ReduceKind::kArgMin:
      return 2;
    default:
      return 1;
  }
}

bool KernelText::NeedsPosition(ReduceKind kind) {
  return kind == ReduceKind::kArgMax || kind == ReduceKind::kArgMin;
}

std::string KernelText::AccumulatorType(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return "Sum";
    case ReduceKind::kMax:
      return "Max";
    case ReduceKind::kMin:
      return "Min";
    case ReduceKind::kMoments:
      return "Moments";
    case ReduceKind::kOnlineSoftmax:
      return "OnlineSoftmax";
    case ReduceKind::kArgMax:
      return "ArgMax";
    case ReduceKind::kArgMin:
      return "ArgMin";
  }
  return "Sum";
}

std::string KernelText::Converted(const std::string& text, const std::string& dtype) {
  if (dtype == "float16") return "__float2half_rn(" + text + ")";
  if (dtype == "bfloat16") return "__float2bfloat16_rn(" + text + ")";
  return text;
}

KernelText::KernelText(const Program& program, int vector, bool canonical, const Aligned& aligned)
    : program_(program), vector_(vector), canonical_(canonical), aligned_(aligned) {
  index_type_ = NeedsWideIndex(program) ? "unsigned long long" : "unsigned";
  for (const ProgramValue& value : program.values) {
    if (value.kind != Kind::kLoad || parameter_.count(value.tensor)) continue;
    inputs_.push_back(value.tensor);
    parameter_[value.tensor] = Fresh(value.tensor);
  }
  for (const ProgramOutput& output : program.outputs) {
    output_names_.push_back(Fresh(output.tensor + "_out"));
  }
}

bool KernelText::NeedsWideIndex(const Program& program) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (program.elements >= kLimit) return true;
  return std::any_of(program.values.begin(), program.values.end(), [&](const ProgramValue& value) {
    return value.kind == Kind::kLoad && MaxOffset(value.terms) >= kLimit;
  });
}

int KernelText::WidestVector(const Program& program, int64_t unit) {
  int64_t smallest = 4;
  for (const ProgramValue& value : program.values) {
    if (value.kind == Kind::kLoad && value.dtype != "bool") {
      smallest = std::min(smallest, ItemSize(value.dtype));
    }
  }
  int64_t vector = 16 / smallest;
  while (unit % vector != 0) vector /= 2;
  return static_cast<int>(vector);
}

std::string KernelText::Fresh(const std::string& wish) {
  std::string base = canonical_ ? "n" + std::to_string(taken_.size()) : Identifier(wish);
  if (!canonical_ && base.size() > 40) base.resize(40);
  std::string name = base;
  for (int number = 2; Reserved().count(name) || !taken_.insert(name).second; ++number) {
    name = base + "_" + std::to_string(number);
  }
  return name;
}

std::string KernelText::Variable(int value) {
  auto it = variables_.find(value);
  if (it != variables_.end()) return it->second;
  const ProgramValue& what = program_.values[static_cast<size_t>(value)];
  std::string wish = what.name;
  if (what.kind == Kind::kLoad) wish += IsPacked(what) ? "_pack" : "_value";
  return variables_[value] = Fresh(wish);
}

std::vector<std::string> KernelText::Inputs(const std::string& body) const {
  std::vector<std::string> refs;
  for (const std::string& ref : inputs_) {
    if (HasWord(body, parameter_.at(ref))) refs.push_back(ref);
  }
  return refs;
}

std::vector<std::string> KernelText::Outputs(const std::string& body) const {
  std::vector<std::string> refs;
  for (size_t k = 0; k < program_.outputs.size(); ++k) {
    if (HasWord(body, output_names_[k])) refs.push_back(program_.outputs[k].tensor);
  }
  return refs;
}

std::string KernelText::Parameters(const std::string& body,
                                   const std::vector<std::string>& more) const {
  std::string text;
  size_t column = 40;  // the kernel's name stands before the first
  auto add = [&](const std::string& parameter) {
    if (!text.empty()) {
      const bool wraps = column + parameter.size() + 3 > 98;
      text += wraps ? ",\n    " : ", ";
      column = wraps ? 4 : column + 2;
    }
    text += parameter;
    column += parameter.size();
  };
  for (const std::string& ref : Inputs(body)) {
    auto load = std::find_if(
        program_.values.begin(), program_.values.end(),
        [&](const ProgramValue& v) { return v.kind == Kind::kLoad && v.tensor == ref; });
    add("const " + ElementType(load->dtype) + "* __restrict__ " + parameter_.at(ref));
  }
  for (size_t k = 0; k < program_.outputs.size(); ++k) {
    if (!HasWord(body, output_names_[k])) continue;
    add(ElementType(program_.outputs[k].dtype) + "* __restrict__ " + output_names_[k]);
  }
  for (const std::string& parameter : more) add(parameter);
  return text;
}

std::set<int> KernelText::Needed(const std::vector<int>& targets) const {
  std::set<int> needed;
  std::vector<int> open = targets;
  while (!open.empty()) {
    const int value = open.back();
    open.pop_back();
    const ProgramValue& what = program_.values[static_cast<size_t>(value)];
    if (hoisted_.count(value) || what.kind == Kind::kLiteral || what.kind == Kind::kReduce ||
        what.kind == Kind::kField || what.kind == Kind::kScan || !needed.insert(value).second) {
      continue;
    }
    open.insert(open.end(), what.operands.begin(), what.operands.end());
  }
  return needed;
}

bool KernelText::IsPerLane(const ProgramValue& value) const {
  return value.granularity != 0 && value.granularity % vector_ != 0;
}

bool KernelText::IsPacked(const ProgramValue& load) const {
  if (vector_ == 1 || load.terms.empty() || !aligned_(load.tensor)) return false;
  const IndexTerm& inner = load.terms.front();
  if (inner.div != 1 || inner.stride != 1 || inner.mod % vector_ != 0) return false;
  for (const Gather& gather : load.gathers) {
    const ProgramValue& index = program_.values[static_cast<size_t>(gather.operand)];
    if (IsPerLane(index) || gather.stride % vector_ != 0) return false;
  }
  return std::all_of(load.terms.begin() + 1, load.terms.end(), [&](const IndexTerm& term) {
    return term.div % vector_ == 0 && term.stride % vector_ == 0;
  });
}

std::string KernelText::PackType(const std::string& dtype) const {
  if (vector_ == 1) return ElementType(dtype);
  return "Pack<" + ElementType(dtype) + ", kVector>";
}

std::string KernelText::Offset(const ProgramValue& load, const IndexNames& names) {
  std::string text = OffsetText(load.terms, names);
  for (const Gather& gather : load.gathers) {
    std::string at = Use(gather.operand);
    if (gather.stride != 1) at += " * " + std::to_string(gather.stride);
    text = text == "0" ? at : at + " + " + text;
  }
  return text;
}

std::string KernelText::ScalarLoad(const ProgramValue& load, const IndexNames& names) {
  return parameter_.at(load.tensor) + "[" + Offset(load, names) + "]";
}

std::string KernelText::LoadText(const ProgramValue& load, const IndexNames& names) {
  if (!IsPacked(load)) return ScalarLoad(load, names);
  const std::string offset = Offset(load, names);
  return "Load<kVector>(" + parameter_.at(load.tensor) + " + " + offset + ")";
}

namespace {

std::string AsFloat(const std::string& element, const std::string& dtype) {
  if (dtype == "float16") return "__half2float(" + element + ")";
  if (dtype == "bfloat16") return "__bfloat162float(" + element + ")";
  return element;
}

}  // namespace

std::string KernelText::Use(int value) {
  const ProgramValue& what = program_.values[static_cast<size_t>(value)];
  if (what.kind == Kind::kLiteral) {
    return what.text[0] == '-' ? "(" + what.text + ")" : what.text;
  }
  if (what.kind == Kind::kField) {
    std::string accumulator = Variable(what.operands[0]);
    if (program_.kind == ProgramKind::kColumns) accumulator += vector_ > 1 ? "[k]" : "[0]";
    return accumulator + "." + what.text;
  }
  if (what.kind == Kind::kScan) return cached_.at(value);
  if (what.kind == Kind::kLoad && !hoisted_.count(value)) {
    if (auto it = cached_.find(value); it != cached_.end()) {
      return AsFloat(it->second + (vector_ > 1 ? ".at[k]" : ""), what.dtype);
    }
    if (IsPacked(what) && IsPerLane(what)) {
      return AsFloat(Variable(value) + ".at[k]", what.dtype);
    }
  }
  return Variable(value);
}

std::string KernelText::Expression(const ProgramValue& value) {
  std::string text;
  for (size_t at = 0; at < value.text.size(); ++at) {
    if (value.text[at] == '{' && at + 2 < value.text.size() && value.text[at + 2] == '}') {
      text += Use(value.operands.at(static_cast<size_t>(value.text[at + 1] - '0')));
      at += 2;
    } else {
      text += value.text[at];
    }
  }
  return text;
}

std::string KernelText::Hoist(const std::set<int>& needed,
                              const std::function<bool(const ProgramValue&)>& at,
                              const IndexNames& names) {
  std::string text;
  for (int value : needed) {
    const ProgramValue& what = program_.values[static_cast<size_t>(value)];
    if (!at(what)) continue;
    const std::string type = TypeName(what.type);
    hoisted_.insert(value);
    const std::string right =
        what.kind == Kind::kLoad ? AsFloat(ScalarLoad(what, names), what.dtype) : Expression(what);
    text += "const " + type + " " + Variable(value) + " = " + right + ";\n";
  }
  return text;
}

std::string KernelText::Lanes(const std::set<int>& needed, const IndexNames& names,
                              const std::function<std::string(const std::string&)>& store,
                              const std::string& after) {
  std::string before;
  std::string inside;
  IndexNames lane = names;
  if (vector_ > 1) {
    lane.index = "(" + names.index + " + k)";
    if (!names.column.empty()) lane.column = "(" + names.column + " + k)";
  }
  for (int value : needed) {
    const ProgramValue& what = program_.values[static_cast<size_t>(value)];
    const std::string type = TypeName(what.type);
    const bool per_lane = vector_ == 1 || IsPerLane(what);
    if (what.kind == Kind::kLoad) {
      if (cached_.count(value)) continue;
      if (per_lane && IsPacked(what)) {
        before += "const " + PackType(what.dtype) + " " + Variable(value) + " = " +
                  LoadText(what, names) + ";\n";
      } else {
        (per_lane ? inside : before) +=
            "const " + type + " " + Variable(value) + " = " +
            AsFloat(ScalarLoad(what, per_lane ? lane : names), what.dtype) + ";\n";
      }
      continue;
    }
    (per_lane ? inside : before) +=
        "const " + type + " " + Variable(value) + " = " + Expression(what) + ";\n";
  }
  inside += store(vector_ > 1 ? "k" : "0");
  if (vector_ == 1) return before + inside + after;
  return before + "#pragma unroll\nfor (int k = 0; k < kVector; ++k) {\n" + Indented(inside, 2) +
         "}\n" + after;
}

}  // namespace cudaagent::rewrite
