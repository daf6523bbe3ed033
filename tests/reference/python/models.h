// Problems as text for the tests: written to a file, loaded on the CPU.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "reference/reference.h"

namespace cudaagent::reference {

// A spec of `source` as <temporary folder>/model.py. The folder lives as long as the process.
ProblemSpec SpecOf(const std::string& source, std::map<std::string, std::string> consts = {});

// Loads on "cpu". A failure fails the test and gives null.
std::unique_ptr<Reference> Load(const ProblemSpec& spec);
std::unique_ptr<Reference> Load(const std::string& source,
                                std::map<std::string, std::string> consts = {});

// The error of a problem that must not load: "usage: ..." or "environment: ...".
std::string LoadError(const ProblemSpec& spec);
std::string LoadError(const std::string& source, std::map<std::string, std::string> consts = {});

// A whole problem with this body of forward(self, x) and one input, torch.rand(N, 4), N = 2.
std::string WithForward(const std::string& body, const std::string& init = "pass");

}  // namespace cudaagent::reference
