#include <algorithm>

#include "rewrite/emit_kinds.h"
#include "rewrite/library.h"

namespace cudaagent::rewrite {
namespace {

using Kind = ProgramValue::Kind;

constexpr int kLanes = 32;
constexpr int64_t kMaxHeld = 32;  // elements a thread keeps in registers
constexpr int64_t kSharedWords = 48 * 1024 / 4;

class ColumnsEmitter {
 public:
  ColumnsEmitter(const Program& program, const KernelStyle& style, bool canonical,
                 const KernelText::Aligned& aligned)
      : program_(program),
        text_(program, KernelText::WidestVector(program, program.inner), canonical, aligned),
        element_(text_.vector() > 1 ? "k" : "0") {
    names_.space = program.elements;
    outer_.index = "o";
    outer_.space = program.results();
    for (size_t k = 0; k < program.outputs.size(); ++k) {
      (program.outputs[k].per_row ? column_outputs_ : element_outputs_).push_back(k);
    }
    for (size_t v = 0; v < program.values.size(); ++v) {
      if (program.values[v].kind == Kind::kReduce) reductions_.push_back(static_cast<int>(v));
    }
    ChooseSlices(style);
  }

  KernelCodes Emit() {
    std::map<std::string, std::string> values;
    if (held_) Hold(values);
    Reduce(values);
    const bool elements = !element_outputs_.empty();
    if (!column_outputs_.empty()) {
      const std::string stores = "const " + text_.IndexType() + " o = group * kInner + column;\n" +
                                 ElementLoop(text_, column_outputs_, outer_, "o");
      values["results"] = elements ? "if (slice == 0) {\n" + Indented(stores, 2) + "}\n" : stores;
    }
    if (elements) values["elements"] = Loop(ElementLoop(text_, element_outputs_, names_, "i"));
    values["idle"] = elements ? "" : "slice > 0 || ";
    values["name"] = "{{name}}";
    values["vector"] = std::to_string(text_.vector());
    values["reduced"] = std::to_string(program_.reduced);
    values["inner"] = std::to_string(program_.inner);
    values["index"] = text_.IndexType();
    values["threads"] = slices_.InKernel() + " * 32";
    values["items"] =
        held_ ? "constexpr int kItems = (kReduced + kSlices - 1) / kSlices;  // kept in registers"
              : "";
    std::string body;
    for (const char* part : {"load", "reduce", "results", "elements"}) body += values[part];
    values.try_emplace("held");
    values["parameters"] = text_.Parameters(body);

    const int64_t width = int64_t{kLanes} * text_.vector();
    const int64_t tiles = (program_.inner + width - 1) / width;
    KernelCode code;
    ApplyKnobs({slices_}, values, code);
    code.text = FillTemplate("columns.cu", values);
    code.inputs = text_.Inputs(body);
    code.outputs = text_.Outputs(body);
    code.threads =
        slices_.IsFixed() ? std::to_string(32 * slices_.values[0]) : "32 * " + slices_.InPlan();
    code.grid = std::to_string(program_.elements / program_.reduced / program_.inner * tiles);
    return {code};
  }

 private:
  // How many threads share a column. Elements that are needed again after the reduction stay in
  // registers where they fit.
  void ChooseSlices(const KernelStyle& style) {
    int64_t words = 0;
    for (int v : reductions_) {
      words += KernelText::AccumulatorWords(program_.values[static_cast<size_t>(v)].reduce);
    }
    loads_ = HeldLoads();
    slices_ = {"kSlices", "threads that share a column", {"COLUMN_SLICES", {8, 16, 4, 32}}, {}};
    for (int64_t slices : slices_.tune.values) {
      while (slices > 1 && (slices / 2 >= program_.reduced ||
                            slices * kLanes * text_.vector() * words > kSharedWords)) {
        slices /= 2;
      }
      slices_.values.push_back(slices);
    }
    auto fits = [&](int64_t slices) {
      const int64_t items = (program_.reduced + slices - 1) / slices;
      return items * text_.vector() * static_cast<int64_t>(loads_.size()) <= kMaxHeld;
    };
    auto first = std::find_if(slices_.values.begin(), slices_.values.end(), fits);
    held_ = style.row_registers && !element_outputs_.empty() && !loads_.empty() &&
            first != slices_.values.end();
    if (!held_) return;
    const int64_t otherwise = *first;
    for (int64_t& slices : slices_.values) {
      if (!fits(slices)) slices = otherwise;
    }
  }

