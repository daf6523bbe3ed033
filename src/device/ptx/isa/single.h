// f32 functions of one lane, written so that the lane loops vectorise. "Approximate" ones are
// better than PTX asks for; they differ from the silicon by ulps.
#pragma once

#include "device/ptx/isa/lanes.h"

namespace cudaagent::device::ptx::PTX_ISA {

inline float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float Fabs(float x) { return AsFloat(AsBits(x) & 0x7fffffffu); }
inline float WithSign(float magnitude, float sign) {
  return AsFloat((AsBits(magnitude) & 0x7fffffffu) | (AsBits(sign) & 0x80000000u));
}

// Nearest integer, ties to even, for |x| < 2^22: the sum pushes the fraction out of the mantissa.
inline float NearestSmall(float x) { return (x + 12582912.0f) - 12582912.0f; }
inline double NearestSmall(double x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

// 2^x for |x| < 1000 in double, relative error below 2^-34: Taylor series of exp(f ln 2), |f| <=
// 1/2.
inline double Exp2Double(double x) {
  double n = NearestSmall(x), f = (x - n) * 0.6931471805599453;
  double p = 1.0 / 362880;
  p = p * f + 1.0 / 40320;
  p = p * f + 1.0 / 5040;
  p = p * f + 1.0 / 720;
  p = p * f + 1.0 / 120;
  p = p * f + 1.0 / 24;
  p = p * f + 1.0 / 6;
  p = p * f + 0.5;
  p = p * f + 1.0;
  p = p * f + 1.0;
  // n + 1.5 * 2^52 holds n in its low bits.
  uint64_t k = __builtin_bit_cast(uint64_t, n + 6755399441055744.0);
  return p * __builtin_bit_cast(double, (k + 1023) << 52);
}

// 2^x to about one ulp: Taylor series in f32 with the leading terms by fma; scaled in two steps so
// that subnormal results round once.
inline float Exp2(float x) {
  float c = x < -160.0f ? -160.0f : x;
  c = c < 130.0f ? c : 130.0f;
  float n = NearestSmall(c), f = c - n;
  float p = 1.5252733804e-5f;  // ln(2)^7 / 5040
  p = Fma(p, f, 1.5403530394e-4f);
  p = Fma(p, f, 1.3333558146e-3f);
  p = Fma(p, f, 9.6181291076e-3f);
  p = Fma(p, f, 5.5504108665e-2f);
  p = Fma(p, f, 0.24022650696f);
  p = Fma(p, f, 0.69314718056f);
  p = Fma(p, f, 1.0f);
  int32_t k = static_cast<int32_t>(n);
  int32_t half = k >> 1;
  float s1 = AsFloat(static_cast<uint32_t>(half + 127) << 23);
  float s2 = AsFloat(static_cast<uint32_t>(k - half + 127) << 23);
  float r = p * s1 * s2;
  return x == x ? r : AsFloat(kNan);
}

// log2 through double: m in [sqrt(1/2), sqrt(2)), 2 atanh((m - 1) / (m + 1)) / ln 2.
inline float Log2(float x) {
  float scaled = Fabs(x) < 1.17549435e-38f ? x * 16777216.0f : x;
  uint32_t bits = AsBits(scaled);
  int32_t shift = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  float m = AsFloat(bits - (static_cast<uint32_t>(shift) << 23));
  double e = static_cast<double>(shift) - (Fabs(x) < 1.17549435e-38f ? 24.0 : 0.0);
  double s = (static_cast<double>(m) - 1.0) / (static_cast<double>(m) + 1.0), q = s * s;
  double p = 1.0 / 13;
  p = p * q + 1.0 / 11;
  p = p * q + 1.0 / 9;
  p = p * q + 1.0 / 7;
  p = p * q + 1.0 / 5;
  p = p * q + 1.0 / 3;
  p = p * q + 1.0;
  float r = static_cast<float>(e + p * s * 2.8853900817779268);
  r = x == 0.0f ? -__builtin_inff() : r;
  r = x == __builtin_inff() ? x : r;
  return x >= 0.0f ? r : AsFloat(kNan);
}

// sin and cos in double after reduction by pi/2; good for |x| up to about 2^20.
template <bool kCosine>
inline float SinCos(float x) {
  double v = Fabs(x) < 1048576.0f ? static_cast<double>(x) : 0.0;
  double n = NearestSmall(v * 0.6366197723675814);
  double r = (v - n * 1.5707963267948966) - n * 6.123233995736766e-17;
  double q = r * r;
  double s = -2.5052108385441720e-8;
  s = s * q + 2.7557319223985893e-6;
  s = s * q - 1.9841269841269841e-4;
  s = s * q + 8.3333333333333333e-3;
  s = s * q - 0.16666666666666667;
  s = s * q * r + r;
  double c = 2.0876756987868099e-9;
  c = c * q - 2.7557319223985888e-7;
  c = c * q + 2.4801587301587302e-5;
  c = c * q - 1.3888888888888889e-3;
  c = c * q + 4.1666666666666664e-2;
  c = c * q - 0.5;
  c = c * q + 1.0;
  uint64_t k = __builtin_bit_cast(uint64_t, n + 6755399441055744.0) + (kCosine ? 1 : 0);
  double r2 = (k & 1) != 0 ? c : s;
  r2 = (k & 2) != 0 ? -r2 : r2;
  float out = static_cast<float>(r2);
  return Fabs(x) < __builtin_inff() ? out : AsFloat(kNan);
}

inline float Tanh(float x) {
  float a = Fabs(x);
  a = a < 20.0f ? a : 20.0f;
  double e = Exp2Double(static_cast<double>(a) * 2.8853900817779268);
  float r = static_cast<float>((e - 1.0) / (e + 1.0));
  r = a < 0.001f ? a : r;
  return x == x ? WithSign(r, x) : AsFloat(kNan);
}

inline float ReciprocalSqrt(float x) {
  float r = static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x)));
  r = x == 0.0f ? WithSign(__builtin_inff(), x) : r;
  return Canonical(r);
}

template <bool kMax>
inline float MinMax(float a, float b) {
  float r = kMax ? (a > b ? a : b) : (a < b ? a : b);
  uint32_t zero = kMax ? AsBits(a) & AsBits(b) : AsBits(a) | AsBits(b);
  r = a == b ? AsFloat(zero) : r;
  r = a == a ? r : b;
  r = b == b ? r : a;
  return Canonical(r);
}
template <bool kMax>
inline float MinMaxNan(float a, float b) {
  float r = MinMax<kMax>(a, b);
  r = a == a ? r : AsFloat(kNan);
  return b == b ? r : AsFloat(kNan);
}

}  // namespace cudaagent::device::ptx::PTX_ISA
