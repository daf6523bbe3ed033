// Names of integer types and what is twice as wide, unsigned, and so on.
#pragma once

#include <cstdint>

namespace cudaagent::device::ptx::PTX_ISA {

using u8 = uint8_t;
using u16 = uint16_t;
using s16 = int16_t;
using u32 = uint32_t;
using s32 = int32_t;
using u64 = uint64_t;
using s64 = int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

template <class T>
struct WideOf;
template <>
struct WideOf<u16> {
  using type = u32;
};
template <>
struct WideOf<s16> {
  using type = s32;
};
template <>
struct WideOf<u32> {
  using type = u64;
};
template <>
struct WideOf<s32> {
  using type = s64;
};
template <>
struct WideOf<u64> {
  using type = u128;
};
template <>
struct WideOf<s64> {
  using type = s128;
};
template <class T>
using Wide = typename WideOf<T>::type;
template <class T>
struct UnsignedOf {
  using type = T;
};
template <>
struct UnsignedOf<s16> {
  using type = u16;
};
template <>
struct UnsignedOf<s32> {
  using type = u32;
};
template <>
struct UnsignedOf<s64> {
  using type = u64;
};
template <class T>
using Unsigned = typename UnsignedOf<T>::type;

template <class T>
constexpr int kBits = sizeof(T) * 8;

}  // namespace cudaagent::device::ptx::PTX_ISA
