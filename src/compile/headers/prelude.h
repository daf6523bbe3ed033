// Included before every candidate (NVRTC --pre-include): what nvcc takes from the host's C++
// library and NVRTC lacks. Integer types and limits come from the toolkit's libcu++, so that a
// candidate that includes <cuda/std/...> sees one definition. Everything here is light: no template
// machinery beyond what the names need, for it is parsed or loaded for every compile.
#pragma once

#include <cuda/std/climits>
#include <cuda/std/cstdint>

// ---- constants of <cfloat> and <cmath> ----
#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#endif
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#endif
#ifndef HUGE_VAL
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000LL)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#endif

#ifndef FLT_MAX
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_DECIMAL_DIG 9
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_10_EXP 38
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_TRUE_MIN 1.401298464e-45f
#define FLT_EPSILON 1.192092896e-07f
#endif
#ifndef DBL_MAX
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_DECIMAL_DIG 17
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_10_EXP 308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_TRUE_MIN 4.9406564584124654e-324
#define DBL_EPSILON 2.2204460492503131e-16
#endif

#ifndef M_PI
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef CUDART_INF_F
#include <math_constants.h>
#endif

namespace std {

// ---- <cstddef>, <cstdint> ----
using size_t = decltype(sizeof(0));
using ptrdiff_t = decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr));
using nullptr_t = decltype(nullptr);
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intmax_t;
using ::intptr_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintmax_t;
using ::uintptr_t;

// ---- <cstring> ----
using ::memcpy;
using ::memset;

// ---- <type_traits> ----
// Constants of classes are enumerators: with --device-as-default-execution-space a static constexpr
// member becomes a __device__ variable of every module that instantiates its class. So does a
// variable template that is used; nothing here uses one.
template <class T, T Value>
struct integral_constant {
  enum : T { value = Value };
  using value_type = T;
  using type = integral_constant;
  constexpr operator T() const noexcept { return Value; }
  constexpr T operator()() const noexcept { return Value; }
};
template <bool Value>
using bool_constant = integral_constant<bool, Value>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool Condition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool Condition, class T = void>
using enable_if_t = typename enable_if<Condition, T>::type;

template <bool Condition, class T, class F>
struct conditional {
  using type = T;
};
template <class T, class F>
struct conditional<false, T, F> {
  using type = F;
};
template <bool Condition, class T, class F>
using conditional_t = typename conditional<Condition, T, F>::type;

template <class...>
using void_t = void;

