//===- MemoryPage.cpp - Reports of memory as a page -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/MemoryReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mpt;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

constexpr int width = 960, curveHeight = 200, mapHeight = 320;
/// Points of a curve, and rectangles of a map: more could not be told apart.
constexpr size_t maxPoints = 1920, maxRectangles = 4000;

std::string escape(StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream os(escaped);
  llvm::printHTMLEscaped(text, os);
  // A quotation mark would end an attribute.
  for (size_t at = 0; (at = escaped.find('\'', at)) != std::string::npos;)
    escaped.replace(at, 1, "&#39;");
  return escaped;
}

/// "12.3 MB".
std::string bytes(int64_t count) {
  const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = count;
  unsigned unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit)
    value /= 1000;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(unit == 0 ? "%.0f " : "%.2f ", value) << units[unit];
  return text;
}

/// A coordinate.
std::string px(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1f", value);
  return text;
}

/// Bytes over the ops as steps, from the left edge to the right.
std::string makeCurve(const MemoryReport &report, int64_t top) {
  const size_t positions = report.ops.size() + 1;
  const size_t points = std::min(positions, maxPoints);
  std::string path;
  for (size_t point = 0; point < points; ++point) {
    const size_t begin = point * positions / points,
                 end = (point + 1) * positions / points;
    int64_t most = 0;
    for (size_t at = begin; at < end; ++at)
      most = std::max(most, report.getBytesAt(at));
    const std::string y = px(curveHeight - double(most) / top * curveHeight);
    path += (point == 0 ? "M" : "L") + px(double(begin) / positions * width) + " " + y +
            "L" + px(double(end) / positions * width) + " " + y;
  }
  return path;
}

void printTotals(const MemoryReport &report, const MemoryReport *old,
                 llvm::raw_ostream &os) {
  os << "<table><tr><th></th>" << (old ? "<th>before</th>" : "")
     << "<th>bytes</th><th></th></tr>\n";
  auto row = [&](StringRef what, int64_t now, std::optional<int64_t> then) {
    os << "<tr><td>" << what << "</td>";
    if (old)
      os << "<td class='n'>" << (then ? std::to_string(*then) : "") << "</td>";
    os << "<td class='n'>" << now << "</td><td class='n'>" << bytes(now)
       << "</td></tr>\n";
  };
  auto field = [&](int64_t MemoryReport::*member) {
    return old ? std::optional<int64_t>(old->*member) : std::nullopt;
  };
  row("state", report.state, field(&MemoryReport::state));
  row("arguments", report.arguments, field(&MemoryReport::arguments));
  row("constants", report.constants, field(&MemoryReport::constants));
  row("results", report.results, field(&MemoryReport::results));
  row("temporaries, most alive (no arena is smaller)", report.peak,
      field(&MemoryReport::peak));
  row("arena, planned", report.arena, field(&MemoryReport::arena));
  os << "</table>\n";
  if (report.trials.size() > 1) {
    os << "<table><tr><th>order</th><th>most alive</th><th>arena</th></tr>\n";
    for (const MemoryReport::Trial &trial : report.trials)
      os << "<tr><td>" << escape(trial.order)
         << (trial.order == report.order ? " (chosen)" : "") << "</td><td class='n'>"
         << trial.peak << "</td><td class='n'>" << trial.arena << "</td></tr>\n";
    os << "</table>\n";
  }
}

void printCurves(const MemoryReport &report, const MemoryReport *old,
                 llvm::raw_ostream &os) {
  const int64_t top = std::max<int64_t>(
      {report.arena, report.peak, old ? std::max(old->arena, old->peak) : 0, 1});
  auto level = [&](int64_t count, const char *name, StringRef text) {
    const std::string y = px(curveHeight - double(count) / top * curveHeight);
    os << "<line class='" << name << "' x1='0' x2='" << width << "' y1='" << y << "' y2='"
       << y << "'><title>" << text << ": " << count << " bytes</title></line>\n";
  };
  os << "<h3>Temporaries over the ops</h3>\n<svg width='" << width << "' height='"
     << curveHeight + 4 << "' viewBox='0 -2 " << width << " " << curveHeight + 4
     << "'>\n";
  if (old) {
    os << "<path class='old' d='" << makeCurve(*old, top) << "'/>\n";
    level(old->arena, "oldarena", "arena before");
  }
  os << "<path class='now' d='" << makeCurve(report, top) << "'/>\n";
  level(report.arena, "arena", "arena");
  const double x = (report.peakPosition + 0.5) / (report.ops.size() + 1) * width;
  os << "<line class='peak' x1='" << px(x) << "' x2='" << px(x) << "' y1='0' y2='"
     << curveHeight << "'><title>peak: " << report.peak
     << " bytes</title></line>\n</svg>\n"
     << "<p class='key'><b class='now'>now</b>"
     << (old ? " <b class='old'>before</b>" : "")
     << " <b class='arena'>arena</b> <b class='peak'>peak</b>: op "
     << report.peakPosition;
  if (report.peakPosition < report.ops.size())
    os << ", " << escape(report.ops[report.peakPosition].name) << " at "
       << escape(report.ops[report.peakPosition].location);
  os << "</p>\n";
}

