#include "rewrite/decompose.h"

#include <algorithm>
#include <functional>

#include "rewrite/op_rules.h"

namespace cudaagent::rewrite {
namespace {

using graph::Node;
using graph::Ref;
using graph::Value;
using graph::ValueList;

// What losses do with their elements, as ATen numbers it.
enum Loss : int { kNone = 0, kMean = 1, kSum = 2 };

Value Dims(const std::vector<int64_t>& dims) {
  ValueList list;
  for (int64_t dim : dims) list.push_back({dim});
  return {list};
}

class Decomposer {
 public:
  Decomposer(NormalGraph& graph, const std::set<std::string>& kept) : graph_(graph), kept_(kept) {
    for (const Node& node : graph.nodes) {
      for (const std::string& ref : graph::RefsOf(node)) ++uses_[ref];
    }
    for (const std::string& ref : graph.outputs) ++uses_[ref];
  }

  Origins Run() {
    std::vector<Node> source;
    std::swap(source, graph_.nodes);
    for (const Node& node : source) {
      const size_t before = graph_.nodes.size();
      const auto rule = Rules().find(node.op);
      node_ = &node;
      number_ = 0;
      bool done = false;
      if (rule != Rules().end() && node.outputs.size() == 1 && !kept_.count(node.name)) {
        try {
          done = rule->second(*this);
        } catch (const NotFusible&) {  // an argument no rule knows
        }
      }
      if (done) {
        for (size_t n = before; n < graph_.nodes.size(); ++n) {
          origins_[graph_.nodes[n].name] = node.name;
        }
      } else {
        for (size_t n = before; n < graph_.nodes.size(); ++n) {
          for (const TensorInfo& info : graph_.nodes[n].outputs) Forget(info.name);
        }
        graph_.nodes.resize(before);
        graph_.nodes.push_back(node);
      }
    }
    DropUnread();
    for (const Node& node : graph_.nodes) {
      for (const TensorInfo& info : node.outputs) graph_.results.insert(info.name);
    }
    return std::move(origins_);
  }

 private:
  using Rule = std::function<bool(Decomposer&)>;

  const TensorInfo& Info(const std::string& ref) const { return graph_.tensors.at(ref); }
  const TensorInfo& Result() const { return node_->outputs[0]; }
  NodeArgs Args() const { return NodeArgs(*node_); }

  void Forget(const std::string& ref) {
    if (ref != Result().name) graph_.tensors.erase(ref);
  }

  // Adds a node; the last one takes the replaced node's result.
  std::string Emit(const std::string& op, const std::string& overload, std::vector<Value> args,
                   std::vector<int64_t> shape, const std::string& dtype, bool last = false) {
    TensorInfo info = Result();
    if (!last) {
      info.shape = std::move(shape);
      info.dtype = dtype;
      info.strides.assign(info.shape.size(), 1);
      for (size_t d = info.shape.size(); d-- > 1;) {
        info.strides[d - 1] = info.strides[d] * std::max<int64_t>(1, info.shape[d]);
      }
      info.contiguous = true;
      do {
        info.name = Result().name + "_part" + std::to_string(++number_);
      } while (graph_.tensors.count(info.name));
    }
    Node node;
    node.name = info.name;
    node.op = op;
    node.overload = overload;
    node.args = std::move(args);
    node.outputs = {info};
    graph_.tensors[info.name] = info;
    graph_.nodes.push_back(std::move(node));
    return info.name;
  }
  std::string Elementwise(const std::string& op, const std::string& overload,
                          std::vector<Value> args, const TensorInfo& like, bool last = false) {
    return Emit(op, overload, std::move(args), like.shape, like.dtype, last);
  }
  std::string Last(const std::string& op, const std::string& overload, std::vector<Value> args) {
    return Emit(op, overload, std::move(args), {}, "", true);
  }

  int Reduction(size_t index) const {
    return static_cast<int>(Args().NumberOr(index, "reduction", kMean));
  }

  // The two operands of a loss, of equal shape and type.
  std::pair<std::string, std::string> Pair() const {
    auto x = Args().Tensor(0, "self");
    auto y = Args().Tensor(1, "target");
    if (!x || !y || Info(*x).shape != Info(*y).shape || Info(*x).dtype != Info(*y).dtype) {
      throw NotFusible{};
    }
    return {*x, *y};
  }