template <class T>
struct remove_const {
  using type = T;
};
template <class T>
struct remove_const<const T> {
  using type = T;
};
template <class T>
using remove_const_t = typename remove_const<T>::type;
template <class T>
struct remove_volatile {
  using type = T;
};
template <class T>
struct remove_volatile<volatile T> {
  using type = T;
};
template <class T>
using remove_volatile_t = typename remove_volatile<T>::type;
template <class T>
struct remove_cv {
  using type = remove_const_t<remove_volatile_t<T>>;
};
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
struct remove_reference {
  using type = T;
};
template <class T>
struct remove_reference<T&> {
  using type = T;
};
template <class T>
struct remove_reference<T&&> {
  using type = T;
};
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
struct remove_cvref {
  using type = remove_cv_t<remove_reference_t<T>>;
};
template <class T>
using remove_cvref_t = typename remove_cvref<T>::type;
template <class T>
struct remove_pointer {
  using type = T;
};
template <class T>
struct remove_pointer<T*> {
  using type = T;
};
template <class T>
struct remove_pointer<T* const> {
  using type = T;
};
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class T>
struct remove_extent {
  using type = T;
};
template <class T>
struct remove_extent<T[]> {
  using type = T;
};
template <class T, size_t N>
struct remove_extent<T[N]> {
  using type = T;
};
template <class T>
using remove_extent_t = typename remove_extent<T>::type;
template <class T>
struct add_const {
  using type = const T;
};
template <class T>
using add_const_t = const T;
template <class T>
struct add_pointer {
  using type = remove_reference_t<T>*;
};
template <class T>
using add_pointer_t = typename add_pointer<T>::type;
template <class T>
struct add_lvalue_reference {
  using type = T&;
};
template <class T>
using add_lvalue_reference_t = T&;
template <class T>
struct type_identity {
  using type = T;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;

template <class T, class U>
struct is_same : false_type {};
template <class T>
struct is_same<T, T> : true_type {};
template <class T, class U>
inline constexpr bool is_same_v = is_same<T, U>::value;

template <class T>
struct is_const : false_type {};
template <class T>
struct is_const<const T> : true_type {};
template <class T>
inline constexpr bool is_const_v = is_const<T>::value;
template <class T>
struct is_reference : false_type {};
template <class T>
struct is_reference<T&> : true_type {};
template <class T>
struct is_reference<T&&> : true_type {};
template <class T>
inline constexpr bool is_reference_v = is_reference<T>::value;
template <class T>
struct is_array : false_type {};
template <class T>
struct is_array<T[]> : true_type {};
template <class T, size_t N>
struct is_array<T[N]> : true_type {};
template <class T>
inline constexpr bool is_array_v = is_array<T>::value;
template <class T>
struct is_void : is_same<void, remove_cv_t<T>> {};
template <class T>
inline constexpr bool is_void_v = is_void<T>::value;

namespace cudaagent_detail {
template <class T>
struct IsPointer : false_type {};
template <class T>
struct IsPointer<T*> : true_type {};
template <class T, class... List>
struct IsOneOf {
  enum : bool { value = (is_same<remove_cv_t<T>, List>::value || ...) };
};
}  // namespace cudaagent_detail

template <class T>
struct is_pointer : cudaagent_detail::IsPointer<remove_cv_t<T>> {};
template <class T>
inline constexpr bool is_pointer_v = is_pointer<T>::value;
template <class T>
struct is_integral
    : bool_constant<
          cudaagent_detail::IsOneOf<T, bool, char, signed char, unsigned char, wchar_t, char16_t,
                                    char32_t, short, unsigned short, int, unsigned int, long,
                                    unsigned long, long long, unsigned long long>::value> {};
template <class T>
inline constexpr bool is_integral_v = is_integral<T>::value;
template <class T>
struct is_floating_point
    : bool_constant<cudaagent_detail::IsOneOf<T, float, double, long double>::value> {};
template <class T>
inline constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T>
struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T>
inline constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T, bool = is_arithmetic<T>::value>
struct is_signed : bool_constant<(T(-1) < T(0))> {};
template <class T>
struct is_signed<T, false> : false_type {};
template <class T>
inline constexpr bool is_signed_v = is_signed<T>::value;
template <class T>
struct is_unsigned : bool_constant<is_arithmetic<T>::value && !is_signed<T>::value> {};
template <class T>
inline constexpr bool is_unsigned_v = is_unsigned<T>::value;
template <class T>
struct is_enum : bool_constant<__is_enum(T)> {};
template <class T>
inline constexpr bool is_enum_v = is_enum<T>::value;
template <class T>
struct is_class : bool_constant<__is_class(T)> {};
template <class T>
inline constexpr bool is_class_v = is_class<T>::value;
template <class T>
struct is_empty : bool_constant<__is_empty(T)> {};
template <class T>
inline constexpr bool is_empty_v = is_empty<T>::value;
template <class Base, class Derived>
struct is_base_of : bool_constant<__is_base_of(Base, Derived)> {};
template <class Base, class Derived>
inline constexpr bool is_base_of_v = is_base_of<Base, Derived>::value;
template <class From, class To>
struct is_convertible : bool_constant<__is_convertible_to(From, To)> {};
template <class From, class To>
inline constexpr bool is_convertible_v = is_convertible<From, To>::value;
template <class T>
struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <class T>
inline constexpr bool is_trivially_copyable_v = is_trivially_copyable<T>::value;

template <class T>
struct decay {
 private:
  using U = remove_reference_t<T>;

