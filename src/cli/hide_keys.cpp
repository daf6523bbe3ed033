#include "cli/hide_keys.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "util/text.h"

namespace cudaagent::cli {
void HideKeys() {
  std::vector<std::pair<std::string, char*>> secrets;  // name, its value in the first block
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    char* equals = std::strchr(*entry, '=');
    if (equals == nullptr) continue;
    const std::string name(*entry, equals);
    if (util::NamesSecret(name)) secrets.emplace_back(name, equals + 1);
  }
  for (auto& [name, value] : secrets) {
    const std::string copy = value;
    setenv(name.c_str(), copy.c_str(), 1);  // allocates: the old bytes are no longer anyone's
    volatile char* at = value;
    for (size_t i = 0; i < copy.size(); ++i) at[i] = '*';
  }
}

}  // namespace cudaagent::cli
