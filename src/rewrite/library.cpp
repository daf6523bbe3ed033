#include "rewrite/library.h"

#include <cctype>
#include <set>
#include <sstream>
#include <vector>

#include "cudaagent/result.h"

namespace cudaagent::rewrite {
namespace {

struct Piece {
  std::string name;
  std::string text;
};

std::vector<Piece> SplitPieces(const std::string& text) {
  std::vector<Piece> pieces;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("//@ ", 0) == 0) {
      pieces.push_back({line.substr(4), ""});
    } else if (!pieces.empty()) {
      pieces.back().text += line + "\n";
    }
  }
  for (Piece& piece : pieces) {
    while (piece.text.size() > 1 && piece.text.substr(piece.text.size() - 2) == "\n\n") {
      piece.text.pop_back();
    }
  }
  return pieces;
}

const std::vector<Piece>& Pieces() {
  static const std::vector<Piece> pieces = [] {
    std::vector<Piece> all = SplitPieces(LibraryFiles().at("math.cu"));
    for (const char* file : {"reduce.cu", "scan.cu"}) {
      for (Piece& piece : SplitPieces(LibraryFiles().at(file))) all.push_back(std::move(piece));
    }
    return all;
  }();
  return pieces;
}

std::set<std::string> Words(const std::string& code) {
  std::set<std::string> words;
  std::string word;
  for (char c : code + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else if (!word.empty()) {
      words.insert(word);
      word.clear();
    }
  }
  return words;
}

}  // namespace

std::string FillTemplate(const std::string& file,
                         const std::map<std::string, std::string>& values) {
  std::istringstream lines(LibraryFiles().at(file));
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    bool vanishes = false;
    size_t at = 0;
    while ((at = line.find("{{", at)) != std::string::npos) {
      const size_t end = line.find("}}", at);
      if (end == std::string::npos) throw FatalError(file + ": a placeholder is not closed");
      const std::string name = line.substr(at + 2, end - at - 2);
      auto value = values.find(name);
      if (value == values.end()) throw FatalError(file + ": unknown placeholder " + name);
      std::string text = value->second;
      const std::string indent = line.substr(0, line.find_first_not_of(' '));
      const bool alone = line == indent + "{{" + name + "}}";
      while (!text.empty() && text.back() == '\n') text.pop_back();
      if (alone && text.empty()) vanishes = true;
      if (alone) {
        for (size_t n = text.find('\n'); n != std::string::npos; n = text.find('\n', n + 1)) {
          // Preprocessor lines and empty lines stay at the margin.
          if (n + 1 < text.size() && text[n + 1] != '#' && text[n + 1] != '\n') {
            text.insert(n + 1, indent);
          }
        }
        if (!text.empty() && text[0] == '#') at = 0, line = "{{" + name + "}}";
        line.replace(at, name.size() + 4, text);
        break;
      }
      line.replace(at, name.size() + 4, text);
      at += text.size();
    }
    if (!vanishes) result += line + "\n";
  }
  return result;
}

std::string LibraryPieces(const std::string& code) {
  std::set<std::string> words = Words(code);
  std::set<std::string> taken;
  for (bool grew = true; grew;) {
    grew = false;
    for (const Piece& piece : Pieces()) {
      if (!words.count(piece.name) || !taken.insert(piece.name).second) continue;
      grew = true;
      for (const std::string& word : Words(piece.text)) words.insert(word);
    }
  }
  std::string text;
  const bool half = words.count("__half") > 0;
  const bool bf16 = words.count("__nv_bfloat16") > 0;
  if (half) text += "#include <cuda_fp16.h>\n";
  if (bf16) text += "#include <cuda_bf16.h>\n";
  if (half || bf16) text += "\n";
  for (const Piece& piece : Pieces()) {
    if (taken.count(piece.name)) text += piece.text + "\n";
  }
  return text;
}

}  // namespace cudaagent::rewrite
