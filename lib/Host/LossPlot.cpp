//===- LossPlot.cpp - Loss curves as SVG ------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/LossPlot.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>

using namespace mpt;

static constexpr double kWidth = 860, kHeight = 500;
static constexpr double kLeft = 84, kRight = 24, kTop = 48, kBottom = 56;
static constexpr double kPlotWidth = kWidth - kLeft - kRight;
static constexpr double kPlotHeight = kHeight - kTop - kBottom;

/// Okabe and Ito's palette, told apart with any colour vision.
static const char *const kColors[] = {"#0072B2", "#D55E00", "#009E73",
                                      "#CC79A7", "#E69F00", "#56B4E9"};
/// Curves that coincide stay visible: later ones are dashed over earlier ones.
static const char *const kDashes[] = {"none", "9 5", "3 4", "12 4 3 4", "6 3", "2 2"};

static std::string escape(llvm::StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      result += c;
  }
  return result;
}

static std::string formatNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", value);
  return text;
}

namespace {
/// Maps values to [0, 1] along an axis and places its ticks.
struct Axis {
  double low = 0, high = 1;
  bool isLog = false;

  double toUnit(double value) const {
    if (isLog)
      return (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
    return (value - low) / (high - low);
  }

  struct Tick {
    double value;
    bool isMajor;
  };
  std::vector<Tick> getTicks(double count) const {
    std::vector<Tick> ticks;
    if (isLog) {
      int first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
      // With few decades the digits between them get labels too.
      bool dense = last - first <= 2;
      int stride = std::max(1, (last - first) / 8);
      for (int decade = first; decade <= last; ++decade)
        for (int digit = 1; digit < 10; ++digit) {
          double value = digit * std::pow(10.0, decade);
          if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9))
            continue;
          bool isMajor = digit == 1 ? (decade - first) % stride == 0
                                    : dense && (digit == 2 || digit == 5);
          ticks.push_back({value, isMajor});
        }
      return ticks;
    }
    double raw = (high - low) / count;
    double power = std::pow(10.0, std::floor(std::log10(raw)));
    double step = power * 10;
    for (double factor : {1.0, 2.0, 5.0})
      if (factor * power >= raw * (1 - 1e-9)) {
        step = factor * power;
        break;
      }
    for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
      ticks.push_back({k == 0 ? 0 : k * step, true});
    return ticks;
  }
};
} // namespace

static Axis makeLossAxis(llvm::ArrayRef<LossCurve> curves) {
  double low = INFINITY, high = -INFINITY;
  for (const LossCurve &curve : curves)
    for (auto [step, loss] : curve.points)
      if (std::isfinite(loss)) {
        low = std::min(low, loss);
        high = std::max(high, loss);
      }
  if (!(low <= high))
    return {0, 1, false};
  if (low > 0 && high > 10 * low)
    return {low / 1.15, high * 1.15, true};
  double margin =
      high > low ? 0.05 * (high - low) : std::max(std::fabs(low) * 0.05, 1e-3);
  return {low - margin, high + margin, false};
}

static Axis makeStepAxis(llvm::ArrayRef<LossCurve> curves) {
  double low = INFINITY, high = -INFINITY;
  for (const LossCurve &curve : curves)
    for (auto [step, loss] : curve.points) {
      low = std::min(low, step);
      high = std::max(high, step);
    }
  if (!(low <= high))
    return {0, 1, false};
  return {std::min(0.0, low), high > 0 ? high : 1, false};
}

static double toX(const Axis &axis, double step) {
  return kLeft + axis.toUnit(step) * kPlotWidth;
}
static double toY(const Axis &axis, double loss) {
  return kTop + (1 - axis.toUnit(loss)) * kPlotHeight;
}

/// The curve as path data. Of the points that share a pixel column, the first,
/// the extremes and the last are kept, in their order.
static std::string makePath(const LossCurve &curve, const Axis &steps,
                            const Axis &losses) {
  std::string path;
  llvm::raw_string_ostream os(path);
  bool penDown = false;
  size_t i = 0, n = curve.points.size();
  while (i < n) {
    if (!std::isfinite(curve.points[i].second)) {
      penDown = false;
      ++i;
      continue;
    }
    int column = toX(steps, curve.points[i].first);
    size_t end = i, least = i, most = i;
    for (; end < n && std::isfinite(curve.points[end].second) &&
           int(toX(steps, curve.points[end].first)) == column;
         ++end) {
      if (curve.points[end].second < curve.points[least].second)
        least = end;
      if (curve.points[end].second > curve.points[most].second)
        most = end;
    }
    size_t kept[] = {i, std::min(least, most), std::max(least, most), end - 1};
    for (size_t k = 0; k < 4; ++k) {
      if (k > 0 && kept[k] == kept[k - 1])
        continue;
      auto [step, loss] = curve.points[kept[k]];
      os << (penDown ? 'L' : 'M')
         << llvm::format("%.1f %.1f ", toX(steps, step), toY(losses, loss));
      penDown = true;
    }
    i = end;
  }
  return path;
}

