#include "device/kernel_step.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "device/tensor_info.h"

namespace cudaagent::device {
namespace {

using candidate::Expr;
using candidate::PointerArg;
using candidate::PointersArg;
using candidate::ScalarArg;
using candidate::ScalarType;

// Of every CUDA device; threads per block and shared memory come from Limits.
constexpr int64_t kMaxGrid[] = {2147483647, 65535, 65535};
constexpr int64_t kMaxBlock[] = {1024, 1024, 64};
constexpr int64_t kDefaultSharedBytes = 48 << 10;

class Preparation {
 public:
  Preparation(const candidate::KernelStep& step, const std::string& where,
              const std::string& instance, const KernelInfo& info, const Limits& limits,
              NameTable& names)
      : step_(step),
        where_(where),
        instance_(instance),
        info_(info),
        limits_(limits),
        names_(names) {}

  Checked<Launch> Run(const std::string& mangled) {
    launch_.kernel = mangled;
    launch_.cooperative = step_.cooperative;
    if (auto done = Extents("grid", step_.grid, kMaxGrid, &launch_.grid); !done) {
      return tl::unexpected(done.error());
    }
    if (auto done = Extents("block", step_.block, kMaxBlock, &launch_.block); !done) {
      return tl::unexpected(done.error());
    }
    if (auto done = Threads(); !done) return tl::unexpected(done.error());
    if (auto done = SharedMemory(); !done) return tl::unexpected(done.error());
    if (auto done = Arguments(); !done) return tl::unexpected(done.error());
    return std::move(launch_);
  }

 private:
  tl::unexpected<Fault> Bad(const std::string& what) const {
    return Blame(Verdict::kBadCandidate, c10::str(where_, what));
  }
  tl::unexpected<Fault> Rejected(const std::string& what) const {
    return Blame(Verdict::kLaunchRejected, c10::str(where_, what));
  }
  Checked<int64_t> Evaluate(const Expr& expr, const std::string& place) const {
    auto value = expr.Evaluate(names_.values());
    if (!value) return Blame(value.error().verdict, where_ + place + ": " + value.error().message);
    return value;
  }
  // "(n + 255) / 256, which is 0" or "0".
  static std::string Spelled(const Expr& expr, int64_t value) {
    const std::string number = c10::str(value);
    return expr.text() == number ? number : c10::str("\"", expr.text(), "\", which is ", number);
  }

  Checked<void> Extents(const char* field, const std::vector<Expr>& extents, const int64_t* most,
                        Dim3* result) const {
    uint32_t* const out[] = {&result->x, &result->y, &result->z};
    for (size_t i = 0; i < extents.size() && i < 3; ++i) {
      const std::string place = c10::str(".", field, "[", i, "]");
      auto value = Evaluate(extents[i], place);
      if (!value) return tl::unexpected(value.error());
      if (*value < 1) {
        return Bad(c10::str(place, ": ", Spelled(extents[i], *value), "; it must be at least 1."));
      }
      if (*value > most[i]) {
        return Rejected(c10::str(place, ": ", Spelled(extents[i], *value), "; the device allows ",
                                 most[i], "."));
      }
      *out[i] = static_cast<uint32_t>(*value);
    }
    return {};
  }

  Checked<void> Threads() const {
    const int64_t threads = int64_t{launch_.block.x} * launch_.block.y * launch_.block.z;
    if (threads > limits_.max_threads_per_block) {
      return Rejected(c10::str(".block: ", threads, " threads; the device allows ",
                               limits_.max_threads_per_block, " per block."));
    }
    const int own = info_.resources.max_threads;
    if (own > 0 && threads > own) {
      return Rejected(c10::str(".block: ", threads, " threads; kernel \"", instance_,
                               "\" can run with ", own, " (", info_.resources.registers,
                               " registers per thread, or its __launch_bounds__)."));
    }
    return {};
  }

