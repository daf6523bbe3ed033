#include <filesystem>

#include "prompt/embedded_templates.h"
#include "prompt/prompt.h"
#include "util/file.h"
#include "util/hash.h"

namespace cudaagent::prompt {

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
  size_t at = 0;
  for (;;) {
    const size_t open = text.find("{{", at);
    filled += text.substr(at, open - at);
    if (open == std::string_view::npos) return filled;
    const size_t close = text.find("}}", open);
    if (close == std::string_view::npos) {
      return Fail(ErrorCode::kUsage, "A prompt template has a \"{{\" without \"}}\".");
    }
    const std::string name(text.substr(open + 2, close - open - 2));
    const auto value = values.find(name);
    if (value == values.end()) {
      std::string known;
      for (const auto& [each, unused] : values) known += (known.empty() ? "" : ", ") + each;
      return Fail(ErrorCode::kUsage, "A prompt template names {{" + name.substr(0, 80) +
                                         "}}, which does not exist; there are: " + known + ".");
    }
    filled += value->second;
    at = close + 2;
  }
}

}  // namespace cudaagent::prompt
