#include "reference/python.h"

namespace cudaagent::reference {

std::string ToString(PyObject* text) {
  Object bytes = Object::Own(PyUnicode_AsEncodedString(text, "utf-8", "replace"));
  if (!bytes) {
    PyErr_Clear();
    return "";
  }
  return std::string(PyBytes_AS_STRING(bytes.get()), PyBytes_GET_SIZE(bytes.get()));
}

namespace {

// The text of a str attribute, "" where there is none.
std::string Attribute(PyObject* object, const char* name) {
  Object value = Object::Own(PyObject_GetAttrString(object, name));
  if (!value || !PyUnicode_Check(value.get())) {
    PyErr_Clear();
    return "";
  }
  return ToString(value.get());
}

// The exception that is set, with its traceback attached; the error is cleared.
Object TakeException() {
#if PY_VERSION_HEX >= 0x030C0000
  return Object::Own(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value != nullptr && trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return Object::Own(value);
#endif
}

void PrintException(PyObject* exception) {
  Object trace = Object::Own(PyException_GetTraceback(exception));
  PyErr_Display(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception, trace.get());
}

}  // namespace

Error TakePythonError() {
  Object exception = TakeException();
  if (!exception) return Error{ErrorCode::kInternal, "Python failed without an exception."};
  PyObject* value = exception.get();
  std::string kind = Attribute(value, "kind");
  std::string message = Attribute(value, "message");
  if (!kind.empty() && !message.empty()) {
    return Error{kind == "usage" ? ErrorCode::kUsage : ErrorCode::kEnvironment, message};
  }
  Object text = Object::Own(PyObject_Str(value));
  std::string what = std::string(Py_TYPE(value)->tp_name) + ": " +
                     (text ? ToString(text.get()) : std::string("(no text)"));
  PyErr_Clear();
  PrintException(value);  // the traceback goes to the worker's log
  return Error{ErrorCode::kInternal, "cudaagent's own Python code failed: " + what};
}

}  // namespace cudaagent::reference
