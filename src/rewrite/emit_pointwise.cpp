#include <algorithm>

#include "rewrite/emit_kinds.h"
#include "rewrite/library.h"

namespace cudaagent::rewrite {

KernelCode EmitPointwise(const Program& program, const KernelStyle& style, bool canonical,
                         const KernelText::Aligned& aligned) {
  KernelText text(program, KernelText::WidestVector(program, program.elements), canonical, aligned);
  const int64_t vectors = program.elements / text.vector();
  // A small tensor is spread over the whole device rather than piled on few blocks.
  constexpr int64_t kManyVectors = 264 * 1024;
  const int unroll = vectors < kManyVectors ? 1 : style.pointwise_unroll;
  const bool persistent = style.pointwise_persistent && vectors >= kManyVectors;
  const int64_t tile = int64_t{style.pointwise_threads} * unroll;

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
  values["body"] = ElementLoop(text, outputs, names);
  values["name"] = "{{name}}";
  values["parameters"] = text.Parameters();
  values["threads"] = std::to_string(style.pointwise_threads);
  values["vector"] = std::to_string(text.vector());
  values["unroll"] = std::to_string(unroll);
  values["index"] = text.IndexType();
  values["elements"] = std::to_string(program.elements);
  const bool wide = KernelText::NeedsWideIndex(program);
  values["block_index"] = wide ? "static_cast<unsigned long long>(blockIdx.x)" : "blockIdx.x";
  const bool exact = vectors % tile == 0;
  values["bound"] =
      exact ? "" : "constexpr " + text.IndexType() + " kElements = " + values["elements"] + ";";
  values["guard"] = exact ? "" : "if (i >= kElements) break;";

  KernelCode code;
  code.text = FillTemplate(persistent ? "pointwise_persistent.cu" : "pointwise.cu", values);
  code.inputs = text.inputs();
  code.threads = style.pointwise_threads;
  code.grid = persistent ? "device.sms * " + std::to_string(2048 / style.pointwise_threads)
                         : TilesFor(vectors, tile);
  return code;
}

}  // namespace cudaagent::rewrite
