#include "protocol/messages.h"

#include <array>
#include <nlohmann/json.hpp>

#include "protocol/describe.h"

namespace cudaagent::protocol {

void Describe(auto& a, Is<Hello> auto& v) {
  a("protocol_version", v.protocol_version);
  a("program", v.program);
  a("device", v.device);
  a("nvrtc_version", v.nvrtc_version);
  a("python_version", v.python_version);
  a("pid", v.pid);
}

void Describe(auto& a, Is<LoadProblem> auto& v) { a("spec", v.spec); }

void Describe(auto& a, Is<EvaluateJob> auto& v) {
  a("source", v.source);
  a("cubin_path", v.cubin_path);
  a("ptx_path", v.ptx_path);
  a("lowered", v.lowered);
  a("demangled", v.demangled);
  a("options", v.options);
  a("trials", v.trials);
  a("eager", v.eager);
  a("compile_mode", v.compile_mode);
}

void Describe(auto& a, Is<BaselineJob> auto& v) {
  a("options", v.options);
  a("modes", v.modes);
}

void Describe(auto&, Is<CalibrateJob> auto&) {}

void Describe(auto&, Is<Shutdown> auto&) {}

void Describe(auto& a, Is<CompileJob> auto& v) {
  a("id", v.id);
  a("source", v.source);
  a("arch", v.arch);
  a("standard", v.standard);
  a("fast_math", v.fast_math);
  a("max_registers", v.max_registers);
  a("kernels", v.kernels);
  a("timeout_s", v.timeout_s);
  a("memory_bytes", v.memory_bytes);
  a.Require(v.timeout_s > 0 && v.memory_bytes > 0, "a job with positive limits");
}

void Describe(auto& a, Is<StageNote> auto& v) { a("stage", v.stage); }

void Describe(auto& a, Is<ProblemReply> auto& v) { a("problem", v.problem); }

void Describe(auto& a, Is<EvaluationReply> auto& v) {
  a("evaluation", v.evaluation);
  a("poisoned", v.poisoned);
}

void Describe(auto& a, Is<BaselineReply> auto& v) {
  a("ok", v.ok);
  a("message", v.message);
  a("eager", v.eager);
  a("compiled", v.compiled);
  a("failures", v.failures);
  a("seconds", v.seconds);
}

void Describe(auto& a, Is<CalibrationReply> auto& v) { a("ceilings", v.ceilings); }

void Describe(auto& a, Is<ErrorReply> auto& v) { a("error", v.error); }

void Describe(auto& a, Is<CompileReply> auto& v) {
  a("id", v.id);
  a("ok", v.ok);
  a("verdict", v.verdict);
  a("message", v.message);
  a("report", v.report);
  a("lowered", v.lowered);
  a("demangled", v.demangled);
}

namespace {

template <typename T>
constexpr const char* kType = nullptr;
template <>
constexpr const char* kType<Hello> = "hello";
template <>
constexpr const char* kType<LoadProblem> = "load_problem";
template <>
constexpr const char* kType<EvaluateJob> = "evaluate";
template <>
constexpr const char* kType<BaselineJob> = "baseline";
template <>
constexpr const char* kType<CalibrateJob> = "calibrate";
template <>
constexpr const char* kType<CalibrationReply> = "calibration";
template <>
constexpr const char* kType<Shutdown> = "shutdown";
template <>
constexpr const char* kType<CompileJob> = "compile";
template <>
constexpr const char* kType<StageNote> = "stage";
template <>
constexpr const char* kType<ProblemReply> = "problem";
template <>
constexpr const char* kType<EvaluationReply> = "evaluation";
template <>
constexpr const char* kType<BaselineReply> = "baseline_result";
template <>
constexpr const char* kType<ErrorReply> = "error";
template <>
constexpr const char* kType<CompileReply> = "compiled";

template <typename Variant>
std::string EncodeAny(const Variant& message) {
  return std::visit(
      [](const auto& value) {
        nlohmann::json json = Writer::Json(value);
        json["type"] = kType<std::remove_cvref_t<decltype(value)>>;
        return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      },
      message);
}

// Tries the alternatives of the variant in turn.
template <typename Variant, size_t kIndex = 0>
Result<Variant> DecodeAs(const std::string& type, const nlohmann::json& json) {
  if constexpr (kIndex == std::variant_size_v<Variant>) {
    return Fail(ErrorCode::kInternal,
                "A message has the unknown type \"" + util::SanitiseLog(type, 60) + "\".");
  } else {
    using Message = std::variant_alternative_t<kIndex, Variant>;
    if (type != kType<Message>) return DecodeAs<Variant, kIndex + 1>(type, json);
    Result<Message> message = FromJson<Message>(json, type);
    if (!message) return tl::unexpected(message.error());
    return Variant(std::move(*message));
  }
}

// Our deepest message has a dozen levels. Millions would cost the parser gigabytes.
constexpr int kMaxDepth = 64;

bool TooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

template <typename Variant>
Result<Variant> DecodeAny(std::string_view text) {
  if (TooDeep(text)) return Fail(ErrorCode::kInternal, "A message is nested too deep.");
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return Fail(ErrorCode::kInternal, "A message is not valid JSON.");
  if (!json.is_object()) return Fail(ErrorCode::kInternal, "A message is not a JSON object.");
  const auto type = json.find("type");
  if (type == json.end() || !type->is_string()) {
    return Fail(ErrorCode::kInternal, "A message has no type.");
  }
  return DecodeAs<Variant>(type->get_ref<const std::string&>(), json);
}

}  // namespace

std::string Encode(const ToWorker& message) { return EncodeAny(message); }
std::string Encode(const ToCompiler& message) { return EncodeAny(message); }
std::string Encode(const FromChild& message) { return EncodeAny(message); }
Result<ToWorker> DecodeToWorker(std::string_view json) { return DecodeAny<ToWorker>(json); }
Result<ToCompiler> DecodeToCompiler(std::string_view json) { return DecodeAny<ToCompiler>(json); }
Result<FromChild> DecodeFromChild(std::string_view json) { return DecodeAny<FromChild>(json); }

}  // namespace cudaagent::protocol
