// LoadReference: a Problem of python/cudaagent_reference behind the C++ interface.
#include "reference/reference.h"

#include <exception>
#include <utility>

#include "reference/precision.h"
#include "reference/problem_info.h"
#include "reference/python.h"
#include "reference/values.h"

namespace cudaagent::reference {
namespace {

// Runs `body` under the interpreter lock. torch's C++ exceptions become kInternal: errors of the
// user's code and of memory arrive as Python's Trouble.
template <typename T, typename Body>
Result<T> InPython(Body body) {
  WithPython lock;
  try {
    return body();
  } catch (const std::exception& error) {
    PyErr_Clear();
    return Fail(ErrorCode::kInternal, std::string("torch failed: ") + error.what());
  }
}

// `object.method(*args)`; `args` is a tuple.
Result<Object> Call(PyObject* object, const char* method, PyObject* args) {
  Object function = Object::Own(PyObject_GetAttrString(object, method));
  Object result = function ? Object::Own(PyObject_CallObject(function.get(), args)) : Object();
  if (!result) return tl::unexpected(TakePythonError());
  return result;
}

Result<Object> ProblemModule() {
  Object module = Object::Own(PyImport_ImportModule("cudaagent_reference.problem"));
  if (!module) return tl::unexpected(TakePythonError());
  return module;
}

Object Text(const std::string& text) {
  return Object::Own(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

// (path, source, class_name, inputs_fn, consts, dtype, device, train)
Object LoadArguments(const ProblemSpec& spec, const std::string& torch_device) {
  Object consts = Object::Own(PyDict_New());
  for (const auto& [name, value] : spec.consts) {
    Object key = Text(name), literal = Text(value);
    if (!key || !literal || PyDict_SetItem(consts.get(), key.get(), literal.get()) != 0) return {};
  }
  Object path = Text(spec.path), source = Text(spec.source), class_name = Text(spec.class_name),
         inputs_fn = Text(spec.inputs_fn), dtype = Text(spec.dtype), device = Text(torch_device);
  if (!path || !source || !class_name || !inputs_fn || !dtype || !device) return {};
  return Object::Own(PyTuple_Pack(8, path.get(), source.get(), class_name.get(), inputs_fn.get(),
                                  consts.get(), dtype.get(), device.get(),
                                  spec.mode == Mode::kTrain ? Py_True : Py_False));
}

class PythonReference : public Reference {
 public:
  PythonReference(Object problem, ProblemInfo info, std::map<std::string, at::Tensor> parameters)
      : problem_(std::move(problem)), info_(std::move(info)), parameters_(std::move(parameters)) {}

  ~PythonReference() override {
    WithPython lock;
    parameters_.clear();
    problem_ = Object();
  }

  const ProblemInfo& info() const override { return info_; }
  const std::map<std::string, at::Tensor>& parameters() const override { return parameters_; }

  Result<std::vector<c10::IValue>> MakeInputs(uint64_t seed) override {
    return InPython<std::vector<c10::IValue>>([&]() -> Result<std::vector<c10::IValue>> {
      Object args = Object::Own(Py_BuildValue("(K)", static_cast<unsigned long long>(seed)));
      if (!args) return tl::unexpected(TakePythonError());
      return Call(problem_.get(), "make_inputs", args.get()).and_then([](const Object& tuple) {
        return ToValues(tuple.get());
      });
    });
  }

  Result<std::vector<at::Tensor>> Forward(const std::vector<c10::IValue>& inputs,
                                          Precision precision) override {
    return Run("forward", inputs, precision);
  }

  Result<std::vector<at::Tensor>> ForwardCompiled(const std::string& mode,
                                                  const std::vector<c10::IValue>& inputs,
                                                  Precision precision) override {
    std::vector<c10::IValue> arguments = {c10::IValue(mode)};
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    return Run("forward_compiled", arguments, precision);
  }

  Result<std::vector<at::Tensor>> ForwardDouble(const std::vector<c10::IValue>& inputs) override {
    return Run("forward_double", inputs, Precision::kFp32);
  }

  Result<void> RedrawParameters(uint64_t seed) override {
    return InPython<void>([&]() -> Result<void> {
      Object args = Object::Own(Py_BuildValue("(K)", static_cast<unsigned long long>(seed)));
      if (!args) return tl::unexpected(TakePythonError());
      return Call(problem_.get(), "redraw_parameters", args.get()).map([](const Object&) {});
    });
  }

  Result<void> RestoreParameters() override {
    return InPython<void>([&]() -> Result<void> {
      return Call(problem_.get(), "restore_parameters", nullptr).map([](const Object&) {});
    });
  }

  Result<void> RestoreStatistics() override {
    if (info_.statistics.empty()) return {};
    return InPython<void>([&]() -> Result<void> {
      return Call(problem_.get(), "restore_statistics", nullptr).map([](const Object&) {});
    });
  }

 private:
  Result<std::vector<at::Tensor>> Run(const char* method, const std::vector<c10::IValue>& inputs,
                                      Precision precision) {
    return InPython<std::vector<at::Tensor>>([&]() -> Result<std::vector<at::Tensor>> {
      PrecisionScope scope(precision);
      Result<Object> args = ToTuple(inputs);
      if (!args) return tl::unexpected(args.error());
      return Call(problem_.get(), method, args->get()).and_then([](const Object& tuple) {
        return ToTensors(tuple.get());
      });
    });
  }

  Object problem_;
  ProblemInfo info_;
  std::map<std::string, at::Tensor> parameters_;
};

Result<std::unique_ptr<Reference>> Load(const ProblemSpec& spec, const std::string& torch_device) {
  PrecisionScope scope(spec.precision);
  Result<Object> module = ProblemModule();
  if (!module) return tl::unexpected(module.error());
  Object args = LoadArguments(spec, torch_device);
  if (!args) return tl::unexpected(TakePythonError());
  Result<Object> problem = Call(module->get(), "load", args.get());
  if (!problem) return tl::unexpected(problem.error());

  Result<Object> text = Call(problem->get(), "info", nullptr);
  if (!text) return tl::unexpected(text.error());
  Result<ProblemInfo> info = ParseProblemInfo(ToString(text->get()));
  if (!info) return tl::unexpected(info.error());
  Result<Object> tensors = Call(problem->get(), "tensors", nullptr);
  if (!tensors) return tl::unexpected(tensors.error());
  Result<std::map<std::string, at::Tensor>> parameters = ToTensorMap(tensors->get());
  if (!parameters) return tl::unexpected(parameters.error());
  return std::make_unique<PythonReference>(std::move(*problem), std::move(*info),
                                           std::move(*parameters));
}

}  // namespace

Result<std::unique_ptr<Reference>> LoadReference(const ProblemSpec& spec,
                                                 const std::string& torch_device) {
  if (Result<void> python = StartPython(); !python) return tl::unexpected(python.error());
  return InPython<std::unique_ptr<Reference>>([&] { return Load(spec, torch_device); });
}

Result<void> WarmUp() {
  if (Result<void> python = StartPython(); !python) return python;
  return InPython<void>([]() -> Result<void> {
    Result<Object> module = ProblemModule();
    if (!module) return tl::unexpected(module.error());
    Result<Object> done = Call(module->get(), "warm_up", nullptr);
    if (!done) return tl::unexpected(done.error());
    return {};
  });
}

}  // namespace cudaagent::reference
