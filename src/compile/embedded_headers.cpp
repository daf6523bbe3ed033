#include "compile/embedded_headers.h"

#include "util/hash.h"

namespace cudaagent::compile {

const std::string& EmbeddedHeadersHash() {
  static const std::string hash = [] {
    std::string all;
    for (const EmbeddedHeader& header : EmbeddedHeaders()) {
      all += header.name;
      all += '\0';
      all += header.text;
      all += '\0';
    }
    return util::Sha256Hex(all);
  }();
  return hash;
}

}  // namespace cudaagent::compile
