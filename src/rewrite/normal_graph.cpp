#include "rewrite/normal_graph.h"

#include <algorithm>
#include <unordered_map>

namespace cudaagent::rewrite {
namespace {

using graph::Node;
using graph::Ref;
using graph::Value;
using graph::ValueList;

bool IsFalse(const Node& node, size_t index) {
  if (index >= node.args.size()) return false;
  const auto* flag = std::get_if<bool>(&node.args[index].value);
  return flag != nullptr && !*flag;
}

bool OpIs(const Node& node, std::initializer_list<const char*> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](const char* op) { return node.op == op; });
}

// Enters what the node's results share storage with.
void AddRoots(const Node& node, std::map<std::string, std::string>& roots) {
  std::vector<std::string> refs = graph::RefsOf(node);
  if (!graph::MayAlias(node) || refs.empty()) return;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    // broadcast_tensors gives a view of each argument, all others views of their first.
    const std::string& from =
        node.op == "aten::broadcast_tensors" && k < refs.size() ? refs[k] : refs[0];
    auto it = roots.find(from);
    roots[node.outputs[k].name] = it == roots.end() ? from : it->second;
  }
}

class Normalizer {
 public:
  Normalizer(const graph::Graph& source, const ProblemInfo& problem) : source_(source) {
    out_.tensors = graph::TensorsOf(source, problem);
    last_use_.reserve(source.nodes.size());
    for (size_t i = 0; i < source.nodes.size(); ++i) {
      for (const std::string& name : graph::RefsOf(source.nodes[i])) last_use_[name] = i;
    }
    for (const std::string& name : source.outputs) last_use_[name] = source.nodes.size();
  }

  NormalGraph Run() {
    out_.in_place = !CanBeFunctional();
    for (const Node& node : source_.nodes) Add(node);
    for (const std::string& name : source_.outputs) out_.outputs.push_back(Resolve(name));
    if (out_.in_place) CloneChangedProblemTensors();
    DropDead();
    for (const Node& node : out_.nodes) {
      for (const TensorInfo& info : node.outputs) out_.results.insert(info.name);
    }
    return std::move(out_);
  }

 private:
  // Storage groups of the source graph: name -> representative.
  std::map<std::string, std::string> SourceRoots() const {
    std::map<std::string, std::string> roots;
    for (const Node& node : source_.nodes) AddRoots(node, roots);
    return roots;
  }

  // An in-place operator can be made functional when no other name of the same storage, made
  // before it, is read after it. Names that stand for the very same tensor do not count.
  bool CanBeFunctional() const {
    std::map<std::string, std::string> roots = SourceRoots();
    std::map<std::string, std::string> same;  // exact aliases: same tensor, other name
    auto exact = [&](std::string name) {
      for (auto it = same.find(name); it != same.end(); it = same.find(name)) name = it->second;
      return name;
    };
    auto root = [&](const std::string& name) {
      auto it = roots.find(name);
      return it == roots.end() ? name : it->second;
    };
    std::map<std::string, std::vector<std::string>> groups;  // root -> names made so far
    for (size_t i = 0; i < source_.nodes.size(); ++i) {
      const Node& node = source_.nodes[i];
      std::vector<std::string> refs = graph::RefsOf(node);
      for (const std::string& name : refs) {
        std::vector<std::string>& group = groups[root(name)];
        if (std::find(group.begin(), group.end(), name) == group.end()) group.push_back(name);
      }
      if (graph::IsInPlace(node)) {
        if (refs.empty() || node.args.empty() || AsRef(node.args[0]) == nullptr) return false;
        const std::string& target = refs[0];
        for (const std::string& name : groups[root(target)]) {
          auto use = last_use_.find(name);
          if (exact(name) != exact(target) && use != last_use_.end() && use->second > i) {
            return false;
          }
        }
        const TensorInfo* info = Find(target);
        for (const std::string& name : refs) {
          const TensorInfo* other = Find(name);
          if (info == nullptr || other == nullptr) return false;
          // The functional form would promote where the in-place one keeps its target's type.
          if (node.op != "aten::copy_" && other->dtype != info->dtype && other->dtype != "bool") {
            return false;
          }
        }
        if (!HasFunctionalForm(node)) return false;
      }
      if (!node.outputs.empty() && !refs.empty() &&
          (IsPlainAlias(node) || graph::IsInPlace(node))) {
        same[node.outputs[0].name] = refs[0];
      }
      for (const TensorInfo& info : node.outputs) groups[root(info.name)].push_back(info.name);
    }
    return true;
  }

