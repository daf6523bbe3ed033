#include "rewrite/plan_writer.h"

#include <algorithm>
#include <cctype>

#include "rewrite/json_text.h"

namespace cudaagent::rewrite {
namespace {

using graph::Node;
using nlohmann::ordered_json;

// Extents of 1 may carry any stride.
bool SameLayout(const TensorInfo& a, const TensorInfo& b) {
  if (a.shape != b.shape || a.dtype != b.dtype) return false;
  for (size_t d = 0; d < a.shape.size(); ++d) {
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// Strides of a dense tensor whose dimensions lie in memory in this order, innermost last.
bool IsDenseInOrder(const TensorInfo& info, const std::vector<size_t>& order) {
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (info.shape[order[i]] != 1 && info.strides[order[i]] != expected) return false;
    expected *= info.shape[order[i]];
  }
  return true;
}

bool IsChannelsLast(const TensorInfo& info) {
  if (info.shape.size() == 4) return IsDenseInOrder(info, {0, 2, 3, 1});
  if (info.shape.size() == 5) return IsDenseInOrder(info, {0, 2, 3, 4, 1});
  return false;
}

// Dense without overlap, in any order of dimensions: what preserve_format preserves.
bool IsDense(const TensorInfo& info) {
  std::vector<size_t> order(info.shape.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return info.strides[a] > info.strides[b]; });
  return IsDenseInOrder(info, order);
}

}  // namespace

std::string Identifier(const std::string& text) {
  std::string name;
  for (unsigned char c : text) name += (c < 0x80 && std::isalnum(c)) ? static_cast<char>(c) : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "t");
  return name;
}

std::string Describe(const TensorInfo& info) {
  std::string text = info.name + " " + info.dtype + " [";
  for (size_t d = 0; d < info.shape.size(); ++d) {
    text += (d ? ", " : "") + std::to_string(info.shape[d]);
  }
  return text + "]";
}

std::string DescribeProblem(const ProblemInfo& problem) {
  constexpr size_t kShown = 12;
  std::string text;
  auto list = [&](const char* label, const std::vector<TensorInfo>& tensors) {
    if (tensors.empty()) return;
    std::string line = std::string("//   ") + label + ": ";
    for (size_t i = 0; i < std::min(tensors.size(), kShown); ++i) {
      std::string item = Describe(tensors[i]) + (i + 1 < tensors.size() ? ", " : "");
      if (line.size() + item.size() > 98) {
        while (line.back() == ' ') line.pop_back();
        text += line + "\n";
        line = "//     ";
      }
      line += item;
    }
    if (tensors.size() > kShown) {
      line += "and " + std::to_string(tensors.size() - kShown) + " more";
    }
    while (line.back() == ' ') line.pop_back();
    text += line + "\n";
  };
  list("inputs", problem.inputs);
  list("parameters", problem.parameters);
  list("constants", problem.constants);
  list("outputs", problem.outputs);
  return text;
}

PlanWriter::PlanWriter(const NormalGraph& graph, const ProblemInfo& problem)
    : graph_(graph), problem_(problem) {
  for (const TensorInfo& info : problem.constants) names_[info.name] = info.name;
  for (const TensorInfo& info : problem.parameters) {
    names_[info.name] = info.name;
    names_["param:" + info.name] = "param:" + info.name;
  }
  for (const TensorInfo& info : problem.inputs) names_[info.name] = info.name;
  BindOutputs();
  NameResults();
}

void PlanWriter::BindOutputs() {
  std::map<std::string, std::string> roots = StorageRoots(graph_);
  for (size_t k = 0; k < problem_.outputs.size() && k < graph_.outputs.size(); ++k) {
    const std::string& ref = graph_.outputs[k];
    auto root = roots.find(ref);
    const bool own =
        graph_.results.count(ref) && graph_.results.count(root == roots.end() ? ref : root->second);
    if (own && !bound_.count(ref) && SameLayout(graph_.tensors.at(ref), problem_.outputs[k])) {
      names_[ref] = problem_.outputs[k].name;
      bound_.insert(ref);
    } else {
      copied_.push_back(k);
    }
  }
}

void PlanWriter::NameResults() {
  for (const auto& [ref, name] : names_) taken_.insert(name);
  for (const TensorInfo& info : problem_.outputs) taken_.insert(info.name);
  for (const Node& node : graph_.nodes) {
    for (const TensorInfo& info : node.outputs) {
      if (bound_.count(info.name)) continue;
      std::string name = Identifier(info.name);
      while (!taken_.insert(name).second) name += "_";
      names_[info.name] = name;
    }
  }
}

