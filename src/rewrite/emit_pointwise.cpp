#include <algorithm>

#include "rewrite/emit_kinds.h"
#include "rewrite/library.h"

namespace cudaagent::rewrite {

KernelCodes EmitPointwise(const Program& program, bool canonical,
                          const KernelText::Aligned& aligned) {
  KernelText text(program, KernelText::WidestVector(program, program.elements), canonical, aligned);
  const int64_t vectors = program.elements / text.vector();
  // A small tensor is spread over the whole device rather than piled on few blocks.
  constexpr int64_t kManyVectors = 264 * 1024;
  const std::string what = "such groups per thread, loaded before the first is used";
  Knob threads = FixedKnob("kThreads", "", 256);
  Knob unroll = FixedKnob("kUnroll", what, 1);
  if (vectors >= kManyVectors) {
    threads = {"kThreads", "", {"BLOCK", {256, 512}}, {256, 512}};
    unroll = {"kUnroll", what, {"UNROLL", {2, 4, 1}}, {2, 4, 1}};
  }
  const int64_t largest = *std::max_element(threads.values.begin(), threads.values.end()) *
                          *std::max_element(unroll.values.begin(), unroll.values.end());

  IndexNames names;
  names.space = program.elements;
  std::vector<size_t> outputs;
  std::vector<int> targets;
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    outputs.push_back(k);
    targets.push_back(program.outputs[k].value);
  }
  std::map<std::string, std::string> values;
  values["kernel_values"] = text.Hoist(
      text.Needed(targets), [](const ProgramValue& v) { return v.granularity == 0; }, names);
  values["body"] = ElementLoop(text, outputs, names, "i");
  values["name"] = "{{name}}";
  const std::string body = values["kernel_values"] + values["body"];
  values["parameters"] = text.Parameters(body);
  values["threads"] = threads.InKernel();
  values["vector"] = std::to_string(text.vector());
  values["index"] = text.IndexType();
  const bool wide = KernelText::NeedsWideIndex(program);
  values["block_index"] = wide ? "static_cast<unsigned long long>(blockIdx.x)" : "blockIdx.x";
  // All sizes are powers of two: what the largest divides, all divide.
  const bool exact = vectors % largest == 0;
  values["bound"] = exact ? ""
                          : "constexpr " + text.IndexType() +
                                " kElements = " + std::to_string(program.elements) + ";";
  values["guard"] = exact ? "" : "if (i >= kElements) break;";

  KernelCode code;
  ApplyKnobs({threads, unroll}, values, code);
  code.text = FillTemplate("pointwise.cu", values);
  code.inputs = text.Inputs(body);
  code.outputs = text.Outputs(body);
  code.threads = threads.InPlan();
  code.grid = threads.IsFixed() && unroll.IsFixed()
                  ? TilesFor(vectors, largest)
                  : "ceil_div(" + std::to_string(vectors) + ", " + threads.InPlan() + " * " +
                        unroll.InPlan() + ")";
  return {code};
}

}  // namespace cudaagent::rewrite
