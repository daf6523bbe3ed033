#include <algorithm>
#include <cctype>

#include "rewrite/emit_kinds.h"
#include "rewrite/library.h"

namespace cudaagent::rewrite {
namespace {

using Kind = ProgramValue::Kind;

// How the threads of a row divide it among themselves.
struct Shape {
  int threads = 256;  // of the block
  int lanes = 256;    // that share a row
  int rows_per_block = 1;
  int vector = 1;
  int items = 0;  // groups per thread kept in registers; 0 = the row is read every pass
};

constexpr int kMaxHeld = 32;  // elements of one tensor a thread keeps in registers

Shape ChooseShape(const Program& program, const KernelStyle& style, int held_tensors) {
  Shape shape;
  shape.vector = KernelText::WidestVector(program, program.row_length);
  const int64_t vectors = program.row_length / shape.vector;
  if (style.row_lanes && vectors <= 32 * 8 && program.rows() > 1) {
    shape.lanes = 32;
    while (shape.lanes > 4 && shape.lanes / 2 >= vectors) shape.lanes /= 2;
    shape.items = static_cast<int>((vectors + shape.lanes - 1) / shape.lanes);
    shape.rows_per_block = 256 / shape.lanes;
    while (program.rows() % shape.rows_per_block != 0) shape.rows_per_block /= 2;
    if (shape.lanes * shape.rows_per_block % 32 != 0) {
      // Too few rows for whole warps of them: a warp per row.
      shape.lanes = 32;
      shape.rows_per_block = 1;
      shape.items = static_cast<int>((vectors + 31) / 32);
    }
    shape.threads = shape.lanes * shape.rows_per_block;
    return shape;
  }
  const int limit = std::max(1, kMaxHeld / shape.vector / std::max(1, held_tensors));
  for (int threads = 128; style.row_registers && threads <= 1024; threads *= 2) {
    const int64_t items = (vectors + threads - 1) / threads;
    if (items > limit || (items > style.row_items && threads < 1024)) continue;
    shape.threads = shape.lanes = threads;
    shape.items = static_cast<int>(items);
    return shape;
  }
  shape.threads = style.row_threads;
  while (shape.threads > 64 && shape.threads / 2 >= vectors) shape.threads /= 2;
  shape.lanes = shape.threads;
  return shape;
}

class RowsEmitter {
 public:
  RowsEmitter(const Program& program, const Shape& shape, bool canonical,
              const KernelText::Aligned& aligned)
      : program_(program), shape_(shape), text_(program, shape.vector, canonical, aligned) {
    names_.row = "row";
    names_.column = "col";
    names_.row_length = program.row_length;
    names_.space = program.elements;
    for (const ProgramValue& value : program.values) {
      if (value.kind == Kind::kReduce) stages_ = std::max(stages_, value.stage);
    }
    for (size_t k = 0; k < program.outputs.size(); ++k) {
      (program.outputs[k].per_row ? row_outputs_ : element_outputs_).push_back(k);
    }
  }

  std::string Body() {
    std::string body = HoistRowValues(0);
    if (shape_.items > 0) body += LoadRow();
    for (int stage = 0; stage < stages_; ++stage) {
      body += ReducePass(stage);
      body += HoistRowValues(stage + 1);
    }
    body += RowStores();
    if (!element_outputs_.empty()) {
      body += Loop(ElementLoop(text_, element_outputs_, names_), stages_);
    }
    return body;
  }

  KernelText& text() { return text_; }

 private:
  bool IsRowValue(const ProgramValue& value) const {
    return value.granularity % program_.row_length == 0;
  }

  std::vector<int> ReducedAt(int stage) const {
    std::vector<int> reductions;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const ProgramValue& value = program_.values[v];
      if (value.kind == Kind::kReduce && value.stage == stage + 1) {
        reductions.push_back(static_cast<int>(v));
      }
    }
    return reductions;
  }

  // Everything any later pass needs, once per row, as soon as it is known.
  std::string HoistRowValues(int stage) {
    std::vector<int> targets;
    for (const ProgramOutput& output : program_.outputs) targets.push_back(output.value);
    for (const ProgramValue& value : program_.values) {
      if (value.kind == Kind::kReduce) targets.push_back(value.operands[0]);
    }
    return text_.Hoist(
        text_.Needed(targets),
        [&](const ProgramValue& v) { return IsRowValue(v) && v.stage <= stage; }, names_);
  }

  // Tensors worth keeping: those every pass would read again.
  std::string LoadRow() {
    std::string arrays;
    std::string loads;
    for (int load : HeldLoads(program_, shape_.vector, text_)) {
      const ProgramValue& value = program_.values[static_cast<size_t>(load)];
      const std::string variable = text_.Variable(load);
      arrays += text_.PackType(value.dtype) + " " + variable + "[kItems];\n";
      loads += variable + "[item] = " + text_.LoadText(value, names_) + ";\n";
      held_.push_back(load);
    }
    if (held_.empty()) return "";
    std::string text = arrays + Loop(loads, 0);
    for (int load : held_) text_.Cache(load, text_.Variable(load) + "[item]");
    return text;
  }