  static bool HasFunctionalForm(const Node& node) {
    return !OpIs(node, {"aten::normal_", "aten::uniform_", "aten::bernoulli_", "aten::random_",
                        "aten::exponential_", "aten::resize_", "aten::set_", "aten::index_put_",
                        "aten::fill_diagonal_"});
  }

  const TensorInfo* Find(const std::string& name) const {
    auto it = out_.tensors.find(name);
    return it == out_.tensors.end() ? nullptr : &it->second;
  }

  // The same tensor by another name, whatever happens around it.
  static bool IsPlainAlias(const Node& node) {
    if (OpIs(node, {"aten::detach", "aten::detach_", "aten::alias", "aten::lift_fresh"}))
      return true;
    return OpIs(node, {"aten::dropout", "aten::dropout_", "aten::feature_dropout",
                       "aten::feature_dropout_", "aten::alpha_dropout", "aten::alpha_dropout_"}) &&
           IsFalse(node, 2);
  }

  // Equal as a value: a copy, or a conversion to what the tensor is already.
  bool IsSameValue(const Node& node) const {
    if (!OpIs(node, {"aten::contiguous", "aten::to", "aten::clone", "aten::lift_fresh_copy",
                     "aten::_to_copy", "aten::type_as"})) {
      return false;
    }
    const Ref* ref = node.args.empty() ? nullptr : AsRef(node.args[0]);
    const TensorInfo* from = ref == nullptr ? nullptr : Find(ref->name);
    if (from == nullptr || node.outputs.size() != 1) return false;
    const TensorInfo& to = node.outputs[0];
    return from->dtype == to.dtype && from->strides == to.strides && from->shape == to.shape;
  }

  // broadcast_tensors of tensors that have the common shape already.
  bool IsPlainBroadcast(const Node& node) const {
    if (node.op != "aten::broadcast_tensors" || node.args.size() != 1) return false;
    const auto* list = std::get_if<ValueList>(&node.args[0].value);
    if (list == nullptr || list->size() != node.outputs.size()) return false;
    for (size_t k = 0; k < list->size(); ++k) {
      const Ref* ref = AsRef((*list)[k]);
      const TensorInfo* from = ref == nullptr ? nullptr : Find(ref->name);
      if (from == nullptr || from->shape != node.outputs[k].shape) return false;
    }
    return true;
  }

  // F.nll_loss of [N, C] is nll_loss, which plans may call.
  void NameAllowedForm(Node& node) const {
    if (node.op != "aten::nll_loss_nd" || node.args.empty()) return;
    const Ref* ref = AsRef(node.args[0]);
    const TensorInfo* from = ref == nullptr ? nullptr : Find(ref->name);
    if (from != nullptr && from->shape.size() <= 2) node.op = "aten::nll_loss";
  }

  // A source name stands for a tensor, a tensor holds a value: an in-place operator gives a tensor
  // a new value under all its names, a copy is another tensor that begins with the same value.
  size_t TensorOf(const std::string& name) {
    auto [it, inserted] = tensor_of_.try_emplace(name, value_of_.size());
    if (inserted) value_of_.push_back(name);
    return it->second;
  }

  std::string Resolve(const std::string& name) { return value_of_[TensorOf(name)]; }

  void ResolveRefs(Value& value) {
    if (auto* ref = std::get_if<Ref>(&value.value)) {
      ref->name = Resolve(ref->name);
    } else if (auto* list = std::get_if<ValueList>(&value.value)) {
      for (Value& item : *list) ResolveRefs(item);
    }
  }

