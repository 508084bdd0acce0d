//===- CostReport.cpp - Cost of a program as text and pages -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/CostModel.h"
#include "mpt/Support/HtmlPage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>

using namespace mpt;

using Row = std::vector<std::string>;

/// Groups that the text names; the rest is one line.
static constexpr size_t kMostInText = 24;

static EstimateGroup getTotal(const ProgramEstimate &estimate) {
  EstimateGroup total;
  for (const InstructionEstimate &one : estimate.instructions)
    total.add(one);
  return total;
}

static llvm::StringRef getMainBound(const EstimateGroup &group) {
  auto longest = llvm::max_element(group.bounds,
                                   [](auto &a, auto &b) { return a.second < b.second; });
  return longest == group.bounds.end() ? "" : getName(longest->first);
}

/// "12.3": an amount in units of `unit`, or "-" for nothing.
static std::string format(double amount, double unit, const char *how = "%.3f") {
  return amount > 0 ? formatDouble(amount / unit, how) : "-";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
/// What tables count in: thousandths for small steps.
struct Units {
  Units(const ProgramEstimate &estimate, const EstimateGroup &total)
      : isMeasured(estimate.isMeasured) {
    if (total.seconds < 1e-2)
      time = 1e-6, timeName = "us";
    if (total.bytesRead + total.bytesWritten < 1e10)
      bytes = 1e6, bytesName = "MB";
    if (total.tensorFlops + total.otherFlops < 1e13)
      flops = 1e9, flopsName = "GFLOP";
  }
  double time = 1e-3, bytes = 1e9, flops = 1e12;
  std::string timeName = "ms", bytesName = "GB", flopsName = "TFLOP";
  bool isMeasured;

  Row getColumns() const {
    Row row = {"nodes", timeName};
    if (isMeasured)
      row.insert(row.end(), {timeName + " measured", "times"});
    row.insert(row.end(), {"%", bytesName + " read", bytesName + " written", "GB/s",
                           flopsName, "TFLOP/s", "bound by"});
    return row;
  }
};
} // namespace

/// Shares and rates are those of measured times if there are any.
static Row makeRow(const EstimateGroup &group, const EstimateGroup &all,
                   const Units &units) {
  const double flops = group.tensorFlops + group.otherFlops;
  const double seconds = units.isMeasured ? group.measured : group.seconds;
  const double total = units.isMeasured ? all.measured : all.seconds;
  const double bytes = group.bytesRead + group.bytesWritten;
  Row row = {group.name, formatDouble(group.nodes, "%.0f"),
             formatDouble(group.seconds / units.time, "%.3f")};
  if (units.isMeasured)
    row.insert(row.end(), {formatDouble(group.measured / units.time, "%.3f"),
                           format(group.measured / group.seconds, 1, "%.2f")});
  row.insert(row.end(), {formatDouble(total > 0 ? 100 * seconds / total : 0, "%.1f"),
                         format(group.bytesRead, units.bytes),
                         format(group.bytesWritten, units.bytes),
                         format(seconds > 0 ? bytes / seconds : 0, 1e9, "%.0f"),
                         format(flops, units.flops),
                         format(seconds > 0 ? flops / seconds : 0, 1e12, "%.1f"),
                         getMainBound(group).str()});
  return row;
}

static std::vector<Row> makeRows(const std::vector<EstimateGroup> &groups,
                                 const EstimateGroup &total, const Units &units,
                                 size_t most) {
  std::vector<Row> rows;
  EstimateGroup rest;
  for (const auto &[index, group] : llvm::enumerate(groups)) {
    if (index < most || groups.size() == most + 1) {
      rows.push_back(makeRow(group, total, units));
      continue;
    }
    rest.nodes += group.nodes;
    rest.seconds += group.seconds;
    rest.bytesRead += group.bytesRead;
    rest.bytesWritten += group.bytesWritten;
    rest.tensorFlops += group.tensorFlops;
    rest.otherFlops += group.otherFlops;
    rest.measured += group.measured;
    for (auto [bound, seconds] : group.bounds)
      rest.bounds[bound] += seconds;
  }
  if (rest.nodes > 0) {
    rest.name = std::to_string(groups.size() - most) + " others";
    rows.push_back(makeRow(rest, total, units));
  }
  return rows;
}

static void printTable(llvm::raw_ostream &os, const std::vector<Row> &table) {
  std::vector<size_t> widths(table.front().size(), 0);
  for (const Row &row : table)
    for (const auto &[width, text] : llvm::zip_equal(widths, row))
      width = std::max(width, text.size());
  for (const Row &row : table) {
    os << row[0] << std::string(widths[0] - row[0].size(), ' ');
    for (size_t i = 1; i + 1 < row.size(); ++i)
      os << "  " << std::string(widths[i] - row[i].size(), ' ') << row[i];
    os << "  " << row.back() << '\n';
  }
}

