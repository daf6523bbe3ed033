#include "rewrite/emit.h"

#include <algorithm>

#include "rewrite/emit_kinds.h"

namespace cudaagent::rewrite {

std::vector<KernelCode> EmitKernels(const Program& program, const KernelStyle& style,
                                    const std::function<bool(const std::string&)>& aligned) {
  auto emit = [&](bool canonical) {
    switch (program.kind) {
      case ProgramKind::kRows:
        return IsSplit(program) ? EmitSplitRows(program, canonical, aligned)
                                : EmitRows(program, style, canonical, aligned);
      case ProgramKind::kColumns:
        return EmitColumns(program, style, canonical, aligned);
      case ProgramKind::kWindows:
        return EmitWindows(program, canonical, aligned);
      case ProgramKind::kScan:
        return EmitScan(program, canonical, aligned);
      case ProgramKind::kPointwise:
        break;
    }
    return EmitPointwise(program, canonical, aligned);
  };
  std::vector<KernelCode> codes = emit(false);
  const std::vector<KernelCode> canonical = emit(true);
  for (size_t k = 0; k < codes.size(); ++k) codes[k].canonical = canonical[k].text;
  return codes;
}

std::string ElementLoop(KernelText& text, const std::vector<size_t>& outputs,
                        const IndexNames& names, const std::string& at) {
  const Program& program = text.program();
  std::vector<int> targets;
  for (size_t k : outputs) targets.push_back(program.outputs[k].value);
  std::string packs;
  std::string stores;
  for (size_t k : outputs) {
    const std::string& parameter = text.OutputParameter(k);
    if (text.vector() == 1) continue;
    packs += text.PackType(program.outputs[k].dtype) + " " + parameter + "_pack;\n";
    stores += "Store(" + parameter + " + " + at + ", " + parameter + "_pack);\n";
  }
  auto store = [&](const std::string&) {
    std::string lines;
    for (size_t k : outputs) {
      const ProgramOutput& output = program.outputs[k];
      const std::string& parameter = text.OutputParameter(k);
      const std::string target =
          text.vector() == 1 ? parameter + "[" + at + "]" : parameter + "_pack.at[k]";
      lines += target + " = " + KernelText::Converted(text.Use(output.value), output.dtype) + ";\n";
    }
    return lines;
  };
  return packs + text.Lanes(text.Needed(targets), names, store, stores);
}

std::string TilesFor(int64_t extent, int64_t tile) {
  return std::to_string((extent + tile - 1) / tile);
}

bool Knob::IsFixed() const {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
}

std::string Knob::InKernel() const { return IsFixed() ? std::to_string(values[0]) : parameter; }

std::string Knob::InPlan() const {
  if (IsFixed()) return std::to_string(values[0]);
  if (values == tune.values) return tune.name;
  std::string text = "(";
  for (size_t v = 1; v < values.size(); ++v) {
    if (values[v] == values[0]) continue;
    text += tune.name + " == " + std::to_string(tune.values[v]) + " ? " +
            std::to_string(values[v]) + " : ";
  }
  return text + std::to_string(values[0]) + ")";
}

Knob FixedKnob(const std::string& parameter, const std::string& comment, int64_t value) {
  return {parameter, comment, {}, {value}};
}

void ApplyKnobs(const std::vector<Knob>& knobs, std::map<std::string, std::string>& values,
                KernelCode& code) {
  std::string parameters;
  std::string constants;
  for (const Knob& knob : knobs) {
    const std::string comment = knob.comment.empty() ? "" : ";  // " + knob.comment;
    if (knob.IsFixed()) {
      constants += "constexpr int " + knob.parameter + " = " + std::to_string(knob.values[0]) +
                   (comment.empty() ? ";" : comment) + "\n";
      continue;
    }
    if (!knob.comment.empty()) constants += "// " + knob.parameter + ": " + knob.comment + ".\n";
    parameters += (parameters.empty() ? "int " : ", int ") + knob.parameter;
    const std::string argument = knob.InPlan();
    const bool name = argument == knob.tune.name;
    code.template_arguments.push_back(name ? argument : "{" + argument + "}");
    code.tune.push_back(knob.tune);
  }
  values["template"] = parameters.empty() ? "" : "template <" + parameters + ">";
  values["constants"] = constants;
}

std::vector<int> ReductionsAt(const Program& program, int stage) {
  std::vector<int> reductions;
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ProgramValue& value = program.values[v];
    if (value.kind == ProgramValue::Kind::kReduce && value.stage == stage + 1) {
      reductions.push_back(static_cast<int>(v));
    }
  }
  return reductions;
}

Accumulation Accumulate(KernelText& text, const std::vector<int>& reductions,
                        const IndexNames& names) {
  Accumulation result;
  std::string arrays;
  std::string adds;
  std::vector<int> targets;
  struct Fill {
    std::string variable;
    int operand;
    bool position;
  };
  std::vector<Fill> fills;
  const bool vector = text.vector() > 1;
  for (int reduction : reductions) {
    const ProgramValue& value = text.program().values[static_cast<size_t>(reduction)];
    const std::string type = KernelText::AccumulatorType(value.reduce);
    const std::string variable = text.Variable(reduction);
    const bool position = KernelText::NeedsPosition(value.reduce);
    result.declarations += type + " " + variable + " = " + type + "::Empty();\n";
    result.names.push_back(variable);
    result.types.push_back(type);
    result.words.push_back(KernelText::AccumulatorWords(value.reduce));
    targets.push_back(value.operands[0]);
    if (vector) {
      arrays += "float " + variable + "_of[kVector];\n";
      adds += variable + ".Add(" + variable + "_of" + (position ? ", col" : "") + ");\n";
    }
    fills.push_back({variable, value.operands[0], position});
  }
  auto store = [&](const std::string&) {
    std::string lines;
    for (const Fill& fill : fills) {
      const std::string use = text.Use(fill.operand);
      lines += vector ? fill.variable + "_of[k] = " + use + ";\n"
                      : fill.variable + ".Add(" + use + (fill.position ? ", col" : "") + ");\n";
    }
    return lines;
  };
  result.body = arrays + text.Lanes(text.Needed(targets), names, store, adds);
  return result;
}

}  // namespace cudaagent::rewrite
