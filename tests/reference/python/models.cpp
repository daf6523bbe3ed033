#include "reference/python/models.h"

#include <gtest/gtest.h>

#include <fstream>

#include "util/file.h"

namespace cudaagent::reference {

ProblemSpec SpecOf(const std::string& source, std::map<std::string, std::string> consts) {
  static const util::TempDir folder = util::TempDir::Create("cudaagent-reference-test").value();
  ProblemSpec spec;
  spec.path = folder.path() + "/model.py";
  spec.source = source;
  spec.consts = std::move(consts);
  std::ofstream(spec.path) << source;
  return spec;
}

std::unique_ptr<Reference> Load(const ProblemSpec& spec) {
  auto reference = LoadReference(spec, "cpu");
  if (!reference) {
    ADD_FAILURE() << reference.error().message;
    return nullptr;
  }
  return std::move(*reference);
}

std::unique_ptr<Reference> Load(const std::string& source,
                                std::map<std::string, std::string> consts) {
  return Load(SpecOf(source, std::move(consts)));
}

std::string LoadError(const ProblemSpec& spec) {
  auto reference = LoadReference(spec, "cpu");
  if (reference) return "(it loaded)";
  switch (reference.error().code) {
    case ErrorCode::kUsage:
      return "usage: " + reference.error().message;
    case ErrorCode::kEnvironment:
      return "environment: " + reference.error().message;
    default:
      return "another error: " + reference.error().message;
  }
}

std::string LoadError(const std::string& source, std::map<std::string, std::string> consts) {
  return LoadError(SpecOf(source, std::move(consts)));
}

std::string WithForward(const std::string& body, const std::string& init) {
  return "import torch\nimport torch.nn as nn\nN = 2\n"
         "class Model(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n"
         "        " +
         init +
         "\n"
         "    def forward(self, x):\n"
         "        " +
         body +
         "\n"
         "def get_inputs():\n"
         "    return [torch.rand(N, 4)]\n"
         "def get_init_inputs():\n"
         "    return []\n";
}

}  // namespace cudaagent::reference
