#include "rewrite/builder.h"

#include <algorithm>
#include <numeric>

#include "rewrite/float_text.h"
#include "rewrite/op_rules.h"

namespace cudaagent::rewrite {
namespace {

using graph::Node;
using Kind = ProgramValue::Kind;

// Limits that keep a kernel readable and within its registers.
constexpr size_t kMaxValues = 200;
constexpr size_t kMaxTensors = 20;
// With fewer results than this columns and scans would leave most of a GPU idle: ATen splits them.
constexpr int64_t kMinResults = 128;
constexpr int64_t kShortRow = 16384;

bool IsLoadable(const std::string& dtype) {
  return dtype == "float32" || dtype == "float16" || dtype == "bfloat16" || dtype == "bool" ||
         dtype == "int64" || dtype == "int32";
}

ValueType TypeOf(const std::string& dtype) {
  if (dtype == "bool") return ValueType::kBool;
  return dtype == "int64" || dtype == "int32" ? ValueType::kInt : ValueType::kFloat;
}

std::string Key(const std::string& ref, const Coordinates& coordinates, bool outer) {
  std::string key = ref + (outer ? "|o" : "|");
  for (const Coordinate& c : coordinates) {
    key += c.extent == 1 ? ",-" : "," + std::to_string(c.div) + "%" + std::to_string(c.extent);
  }
  return key;
}

}  // namespace

GraphLinks::GraphLinks(const NormalGraph& graph) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const TensorInfo& info : graph.nodes[n].outputs) producer[info.name] = n;
    for (const std::string& ref : graph::RefsOf(graph.nodes[n])) {
      std::vector<size_t>& list = readers[ref];
      if (list.empty() || list.back() != n) list.push_back(n);
    }
  }
  outputs.insert(graph.outputs.begin(), graph.outputs.end());
}

int Builder::Push(ProgramValue value) {
  for (int operand : value.operands) {
    const ProgramValue& from = At(operand);
    value.stage = std::max(value.stage, from.stage);
    if (value.kind != Kind::kReduce && value.kind != Kind::kField) {
      value.granularity = std::gcd(value.granularity, from.granularity);
    }
    if (value.kind == Kind::kCompute) {
      if (from.kind != Kind::kLiteral) value.outer = value.outer || from.outer;
    }
  }
  if (program_.values.size() >= kMaxValues) throw NotFusible{};
  program_.values.push_back(std::move(value));
  return static_cast<int>(program_.values.size()) - 1;
}

int Builder::Literal(double number) {
  ProgramValue value;
  value.kind = Kind::kLiteral;
  value.text = FloatText(number);
  return Push(std::move(value));
}

int Builder::Compute(const std::string& name, const std::string& pattern, std::vector<int> operands,
                     ValueType type) {
  ProgramValue value;
  value.kind = Kind::kCompute;
  value.type = type;
  value.name = name;
  value.text = pattern;
  value.operands = std::move(operands);
  return Push(std::move(value));
}

int Builder::Reduce(const std::string& name, ReduceKind kind, int operand) {
  const bool columns = program_.has_outer();
  if (columns && (At(operand).outer || At(operand).stage > 0)) throw NotFusible{};
  for (size_t v = 0; v < program_.values.size(); ++v) {
    const ProgramValue& known = program_.values[v];
    if (known.kind == Kind::kReduce && known.reduce == kind && known.operands[0] == operand) {
      return static_cast<int>(v);
    }
  }
  ProgramValue value;
  value.kind = Kind::kReduce;
  value.name = name;
  value.reduce = kind;
  value.operands = {operand};
  value.stage = At(operand).stage;
  const int reduction = Push(std::move(value));
  ProgramValue& made = program_.values[static_cast<size_t>(reduction)];
  made.stage = At(operand).stage + 1;
  made.granularity = columns ? 1 : program_.row_length;
  made.outer = columns;
  return reduction;
}

