#include "prompt/build_log.h"

#include <vector>

#include "util/text.h"

namespace cudaagent::prompt {
namespace {

// "candidate.cu(12): error: ..." or "ptxas error   : ...".
bool StartsError(const std::string& line) {
  return line.find("): error") != std::string::npos ||
         line.find("): catastrophic error") != std::string::npos ||
         line.find("error   :") != std::string::npos || line.starts_with("error:");
}

bool StartsOther(const std::string& line) {
  return line.find("): warning") != std::string::npos ||
         line.find("): note") != std::string::npos || line.find("): remark") != std::string::npos ||
         line.find("errors detected") != std::string::npos ||
         line.find("error detected") != std::string::npos;
}

}  // namespace

std::string FirstErrors(std::string_view log, int count, int* more) {
  *more = 0;
  std::string text;
  int errors = 0;
  bool taking = false;
  for (const std::string& line : util::Split(log, '\n')) {
    if (StartsError(line)) {
      taking = ++errors <= count;
    } else if (StartsOther(line) || util::Trim(line).empty()) {
      taking = false;
    }
    if (taking) text += line + "\n";
  }
  if (errors == 0) return std::string(util::Trim(log));
  *more = errors > count ? errors - count : 0;
  return text;
}

}  // namespace cudaagent::prompt
