// cudaagent report RUN: a run or a bench as one HTML file.
#include <filesystem>
#include <memory>

#include "bench/bench_page.h"
#include "cli/app.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "report/html.h"
#include "store/run_list.h"
#include "util/file.h"

namespace cudaagent::cli {
namespace {

struct ReportCommand {
  std::string run = "latest";
  std::string out;
};

// "bench-..." below runs/, a path, or what FindRun finds.
Result<std::string> FindFolder(const std::string& name) {
  for (const std::string& path : {name, std::string(store::kRunsFolder) + "/" + name}) {
    if (bench::HoldsBench(path)) return std::filesystem::absolute(path).lexically_normal().string();
  }
  return store::FindRun(name);
}

Result<report::Page> ReadPage(const std::string& folder) {
  if (bench::HoldsBench(folder)) {
    auto stored = bench::ReadBench(folder);
    if (!stored) return tl::unexpected(stored.error());
    return bench::PageOf(folder, *stored, {});
  }
  auto run = store::ReadRun(folder);
  if (!run) return tl::unexpected(run.error());
  return report::PageOfRun(*run);
}

int RunReport(const ReportCommand& command) {
  auto folder = FindFolder(command.run);
  if (!folder) return Report(folder.error(), false);
  auto page = ReadPage(*folder);
  if (!page) return Report(page.error(), false);
  const std::string html = report::Html(*page);
  const std::string path = command.out.empty() ? *folder + "/report.html" : command.out;
  auto delivered = WriteOutputFile(path, html);
  if (delivered && path != "-") delivered = Print(path + "\n");
  return delivered ? kExitOk : Report(delivered.error(), false);
}

}  // namespace

Command AddReport(CLI::App& app) {
  auto command = std::make_shared<ReportCommand>();
  CLI::App* sub =
      app.add_subcommand("report", "Write a run or a bench as one HTML file that needs no network");
  sub->add_option("RUN", command->run, "A run's or a bench's folder, its name in runs/ or latest")
      ->capture_default_str();
  sub->add_option("-o,--out", command->out,
                  "File to write; default report.html in the folder; - is stdout");
  return [command] { return RunReport(*command); };
}

}  // namespace cudaagent::cli
