//===- Summary.cpp - The summary at the end of a run ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"
#include "llvm/Support/Format.h"

using namespace mpt;

/// `value` in printf's `format`.
static std::string print(const char *format, double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}

/// Milliseconds, of which a step of a tiny network takes few thousandths.
static std::string printMilliseconds(double value) {
  return print(value < 0.1 ? "%.2g" : "%.2f", value);
}

void mpt::printSummaries(llvm::raw_ostream &os, llvm::ArrayRef<RunSummary> summaries) {
  std::vector<std::vector<std::string>> table = {
      {"precision", "steps", "loss", "ms/step", "peak bytes", "scale", "skipped"}};
  for (const RunSummary &summary : summaries) {
    const TrainingSummary &training = summary.training;
    bool ran = !training.curve.points.empty();
    table.push_back({summary.precision, std::to_string(training.attempt),
                     ran ? print("%.6g", training.finalLoss) : "-",
                     ran ? printMilliseconds(training.millisecondsPerStep) : "-",
                     std::to_string(summary.peakBytes),
                     training.lossScale ? print("%g", *training.lossScale) : "-",
                     std::to_string(training.skipped)});
  }
  std::vector<size_t> widths(table.front().size(), 0);
  for (const auto &row : table)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const auto &row : table) {
    // The name on the left, numbers on the right.
    os << row[0] << std::string(widths[0] - row[0].size(), ' ');
    for (size_t i = 1; i < row.size(); ++i)
      os << "  " << std::string(widths[i] - row[i].size(), ' ') << row[i];
    os << '\n';
  }
  for (const RunSummary &summary : summaries) {
    if (!summary.memory.empty())
      os << "memory of " << summary.precision << ", " << summary.memory << '\n';
    if (!summary.training.evaluation.empty()) {
      os << "evaluation of " << summary.precision << ':';
      for (const auto &[name, value] : summary.training.evaluation)
        os << "  " << name << ' ' << print("%.6g", value);
      os << '\n';
    }
    if (summary.printsProfile)
      printProfile(os, "profile of " + summary.precision, summary.profile);
  }
}
