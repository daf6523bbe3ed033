// A bench for continuous integration: JUnit XML, a Markdown summary, GitHub's annotations.
// Everything that comes from a problem, a candidate or a log is escaped.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/gate.h"
#include "bench/row.h"
#include "bench/scores.h"

namespace cudaagent::bench {

// What the gates came to.
struct GateReport {
  std::vector<std::string> failures;   // of --fail-under, a sentence each
  std::vector<ProblemChange> changes;  // of --against
  std::vector<std::string> dismissed;  // slower at first, not when measured again
  bool failed() const;
};

// A suite a level, a case a row; failure types are incorrect, compile, timeout, no_candidate, hack
// and regression, errors are what no candidate did, skipped is what the device cannot run. The
// gates are a suite of their own.
std::string Junit(const std::vector<Row>& rows, const GateReport& gates);

// GitHub-flavoured, at most `max_bytes` (rows are left out and counted): scores, gates, what
// failed, every row.
std::string Markdown(const std::vector<Row>& rows, const ScoreTable& table, const GateReport& gates,
                     size_t max_bytes);

// Workflow commands (::error title=...::...), at most ten: failed gates, then what failed.
std::string Annotations(const std::vector<Row>& rows, const GateReport& gates);

std::string EscapeXml(const std::string& text);
std::string EscapeMarkdown(const std::string& text);  // one line, no markup, no HTML, no mentions
std::string EscapeCommand(const std::string& text, bool property);  // of a workflow command

}  // namespace cudaagent::bench
