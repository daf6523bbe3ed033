#include "compile/cubin_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "cache/cubins.h"
#include "compile/embedded_headers.h"
#include "util/fd.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

namespace fs = std::filesystem;

// Part of every key, and raised when the form or the rules of the PTX scan change: a kept reply is
// a kept judgement.
constexpr std::string_view kMagic = "cudaagent-cubin-3";
constexpr const char* kReplyFile = "/reply.json";
constexpr const char* kCubinFile = "/kernel.cubin";
constexpr const char* kPtxFile = "/kernel.ptx";

void AppendPart(std::string& all, std::string_view part) {
  all += std::to_string(part.size());
  all += ':';
  all += part;
}

Result<void> WriteNew(const std::string& path, std::string_view bytes) {
  const util::UniqueFd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  while (fd.valid() && !bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  if (fd.valid() && bytes.empty()) return {};
  return Fail(ErrorCode::kEnvironment, "The compiled kernel could not be written to " + path +
                                           ": " + std::strerror(errno) +
                                           ". Free some space or name another folder with "
                                           "--cache-dir.");
}

// "magic hash-of-json hash-of-cubin hash-of-ptx\n"
std::string HeadLine(std::string_view json, std::string_view cubin, std::string_view ptx) {
  return std::string(kMagic) + " " + util::Sha256Hex(json) + " " + util::Sha256Hex(cubin) + " " +
         util::Sha256Hex(ptx) + "\n";
}

}  // namespace

Result<CubinCache> CubinCache::Open(Options options) {
  for (const char* folder : {"/entries", "/tmp"}) {
    if (auto made = util::MakeDirs(options.dir + folder); !made) {
      return tl::unexpected(made.error());
    }
  }
  return CubinCache(std::move(options));
}

std::string CubinCache::Key(const std::string& nvrtc_fingerprint,
                            const std::vector<std::string>& nvrtc_options,
                            const std::string& source, const std::vector<std::string>& kernels) {
  std::string all;
  AppendPart(all, kMagic);
  AppendPart(all, nvrtc_fingerprint);
  AppendPart(all, EmbeddedHeadersHash());
  AppendPart(all, std::to_string(nvrtc_options.size()));
  for (const std::string& option : nvrtc_options) AppendPart(all, option);
  AppendPart(all, source);
  for (const std::string& kernel : kernels) AppendPart(all, kernel);
  return util::Sha256Hex(all);
}

std::string CubinCache::EntryDir(const std::string& key) const {
  return options_.dir + "/entries/" + key.substr(0, 2) + "/" + key;
}

std::optional<protocol::CompileReply> CubinCache::Find(const std::string& key) {
  const std::string entry = EntryDir(key);
  struct stat status;
  if (::stat(entry.c_str(), &status) != 0) return std::nullopt;
  const auto text = util::ReadFile(entry + kReplyFile);
  const auto cubin = util::ReadFile(entry + kCubinFile);
  const auto ptx = util::ReadFile(entry + kPtxFile);
  if (text && cubin && ptx) {
    const size_t line = text->find('\n');
    const std::string_view json =
        line == std::string::npos ? std::string_view() : std::string_view(*text).substr(line + 1);
    if (text->compare(0, line + 1, HeadLine(json, *cubin, *ptx)) == 0) {
      const auto message = protocol::DecodeFromChild(json);
      const auto* reply = message ? std::get_if<protocol::CompileReply>(&*message) : nullptr;
      if (reply != nullptr) {
        ::utimensat(AT_FDCWD, (entry + kReplyFile).c_str(), nullptr, 0);
        protocol::CompileReply found = *reply;
        found.report.cached = true;
        found.report.cubin_path = entry + kCubinFile;
        found.report.ptx_path = entry + kPtxFile;
        return found;
      }
    }
  }
  cache::RemoveCubin(entry, options_.dir);
  return std::nullopt;
}

Result<protocol::CompileReply> CubinCache::Store(const std::string& key, const Compiled& compiled) {
  const std::string entry = EntryDir(key);
  std::string folder = options_.dir + "/tmp/new-XXXXXX";
  // The folder may have been taken away under a long-lived compiler (a cleared cache).
  auto made = util::MakeDirs(options_.dir + "/tmp");
  if (made) made = util::MakeDirs(fs::path(entry).parent_path().string());
  if (!made) return tl::unexpected(made.error());
  if (::mkdtemp(folder.data()) == nullptr) {
    return Fail(ErrorCode::kEnvironment, "No folder could be made in " + options_.dir +
                                             "/tmp: " + std::strerror(errno) + ".");
  }
  const std::string json = protocol::Encode(protocol::FromChild(compiled.reply));
  auto written = WriteNew(folder + kCubinFile, compiled.cubin);
  if (written) written = WriteNew(folder + kPtxFile, compiled.ptx);
  if (written) {
    written = WriteNew(folder + kReplyFile, HeadLine(json, compiled.cubin, compiled.ptx) + json);
  }
  std::error_code error;
  if (!written) {
    fs::remove_all(folder, error);
    return tl::unexpected(written.error());
  }
  for (int attempt = 0; ::rename(folder.c_str(), entry.c_str()) != 0; ++attempt) {
    const int reason = errno;
    const bool taken = reason == ENOTEMPTY || reason == EEXIST;
    // Find takes a damaged entry away; then the second attempt succeeds.
    if (taken && Find(key)) break;
    if (taken && attempt < 3) continue;
    fs::remove_all(folder, error);
    return Fail(ErrorCode::kEnvironment, "The compiled kernel could not be moved to " + entry +
                                             ": " + std::strerror(reason) + ".");
  }
  fs::remove_all(folder, error);  // there only where another program was faster
  protocol::CompileReply reply = compiled.reply;
  reply.report.cubin_path = entry + kCubinFile;
  reply.report.ptx_path = entry + kPtxFile;
  if (bytes_ >= 0) bytes_ += cache::BytesBelow(entry);
  if (bytes_ < 0 || bytes_ > options_.max_bytes) CollectGarbage();
  return reply;
}

int64_t CubinCache::CollectGarbage() {
  std::vector<cache::Entry> entries = cache::CubinEntries(options_.dir);
  int64_t total = 0;
  for (const cache::Entry& entry : entries) total += entry.bytes;
  std::sort(entries.begin(), entries.end(),
            [](const cache::Entry& a, const cache::Entry& b) { return a.used < b.used; });
  const std::time_t now = std::time(nullptr);
  for (const cache::Entry& entry : entries) {
    if (total <= options_.max_bytes || now - entry.used < options_.keep_recent.count()) break;
    cache::RemoveCubin(entry.path, options_.dir);
    total -= entry.bytes;
  }
  cache::RemoveAbandoned(options_.dir);
  bytes_ = total;
  return total;
}

}  // namespace cudaagent::compile