static std::string describe(const ProgramEstimate &estimate, const EstimateGroup &total) {
  Units units(estimate, total);
  return estimate.name + " on " + estimate.chip->name + " (" + estimate.chip->fullName +
         (estimate.isMeasured ? ", estimated): " : ", estimated, not measured): ") +
         formatDouble(total.seconds / units.time, "%.3f ") + units.timeName +
         (estimate.isMeasured ? " a step, measured " +
                                    formatDouble(total.measured / units.time, "%.3f ") +
                                    units.timeName + ", in "
                              : " a step in ") +
         formatDouble(total.nodes, "%.0f") + " nodes, " +
         formatDouble(total.bytesRead / units.bytes, "%.3f ") + units.bytesName +
         " read and " + formatDouble(total.bytesWritten / units.bytes, "%.3f ") +
         units.bytesName + " written, " +
         formatDouble(total.tensorFlops / units.flops, "%.3f ") + units.flopsName +
         " on tensor cores";
}

static std::string describeBranches(const ProgramEstimate &estimate) {
  return "the graph has " + std::to_string(estimate.branches) +
         " branches, which together take about " +
         formatDouble(estimate.shareInBranches, "%.2f") + " of the sum of their times";
}

static std::string describeChip(const GpuChip &chip) {
  return "rates taken: memory " + formatDouble(chip.memoryRate / 1e12, "%.2f TB/s") +
         ", L2 " + formatDouble(chip.cacheRate / 1e12, "%.2f TB/s") +
         ", matmuls of f16 and bf16 " + formatDouble(chip.matmulLow / 1e12, "%.0f") +
         ", of f32 " + formatDouble(chip.matmulF32 / 1e12, "%.0f TFLOP/s") + ", " +
         formatDouble(chip.processors, "%.0f") + " processors at " +
         formatDouble(chip.clock / 1e9, "%.2f GHz") + ", " +
         formatDouble(1e6 * chip.nodeGap, "%.1f us") + " a node";
}

/// Launches of one function, in the order of the first.
static std::vector<const InstructionEstimate *>
getKernels(const ProgramEstimate &estimate) {
  std::vector<const InstructionEstimate *> kernels;
  std::map<std::string, bool> seen;
  for (const InstructionEstimate &one : estimate.instructions)
    if (!one.function.empty() && !std::exchange(seen[one.function], true))
      kernels.push_back(&one);
  return kernels;
}

static const llvm::StringRef kernelColumns[] = {
    "kernel",    "grid",  "threads", "registers",    "shared", "stack",
    "blocks/SM", "waves", "instr",   "M warp instr", "us",     "bound by"};

static Row makeKernelRow(const InstructionEstimate &one) {
  return {one.function,
          std::to_string(one.blocks[0]) + "x" + std::to_string(one.blocks[1]),
          std::to_string(one.threads),
          std::to_string(one.cubin.registers),
          std::to_string(one.cubin.sharedBytes),
          std::to_string(one.cubin.stackBytes),
          formatDouble(one.blocksAtOnce, "%.0f"),
          formatDouble(one.waves, "%.2f"),
          std::to_string(one.cubin.instructions),
          formatDouble(one.instructions / one.runs / 1e6, "%.3f"),
          formatDouble(1e6 * one.seconds / one.runs, "%.1f"),
          getName(one.bound).str()};
}

