
#include "rewrite/emit_kinds.h"
#include "rewrite/library.h"

namespace cudaagent::rewrite {

KernelCode EmitColumns(const Program& program, const KernelStyle& style, bool canonical,
                       const KernelText::Aligned& aligned) {
  using Kind = ProgramValue::Kind;
  KernelText text(program, KernelText::WidestVector(program, program.inner), canonical, aligned);
  const int vector = text.vector();
  const int lanes = style.column_lanes;
  const int threads = lanes * style.column_slices;
  const std::string k = vector > 1 ? "k" : "0";
  auto for_lanes = [&](const std::string& line) {
    if (vector == 1) return line;
    return "#pragma unroll\nfor (int k = 0; k < kVector; ++k) " + line;
  };

  IndexNames names;
  names.space = program.elements;
  std::string accumulators;
  std::string exchange;
  std::string merge;
  std::vector<int> targets;
  std::vector<std::pair<std::string, int>> fills;
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ProgramValue& value = program.values[v];
    if (value.kind != Kind::kReduce) continue;
    const std::string type = KernelText::AccumulatorType(value.reduce);
    const std::string name = text.Variable(static_cast<int>(v));
    const std::string shared = name + "_of";
    accumulators += type + " " + name + "[kVector];\n" +
                    for_lanes(name + "[" + k + "] = " + type + "::Empty();\n");
    exchange +=
        "__shared__ " + type + " " + shared + "[kSlices][kLanes * kVector];\n" +
        for_lanes(shared + "[slice][lane * kVector + " + k + "] = " + name + "[" + k + "];\n");
    merge +=
        for_lanes(name + "[" + k + "].Merge(" + shared + "[other][lane * kVector + " + k + "]);\n");
    targets.push_back(value.operands[0]);
    fills.emplace_back(name, value.operands[0]);
  }
  auto add = [&](const std::string&) {
    std::string lines;
    for (const auto& [name, operand] : fills) {
      lines += name + "[" + k + "].Add(" + text.Use(operand) + ");\n";
    }
    return lines;
  };
  std::vector<size_t> outputs;
  for (size_t each = 0; each < program.outputs.size(); ++each) outputs.push_back(each);
  IndexNames outer;
  outer.index = "o";
  outer.space = program.results();

  std::map<std::string, std::string> values;
  values["accumulators"] = accumulators;
  values["body"] = text.Lanes(text.Needed(targets), names, add, "");
  values["exchange"] = exchange + "__syncthreads();";
  values["merge"] =
      "for (int other = 1; other < kSlices; ++other) {\n" + Indented(merge, 2) + "}\n";
  values["results"] = ElementLoop(text, outputs, outer);
  values["name"] = "{{name}}";
  values["parameters"] = text.Parameters();
  values["threads"] = std::to_string(threads);
  values["lanes"] = std::to_string(lanes);
  values["slices"] = std::to_string(style.column_slices);
  values["vector"] = std::to_string(vector);
  values["reduced"] = std::to_string(program.reduced);
  values["inner"] = std::to_string(program.inner);
  values["index"] = text.IndexType();
  values["unroll"] = "8";

  const int64_t tiles = (program.inner + lanes * vector - 1) / (lanes * vector);
  const int64_t groups = program.elements / program.reduced / program.inner;
  KernelCode code;
  code.text = FillTemplate("columns.cu", values);
  code.inputs = text.inputs();
  code.threads = threads;
  code.grid = std::to_string(groups * tiles);
  return code;
}

}  // namespace cudaagent::rewrite