int Builder::Field(const std::string& name, int reduction, const std::string& field,
                   ValueType type) {
  ProgramValue value;
  value.kind = Kind::kField;
  value.type = type;
  value.name = name;
  value.text = field;
  value.operands = {reduction};
  value.granularity = At(reduction).granularity;
  value.outer = At(reduction).outer;
  return Push(std::move(value));
}

int Builder::Scan(const std::string& name, const std::string& operation, int operand) {
  if (program_.kind != ProgramKind::kScan || At(operand).stage > 0) throw NotFusible{};
  for (const ProgramValue& known : program_.values) {
    if (known.kind == Kind::kScan) throw NotFusible{};
  }
  ProgramValue value;
  value.kind = Kind::kScan;
  value.name = name;
  value.text = operation;
  value.operands = {operand};
  const int scan = Push(std::move(value));
  program_.values[static_cast<size_t>(scan)].stage = 1;
  program_.values[static_cast<size_t>(scan)].granularity = 1;
  return scan;
}

int Builder::LoadAt(const std::string& ref, size_t dim, int index, const Coordinates& others,
                    bool outer) {
  auto producer = links_.producer.find(ref);
  if (producer != links_.producer.end() && nodes_.count(producer->second)) throw NotFusible{};
  const TensorInfo& info = Info(ref);
  if (!IsLoadable(info.dtype) || At(index).type != ValueType::kInt) throw NotFusible{};
  std::vector<int64_t> strides = info.strides;
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim));
  if (strides.size() != others.size()) throw NotFusible{};
  ProgramValue value;
  value.kind = Kind::kLoad;
  value.type = TypeOf(info.dtype);
  value.name = ref;
  value.tensor = ref;
  value.dtype = info.dtype;
  value.terms = OffsetTerms(others, strides);
  value.granularity = Granularity(value.terms);
  value.operands = {index};
  value.gathers = {{index, info.strides[dim]}};
  value.outer = outer;
  return Push(std::move(value));
}

int Builder::AsFloat(int value) {
  if (At(value).type == ValueType::kFloat) return value;
  if (At(value).type == ValueType::kInt) {
    return Compute(At(value).name + "_number", "static_cast<float>({0})", {value});
  }
  return Compute(At(value).name + "_number", "{0} ? 1.0f : 0.0f", {value});
}

int Builder::Load(const std::string& ref, const Coordinates& coordinates, bool outer) {
  const TensorInfo& info = Info(ref);
  if (!IsLoadable(info.dtype)) throw NotFusible{};
  ProgramValue value;
  value.kind = Kind::kLoad;
  value.type = TypeOf(info.dtype);
  value.name = ref;
  value.tensor = ref;
  value.dtype = info.dtype;
  value.terms = OffsetTerms(coordinates, info.strides);
  value.granularity = Granularity(value.terms);
  value.outer = outer;
  return Push(std::move(value));
}

int Builder::Value(const std::string& ref, const Coordinates& coordinates, bool outer) {
  const std::string key = Key(ref, coordinates, outer);
  if (auto it = made_.find(key); it != made_.end()) return it->second;
  auto producer = links_.producer.find(ref);
  int value = producer != links_.producer.end() && nodes_.count(producer->second)
                  ? Make(graph_.nodes[producer->second], ref, coordinates, outer)
                  : Load(ref, coordinates, outer);
  made_[key] = value;
  return value;
}

int Builder::Make(const Node& node, const std::string& ref, const Coordinates& coordinates,
                  bool outer) {
  if (IsPointwise(node)) return MakePointwise(*this, node, coordinates, outer);
  if (IsReshape(node)) return MakeReshape(*this, node, coordinates, outer);
  return MakeReduction(*this, node, ref, coordinates, outer);
}

