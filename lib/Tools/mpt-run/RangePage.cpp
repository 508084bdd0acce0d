//===- RangePage.cpp - Histograms of magnitudes as a page -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeRecorder.h"
#include "mpt/Support/HtmlPage.h"

#include "llvm/Support/Format.h"
#include <cmath>

using namespace mpt;

/// Powers of two, from left to right.
static ChartAxis makeAxis(const RangeProfile &profile) {
  ChartAxis axis;
  axis.low = profile.edges.empty() ? -48 : profile.edges.front() - 8;
  axis.high = profile.edges.empty() ? 24 : profile.edges.back() + 8;
  axis.label = "magnitude";
  axis.isExponent = true;
  axis.format = [](double power) { return formatDouble(power, "2^%.0f"); };
  return axis;
}

/// Where the elements of `value` lie, over what each format of the profile holds.
static void printHistogram(const RangeProfile &profile, const RecordedRange &value,
                           llvm::raw_ostream &os) {
  const ChartAxis x = makeAxis(profile);
  const std::vector<double> bins = profile.getHistogram(value);
  ChartAxis y;
  for (double bin : bins)
    y.high = std::max(y.high, bin);
  y.label = "elements";
  Chart chart(x, y, 460, 190);
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0)
      continue;
    // Few elements are seen, too.
    chart.addBox("c2", i == 0 ? x.low : profile.edges[i - 1],
                 i == profile.edges.size() ? x.high : profile.edges[i], 0,
                 std::max(bins[i], y.high / 100), formatDouble(bins[i], "%.0f"));
  }
  for (const FloatFormat &format : getFloatFormats())
    // Others hold all that the axis shows.
    if (std::log2(format.smallest) > x.low || std::log2(format.largest) < x.high)
      chart.addBand(format.name, std::log2(format.smallest),
                    std::log2(format.smallestNormal), std::log2(format.largest));
  chart.print(os);
}

static void printFigures(const RangeProfile &profile, const RecordedRange &value,
                         llvm::raw_ostream &os) {
  os << "<p>largest " << llvm::format("%.4g", value.amax);
  if (std::isfinite(value.smallest))
    os << ", smallest " << llvm::format("%.4g", value.smallest);
  os << llvm::format(", %.0f of %.0f zero", value.counts[0] - value.counts[1],
                     value.elements);
  auto warn = [&](double count, llvm::StringRef what) {
    if (count > 0)
      os << ", <b class='bad'>" << llvm::format("%.0f", count) << ' ' << what << "</b>";
  };
  warn(profile.getNaN(value), "NaN");
  warn(profile.getInf(value), "infinite");
  const double nonZero = std::max(1.0, profile.getNonZero(value));
  for (const std::string &format : profile.formats) {
    os << "; " << format << ": "
       << llvm::format("%.2f %% underflow, %.2f %% subnormal",
                       100 * profile.getUnderflow(value, format) / nonZero,
                       100 * profile.getSubnormal(value, format) / nonZero);
    warn(profile.getOverflow(value, format), "overflow");
  }
  os << "</p>\n";
}

std::string mpt::renderRangePage(const RangeProfile &profile, llvm::StringRef title) {
  std::string text;
  {
    llvm::raw_string_ostream os(text);
    HtmlPage page(title, os);
    os << "<p>" << profile.steps << " steps";
    if (profile.skipped)
      os << ", and " << profile.skipped << " skipped ones that are not counted";
    os << ". Bars: elements by magnitude (finite, not zero); the outer ones hold all "
          "that "
          "lies beyond. Bars below the axis: what each format holds, pale where "
          "subnormal.</p>\n";
    auto section = [&](llvm::StringRef heading, auto belongs) {
      bool any = false;
      for (const RecordedRange &value : profile.values) {
        if (!belongs(value))
          continue;
        if (!any)
          page.addSection(heading, "");
        any = true;
        // "argument@w" says more than "argument".
        std::string name = value.phase == "input" ? value.id : value.op;
        if (!value.parameter.empty())
          name = "gradient of " + value.parameter + ": " + name;
        page.beginCard(name, value.location + ", " + value.type);
        if (!profile.edges.empty())
          printHistogram(profile, value, os);
        printFigures(profile, value, os);
        page.endCard();
      }
    };
    section("Gradients of parameters",
            [](const RecordedRange &value) { return !value.parameter.empty(); });
    section("Backward", [](const RecordedRange &value) {
      return value.parameter.empty() && value.phase == "backward";
    });
    section("Forward", [](const RecordedRange &value) {
      return value.parameter.empty() && value.phase == "forward";
    });
    section("Inputs and parameters",
            [](const RecordedRange &value) { return value.phase == "input"; });
  }
  return text;
}
