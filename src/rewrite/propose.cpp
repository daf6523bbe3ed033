#include "rewrite/propose.h"

#include <algorithm>
#include <set>

#include "rewrite/conv_bias.h"
#include "rewrite/decompose.h"
#include "rewrite/emit.h"
#include "rewrite/init.h"
#include "rewrite/library.h"
#include "rewrite/plan_writer.h"
#include "rewrite/regions.h"

namespace cudaagent::rewrite {
namespace {

using graph::Node;
using nlohmann::ordered_json;

std::string ShortOp(const std::string& op) {
  std::string name = op.compare(0, 6, "aten::") == 0 ? op.substr(6) : op;
  while (!name.empty() && name.back() == '_') name.pop_back();
  return Identifier(name);
}

// "batch_norm_relu_kernel": the first few operators of what it computes.
std::string KernelName(const Program& program) {
  constexpr size_t kNamed = 4;
  std::string name;
  std::vector<std::string> named;
  for (const std::string& op : program.nodes) {
    const std::string part = ShortOp(op);
    if (!named.empty() && named.back() == part) continue;
    if (named.size() == kNamed) {
      name += "etc_";
      break;
    }
    named.push_back(part);
    name += part + "_";
  }
  return name + "kernel";
}

// "// batch_norm, relu: one thread ..." lines above a kernel.
std::string KernelComment(const Program& program) {
  std::string list;
  std::string line = "//";
  for (size_t n = 0; n < program.nodes.size(); ++n) {
    std::string part = " " + ShortOp(program.nodes[n]) + (n + 1 < program.nodes.size() ? "," : "");
    if (line.size() + part.size() > 98) {
      list += line + "\n";
      line = "//";
    }
    line += part;
  }
  list += line;
  const std::string elements = std::to_string(program.elements);
  switch (program.kind) {
    case ProgramKind::kPointwise:
      return list + ": " + elements + " elements.\n";
    case ProgramKind::kRows:
      return list + ": " + std::to_string(program.rows()) + " rows of " +
             std::to_string(program.row_length) + " elements.\n";
    case ProgramKind::kColumns:
      return list + ": " + std::to_string(program.results()) + " results, each of " +
             std::to_string(program.reduced) + " elements that are " +
             std::to_string(program.inner) + " apart.\n";
    case ProgramKind::kWindows:
      return list + ": " + std::to_string(program.results()) + " windows.\n";
    case ProgramKind::kScan:
      return list + ": along " + std::to_string(program.rows()) + " rows of " +
             std::to_string(program.row_length) + " elements.\n";
  }
  return list + "\n";
}

// Whether a tensor begins where an allocation does: views that cut a piece out of another may not.
class Alignment {
 public:
  explicit Alignment(const NormalGraph& graph) {
    static const std::set<std::string> kWhole = {"aten::view",
                                                 "aten::reshape",
                                                 "aten::flatten",
                                                 "aten::unflatten",
                                                 "aten::unsqueeze",
                                                 "aten::squeeze",
                                                 "aten::expand",
                                                 "aten::expand_as",
                                                 "aten::transpose",
                                                 "aten::permute",
                                                 "aten::t",
                                                 "aten::numpy_T",
                                                 "aten::contiguous",
                                                 "aten::to",
                                                 "aten::detach",
                                                 "aten::alias",
                                                 "aten::broadcast_tensors"};
    for (const Node& node : graph.nodes) {
      bool cut = false;
      if (graph::MayAlias(node)) {
        cut = !kWhole.count(node.op);
        for (const std::string& ref : graph::RefsOf(node)) cut = cut || cut_.count(ref) > 0;
      }
      if (!cut) continue;
      for (const TensorInfo& info : node.outputs) cut_.insert(info.name);
    }
  }
  bool operator()(const std::string& ref) const { return !cut_.count(ref); }

 private:
  std::set<std::string> cut_;
};

class CandidateWriter {
 public:
  CandidateWriter(const NormalGraph& graph, const ProblemInfo& problem, const Partition& partition,
                  const KernelStyle& style)
      : graph_(graph),
        problem_(problem),
        partition_(partition),
        style_(style),
        plan_(graph, problem),
        aligned_(graph) {}

  std::string Write() {
    RequireSizes();
    for (const Unit& unit : partition_.order) {
      if (unit.region < 0) {
        plan_.AddOp(graph_.nodes[unit.node]);
      } else {
        AddKernel(partition_.regions[static_cast<size_t>(unit.region)].program);
      }
    }
    std::string text = plan_.Finish();
    text += "// Written by cudaagent's built-in rules (docs/builtin_proposer.md).\n";
    text += DescribeProblem(problem_) + "\n" + LibraryPieces(code_) + code_;
    while (text.size() > 1 && text[text.size() - 2] == '\n') text.pop_back();
    return text;
  }

 private:
  // The kernels hold the sizes as constants.
  void RequireSizes() {
    for (const TensorInfo& info : problem_.inputs) {
      std::string condition;
      for (size_t d = 0; d < info.shape.size(); ++d) {
        condition += (d ? " && " : "") + info.name + ".size(" + std::to_string(d) +
                     ") == " + std::to_string(info.shape[d]);
      }
      if (!condition.empty()) plan_.Require(condition);
    }
  }