void PlanWriter::AddOp(const Node& node) {
  auto ref = [this](const std::string& name) { return Dollar(name); };
  ordered_json step;
  step["op"] =
      node.overload.empty() || node.overload == "default" ? node.op : node.op + "." + node.overload;
  step["args"] = ordered_json::array();
  for (const graph::Value& arg : node.args) step["args"].push_back(ToJson(arg, ref));
  for (const auto& [key, arg] : node.kwargs) step["kwargs"][key] = ToJson(arg, ref);
  if (node.returns_list || node.outputs.size() != 1) {
    step["out"] = ordered_json::array();
    for (const TensorInfo& info : node.outputs) step["out"].push_back(Name(info.name));
  } else {
    step["out"] = Name(node.outputs.at(0).name);
  }
  AddStep(std::move(step));
}

std::string PlanWriter::Unique(const std::string& wish) {
  std::string name = wish;
  for (int number = 2; !taken_.insert(name).second; ++number) {
    name = wish + "_" + std::to_string(number);
  }
  return name;
}

namespace {

// Dimensions in order of memory, outermost first.
std::vector<size_t> MemoryOrder(const TensorInfo& info) {
  std::vector<size_t> order(info.shape.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return info.strides[a] > info.strides[b]; });
  return order;
}

}  // namespace

std::string PlanWriter::AddBuffer(const std::string& ref) {
  const TensorInfo& info = graph_.tensors.at(ref);
  if (info.contiguous) {
    buffers_[Name(ref)] = {{"dtype", info.dtype}, {"shape", info.shape}};
    return Name(ref);
  }
  ordered_json shape = ordered_json::array();
  for (size_t d : MemoryOrder(info)) shape.push_back(info.shape[d]);
  const std::string buffer = Unique(Name(ref) + "_memory");
  buffers_[buffer] = {{"dtype", info.dtype}, {"shape", shape}};
  return buffer;
}

void PlanWriter::AddView(const std::string& ref, const std::string& buffer) {
  const std::vector<size_t> order = MemoryOrder(graph_.tensors.at(ref));
  std::vector<size_t> back(order.size());
  for (size_t place = 0; place < order.size(); ++place) back[order[place]] = place;
  AddStep({{"op", "aten::permute"}, {"args", {"$" + buffer, back}}, {"out", Name(ref)}});
}

std::string PlanWriter::AddScratch(const std::string& name, const std::string& elements) {
  const std::string unique = Unique(name);
  buffers_[unique] = {{"dtype", "float32"}, {"shape", {elements}}};
  return unique;
}

void PlanWriter::Tune(const std::string& name, const std::vector<int64_t>& values) {
  for (const auto& [known, list] : tune_) {
    if (known == name) return;
  }
  tune_.emplace_back(name, values);
}

// The driver tries every combination: no more than are worth their time.
ordered_json PlanWriter::TuneJson() const {
  constexpr size_t kMostCombinations = 12;
  auto tune = tune_;
  auto combinations = [&] {
    size_t count = 1;
    for (const auto& [name, values] : tune) count *= values.size();
    return count;
  };
  while (combinations() > kMostCombinations) {
    auto longest = std::max_element(tune.begin(), tune.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    longest->second.pop_back();
  }
  ordered_json json = ordered_json::object();
  for (const auto& [name, values] : tune) json[name] = values;
  return json;
}

void PlanWriter::AddCopy(size_t output) {
  const TensorInfo& to = problem_.outputs[output];
  const TensorInfo& from = graph_.tensors.at(graph_.outputs[output]);
  ordered_json step;
  step["op"] = "aten::clone";
  step["args"] = {Dollar(graph_.outputs[output])};
  step["out"] = to.name;
  if (from.dtype != to.dtype || from.shape != to.shape) {
    step["op"] = "aten::copy_";
  } else if (to.contiguous) {
    step["kwargs"]["memory_format"] = "contiguous_format";
  } else if (SameLayout(from, to) && IsDense(from)) {
    // clone preserves the strides of dense tensors.
  } else if (IsChannelsLast(to)) {
    step["kwargs"]["memory_format"] = to.shape.size() == 4 ? "channels_last" : "channels_last_3d";
  } else {
    step["op"] = "aten::copy_";
  }
  if (step["op"] == "aten::copy_") {
    // The output exists already, with its strides: fill it.
    step["args"] = {"$" + to.name, Dollar(graph_.outputs[output])};
    step["out"] = to.name + "_filled";
  }
  AddStep(std::move(step));
}

std::string PlanWriter::Finish() {
  for (size_t output : copied_) AddCopy(output);
  ordered_json plan;
  plan["plan"] = 1;
  if (!tune_.empty()) plan["tune"] = TuneJson();
  if (!require_.empty()) plan["require"] = require_;
  if (!buffers_.empty()) plan["buffers"] = buffers_;
  plan["steps"] = steps_;
  return "/*cudaagent\n" + PrettyJson(plan) + "\n*/\n";
}

}  // namespace cudaagent::rewrite
