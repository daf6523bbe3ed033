#include "device/ptx/function_parser.h"
#include "device/ptx/text.h"
#include "device/ptx/text_reader.h"

namespace cudaagent::device::ptx {
namespace {

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : in_(text) {}

  ModuleText Parse() {
    while (!in_.AtEnd()) Item();
    return std::move(module_);
  }

 private:
  void Item() {
    if (in_.peek().kind != Token::Kind::kWord) in_.Error("expected a directive");
    std::string_view word = in_.peek().text;
    if (word == ".version" || word == ".address_size" || word == ".file" || word == ".loc") {
      std::string_view line = in_.RestOfLine();
      if (word == ".address_size" && line.find("64") == std::string_view::npos) {
        throw PtxError("PTX with 32-bit addresses is not supported by the CPU device");
      }
    } else if (word == ".target") {
      std::string_view line = in_.RestOfLine().substr(word.size());
      size_t start = line.find_first_not_of(" \t");
      if (start != std::string_view::npos) {
        module_.target = line.substr(start, line.find_first_of(", \t\r;", start) - start);
      }
    } else if (word == ".section") {
      SkipSection();
    } else if (word == ".pragma") {
      in_.SkipStatement();
    } else if (word == ".alias") {
      throw PtxError("the PTX directive .alias is not supported by the CPU device");
    } else {
      Definition();
    }
  }

  void SkipSection() {
    while (!in_.AtEnd() && !in_.peek().Is('{')) in_.Next();
    in_.Expect('{');
    for (int depth = 1; depth > 0;) {
      if (in_.AtEnd()) in_.Error("expected '}'");
      Token next = in_.Next();
      depth += next.Is('{') ? 1 : next.Is('}') ? -1 : 0;
    }
  }

  void Definition() {
    bool external = false;
    while (in_.peek().Is(".visible") || in_.peek().Is(".extern") || in_.peek().Is(".weak") ||
           in_.peek().Is(".common")) {
      external |= in_.peek().Is(".extern");
      in_.Next();
    }
    if (in_.peek().Is(".entry") || in_.peek().Is(".func")) {
      bool entry = in_.Next().text == ".entry";
      Keep(ParseFunction(in_, entry));
      return;
    }
    Variable variable = in_.ReadVariable();
    if (variable.unsized && variable.space == Space::kShared) external = false;
    if (external) {
      throw PtxError("the variable " + variable.name + " is declared .extern and defined nowhere");
    }
    in_.Expect(';');
    module_.variable_of[variable.name] = static_cast<int>(module_.variables.size());
    module_.variables.push_back(std::move(variable));
  }

  // A declaration may come before its definition.
  void Keep(Function function) {
    auto found = module_.function_of.find(function.name);
    if (found == module_.function_of.end()) {
      module_.function_of[function.name] = static_cast<int>(module_.functions.size());
      module_.functions.push_back(std::move(function));
    } else if (function.defined) {
      if (module_.functions[found->second].defined) {
        throw PtxError("the PTX defines " + function.name + " twice");
      }
      module_.functions[found->second] = std::move(function);
    }
  }

  TextReader in_;
  ModuleText module_;
};

}  // namespace

ModuleText ParsePtx(std::string_view text) { return ModuleParser(text).Parse(); }

}  // namespace cudaagent::device::ptx
