// Few long rows: several blocks per row. One kernel per reduction leaves what each block found in a
// buffer; the next one puts the parts together, always in the same order.
#include <algorithm>

#include "rewrite/emit_kinds.h"
#include "rewrite/library.h"

namespace cudaagent::rewrite {
namespace {

using Kind = ProgramValue::Kind;

constexpr int kThreads = 256;

class SplitEmitter {
 public:
  SplitEmitter(const Program& program, bool canonical, const KernelText::Aligned& aligned)
      : program_(program),
        text_(program, KernelText::WidestVector(program, program.row_length), canonical, aligned) {
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
    // Parts of a row: no more than give every thread something to do.
    const int64_t vectors = program.row_length / text_.vector();
    const int64_t most = std::max<int64_t>(1, (vectors + kThreads - 1) / kThreads);
    parts_ = {"kParts", "blocks that share a row", {"SPLIT_BLOCKS", {1056, 2112, 528}}, {}};
    for (int64_t blocks : parts_.tune.values) {
      parts_.values.push_back(std::min(most, (blocks + program.rows() - 1) / program.rows()));
    }
  }

  KernelCodes Emit() {
    KernelCodes codes;
    std::string known = HoistRowValues(0);
    for (int stage = 0; stage < stages_; ++stage) {
      const Accumulation sums = Accumulate(text_, ReductionsAt(program_, stage), names_);
      std::string body = known + sums.declarations + Loop(sums.body);
      std::string stores;
      std::vector<Scratch> made;
      for (size_t k = 0; k < sums.names.size(); ++k) {
        const std::string buffer = sums.names[k] + "_parts";
        body += sums.names[k] + " = BlockReduce<" + std::to_string(kThreads) + ">(" +
                sums.names[k] + ");\n";
        stores += buffer + "[row * kParts + part] = " + sums.names[k] + ";\n";
        made.push_back({"parts" + std::to_string(stage) + "_" + std::to_string(k),
                        TimesParts(program_.rows() * sums.words[k])});
        merges_.push_back({sums.names[k], sums.types[k], buffer, made.back()});
      }
      body += "if (lane == 0) {\n" + Indented(stores, 2) + "}\n";
      codes.push_back(Finish(body, "part" + std::to_string(stage + 1), true));
      for (size_t k = merges_.size() - sums.names.size(); k < merges_.size(); ++k) {
        known += "const " + merges_[k].type + " " + merges_[k].variable + " = MergeParts<" +
                 std::to_string(kThreads) + ", kParts>(" + merges_[k].buffer +
                 " + row * kParts);\n";
      }
      known += HoistRowValues(stage + 1);
    }
    std::string body = known;
    const bool elements = !element_outputs_.empty();
    if (!row_outputs_.empty()) {
      std::string stores;
      for (size_t k : row_outputs_) {
        const ProgramOutput& output = program_.outputs[k];
        stores += text_.OutputParameter(k) +
                  "[row] = " + KernelText::Converted(text_.Use(output.value), output.dtype) + ";\n";
      }
      body += std::string(elements ? "if (part == 0 && lane == 0) {\n" : "if (lane == 0) {\n") +
              Indented(stores, 2) + "}\n";
    }
    if (elements) body += Loop(ElementLoop(text_, element_outputs_, names_, "i"));
    codes.push_back(Finish(body, "", elements));
    return codes;
  }

 private:
  struct Merge {
    std::string variable, type, buffer;
    Scratch scratch;
  };

  // An expression of the plan.
  std::string TimesParts(int64_t number) const {
    if (parts_.IsFixed()) return std::to_string(number * parts_.values[0]);
    return std::to_string(number) + " * " + parts_.InPlan();
  }

  std::string HoistRowValues(int stage) {
    std::vector<int> targets;
    for (const ProgramOutput& output : program_.outputs) targets.push_back(output.value);
    for (const ProgramValue& value : program_.values) {
      if (value.kind == Kind::kReduce) targets.push_back(value.operands[0]);
    }
    return text_.Hoist(
        text_.Needed(targets),
        [&](const ProgramValue& v) {
          return v.granularity % program_.row_length == 0 && v.stage <= stage;
        },
        names_);
  }

  std::string Loop(const std::string& body) const {
    std::string inner;
    if (HasWord(body, "i")) {
      inner = "const " + text_.IndexType() + " i = row * kColumns + col;\n";
    }
    return "#pragma unroll 4\nfor (unsigned col = first + lane * kVector; col < last; "
           "col += kThreads * kVector) {\n" +
           Indented(inner + body, 2) + "}\n";
  }

  // `parted`: every part of a row has a block; else one block finishes the row.
  KernelCode Finish(const std::string& body, const std::string& suffix, bool parted) {
    KernelCode code;
    std::vector<std::string> buffers;
    for (const Merge& merge : merges_) {
      if (!HasWord(body, merge.buffer)) continue;
      const bool written = body.find(merge.buffer + "[") != std::string::npos;
      buffers.push_back((written ? "" : "const ") + merge.type + "* __restrict__ " + merge.buffer);
      code.scratch.push_back(merge.scratch);
    }
    std::map<std::string, std::string> values;
    values["body"] = body;
    values["name"] = "{{name}}";
    values["parameters"] = text_.Parameters(body, buffers);
    values["vector"] = std::to_string(text_.vector());
    values["columns"] = std::to_string(program_.row_length);
    values["index"] = text_.IndexType();
    ApplyKnobs({FixedKnob("kThreads", "", kThreads), parts_}, values, code);
    code.text = FillTemplate(parted ? "rows_split.cu" : "rows_finish.cu", values);
    code.suffix = suffix;
    code.inputs = text_.Inputs(body);
    code.outputs = text_.Outputs(body);
    code.threads = std::to_string(kThreads);
    code.grid = parted ? TimesParts(program_.rows()) : std::to_string(program_.rows());
    return code;
  }

  const Program& program_;
  KernelText text_;
  IndexNames names_;
  Knob parts_;
  int stages_ = 0;
  std::vector<size_t> row_outputs_;
  std::vector<size_t> element_outputs_;
  std::vector<Merge> merges_;
};

}  // namespace

bool IsSplit(const Program& program) {
  // Fewer blocks than a device holds, and enough in each row for more.
  constexpr int64_t kFewRows = 264;
  constexpr int64_t kLongRow = 32768;
  return program.kind == ProgramKind::kRows && program.rows() < kFewRows &&
         program.row_length > kLongRow;
}

KernelCodes EmitSplitRows(const Program& program, bool canonical,
                          const KernelText::Aligned& aligned) {
  return SplitEmitter(program, canonical, aligned).Emit();
}

}  // namespace cudaagent::rewrite
