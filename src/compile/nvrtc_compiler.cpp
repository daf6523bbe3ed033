#include "compile/nvrtc_compiler.h"

#include "compile/embedded_headers.h"

namespace cudaagent::compile {
namespace {

constexpr size_t kMaxRawLogBytes = 4u << 20;
constexpr const char* kFirstName = "/cudaagent/first.h";

class ProgramHolder {
 public:
  ProgramHolder(const NvrtcLibrary& library) : library_(library) {}
  ~ProgramHolder() {
    if (program_ != nullptr) library_.DestroyProgram(&program_);
  }
  ProgramHolder(const ProgramHolder&) = delete;
  ProgramHolder& operator=(const ProgramHolder&) = delete;

  NvrtcLibrary::Program get() const { return program_; }
  NvrtcLibrary::Program* address() { return &program_; }

 private:
  const NvrtcLibrary& library_;
  NvrtcLibrary::Program program_ = nullptr;
};

using SizeFunction = int (*)(NvrtcLibrary::Program, size_t*);
using TextFunction = int (*)(NvrtcLibrary::Program, char*);

std::string Take(NvrtcLibrary::Program program, SizeFunction size_of, TextFunction text_of) {
  size_t size = 0;
  if (size_of(program, &size) != kNvrtcSuccess || size == 0) return "";
  std::string text(size, '\0');
  if (text_of(program, text.data()) != kNvrtcSuccess) return "";
  return text;
}

std::string TakeCString(NvrtcLibrary::Program program, SizeFunction size_of, TextFunction text_of) {
  std::string text = Take(program, size_of, text_of);
  if (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace

std::vector<std::string> NvrtcOptions(const protocol::CompileJob& job,
                                      const std::vector<std::string>& include_dirs) {
  std::vector<std::string> options = {
      "--gpu-architecture=" + job.arch,
      "--std=" + job.standard,
      "--generate-line-info",
      "--device-as-default-execution-space",
      "--no-cache",          // NVRTC's own cache under $HOME is outside the jail
      "--diag-suppress=47",  // a candidate's own "#define FLT_MAX": the newest definition holds
  };
  if (job.fast_math) options.push_back("--use_fast_math");
  if (job.max_registers > 0) {
    options.push_back("--maxrregcount=" + std::to_string(job.max_registers));
  }
  for (const std::string& dir : include_dirs) options.push_back("--include-path=" + dir);
  return options;
}

NvrtcOutput RunNvrtc(const NvrtcLibrary& library, const NvrtcInput& input) {
  NvrtcOutput output;
  const auto failed = [&](int status) {
    output.status = status;
    output.status_text = library.GetErrorString(status);
    return status != kNvrtcSuccess;
  };

  std::string first = std::string("#include <") + kPreludeName + ">\n";
  for (const std::string& header : input.first.headers) first += "#include <" + header + ">\n";
  std::vector<const char*> names = {kFirstName}, texts = {first.c_str()};
  for (const EmbeddedHeader& header : EmbeddedHeaders()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  std::vector<std::string> options = input.options;
  options.push_back(std::string("--pre-include=") + kFirstName);
  if (!input.first.use_pch.empty()) options.push_back("--use-pch=" + input.first.use_pch);
  if (!input.first.create_pch.empty()) options.push_back("--create-pch=" + input.first.create_pch);
  if (!input.first.use_pch.empty() || !input.first.create_pch.empty()) {
    options.push_back("--pch-messages=false");
  }
  std::vector<const char*> argv;
  for (const std::string& option : options) argv.push_back(option.c_str());

  ProgramHolder program(library);
  if (failed(library.CreateProgram(program.address(), input.source.c_str(), kSourceName,
                                   static_cast<int>(names.size()), texts.data(), names.data()))) {
    return output;
  }
  for (const std::string& kernel : input.kernels) {
    if (failed(library.AddNameExpression(program.get(), kernel.c_str()))) return output;
  }
  failed(library.CompileProgram(program.get(), static_cast<int>(argv.size()), argv.data()));
  output.log = TakeCString(program.get(), library.GetProgramLogSize, library.GetProgramLog);
  if (output.log.size() > kMaxRawLogBytes) output.log.resize(kMaxRawLogBytes);
  if (output.status != kNvrtcSuccess) return output;

  for (const std::string& kernel : input.kernels) {
    const char* name = nullptr;
    const int status = library.GetLoweredName(program.get(), kernel.c_str(), &name);
    if (status == kNvrtcNameExpressionNotValid || name == nullptr)
      continue;  // the caller misses it
    if (failed(status)) return output;
    output.lowered[kernel] = name;
  }
  output.cubin = Take(program.get(), library.GetCubinSize, library.GetCubin);
  output.ptx = TakeCString(program.get(), library.GetPtxSize, library.GetPtx);
  return output;
}

}  // namespace cudaagent::compile
