// Hidden variants: what a kernel that is right must survive although no benchmark's inputs show it.
// A ReLU of inputs in [0, 1) is the identity, a norm's default weight is one, a bias is zero: each
// invites a kernel that leaves the work out.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "device/plan_runner.h"
#include "reference/reference.h"

namespace cudaagent::verify {

struct Variant {
  std::string name;             // "inputs x 3", told in reports
  double input_scale = 1;       // floating inputs are multiplied by it
  bool new_parameters = false;  // parameters and statistics are drawn anew
  bool outliers = false;        // a few floating inputs at random places are made very large
  double input_shift = 0;       // added to floating inputs; of problems that ShiftsTell() alone
};

// x 3, x 0.01, x -1, a few large inputs, + 100, - 100, and new parameters, in this order.
const std::vector<Variant>& HiddenVariants();

// Whether inputs moved far up or down tell right kernels from wrong ones: the problem (its graph as
// ProblemInfo has it) has a softmax or its like, whose exponentials overflow or vanish where the
// largest element is not subtracted, and neither products nor norms, which lose their digits there.
bool ShiftsTell(const std::string& graph_json);

// Copies with a number added to floating tensors.
std::vector<c10::IValue> ShiftInputs(const std::vector<c10::IValue>& inputs, double shift);

// Copies with floating tensors multiplied; integers, booleans and scalars stay as generated.
std::vector<c10::IValue> ScaleInputs(const std::vector<c10::IValue>& inputs, double factor);

// Copies in which up to 128 elements of each floating tensor, at places drawn from `seed`, are
// multiplied so that together they weigh as much as all others: whoever sums over a part of the
// tensor, or leaves out a region, is found out.
std::vector<c10::IValue> WithOutliers(const std::vector<c10::IValue>& inputs, uint64_t seed);

// Redraws the model's parameters for its lifetime, for reference and candidate alike; then both
// have the original values again.
class NewParameters {
 public:
  // An Error (kEnvironment) where there is no memory for a copy of the originals.
  static Result<NewParameters> Draw(uint64_t seed, reference::Reference& reference,
                                    device::Bindings& bindings);
  ~NewParameters();
  NewParameters(NewParameters&& other) noexcept;
  NewParameters& operator=(NewParameters&&) = delete;

  // Puts the originals back, and says whether that worked. Later calls and the destructor do
  // nothing.
  Result<void> Restore();

 private:
  NewParameters(reference::Reference& reference, device::Bindings& bindings)
      : reference_(&reference), bindings_(&bindings) {}
  void CopyToCandidate();

  reference::Reference* reference_;
  device::Bindings* bindings_;
};

}  // namespace cudaagent::verify
