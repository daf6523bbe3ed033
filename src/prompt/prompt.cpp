#include "prompt/prompt.h"

#include <algorithm>

#include "candidate/op_allow_list.h"
#include "graph/graph.h"
#include "prompt/device_facts.h"
#include "prompt/figures.h"
#include "prompt/quote.h"
#include "util/text.h"

namespace cudaagent::prompt {
namespace {

std::string List(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

std::string TensorRows(const char* title, const std::vector<TensorInfo>& tensors) {
  if (tensors.empty()) return "";
  std::string text = std::string(title) + ":\n";
  for (const TensorInfo& tensor : tensors) {
    text += "- " + OneLine(tensor.name, 200) + ": " + tensor.dtype + " " + List(tensor.shape) +
            ", " + util::FormatBytes(tensor.bytes);
    if (!tensor.contiguous) text += ", not contiguous, strides " + List(tensor.strides);
    text += "\n";
  }
  return text;
}

std::string Tensors(const ProblemInfo& problem) {
  std::string text = TensorRows("Inputs", problem.inputs);
  if (!problem.scalars.empty()) {
    text += "Inputs that are not tensors:\n";
    for (const ScalarInput& scalar : problem.scalars) {
      text += "- " + OneLine(scalar.name, 200) + " = " + OneLine(scalar.value, 80) + "\n";
    }
  }
  text += TensorRows("Parameters and buffers", problem.parameters) +
          TensorRows("Constants", problem.constants) + TensorRows("Outputs", problem.outputs);
  return std::string(util::Trim(text));
}

std::string WorkText(const ProblemInfo& problem) {
  if (problem.graph_json.empty())
    return "The model could not be exported, so its work is not known.";
  auto graph = graph::ParseGraph(problem.graph_json);
  if (!graph) return "The model's work is not known.";
  const graph::Work work = graph::EstimateWork(*graph, problem);
  return "At the least, " + util::FormatBytes(work.bytes_read) + " must be read and " +
         util::FormatBytes(work.bytes_written) + " written; the model as written does " +
         Number(work.flops / 1e9, 3) + " GFLOP in " + std::to_string(graph->nodes.size()) +
         (graph->nodes.size() == 1 ? " ATen operator." : " ATen operators.");
}

std::string Settings(const ProblemSpec& spec) {
  std::string text = "`" + OneLine(spec.class_name, 100) + "` of this file, in " +
                     (spec.mode == Mode::kTrain ? "train" : "eval") +
                     " mode, floating tensors as " + spec.dtype + ".";
  if (spec.mode == Mode::kTrain) {
    text +=
        " Batch norms normalise by the batch's own statistics. Running statistics need not be "
        "updated; only "
        "outputs are compared.";
  }
  if (!spec.consts.empty()) {
    text += " These constants of the file are replaced:";
    for (const auto& [name, value] : spec.consts) {
      text += " " + OneLine(name, 100) + " = " + OneLine(value, 100) + ";";
    }
    text.back() = '.';
  }
  switch (spec.precision) {
    case Precision::kFp32:
      return text + " TF32 is off on both sides: float32 products need float32 accuracy.";
    case Precision::kTf32:
      return text +
             " TF32 may be used for float32 matrix products and convolutions, as the reference "
             "does.";
    default:
      return text +
             " Precision is PyTorch's default: matrix products in float32, cuDNN may use TF32.";
  }
}

std::string Row(const Attempt& attempt) {
  const Evaluation& e = attempt.evaluation;
  std::string row = "- " + std::to_string(attempt.number) + " (" +
                    OneLine(attempt.candidate.origin, 60) +
                    "): " + std::string(ToString(e.verdict));
  if (e.verdict != Verdict::kOk) {
    row += ": " + OneLine(e.message, 300);
  } else if (e.candidate) {
    row += ", " + TimingText(*e.candidate, e.estimated);
    if (e.speedup_eager)
      row += ", " + SpeedupText(*e.speedup_eager, e.estimated) + " as fast as eager";
    if (e.speedup_compile) {
      row += ", " + SpeedupText(*e.speedup_compile, e.estimated) + " as fast as torch.compile";
    }
  }
  if (!attempt.candidate.note.empty()) row += ". " + OneLine(attempt.candidate.note, 200);
  return row + "\n";
}

std::string Attempts(const ProposalContext& context, int shown) {
  const auto& history = context.history;
  if (history.empty()) return "None yet.";
  const size_t latest = history.size() > static_cast<size_t>(shown) ? history.size() - shown : 0;
  std::string text;
  size_t left_out = 0;
  for (size_t i = 0; i < history.size(); ++i) {
    const bool best = context.best != nullptr && history[i].number == context.best->number;
    if (i == 0 || best || i >= latest) {
      text += Row(history[i]);
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) text += "(" + std::to_string(left_out) + " older ones are left out)\n";
  return std::string(util::Trim(text));
}

std::string Best(const ProposalContext& context, size_t max_bytes) {
  if (context.best == nullptr) return "No attempt is correct yet.";
  const Attempt& best = *context.best;
  std::string text = "## The best so far: attempt " + std::to_string(best.number) + "\n\n" +
                     Fenced(best.candidate.source, "cuda", max_bytes);
  if (!best.feedback.empty()) {
    text += "\n\nIts report:\n\n" + Fenced(best.feedback, "text", 8000);
  }
  return text;
}

// The last attempt, where it is not the best one.
std::string Last(const ProposalContext& context, size_t max_bytes) {
  if (context.history.empty()) return "";
  const Attempt& last = context.history.back();
  if (context.best != nullptr && last.number == context.best->number) return "";
  return "## The last attempt: number " + std::to_string(last.number) + "\n\n" +
         Fenced(last.candidate.source, "cuda", max_bytes) + "\n\nIts report:\n\n" +
         Fenced(last.feedback, "text", 8000);
}

std::string Task(const ProposalContext& context) {
  const bool failed =
      !context.history.empty() && context.history.back().evaluation.verdict != Verdict::kOk;
  if (failed) {
    return "The last attempt failed. Repair it if its idea is good, else take another way from the "
           "best one. Answer with the whole file.";
  }
  return "Write a candidate that is faster than the best so far. Change what costs the most time "
         "first. Answer with the whole file.";
}

// The whole list, as the worker has it: "  abs add add_ ...", in lines of about a hundred.
std::string OpNames() {
  constexpr size_t kNamespace = std::string_view("aten::").size();
  std::string text, line = " ";
  for (const std::string& op : candidate::AllowedOps()) {
    if (line.size() + op.size() - kNamespace > 130) {
      text += line + "\n";
      line = " ";
    }
    line += " " + op.substr(kNamespace);
  }
  return text + line;
}

}  // namespace

int64_t EstimateTokens(std::string_view text) { return static_cast<int64_t>(text.size() + 3) / 4; }

Result<Prompt> BuildPrompt(const Templates& templates, const ProposalContext& context,
                           const PromptOptions& options) {
  auto system = Fill(templates.Text("system.md"),
                     {{"example", templates.Text("example.cu")}, {"ops", OpNames()}});
  if (!system) return tl::unexpected(system.error());
  auto user = Fill(templates.Text("user.md"),
                   {{"settings", Settings(context.spec)},
                    {"source", Fenced(context.spec.source, "python", options.max_source_bytes)},
                    {"tensors", Tensors(context.problem)},
                    {"work", WorkText(context.problem)},
                    {"device", DeviceFacts(context.device)},
                    {"attempts", Attempts(context, options.shown_attempts)},
                    {"best", Best(context, options.max_source_bytes)},
                    {"last", Last(context, options.max_source_bytes)},
                    {"task", Task(context)}});
  if (!user) return tl::unexpected(user.error());
  return Prompt{std::move(*system), std::move(*user)};
}

}  // namespace cudaagent::prompt
