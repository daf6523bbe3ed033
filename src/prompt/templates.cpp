#include <filesystem>
#include <set>
#include <vector>

#include "prompt/embedded_templates.h"
#include "prompt/prompt.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"

namespace cudaagent::prompt {
namespace {

// The names in each template; BuildPrompt gives them their values.
Result<void> CheckNames(const std::string& path, const std::string& file, const std::string& text) {
  static const std::map<std::string, std::vector<std::string>> kNames = {
      {"system.md", {"example", "ops"}},
      {"user.md",
       {"settings", "source", "tensors", "work", "device", "attempts", "best", "last", "task"}},
      {"continue.md", {}}};
  const auto names = kNames.find(file);
  if (names == kNames.end()) return {};  // example.cu, which is no template
  std::map<std::string, std::string> values;
  for (const std::string& name : names->second) values[name] = "";
  auto filled = Fill(text, values);
  if (filled) return {};
  return Fail(ErrorCode::kUsage, path + ": " + filled.error().message);
}

}  // namespace

Result<Templates> Templates::Load(const std::string& folder) {
  Templates templates;
  templates.texts_ = EmbeddedTemplates();
  if (folder.empty()) return templates;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return Fail(ErrorCode::kUsage,
                "The prompt folder " + folder + " is no folder that can be read.");
  }
  for (auto& [name, text] : templates.texts_) {
    const std::string path = folder + "/" + name;
    if (!std::filesystem::exists(path, error)) continue;
    auto read = util::ReadFile(path, size_t{1} << 20);
    if (!read) return tl::unexpected(Error{ErrorCode::kUsage, read.error().message});
    text = std::move(*read);
    if (auto checked = CheckNames(path, name, text); !checked)
      return tl::unexpected(checked.error());
  }
  return templates;
}

const std::string& Templates::Text(const std::string& name) const {
  auto found = texts_.find(name);
  if (found == texts_.end()) throw FatalError("there is no prompt template " + name);
  return found->second;
}

std::string Templates::Hash() const {
  std::string all;
  for (const auto& [name, text] : texts_) all += name + '\0' + text + '\0';
  return util::Sha256Hex(all);
}

Result<std::string> Fill(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string filled;
  std::set<std::string> used;
  for (size_t at = 0;;) {
    const size_t open = text.find("{{", at);
    filled += text.substr(at, open - at);
    if (open == std::string_view::npos) break;
    const size_t close = text.find("}}", open);
    if (close == std::string_view::npos) {
      return Fail(ErrorCode::kUsage, "A prompt template has a \"{{\" without \"}}\".");
    }
    std::string name(text.substr(open + 2, close - open - 2));
    const bool left_out = name.starts_with('-');
    if (left_out) name.erase(0, 1);
    const auto value = values.find(name);
    if (value == values.end()) {
      std::vector<std::string> known;
      for (const auto& [each, unused] : values) known.push_back(each);
      return Fail(ErrorCode::kUsage,
                  "A prompt template names {{" + name.substr(0, 80) +
                      "}}, which does not exist; there are: " + util::Join(known, ", ") + ".");
    }
    if (!left_out) filled += value->second;
    used.insert(name);
    at = close + 2;
  }
  for (const auto& [name, value] : values) {
    if (used.contains(name)) continue;
    return Fail(ErrorCode::kUsage, "A prompt template does not use {{" + name +
                                       "}}. Put it in, or write {{-" + name +
                                       "}} to leave it out on purpose.");
  }
  return filled;
}

}  // namespace cudaagent::prompt
