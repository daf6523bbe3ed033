#include "reference/problem_info.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace cudaagent::reference {
namespace {

using nlohmann::json;

std::vector<TensorInfo> Tensors(const json& list) {
  std::vector<TensorInfo> tensors;
  for (const json& item : list) {
    TensorInfo info;
    info.name = item.at("name").get<std::string>();
    info.shape = item.at("shape").get<std::vector<int64_t>>();
    info.strides = item.at("strides").get<std::vector<int64_t>>();
    info.dtype = item.at("dtype").get<std::string>();
    info.bytes = item.at("bytes").get<int64_t>();
    info.contiguous = item.at("contiguous").get<bool>();
    tensors.push_back(std::move(info));
  }
  return tensors;
}

}  // namespace

Result<ProblemInfo> ParseProblemInfo(const std::string& text) {
  try {
    json object = json::parse(text);
    ProblemInfo info;
    info.hash = object.at("hash").get<std::string>();
    info.inputs = Tensors(object.at("inputs"));
    for (const json& scalar : object.at("scalars")) {
      info.scalars.push_back(
          {scalar.at("name").get<std::string>(), scalar.at("value").get<std::string>()});
    }
    info.parameters = Tensors(object.at("parameters"));
    info.statistics = object.at("statistics").get<std::vector<std::string>>();
    info.constants = Tensors(object.at("constants"));
    info.outputs = Tensors(object.at("outputs"));
    info.graph_json = object.at("graph_json").get<std::string>();
    info.export_error = object.at("export_error").get<std::string>();
    return info;
  } catch (const json::exception& error) {
    return Fail(ErrorCode::kInternal,
                std::string("The description of the problem cannot be read: ") + error.what());
  }
}

}  // namespace cudaagent::reference