void Builder::ChooseSpace() {
  std::optional<Reduction> common;
  int64_t largest = 0;
  for (size_t n : nodes_) {
    const Node& node = graph_.nodes[n];
    for (const TensorInfo& info : node.outputs) largest = std::max(largest, info.numel());
    if (IsPointwise(node) || IsReshape(node)) continue;
    std::optional<Reduction> reduction = ReductionOf(node, graph_);
    if (!reduction) throw NotFusible{};
    if (common && !(*common == *reduction)) throw NotFusible{};
    common = reduction;
  }
  program_.elements = largest;
  if (common) {
    program_.elements = common->outer * common->reduced * common->inner;
    if (common->window) {
      program_.kind = ProgramKind::kWindows;
      program_.window = *common->window;
      if (largest > std::max(program_.elements, program_.results())) throw NotFusible{};
      return;
    }
    if (largest > program_.elements || common->reduced < 2) throw NotFusible{};
    // Positions within a row are 32 bits wide.
    constexpr int64_t kMaxExtent = int64_t{1} << 31;
    if (common->reduced >= kMaxExtent || common->inner >= kMaxExtent) throw NotFusible{};
    if (common->scan) {
      if (common->inner != 1 || (common->outer < kMinResults && common->reduced > kShortRow)) {
        throw NotFusible{};
      }
      program_.kind = ProgramKind::kScan;
      program_.row_length = common->reduced;
      program_.reverse = common->reverse;
      return;
    }
    if (common->inner == 1) {
      program_.kind = ProgramKind::kRows;
      program_.row_length = common->reduced;
    } else {
      program_.kind = ProgramKind::kColumns;
      program_.reduced = common->reduced;
      program_.inner = common->inner;
    }
    if (program_.kind == ProgramKind::kColumns && program_.results() < kMinResults * 32 &&
        program_.reduced * 32 > kShortRow) {
      throw NotFusible{};
    }
  }
  if (program_.elements == 0) throw NotFusible{};
}

Program Builder::Build() {
  ChooseSpace();
  for (size_t n : nodes_) {
    const Node& node = graph_.nodes[n];
    program_.nodes.push_back(node.op);
    for (const TensorInfo& info : node.outputs) {
      bool needed = links_.outputs.count(info.name) > 0;
      if (auto it = links_.readers.find(info.name); it != links_.readers.end()) {
        for (size_t reader : it->second) needed = needed || !nodes_.count(reader);
      }
      if (!needed) continue;
      if (!IsLoadable(info.dtype)) throw NotFusible{};
      // Only elements that need nothing of each other may come in another order than the shape's.
      const std::optional<Coordinates> memory = MemoryCoordinates(info.shape, info.strides);
      if (!memory || (!info.contiguous && program_.kind != ProgramKind::kPointwise)) {
        throw NotFusible{};
      }
      const bool columns = program_.has_outer();
      ProgramOutput output;
      output.tensor = info.name;
      output.dtype = info.dtype;
      if (info.numel() == program_.elements && program_.kind != ProgramKind::kWindows) {
        output.value =
            Value(info.name, info.contiguous ? LinearCoordinates(info.shape, 1) : *memory, false);
      } else if (program_.kind != ProgramKind::kPointwise && program_.kind != ProgramKind::kScan &&
                 info.numel() == program_.results()) {
        output.per_row = true;
        output.value = Value(
            info.name, LinearCoordinates(info.shape, columns ? 1 : program_.row_length), columns);
        const ProgramValue& value = At(output.value);
        if (columns ? !value.outer : value.granularity % program_.row_length != 0) {
          throw NotFusible{};
        }
      } else {
        throw NotFusible{};
      }
      if (At(output.value).type != TypeOf(info.dtype)) throw NotFusible{};
      program_.outputs.push_back(std::move(output));
    }
  }
  if (program_.outputs.empty()) throw NotFusible{};
  std::set<std::string> tensors;
  for (const ProgramValue& value : program_.values) {
    if (value.kind == Kind::kLoad) tensors.insert(value.tensor);
  }
  if (tensors.size() + program_.outputs.size() > kMaxTensors) throw NotFusible{};
  return std::move(program_);
}

std::optional<Program> BuildProgram(const NormalGraph& graph, const GraphLinks& links,
                                    const std::set<size_t>& nodes) {
  try {
    return Builder(graph, links, nodes).Build();
  } catch (const NotFusible&) {
    return std::nullopt;
  }
}

}  // namespace cudaagent::rewrite