  // Loads that differ from element to element of the whole space.
  std::vector<int> HeldLoads() const {
    std::vector<int> loads;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const ProgramValue& value = program_.values[v];
      if (value.kind != Kind::kLoad || value.terms.empty() || !value.gathers.empty()) continue;
      int64_t elements = 1;
      for (const IndexTerm& term : value.terms) elements *= term.mod;
      if (elements != program_.elements || value.outer) continue;
      if (text_.vector() == 1 || text_.IsPacked(value)) loads.push_back(static_cast<int>(v));
    }
    return loads;
  }

  std::string ForLanes(const std::string& line) const {
    if (text_.vector() == 1) return line;
    return "#pragma unroll\nfor (int k = 0; k < kVector; ++k) " + line;
  }

  std::string Loop(const std::string& body) const {
    const std::string index =
        "const " + text_.IndexType() + " i = (group * kReduced + r) * kInner + column;\n";
    if (!held_) {
      return "#pragma unroll 8\nfor (unsigned r = slice; r < kReduced; r += kSlices) {\n" +
             Indented(index + body, 2) + "}\n";
    }
    return "#pragma unroll\nfor (int item = 0; item < kItems; ++item) {\n"
           "  const unsigned r = slice + item * kSlices;\n"
           "  if (r >= kReduced) break;\n" +
           Indented(index + body, 2) + "}\n";
  }

  void Hold(std::map<std::string, std::string>& values) {
    std::string loads;
    for (int load : loads_) {
      const ProgramValue& value = program_.values[static_cast<size_t>(load)];
      const std::string variable = text_.Variable(load);
      values["held"] += text_.PackType(value.dtype) + " " + variable + "[kItems];\n";
      loads += variable + "[item] = " + text_.LoadText(value, names_) + ";\n";
    }
    values["load"] = Loop(loads);
    for (int load : loads_) text_.Cache(load, text_.Variable(load) + "[item]");
  }

  void Reduce(std::map<std::string, std::string>& values) {
    std::string accumulators;
    std::string exchange;
    std::string first;
    std::string merge;
    std::vector<int> targets;
    for (int reduction : reductions_) {
      const ProgramValue& value = program_.values[static_cast<size_t>(reduction)];
      const std::string type = KernelText::AccumulatorType(value.reduce);
      const std::string name = text_.Variable(reduction);
      const std::string own = name + "[" + element_ + "]";
      const std::string place = "lane * kVector + " + element_;
      accumulators +=
          type + " " + name + "[kVector];\n" + ForLanes(own + " = " + type + "::Empty();\n");
      exchange += "__shared__ " + type + " " + name + "_of[kSlices][kLanes * kVector];\n" +
                  ForLanes(name + "_of[slice][" + place + "] = " + own + ";\n");
      first += ForLanes(own + " = " + name + "_of[0][" + place + "];\n");
      merge += ForLanes(own + ".Merge(" + name + "_of[other][" + place + "]);\n");
      targets.push_back(value.operands[0]);
    }
    auto add = [&](const std::string&) {
      std::string lines;
      for (int reduction : reductions_) {
        const ProgramValue& value = program_.values[static_cast<size_t>(reduction)];
        lines += text_.Variable(reduction) + "[" + element_ + "].Add(" +
                 text_.Use(value.operands[0]) +
                 (KernelText::NeedsPosition(value.reduce) ? ", r" : "") + ");\n";
      }
      return lines;
    };
    values["accumulators"] = accumulators;
    values["reduce"] = Loop(text_.Lanes(text_.Needed(targets), names_, add, ""));
    values["exchange"] = exchange + "__syncthreads();";
    values["merge"] =
        first + "for (int other = 1; other < kSlices; ++other) {\n" + Indented(merge, 2) + "}\n";
  }

  const Program& program_;
  KernelText text_;
  std::string element_;  // of an accumulator's array
  IndexNames names_;
  IndexNames outer_;
  Knob slices_;
  bool held_ = false;
  std::vector<int> loads_;
  std::vector<int> reductions_;
  std::vector<size_t> column_outputs_;
  std::vector<size_t> element_outputs_;
};

}  // namespace

KernelCodes EmitColumns(const Program& program, const KernelStyle& style, bool canonical,
                        const KernelText::Aligned& aligned) {
  return ColumnsEmitter(program, style, canonical, aligned).Emit();
}

}  // namespace cudaagent::rewrite
