//===- ProgressTest.cpp - Progress and plots --------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/Progress.h"
#include "mpt/Host/LossPlot.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mpt;

namespace {

size_t count(llvm::StringRef text, llvm::StringRef part) { return text.count(part); }

TEST(ProgressTest, Durations) {
  EXPECT_EQ(formatDuration(0), "0:00");
  EXPECT_EQ(formatDuration(7.4), "0:07");
  EXPECT_EQ(formatDuration(59.6), "1:00");
  EXPECT_EQ(formatDuration(3723), "1:02:03");
  EXPECT_EQ(formatDuration(std::nan("")), "?");
}

TEST(ProgressTest, PlainLines) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Progress::Options options;
  options.label = "f16";
  options.total = 25;
  options.every = 10;
  Progress progress(os, options);
  for (int step = 1; step <= 25; ++step)
    progress.update(step, 1.0 / step, step * 0.01);
  progress.note("saved");
  progress.finish();
  EXPECT_EQ(text, "f16  step 10/25  loss 0.1           10.00 ms/step  eta 0:00\n"
                  "f16  step 20/25  loss 0.05          10.00 ms/step  eta 0:00\n"
                  "f16  step 25/25  loss 0.04          10.00 ms/step  eta 0:00\n"
                  "f16  saved\n");
}

TEST(ProgressTest, TheBarFitsItsLineAndIsNotRedrawnTooOften) {
  for (unsigned columns : {20u, 60u, 80u, 200u}) {
    std::string text;
    llvm::raw_string_ostream os(text);
    Progress::Options options;
    options.isTerminal = true;
    options.columns = columns;
    options.total = 1000;
    Progress progress(os, options);
    for (int step = 1; step <= 1000; ++step)
      progress.update(step, 0.5, step * 0.001);
    progress.finish();
    llvm::SmallVector<llvm::StringRef> drawn;
    llvm::StringRef(text).split(drawn, '\r', -1, false);
    EXPECT_LE(drawn.size(), 12u); // One second, ten a second, and the last.
    EXPECT_GE(drawn.size(), 9u);
    for (llvm::StringRef line : drawn)
      EXPECT_LT(line.rtrim('\n').size(), columns);
    EXPECT_EQ(count(text, "\n"), 1u);
    EXPECT_TRUE(drawn.back().contains(columns > 20 ? "1000/1000" : "1000"));
    if (columns >= 80)
      EXPECT_TRUE(drawn.back().contains("[####"));
  }
}

TEST(ProgressTest, ResumedRunsCountTheirOwnSteps) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Progress::Options options;
  options.first = 90;
  options.total = 100;
  Progress progress(os, options);
  progress.update(91, 1, 0.5);
  EXPECT_EQ(text, "step 91/100  loss 1            500.00 ms/step  eta 0:05\n");
}

TEST(LossPlotTest, DrawsEachCurveWithLegend) {
  LossCurve a{"f32", {}}, b{"f16 <half> & more", {}};
  for (int i = 1; i <= 500; ++i) {
    a.points.push_back({i, 1.0 / i});
    b.points.push_back({i, 1.1 / i});
  }
  std::string svg = renderLossPlot({a, b}, "sin & cos");
  EXPECT_TRUE(llvm::StringRef(svg).starts_with("<svg "));
  EXPECT_TRUE(llvm::StringRef(svg).ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<path class='line c0' d='M"), 2u); // Its key and the curve.
  EXPECT_EQ(count(svg, "<path class='line c1 dashed' d='M"), 2u);
  EXPECT_NE(svg.find(">step</text>"), std::string::npos);
  EXPECT_NE(svg.find("loss (log scale)"), std::string::npos);
  EXPECT_NE(svg.find(">f32: 0.002<"), std::string::npos);
  EXPECT_NE(svg.find("f16 &lt;half&gt; &amp; more: 0.0022"), std::string::npos);
  EXPECT_NE(svg.find("sin &amp; cos"), std::string::npos);
}

TEST(LossPlotTest, LinearUnlessAllLossesArePositive) {
  LossCurve curve{"a", {{0, 5}, {1, 0}, {2, 100}}};
  EXPECT_EQ(renderLossPlot(curve, "").find("log scale"), std::string::npos);
  curve.points[1].second = 1;
  EXPECT_NE(renderLossPlot(curve, "").find("log scale"), std::string::npos);
}

TEST(LossPlotTest, SpikesSurviveAndGapsInterrupt) {
  LossCurve curve{"a", {}};
  for (int i = 0; i < 100000; ++i)
    curve.points.push_back({double(i), i == 50000 ? 9.0 : 1.0});
  std::string svg = renderLossPlot(curve, "");
  EXPECT_LT(svg.size(), 100000u);
  // The spike is at the top of the plot: 5% of the span below its edge.
  EXPECT_NE(svg.find(" 18.3L"), std::string::npos);
  curve.points = {{0, 1}, {1, 2}, {2, std::nan("")}, {3, 1}, {4, INFINITY}};
  svg = renderLossPlot(curve, "");
  EXPECT_EQ(svg.find("nan"), svg.rfind("nan"));
  EXPECT_EQ(svg.find("-inf"), std::string::npos);
}

TEST(LossPlotTest, DegenerateInput) {
  EXPECT_NE(renderLossPlot({}, "").find("</svg>"), std::string::npos);
  for (double value : {0.0, 3.0, std::nan("")}) {
    std::string svg = renderLossPlot(LossCurve{"a", {{0, value}}}, "");
    EXPECT_EQ(svg.find("=\"nan\""), std::string::npos);
    EXPECT_EQ(svg.find("=\"inf\""), std::string::npos);
  }
}

} // namespace