void mpt::printEstimate(const ProgramEstimate &estimate, llvm::raw_ostream &os) {
  EstimateGroup total = getTotal(estimate);
  Units units(estimate, total);
  os << describe(estimate, total) << '\n' << describeChip(*estimate.chip) << '\n';
  if (estimate.branches > 1)
    os << describeBranches(estimate) << '\n';
  for (const std::string &note : estimate.notes)
    os << note << '\n';
  auto table = [&](llvm::StringRef head, const std::vector<EstimateGroup> &groups,
                   size_t most) {
    std::vector<Row> rows = {{head.str()}};
    llvm::append_range(rows.front(), units.getColumns());
    llvm::append_range(rows, makeRows(groups, total, units, most));
    os << '\n';
    printTable(os, rows);
  };
  auto kinds = groupEstimates(estimate, &InstructionEstimate::kind);
  table("by kind", kinds, kinds.size());
  table("by source", groupEstimates(estimate, &InstructionEstimate::location),
        kMostInText);
  std::vector<EstimateGroup> functions =
      groupEstimates(estimate, &InstructionEstimate::function);
  llvm::erase_if(functions,
                 [](const EstimateGroup &group) { return group.name.empty(); });
  if (functions.empty())
    return;
  table("by kernel", functions, kMostInText);
  // One launch of each of those.
  std::vector<Row> rows = {Row(std::begin(kernelColumns), std::end(kernelColumns))};
  std::vector<const InstructionEstimate *> kernels = getKernels(estimate);
  for (const EstimateGroup &group : llvm::ArrayRef(functions).take_front(kMostInText))
    for (const InstructionEstimate *one : kernels)
      if (one->function == group.name)
        rows.push_back(makeKernelRow(*one));
  os << '\n';
  printTable(os, rows);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeGroups(llvm::json::OStream &json, llvm::StringRef name,
                        const std::vector<EstimateGroup> &groups, bool isMeasured) {
  json.attributeArray(name, [&] {
    for (const EstimateGroup &group : groups)
      json.object([&] {
        json.attribute("name", group.name);
        json.attribute("nodes", group.nodes);
        json.attribute("ms", 1e3 * group.seconds);
        if (isMeasured)
          json.attribute("measured_ms", 1e3 * group.measured);
        json.attribute("bytes_read", group.bytesRead);
        json.attribute("bytes_written", group.bytesWritten);
        json.attribute("tensor_flops", group.tensorFlops);
        json.attribute("other_flops", group.otherFlops);
        json.attributeObject("ms_by_bound", [&] {
          for (auto [bound, seconds] : group.bounds)
            json.attribute(getName(bound), 1e3 * seconds);
        });
      });
  });
}

static void writeInstruction(llvm::json::OStream &json, const InstructionEstimate &one,
                             bool isMeasured) {
  json.object([&] {
    json.attribute("number", one.number);
    json.attribute("kind", one.kind);
    json.attribute("source", one.location);
    json.attribute("runs", one.runs);
    json.attribute("ms", 1e3 * one.seconds);
    if (isMeasured)
      json.attribute("measured_ms", 1e3 * one.measured);
    json.attribute("bound", getName(one.bound));
    json.attribute("bytes_read", one.bytesRead);
    json.attribute("bytes_written", one.bytesWritten);
    json.attribute("l2_bytes", one.cacheBytes);
    if (one.tensorFlops > 0) {
      json.attribute("tensor_flops", one.tensorFlops);
      json.attribute("tensor_type", one.tensorType);
    }
    json.attribute("float_flops", one.floatFlops);
    json.attribute("double_flops", one.doubleFlops);
    json.attribute("special_ops", one.specialOps);
    if (one.function.empty())
      return;
    json.attribute("kernel", one.function);
    json.attributeArray("blocks", [&] {
      json.value(one.blocks[0]);
      json.value(one.blocks[1]);
    });
    json.attribute("threads", one.threads);
    json.attribute("registers", one.cubin.registers);
    json.attribute("shared_bytes", one.cubin.sharedBytes);
    json.attribute("stack_bytes", one.cubin.stackBytes);
    json.attribute("code_instructions", one.cubin.instructions);
    json.attribute("warp_instructions", one.instructions);
    json.attribute("blocks_at_once", one.blocksAtOnce);
    json.attribute("waves", one.waves);
  });
}

void mpt::printEstimateJSON(const ProgramEstimate &estimate, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 1);
  EstimateGroup total = getTotal(estimate);
  const GpuChip &chip = *estimate.chip;
  json.object([&] {
    json.attribute("program", estimate.name);
    json.attributeObject("chip", [&] {
      json.attribute("name", chip.name);
      json.attribute("architecture", chip.architecture);
      json.attribute("processors", chip.processors);
      json.attribute("clock", chip.clock);
      json.attribute("memory_bytes_per_s", chip.memoryRate);
      json.attribute("l2_bytes_per_s", chip.cacheRate);
      json.attribute("l2_bytes", chip.cacheBytes);
      json.attribute("low_matmul_flops_per_s", chip.matmulLow);
      json.attribute("f32_matmul_flops_per_s", chip.matmulF32);
      json.attribute("node_gap_s", chip.nodeGap);
    });
    json.attribute("ms", 1e3 * total.seconds);
    if (estimate.isMeasured)
      json.attribute("measured_ms", 1e3 * total.measured);
    json.attribute("nodes", total.nodes);
    json.attribute("branches", estimate.branches);
    json.attribute("ms_in_branches", 1e3 * total.seconds * estimate.shareInBranches);
    json.attribute("bytes_read", total.bytesRead);
    json.attribute("bytes_written", total.bytesWritten);
    json.attribute("tensor_flops", total.tensorFlops);
    json.attribute("other_flops", total.otherFlops);
    json.attributeArray("notes", [&] {
      for (const std::string &note : estimate.notes)
        json.value(note);
    });
    writeGroups(json, "kinds", groupEstimates(estimate, &InstructionEstimate::kind),
                estimate.isMeasured);
    writeGroups(json, "sources", groupEstimates(estimate, &InstructionEstimate::location),
                estimate.isMeasured);
    json.attributeArray("instructions", [&] {
      for (const InstructionEstimate &one : estimate.instructions)
        writeInstruction(json, one, estimate.isMeasured);
    });
    json.attributeArray("alternatives", [&] {
      for (const InstructionEstimate &one : estimate.alternatives)
        writeInstruction(json, one, /*isMeasured=*/false);
    });
  });
  os << '\n';
}

