#include "candidate/tune.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "candidate/json_text.h"
#include "candidate/plan_text.h"
#include "candidate/skip.h"
#include "candidate/spelling.h"
#include "candidate/validate.h"

namespace cudaagent::candidate {
namespace {

// Lists can be long and many; a search that no `require` lets through must end.
constexpr int64_t kMaxLookedAt = 20'000;

// Walks index vectors of the tune lists in the order of their sums.
class Walk {
 public:
  Walk(const Plan& plan, const ProblemInfo& problem, size_t most)
      : plan_(plan), scope_(problem, plan.DefaultTune()), most_(most) {
    reach_.assign(plan.tune.size() + 1, 0);
    for (size_t i = plan.tune.size(); i-- > 0;) {
      reach_[i] = reach_[i + 1] + plan.tune[i].second.size() - 1;
    }
  }

  Combinations Run() {
    Consider(plan_.DefaultTune());
    for (size_t sum = 0; sum <= reach_[0] && found_.all_seen; ++sum) Visit(0, sum);
    return std::move(found_);
  }

 private:
  // Sets the lists from `at` on so that their indices add up to `sum`.
  void Visit(size_t at, size_t sum) {
    if (!found_.all_seen) return;
    if (at == plan_.tune.size()) return Consider(values_);
    const auto& [name, list] = plan_.tune[at];
    const size_t least = sum > reach_[at + 1] ? sum - reach_[at + 1] : 0;
    for (size_t i = least; i < list.size() && i <= sum; ++i) {
      values_[name] = list[i];
      Visit(at + 1, sum - i);
    }
  }

  void Consider(const TuneValues& values) {
    if (++looked_at_ > kMaxLookedAt) found_.all_seen = false;
    if (!found_.all_seen || !seen_.insert(values).second) return;
    for (const auto& [name, value] : values) scope_.SetValue(name, value);
    const bool fits = std::all_of(plan_.require.begin(), plan_.require.end(), [&](const Expr& e) {
      const Checked<int64_t> holds = e.Evaluate(scope_);
      return holds && *holds != 0;
    });
    if (!fits) return;
    if (found_.values.size() < most_) {
      found_.values.push_back(values);
    } else {
      ++found_.left_out;
    }
  }

  const Plan& plan_;
  ProblemScope scope_;
  const size_t most_;
  std::vector<size_t> reach_;  // the largest sum of indices from a list on
  TuneValues values_;
  std::set<TuneValues> seen_;
  int64_t looked_at_ = 0;
  Combinations found_;
};

struct Span {
  size_t begin = 0;
  size_t end = 0;
};

// Reads just enough of a valid plan's JSON to find a value of the outermost object.
class Finder {
 public:
  explicit Finder(std::string_view text) : text_(text) {}

  std::optional<Span> Value(std::string_view wanted) {
    at_ = Skip(0) + 1;  // past "{"
    while (at_ < text_.size()) {
      at_ = Skip(at_);
      if (at_ >= text_.size() || text_[at_] != '"') return std::nullopt;  // "}"
      const size_t key = at_;
      SkipString();
      const Json name = Json::parse(text_.substr(key, at_ - key), nullptr, false);
      at_ = Skip(Skip(at_) + 1);  // past ":"
      const size_t begin = at_;
      SkipValue();
      if (name.is_string() && name.get_ref<const std::string&>() == wanted) {
        return Span{begin, at_};
      }
      at_ = Skip(at_);
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
    return std::nullopt;
  }

 private:
  // Past white space and comments.
  size_t Skip(size_t at) const {
    for (at = SkipSpace(text_, at); text_.substr(at, 2) == "//"; at = SkipSpace(text_, at)) {
      at = std::min(text_.find('\n', at), text_.size());
    }
    return at;
  }
  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }
  void SkipValue() {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
      } else if (text_.substr(at_, 2) == "//") {
        at_ = Skip(at_);
        continue;
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return;
        --depth;
        ++at_;
      } else if (depth == 0 && (c == ',' || IsSpace(c))) {
        return;
      } else {
        ++at_;
        if (depth == 0) continue;  // within a number or a word
      }
      if (depth == 0) return;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Combinations TuneCombinations(const Plan& plan, const ProblemInfo& problem, size_t most) {
  return Walk(plan, problem, most).Run();
}

Checked<std::string> WithTuned(std::string_view source, const TuneValues& values) {
  auto parsed = ParseCandidate(source);
  if (!parsed) return tl::unexpected(parsed.error());
  std::string list;
  for (const auto& [name, unused] : parsed->plan.tune) {
    list += (list.empty() ? "" : ", ") + Json(name).dump() + ": " + std::to_string(values.at(name));
  }
  list = "{" + list + "}";
  const size_t plan = source.find("cudaagent", FindPlanMarker(source, 0)) + 9;
  Finder finder(parsed->plan_text);
  std::string tuned(source);
  if (const auto old = finder.Value("tuned")) {
    tuned.replace(plan + old->begin, old->end - old->begin, list);
  } else if (const auto tune = finder.Value("tune")) {
    tuned.insert(plan + tune->end, ", \"tuned\": " + list);
  }
  const auto again = ParseCandidate(tuned);
  if (!again) return tl::unexpected(again.error());
  if (again->plan.tuned != values) {
    return Blame(Verdict::kInfraError,
                 "The chosen tune values could not be written into the plan.");
  }
  return tuned;
}

std::string TuneText(const TuneValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  return text;
}

}  // namespace cudaagent::candidate
