// Device printf: reads the argument block the compiler laid out, formats one conversion at a time.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "device/ptx/machine.h"

namespace cudaagent::device::ptx {
namespace {

constexpr size_t kMaxText = 4096;  // of one call
constexpr int kMaxWidth = 128;

bool ReadArgument(Warp& warp, uint32_t lane, uint64_t& at, uint64_t bytes, void* out) {
  at = (at + bytes - 1) & ~(bytes - 1);
  uint8_t raw[8] = {};
  for (uint64_t i = 0; i < bytes; ++i) {
    int byte = ReadByte(warp, lane, at + i);
    if (byte < 0) return false;
    raw[i] = static_cast<uint8_t>(byte);
  }
  std::memcpy(out, raw, bytes);
  at += bytes;
  return true;
}

}  // namespace

int DevicePrintf(Warp& warp, uint32_t lane, uint64_t format_address, uint64_t arguments) {
  char format[1025];
  ReadString(warp, lane, format_address, format, sizeof(format));
  std::string text;
  uint64_t at = arguments;
  int conversions = 0;
  for (const char* p = format; *p != 0 && text.size() < kMaxText; ++p) {
    if (*p != '%') {
      text += *p;
      continue;
    }
    if (p[1] == '%') {
      text += '%';
      ++p;
      continue;
    }
    std::string spec = "%";
    const char* q = p + 1;
    while (*q != 0 && std::strchr("-+ #0", *q) != nullptr && spec.size() < 8) spec += *q++;
    auto number = [&] {
      int value = 0;
      if (*q == '*') {
        ++q;
        if (!ReadArgument(warp, lane, at, 4, &value)) value = 0;
      } else {
        while (*q >= '0' && *q <= '9') value = std::min(value * 10 + (*q++ - '0'), 100000);
      }
      spec += std::to_string(std::max(-kMaxWidth, std::min(value, kMaxWidth)));
    };
    if ((*q >= '1' && *q <= '9') || *q == '*') number();
    if (*q == '.') {
      spec += *q++;
      number();
    }
    bool is_long = false;
    while (*q != 0 && std::strchr("hljzt", *q) != nullptr) is_long |= *q++ != 'h';
    char c = *q;
    char piece[512] = {};
    if (c == 0) break;
    ++conversions;
    if (std::strchr("diouxXc", c) != nullptr) {
      long long value = 0;
      if (is_long) {
        ReadArgument(warp, lane, at, 8, &value);
      } else {
        int narrow = 0;
        ReadArgument(warp, lane, at, 4, &narrow);
        value =
            c == 'd' || c == 'i' ? narrow : static_cast<long long>(static_cast<unsigned>(narrow));
      }
      if (c == 'c') {
        std::snprintf(piece, sizeof(piece), (spec + c).c_str(), static_cast<int>(value));
      } else {
        std::snprintf(piece, sizeof(piece), (spec + "ll" + c).c_str(), value);
      }
    } else if (std::strchr("eEfFgGaA", c) != nullptr) {
      double value = 0;
      ReadArgument(warp, lane, at, 8, &value);
      std::snprintf(piece, sizeof(piece), (spec + c).c_str(), value);
    } else if (c == 's') {
      uint64_t address = 0;
      char string[1025];
      ReadArgument(warp, lane, at, 8, &address);
      ReadString(warp, lane, address, string, sizeof(string));
      std::snprintf(piece, sizeof(piece), (spec + c).c_str(), string);
    } else if (c == 'p') {
      void* value = nullptr;
      ReadArgument(warp, lane, at, 8, &value);
      std::snprintf(piece, sizeof(piece), (spec + c).c_str(), value);
    } else {
      text += spec + c;  // as the device does: an unknown conversion is copied
    }
    text += piece;
    p = q;
  }
  text.resize(std::min(text.size(), kMaxText));
  LaunchState& launch = *warp.thread->launch;
  if (launch.print != nullptr) launch.print(launch, text.c_str());
  return conversions;
}

}  // namespace cudaagent::device::ptx
