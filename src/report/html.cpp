#include "report/html.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "protocol/evaluation_json.h"
#include "report/embedded_page.h"
#include "reward/reward.h"
#include "util/text.h"

namespace cudaagent::report {
namespace {

// JSON that a script tag may hold: nothing in it ends the tag or begins another.
std::string ScriptJson(const nlohmann::json& json) {
  const std::string text = protocol::ToText(json, -1);
  std::string safe;
  safe.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

template <typename T>
void Put(nlohmann::json* json, const char* name, const std::optional<T>& value) {
  if (value) (*json)[name] = *value;
}

// What the overview needs: small, for all problems at once.
nlohmann::json Summary(const PageProblem& problem) {
  nlohmann::json json = {{"name", problem.name},
                         {"level", problem.level},
                         {"outcome", problem.outcome},
                         {"message", problem.message},
                         {"estimated", problem.estimated},
                         {"seconds", problem.seconds},
                         {"tokens", problem.tokens},
                         {"verdicts", problem.verdicts},
                         {"attempts", problem.attempts.size()}};
  if (!problem.degenerate.empty()) json["degenerate"] = problem.degenerate;
  if (problem.speedup)
    json["speedup"] = {problem.speedup->value, problem.speedup->low, problem.speedup->high};
  Put(&json, "ms", problem.median_ms);
  Put(&json, "floor", problem.floor_ms);
  // [speedup or null, tokens so far, seconds so far] by attempt.
  nlohmann::json curve = nlohmann::json::array();
  double best = 0;
  int64_t tokens = 0;
  for (const PageAttempt& attempt : problem.attempts) {
    tokens += attempt.tokens;
    if (attempt.new_best && attempt.speedup) best = *attempt.speedup;
    curve.push_back(
        {best > 0 ? nlohmann::json(best) : nlohmann::json(), tokens, attempt.elapsed_s});
  }
  json["curve"] = std::move(curve);
  return json;
}

// What is looked at one problem at a time: read when it is opened.
nlohmann::json Details(const PageProblem& problem) {
  nlohmann::json attempts = nlohmann::json::array();
  for (const PageAttempt& a : problem.attempts) {
    nlohmann::json json = {{"n", a.number},      {"parent", a.parent},     {"origin", a.origin},
                           {"note", a.note},     {"verdict", a.verdict},   {"message", a.message},
                           {"best", a.new_best}, {"feedback", a.feedback}, {"source", a.source},
                           {"tokens", a.tokens}};
    Put(&json, "speedup", a.speedup);
    Put(&json, "ms", a.median_ms);
    attempts.push_back(std::move(json));
  }
  return attempts;
}

void Replace(std::string* text, const std::string& mark, const std::string& by) {
  const size_t at = text->find(mark);
  if (at == std::string::npos) throw FatalError("the report's page has no " + mark);
  text->replace(at, mark.size(), by);
}

}  // namespace

std::string EscapeMarkup(const std::string& text) {
  std::string escaped;
  for (const char c : util::SanitiseUtf8(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

PageProblem ProblemOf(const store::StoredRun& run) {
  PageProblem problem;
  problem.name = std::filesystem::path(run.description.spec.path).stem();
  problem.seconds = run.elapsed_s;
  problem.outcome = "incorrect";
  for (const store::StoredAttempt& stored : run.attempts) {
    const Attempt& attempt = stored.attempt;
    const Evaluation& e = attempt.judgement();
    PageAttempt each;
    each.number = attempt.number;
    each.parent = attempt.parent;
    each.origin = attempt.candidate.origin;
    each.note = attempt.candidate.note;
    each.verdict = ToString(e.verdict);
    each.message = e.message;
    each.feedback = attempt.feedback;
    each.source = attempt.candidate.source;
    if (const auto speedup = reward::DecidingSpeedup(e); speedup && e.verdict == Verdict::kOk)
      each.speedup = speedup->value;
    if (e.candidate) each.median_ms = e.candidate->median_ms;
    each.new_best = stored.new_best;
    each.tokens = attempt.usage.total_tokens();
    each.elapsed_s = attempt.elapsed_s;
    problem.tokens += each.tokens;
    ++problem.verdicts[each.verdict];
    problem.attempts.push_back(std::move(each));
  }
  if (const store::StoredAttempt* best = run.best()) {
    const Evaluation& e = best->attempt.judgement();
    problem.outcome = "correct";
    problem.message = e.message;
    problem.degenerate = e.degenerate;
    problem.speedup = reward::DecidingSpeedup(e);
    if (e.candidate) problem.median_ms = e.candidate->median_ms;
    problem.floor_ms = e.floor_ms;
    problem.estimated = e.estimated;
  } else if (!run.attempts.empty()) {
    problem.message = run.attempts.back().attempt.judgement().message;
  }
  return problem;
}

Page PageOfRun(const store::StoredRun& run) {
  Page page;
  PageProblem problem = ProblemOf(run);
  page.title = problem.name;
  page.facts = {{"model", run.description.spec.path},
                {"proposer", run.description.proposer},
                {"started", run.description.started},
                {"ended", run.stopped.empty() ? "not yet" : run.stopped},
                {"cudaagent", run.description.version}};
  if (!run.attempts.empty()) {
    const Evaluation& e = run.attempts.back().attempt.judgement();
    page.facts.emplace_back("device", e.device.name + " (" + e.device.arch + ")");
    page.facts.emplace_back(
        "rules", fmt::format("precision {}, tolerance {}, {} decides", e.protocol.precision,
                             e.protocol.tier, e.protocol.baseline));
  }
  page.problems.push_back(std::move(problem));
  return page;
}

std::string Html(const Page& page) {
  const auto& files = EmbeddedPage();
  nlohmann::json overview = {
      {"title", page.title}, {"scores", page.scores}, {"problems", nlohmann::json::array()}};
  for (const auto& [name, value] : page.facts) overview["facts"].push_back({name, value});
  std::string details;
  for (size_t i = 0; i < page.problems.size(); ++i) {
    overview["problems"].push_back(Summary(page.problems[i]));
    if (page.problems[i].attempts.empty()) continue;
    details += fmt::format("<script type=\"application/json\" id=\"details-{}\">{}</script>\n", i,
                           ScriptJson(Details(page.problems[i])));
  }
  std::string html = files.at("report.html");
  // The data last, so that no text of it is taken for a mark.
  Replace(&html, "{{title}}", EscapeMarkup(page.title));
  Replace(&html, "{{style}}", files.at("report.css"));
  Replace(&html, "{{script}}", files.at("charts.js") + files.at("report.js"));
  const size_t at = html.find("{{data}}");
  if (at == std::string::npos) throw FatalError("the report's page has no {{data}}");
  return html.substr(0, at) + "<script type=\"application/json\" id=\"overview\">" +
         ScriptJson(overview) + "</script>\n" + details + html.substr(at + 8);
}

}  // namespace cudaagent::report
