#include "bench/suite.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"

namespace cudaagent::bench {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxModelBytes = 16 << 20;
constexpr size_t kMaxExportBytes = size_t{1} << 30;

// The whole of `text` as a number from 0 to a million.
std::optional<int> Number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > 1'000'000) {
    return std::nullopt;
  }
  return value;
}

// 3 of "3_Name".
std::optional<int> IdOf(const std::string& name) { return Number(name.substr(0, name.find('_'))); }

// 1 of "level1".
std::optional<int> LevelOf(const std::string& folder) {
  return util::StartsWith(folder, "level") ? Number(std::string_view(folder).substr(5))
                                           : std::nullopt;
}

bool IsPlainName(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.size() < 200 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return isalnum(c) || c == '_' || c == '-' || c == '.' || c == '+';
         });
}

std::string KeyOf(int level, const std::string& name) {
  return level == 0 ? name : fmt::format("level{}/{}", level, name);
}

Problem Make(int level, int id, const std::string& name, std::string source,
             const std::string& path) {
  Problem problem;
  problem.key = KeyOf(level, name);
  problem.level = level;
  problem.id = id;
  problem.name = name;
  problem.path = path;
  problem.sha256 = util::Sha256Hex(source);
  problem.source = std::move(source);
  return problem;
}

std::vector<fs::path> PythonFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() == ".py" && name[0] != '_' && name[0] != '.')
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<void> ReadFolder(const fs::path& folder, int level, std::vector<Problem>* problems) {
  int place = 0;
  for (const fs::path& file : PythonFiles(folder)) {
    ++place;
    const std::string name = file.stem();
    auto source = util::ReadFile(file, kMaxModelBytes);
    const int id = level == 0 ? place : IdOf(name).value_or(place);
    problems->push_back(
        Make(level, id, name, source.value_or(""), fs::absolute(file).lexically_normal()));
    if (!IsPlainName(name)) {
      problems->back().unusable =
          Error{ErrorCode::kUsage, util::SanitiseUtf8(file.string()) +
                                       ": a problem's file name may hold letters, digits and "
                                       "._+- only. Rename it, or leave it out with --problems."};
    } else if (!source) {
      problems->back().unusable =
          Error{ErrorCode::kUsage,
                source.error().message + " Mend or remove it, or leave it out with --problems."};
    }
  }
  return {};
}

std::map<int, fs::path> LevelFolders(const fs::path& folder) {
  std::map<int, fs::path> levels;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto level = LevelOf(entry.path().filename());
    if (level && entry.is_directory(ignored)) levels[*level] = entry.path();
  }
  return levels;
}

Result<std::vector<Problem>> ReadFolders(const std::string& path, const std::set<int>& wanted) {
  std::map<int, fs::path> levels = LevelFolders(path);
  if (levels.empty()) levels = LevelFolders(fs::path(path) / "KernelBench");
  if (levels.empty() && LevelOf(fs::absolute(path).lexically_normal().filename())) {
    levels[*LevelOf(fs::absolute(path).lexically_normal().filename())] = path;
  }
  std::vector<Problem> problems;
  if (levels.empty()) {
    if (!wanted.empty()) {
      return Fail(ErrorCode::kUsage,
                  path +
                      " has no folders level1, level2, ..., so --level chooses "
                      "nothing. Leave --level out, or name a KernelBench checkout.");
    }
    if (auto read = ReadFolder(path, 0, &problems); !read) return tl::unexpected(read.error());
    return problems;
  }
  for (int level : wanted) {
    if (levels.contains(level)) continue;
    return Fail(ErrorCode::kUsage, fmt::format("{} has no folder level{}.", path, level));
  }
  for (const auto& [level, folder] : levels) {
    if (!wanted.empty() && !wanted.contains(level)) continue;
    if (auto read = ReadFolder(folder, level, &problems); !read)
      return tl::unexpected(read.error());
  }
  return problems;
}

Result<Problem> ReadRecord(const std::string& line, const std::string& where) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto bad = [&where](const std::string& what) {
    return Fail(ErrorCode::kUsage,
                where + ": " + what +
                    " Every line is one object with \"level\", \"problem_id\", \"name\" and "
                    "\"code\".");
  };
  if (!json.is_object()) return bad("this is no JSON object.");
  for (const char* text : {"name", "code"}) {
    if (!json.contains(text) || !json[text].is_string())
      return bad(fmt::format("\"{}\" is no text.", text));
  }
  for (const char* number : {"level", "problem_id"}) {
    if (!json.contains(number) || !json[number].is_number_integer() || json[number] < 0 ||
        json[number] > 1'000'000) {
      return bad(fmt::format("\"{}\" is no number from 0 to 1000000.", number));
    }
  }
  std::string name = json["name"];
  if (util::EndsWith(name, ".py")) name.resize(name.size() - 3);
  if (!IsPlainName(name)) return bad("the name may hold letters, digits and ._+- only.");
  return Make(json["level"], json["problem_id"], name, json["code"], "");
}