  void Add(const Node& source) {
    if (source.outputs.empty() && !graph::IsInPlace(source)) return;  // asserts
    Node node = source;
    for (Value& arg : node.args) ResolveRefs(arg);
    for (auto& [key, arg] : node.kwargs) ResolveRefs(arg);
    const Ref* first = source.args.empty() ? nullptr : AsRef(source.args[0]);
    const bool single = node.outputs.size() == 1 && first != nullptr;
    if (single && IsPlainAlias(source)) {
      tensor_of_[node.outputs[0].name] = TensorOf(first->name);
      return;
    }
    if (single && !out_.in_place && IsSameValue(node)) {
      value_of_[TensorOf(node.outputs[0].name)] = Resolve(first->name);
      return;
    }
    if (IsPlainBroadcast(node)) {
      const auto* list = std::get_if<ValueList>(&source.args[0].value);
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        tensor_of_[node.outputs[k].name] = TensorOf(AsRef((*list)[k])->name);
      }
      return;
    }
    NameNoDevice(node);
    NameAllowedForm(node);
    if (graph::IsInPlace(node)) {
      if (!out_.in_place && single) {
        const size_t tensor = TensorOf(first->name);
        value_of_[tensor] = MakeFunctional(std::move(node), Resolve(first->name));
        tensor_of_[source.outputs[0].name] = tensor;
        return;
      }
      if (single) changed_.push_back(Resolve(first->name));
    }
    out_.nodes.push_back(std::move(node));
  }

  // Adds what gives the tensor its new value, and names it.
  std::string MakeFunctional(Node node, const std::string& target) {
    std::string result = node.outputs[0].name;
    if (node.op == "aten::copy_" && node.args.size() >= 2 && AsRef(node.args[1]) != nullptr) {
      // dst.copy_(src) is src, broadcast and converted to dst's shape and type.
      std::string from = AsRef(node.args[1])->name;
      TensorInfo to = *Find(target);
      const TensorInfo* info = Find(from);
      if (info != nullptr && info->shape != to.shape) {
        ValueList shape;
        for (int64_t extent : to.shape) shape.push_back({extent});
        TensorInfo expanded = to;
        expanded.dtype = info->dtype;
        from = Insert("aten::expand", "default", {{Ref{from}}, {shape}}, result + "_expanded",
                      expanded);
        info = Find(from);
      }
      if (info != nullptr && info->dtype != to.dtype) {
        from = Insert("aten::to", "dtype", {{Ref{from}}, {to.dtype}}, result + "_converted", to);
      }
      return from;
    }
    if (node.op == "aten::zero_") {
      node.op = "aten::zeros_like";
    } else if (node.op == "aten::fill_") {
      node.op = "aten::full_like";
      node.overload = "default";
    } else {
      node.op.pop_back();
    }
    out_.nodes.push_back(std::move(node));
    return result;
  }

  std::string Insert(const char* op, const char* overload, std::vector<Value> args,
                     const std::string& name, TensorInfo info) {
    info.name = name;
    Node node;
    node.name = name;
    node.op = op;
    node.overload = overload;
    node.args = std::move(args);
    node.outputs = {info};
    out_.tensors[name] = info;
    out_.nodes.push_back(std::move(node));
    return name;
  }

  // A plan runs on one device and never names it; what only places a tensor goes.
  static void NameNoDevice(Node& node) {
    if (node.op == "aten::to" && !node.outputs.empty()) {
      node.overload = "dtype";
      if (node.args.size() > 1) node.args.resize(1);
      node.args.push_back({node.outputs[0].dtype});
      node.kwargs.clear();
      return;
    }
    auto placing = [](const auto& kwarg) {
      return kwarg.first == "device" || kwarg.first == "pin_memory" || kwarg.first == "layout";
    };
    node.kwargs.erase(std::remove_if(node.kwargs.begin(), node.kwargs.end(), placing),
                      node.kwargs.end());
  }

  void CloneChangedProblemTensors() {
    std::map<std::string, std::string> roots = StorageRoots(out_);
    std::set<std::string> made;
    for (const Node& node : out_.nodes) {
      for (const TensorInfo& info : node.outputs) made.insert(info.name);
    }
    std::map<std::string, std::string> clones;
    for (const std::string& name : changed_) {
      auto it = roots.find(name);
      std::string root = it == roots.end() ? name : it->second;
      if (made.count(root) || clones.count(root)) continue;
      std::string clone = "own_copy_of_" + root;
      while (out_.tensors.count(clone)) clone += "_";
      clones[root] = clone;
    }
    std::vector<Node> nodes;
    std::swap(nodes, out_.nodes);
    for (const auto& [root, clone] : clones) {
      Insert("aten::clone", "default", {{Ref{root}}}, clone, out_.tensors.at(root));
    }
    for (const auto& [root, clone] : clones) value_of_[TensorOf(root)] = clone;
    for (Node& node : nodes) {
      for (Value& arg : node.args) ResolveRefs(arg);
      for (auto& [key, arg] : node.kwargs) ResolveRefs(arg);
      out_.nodes.push_back(std::move(node));
    }
    for (std::string& output : out_.outputs) output = Resolve(output);
  }

  void DropDead() {
    std::map<std::string, std::string> roots = StorageRoots(out_);
    auto root = [&](const std::string& name) {
      auto it = roots.find(name);
      return it == roots.end() ? name : it->second;
    };
    std::set<std::string> live;        // names
    std::set<std::string> live_roots;  // storages: an in-place change of one is alive too
    auto mark = [&](const std::string& name) {
      live.insert(name);
      live_roots.insert(root(name));
    };
    for (const std::string& name : out_.outputs) mark(name);
    std::vector<Node> kept;
    for (auto node = out_.nodes.rbegin(); node != out_.nodes.rend(); ++node) {
      bool alive = graph::IsInPlace(*node) && !node->args.empty() && AsRef(node->args[0]) &&
                   live_roots.count(root(AsRef(node->args[0])->name));
      for (const TensorInfo& info : node->outputs) alive = alive || live.count(info.name);
      if (!alive) continue;
      for (const std::string& name : graph::RefsOf(*node)) mark(name);
      kept.push_back(std::move(*node));
    }
    std::reverse(kept.begin(), kept.end());
    out_.nodes = std::move(kept);
  }

  const graph::Graph& source_;
  NormalGraph out_;
  std::unordered_map<std::string, size_t> last_use_;
  std::unordered_map<std::string, size_t> tensor_of_;
  std::vector<std::string> value_of_;
  std::vector<std::string> changed_;
};

}  // namespace