  // The elements' mean, sum or themselves.
  bool Finish(int reduction, const std::string& op, const std::string& overload,
              std::vector<Value> args, const TensorInfo& like) {
    if (reduction == kNone) {
      Last(op, overload, std::move(args));
      return true;
    }
    const std::string elements = Elementwise(op, overload, std::move(args), like);
    Last(reduction == kMean ? "aten::mean" : "aten::sum", "default", {{Ref{elements}}});
    return true;
  }

  bool MseLoss() {
    auto [x, y] = Pair();
    const std::string d = Elementwise("aten::sub", "Tensor", {{Ref{x}}, {Ref{y}}}, Info(x));
    return Finish(Reduction(2), "aten::square", "default", {{Ref{d}}}, Info(x));
  }

  bool L1Loss() {
    auto [x, y] = Pair();
    const std::string d = Elementwise("aten::sub", "Tensor", {{Ref{x}}, {Ref{y}}}, Info(x));
    return Finish(Reduction(2), "aten::abs", "default", {{Ref{d}}}, Info(x));
  }

  bool SmoothL1Loss() {
    auto [x, y] = Pair();
    const double beta = Args().NumberOr(3, "beta", 1);
    if (beta <= 0) return false;
    return Finish(Reduction(2), kSmoothL1, "default", {{Ref{x}}, {Ref{y}}, {beta}}, Info(x));
  }

  bool HuberLoss() {
    auto [x, y] = Pair();
    const double delta = Args().NumberOr(3, "delta", 1);
    if (delta <= 0) return false;
    const std::string d = Elementwise(kSmoothL1, "default", {{Ref{x}}, {Ref{y}}, {delta}}, Info(x));
    return Finish(Reduction(2), "aten::mul", "Tensor", {{Ref{d}}, {delta}}, Info(x));
  }

  bool KlDiv() {
    auto [x, y] = Pair();
    const bool log_target = Args().FlagOr(3, "log_target", false);
    return Finish(Reduction(2), kKlDiv, "default", {{Ref{x}}, {Ref{y}}, {log_target}}, Info(x));
  }

  // [N, C] scores and [N] classes, no weights.
  bool Nll(bool of_scores) {
    NodeArgs args = Args();
    auto x = args.Tensor(0, "self");
    auto target = args.Tensor(1, "target");
    if (!x || !target || args.Find(2, "weight") != nullptr) return false;
    if (of_scores && args.NumberOr(5, "label_smoothing", 0) != 0) return false;
    if (Info(*x).shape.size() != 2 || Info(*target).shape.size() != 1) return false;
    if (Info(*target).dtype != "int64") return false;
    const int reduction = Reduction(3);
    const auto ignored = static_cast<int64_t>(args.NumberOr(4, "ignore_index", -100));
    if (!of_scores) {
      // Of log_softmax over the classes it is the cross entropy of what that was made of.
      for (const Node& node : graph_.nodes) {
        if (node.op != "aten::log_softmax" || node.outputs[0].name != *x) continue;
        auto dim = NodeArgs(node).Ints(1, "dim");
        auto scores = NodeArgs(node).Tensor(0, "self");
        if (!dim || dim->size() != 1 || ((*dim)[0] != 1 && (*dim)[0] != -1) || !scores) continue;
        if (Info(*scores).dtype != Info(*x).dtype) continue;
        x = scores;
        of_scores = true;
        break;
      }
    }
    const TensorInfo like = Info(*x);
    const std::vector<int64_t> rows = {like.shape[0]};
    Value log_sum{};
    if (of_scores) {
      log_sum = {Ref{Emit("aten::logsumexp", "default", {{Ref{*x}}, Dims({1})}, rows, like.dtype)}};
    }
    std::vector<Value> element = {log_sum, {Ref{*x}}, {Ref{*target}}, {ignored}};
    if (reduction == kNone) {
      Last(kNll, "default", std::move(element));
      return true;
    }
    const std::string losses = Emit(kNll, "default", std::move(element), rows, like.dtype);
    if (reduction == kSum) {
      Last("aten::sum", "default", {{Ref{losses}}});
      return true;
    }
    const std::string counts =
        Emit(kCounts, "default", {{Ref{*target}}, {ignored}}, rows, like.dtype);
    const std::string sum = Emit("aten::sum", "default", {{Ref{losses}}}, {}, like.dtype);
    const std::string count = Emit("aten::sum", "default", {{Ref{counts}}}, {}, like.dtype);
    Last("aten::div", "Tensor", {{Ref{sum}}, {Ref{count}}});
    return true;
  }

