//===- RangePage.cpp - Histograms of magnitudes as a page -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeRecorder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mpt;

static std::string escape(llvm::StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream os(escaped);
  llvm::printHTMLEscaped(text, os);
  return escaped;
}

namespace {
/// Powers of two from left to right.
struct Axis {
  int64_t low, high;
  static constexpr int width = 560;
  double at(double power) const {
    double clipped = std::min<double>(std::max<double>(power, low), high);
    return (clipped - low) / (high - low) * width;
  }
};
} // namespace

/// One strip per format: subnormal numbers pale, normal ones full.
static void renderFormats(const Axis &axis, llvm::raw_ostream &os) {
  os << "<svg width='" << Axis::width + 90 << "' height='"
     << 18 * getFloatFormats().size() + 18 << "'>\n";
  int y = 0;
  for (const FloatFormat &format : getFloatFormats()) {
    double zero = axis.at(std::log2(format.smallest)),
           normal = axis.at(std::log2(format.smallestNormal)),
           top = axis.at(std::log2(format.largest));
    os << "<rect class='sub' x='" << llvm::format("%.1f", zero) << "' y='" << y
       << "' width='" << llvm::format("%.1f", normal - zero)
       << "' height='13'/><rect class='normal' x='" << llvm::format("%.1f", normal)
       << "' y='" << y << "' width='" << llvm::format("%.1f", top - normal)
       << "' height='13'/><text x='" << Axis::width + 6 << "' y='" << y + 11 << "'>"
       << format.name << "</text>\n";
    y += 18;
  }
  for (int64_t power = axis.low; power <= axis.high; ++power)
    if (power % 8 == 0)
      os << "<text class='tick' x='" << llvm::format("%.1f", axis.at(power)) << "' y='"
         << y + 10 << "'>2^" << power << "</text>";
  os << "</svg>\n";
}

static void renderValue(const RangeProfile &profile, const RecordedRange &value,
                        const Axis &axis, llvm::raw_ostream &os) {
  os << "<div class='value'><h3>";
  if (!value.parameter.empty())
    os << "gradient of " << escape(value.parameter) << ": ";
  // "argument@w" says more than "argument".
  os << escape(value.phase == "input" ? value.id : value.op) << " <small>"
     << escape(value.location) << ", " << value.type << "</small></h3>\n";
  if (!profile.edges.empty()) {
    std::vector<double> bins = profile.getHistogram(value);
    double most = 1;
    for (double bin : bins)
      most = std::max(most, bin);
    os << "<svg width='" << Axis::width + 90 << "' height='64'>";
    for (const FloatFormat &format : getFloatFormats())
      for (double power : {std::log2(format.smallest), std::log2(format.smallestNormal),
                           std::log2(format.largest)})
        if (power > axis.low && power < axis.high)
          os << "<line class='bound' x1='" << llvm::format("%.1f", axis.at(power))
             << "' x2='" << llvm::format("%.1f", axis.at(power))
             << "' y1='0' y2='60'><title>" << format.name << "</title></line>";
    for (size_t i = 0; i < bins.size(); ++i) {
      if (bins[i] == 0)
        continue;
      double left = axis.at(i == 0 ? axis.low : profile.edges[i - 1]);
      double right = axis.at(i == profile.edges.size() ? axis.high : profile.edges[i]);
      double height = std::max(1.0, 60 * bins[i] / most);
      os << "<rect class='bar' x='" << llvm::format("%.1f", left) << "' y='"
         << llvm::format("%.1f", 60 - height) << "' width='"
         << llvm::format("%.1f", std::max(1.0, right - left - 1)) << "' height='"
         << llvm::format("%.1f", height) << "'><title>" << llvm::format("%.0f", bins[i])
         << "</title></rect>";
    }
    os << "</svg>\n";
  }
  os << "<p>largest " << llvm::format("%.4g", value.amax);
  if (std::isfinite(value.smallest))
    os << ", smallest " << llvm::format("%.4g", value.smallest);
  os << llvm::format(", %.0f of %.0f zero", value.counts[0] - value.counts[1],
                     value.elements);
  auto warn = [&](double count, llvm::StringRef what) {
    if (count > 0)
      os << ", <b>" << llvm::format("%.0f", count) << ' ' << what << "</b>";
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
  os << "</p></div>\n";
}

std::string mpt::renderRangePage(const RangeProfile &profile, llvm::StringRef title) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Axis axis{-48, 24};
  if (!profile.edges.empty())
    axis = {profile.edges.front() - 8, profile.edges.back() + 8};
  os << "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>"
     << escape(title) << R"html(</title><style>
body { font: 14px sans-serif; margin: 2em; max-width: 60em; }
h3 { margin: 1.2em 0 0.3em; font-size: 14px; } small { font-weight: normal; color: #666; }
p { margin: 0.2em 0; } b { color: #b00020; }
.formats { position: sticky; top: 0; background: white; padding: 4px 0; }
.normal { fill: #4a90d9; } .sub { fill: #b8d4f0; } .bar { fill: #555; }
.bound { stroke: #4a90d9; stroke-dasharray: 2 2; }
text { font: 12px sans-serif; } .tick { font-size: 10px; text-anchor: middle; fill: #666; }
</style></head><body>
)html"
     << "<h1>" << escape(title) << "</h1>\n<p>" << profile.steps << " steps";
  if (profile.skipped)
    os << ", and " << profile.skipped << " skipped ones that are not counted";
  os << ". Bars: elements by magnitude (finite, not zero); the outer ones hold all that "
        "lies beyond. Strips: what each format holds, pale where subnormal.</p>\n"
     << "<div class='formats'>\n";
  renderFormats(axis, os);
  os << "</div>\n";
  auto section = [&](llvm::StringRef heading, auto belongs) {
    bool any = false;
    for (const RecordedRange &value : profile.values) {
      if (!belongs(value))
        continue;
      if (!any)
        os << "<h2>" << heading << "</h2>\n";
      any = true;
      renderValue(profile, value, axis, os);
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
  os << "</body></html>\n";
  return text;
}