Result<NormalGraph> Normalize(const graph::Graph& graph, const ProblemInfo& problem) {
  std::map<std::string, TensorInfo> known = graph::TensorsOf({}, problem);
  auto unknown = [](const std::string& name, const std::string& where) {
    return Fail(ErrorCode::kInternal, "The exported graph names \"" + name + "\" in " + where +
                                          ", which is neither of the problem nor computed before.");
  };
  for (const Node& node : graph.nodes) {
    for (const std::string& name : graph::RefsOf(node)) {
      if (!known.count(name)) return unknown(name, "node " + node.name);
    }
    for (const TensorInfo& info : node.outputs) known[info.name] = info;
  }
  for (const std::string& name : graph.outputs) {
    if (!known.count(name)) return unknown(name, "its outputs");
  }
  if (graph.outputs.size() != problem.outputs.size()) {
    return Fail(ErrorCode::kInternal,
                "The exported graph returns " + std::to_string(graph.outputs.size()) +
                    " tensors, the model " + std::to_string(problem.outputs.size()) + ".");
  }
  return Normalizer(graph, problem).Run();
}

std::map<std::string, std::string> StorageRoots(const NormalGraph& graph) {
  std::map<std::string, std::string> roots;
  for (const Node& node : graph.nodes) {
    const bool converts = node.op == "aten::contiguous" || node.op == "aten::to";
    const Ref* first = node.args.empty() ? nullptr : AsRef(node.args[0]);
    if (converts && first != nullptr && node.outputs.size() == 1) {
      const TensorInfo& from = graph.tensors.at(first->name);
      const TensorInfo& to = node.outputs[0];
      if (from.dtype != to.dtype || from.strides != to.strides) continue;  // it copies
    }
    AddRoots(node, roots);
  }
  return roots;
}

const Ref* AsRef(const Value& value) { return std::get_if<Ref>(&value.value); }

}  // namespace cudaagent::rewrite
