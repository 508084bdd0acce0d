//===- MemoryReport.cpp - Report of the memory of a function ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/MemoryReport.h"
#include "mpt/Support/ParseJSON.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mpt;

/// The places of `location`: "net.mlir:3:5"; of a fused one the first three with
/// their lines, and how many there are besides. Names where there are no files.
static std::string describePlaces(Location location) {
  llvm::SetVector<std::pair<StringRef, unsigned>> lines;
  StringRef name;
  std::optional<unsigned> column;
  location->walk([&](Location each) {
    if (auto file = dyn_cast<FileLineColLoc>(each)) {
      lines.insert({file.getFilename().getValue(), file.getLine()});
      if (!column)
        column = file.getColumn();
    } else if (auto named = dyn_cast<NameLoc>(each); named && name.empty()) {
      name = named.getName().getValue();
    }
    return WalkResult::advance();
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  StringRef previous;
  for (auto [i, line] : llvm::enumerate(lines)) {
    if (i == 3)
      break;
    if (i != 0)
      os << ", ";
    // A file once.
    if (line.first != previous)
      os << line.first << ':';
    previous = line.first;
    os << line.second;
  }
  if (lines.size() == 1 && column)
    os << ':' << *column;
  if (lines.size() > 3)
    os << " and " << lines.size() - 3 << " more";
  if (lines.empty())
    return name.empty() ? "unknown" : name.str();
  return text;
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string getOpName(const MemoryOp &op) {
  return op.op ? op.op->getName().getStringRef().str() : "op";
}

std::vector<unsigned> MemoryReport::getLive(unsigned position) const {
  std::vector<unsigned> live;
  for (auto [i, buffer] : llvm::enumerate(buffers))
    if (buffer.first <= int64_t(position) && int64_t(position) <= buffer.last)
      live.push_back(i);
  llvm::sort(live, [&](unsigned a, unsigned b) {
    return std::pair(-buffers[a].bytes, a) < std::pair(-buffers[b].bytes, b);
  });
  return live;
}

MemoryReport mpt::makeMemoryReport(const MemoryGraph &graph, const MemoryProfile &profile,
                                   ArrayRef<int64_t> offsets, int64_t arenaBytes) {
  MemoryReport report;
  report.alignment = graph.alignment;
  report.arguments = graph.getBytes(MemoryKind::Argument);
  report.state = graph.getBytes(MemoryKind::State);
  report.constants = graph.getBytes(MemoryKind::Constant);
  report.results = graph.getBytes(MemoryKind::Output);
  report.peak = profile.peak;
  report.peakPosition = profile.peakPosition;
  report.arena = arenaBytes;
  report.bytesAtEnd = profile.bytes.back();
  for (auto [i, op] : llvm::enumerate(graph.ops))
    report.ops.push_back({getOpName(op),
                          op.op ? describePlaces(op.op->getLoc()) : "unknown",
                          profile.bytes[i], op.workspace});

  // Buffers in the order in which they come to life; what follows in place begins
  // where the one before it ends, one position later.
  SmallVector<unsigned> order;
  for (unsigned id = 0; id < graph.buffers.size(); ++id)
    if (profile.blockOfBuffer[id] >= 0)
      order.push_back(id);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(profile.lifetimes[a].first, a) <
           std::pair(profile.lifetimes[b].first, b);
  });
  DenseMap<int64_t, unsigned> holders;
  for (unsigned id : order) {
    const MemoryBuffer &buffer = graph.buffers[id];
    const int64_t block = profile.blockOfBuffer[id];
    auto [first, last] = profile.lifetimes[id];
    auto [holder, isNew] = holders.insert({block, report.buffers.size()});
    if (!isNew) {
      // The op that makes this one is the last that reads the one before.
      report.buffers[holder->second].last = first - 1;
      holder->second = report.buffers.size();
    }
    std::string what = "argument", place = "unknown";
    if (buffer.producer >= 0) {
      what = report.ops[buffer.producer].name;
      place = report.ops[buffer.producer].location;
    } else if (buffer.value) {
      place = describePlaces(buffer.value.getLoc());
    }
    report.buffers.push_back({what, buffer.value ? print(buffer.value.getType()) : "",
                              place, buffer.bytes, first, last, offsets[block], !isNew});
  }
  for (auto [i, op] : llvm::enumerate(graph.ops))
    if (int64_t block = profile.blockOfWorkspace[i]; block >= 0)
      report.buffers.push_back({"workspace of " + report.ops[i].name, "",
                                report.ops[i].location, op.workspace, int64_t(i),
                                int64_t(i), offsets[block], false});
  for (auto [i, block] : llvm::enumerate(profile.blockOfFinal))
    report.buffers.push_back({"copy of an old value", "", "unknown", graph.finalBlocks[i],
                              int64_t(graph.ops.size()), int64_t(graph.ops.size()),
                              offsets[block], false});
  return report;
}

const MemoryReport *mpt::findReport(ArrayRef<MemoryReport> reports, StringRef function) {
  const auto *found = llvm::find_if(
      reports, [&](const MemoryReport &report) { return report.function == function; });
  return found == reports.end() ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "1,234,567".
static std::string group(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = int64_t(text.size()) - 3; at > 0; at -= 3)
    text.insert(at, ",");
  return text;
}

static std::string percent(double part, double whole) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%.1f %%", whole > 0 ? 100 * part / whole : 0.0);
  return text;
}

