// Owning references, the interpreter lock and error conversion over CPython's C API.
#pragma once

#include <Python.h>

#include <string>
#include <utility>

#include "cudaagent/result.h"

namespace cudaagent::reference {

// Holds the interpreter lock for a scope. Between calls nobody holds it, so that Python threads of
// libraries (inductor's compile pool) run while C++ works.
class WithPython {
 public:
  WithPython() : state_(PyGILState_Ensure()) {}
  ~WithPython() { PyGILState_Release(state_); }
  WithPython(const WithPython&) = delete;
  WithPython& operator=(const WithPython&) = delete;

 private:
  PyGILState_STATE state_;
};

// One owned reference. Destroyed under the interpreter lock.
class Object {
 public:
  Object() = default;
  // Takes over a new reference; null where a Python error is set.
  static Object Own(PyObject* object) { return Object(object); }
  static Object Share(PyObject* borrowed) { return Object(Py_XNewRef(borrowed)); }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* Release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Object(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

// The Python error that is set, cleared. cudaagent_reference.trouble.Trouble says which kind it is;
// anything else is a bug of ours (kInternal), its traceback printed to stderr.
Error TakePythonError();

// A str's UTF-8; lone surrogates are replaced.
std::string ToString(PyObject* text);

}  // namespace cudaagent::reference
