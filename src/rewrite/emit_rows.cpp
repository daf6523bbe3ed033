#include <algorithm>

#include "rewrite/emit_kinds.h"
#include "rewrite/library.h"

namespace cudaagent::rewrite {
namespace {

using Kind = ProgramValue::Kind;

// How the threads of a row divide it among themselves.
struct Shape {
  Knob threads;  // of the block
  Knob lanes;    // that share a row
  int rows_per_block = 1;
  int vector = 1;
  bool held = false;   // the row stays in registers, else it is read in every pass
  bool block = false;  // all threads of a block share one row
};

constexpr int kMaxHeld = 32;  // elements of one tensor a thread keeps in registers

Shape LanesShape(const Program& program, int vector, int64_t vectors) {
  Shape shape;
  shape.vector = vector;
  shape.held = true;
  int lanes = 32;
  while (lanes > 4 && lanes / 2 >= vectors) lanes /= 2;
  shape.rows_per_block = 256 / lanes;
  while (program.rows() % shape.rows_per_block != 0) shape.rows_per_block /= 2;
  if (lanes * shape.rows_per_block % 32 != 0) {
    // Too few rows for whole warps of them: a warp per row.
    lanes = 32;
    shape.rows_per_block = 1;
  }
  shape.lanes = FixedKnob("kLanes", "threads that share a row", lanes);
  shape.threads = FixedKnob("kThreads", "", lanes * shape.rows_per_block);
  return shape;
}

// Threads for a row held in registers, about `groups` vectors each; 0 where it does not fit.
int HeldThreads(int64_t vectors, int64_t limit, int64_t groups) {
  for (int threads = 64; threads <= 1024; threads *= 2) {
    const int64_t items = (vectors + threads - 1) / threads;
    if (items > limit || (items > groups && threads < 1024)) continue;
    return threads;
  }
  return 0;
}

Shape ChooseShape(const Program& program, const KernelStyle& style, int held_tensors) {
  const int vector = KernelText::WidestVector(program, program.row_length);
  const int64_t vectors = program.row_length / vector;
  if (style.row_lanes && vectors <= 32 * 8 && program.rows() > 1) {
    return LanesShape(program, vector, vectors);
  }
  Shape shape;
  shape.vector = vector;
  shape.block = true;
  const int limit = std::max(1, kMaxHeld / vector / std::max(1, held_tensors));
  if (style.row_registers && HeldThreads(vectors, limit, 4) > 0) {
    shape.held = true;
    shape.threads = {"kThreads", "", {"ROW_GROUPS", {4, 2, 8}}, {}};
    for (int64_t groups : shape.threads.tune.values) {
      shape.threads.values.push_back(HeldThreads(vectors, limit, groups));
    }
    return shape;
  }
  shape.threads = {"kThreads", "", {"ROW_THREADS", {1024, 512, 256}}, {}};
  for (int64_t threads : shape.threads.tune.values) {
    while (threads > 64 && threads / 2 >= vectors) threads /= 2;
    shape.threads.values.push_back(threads);
  }
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
    if (shape_.held) body += LoadRow();
    for (int stage = 0; stage < stages_; ++stage) {
      body += ReducePass(stage);
      body += HoistRowValues(stage + 1);
    }
    body += RowStores();
    if (!element_outputs_.empty()) {
      body += Loop(ElementLoop(text_, element_outputs_, names_, "i"), stages_);
    }
    return body;
  }

  KernelText& text() { return text_; }

 private:
  bool IsRowValue(const ProgramValue& value) const {
    return value.granularity % program_.row_length == 0;
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
    const Accumulation sums = Accumulate(text_, ReductionsAt(program_, stage), names_);
    std::string merges;
    for (const std::string& name : sums.names) {
      merges += name + " = " + (shape_.block ? "BlockReduce<kThreads>(" : "LanesReduce<kLanes>(") +
                name + ");\n";
    }
    return sums.declarations + Loop(sums.body, stage) + merges;
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
    const bool uses_index = HasWord(body, "i");
    const Knob& width = shape_.block ? shape_.threads : shape_.lanes;
    const bool guarded = std::any_of(width.values.begin(), width.values.end(), [&](int64_t lanes) {
      return program_.row_length % (lanes * shape_.vector) != 0;
    });
    std::string inner;
    if (uses_index || HasWord(body, "col") || guarded) {
      inner += std::string("const unsigned col = (item * ") +
               (shape_.block ? "kThreads" : "kLanes") + " + lane) * kVector;\n";
    }
    // From here on only larger columns follow, or backwards smaller ones.
    const bool backwards = !shape_.held && pass % 2 == 1;
    if (guarded) {
      inner += std::string("if (col >= kColumns) ") + (backwards ? "continue;\n" : "break;\n");
    }
    if (uses_index) inner += "const " + text_.IndexType() + " i = row * kColumns + col;\n";
    const std::string head = backwards ? "for (int item = kItems - 1; item >= 0; --item) {\n"
                                       : "for (int item = 0; item < kItems; ++item) {\n";
    return std::string(shape_.held ? "#pragma unroll\n" : "#pragma unroll 4\n") + head +
           Indented(inner + body, 2) + "}\n";
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
      if (value.kind != Kind::kLoad || value.terms.empty() || !value.gathers.empty()) {
        continue;
      }
      int64_t elements = 1;
      for (const IndexTerm& term : value.terms) elements *= term.mod;
      if (elements != program.elements) continue;
      if (vector == 1 || text.IsPacked(value)) loads.push_back(static_cast<int>(v));
    }
    return loads;
  }
};

}  // namespace

KernelCodes EmitRows(const Program& program, const KernelStyle& style, bool canonical,
                     const KernelText::Aligned& aligned) {
  const int widest = KernelText::WidestVector(program, program.row_length);
  const int held = static_cast<int>(
      RowsEmitter::HeldLoads(program, widest, KernelText(program, widest, true, aligned)).size());
  const Shape shape = ChooseShape(program, style, held);
  RowsEmitter emitter(program, shape, canonical, aligned);

  std::map<std::string, std::string> values;
  values["body"] = emitter.Body();
  values["name"] = "{{name}}";
  values["parameters"] = emitter.text().Parameters(values["body"]);
  values["threads"] = shape.threads.InKernel();
  values["rows_per_block"] = std::to_string(shape.rows_per_block);
  values["vector"] = std::to_string(shape.vector);
  values["columns"] = std::to_string(program.row_length);
  values["index"] = emitter.text().IndexType();
  values["items"] = shape.held ? "kept in registers" : "read again in every pass";
  values["block_index"] = KernelText::NeedsWideIndex(program)
                              ? "static_cast<unsigned long long>(blockIdx.x)"
                              : "blockIdx.x";
  KernelCode code;
  ApplyKnobs({shape.block ? shape.threads : shape.lanes}, values, code);
  code.text = FillTemplate(shape.block ? "rows_block.cu" : "rows_lanes.cu", values);
  code.inputs = emitter.text().Inputs(values["body"]);
  code.outputs = emitter.text().Outputs(values["body"]);
  code.threads = shape.threads.InPlan();
  code.grid = std::to_string(program.rows() / shape.rows_per_block);
  return {code};
}

}  // namespace cudaagent::rewrite