  void AddKernel(const Program& program) {
    std::map<std::string, std::string> buffers;  // scratch of this program -> name in the plan
    for (const KernelCode& code : EmitKernels(program, style_, aligned_)) {
      std::string name = Define(program, code);
      for (size_t k = 0; k < code.template_arguments.size(); ++k) {
        name += (k == 0 ? "<" : ", ") + code.template_arguments[k];
      }
      if (!code.template_arguments.empty()) name += ">";
      ordered_json args = ordered_json::array();
      for (const std::string& ref : code.inputs) args.push_back(Pointer(ref));
      std::map<std::string, std::string> views;  // ref -> the buffer it is a view of
      for (const std::string& ref : code.outputs) {
        const bool contiguous = graph_.tensors.at(ref).contiguous;
        if (plan_.IsOutput(ref)) {
          args.push_back(Pointer(ref));
          continue;
        }
        const std::string buffer = plan_.AddBuffer(ref);
        args.push_back("$" + buffer);
        if (!contiguous) views[ref] = buffer;
      }
      for (const Scratch& scratch : code.scratch) {
        auto [it, inserted] = buffers.try_emplace(scratch.name);
        if (inserted) it->second = plan_.AddScratch(scratch.name, scratch.elements);
        args.push_back("$" + it->second);
      }
      for (const TuneEntry& entry : code.tune) plan_.Tune(entry.name, entry.values);
      plan_.AddStep({{"kernel", name},
                     {"grid", {Number(code.grid)}},
                     {"block", {Number(code.threads)}},
                     {"args", args}});
      for (const auto& [ref, buffer] : views) plan_.AddView(ref, buffer);
    }
  }

  // A plain number where the expression is one.
  static ordered_json Number(const std::string& expression) {
    if (expression.find_first_not_of("0123456789") == std::string::npos) {
      return std::stoll(expression);
    }
    return expression;
  }

  ordered_json Pointer(const std::string& ref) const {
    const TensorInfo& info = graph_.tensors.at(ref);
    if (info.contiguous && aligned_(ref)) return plan_.Dollar(ref);
    return {{"ptr", plan_.Dollar(ref)}, {"strided", true}};
  }

  // The kernel's name; its text is written once, however often it is used.
  std::string Define(const Program& program, const KernelCode& code) {
    auto known = kernels_.find(code.canonical);
    if (known != kernels_.end()) return known->second;
    std::string name = KernelName(program) + (code.suffix.empty() ? "" : "_" + code.suffix);
    const std::string base = name;
    for (int number = 2; !names_.insert(name).second; ++number) {
      name = base + "_" + std::to_string(number);
    }
    kernels_[code.canonical] = name;
    std::string text = code.text;
    text.replace(text.find("{{name}}"), 8, name);
    code_ += KernelComment(program) + text + "\n";
    return name;
  }

  const NormalGraph& graph_;
  const ProblemInfo& problem_;
  const Partition& partition_;
  const KernelStyle& style_;
  PlanWriter plan_;
  Alignment aligned_;
  std::string code_;
  std::map<std::string, std::string> kernels_;  // canonical text -> name
  std::set<std::string> names_;
};

struct NamedStyle {
  const char* note;
  KernelStyle style;
};

std::vector<NamedStyle> Styles() {
  KernelStyle reread;
  reread.row_registers = false;
  reread.row_lanes = false;
  return {{"rows in registers where they fit", KernelStyle{}},
          {"rows read again in every pass", reread}};
}

// The graph with its composite operators taken apart where all parts end in kernels, and what
// becomes which kernel.
Partition Divide(NormalGraph& graph) {
  const NormalGraph whole = graph;
  std::set<std::string> kept;
  while (true) {
    graph = whole;
    const Origins origins = Decompose(graph, kept);
    SplitConvBiases(graph);
    Partition partition = FindRegions(graph, GraphLinks(graph));
    if (RejoinConvBiases(graph, partition)) partition = FindRegions(graph, GraphLinks(graph));
    const std::set<std::string> left = NotFused(graph, partition, origins);
    if (left.empty()) return partition;
    kept.insert(left.begin(), left.end());
  }
}

}  // namespace

Result<std::vector<RewriteOption>> Propose(const graph::Graph& graph, const ProblemInfo& problem) {
  Result<NormalGraph> normal = Normalize(graph, problem);
  if (!normal) return tl::unexpected(normal.error());
  std::vector<RewriteOption> options;
  auto leave_all = [&](const std::string& why) -> Result<std::vector<RewriteOption>> {
    Result<std::string> init = WriteInitCandidate(graph, problem);
    if (!init) return tl::unexpected(init.error());
    options.push_back({*init, "No built-in rule applies (" + why + "): equal to the baseline."});
    return options;
  };
  if (normal->in_place) return leave_all("a view of a tensor is changed in place");

  Partition partition = Divide(*normal);
  if (partition.regions.empty()) return leave_all("no operator of the graph has one");

  size_t fused = 0;
  for (const Region& region : partition.regions) fused += region.nodes.size();
  const std::string summary = std::to_string(fused) + " of " +
                              std::to_string(normal->nodes.size()) + " operators in " +
                              std::to_string(partition.regions.size()) + " kernel" +
                              (partition.regions.size() == 1 ? "" : "s");
  std::set<std::string> seen;
  for (const NamedStyle& named : Styles()) {
    std::string text = CandidateWriter(*normal, problem, partition, named.style).Write();
    if (!seen.insert(text).second) continue;
    options.push_back({std::move(text), summary + ": " + named.note + "."});
  }
  if (options.size() == 1) options[0].note = summary + ".";
  return options;
}

}  // namespace cudaagent::rewrite
