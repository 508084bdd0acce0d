//===- RematCurve.cpp - Overhead against memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/RematCurve.h"
#include "mpt/Support/HtmlPage.h"

#include "llvm/ADT/StringExtras.h"

using namespace mpt;
using llvm::ArrayRef;

namespace {

void printPicture(const RematCurve &curve, llvm::raw_ostream &os) {
  ChartAxis x, y;
  x.label = "bytes, as a fraction of those without rematerialization";
  y.label = "time, as a multiple";
  y.low = 1;
  y.high = 1.1;
  y.format = [](double value) { return formatDouble(value, "%.3f"); };
  const double cost = std::max<int64_t>(curve.plainCost, 1);
  Chart::Points plans, bounds;
  for (const RematCurve::Point &point : curve.points) {
    if (!point.plan)
      continue;
    y.high = std::max(y.high, point.plan->cost / cost * 1.02);
    plans.emplace_back(point.ratio, point.plan->cost / cost);
    if (point.bound)
      bounds.emplace_back(point.ratio, *point.bound / cost);
  }
  // Points go from large budgets to small ones.
  std::reverse(plans.begin(), plans.end());
  std::reverse(bounds.begin(), bounds.end());
  Chart chart(x, y);
  chart.addKey("c0", "predicted time");
  chart.addKey("c1 dashed", "no plan takes less");
  chart.addLine("c1 dashed", bounds);
  chart.addLine("c0", plans);
  for (const RematCurve::Point &point : curve.points)
    if (point.plan)
      chart.addDot("c0", point.ratio, point.plan->cost / cost,
                   "budget " + std::to_string(point.budget) + ": " +
                       std::to_string(point.plan->bytes) + " bytes, time " +
                       formatDouble(point.plan->cost / cost, "%.4f"));
  chart.print(os);
}

/// "met", "infeasible" (proved) or "not-found".
const char *getStatus(const RematCurve::Point &point) {
  return point.plan ? "met" : point.bound ? "not-found" : "infeasible";
}

/// The cells after the budget.
std::vector<std::string> getCells(const RematCurve &curve,
                                  const RematCurve::Point &point) {
  const double cost = std::max<int64_t>(curve.plainCost, 1);
  std::vector<std::string> cells = {getStatus(point), "", "", "", ""};
  if (point.plan) {
    cells[1] = std::to_string(point.plan->bytes);
    cells[2] = formatDouble(point.plan->cost / cost, "%.6f");
  }
  if (point.bound)
    cells[3] = formatDouble(*point.bound / cost, "%.6f");
  if (point.plan && point.bound)
    cells[4] = formatDouble(
        100 * (double(point.plan->cost) / std::max<int64_t>(*point.bound, 1) - 1),
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
      os << curve.function << ',' << curve.measure << ','
         << formatDouble(point.ratio, "%.2f") << ',' << point.budget << ','
         << llvm::join(getCells(curve, point), ",") << '\n';
}

void mpt::printRematPage(ArrayRef<RematCurve> curves, llvm::raw_ostream &os) {
  HtmlPage page("Memory and time", os);
  for (const RematCurve &curve : curves) {
    page.addSection("@" + curve.function, std::to_string(curve.plainBytes) + " bytes (" +
                                              curve.measure +
                                              ") without rematerialization");
    page.beginCard("Time against memory", "");
    printPicture(curve, os);
    page.endCard();
    page.beginCard("Budgets", "time and bound as multiples", /*isWide=*/true);
    std::vector<std::vector<std::string>> rows;
    for (const RematCurve::Point &point : curve.points) {
      rows.push_back({formatDouble(point.ratio, "%.2f"), std::to_string(point.budget)});
      for (std::string &cell : getCells(curve, point))
        rows.back().push_back(std::move(cell));
    }
    page.addTable({"budget", "bytes", "", "reached", "time", "at least", "gap %"}, rows,
                  {0, 1, 3, 4, 5, 6});
    page.endCard();
  }
}