  std::string ReducePass(int stage) {
    std::string accumulators;
    std::string arrays;
    std::string adds;
    std::string merges;
    std::vector<int> targets;
    std::vector<std::pair<std::string, int>> fills;
    for (int reduction : ReducedAt(stage)) {
      const ProgramValue& value = program_.values[static_cast<size_t>(reduction)];
      const std::string type = KernelText::AccumulatorType(value.reduce);
      const std::string variable = text_.Variable(reduction);
      accumulators += type + " " + variable + " = " + type + "::Empty();\n";
      targets.push_back(value.operands[0]);
      if (shape_.vector > 1) {
        arrays += "float " + variable + "_of[kVector];\n";
        adds += variable + ".Add(" + variable + "_of);\n";
      }
      fills.emplace_back(variable, value.operands[0]);
      merges += variable + " = " +
                (shape_.lanes < shape_.threads || shape_.threads == 32 ? "LanesReduce<kLanes>("
                                                                       : "BlockReduce<kThreads>(") +
                variable + ");\n";
    }
    auto store = [&](const std::string&) {
      std::string lines;
      for (const auto& [variable, operand] : fills) {
        lines += shape_.vector > 1 ? variable + "_of[k] = " + text_.Use(operand) + ";\n"
                                   : variable + ".Add(" + text_.Use(operand) + ");\n";
      }
      return lines;
    };
    return accumulators +
           Loop(arrays + text_.Lanes(text_.Needed(targets), names_, store, adds), stage) + merges;
  }

  std::string RowStores() {
    if (row_outputs_.empty()) return "";
    std::string stores;
    for (size_t k : row_outputs_) {
      const ProgramOutput& output = program_.outputs[k];
      stores += text_.OutputParameter(k) +
                "[row] = " + KernelText::Converted(text_.Use(output.value), output.dtype) + ";\n";
    }
    const bool several = row_outputs_.size() > 1;
    return several ? "if (lane == 0) {\n" + Indented(stores, 2) + "}\n"
                   : "if (lane == 0) " + stores;
  }

  // A row that is read again is walked backwards in every second pass: what was read last is what
  // the cache still holds.
  std::string Loop(const std::string& body, int pass) const {
    const std::string width =
        shape_.lanes == shape_.threads && shape_.threads > 32 ? "kThreads" : "kLanes";
    const bool uses_index = HasWord(body, "i");
    const bool held = shape_.items > 0;
    const bool guarded = program_.row_length % (int64_t{shape_.lanes} * shape_.vector) != 0;
    std::string inner;
    if (uses_index || HasWord(body, "col") || guarded) {
      inner += "const unsigned col = (item * " + width + " + lane) * kVector;\n";
    }
    // From here on only larger columns follow, or backwards smaller ones.
    const bool backwards = !held && pass % 2 == 1;
    if (guarded) {
      inner += std::string("if (col >= kColumns) ") + (backwards ? "continue;\n" : "break;\n");
    }
    if (uses_index) inner += "const " + text_.IndexType() + " i = row * kColumns + col;\n";
    const std::string head = backwards ? "for (int item = kItems - 1; item >= 0; --item) {\n"
                                       : "for (int item = 0; item < kItems; ++item) {\n";
    return std::string(held ? "#pragma unroll\n" : "#pragma unroll 4\n") + head +
           Indented(inner + body, 2) + "}\n";
  }

  static bool HasWord(const std::string& text, const std::string& word) {
    auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const size_t end = at + word.size();
      if ((at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]))) return true;
    }
    return false;
  }

  const Program& program_;
  Shape shape_;
  KernelText text_;
  IndexNames names_;
  int stages_ = 0;
  std::vector<size_t> row_outputs_;
  std::vector<size_t> element_outputs_;
  std::vector<int> held_;

 public:
  // Loads that differ from element to element of the whole space (no row or column broadcast).
  static std::vector<int> HeldLoads(const Program& program, int vector, const KernelText& text) {
    std::vector<int> loads;
    for (size_t v = 0; v < program.values.size(); ++v) {
      const ProgramValue& value = program.values[v];
      if (value.kind != Kind::kLoad || value.terms.empty()) continue;
      int64_t elements = 1;
      for (const IndexTerm& term : value.terms) elements *= term.mod;
      if (elements != program.elements) continue;
      if (vector == 1 || text.IsPacked(value)) loads.push_back(static_cast<int>(v));
    }
    return loads;
  }
};

}  // namespace

KernelCode EmitRows(const Program& program, const KernelStyle& style, bool canonical,
                    const KernelText::Aligned& aligned) {
  const int widest = KernelText::WidestVector(program, program.row_length);
  const int held = static_cast<int>(
      RowsEmitter::HeldLoads(program, widest, KernelText(program, widest, true, aligned)).size());
  const Shape shape = ChooseShape(program, style, held);
  RowsEmitter emitter(program, shape, canonical, aligned);

  std::map<std::string, std::string> values;
  values["body"] = emitter.Body();
  values["name"] = "{{name}}";
  values["parameters"] = emitter.text().Parameters();
  values["threads"] = std::to_string(shape.threads);
  values["lanes"] = std::to_string(shape.lanes);
  values["rows_per_block"] = std::to_string(shape.rows_per_block);
  values["vector"] = std::to_string(shape.vector);
  values["columns"] = std::to_string(program.row_length);
  values["index"] = emitter.text().IndexType();
  const int64_t width = int64_t{shape.lanes} * shape.vector;
  values["items"] =
      "constexpr int kItems = " + std::to_string((program.row_length + width - 1) / width) +
      (shape.items > 0 ? ";  // such groups per thread, kept in registers"
                       : ";  // such groups per thread, read again in every pass");
  values["block_index"] = KernelText::NeedsWideIndex(program)
                              ? "static_cast<unsigned long long>(blockIdx.x)"
                              : "blockIdx.x";
  const bool block = shape.lanes == shape.threads && shape.threads > 32;
  KernelCode code;
  code.text = FillTemplate(block ? "rows_block.cu" : "rows_lanes.cu", values);
  code.inputs = emitter.text().inputs();
  code.threads = shape.threads;
  code.grid = std::to_string(program.rows() / shape.rows_per_block);
  return code;
}

}  // namespace cudaagent::rewrite