Result<std::vector<Problem>> ReadExport(const std::string& path, const std::set<int>& wanted) {
  auto text = util::ReadFile(path, kMaxExportBytes);
  if (!text) return tl::unexpected(text.error());
  if (util::StartsWith(*text, "PAR1")) {
    return Fail(
        ErrorCode::kUsage,
        path +
            " is a parquet file, which is not read here. Export it as JSONL, for example with\n"
            "  python3 -c \"import pandas,sys; pandas.read_parquet(sys.argv[1])"
            ".to_json(sys.argv[2], orient='records', lines=True)\" IN.parquet OUT.jsonl\n"
            "and give that file.");
  }
  std::vector<Problem> problems;
  int number = 0;
  for (const std::string& line : util::Split(*text, '\n')) {
    ++number;
    if (util::Trim(line).empty()) continue;
    auto problem = ReadRecord(line, fmt::format("{}, line {}", path, number));
    if (!problem) return tl::unexpected(problem.error());
    if (wanted.empty() || wanted.contains(problem->level)) problems.push_back(std::move(*problem));
  }
  return problems;
}

// A name of a level that was not read is none of ours.
bool IsOfAnotherLevel(const std::string& name, const std::set<int>& wanted) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos || wanted.empty()) return false;
  const auto level = LevelOf(name.substr(0, slash));
  return level && !wanted.contains(*level);
}

Result<void> ApplyConstFile(const std::string& path, const std::set<int>& wanted,
                            std::vector<Problem>* problems) {
  if (path.empty()) return {};
  auto text = util::ReadFile(path, kMaxModelBytes);
  if (!text) return tl::unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto bad = [&path](const std::string& what) {
    return Fail(ErrorCode::kUsage,
                path + ": " + what + " Write {\"PROBLEM\": {\"NAME\": VALUE, ...}, ...}.");
  };
  if (!json.is_object()) return bad("this is no JSON object.");
  std::map<std::string, Problem*> by_name;
  std::vector<std::string> names;
  for (Problem& problem : *problems) {
    by_name[problem.key] = by_name[problem.name] = &problem;
    names.push_back(problem.name);
  }
  for (const auto& [name, consts] : json.items()) {
    if (!consts.is_object())
      return bad("\"" + util::SanitiseLog(name, 100) + "\" has no object of constants.");
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      if (IsOfAnotherLevel(name, wanted)) continue;
      return bad("no problem is called " + util::SanitiseLog(name, 100) + "." +
                 util::DidYouMean(name, names));
    }
    for (const auto& [constant, value] : consts.items()) {
      if (!value.is_primitive() || value.is_null()) {
        return bad(fmt::format("{} of {} is no number, truth value or text.",
                               util::SanitiseLog(constant, 100), util::SanitiseLog(name, 100)));
      }
      found->second->consts[constant] = value.is_string() ? value.get<std::string>()
                                        : value.is_boolean()
                                            ? (value.get<bool>() ? "True" : "False")
                                            : value.dump();
    }
  }
  return {};
}

// Whether the selection's text names this problem; `used` marks the pieces that did.
bool Named(const Problem& problem, const std::vector<std::string>& pieces,
           std::vector<bool>* used) {
  bool named = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string piece(util::Trim(pieces[i]));
    const size_t dash = piece.find('-');
    const auto low = Number(piece.substr(0, dash));
    const auto high = dash == std::string::npos ? low : Number(piece.substr(dash + 1));
    const bool by_id = low && high;
    const bool hit = by_id ? problem.id >= *low && problem.id <= *high
                           : piece == problem.name || piece == problem.key;
    if (hit) (*used)[i] = true;
    named = named || hit;
  }
  return named;
}

