// One function per kind of kernel. Internal to emit*.cpp.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rewrite/emit.h"
#include "rewrite/kernel_text.h"

namespace cudaagent::rewrite {

using KernelCodes = std::vector<KernelCode>;

KernelCodes EmitPointwise(const Program& program, bool canonical,
                          const KernelText::Aligned& aligned);
KernelCodes EmitRows(const Program& program, const KernelStyle& style, bool canonical,
                     const KernelText::Aligned& aligned);
KernelCodes EmitSplitRows(const Program& program, bool canonical,
                          const KernelText::Aligned& aligned);
KernelCodes EmitColumns(const Program& program, const KernelStyle& style, bool canonical,
                        const KernelText::Aligned& aligned);
KernelCodes EmitWindows(const Program& program, bool canonical, const KernelText::Aligned& aligned);
KernelCodes EmitScan(const Program& program, bool canonical, const KernelText::Aligned& aligned);

// Whether rows are so few and long that several blocks share one.
bool IsSplit(const Program& program);

// Computes and stores one vector of elements of these outputs, at index `at` of each.
std::string ElementLoop(KernelText& text, const std::vector<size_t>& outputs,
                        const IndexNames& names, const std::string& at);
// How many tiles cover the extent.
std::string TilesFor(int64_t extent, int64_t tile);

// A number a kernel is written for: a constant in its text, or a template parameter that follows an
// entry of "tune".
struct Knob {
  std::string parameter;        // "kThreads"
  std::string comment;          // behind it in the kernel
  TuneEntry tune;               // without values: a constant
  std::vector<int64_t> values;  // one for each of the tune's, or one

  bool IsFixed() const;
  // In the kernel: "kThreads" or "256".
  std::string InKernel() const;
  // In an expression of the plan: "BLOCK", "(GROUPS == 8 ? 128 : 256)", "256".
  std::string InPlan() const;
};
Knob FixedKnob(const std::string& parameter, const std::string& comment, int64_t value);

// Fills {{template}} and {{constants}}, and the code's template arguments and tune entries.
void ApplyKnobs(const std::vector<Knob>& knobs, std::map<std::string, std::string>& values,
                KernelCode& code);

// Reductions that can be finished once `stage` others are.
std::vector<int> ReductionsAt(const Program& program, int stage);
// Variables of reductions: their declaration, what a vector of elements adds to them.
struct Accumulation {
  std::string declarations;
  std::string body;  // of the loop over the elements
  std::vector<std::string> names;
  std::vector<std::string> types;
  std::vector<int> words;
};
Accumulation Accumulate(KernelText& text, const std::vector<int>& reductions,
                        const IndexNames& names);

}  // namespace cudaagent::rewrite