  // || a - b + eps || over the last dimension.
  std::string Distance(const std::string& a, const std::string& b, double eps) {
    const TensorInfo like = Info(a);
    const std::string d = Elementwise("aten::sub", "Tensor", {{Ref{a}}, {Ref{b}}}, like);
    const std::string e = Elementwise("aten::add", "Tensor", {{Ref{d}}, {eps}}, like);
    std::vector<int64_t> shape(like.shape.begin(), like.shape.end() - 1);
    return Emit("aten::linalg_vector_norm", "default", {{Ref{e}}, {int64_t{2}}, Dims({-1})}, shape,
                like.dtype);
  }

  bool TripletMarginLoss() {
    NodeArgs args = Args();
    auto anchor = args.Tensor(0, "anchor");
    auto positive = args.Tensor(1, "positive");
    auto negative = args.Tensor(2, "negative");
    if (!anchor || !positive || !negative) return false;
    const TensorInfo like = Info(*anchor);
    if (like.shape.empty() || Info(*positive).shape != like.shape ||
        Info(*negative).shape != like.shape || args.NumberOr(4, "p", 2) != 2 ||
        args.FlagOr(6, "swap", false)) {
      return false;
    }
    const double eps = args.NumberOr(5, "eps", 1e-6);
    const std::string near = Distance(*anchor, *positive, eps);
    const std::string far = Distance(*anchor, *negative, eps);
    const TensorInfo row = Info(near);
    const std::string d = Elementwise("aten::sub", "Tensor", {{Ref{near}}, {Ref{far}}}, row);
    const std::string margin =
        Elementwise("aten::add", "Tensor", {{Ref{d}}, {args.NumberOr(3, "margin", 1)}}, row);
    return Finish(Reduction(7), "aten::clamp_min", "default", {{Ref{margin}}, {0.0}}, row);
  }

  bool CosineSimilarity() {
    NodeArgs args = Args();
    auto a = args.Tensor(0, "x1");
    auto b = args.Tensor(1, "x2");
    if (!a || !b || Info(*a).shape != Info(*b).shape) return false;
    const TensorInfo like = Info(*a);
    const auto dim = static_cast<int64_t>(args.NumberOr(2, "dim", 1));
    const double eps = args.NumberOr(3, "eps", 1e-8);
    const TensorInfo result = Result();
    auto length = [&](const std::string& ref) {
      const std::string norm =
          Emit("aten::linalg_vector_norm", "default", {{Ref{ref}}, {int64_t{2}}, Dims({dim})},
               result.shape, like.dtype);
      return Elementwise("aten::clamp_min", "default", {{Ref{norm}}, {eps}}, result);
    };
    const std::string product = Elementwise("aten::mul", "Tensor", {{Ref{*a}}, {Ref{*b}}}, like);
    const std::string dot =
        Emit("aten::sum", "dim_IntList", {{Ref{product}}, Dims({dim})}, result.shape, like.dtype);
    const std::string la = length(*a);
    const std::string lb = length(*b);
    const std::string lengths = Elementwise("aten::mul", "Tensor", {{Ref{la}}, {Ref{lb}}}, result);
    Last("aten::div", "Tensor", {{Ref{dot}}, {Ref{lengths}}});
    return true;
  }

  // To one element per channel: a mean over all spatial dimensions.
  bool AdaptiveAvgPool(int64_t spatial) {
    auto x = Args().Tensor(0, "self");
    if (!x) return false;
    const TensorInfo& result = Result();
    std::vector<int64_t> dims;
    for (int64_t d = 1; d <= spatial; ++d) {
      if (result.shape.at(result.shape.size() - static_cast<size_t>(d)) != 1) return false;
      dims.push_back(-d);
    }
    Last("aten::mean", "dim", {{Ref{*x}}, Dims(dims), {true}});
    return true;
  }

  bool Std() {
    auto x = Args().Tensor(0, "self");
    if (!x) return false;
    const std::string variance = Elementwise("aten::var", node_->overload, node_->args, Result());
    graph_.nodes.back().kwargs = node_->kwargs;
    Last("aten::sqrt", "default", {{Ref{variance}}});
    return true;
  }

