//===- LossPlot.h - Loss curves as SVG --------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_LOSSPLOT_H
#define MPT_HOST_LOSSPLOT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>
#include <vector>

namespace mpt {

struct LossCurve {
  std::string label;
  /// (step, loss), steps rising. A loss that is not finite interrupts the line.
  std::vector<std::pair<double, double>> points;
};

/// An SVG document: axes with ticks, a legend with each curve's last value. The
/// loss axis is logarithmic if every finite loss is positive and they span more
/// than a factor of ten. A curve of many points is drawn through the extremes
/// of narrow intervals, so that no spike is lost.
std::string renderLossPlot(llvm::ArrayRef<LossCurve> curves, llvm::StringRef title);

} // namespace mpt

#endif // MPT_HOST_LOSSPLOT_H
