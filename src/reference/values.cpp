// The only file that sees torch's Python bindings, which are slow to compile.
#include "reference/values.h"

#include <torch/csrc/autograd/python_variable.h>

namespace cudaagent::reference {
namespace {

tl::unexpected<Error> Unexpected(PyObject* object) {
  return Fail(ErrorCode::kInternal, std::string("A Python value of type ") +
                                        Py_TYPE(object)->tp_name +
                                        " reached C++, which cannot take it.");
}

Object ToObject(const c10::IValue& value) {
  if (value.isTensor()) return Object::Own(THPVariable_Wrap(value.toTensor()));
  if (value.isBool()) return Object::Own(PyBool_FromLong(value.toBool()));
  if (value.isInt()) return Object::Own(PyLong_FromLongLong(value.toInt()));
  if (value.isDouble()) return Object::Own(PyFloat_FromDouble(value.toDouble()));
  if (value.isNone()) return Object::Share(Py_None);
  if (value.isString()) {
    const std::string& text = value.toStringRef();
    return Object::Own(PyUnicode_FromStringAndSize(text.data(), text.size()));
  }
  PyErr_SetString(PyExc_TypeError, ("an argument of kind " + value.tagKind()).c_str());
  return Object();
}

Result<c10::IValue> ToValue(PyObject* object) {
  if (THPVariable_Check(object)) return c10::IValue(THPVariable_Unpack(object));
  if (object == Py_None) return c10::IValue();
  if (PyBool_Check(object)) return c10::IValue(object == Py_True);
  if (PyFloat_Check(object)) return c10::IValue(PyFloat_AS_DOUBLE(object));
  if (PyUnicode_Check(object)) return c10::IValue(ToString(object));
  if (PyLong_Check(object)) {
    int64_t number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred() != nullptr) return tl::unexpected(TakePythonError());
    return c10::IValue(number);
  }
  return Unexpected(object);
}

}  // namespace

Result<Object> ToTuple(const std::vector<c10::IValue>& values) {
  Object tuple = Object::Own(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  if (!tuple) return tl::unexpected(TakePythonError());
  for (size_t i = 0; i < values.size(); ++i) {
    Object value = ToObject(values[i]);
    if (!value) return tl::unexpected(TakePythonError());
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), value.Release());
  }
  return tuple;
}

Result<std::vector<c10::IValue>> ToValues(PyObject* tuple) {
  if (!PyTuple_Check(tuple)) return Unexpected(tuple);
  std::vector<c10::IValue> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    Result<c10::IValue> value = ToValue(PyTuple_GET_ITEM(tuple, i));
    if (!value) return tl::unexpected(value.error());
    values.push_back(std::move(*value));
  }
  return values;
}

Result<std::vector<at::Tensor>> ToTensors(PyObject* tuple) {
  if (!PyTuple_Check(tuple)) return Unexpected(tuple);
  std::vector<at::Tensor> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (!THPVariable_Check(item)) return Unexpected(item);
    tensors.push_back(THPVariable_Unpack(item));
  }
  return tensors;
}

Result<std::map<std::string, at::Tensor>> ToTensorMap(PyObject* dict) {
  if (!PyDict_Check(dict)) return Unexpected(dict);
  std::map<std::string, at::Tensor> tensors;
  PyObject *key = nullptr, *item = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &item) != 0) {
    if (!PyUnicode_Check(key)) return Unexpected(key);
    if (!THPVariable_Check(item)) return Unexpected(item);
    tensors.emplace(ToString(key), THPVariable_Unpack(item));
  }
  return tensors;
}

}  // namespace cudaagent::reference