void printMap(const MemoryReport &report, llvm::raw_ostream &os) {
  if (report.arena == 0)
    return;
  std::vector<unsigned> order;
  for (unsigned i = 0; i < report.buffers.size(); ++i)
    order.push_back(i);
  auto area = [&](unsigned i) {
    const MemoryReport::Buffer &buffer = report.buffers[i];
    return double(buffer.bytes) * (buffer.last - buffer.first + 1);
  };
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(-area(a), a) < std::pair(-area(b), b);
  });
  if (order.size() > maxRectangles)
    order.resize(maxRectangles);
  os << "<h3>The arena</h3>\n<p>Left to right the ops, bottom to top the bytes; each "
        "rectangle a buffer (point at it for what it is).</p>\n<svg class='map' width='"
     << width << "' height='" << mapHeight << "'>\n";
  const double positions = report.ops.size() + 1;
  for (unsigned i : order) {
    const MemoryReport::Buffer &buffer = report.buffers[i];
    const double left = buffer.first / positions * width,
                 right = (buffer.last + 1) / positions * width,
                 height = double(buffer.bytes) / report.arena * mapHeight,
                 bottom = double(buffer.offset) / report.arena * mapHeight;
    os << "<rect class='c" << i % 6 << "' x='" << px(left) << "' y='"
       << px(mapHeight - bottom - height) << "' width='" << px(right - left)
       << "' height='" << px(height) << "'><title>" << escape(buffer.what) << " "
       << escape(buffer.type) << "\n"
       << escape(buffer.location) << "\n"
       << buffer.bytes << " bytes at " << buffer.offset << ", ops " << buffer.first
       << " to " << buffer.last << "</title></rect>\n";
  }
  os << "</svg>\n";
}

void printLive(const MemoryReport &report, llvm::raw_ostream &os) {
  std::vector<unsigned> live = report.getLive(report.peakPosition);
  if (live.empty())
    return;
  os << "<h3>Alive at the peak</h3>\n<table><tr><th>bytes</th><th>share</th><th>made "
        "by</th>"
        "<th>type</th><th>place</th><th>ops</th></tr>\n";
  for (unsigned id : live) {
    const MemoryReport::Buffer &buffer = report.buffers[id];
    os << "<tr><td class='n'>" << buffer.bytes << "</td><td class='n'>"
       << px(100.0 * buffer.bytes / std::max<int64_t>(report.peak, 1)) << " %</td><td>"
       << escape(buffer.what) << (buffer.inPlace ? " (in place)" : "") << "</td><td>"
       << escape(buffer.type) << "</td><td>" << escape(buffer.location)
       << "</td><td class='n'>" << buffer.first << "&ndash;" << buffer.last
       << "</td></tr>\n";
  }
  os << "</table>\n";
}

} // namespace

void mpt::printMemoryPage(ArrayRef<MemoryReport> reports, ArrayRef<MemoryReport> before,
                          llvm::raw_ostream &os) {
  os << "<!DOCTYPE html>\n<html lang='en'><head><meta "
        "charset='utf-8'><title>Memory</title>"
        "<style>\nbody{font:14px sans-serif;margin:2em;color:#222}"
        "table{border-collapse:collapse;margin:1em 0}"
        "td,th{padding:2px 10px;text-align:left;border-bottom:1px solid #ddd}"
        ".n{text-align:right;font-variant-numeric:tabular-nums}"
        "svg{border:1px solid #ccc;background:#fafafa}"
        "path{fill:none;stroke-width:1.5}path.now{stroke:#1f6fb4}path.old{stroke:#bbb}"
        "line.arena{stroke:#c0392b;stroke-dasharray:6 3}"
        "line.oldarena{stroke:#bbb;stroke-dasharray:6 3}line.peak{stroke:#e67e22}"
        "b.now{color:#1f6fb4}b.old{color:#999}b.arena{color:#c0392b}b.peak{color:#e67e22}"
        ".map rect{stroke:#fff;stroke-width:.4}.map "
        "rect:hover{stroke:#000;stroke-width:1.5}"
        ".c0{fill:#4e79a7}.c1{fill:#f28e2b}.c2{fill:#59a14f}.c3{fill:#b07aa1}"
        ".c4{fill:#76b7b2}.c5{fill:#e15759}\n</style></head><body>\n";
  for (const MemoryReport &report : reports) {
    const MemoryReport *old = findReport(before, report.function);
    os << "<h2>Memory of @" << escape(report.function) << "</h2>\n<p>"
       << report.ops.size() << (report.grain == "kernels" ? " kernels and calls" : " ops")
       << ", order " << escape(report.order) << ", sizes rounded up to "
       << report.alignment << " bytes</p>\n";
    printTotals(report, old, os);
    printCurves(report, old, os);
    printMap(report, os);
    printLive(report, os);
  }
  os << "</body></html>\n";
}
