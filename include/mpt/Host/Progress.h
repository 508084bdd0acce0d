//===- Progress.h - The progress of a run -----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A bar that rewrites its line on a terminal, and a line every so many steps
/// elsewhere.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_PROGRESS_H
#define MPT_HOST_PROGRESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>

namespace mpt {

class Progress {
public:
  struct Options {
    /// Draw a bar of at most `columns` characters instead of printing lines.
    bool isTerminal = false;
    unsigned columns = 80;
    /// In front of every line, such as "f16".
    std::string label;
    /// Steps already done when the run began, and the last step.
    int64_t first = 0, total = 0;
    /// A line's distance in steps; the last step always gets one.
    int64_t every = 1;
  };

  Progress(llvm::raw_ostream &os, Options options)
      : os(os), options(std::move(options)) {}

  /// Step `step` is done, `seconds` after the run began. A bar is redrawn at
  /// most ten times a second.
  void update(int64_t step, double loss, double seconds);
  /// A line of text; the bar is drawn again below it by the next update.
  void note(llvm::StringRef line);
  /// Leaves the bar's line. Call once, also after an error.
  void finish();

private:
  void clear();
  llvm::raw_ostream &os;
  Options options;
  double lastDrawn = -1;
  unsigned drawnWidth = 0;
};

/// "0:07", "12:05" or "1:02:03"; "?" if `seconds` is not finite.
std::string formatDuration(double seconds);

} // namespace mpt

#endif // MPT_HOST_PROGRESS_H
