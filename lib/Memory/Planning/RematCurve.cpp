//===- RematCurve.cpp - Overhead against memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/RematCurve.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mpt;
using llvm::ArrayRef;

namespace {

constexpr int width = 720, height = 360, left = 60, bottom = 40, top = 10, right = 20;

std::string number(double value, const char *format) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format(format, value);
  return text;
}

/// Places of a share of the bytes and a multiple of the time in the picture.
struct Frame {
  double mostTime = 1.1;

  double x(double ratio) const {
    return left + std::min(ratio, 1.0) * (width - left - right);
  }
  double y(double time) const {
    return height - bottom - (time - 1) / (mostTime - 1) * (height - bottom - top);
  }
};

std::string px(double value) { return number(value, "%.1f"); }

void printAxes(const Frame &frame, llvm::raw_ostream &os) {
  for (int i = 0; i <= 10; ++i)
    os << "<line class='grid' x1='" << px(frame.x(i / 10.0)) << "' x2='"
       << px(frame.x(i / 10.0)) << "' y1='" << top << "' y2='" << height - bottom
       << "'/><text class='m' x='" << px(frame.x(i / 10.0)) << "' y='"
       << height - bottom + 16 << "'>" << number(i / 10.0, "%.1f") << "</text>\n";
  for (int i = 0; i <= 5; ++i) {
    double time = 1 + (frame.mostTime - 1) * i / 5;
    os << "<line class='grid' x1='" << left << "' x2='" << width - right << "' y1='"
       << px(frame.y(time)) << "' y2='" << px(frame.y(time)) << "'/><text class='e' x='"
       << left - 6 << "' y='" << px(frame.y(time) + 4) << "'>" << number(time, "%.3f")
       << "</text>\n";
  }
  os << "<text class='m' x='" << (left + width - right) / 2 << "' y='" << height - 6
     << "'>bytes, as a part of those without rematerialization</text>\n";
}

void printPicture(const RematCurve &curve, llvm::raw_ostream &os) {
  Frame frame;
  const double cost = std::max<int64_t>(curve.plainCost, 1);
  for (const RematCurve::Point &point : curve.points)
    if (point.plan)
      frame.mostTime = std::max(frame.mostTime, point.plan->cost / cost * 1.02);
  os << "<svg width='" << width << "' height='" << height << "'>\n";
  printAxes(frame, os);
  std::string plans, bounds;
  for (const RematCurve::Point &point : curve.points) {
    if (point.bound && point.plan)
      bounds += (bounds.empty() ? "M" : "L") + px(frame.x(point.ratio)) + " " +
                px(frame.y(*point.bound / cost));
    if (point.plan)
      plans += (plans.empty() ? "M" : "L") + px(frame.x(point.ratio)) + " " +
               px(frame.y(point.plan->cost / cost));
  }
  os << "<path class='bound' d='" << bounds << "'/>\n<path class='plan' d='" << plans
     << "'/>\n";
  for (const RematCurve::Point &point : curve.points)
    if (point.plan)
      os << "<circle cx='" << px(frame.x(point.ratio)) << "' cy='"
         << px(frame.y(point.plan->cost / cost)) << "' r='3.5'><title>budget "
         << point.budget << ": " << point.plan->bytes << " bytes, time "
         << number(point.plan->cost / cost, "%.4f") << "</title></circle>\n";
  os << "</svg>\n<p><b class='plan'>predicted time</b> <b class='bound'>no plan takes "
        "less</b> (both as multiples of the time without rematerialization)</p>\n";
}

/// "met", "infeasible" (proved) or "not-found".
const char *getStatus(const RematCurve::Point &point) {
  return point.plan ? "met" : point.bound ? "not-found" : "infeasible";
}

/// What stands in the cells behind the budget.
std::vector<std::string> getCells(const RematCurve &curve,
                                  const RematCurve::Point &point) {
  const double cost = std::max<int64_t>(curve.plainCost, 1);
  std::vector<std::string> cells = {getStatus(point), "", "", "", ""};
  if (point.plan) {
    cells[1] = std::to_string(point.plan->bytes);
    cells[2] = number(point.plan->cost / cost, "%.6f");
  }
  if (point.bound)
    cells[3] = number(*point.bound / cost, "%.6f");
  if (point.plan && point.bound)
    cells[4] =
        number(100 * (double(point.plan->cost) / std::max<int64_t>(*point.bound, 1) - 1),
               "%.3f");
  return cells;
}

} // namespace

std::vector<double> RematCurve::getRatios() {
  std::vector<double> ratios;
  for (int i = 20; i > 0; --i)
    ratios.push_back(i / 20.0);
  return ratios;
}

void RematCurve::choose() {
  for (Point &point : points)
    for (const Plan &plan : plans)
      if (plan.bytes <= point.budget &&
          (!point.plan || plan.cost < point.plan->cost ||
           (plan.cost == point.plan->cost && plan.bytes < point.plan->bytes)))
        point.plan = plan;
  // A bound is for its budget and every smaller one; and no plan is below it.
  for (size_t i = 1; i < points.size(); ++i)
    if (points[i].bound && points[i - 1].bound)
      points[i].bound = std::max(*points[i].bound, *points[i - 1].bound);
}

void mpt::printRematCSV(ArrayRef<RematCurve> curves, llvm::raw_ostream &os) {
  os << "function,measure,budget_ratio,budget_bytes,status,bytes,overhead,lower_bound,"
        "gap_percent\n";
  for (const RematCurve &curve : curves)
    for (const RematCurve::Point &point : curve.points)
      os << curve.function << ',' << curve.measure << ',' << number(point.ratio, "%.2f")
         << ',' << point.budget << ',' << llvm::join(getCells(curve, point), ",") << '\n';
}

void mpt::printRematPage(ArrayRef<RematCurve> curves, llvm::raw_ostream &os) {
  os << "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Memory and "
        "time</title><style>\nbody{font:14px sans-serif;margin:2em;color:#222}"
        "table{border-collapse:collapse;margin:1em 0}"
        "td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd;"
        "font-variant-numeric:tabular-nums}"
        "svg{border:1px solid #ccc;background:#fafafa}text{font:12px "
        "sans-serif;fill:#555}"
        "text.m{text-anchor:middle}text.e{text-anchor:end}line.grid{stroke:#e4e4e4}"
        "path{fill:none;stroke-width:1.5}path.plan{stroke:#1f6fb4}"
        "path.bound{stroke:#c0392b;stroke-dasharray:6 3}circle{fill:#1f6fb4}"
        "b.plan{color:#1f6fb4}b.bound{color:#c0392b}\n</style></head><body>\n";
  for (const RematCurve &curve : curves) {
    os << "<h2>@";
    llvm::printHTMLEscaped(curve.function, os);
    os << "</h2>\n<p>" << curve.plainBytes << " bytes (" << curve.measure
       << ") without rematerialization</p>\n";
    printPicture(curve, os);
    os << "<table><tr><th>budget</th><th>bytes</th><th></th><th>reached</th><th>time</th>"
          "<th>at least</th><th>gap %</th></tr>\n";
    for (const RematCurve::Point &point : curve.points) {
      os << "<tr><td>" << number(point.ratio, "%.2f") << "</td><td>" << point.budget
         << "</td>";
      for (const std::string &cell : getCells(curve, point))
        os << "<td>" << cell << "</td>";
      os << "</tr>\n";
    }
    os << "</table>\n";
  }
  os << "</body></html>\n";
}