 public:
  using type = conditional_t<is_array<U>::value, remove_extent_t<U>*, remove_cv_t<U>>;
};
template <class T>
using decay_t = typename decay<T>::type;

template <class T>
struct make_unsigned {
  using type =
      conditional_t<sizeof(T) == 1, unsigned char,
                    conditional_t<sizeof(T) == 2, unsigned short,
                                  conditional_t<sizeof(T) == 4, unsigned int, unsigned long long>>>;
};
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;
template <class T>
struct make_signed {
  using type = conditional_t<
      sizeof(T) == 1, signed char,
      conditional_t<sizeof(T) == 2, short, conditional_t<sizeof(T) == 4, int, long long>>>;
};
template <class T>
using make_signed_t = typename make_signed<T>::type;
template <class T>
struct underlying_type {
  using type = __underlying_type(T);
};
template <class T>
using underlying_type_t = typename underlying_type<T>::type;
template <class...>
struct conjunction : true_type {};
template <class T, class... Rest>
struct conjunction<T, Rest...> : bool_constant<(bool(T::value) && ... && bool(Rest::value))> {};
template <class... Ts>
inline constexpr bool conjunction_v = conjunction<Ts...>::value;
template <class... Ts>
struct disjunction : bool_constant<(false || ... || bool(Ts::value))> {};
template <class... Ts>
inline constexpr bool disjunction_v = disjunction<Ts...>::value;
template <class T>
struct negation : bool_constant<!bool(T::value)> {};
template <class T>
inline constexpr bool negation_v = negation<T>::value;

// ---- <utility> (std::move, std::forward and std::initializer_list are NVRTC's own) ----
template <class T>
T&& declval() noexcept;
template <class T>
constexpr void swap(T& a, T& b) {
  T kept = static_cast<T&&>(a);
  a = static_cast<T&&>(b);
  b = static_cast<T&&>(kept);
}
template <class T, class U = T>
constexpr T exchange(T& object, U&& value) {
  T old = static_cast<T&&>(object);
  object = static_cast<U&&>(value);
  return old;
}
template <class First, class Second>
struct pair {
  using first_type = First;
  using second_type = Second;
  First first{};
  Second second{};
  constexpr pair() = default;
  constexpr pair(const First& a, const Second& b) : first(a), second(b) {}
  template <class A, class B>
  constexpr pair(const pair<A, B>& other) : first(other.first), second(other.second) {}
  friend constexpr bool operator==(const pair& a, const pair& b) {
    return a.first == b.first && a.second == b.second;
  }
  friend constexpr bool operator!=(const pair& a, const pair& b) { return !(a == b); }
  friend constexpr bool operator<(const pair& a, const pair& b) {
    return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
  }
};
template <class A, class B>
constexpr pair<decay_t<A>, decay_t<B>> make_pair(A&& a, B&& b) {
  return pair<decay_t<A>, decay_t<B>>(a, b);
}
template <class T, T... Values>
struct integer_sequence {
  using value_type = T;
  static constexpr size_t size() noexcept { return sizeof...(Values); }
};
template <size_t... Values>
using index_sequence = integer_sequence<size_t, Values...>;

namespace cudaagent_detail {
template <class T, size_t N, T... Values>
struct Count : Count<T, N - 1, T(N - 1), Values...> {};
template <class T, T... Values>
struct Count<T, 0, Values...> {
  using type = integer_sequence<T, Values...>;
};
}  // namespace cudaagent_detail
template <class T, T N>
using make_integer_sequence = typename cudaagent_detail::Count<T, size_t(N)>::type;
template <size_t N>
using make_index_sequence = make_integer_sequence<size_t, N>;
template <class... Ts>
using index_sequence_for = make_index_sequence<sizeof...(Ts)>;

// ---- <algorithm> ----
template <class T>
constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class T>
constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}
template <class T, class Less>
constexpr const T& max(const T& a, const T& b, Less less) {
  return less(a, b) ? b : a;
}
template <class T, class Less>
constexpr const T& min(const T& a, const T& b, Less less) {
  return less(b, a) ? b : a;
}
template <class T>
constexpr T max(std::initializer_list<T> list) {
  T best = *list.begin();
  for (const T& value : list) best = best < value ? value : best;
  return best;
}
template <class T>
constexpr T min(std::initializer_list<T> list) {
  T best = *list.begin();
  for (const T& value : list) best = value < best ? value : best;
  return best;
}
template <class T>
constexpr const T& clamp(const T& value, const T& low, const T& high) {
  return value < low ? low : high < value ? high : value;
}
template <class Iterator, class T>
constexpr void fill(Iterator first, Iterator last, const T& value) {
  for (; first != last; ++first) *first = value;
}
template <class Iterator, class Size, class T>
constexpr Iterator fill_n(Iterator first, Size count, const T& value) {
  for (; count > 0; --count, ++first) *first = value;
  return first;
}
template <class In, class Out>
constexpr Out copy(In first, In last, Out out) {
  for (; first != last; ++first, ++out) *out = *first;
  return out;
}