Result<void> Choose(const std::string& text, std::vector<Problem>* problems) {
  if (text.empty()) return {};
  const std::vector<std::string> pieces = util::Split(text, ',');
  std::vector<bool> used(pieces.size(), false);
  std::vector<std::string> names;
  std::vector<Problem> chosen;
  for (Problem& problem : *problems) {
    names.push_back(problem.name);
    if (Named(problem, pieces, &used)) chosen.push_back(std::move(problem));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (used[i]) continue;
    return Fail(ErrorCode::kUsage,
                fmt::format("--problems: no problem of the suite is {}.{} Write ids and ranges "
                            "(1-20,40) or names.",
                            util::SanitiseLog(pieces[i], 100), util::DidYouMean(pieces[i], names)));
  }
  *problems = std::move(chosen);
  return {};
}

Result<void> Shard(const std::string& text, std::vector<Problem>* problems) {
  if (text.empty()) return {};
  const size_t slash = text.find('/');
  const auto index = Number(text.substr(0, slash));
  const auto count = slash == std::string::npos ? std::nullopt : Number(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count) {
    return Fail(ErrorCode::kUsage,
                "--shard " + util::SanitiseLog(text, 60) +
                    " is not i/N with i from 1 to N. Write for example --shard 1/4.");
  }
  std::vector<Problem> mine;
  for (size_t i = 0; i < problems->size(); ++i) {
    if (static_cast<int>(i % *count) == *index - 1) mine.push_back(std::move((*problems)[i]));
  }
  *problems = std::move(mine);
  return {};
}

}  // namespace

Result<std::vector<Problem>> ReadSuite(const std::string& path, const Selection& selection) {
  std::error_code ignored;
  auto problems = fs::is_directory(path, ignored) ? ReadFolders(path, selection.levels)
                                                  : ReadExport(path, selection.levels);
  if (!problems) return problems;
  std::stable_sort(problems->begin(), problems->end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.level, a.id) < std::pair(b.level, b.id);
  });
  std::set<std::string> keys;
  for (const Problem& problem : *problems) {
    if (keys.insert(problem.key).second) continue;
    return Fail(ErrorCode::kUsage, path + " holds the problem " + problem.key + " twice.");
  }
  if (auto set = ApplyConstFile(selection.const_file, selection.levels, &*problems); !set) {
    return tl::unexpected(set.error());
  }
  if (auto chosen = Choose(selection.problems, &*problems); !chosen)
    return tl::unexpected(chosen.error());
  if (auto sharded = Shard(selection.shard, &*problems); !sharded)
    return tl::unexpected(sharded.error());
  for (const Problem& problem : *problems) {
    if (problem.unusable) return tl::unexpected(*problem.unusable);
  }
  if (problems->empty()) {
    return Fail(ErrorCode::kUsage,
                path +
                    " has no problem of this selection: no .py file (names that begin "
                    "with _ are left out), no such level, or an empty shard.");
  }
  return problems;
}

Result<std::map<std::string, std::vector<Sample>>> FindCandidates(
    const std::string& folder, const std::vector<Problem>& problems,
    std::vector<std::string>* unknown) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return Fail(ErrorCode::kUsage,
                folder + " is no folder. --candidates takes a folder of .cu files.");
  }
  std::map<std::string, std::string> keys;  // a way to write it -> key
  for (const Problem& problem : problems) {
    keys[problem.key] = problem.key;
    if (problem.level > 0)
      keys[fmt::format("level_{}_problem_{}", problem.level, problem.id)] = problem.key;
  }
  std::map<std::string, std::vector<Sample>> found;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (error) break;
    if (it->path().extension() != ".cu") continue;
    std::string name = fs::relative(it->path(), folder).replace_extension("");
    if (util::EndsWith(name, "_kernel")) name.resize(name.size() - 7);
    Sample sample{0, fs::absolute(it->path()).lexically_normal()};
    const size_t at = name.rfind("_sample_");
    if (at != std::string::npos) {
      if (const auto number = Number(name.substr(at + 8))) {
        sample.number = *number;
        name.resize(at);
      }
    }
    const auto key = keys.find(name);
    if (key == keys.end()) {
      unknown->push_back(it->path());
    } else {
      found[key->second].push_back(std::move(sample));
    }
  }
  if (error)
    return Fail(ErrorCode::kEnvironment, "Could not read " + folder + ": " + error.message() + ".");
  for (auto& [key, samples] : found) {
    std::sort(samples.begin(), samples.end(),
              [](const Sample& a, const Sample& b) { return a.number < b.number; });
    for (size_t i = 1; i < samples.size(); ++i) {
      if (samples[i].number != samples[i - 1].number) continue;
      return Fail(ErrorCode::kUsage,
                  fmt::format("{} and {} are both sample {} of {}. Rename one.",
                              samples[i - 1].path, samples[i].path, samples[i].number, key));
    }
  }
  return found;
}

}  // namespace cudaagent::bench
