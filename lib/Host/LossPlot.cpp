//===- LossPlot.cpp - Loss curves as SVG ------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/LossPlot.h"
#include "mpt/Support/HtmlPage.h"

#include <algorithm>
#include <cmath>

using namespace mpt;

static ChartAxis makeLossAxis(llvm::ArrayRef<LossCurve> curves) {
  ChartAxis axis;
  axis.label = "loss";
  double low = INFINITY, high = -INFINITY;
  for (const LossCurve &curve : curves)
    for (auto [step, loss] : curve.points)
      if (std::isfinite(loss)) {
        low = std::min(low, loss);
        high = std::max(high, loss);
      }
  if (!(low <= high))
    return axis;
  axis.isLog = low > 0 && high > 10 * low;
  if (axis.isLog) {
    axis.low = low / 1.15;
    axis.high = high * 1.15;
    return axis;
  }
  double margin =
      high > low ? 0.05 * (high - low) : std::max(std::fabs(low) * 0.05, 1e-3);
  axis.low = low - margin;
  axis.high = high + margin;
  return axis;
}

static ChartAxis makeStepAxis(llvm::ArrayRef<LossCurve> curves) {
  ChartAxis axis;
  axis.label = "step";
  double low = INFINITY, high = -INFINITY;
  for (const LossCurve &curve : curves)
    for (auto [step, loss] : curve.points) {
      low = std::min(low, step);
      high = std::max(high, step);
    }
  if (!(low <= high))
    return axis;
  axis.low = std::min(0.0, low);
  axis.high = high > 0 ? high : 1;
  return axis;
}

std::string mpt::renderLossPlot(llvm::ArrayRef<LossCurve> curves, llvm::StringRef title) {
  Chart chart(makeStepAxis(curves), makeLossAxis(curves), 860, 460);
  // Curves that coincide stay visible: later ones are dashed over earlier ones.
  const char *const styles[] = {"c0",        "c1 dashed", "c2 dotted",
                                "c3 dashed", "c4 dotted", "c5 dashed"};
  for (size_t i = 0; i < curves.size(); ++i) {
    const char *style = styles[i % std::size(styles)];
    std::string label = curves[i].label;
    if (!curves[i].points.empty())
      label += ": " + formatDouble(curves[i].points.back().second, "%.4g");
    chart.addKey(style, label);
    chart.addLine(style, curves[i].points);
  }
  std::string svg;
  llvm::raw_string_ostream os(svg);
  chart.printFile(title, os);
  return svg;
}