  Checked<void> SharedMemory() {
    int64_t bytes = 0;
    if (step_.shared_bytes) {
      auto value = Evaluate(*step_.shared_bytes, ".shared_bytes");
      if (!value) return tl::unexpected(value.error());
      bytes = *value;
      if (bytes < 0) {
        return Bad(c10::str(".shared_bytes: ", Spelled(*step_.shared_bytes, bytes),
                            "; it must be at least 0."));
      }
    }
    const int64_t fixed = info_.resources.static_shared_bytes;
    const int64_t most = std::max(limits_.shared_optin_bytes, kDefaultSharedBytes);
    if (bytes > most || bytes + fixed > most) {
      return Rejected(c10::str(".shared_bytes: ", bytes, " bytes",
                               fixed > 0 ? c10::str(" and the kernel's own ", fixed) : "",
                               "; the device allows ", most, " per block."));
    }
    launch_.dynamic_shared_bytes = static_cast<size_t>(bytes);
    return {};
  }

  Checked<void> Arguments() {
    if (step_.args.size() != info_.params.size()) {
      return Bad(c10::str(".args: kernel \"", instance_, "\" takes ", info_.params.size(),
                          info_.params.size() == 1 ? " argument" : " arguments",
                          ", the plan gives ", step_.args.size(), "."));
    }
    size_t total = 0;
    for (const ParamLayout& each : info_.params) total = std::max(total, each.offset + each.bytes);
    launch_.params.assign(total, std::byte{0});
    for (size_t i = 0; i < step_.args.size(); ++i) {
      const std::string place = c10::str(".args[", i, "]");
      Checked<void> done;
      if (const auto* pointer = std::get_if<PointerArg>(&step_.args[i])) {
        done = Pointer(*pointer, place, info_.params[i]);
      } else if (const auto* pointers = std::get_if<PointersArg>(&step_.args[i])) {
        done = Pointers(*pointers, place, info_.params[i]);
      } else {
        done = Scalar(std::get<ScalarArg>(step_.args[i]), place, info_.params[i]);
      }
      if (!done) return done;
    }
    return {};
  }

  template <typename T>
  Checked<void> Put(const T& value, const char* kind, const std::string& place,
                    const ParamLayout& layout) {
    if (sizeof(T) != layout.bytes) {
      return Bad(c10::str(place, ": ", kind, " has ", sizeof(T),
                          sizeof(T) == 1 ? " byte" : " bytes", ", but this parameter of kernel \"",
                          instance_, "\" has ", layout.bytes, "."));
    }
    std::memcpy(launch_.params.data() + layout.offset, &value, sizeof(T));
    return {};
  }

  Checked<void> Pointer(const PointerArg& arg, const std::string& place,
                        const ParamLayout& layout) {
    auto address = Address(arg, place);
    if (!address) return tl::unexpected(address.error());
    return Put(*address, "a pointer", place, layout);
  }

  Checked<void> Pointers(const PointersArg& arg, const std::string& place,
                         const ParamLayout& layout) {
    const size_t bytes = arg.pointers.size() * sizeof(uintptr_t);
    if (bytes != layout.bytes) {
      return Bad(c10::str(place, ": ", arg.pointers.size(), " pointers have ", bytes,
                          " bytes, but this parameter of kernel \"", instance_, "\" has ",
                          layout.bytes, "; it must be a struct of as many pointers."));
    }
    for (size_t i = 0; i < arg.pointers.size(); ++i) {
      auto address = Address(arg.pointers[i], c10::str(place, ".ptrs[", i, "]"));
      if (!address) return tl::unexpected(address.error());
      std::memcpy(launch_.params.data() + layout.offset + i * sizeof(uintptr_t), &*address,
                  sizeof(uintptr_t));
    }
    return {};
  }

  Checked<uintptr_t> Address(const PointerArg& arg, const std::string& place) {
    auto tensor = names_.Tensor(arg.tensor.name);
    if (!tensor) {
      return Blame(tensor.error().verdict, where_ + place + ": " + tensor.error().message);
    }
    const std::string name = "\"$" + arg.tensor.name + "\"";
    if (tensor->device() != names_.device()) {
      return Bad(c10::str(place, ": ", name, " lies on ", tensor->device().str(),
                          ", where kernels cannot reach it."));
    }
    auto address = reinterpret_cast<uintptr_t>(tensor->const_data_ptr());
    if (!arg.strided && !tensor->is_contiguous()) {
      return Bad(c10::str(place, ": ", name, " is not contiguous (", Spell(*tensor),
                          "); index it by its strides and say {\"ptr\": ", name,
                          ", \"strided\": true}, or make it contiguous first."));
    }
    if (!arg.strided && address % 16 != 0) {
      return Bad(c10::str(place, ": ", name,
                          " is not 16-byte aligned; use no vector accesses and "
                          "say {\"ptr\": ",
                          name, ", \"strided\": true}."));
    }
    if (arg.offset) {
      auto offset = Evaluate(*arg.offset, place + ".offset");
      if (!offset) return tl::unexpected(offset.error());
      const auto item = static_cast<int64_t>(tensor->element_size());
      const int64_t elements = SpanBytes(*tensor) / item;
      if (*offset < 0 || (*offset >= elements && *offset != 0)) {
        return Bad(c10::str(place, ".offset: ", Spelled(*arg.offset, *offset), "; ", name, " has ",
                            elements, " elements."));
      }
      address += static_cast<uintptr_t>(*offset * item);
    }
    return address;
  }

