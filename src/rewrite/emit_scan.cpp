// Running sums and products along rows, with pointwise operators before and after.
#include <algorithm>

#include "rewrite/emit_kinds.h"
#include "rewrite/library.h"

namespace cudaagent::rewrite {

KernelCodes EmitScan(const Program& program, bool canonical, const KernelText::Aligned& aligned) {
  KernelText text(program, KernelText::WidestVector(program, program.row_length), canonical,
                  aligned);
  const int vector = text.vector();
  const int64_t vectors = program.row_length / vector;
  Knob threads = {"kThreads", "", {"SCAN_THREADS", {512, 1024, 256}}, {}};
  for (int64_t wide : threads.tune.values) {
    while (wide > 32 && wide / 2 >= vectors) wide /= 2;
    threads.values.push_back(wide);
  }
  Knob items = {"kItems", "such groups per thread and tile", {"SCAN_ITEMS", {4, 8, 2}}, {}};
  for (int64_t many : items.tune.values) {
    if (vector > 4) many /= 2;
    const int64_t most = (vectors + 255) / 256;
    items.values.push_back(std::max<int64_t>(1, std::min(many, most)));
  }

  IndexNames names;
  names.row = "row";
  names.column = "col";
  names.row_length = program.row_length;
  names.space = program.elements;
  int scan = 0;
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].kind == ProgramValue::Kind::kScan) scan = static_cast<int>(v);
  }
  const ProgramValue& what = program.values[static_cast<size_t>(scan)];
  const std::string k = vector == 1 ? "0" : program.reverse ? "kVector - 1 - k" : "k";
  text.Cache(scan, "scanned[item][" + k + "]");
  std::vector<size_t> outputs;
  std::vector<int> targets = {what.operands[0]};
  for (size_t output = 0; output < program.outputs.size(); ++output) {
    outputs.push_back(output);
    targets.push_back(program.outputs[output].value);
  }

  std::map<std::string, std::string> values;
  values["row_values"] = text.Hoist(
      text.Needed(targets),
      [&](const ProgramValue& v) { return v.granularity % program.row_length == 0; }, names);
  values["load"] = text.Lanes(
      text.Needed({what.operands[0]}), names,
      [&](const std::string&) {
        return "scanned[item][" + k + "] = " + text.Use(what.operands[0]) + ";\n";
      },
      "");
  values["store"] = ElementLoop(text, outputs, names, "i");
  values["place"] =
      "const unsigned at = tile + (item * kThreads + lane) * kVector;\n"
      "if (at >= kColumns) continue;\n";
  values["place"] += program.reverse ? "const unsigned col = kColumns - kVector - at;\n"
                                     : "const unsigned col = at;\n";
  values["place"] += "const " + text.IndexType() + " i = row * kColumns + col;\n";
  values["operation"] = what.text;
  values["name"] = "{{name}}";
  const std::string body = values["row_values"] + values["load"] + values["store"];
  values["parameters"] = text.Parameters(body);
  values["threads"] = threads.InKernel();
  values["vector"] = std::to_string(vector);
  values["columns"] = std::to_string(program.row_length);
  values["index"] = text.IndexType();

  KernelCode code;
  ApplyKnobs({threads, items}, values, code);
  code.text = FillTemplate("scan_rows.cu", values);
  code.inputs = text.Inputs(body);
  code.outputs = text.Outputs(body);
  code.threads = threads.InPlan();
  code.grid = std::to_string(program.rows());
  return {code};
}

}  // namespace cudaagent::rewrite
