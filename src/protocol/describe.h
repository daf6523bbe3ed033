// The fields of the vocabulary as JSON, each once: see json_archive.h. The meaning of every field:
// docs/evaluation.md. A field added later must be optional or have its own default on reading.
#pragma once

#include <algorithm>

#include "cudaagent/ceilings.h"
#include "cudaagent/evaluation.h"
#include "cudaagent/options.h"
#include "cudaagent/problem.h"
#include "cudaagent/usage.h"
#include "protocol/json_archive.h"

namespace cudaagent::protocol {

void Describe(auto& a, Is<Error> auto& v) {
  a("code", v.code);
  a("message", v.message);
}

void Describe(auto& a, Is<DeviceStamp> auto& v) {
  a("kind", v.kind);
  a("name", v.name);
  a("uuid", v.uuid);
  a("arch", v.arch);
  a("driver_version", v.driver_version);
  a("cuda_version", v.cuda_version);
  a("nvrtc_version", v.nvrtc_version);
  a("cupti_version", v.cupti_version);
  a("torch_version", v.torch_version);
}

void Describe(auto& a, Is<ProtocolStamp> auto& v) {
  a("version", v.version);
  a("precision", v.precision);
  a("tier", v.tier);
  a("trials", v.trials);
  a("clock", v.clock);
  a("cold_l2", v.cold_l2);
  a("graph", v.graph);
  a("baseline", v.baseline);
  a.Added("compile_mode", v.compile_mode);
  a.Added("fresh_worker", v.fresh_worker);
  a("note", v.note);
  a.Added("guard", v.guard);
  a.Added("mode", v.mode);
}

void Describe(auto& a, Is<DeviceVariable> auto& v) {
  a("name", v.name);
  a("bytes", v.bytes);
  a("certain", v.certain);
}

void Describe(auto& a, Is<KernelResources> auto& v) {
  a("name", v.name);
  a("registers", v.registers);
  a("local_bytes", v.local_bytes);
  a("static_shared_bytes", v.static_shared_bytes);
  a("max_threads", v.max_threads);
}

void Describe(auto& a, Is<CompileReport> auto& v) {
  a("attempted", v.attempted);
  a("cached", v.cached);
  a("seconds", v.seconds);
  a("log", v.log);
  a("flags", v.flags);
  a.Added("device_state", v.device_state);
  a("cubin_path", v.cubin_path);
  a("ptx_path", v.ptx_path);
  a("kernels", v.kernels);
}

void Describe(auto& a, Is<Mismatch> auto& v) {
  a("output", v.output);
  a("index", v.index);
  a("got", v.got);
  a("expected", v.expected);
  a("abs_error", v.abs_error);
  a("rel_error", v.rel_error);
  a("differing", v.differing);
  a("total", v.total);
  a("hint", v.hint);
}

void Describe(auto& a, Is<TierResult> auto& v) {
  a("name", v.name);
  a("passed", v.passed);
  a("atol", v.atol);
  a("rtol", v.rtol);
}

void Describe(auto& a, Is<RaceReport> auto& v) {
  a("kernels", v.kernels);
  a("launches", v.launches);
  a("blocks", v.blocks);
  a("seconds", v.seconds);
  a("remarks", v.remarks);
}

void Describe(auto& a, Is<CheckReport> auto& v) {
  a("trials", v.trials);
  a("passed", v.passed);
  a("max_abs_error", v.max_abs_error);
  a("max_rel_error", v.max_rel_error);
  a("tiers", v.tiers);
  a("mismatch", v.mismatch);
  a("variants", v.variants);
  a("variants_passed", v.variants_passed);
  a("skipped_variants", v.skipped_variants);
  a("races", v.races);
  a("determinism", v.determinism);
  a("timed_checks", v.timed_checks);
  a("seeds", v.seeds);
  a("notes", v.notes);
}

void Describe(auto& a, Is<Timing> auto& v) {
  a("median_ms", v.median_ms);
  a("ci_low_ms", v.ci_low_ms);
  a("ci_high_ms", v.ci_high_ms);
  a("samples", v.samples);
  a.Figure("busy_ms", v.busy_ms);
  a.Figure("kernels", v.kernels);
  a("clock", v.clock);
  a.Figure("event_ms", v.event_ms);
  a.Require(v.median_ms >= 0 && std::isfinite(v.median_ms), "a finite time, not negative");
}

void Describe(auto& a, Is<Ceilings> auto& v) {
  a("bytes_per_s", v.bytes_per_s);
  a("fp32_flops", v.fp32_flops);
  a("tf32_flops", v.tf32_flops);
  a("fp16_flops", v.fp16_flops);
  a("bf16_flops", v.bf16_flops);
  a("date", v.date);
}

void Describe(auto& a, Is<GpuCondition> auto& v) {
  a("sm_mhz", v.sm_mhz);
  a("memory_mhz", v.memory_mhz);
  a("celsius", v.celsius);
  a("slowdowns", v.slowdowns);
  a("dropped_blocks", v.dropped_blocks);
  a("disturbed", v.disturbed);
}

void Describe(auto& a, Is<Usage> auto& v) {
  a("prompt_tokens", v.prompt_tokens);
  a("completion_tokens", v.completion_tokens);
  a("reasoning_tokens", v.reasoning_tokens);
  a("cached_tokens", v.cached_tokens);
}

void Describe(auto& a, Is<Speedup> auto& v) {
  a("value", v.value);
  a("low", v.low);
  a("high", v.high);
}

void Describe(auto& a, Is<KernelCounters> auto& v) {
  a("name", v.name);
  a("launches", v.launches);
  a("instructions", v.instructions);
  a("global_requests", v.global_requests);
  a("global_sectors", v.global_sectors);
  a("global_bytes", v.global_bytes);
  a("shared_requests", v.shared_requests);
  a("shared_wavefronts", v.shared_wavefronts);
  a("active_lane_share", v.active_lane_share);
  a("estimated_us", v.estimated_us);
}

void Describe(auto& a, Is<PrepareReport> auto& v) {
  a("milliseconds", v.milliseconds);
  a("bytes", v.bytes);
}

void Describe(auto& a, Is<TuningVariant> auto& v) {
  a("values", v.values);
  a("verdict", v.verdict);
  a("message", v.message);
  a("median_ms", v.median_ms);
}

void Describe(auto& a, Is<Tuning> auto& v) {
  a("tried", v.tried);
  a("failed", v.failed);
  a("verified", v.verified);
  a("untried", v.untried);
  a("note", v.note);
  a("seconds", v.seconds);
  a("chosen", v.chosen);
  a("variants", v.variants);
}

void Describe(auto& a, Is<Evaluation> auto& v) {
  a("verdict", v.verdict);
  a("message", v.message);
  a("stage", v.stage);
  a("candidate_hash", v.candidate_hash);
  a("problem_hash", v.problem_hash);
  a("device", v.device);
  a("protocol", v.protocol);
  a("compile", v.compile);
  a("check", v.check);
  a("candidate", v.candidate);
  a("eager", v.eager);
  a("compiled_baseline", v.compiled_baseline);
  a.Added("baselines", v.baselines);
  a("gpu", v.gpu);
  a("energy_mj", v.energy_mj);
  a("eager_energy_mj", v.eager_energy_mj);
  a("floor_ms", v.floor_ms);
  a("sol_ms", v.sol_ms);
  a("sol", v.sol);
  a("speedup_eager", v.speedup_eager);
  a("speedup_compile", v.speedup_compile);
  a("degenerate", v.degenerate);
  a("estimated", v.estimated);
  a("own_kernel_share", v.own_kernel_share);
  a("extra_bytes", v.extra_bytes);
  a("prepare", v.prepare);
  a("counters", v.counters);
  a("tuning", v.tuning);
  a("reward", v.reward);
  a("reward_name", v.reward_name);
  a("seconds", v.seconds);
  a("date", v.date);
}

void Describe(auto& a, Is<TensorInfo> auto& v) {
  a("name", v.name);
  a("shape", v.shape);
  a("strides", v.strides);
  a("dtype", v.dtype);
  a("bytes", v.bytes);
  a("contiguous", v.contiguous);
  a.Require(v.shape.size() == v.strides.size(), "a tensor with as many strides as extents");
  // TensorInfo::numel() multiplies without looking; no real tensor has 2^62 elements.
  double elements = 1;
  bool negative = v.bytes < 0;
  for (int64_t extent : v.shape) {
    negative = negative || extent < 0;
    elements *= static_cast<double>(std::max<int64_t>(extent, 1));
  }
  a.Require(!negative && elements < 4.6e18, "a tensor of possible size");
}

void Describe(auto& a, Is<ScalarInput> auto& v) {
  a("name", v.name);
  a("value", v.value);
}

void Describe(auto& a, Is<ProblemInfo> auto& v) {
  a("hash", v.hash);
  a("inputs", v.inputs);
  a("scalars", v.scalars);
  a("parameters", v.parameters);
  a.Added("statistics", v.statistics);
  a("constants", v.constants);
  a("outputs", v.outputs);
  a("graph_json", v.graph_json);
  a("export_error", v.export_error);
}

void Describe(auto& a, Is<ProblemSpec> auto& v) {
  a("path", v.path);
  a("source", v.source);
  a("class_name", v.class_name);
  a("inputs_fn", v.inputs_fn);
  a.Added("mode", v.mode);
  a("consts", v.consts);
  a("dtype", v.dtype);
  a("precision", v.precision);
}

void Describe(auto& a, Is<EvalOptions> auto& v) {
  a("trials", v.trials);
  a("tier", v.tier);
  a("time_limit_s", v.time_limit_s);
  a("min_iterations", v.min_iterations);
  a("max_iterations", v.max_iterations);
  a("ci_half_width", v.ci_half_width);
  a("warm_l2", v.warm_l2);
  a("hidden_variants", v.hidden_variants);
  a("races", v.races);
  a("check_only", v.check_only);
  a("energy", v.energy);
  a("clock", v.clock);
  a.Require(v.clock == "cupti" || v.clock == "events", "options with a known clock");
  a("guard", v.guard);
  a.Require(v.guard == "zones" || v.guard == "strict", "options with a known guard");
  a("model_gpu", v.model_gpu);
  a("instruction_budget", v.instruction_budget);
  a.Figure("seed", v.seed);
  a("allow_prepare", v.allow_prepare);
}

}  // namespace cudaagent::protocol