  template <typename T>
  Checked<void> Integer(int64_t value, const char* kind, const std::string& place,
                        const ParamLayout& layout) {
    const bool fits =
        std::is_signed_v<T>
            ? value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
                  value <= static_cast<int64_t>(std::numeric_limits<T>::max())
            : value >= 0 && static_cast<uint64_t>(value) <= uint64_t{std::numeric_limits<T>::max()};
    if (!fits) return Bad(c10::str(place, ": ", value, " does not fit ", kind, "."));
    return Put(static_cast<T>(value), kind, place, layout);
  }

  Checked<void> Scalar(const ScalarArg& arg, const std::string& place, const ParamLayout& layout) {
    int64_t whole = 0;
    double real = 0;
    if (const auto* b = std::get_if<bool>(&arg.value)) {
      whole = *b ? 1 : 0;
      real = static_cast<double>(whole);
    } else if (const auto* d = std::get_if<double>(&arg.value)) {
      real = *d;
    } else if (const auto* expr = std::get_if<Expr>(&arg.value); expr != nullptr && arg.is_real()) {
      auto value = expr->EvaluateReal(names_.values());
      if (!value) {
        return Blame(value.error().verdict, where_ + place + ": " + value.error().message);
      }
      real = *value;
    } else {
      auto value =
          expr != nullptr ? Evaluate(*expr, place) : Checked<int64_t>(std::get<int64_t>(arg.value));
      if (!value) return tl::unexpected(value.error());
      whole = *value;
      real = static_cast<double>(whole);
    }
    const bool integral = arg.type == ScalarType::kI32 || arg.type == ScalarType::kI64 ||
                          arg.type == ScalarType::kU32 || arg.type == ScalarType::kU64;
    if (integral && std::holds_alternative<double>(arg.value)) {
      return Bad(c10::str(place, ": ", real, " is not an integer."));
    }
    switch (arg.type) {
      case ScalarType::kI32:
        return Integer<int32_t>(whole, "an i32", place, layout);
      case ScalarType::kI64:
        return Integer<int64_t>(whole, "an i64", place, layout);
      case ScalarType::kU32:
        return Integer<uint32_t>(whole, "a u32", place, layout);
      case ScalarType::kU64:
        return Integer<uint64_t>(whole, "a u64", place, layout);
      case ScalarType::kF32:
        return Put(static_cast<float>(real), "an f32", place, layout);
      case ScalarType::kF64:
        return Put(real, "an f64", place, layout);
      case ScalarType::kF16:
        return Put(c10::Half(static_cast<float>(real)), "an f16", place, layout);
      case ScalarType::kBf16:
        return Put(c10::BFloat16(static_cast<float>(real)), "a bf16", place, layout);
      case ScalarType::kBool:
        return Put(static_cast<uint8_t>(real != 0), "a bool", place, layout);
    }
    return Bad(place + ": an argument of unknown kind.");
  }

  const candidate::KernelStep& step_;
  const std::string& where_;
  const std::string& instance_;
  const KernelInfo& info_;
  const Limits& limits_;
  NameTable& names_;
  Launch launch_;
};

}  // namespace

Checked<Launch> PrepareLaunch(const candidate::KernelStep& step, const std::string& where,
                              const std::string& instance, const std::string& mangled,
                              const KernelInfo& info, const Limits& limits, NameTable& names) {
  return Preparation(step, where, instance, info, limits, names).Run(mangled);
}

}  // namespace cudaagent::device
