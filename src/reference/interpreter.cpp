// StartPython: the one interpreter of the process.
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "reference/other_python.h"
#include "reference/python.h"
#include "reference/python_sources.h"
#include "reference/reference.h"

namespace cudaagent::reference {
namespace {

std::string StatusText(const PyStatus& status) {
  return status.err_msg != nullptr ? status.err_msg : "no reason given";
}

// Isolated: neither PYTHON* variables, nor the user's site folder, nor the working directory decide
// what is imported; the packages are those of `executable`. No signal handlers: a terminal's Ctrl-C
// is the driver's business.
std::optional<std::string> Initialize(const std::string& executable) {
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  config.install_signal_handlers = 0;
  config.buffered_stdio = 0;
  config.pathconfig_warnings = 0;
  PyStatus status = PyConfig_SetBytesString(&config, &config.executable, executable.c_str());
  if (!PyStatus_Exception(status)) {
    status = PyConfig_SetBytesString(&config, &config.program_name, executable.c_str());
  }
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) return StatusText(status);
  return std::nullopt;
}

// Runs bootstrap.py with SOURCES in place.
bool InstallSources() {
  Object sources = Object::Own(PyDict_New());
  const char* bootstrap = nullptr;
  for (const PythonSource& source : PythonSources()) {
    std::string name = source.name;
    if (name == "bootstrap") {
      bootstrap = source.text;
      continue;
    }
    std::string module = "cudaagent_reference" + (name == "__init__" ? "" : "." + name);
    Object text = Object::Own(PyUnicode_FromString(source.text));
    if (!text || PyDict_SetItemString(sources.get(), module.c_str(), text.get()) != 0) return false;
  }
  Object globals = Object::Own(PyDict_New());
  Object code =
      Object::Own(Py_CompileString(bootstrap, "<cudaagent-worker>/bootstrap.py", Py_file_input));
  if (!code || PyDict_SetItemString(globals.get(), "SOURCES", sources.get()) != 0 ||
      PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) != 0) {
    return false;
  }
  return static_cast<bool>(Object::Own(PyEval_EvalCode(code.get(), globals.get(), globals.get())));
}

Result<void> ImportTorch(const std::string& executable) {
  Object torch = Object::Own(PyImport_ImportModule("torch"));
  if (!torch) {
    Error error = TakePythonError();
    return Fail(ErrorCode::kEnvironment, "Importing torch in the worker's Python (" + executable +
                                             ") failed: " + error.message +
                                             " Repair that Python's torch " CUDAAGENT_TORCH_VERSION
                                             ", or rebuild the worker for another Python.");
  }
  std::string version = TorchVersion();
  if (version != CUDAAGENT_TORCH_VERSION) {
    return Fail(ErrorCode::kEnvironment, WrongPython(executable, "torch " + version));
  }
  return {};
}

Result<void> StartOnce() {
  std::string executable = CUDAAGENT_PYTHON;
  if (const char* other = std::getenv("CUDAAGENT_PYTHON");
      other != nullptr && *other != '\0' && executable != other) {
    if (Result<void> same = CheckSamePython(other); !same) return same;
    executable = other;
  }
  if (access(executable.c_str(), X_OK) != 0) {
    return Fail(ErrorCode::kEnvironment,
                "The Python this worker was built for, " + executable +
                    ", is missing. Restore it, or rebuild the worker (scripts/run does).");
  }
  if (auto reason = Initialize(executable)) {
    return Fail(ErrorCode::kEnvironment,
                "Starting Python (" + executable + ") failed: " + *reason + ".");
  }
  Result<void> result =
      InstallSources() ? ImportTorch(executable) : Result<void>(tl::unexpected(TakePythonError()));
  PyEval_SaveThread();  // see WithPython
  return result;
}

}  // namespace

Result<void> StartPython() {
  static const Result<void> result = StartOnce();
  return result;
}

std::string TorchVersion() {
  WithPython lock;
  Object torch = Object::Own(PyImport_ImportModule("torch"));
  Object version =
      torch ? Object::Own(PyObject_GetAttrString(torch.get(), "__version__")) : Object();
  Object text = version ? Object::Own(PyObject_Str(version.get())) : Object();
  if (!text) {
    PyErr_Clear();
    return "";
  }
  return ToString(text.get());
}

}  // namespace cudaagent::reference
