// A settings file: somebody else's project may bring one.
#include "config/settings_file.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cudaagent;
  auto file = config::ParseSettings(fuzz::TextOf(data, size), "f.toml");
  if (!file) {
    fuzz::Require(file.error().message.rfind("f.toml:", 0) == 0,
                  "an error names the file and the line");
    return 0;
  }
  for (const config::FileValue& value : file->values) {
    if (value.kind != config::ValueKind::kText) continue;
    auto again = config::ParseSettings("x = " + config::Quote(value.text), "f.toml");
    fuzz::Require(again && again->values.size() == 1 && again->values[0].text == value.text,
                  "a quoted text reads back as itself");
  }
  return 0;
}
