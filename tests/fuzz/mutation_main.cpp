// A main for fuzz targets where the compiler has no libFuzzer: mutates a seed corpus, blindly but
// with a fixed seed, and understands the few libFuzzer flags that tests.cmake uses. Without time
// limit and with files only, it runs each file once: how a finding is looked at again.
//   fuzz_x [-max_total_time=SECONDS] [-seed=N] [-timeout=SECONDS] FOLDER_OR_FILE...
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxInput = 1 << 16;
constexpr uint64_t kMaxMemory = uint64_t{8} << 30;
constexpr const char* kCrashFile = "crash-input";

std::string current;  // what runs now, for the handler

void OnSignal(int number) {
  const int fd = ::open(kCrashFile, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (fd >= 0) {
    [[maybe_unused]] ssize_t n = ::write(fd, current.data(), current.size());
    ::close(fd);
  }
  constexpr char kSaid[] = "fuzz: the input is in ./crash-input\n";
  [[maybe_unused]] ssize_t n = ::write(2, kSaid, sizeof kSaid - 1);
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void RunOne(std::string input, unsigned timeout) {
  current = std::move(input);
  ::alarm(timeout);
  // An exact copy on the heap: reading past the end is what a sanitizer can see.
  const std::vector<uint8_t> bytes(current.begin(), current.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  ::alarm(0);
}

class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, uint64_t seed)
      : seeds_(std::move(seeds)), random_(seed) {}

  std::string Next() {
    std::string text = Pick();
    for (uint64_t i = 1 + Below(6); i > 0; --i) Mutate(text);
    if (text.size() > kMaxInput) text.resize(kMaxInput);
    return text;
  }

 private:
  uint64_t Below(uint64_t n) { return n == 0 ? 0 : random_() % n; }
  const std::string& Pick() { return seeds_[Below(seeds_.size())]; }

  void Mutate(std::string& text) {
    static const std::string kBytes = "{}[]()\"'\\/*,:;.-+<>=%$@#\n\r\t 09azAZ_\x01\x7f\x80\xff\0";
    static const char* const kWords[] = {
        "-1",   "9223372036854775807", "1e999", "null", "\\u0000",  "\xf0\x9f\x98\x80",
        "true", "4294967296",          "nan",   "\"\"", "[[[[[[[[", "}}"};
    const size_t at = Below(text.size() + 1);
    const size_t length = Below(1 + std::min<size_t>(text.size() - at, 1 << Below(9)));
    switch (Below(8)) {
      case 0:
        if (at < text.size()) text[at] ^= static_cast<char>(1 << Below(8));
        break;
      case 1:
        if (at < text.size()) text[at] = kBytes[Below(kBytes.size())];
        break;
      case 2:
        text.insert(at, 1, kBytes[Below(kBytes.size())]);
        break;
      case 3:
        text.erase(at, length);
        break;
      case 4:
        text.insert(Below(text.size() + 1), text.substr(at, length));
        break;
      case 5:
        text.replace(at, length, kWords[Below(std::size(kWords))]);
        break;
      case 6: {
        const std::string& other = Pick();
        const size_t from = Below(other.size() + 1);
        text.replace(at, length, other.substr(from, Below(257)));
        break;
      }
      default:
        text.resize(at);
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_;
};

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0;
  uint64_t seed = 1;
  unsigned timeout = 20;
  std::vector<std::string> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = word.substr(std::min(word.find('=') + 1, word.size()));
    if (word.rfind("-max_total_time=", 0) == 0) {
      seconds = std::stod(value);
    } else if (word.rfind("-seed=", 0) == 0) {
      seed = std::stoull(value);
    } else if (word.rfind("-timeout=", 0) == 0) {
      timeout = static_cast<unsigned>(std::stoul(value));
    } else if (word[0] == '-') {
      continue;  // another of libFuzzer's
    } else if (fs::is_directory(word)) {
      for (const auto& entry : fs::directory_iterator(word)) seeds.push_back(ReadAll(entry.path()));
    } else {
      seeds.push_back(ReadAll(word));
    }
  }
  if (seeds.empty()) seeds.push_back("");
  std::sort(seeds.begin(), seeds.end());  // a folder has no order of its own
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit memory{kMaxMemory, kMaxMemory};  // what allocates without bound ends in bad_alloc
  ::setrlimit(RLIMIT_AS, &memory);
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(number, OnSignal);
#endif
  for (int number : {SIGABRT, SIGALRM}) ::signal(number, OnSignal);

  for (const std::string& input : seeds) RunOne(input, timeout);
  Mutator mutator(seeds, seed);
  uint64_t runs = seeds.size();
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (; std::chrono::steady_clock::now() < end; ++runs) RunOne(mutator.Next(), timeout);
  std::printf("%llu runs, nothing found\n", static_cast<unsigned long long>(runs));
  return 0;
}