  // flip(cumsum(flip(x, d), d), d) is a cumsum from the end.
  bool Flip() {
    auto outer = Args().Tensor(0, "self");
    auto dims = Args().Ints(1, "dims");
    if (!outer || !dims || dims->size() != 1) return false;
    const Node* scan = Producer(*outer, "aten::cumsum");
    if (scan == nullptr) return false;
    const Node* inner = Producer(NodeArgs(*scan).Tensor(0, "self").value_or(""), "aten::flip");
    if (inner == nullptr) return false;
    auto x = NodeArgs(*inner).Tensor(0, "self");
    auto scanned = NodeArgs(*scan).Ints(1, "dim");
    auto flipped = NodeArgs(*inner).Ints(1, "dims");
    if (!x || scanned != dims || flipped != dims || Info(*x).dtype != Result().dtype) return false;
    Last(kReverseCumsum, "default", {{Ref{*x}}, {(*dims)[0]}});
    return true;
  }

  // The node of this operator that makes the tensor, where nothing else reads it.
  const Node* Producer(const std::string& ref, const char* op) const {
    auto uses = uses_.find(ref);
    if (uses == uses_.end() || uses->second != 1) return nullptr;
    for (const Node& node : graph_.nodes) {
      if (node.outputs.size() == 1 && node.outputs[0].name == ref) {
        return node.op == op ? &node : nullptr;
      }
    }
    return nullptr;
  }

  // What only replaced nodes read is computed no more.
  void DropUnread() {
    std::set<std::string> read(graph_.outputs.begin(), graph_.outputs.end());
    std::vector<Node> kept;
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      const bool needed =
          std::any_of(node->outputs.begin(), node->outputs.end(),
                      [&](const TensorInfo& info) { return read.count(info.name) > 0; });
      if (!needed) {
        for (const TensorInfo& info : node->outputs) graph_.results.erase(info.name);
        continue;
      }
      for (const std::string& ref : graph::RefsOf(*node)) read.insert(ref);
      kept.push_back(std::move(*node));
    }
    std::reverse(kept.begin(), kept.end());
    graph_.nodes = std::move(kept);
  }

  static const std::map<std::string, Rule>& Rules() {
    static const std::map<std::string, Rule> rules = {
        {"aten::mse_loss", &Decomposer::MseLoss},
        {"aten::l1_loss", &Decomposer::L1Loss},
        {"aten::smooth_l1_loss", &Decomposer::SmoothL1Loss},
        {"aten::huber_loss", &Decomposer::HuberLoss},
        {"aten::kl_div", &Decomposer::KlDiv},
        {"aten::cross_entropy_loss", [](Decomposer& d) { return d.Nll(true); }},
        {"aten::nll_loss", [](Decomposer& d) { return d.Nll(false); }},
        {"aten::triplet_margin_loss", &Decomposer::TripletMarginLoss},
        {"aten::cosine_similarity", &Decomposer::CosineSimilarity},
        {"aten::adaptive_avg_pool1d", [](Decomposer& d) { return d.AdaptiveAvgPool(1); }},
        {"aten::adaptive_avg_pool2d", [](Decomposer& d) { return d.AdaptiveAvgPool(2); }},
        {"aten::adaptive_avg_pool3d", [](Decomposer& d) { return d.AdaptiveAvgPool(3); }},
        {"aten::std", &Decomposer::Std},
        {"aten::flip", &Decomposer::Flip}};
    return rules;
  }

  NormalGraph& graph_;
  const std::set<std::string>& kept_;
  std::map<std::string, int> uses_;
  const Node* node_ = nullptr;
  int number_ = 0;
  Origins origins_;
};

}  // namespace

Origins Decompose(NormalGraph& graph, const std::set<std::string>& kept) {
  return Decomposer(graph, kept).Run();
}

std::set<std::string> NotFused(const NormalGraph& graph, const Partition& partition,
                               const Origins& origins) {
  std::set<std::string> left;
  for (const Unit& unit : partition.order) {
    if (unit.region >= 0) continue;
    auto origin = origins.find(graph.nodes[unit.node].name);
    if (origin != origins.end()) left.insert(origin->second);
  }
  return left;
}

}  // namespace cudaagent::rewrite
