#include "candidate/kernel_name.h"

#include <vector>

#include "candidate/spelling.h"
#include "candidate/validate.h"

namespace cudaagent::candidate {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool IsQualifiedIdentifier(std::string_view text) {
  for (;;) {
    const size_t colons = text.find("::");
    if (colons == std::string_view::npos) return IsIdentifier(text);
    if (!IsIdentifier(text.substr(0, colons))) return false;
    text.remove_prefix(colons + 2);
  }
}

bool IsInteger(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  while (!text.empty() &&
         (text.back() == 'u' || text.back() == 'l' || text.back() == 'U' || text.back() == 'L')) {
    text.remove_suffix(1);
  }
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A type or constant as C++ writes it; NVRTC judges the rest.
bool IsTypeText(std::string_view text) {
  if (text.empty() || !IsIdentifierStart(text[0])) return false;
  for (char c : text) {
    if (!IsIdentifierChar(c) && std::string_view(" :<>,*&").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

// Splits at commas outside <> () {}; false where brackets do not pair.
bool SplitArguments(std::string_view text, std::vector<std::string>* arguments) {
  std::string closers;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool in_expression = !closers.empty() && closers.front() == '}';
    if (c == '{') {
      closers += '}';
    } else if (c == '<' && !in_expression) {
      closers += '>';
    } else if (c == '(') {
      closers += ')';
    } else if (!closers.empty() && c == closers.back()) {
      closers.pop_back();
    } else if (c == '}' || c == ')' || (c == '>' && !in_expression)) {
      return false;
    } else if (c == ',' && closers.empty()) {
      arguments->emplace_back(Trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  arguments->emplace_back(Trim(text.substr(start)));
  return closers.empty();
}

}  // namespace

Checked<KernelName> ParseKernelName(std::string_view text) {
  auto bad = [&](const std::string& what) {
    return Blame(Verdict::kBadCandidate, "the kernel name " + Quote(text) + " " + what);
  };
  if (text.size() > 1000) return bad("is longer than 1000 characters");
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return bad("holds a control character");
  }
  KernelName name;
  name.text = text;
  const size_t angle = text.find('<');
  name.base = Trim(text.substr(0, angle));
  if (!IsQualifiedIdentifier(name.base)) {
    return bad("is not of the form name, ns::name or name<ARG, ...>");
  }
  if (angle == std::string_view::npos) return name;
  std::string_view rest = Trim(text.substr(angle + 1));
  if (rest.empty() || rest.back() != '>') return bad("does not end with \">\"");
  rest.remove_suffix(1);
  if (!SplitArguments(rest, &name.template_args)) return bad("has brackets that do not pair");
  for (const std::string& argument : name.template_args) {
    if (!argument.empty() && argument.front() == '{' && argument.back() == '}') {
      auto expr = Expr::Parse(std::string_view(argument).substr(1, argument.size() - 2));
      if (!expr) return bad("has a bad template argument: " + expr.error().message);
    } else if (!IsInteger(argument) && !IsTypeText(argument)) {
      return bad("has the template argument " + Quote(argument) +
                 "; one is a tune name, a literal, a type or {expr}");
    }
  }
  return name;
}

Checked<std::string> KernelInstance(const KernelName& name, const Scope& scope) {
  if (name.template_args.empty()) return name.base;
  std::string instance = name.base + "<";
  for (size_t i = 0; i < name.template_args.size(); ++i) {
    const std::string& argument = name.template_args[i];
    if (i > 0) instance += ", ";
    if (argument.front() == '{') {
      auto expr = Expr::Parse(std::string_view(argument).substr(1, argument.size() - 2));
      if (!expr) return tl::unexpected(expr.error());
      auto value = expr->Evaluate(scope);
      if (!value) {
        return Blame(value.error().verdict,
                     "the kernel name " + Quote(name.text) + ": " + value.error().message);
      }
      instance += std::to_string(*value);
    } else if (auto value = IsIdentifier(argument) ? scope.Value(argument) : std::nullopt) {
      instance += std::to_string(*value);
    } else {
      instance += argument;
    }
  }
  return instance + ">";
}

}  // namespace cudaagent::candidate
