#include "rewrite/emit.h"

#include "rewrite/emit_kinds.h"

namespace cudaagent::rewrite {

KernelCode EmitKernel(const Program& program, const KernelStyle& style,
                      const std::function<bool(const std::string&)>& aligned) {
  auto emit = [&](bool canonical) {
    switch (program.kind) {
      case ProgramKind::kRows:
        return EmitRows(program, style, canonical, aligned);
      case ProgramKind::kColumns:
        return EmitColumns(program, style, canonical, aligned);
      case ProgramKind::kPointwise:
        break;
    }
    return EmitPointwise(program, style, canonical, aligned);
  };
  KernelCode code = emit(false);
  code.canonical = emit(true).text;
  for (const ProgramOutput& output : program.outputs) code.outputs.push_back(output.tensor);
  return code;
}

std::string ElementLoop(KernelText& text, const std::vector<size_t>& outputs,
                        const IndexNames& names) {
  const Program& program = text.program();
  std::vector<int> targets;
  for (size_t k : outputs) targets.push_back(program.outputs[k].value);
  std::string packs;
  std::string stores;
  for (size_t k : outputs) {
    const std::string& parameter = text.OutputParameter(k);
    const std::string at = program.kind == ProgramKind::kColumns ? "o" : "i";
    if (text.vector() == 1) continue;
    packs += text.PackType(program.outputs[k].dtype) + " " + parameter + "_pack;\n";
    stores += "Store(" + parameter + " + " + at + ", " + parameter + "_pack);\n";
  }
  auto store = [&](const std::string&) {
    std::string lines;
    for (size_t k : outputs) {
      const ProgramOutput& output = program.outputs[k];
      const std::string& parameter = text.OutputParameter(k);
      const std::string at = program.kind == ProgramKind::kColumns ? "o" : "i";
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

}  // namespace cudaagent::rewrite
