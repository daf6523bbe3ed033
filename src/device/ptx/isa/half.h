// f16 and bf16 values as 16-bit patterns, converted branch-free so that lane loops vectorise.
#pragma once

#include "device/ptx/isa/lanes.h"

namespace cudaagent::device::ptx::PTX_ISA {

// Exact. Subnormals are scaled by a subtraction in f32.
inline float FromHalf(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, rest = h & 0x7fffu;
  float normal = AsFloat((rest << 13) + 0x38000000u);
  float special = AsFloat((rest << 13) | 0x7f800000u);
  float subnormal = AsFloat(0x38800000u | (rest << 13)) - AsFloat(0x38800000u);
  float r = rest >= 0x7c00u ? special : normal;
  r = rest < 0x400u ? subnormal : r;
  return AsFloat(AsBits(r) | sign);
}
// Nearest, ties to even; NaN becomes 0x7fff.
inline uint16_t ToHalf(float f) {
  uint32_t bits = AsBits(f), sign = bits >> 16 & 0x8000u, a = bits & 0x7fffffffu;
  // Subnormal result: adding 0.5 aligns the mantissa so that the host rounds it.
  uint32_t small = AsBits(AsFloat(a) + 0.5f) - 0x3f000000u;
  uint32_t normal = (a - 0x38000000u + 0xfffu + (a >> 13 & 1)) >> 13;
  uint32_t r = a < 0x38800000u ? small : normal;
  r = a >= 0x477ff000u ? 0x7c00u : r;
  r |= sign;
  return static_cast<uint16_t>(a > 0x7f800000u ? 0x7fffu : r);
}
inline float FromBrain(uint16_t b) { return AsFloat(static_cast<uint32_t>(b) << 16); }
inline uint16_t ToBrain(float f) {
  uint32_t bits = AsBits(f);
  uint32_t r = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r);
}
inline uint16_t FlushHalf(uint16_t h) {
  return static_cast<uint16_t>((h & 0x7c00u) != 0 ? h : h & 0x8000u);
}

// 8-bit floating point, as OCP defines it.
inline float FromFp8(uint8_t v, bool e5m2) {
  uint32_t sign = static_cast<uint32_t>(v & 0x80u) << 24, rest = v & 0x7fu;
  if (e5m2) return FromHalf(static_cast<uint16_t>(v << 8));
  if (rest == 0x7f) return AsFloat(kNan);
  if (rest < 8) return AsFloat(AsBits(static_cast<float>(rest) * 0.001953125f) | sign);
  return AsFloat(((rest << 20) + 0x3c000000u) | sign);
}

// Nearest, ties to even; what is too large becomes the largest number, NaN 0x7f.
inline uint8_t ToFp8(float f, bool e5m2) {
  const uint32_t bits = AsBits(f), a = bits & 0x7fffffffu;
  const int mantissa = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7, most = e5m2 ? 0x7b : 0x7e;
  if (a > 0x7f800000u) return 0x7f;
  int e = static_cast<int>(a >> 23) - 127;
  e = e < 1 - bias ? 1 - bias : e > 20 ? 20 : e;
  // In steps of 2^(e - mantissa); the sum rounds to whole ones.
  float steps = AsFloat(a) * AsFloat(static_cast<uint32_t>(127 + mantissa - e) << 23);
  steps = steps < 4194304.0f ? (steps + 8388608.0f) - 8388608.0f : 4194304.0f;
  int code = ((e + bias - 1) << mantissa) + static_cast<int>(steps);
  code = code > most ? most : code;
  return static_cast<uint8_t>((bits >> 24 & 0x80u) | static_cast<uint32_t>(code));
}

struct Half {
  static float From(uint16_t h) { return FromHalf(h); }
  static uint16_t To(float f) { return ToHalf(f); }
  static constexpr const char* kName = "f16";
};
struct Brain {
  static float From(uint16_t h) { return FromBrain(h); }
  static uint16_t To(float f) { return ToBrain(f); }
  static constexpr const char* kName = "bf16";
};

// a * b + c in f32 rounded to odd, so that a second rounding to 16 bits is the only one: the
// product of two halves is exact in f32; TwoSum gives the error of the sum.
inline float FmaOdd(float a, float b, float c) {
  float p = a * b, s = p + c, bb = s - p;
  float error = (p - (s - bb)) + (c - bb);
  uint32_t bits = AsBits(s);
  bool inexact = (error > 0.0f) | (error < 0.0f);
  uint32_t away = (error > 0.0f) == (s > 0.0f) ? 1u : 0xffffffffu;
  return AsFloat(inexact & ((bits & 1) == 0) ? bits + away : bits);
}

}  // namespace cudaagent::device::ptx::PTX_ISA