// ---- <functional> ----
template <class T = void>
struct plus {
  constexpr T operator()(const T& a, const T& b) const { return a + b; }
};
template <>
struct plus<void> {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const {
    return a + b;
  }
};
template <class T = void>
struct minus {
  constexpr T operator()(const T& a, const T& b) const { return a - b; }
};
template <>
struct minus<void> {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const {
    return a - b;
  }
};
template <class T = void>
struct multiplies {
  constexpr T operator()(const T& a, const T& b) const { return a * b; }
};
template <>
struct multiplies<void> {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const {
    return a * b;
  }
};
template <class T = void>
struct less {
  constexpr bool operator()(const T& a, const T& b) const { return a < b; }
};
template <>
struct less<void> {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const {
    return a < b;
  }
};
template <class T = void>
struct greater {
  constexpr bool operator()(const T& a, const T& b) const { return a > b; }
};
template <>
struct greater<void> {
  template <class A, class B>
  constexpr auto operator()(const A& a, const B& b) const {
    return a > b;
  }
};

// ---- <limits> ----
enum float_round_style { round_toward_zero = 0, round_to_nearest = 1 };

namespace cudaagent_detail {
template <class T>
struct NoLimits {
  enum : bool { is_specialized = false };
};
template <class T>
struct IntegerLimits {
  enum : bool {
    is_specialized = true,
    is_integer = true,
    is_exact = true,
    is_signed = std::is_signed<T>::value,
    is_bounded = true,
    has_infinity = false,
    has_quiet_NaN = false
  };
  enum : int {
    radix = 2,
    digits = is_same<T, bool>::value ? 1 : int(sizeof(T) * 8) - (std::is_signed<T>::value ? 1 : 0),
    digits10 = digits * 30103 / 100000
  };
  static constexpr T max() noexcept {
    if constexpr (is_same<T, bool>::value) {
      return true;
    } else {
      return T(~0ULL >> (64 - digits));
    }
  }
  static constexpr T min() noexcept { return is_signed ? T(-max() - 1) : T(0); }
  static constexpr T lowest() noexcept { return min(); }
  static constexpr T epsilon() noexcept { return T(0); }
  static constexpr T infinity() noexcept { return T(0); }
  static constexpr T quiet_NaN() noexcept { return T(0); }
};
template <class T>
struct FloatingLimits {
  enum : bool {
    is_specialized = true,
    is_integer = false,
    is_exact = false,
    is_signed = true,
    is_bounded = true,
    is_iec559 = true,
    has_infinity = true,
    has_quiet_NaN = true
  };
  enum : int {
    radix = 2,
    digits = sizeof(T) == 4 ? FLT_MANT_DIG : DBL_MANT_DIG,
    digits10 = sizeof(T) == 4 ? FLT_DIG : DBL_DIG,
    max_digits10 = sizeof(T) == 4 ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG,
    min_exponent = sizeof(T) == 4 ? FLT_MIN_EXP : DBL_MIN_EXP,
    max_exponent = sizeof(T) == 4 ? FLT_MAX_EXP : DBL_MAX_EXP
  };
  static constexpr T min() noexcept { return T(sizeof(T) == 4 ? FLT_MIN : DBL_MIN); }
  static constexpr T max() noexcept { return T(sizeof(T) == 4 ? FLT_MAX : DBL_MAX); }
  static constexpr T lowest() noexcept { return -max(); }
  static constexpr T epsilon() noexcept { return T(sizeof(T) == 4 ? FLT_EPSILON : DBL_EPSILON); }
  static constexpr T denorm_min() noexcept {
    return T(sizeof(T) == 4 ? FLT_TRUE_MIN : DBL_TRUE_MIN);
  }
  static constexpr T infinity() noexcept { return T(INFINITY); }
  static constexpr T quiet_NaN() noexcept { return T(NAN); }
};
}  // namespace cudaagent_detail

template <class T>
struct numeric_limits
    : conditional_t<is_floating_point<T>::value, cudaagent_detail::FloatingLimits<T>,
                    conditional_t<is_integral<T>::value, cudaagent_detail::IntegerLimits<T>,
                                  cudaagent_detail::NoLimits<T>>> {};
template <class T>
struct numeric_limits<const T> : numeric_limits<T> {};