static void printCurve(const MemoryReport &report, llvm::raw_ostream &os) {
  const size_t positions = report.ops.size() + 1;
  const size_t lines = std::min<size_t>(positions, 24);
  if (report.peak == 0)
    return;
  os << "  temporaries over the " << report.ops.size() << " ops:\n";
  constexpr int width = 40;
  for (size_t line = 0; line < lines; ++line) {
    const size_t begin = line * positions / lines, end = (line + 1) * positions / lines;
    int64_t most = 0;
    for (size_t at = begin; at < end; ++at)
      most = std::max(most, report.getBytesAt(at));
    const int bar = std::lround(double(most) / report.peak * width);
    os << llvm::formatv(
        "    {0,6} {1,15} |{2}{3}|{4}\n", begin, group(most), std::string(bar, '#'),
        std::string(width - bar, ' '),
        begin <= report.peakPosition && report.peakPosition < end ? " peak" : "");
  }
}

void mpt::printMemoryText(ArrayRef<MemoryReport> reports, ArrayRef<MemoryReport> before,
                          unsigned top, llvm::raw_ostream &os) {
  for (const MemoryReport &report : reports) {
    os << "memory of @" << report.function << ": " << report.ops.size() << " "
       << (report.grain == "kernels" ? "kernels and calls" : "ops") << ", order "
       << report.order << ", sizes rounded up to " << report.alignment << " bytes\n";
    auto row = [&](StringRef what, int64_t bytes, const Twine &note = "") {
      os << llvm::formatv("  {0,-12} {1,18}", what, group(bytes)) << note << "\n";
    };
    row("state", report.state);
    row("arguments", report.arguments);
    row("constants", report.constants);
    row("results", report.results);
    const std::string place = report.peakPosition < report.ops.size()
                                  ? "op " + std::to_string(report.peakPosition) + ", " +
                                        report.ops[report.peakPosition].name + " at " +
                                        report.ops[report.peakPosition].location
                                  : "the end";
    row("temporaries", report.peak, "  at most, at " + place);
    row("arena", report.arena,
        "  planned, " + percent(report.arena - report.peak, report.peak) +
            " above the bound");
    for (const MemoryReport::Trial &trial : report.trials)
      os << llvm::formatv("    order {0,-13} arena {1,16}, at most alive {2,16}\n",
                          trial.order, group(trial.arena), group(trial.peak));
    if (const MemoryReport *old = findReport(before, report.function)) {
      auto change = [&](StringRef what, int64_t from, int64_t to) {
        os << llvm::formatv("  before: {0,-12} {1,16}, now {2} of that\n", what,
                            group(from), percent(to, from));
      };
      change("temporaries", old->peak, report.peak);
      change("arena", old->arena, report.arena);
    }
    printCurve(report, os);
    std::vector<unsigned> live = report.getLive(report.peakPosition);
    size_t shown = top == 0 ? live.size() : std::min<size_t>(live.size(), top);
    int64_t shownBytes = 0;
    for (unsigned id : llvm::ArrayRef(live).take_front(shown))
      shownBytes += report.buffers[id].bytes;
    if (live.empty())
      continue;
    os << "  alive at the peak: " << live.size() << " buffers; ";
    if (shown < live.size())
      os << "the " << shown << " largest have ";
    os << percent(shownBytes, report.peak) << " of the bytes:\n"
       << llvm::formatv("    {0,15} {1,13}  made by\n", "bytes", "ops");
    for (unsigned id : llvm::ArrayRef(live).take_front(shown)) {
      const MemoryReport::Buffer &buffer = report.buffers[id];
      os << llvm::formatv("    {0,15} {1,6}-{2,6}  {3} {4} at {5}{6}\n",
                          group(buffer.bytes), buffer.first, buffer.last, buffer.what,
                          buffer.type, buffer.location,
                          buffer.inPlace ? ", in place" : "");
    }
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Names that are not UTF-8 would not be JSON.
static std::string fix(StringRef text) { return llvm::json::fixUTF8(text); }

void mpt::printMemoryJSON(ArrayRef<MemoryReport> reports, ArrayRef<MemoryReport> before,
                          llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 1);
  json.object([&] {
    json.attribute("version", 1);
    json.attributeArray("functions", [&] {
      for (const MemoryReport &report : reports)
        json.object([&] {
          json.attribute("function", fix(report.function));
          json.attribute("grain", report.grain);
          json.attribute("order", report.order);
          json.attribute("alignment", report.alignment);
          json.attribute("state", report.state);
          json.attribute("arguments", report.arguments);
          json.attribute("constants", report.constants);
          json.attribute("results", report.results);
          json.attribute("peak", report.peak);
          json.attribute("peak_op", int64_t(report.peakPosition));
          json.attribute("arena", report.arena);
          json.attribute("bytes_at_end", report.bytesAtEnd);
          if (const MemoryReport *old = findReport(before, report.function))
            json.attributeObject("before", [&] {
              json.attribute("peak", old->peak);
              json.attribute("arena", old->arena);
            });
          json.attributeArray("trials", [&] {
            for (const MemoryReport::Trial &trial : report.trials)
              json.object([&] {
                json.attribute("order", trial.order);
                json.attribute("peak", trial.peak);
                json.attribute("arena", trial.arena);
              });
          });
          json.attributeArray("ops", [&] {
            for (const MemoryReport::Op &op : report.ops)
              json.object([&] {
                json.attribute("op", fix(op.name));
                json.attribute("location", fix(op.location));
                json.attribute("bytes", op.bytes);
                json.attribute("workspace", op.workspace);
              });
          });
          json.attributeArray("buffers", [&] {
            for (const MemoryReport::Buffer &buffer : report.buffers)
              json.object([&] {
                json.attribute("what", fix(buffer.what));
                json.attribute("type", fix(buffer.type));
                json.attribute("location", fix(buffer.location));
                json.attribute("bytes", buffer.bytes);
                json.attribute("first", buffer.first);
                json.attribute("last", buffer.last);
                json.attribute("offset", buffer.offset);
                json.attribute("in_place", buffer.inPlace);
              });
          });
        });
    });
  });
  os << "\n";
}

namespace mpt {
using llvm::json::ObjectMapper;
using llvm::json::Path;
using llvm::json::Value;

static bool fromJSON(const Value &value, MemoryReport::Trial &trial, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("order", trial.order) && map.map("peak", trial.peak) &&
         map.map("arena", trial.arena);
}
static bool fromJSON(const Value &value, MemoryReport::Op &op, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("op", op.name) && map.map("location", op.location) &&
         map.map("bytes", op.bytes) && map.map("workspace", op.workspace);
}
static bool fromJSON(const Value &value, MemoryReport::Buffer &buffer, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("what", buffer.what) && map.map("type", buffer.type) &&
         map.map("location", buffer.location) && map.map("bytes", buffer.bytes) &&
         map.map("first", buffer.first) && map.map("last", buffer.last) &&
         map.map("offset", buffer.offset) && map.map("in_place", buffer.inPlace);
}
static bool fromJSON(const Value &value, MemoryReport &report, Path path) {
  ObjectMapper map(value, path);
  int64_t peak = 0;
  if (!map || !map.map("function", report.function) || !map.map("grain", report.grain) ||
      !map.map("order", report.order) || !map.map("alignment", report.alignment) ||
      !map.map("state", report.state) || !map.map("arguments", report.arguments) ||
      !map.map("constants", report.constants) || !map.map("results", report.results) ||
      !map.map("peak", report.peak) || !map.map("peak_op", peak) ||
      !map.map("arena", report.arena) || !map.map("bytes_at_end", report.bytesAtEnd) ||
      !map.map("trials", report.trials) || !map.map("ops", report.ops) ||
      !map.map("buffers", report.buffers))
    return false;
  report.peakPosition = peak;
  return true;
}
} // namespace mpt

llvm::Expected<std::vector<MemoryReport>> mpt::readMemoryJSON(StringRef text) {
  llvm::Expected<llvm::json::Value> value = parseJSON(text);
  if (!value)
    return value.takeError();
  std::vector<MemoryReport> reports;
  llvm::json::Path::Root root("report");
  llvm::json::ObjectMapper map(*value, root);
  int64_t version = 0;
  if (!map || !map.map("version", version))
    return root.getError();
  if (version != 1)
    return llvm::createStringError("the report has version " + std::to_string(version) +
                                   ", but this program reads version 1");
  if (!map.map("functions", reports))
    return root.getError();
  return reports;
}
