#include "reference/other_python.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "reference/python.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace cudaagent::reference {
namespace {

const std::string kPythonVersion =
    std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);

// Says "3.11 2.11.0+cu130" without importing torch, which takes seconds.
constexpr const char* kAsk = R"(
import importlib.util, os, sys
spec = importlib.util.find_spec("torch")
facts = {"__version__": "no torch"}
if spec is not None:
    exec(open(os.path.join(os.path.dirname(spec.origin), "version.py")).read(), facts)
sys.stderr.write("cudaagent: %d.%d %s\n" % (*sys.version_info[:2], facts["__version__"]))
)";

// What the interpreter printed; the file also holds whatever else it had to say.
std::string Answer(const std::string& log) {
  for (const std::string& line : util::Split(log, '\n')) {
    constexpr std::string_view kMark = "cudaagent: ";
    if (util::StartsWith(line, kMark)) return line.substr(kMark.size());
  }
  return "";
}

}  // namespace

Result<void> CheckSamePython(const std::string& executable) {
  Result<util::TempDir> folder = util::TempDir::Create("cudaagent-python");
  if (!folder) return tl::unexpected(folder.error());
  util::SpawnOptions options;
  options.argv = {executable, "-I", "-c", kAsk};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    options.environment.push_back(*variable);
  }
  options.log_path = folder->path() + "/log";
  Result<util::Subprocess> python = util::Subprocess::Spawn(options);
  std::string failure;
  if (!python) {
    failure = python.error().message;
  } else if (std::optional<util::Death> death = python->Wait(20); !death) {
    failure = "It did not answer within 20 seconds.";
  } else {
    std::string log = util::ReadTail(options.log_path, 1 << 16);
    std::string answer = Answer(log);
    if (answer == kPythonVersion + " " CUDAAGENT_TORCH_VERSION) return {};
    if (size_t space = answer.find(' '); space != std::string::npos) {
      std::string torch = answer.substr(space + 1);
      return Fail(ErrorCode::kEnvironment,
                  WrongPython(executable, "Python " + answer.substr(0, space) + " with " +
                                              (torch == "no torch" ? torch : "torch " + torch)));
    }
    failure = "It " + death->InWords() + ": " + util::SanitiseLog(log, 400);
  }
  return Fail(ErrorCode::kEnvironment,
              "CUDAAGENT_PYTHON=" + executable + " is not a Python that answers. " + failure);
}

std::string WrongPython(const std::string& executable, const std::string& found) {
  return "The worker was built for Python " + kPythonVersion +
         " with torch " CUDAAGENT_TORCH_VERSION " (" CUDAAGENT_PYTHON "), but " + executable +
         " has " + found + ". Rebuild the worker with -DCUDAAGENT_PYTHON=" + executable +
         ", or unset the environment variable CUDAAGENT_PYTHON.";
}

}  // namespace cudaagent::reference
