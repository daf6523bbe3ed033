// Structs to and from JSON through one description each (describe.h): what is written is what is
// read. Reading treats the text as hostile; the first thing wrong is kept, with its path.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "cudaagent/verdict.h"
#include "protocol/names.h"
#include "util/text.h"

namespace cudaagent::protocol {

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// The names of an enum on the wire.
template <typename E>
struct EnumNames;
template <>
struct EnumNames<Mode> {
  static constexpr auto& kNames = kModeNames;
};
template <>
struct EnumNames<Precision> {
  static constexpr auto& kNames = kPrecisionNames;
};
template <>
struct EnumNames<Verdict> {
  static constexpr auto& kNames = kVerdictNames;
};
template <>
struct EnumNames<ErrorCode> {
  static constexpr auto& kNames = kErrorCodeNames;
};

class Writer {
 public:
  template <typename T>
  void operator()(const char* name, const T& value) {
    object_[name] = Json(value);
  }
  template <typename T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) object_[name] = Json(*value);
  }
  // A figure whose 0 means "not measured": left out.
  template <typename T>
  void Figure(const char* name, const T& value) {
    if (value != 0) object_[name] = Json(value);
  }
  // A field that came later: always written, and its default where an older text lacks it.
  template <typename T>
  void Added(const char* name, const T& value) {
    (*this)(name, value);
  }
  void Require(bool, const char*) {}

  nlohmann::json Take() { return std::move(object_); }

  template <typename T>
  static nlohmann::json Json(const T& value) {
    if constexpr (std::same_as<T, double>) {
      // JSON has no word for these.
      if (std::isnan(value)) return "nan";
      if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
      return value;
    } else if constexpr (std::same_as<T, std::string>) {
      return util::SanitiseUtf8(value);
    } else if constexpr (std::is_enum_v<T>) {
      for (const auto& [known, name] : EnumNames<T>::kNames) {
        if (known == value) return std::string(name);
      }
      throw FatalError("An enumeration has a value without a name.");
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else {
      return Structure(value);
    }
  }

 private:
  template <typename T>
  static nlohmann::json Structure(const std::vector<T>& values) {
    nlohmann::json array = nlohmann::json::array();
    for (const T& value : values) array.push_back(Json(value));
    return array;
  }
  template <typename T>
  static nlohmann::json Structure(const std::map<std::string, T>& values) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, value] : values) object[util::SanitiseUtf8(name)] = Json(value);
    return object;
  }
  template <typename T>
  static nlohmann::json Structure(const T& value) {
    Writer writer;
    Describe(writer, value);
    return writer.Take();
  }

  nlohmann::json object_ = nlohmann::json::object();
};

class Reader {
 public:
  // `where` names the object in messages: "evaluation.check".
  Reader(const nlohmann::json& object, std::string where, std::optional<std::string>* problem)
      : object_(object), where_(std::move(where)), problem_(problem) {
    if (!object.is_object()) Complain(where_, "an object");
  }

  template <typename T>
  void operator()(const char* name, T& value) {
    if (const nlohmann::json* found = Find(name)) {
      Read(*found, where_ + "." + name, &value);
    } else if (object_.is_object()) {
      Complain(where_ + "." + name, "present");
    }
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) {
    value.reset();
    if (const nlohmann::json* found = Find(name)) {
      Read(*found, where_ + "." + name, &value.emplace());
    }
  }
  template <typename T>
  void Figure(const char* name, T& value) {
    value = 0;
    if (const nlohmann::json* found = Find(name)) Read(*found, where_ + "." + name, &value);
  }
  template <typename T>
  void Added(const char* name, T& value) {
    value = T();
    if (const nlohmann::json* found = Find(name)) Read(*found, where_ + "." + name, &value);
  }
  // States a rule of the object just read.
  void Require(bool holds, const char* rule) {
    if (!holds) Complain(where_, rule);
  }

 private:
  const nlohmann::json* Find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  void Complain(const std::string& where, const std::string& expected) {
    if (!*problem_) *problem_ = where + " must be " + expected;
  }

  template <typename T>
  void Read(const nlohmann::json& json, const std::string& where, T* value) {
    if constexpr (std::same_as<T, double>) {
      ReadDouble(json, where, value);
    } else if constexpr (std::same_as<T, std::string>) {
      if (!json.is_string()) return Complain(where, "text");
      *value = json.get_ref<const std::string&>();
    } else if constexpr (std::same_as<T, bool>) {
      if (!json.is_boolean()) return Complain(where, "true or false");
      *value = json.get<bool>();
    } else if constexpr (std::is_enum_v<T>) {
      ReadEnum(json, where, value);
    } else if constexpr (std::is_integral_v<T>) {
      ReadInteger(json, where, value);
    } else {
      ReadStructure(json, where, value);
    }
  }

  void ReadDouble(const nlohmann::json& json, const std::string& where, double* value) {
    if (json.is_number()) {
      *value = json.get<double>();
    } else if (json == "nan") {
      *value = std::numeric_limits<double>::quiet_NaN();
    } else if (json == "inf") {
      *value = std::numeric_limits<double>::infinity();
    } else if (json == "-inf") {
      *value = -std::numeric_limits<double>::infinity();
    } else {
      Complain(where, "a number");
    }
  }

  template <typename T>
  void ReadInteger(const nlohmann::json& json, const std::string& where, T* value) {
    const bool fits = json.is_number_unsigned()
                          ? std::in_range<T>(json.get<uint64_t>())
                          : json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
    if (!fits) return Complain(where, "an integer in range");
    *value = json.get<T>();
  }

  template <typename T>
  void ReadEnum(const nlohmann::json& json, const std::string& where, T* value) {
    if (json.is_string()) {
      for (const auto& [known, name] : EnumNames<T>::kNames) {
        if (json.get_ref<const std::string&>() == name) {
          *value = known;
          return;
        }
      }
    }
    Complain(where, "a known name");
  }

  template <typename T>
  void ReadStructure(const nlohmann::json& json, const std::string& where, std::vector<T>* values) {
    values->clear();
    if (!json.is_array()) return Complain(where, "a list");
    for (size_t i = 0; i < json.size() && !*problem_; ++i) {
      Read(json[i], where + "[" + std::to_string(i) + "]", &values->emplace_back());
    }
  }
  template <typename T>
  void ReadStructure(const nlohmann::json& json, const std::string& where,
                     std::map<std::string, T>* values) {
    values->clear();
    if (!json.is_object()) return Complain(where, "an object");
    for (const auto& [name, value] : json.items()) {
      if (*problem_) return;
      Read(value, where + "[\"" + name + "\"]", &(*values)[name]);
    }
  }
  template <typename T>
  void ReadStructure(const nlohmann::json& json, const std::string& where, T* value) {
    Reader reader(json, where, problem_);
    Describe(reader, *value);
  }

  const nlohmann::json& object_;
  std::string where_;
  std::optional<std::string>* problem_;
};

// Reads one described struct. kInternal with the path of the first thing wrong.
template <typename T>
Result<T> FromJson(const nlohmann::json& json, const std::string& where) {
  T value;
  std::optional<std::string> problem;
  Reader reader(json, where, &problem);
  Describe(reader, value);
  if (problem)
    return Fail(ErrorCode::kInternal, "Invalid JSON: " + util::SanitiseLog(*problem, 400) + ".");
  return value;
}

}  // namespace cudaagent::protocol