namespace cudaagent_detail {
// As <cmath>: float only where every argument is float, else double.
template <class A, class B>
using Promoted2 =
    conditional_t<is_same<A, float>::value && is_same<B, float>::value, float, double>;
template <class T>
using IfInteger = enable_if_t<is_integral<T>::value, double>;
template <class A, class B>
using IfMixed =
    enable_if_t<is_arithmetic<A>::value && is_arithmetic<B>::value && !is_same<A, B>::value,
                Promoted2<A, B>>;
}  // namespace cudaagent_detail

}  // namespace std

// ---- <cmath>: NVRTC has the float and double overloads at global scope; integers as <cmath> has
// them, and the same names in std ----
#define CUDAAGENT_UNARY(name)                                \
  template <class T>                                         \
  __device__ std::cudaagent_detail::IfInteger<T> name(T x) { \
    return ::name(double(x));                                \
  }                                                          \
  namespace std {                                            \
  using ::name;                                              \
  }
CUDAAGENT_UNARY(sqrt)
CUDAAGENT_UNARY(cbrt)
CUDAAGENT_UNARY(exp)
CUDAAGENT_UNARY(exp2)
CUDAAGENT_UNARY(expm1)
CUDAAGENT_UNARY(log)
CUDAAGENT_UNARY(log2)
CUDAAGENT_UNARY(log10)
CUDAAGENT_UNARY(log1p)
CUDAAGENT_UNARY(sin)
CUDAAGENT_UNARY(cos)
CUDAAGENT_UNARY(tan)
CUDAAGENT_UNARY(asin)
CUDAAGENT_UNARY(acos)
CUDAAGENT_UNARY(atan)
CUDAAGENT_UNARY(sinh)
CUDAAGENT_UNARY(cosh)
CUDAAGENT_UNARY(tanh)
CUDAAGENT_UNARY(asinh)
CUDAAGENT_UNARY(acosh)
CUDAAGENT_UNARY(atanh)
CUDAAGENT_UNARY(erf)
CUDAAGENT_UNARY(erfc)
CUDAAGENT_UNARY(tgamma)
CUDAAGENT_UNARY(lgamma)
CUDAAGENT_UNARY(floor)
CUDAAGENT_UNARY(ceil)
CUDAAGENT_UNARY(round)
CUDAAGENT_UNARY(trunc)
CUDAAGENT_UNARY(rint)
CUDAAGENT_UNARY(nearbyint)
CUDAAGENT_UNARY(fabs)
#undef CUDAAGENT_UNARY

#define CUDAAGENT_BINARY(name)                                     \
  template <class A, class B>                                      \
  __device__ std::cudaagent_detail::IfMixed<A, B> name(A a, B b) { \
    using P = std::cudaagent_detail::Promoted2<A, B>;              \
    return ::name(P(a), P(b));                                     \
  }                                                                \
  namespace std {                                                  \
  using ::name;                                                    \
  }
CUDAAGENT_BINARY(pow)
CUDAAGENT_BINARY(fmod)
CUDAAGENT_BINARY(fmin)
CUDAAGENT_BINARY(fmax)
CUDAAGENT_BINARY(atan2)
CUDAAGENT_BINARY(hypot)
CUDAAGENT_BINARY(fdim)
CUDAAGENT_BINARY(copysign)
CUDAAGENT_BINARY(remainder)
CUDAAGENT_BINARY(nextafter)
#undef CUDAAGENT_BINARY

namespace std {
using ::abs;
using ::acosf;
using ::asinf;
using ::atan2f;
using ::atanf;
using ::ceilf;
using ::copysignf;
using ::cosf;
using ::coshf;
using ::erff;
using ::exp2f;
using ::expf;
using ::expm1f;
using ::fabsf;
using ::floorf;
using ::fma;
using ::fmaf;
using ::fmaxf;
using ::fminf;
using ::fmodf;
using ::frexp;
using ::ilogb;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::ldexp;
using ::llrint;
using ::llround;
using ::log10f;
using ::log1pf;
using ::log2f;
using ::logb;
using ::logf;
using ::lrint;
using ::lround;
using ::modf;
using ::powf;
using ::rintf;
using ::roundf;
using ::signbit;
using ::sinf;
using ::sinhf;
using ::sqrtf;
using ::tanf;
using ::tanhf;
using ::truncf;
}  // namespace std