//===----------------------------------------------------------------------===//
// Page
//===----------------------------------------------------------------------===//

/// Operations per byte against operations per second, below the lines of the chip.
static void printRoofline(const ProgramEstimate &estimate, llvm::raw_ostream &os) {
  const GpuChip &chip = *estimate.chip;
  ChartAxis x, y;
  x.label = "FLOPs per byte of memory";
  x.isLog = y.isLog = true;
  x.low = 0.01;
  x.high = 10000;
  y.label = "TFLOP/s";
  y.low = 1e-4;
  y.high = 2 * chip.matmulF8 / 1e12;
  Chart chart(x, y, 900, 420);
  const double floats = 2 * chip.processors * chip.floatLanes * chip.clock;
  chart.addKey("c0", "memory and tensor cores (f16, bf16)");
  chart.addKey("c1", "f32 units");
  chart.addKey("c2", "a kernel");
  chart.addKey("c3", "a call");
  for (auto [style, rate] : {std::pair("c0", chip.matmulLow), std::pair("c1", floats)}) {
    double corner = rate / chip.memoryRate;
    chart.addLine(style, {{x.low, x.low * chip.memoryRate / 1e12},
                          {corner, rate / 1e12},
                          {x.high, rate / 1e12}});
  }
  std::map<std::string, bool> seen;
  for (const InstructionEstimate &one : estimate.instructions) {
    if (one.getFlops() <= 0 || one.getBytes() <= 0)
      continue;
    double rate = one.getFlops() / one.seconds / 1e12;
    std::string title = one.kind + " " + one.location + ": " +
                        formatDouble(1e6 * one.seconds / one.runs, "%.1f us, ") +
                        formatDouble(rate, "%.3g TFLOP/s, ") + "bound by " +
                        getName(one.bound).str();
    if (!std::exchange(seen[title], true))
      chart.addDot(one.function.empty() ? "c3" : "c2", one.getFlops() / one.getBytes(),
                   rate, title);
  }
  chart.print(os);
}

void mpt::printEstimatePage(const ProgramEstimate &estimate, llvm::raw_ostream &os) {
  EstimateGroup total = getTotal(estimate);
  Units units(estimate, total);
  HtmlPage page("What a step costs on " + std::string(estimate.chip->fullName), os);
  os << "<p>" << escapeHTML(describe(estimate, total)) << ".</p>\n<p>"
     << escapeHTML(describeChip(*estimate.chip)) << ".</p>\n";
  if (estimate.branches > 1)
    os << "<p>" << escapeHTML(describeBranches(estimate)) << ".</p>\n";
  for (const std::string &note : estimate.notes)
    os << "<p>" << escapeHTML(note) << ".</p>\n";
  page.addSection("Roofline", "One dot for each kernel and call; the mouse shows which.");
  page.beginCard("", "", /*isWide=*/true);
  printRoofline(estimate, os);
  page.endCard();
  auto table = [&](llvm::StringRef heading, llvm::ArrayRef<llvm::StringRef> heads,
                   const std::vector<Row> &rows) {
    std::vector<unsigned> numbers;
    for (unsigned i = 1; i + 1 < heads.size(); ++i)
      numbers.push_back(i);
    page.addSection(heading, "");
    page.beginCard("", "", /*isWide=*/true);
    page.addTable(heads, rows, numbers);
    page.endCard();
  };
  auto groups = [&](llvm::StringRef heading, llvm::StringRef head,
                    const std::vector<EstimateGroup> &list) {
    const Row names = units.getColumns();
    std::vector<llvm::StringRef> heads = {head};
    llvm::append_range(heads, names);
    table(heading, heads, makeRows(list, total, units, list.size()));
  };
  groups("By kind", "kind", groupEstimates(estimate, &InstructionEstimate::kind));
  groups("By source", "source", groupEstimates(estimate, &InstructionEstimate::location));
  std::vector<Row> rows;
  for (const InstructionEstimate *one : getKernels(estimate))
    rows.push_back(makeKernelRow(*one));
  table("Kernels", kernelColumns, rows);
  std::vector<EstimateGroup> order;
  for (const InstructionEstimate &one : estimate.instructions) {
    EstimateGroup &group = order.emplace_back();
    group.name = one.kind + " " + one.location;
    group.add(one);
  }
  groups("In order", "kind and source", order);
}
