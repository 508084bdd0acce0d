//===- MemoryPage.cpp - Reports of memory as a page -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/MemoryReport.h"
#include "mpt/Support/HtmlPage.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mpt;
using llvm::ArrayRef;
using llvm::StringRef;

/// Rectangles of a map: more could not be told apart.
static constexpr size_t maxRectangles = 4000;

static void printTotals(const MemoryReport &report, const MemoryReport *old,
                        HtmlPage &page) {
  std::vector<std::vector<std::string>> rows;
  auto row = [&](const char *what, int64_t MemoryReport::*member) {
    std::vector<std::string> cells = {what, std::to_string(report.*member),
                                      formatBytes(report.*member)};
    if (old)
      cells.insert(cells.begin() + 1, std::to_string(old->*member));
    rows.push_back(std::move(cells));
  };
  row("state", &MemoryReport::state);
  row("arguments", &MemoryReport::arguments);
  row("constants", &MemoryReport::constants);
  row("results", &MemoryReport::results);
  row("temporaries, most alive (no arena is smaller)", &MemoryReport::peak);
  row("arena, planned", &MemoryReport::arena);
  if (old)
    page.addTable({"", "before", "bytes", ""}, rows, {1, 2, 3});
  else
    page.addTable({"", "bytes", ""}, rows, {1, 2});
  if (report.trials.size() <= 1)
    return;
  rows.clear();
  for (const MemoryReport::Trial &trial : report.trials)
    rows.push_back({trial.order + (trial.order == report.order ? " (chosen)" : ""),
                    std::to_string(trial.peak), std::to_string(trial.arena)});
  page.addTable({"order", "most alive", "arena"}, rows, {1, 2});
}

static ChartAxis getOpAxis(const MemoryReport &report) {
  ChartAxis axis;
  axis.high = report.ops.size() + 1;
  axis.label =
      report.grain == "kernels" ? "kernels and calls, in order" : "ops, in order";
  axis.isInteger = true;
  return axis;
}

/// Bytes over the ops as steps, from the left edge of `axis` to its right edge.
static Chart::Points makeCurve(const MemoryReport &report, const ChartAxis &axis) {
  Chart::Points points;
  const size_t positions = report.ops.size() + 1;
  for (size_t at = 0; at < positions; ++at)
    for (size_t end : {at, at + 1})
      points.emplace_back(axis.high * end / positions, report.getBytesAt(at));
  return points;
}

static std::string describePeak(const MemoryReport &report) {
  std::string text = "peak at op " + std::to_string(report.peakPosition);
  if (report.peakPosition < report.ops.size()) {
    const MemoryReport::Op &op = report.ops[report.peakPosition];
    text += ", " + op.name + " at " + op.location;
  }
  return text;
}

static void printCurves(const MemoryReport &report, const MemoryReport *old,
                        llvm::raw_ostream &os) {
  const ChartAxis x = getOpAxis(report);
  ChartAxis y;
  y.high = std::max<int64_t>(
      {report.arena, report.peak, old ? std::max(old->arena, old->peak) : 0, 1});
  y.label = "bytes of temporaries";
  y.format = formatBytes;
  Chart chart(x, y);
  auto level = [&](StringRef style, const char *what, int64_t bytes) {
    chart.addHorizontal(style, bytes,
                        (what + llvm::Twine(": ") + llvm::Twine(bytes) + " bytes").str());
    chart.addKey(style, what);
  };
  if (old) {
    chart.addLine("muted", makeCurve(*old, x));
    chart.addKey("muted", "before");
    level("muted dashed", "arena before", old->arena);
  }
  chart.addLine("c0", makeCurve(report, x));
  chart.addKey("c0", "now");
  level("c1 dashed", "arena", report.arena);
  chart.addVertical("c4", report.peakPosition + 0.5,
                    "peak: " + std::to_string(report.peak) + " bytes");
  chart.addKey("c4", "peak");
  chart.print(os);
}

static void printMap(const MemoryReport &report, llvm::raw_ostream &os) {
  std::vector<unsigned> order(report.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  auto area = [&](unsigned i) {
    const MemoryReport::Buffer &buffer = report.buffers[i];
    return double(buffer.bytes) * (buffer.last - buffer.first + 1);
  };
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(-area(a), a) < std::pair(-area(b), b);
  });
  if (order.size() > maxRectangles)
    order.resize(maxRectangles);
  ChartAxis y;
  y.high = report.arena;
  y.label = "offset in the arena";
  y.format = formatBytes;
  Chart chart(getOpAxis(report), y);
  for (unsigned i : order) {
    const MemoryReport::Buffer &buffer = report.buffers[i];
    chart.addBox("edged c" + std::to_string(i % 6), buffer.first, buffer.last + 1,
                 buffer.offset, buffer.offset + buffer.bytes,
                 (buffer.what + llvm::Twine(" ") + buffer.type + "\n" + buffer.location +
                  "\n" + llvm::Twine(buffer.bytes) + " bytes at " +
                  llvm::Twine(buffer.offset) + ", ops " + llvm::Twine(buffer.first) +
                  " to " + llvm::Twine(buffer.last))
                     .str());
  }
  chart.print(os);
}

static void printLive(const MemoryReport &report, HtmlPage &page) {
  std::vector<std::vector<std::string>> rows;
  for (unsigned id : report.getLive(report.peakPosition)) {
    const MemoryReport::Buffer &buffer = report.buffers[id];
    rows.push_back(
        {std::to_string(buffer.bytes),
         formatDouble(100.0 * buffer.bytes / std::max<int64_t>(report.peak, 1),
                      "%.1f %%"),
         buffer.what + (buffer.inPlace ? " (in place)" : ""), buffer.type,
         buffer.location,
         std::to_string(buffer.first) + "\u2013" + std::to_string(buffer.last)});
  }
  page.addTable({"bytes", "share", "made by", "type", "place", "ops"}, rows, {0, 1, 5});
}

void mpt::printMemoryPage(ArrayRef<MemoryReport> reports, ArrayRef<MemoryReport> before,
                          llvm::raw_ostream &os) {
  HtmlPage page("Memory", os);
  for (const MemoryReport &report : reports) {
    const MemoryReport *old = findReport(before, report.function);
    page.addSection("Memory of @" + report.function,
                    std::to_string(report.ops.size()) +
                        (report.grain == "kernels" ? " kernels and calls" : " ops") +
                        ", order " + report.order + ", sizes rounded up to " +
                        std::to_string(report.alignment) + " bytes");
    page.beginCard("Totals", "");
    printTotals(report, old, page);
    page.endCard();
    page.beginCard("Temporaries over the ops", describePeak(report));
    printCurves(report, old, os);
    page.endCard();
    if (report.arena != 0) {
      page.beginCard("The arena",
                     "each rectangle is a buffer; point at one to see which");
      printMap(report, os);
      page.endCard();
    }
    if (!report.getLive(report.peakPosition).empty()) {
      page.beginCard("Alive at the peak", "", /*isWide=*/true);
      printLive(report, page);
      page.endCard();
    }
  }
}
