#include "device/ptx/opcode_bench.h"

#include <gtest/gtest.h>

#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

std::string Register(char type, size_t i) {
  return std::string("%") + type + "r" + std::to_string(i);
}
std::string Bits(char type) { return type == 'h' ? "b16" : type == 'l' ? "b64" : "b32"; }

// Replaces the one-letter word `from`.
std::string Replace(const std::string& text, char from, const std::string& to) {
  auto in_word = [&](size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) ||
                                text[at] == '_' || text[at] == '.' || text[at] == '%');
  };
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == from && !in_word(at + 1) && (at == 0 || !in_word(at - 1))) {
      out += to;
    } else {
      out += text[at];
    }
  }
  return out;
}

}  // namespace

std::vector<uint64_t> RunOpcode(const std::string& text, const std::string& types,
                                const std::vector<std::vector<uint64_t>>& rows,
                                const Executor& executor, uint32_t mask) {
  std::string ptx =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry t(.param .u64 p) {\n"
      ".reg .b16 %hr<8>;\n.reg .b32 %wr<8>;\n.reg .b64 %lr<8>;\n.reg .pred %pr<8>;\n"
      ".reg .b32 %t;\n.reg .b64 %a;\n.reg .pred %active;\n"
      "ld.param.u64 %a, [p];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %a, %t, 64, %a;\n";
  std::string code = text;
  const char* names = "DABC";
  for (size_t i = 0; i < types.size(); ++i) {
    std::string reg = Register(types[i], i), at = "[%a+" + std::to_string(8 * i) + "]";
    if (types[i] == 'p') {
      ptx += "ld.global.b32 %wr7, " + at + ";\nsetp.ne.b32 " + reg + ", %wr7, 0;\n";
    } else {
      ptx += "ld.global." + Bits(types[i]) + " " + reg + ", " + at + ";\n";
    }
    code = Replace(code, names[i], reg);
  }
  ptx += "ld.global.b32 %wr7, [%a+56];\nsetp.ne.b32 %active, %wr7, 0;\n";
  // Every instruction of the text under the guard.
  size_t at = 0;
  while (at < code.size()) {
    size_t end = code.find(';', at);
    if (end == std::string::npos) end = code.size();
    ptx += "@%active " + code.substr(at, end - at) + ";\n";
    at = end + 1;
    while (at < code.size() && code[at] == ' ') ++at;
  }
  std::string d = Register(types[0], 0);
  if (types[0] == 'p') {
    ptx += "selp.b32 %wr7, 1, 0, " + d + ";\nst.global.b32 [%a], %wr7;\n";
  } else {
    ptx += "st.global." + Bits(types[0]) + " [%a], " + d + ";\n";
  }
  ptx += "ret;\n}\n";

  constexpr uint64_t kUntouched = 0x5555555555555555u;
  Buffer<uint64_t> data{"data", std::vector<uint64_t>(32 * 8), true};
  for (size_t lane = 0; lane < 32; ++lane) {
    const std::vector<uint64_t>& row = rows[lane % rows.size()];
    uint64_t* slot = data.data.data() + lane * 8;
    slot[0] = types[0] == 'p' ? 0 : kUntouched;
    for (size_t i = 0; i < row.size(); ++i) slot[1 + i] = row[i];
    slot[7] = mask >> lane & 1;
  }
  Bench bench(ptx, executor);
  bench.With(data);
  std::string said = bench.Say("t", {1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(said, "ok") << ptx;
  std::vector<uint64_t> results;
  uint64_t keep = types[0] == 'h' ? 0xffff : types[0] == 'l' ? ~uint64_t{0} : 0xffffffffu;
  for (size_t lane = 0; lane < 32; ++lane) results.push_back(data.data[lane * 8] & keep);
  return results;
}

}  // namespace cudaagent::device::ptx::test
