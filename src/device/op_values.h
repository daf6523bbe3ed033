// Values of an op step, typed by the operator's schema.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>

#include "candidate/expr.h"
#include "candidate/plan.h"
#include "cudaagent/fault.h"

namespace cudaagent::device {

// What the values of a step may refer to.
class OpScope {
 public:
  virtual ~OpScope() = default;
  // The tensor or scalar input of this name, "{expr}" pieces not yet put in; kBadCandidate where
  // there is none.
  virtual Checked<c10::IValue> Find(const std::string& name) = 0;
  virtual const candidate::Scope& values() const = 0;
  virtual at::Device device() const = 0;
  // The input or parameter that shares the tensor's storage, by name; empty where none does.
  virtual std::string ProtectedName(const at::Tensor& tensor) const = 0;
};

// `where` names the argument in faults: "steps[0].args[1]". Every fault is kBadCandidate and says
// what the schema wants. Conversions: dtype, layout and memory format from their torch names, a
// number where a Tensor is wanted, one integer for a list of known length, null for None.
Checked<c10::IValue> ConvertValue(const candidate::OpValue& value, const c10::Argument& argument,
                                  const std::string& where, OpScope& scope);

}  // namespace cudaagent::device
