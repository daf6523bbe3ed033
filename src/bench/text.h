// A bench in words: for a terminal, as CSV, and as Markdown for a job summary.
#pragma once

#include <string>
#include <vector>

#include "bench/row.h"
#include "bench/scores.h"

namespace cudaagent::bench {

// Rows by level, problem number and sample.
std::vector<Row> Sorted(std::vector<Row> rows);

// "~1.23x over eager", "correct, not timed", "wrong_result: ..." in at most about 100 characters.
std::string OutcomeText(const Row& row);

std::string RowsText(const std::vector<Row>& rows);  // a line each
std::string ScoresText(const ScoreTable& table);

// RFC 4180, a header line, one line a row.
std::string Csv(const std::vector<Row>& rows);

// One field of it: quoted where it must be; a text that a spreadsheet would run as a formula gets a
// ' before it.
std::string CsvField(const std::string& text);

}  // namespace cudaagent::bench
