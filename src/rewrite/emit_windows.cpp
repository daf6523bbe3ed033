// Pools: a reduction over the window of every result. Operators before it are computed for each
// element of each window.
#include <algorithm>

#include "rewrite/emit_kinds.h"
#include "rewrite/library.h"

namespace cudaagent::rewrite {
namespace {

struct Loops {
  std::string place;  // coordinates of the result
  std::string head;   // of the loops over the window, down to the element's index
  std::string tail;
  int depth = 0;
};

Loops WindowLoops(const Window& window, const std::string& index) {
  static const char* kNames[3] = {"d", "h", "w"};
  Loops loops;
  int64_t below = 1;
  std::array<bool, 3> present{};
  int64_t volume = 1;
  for (int k = 3; k-- > 0;) {
    const auto at = static_cast<size_t>(k);
    present[at] = window.in[at] > 1 || window.padding[at] > 0;
    volume *= window.kernel[at];
    if (!present[at]) continue;
    loops.place.insert(0, std::string("const int out_") + kNames[at] + " = o" +
                              (below > 1 ? " / " + std::to_string(below) : "") + " % " +
                              std::to_string(window.out[at]) + ";\n");
    below *= window.out[at];
  }
  loops.place += "const " + index + " outer = o / " + std::to_string(below) + ";\n";
  constexpr int64_t kUnrolled = 32;
  std::string offset = "outer";
  std::string indent;
  for (size_t at = 0; at < 3; ++at) {
    if (!present[at]) continue;
    const std::string name = kNames[at];
    const std::string step = "step_" + name;
    if (volume <= kUnrolled) loops.head += "#pragma unroll\n";
    loops.head += indent + "for (int " + step + " = 0; " + step + " < " +
                  std::to_string(window.kernel[at]) + "; ++" + step + ") {\n";
    indent += "  ";
    auto times = [](const std::string& text, int64_t factor) {
      return factor == 1 ? text : text + " * " + std::to_string(factor);
    };
    loops.head += indent + "const int " + name + " = " + times("out_" + name, window.stride[at]) +
                  " + " + times(step, window.dilation[at]);
    if (window.padding[at] > 0) loops.head += " - " + std::to_string(window.padding[at]);
    loops.head += ";\n";
    if (window.padding[at] > 0) {
      loops.head += indent + "if (" + name + " < 0 || " + name +
                    " >= " + std::to_string(window.in[at]) + ") continue;\n";
    }
    offset = (offset == "outer" ? offset : "(" + offset + ")") + " * " +
             std::to_string(window.in[at]) + " + " + name;
    ++loops.depth;
  }
  loops.head += indent + "const " + index + " i = " + offset + ";\n";
  for (int level = loops.depth; level-- > 0;) {
    loops.tail += std::string(static_cast<size_t>(level) * 2, ' ') + "}\n";
  }
  return loops;
}

}  // namespace

KernelCodes EmitWindows(const Program& program, bool canonical,
                        const KernelText::Aligned& aligned) {
  KernelText text(program, 1, canonical, aligned);
  IndexNames names;
  names.space = program.elements;
  IndexNames outer;
  outer.index = "o";
  outer.space = program.results();
  std::vector<size_t> outputs;
  for (size_t k = 0; k < program.outputs.size(); ++k) outputs.push_back(k);

  const Accumulation sums = Accumulate(text, ReductionsAt(program, 0), names);
  const Loops loops = WindowLoops(program.window, text.IndexType());
  Knob threads = {"kThreads", "", {"POOL_BLOCK", {256, 128, 512}}, {256, 128, 512}};

  std::map<std::string, std::string> values;
  values["accumulators"] = sums.declarations;
  values["place"] = loops.place;
  values["loops"] = loops.head + Indented(sums.body, 2 * loops.depth) + loops.tail;
  values["stores"] = ElementLoop(text, outputs, outer, "o");
  values["name"] = "{{name}}";
  const std::string body = values["loops"] + values["stores"];
  values["parameters"] = text.Parameters(body);
  values["threads"] = threads.InKernel();
  values["index"] = text.IndexType();
  values["results"] = std::to_string(program.results());
  values["block_index"] = KernelText::NeedsWideIndex(program)
                              ? "static_cast<unsigned long long>(blockIdx.x)"
                              : "blockIdx.x";
  KernelCode code;
  ApplyKnobs({threads}, values, code);
  code.text = FillTemplate("windows.cu", values);
  code.inputs = text.Inputs(body);
  code.outputs = text.Outputs(body);
  code.threads = threads.InPlan();
  code.grid = "ceil_div(" + std::to_string(program.results()) + ", " + threads.InPlan() + ")";
  return {code};
}

}  // namespace cudaagent::rewrite