static void drawAxes(llvm::raw_ostream &os, const Axis &steps, const Axis &losses) {
  os << "<g font-size=\"13\" fill=\"#333\">\n";
  for (Axis::Tick tick : losses.getTicks(6)) {
    double y = toY(losses, tick.value);
    os << llvm::format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                       "stroke=\"%s\"/>\n",
                       kLeft, y, kWidth - kRight, y,
                       tick.isMajor ? "#d5d5d5" : "#f0f0f0");
    if (tick.isMajor)
      os << llvm::format("<text x=\"%.1f\" y=\"%.1f\" "
                         "text-anchor=\"end\">%s</text>\n",
                         kLeft - 8, y + 4.5, formatNumber(tick.value).c_str());
  }
  for (Axis::Tick tick : steps.getTicks(8)) {
    double x = toX(steps, tick.value);
    os << llvm::format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                       "stroke=\"#333\"/>\n",
                       x, kHeight - kBottom, x, kHeight - kBottom + 5);
    os << llvm::format("<text x=\"%.1f\" y=\"%.1f\" "
                       "text-anchor=\"middle\">%s</text>\n",
                       x, kHeight - kBottom + 20, formatNumber(tick.value).c_str());
  }
  os << llvm::format("<path d=\"M%.1f %.1f V%.1f H%.1f\" fill=\"none\" "
                     "stroke=\"#333\"/>\n",
                     kLeft, kTop, kHeight - kBottom, kWidth - kRight);
  os << llvm::format("<text x=\"%.1f\" y=\"%.1f\" "
                     "text-anchor=\"middle\">step</text>\n",
                     kLeft + kPlotWidth / 2, kHeight - 12);
  os << llvm::format("<text transform=\"translate(20 %.1f) rotate(-90)\" "
                     "text-anchor=\"middle\">loss%s</text>\n",
                     kTop + kPlotHeight / 2, losses.isLog ? " (log scale)" : "");
  os << "</g>\n";
}

static void drawLegend(llvm::raw_ostream &os, llvm::ArrayRef<LossCurve> curves) {
  std::vector<std::string> labels;
  size_t longest = 0;
  for (const LossCurve &curve : curves) {
    std::string label = curve.label;
    if (!curve.points.empty())
      label += ": " + formatNumber(curve.points.back().second);
    longest = std::max(longest, label.size());
    labels.push_back(std::move(label));
  }
  double width = 62 + 7.6 * longest, height = 12 + 20.0 * curves.size();
  double x = kWidth - kRight - width - 10, y = kTop + 10;
  os << llvm::format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                     "height=\"%.1f\" rx=\"4\" fill=\"#fff\" "
                     "fill-opacity=\"0.9\" stroke=\"#ccc\"/>\n",
                     x, y, width, height);
  for (size_t i = 0; i < labels.size(); ++i) {
    double middle = y + 16 + 20.0 * i;
    os << llvm::format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                       "stroke=\"%s\" stroke-width=\"2.2\" "
                       "stroke-dasharray=\"%s\"/>\n",
                       x + 10, middle, x + 44, middle, kColors[i % std::size(kColors)],
                       kDashes[i % std::size(kDashes)]);
    os << llvm::format("<text x=\"%.1f\" y=\"%.1f\" font-size=\"13\" "
                       "fill=\"#333\">",
                       x + 52, middle + 4.5)
       << escape(labels[i]) << "</text>\n";
  }
}

std::string mpt::renderLossPlot(llvm::ArrayRef<LossCurve> curves, llvm::StringRef title) {
  Axis steps = makeStepAxis(curves), losses = makeLossAxis(curves);
  std::string svg;
  llvm::raw_string_ostream os(svg);
  os << llvm::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                     "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
                     "font-family=\"sans-serif\">\n",
                     kWidth, kHeight, kWidth, kHeight);
  os << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  os << llvm::format("<text x=\"%.1f\" y=\"28\" font-size=\"17\" "
                     "text-anchor=\"middle\" fill=\"#111\">",
                     kLeft + kPlotWidth / 2)
     << escape(title) << "</text>\n";
  drawAxes(os, steps, losses);
  for (size_t i = 0; i < curves.size(); ++i)
    os << "<path d=\"" << makePath(curves[i], steps, losses)
       << "\" fill=\"none\" stroke=\"" << kColors[i % std::size(kColors)]
       << "\" stroke-width=\"1.8\" stroke-linejoin=\"round\" "
          "stroke-dasharray=\""
       << kDashes[i % std::size(kDashes)] << "\"/>\n";
  drawLegend(os, curves);
  os << "</svg>\n";
  return svg;
}
