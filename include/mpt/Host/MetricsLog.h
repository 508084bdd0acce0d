//===- MetricsLog.h - Metrics as JSON lines ---------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One JSON object per line and step. A file always ends with a whole line: a
/// failed write is taken back, and a run that resumes cuts off what a killed
/// one wrote after its checkpoint.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_METRICSLOG_H
#define MPT_HOST_METRICSLOG_H

#include "mpt/Host/StepEngine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>
#include <vector>

namespace mpt {

/// The shortest decimal text that reads back as element `index` of `tensor` in
/// its type (f32 for narrower floats); "NaN", "Infinity" or "-Infinity" in
/// double quotes where JSON has no number.
std::string formatElement(const HostTensor &tensor, int64_t index);

/// The columns that a run writes for itself; scalar results and loss scales
/// have columns of their own, under their names.
inline constexpr llvm::StringLiteral kMetricsColumns[] = {"step", "run", "epoch", "ms"};
/// What the columns of an evaluation begin with.
inline constexpr llvm::StringLiteral kEvaluationPrefix = "eval.";

/// What the name of `result`, a scalar that becomes a column, is taken for already, as
/// "a column of the metrics"; "" if it is free. `arguments` are the function's.
llvm::StringRef findMetricsClash(llvm::ArrayRef<TensorInfo> arguments,
                                 const ResultInfo &result);

/// Collects one line. Keys keep the order in which they are added.
class MetricsRecord {
public:
  void add(llvm::StringRef key, int64_t value);
  void add(llvm::StringRef key, double value);
  void add(llvm::StringRef key, llvm::StringRef text);
  /// A number for a scalar, else nested lists.
  void add(llvm::StringRef key, const HostTensor &tensor);
  /// {"step": 3, "loss": 0.5}
  std::string getLine() const { return "{" + body + "}"; }
  /// The numbers of the line, by key.
  llvm::ArrayRef<std::pair<std::string, double>> getNumbers() const { return numbers; }

private:
  void addRaw(llvm::StringRef key, llvm::StringRef json);
  std::string body;
  std::vector<std::pair<std::string, double>> numbers;
};

class MetricsLog {
public:
  /// Creates or empties `path`, or, with `resume` set, keeps its lines whose
  /// "step" is at most `keepThrough` up to the first other line.
  static llvm::Expected<MetricsLog> open(llvm::StringRef path, bool resume,
                                         int64_t keepThrough);
  MetricsLog(MetricsLog &&other);
  MetricsLog &operator=(MetricsLog &&) = delete;
  ~MetricsLog();

  /// Appends a line. On failure the file is as it was before the call.
  llvm::Error append(const MetricsRecord &record);
  /// Syncs the lines so far to disk: a checkpoint written after this never outlives
  /// the lines of its steps.
  llvm::Error sync();

private:
  MetricsLog(std::string path, int descriptor, bool isRegular, int64_t size)
      : path(std::move(path)), descriptor(descriptor), isRegular(isRegular), size(size) {}
  std::string path;
  int descriptor;
  bool isRegular;
  int64_t size;
};

} // namespace mpt

#endif // MPT_HOST_METRICSLOG_H
