//===- ScaleReport.cpp - The pass that predicts many ranks ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-scale-report`: reads the schedule of planned programs, and prints what
/// ScaleModel.h predicts of it.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/IR/Program.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/Parallel/Passes.h"
#include "mpt/Parallel/ScaleModel.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/InstructionCost.h"
#include "mpt/Support/FileIO.h"
#include "mpt/Support/HtmlPage.h"
#include "mpt/Support/ParseJSON.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <deque>

namespace mpt {
#define GEN_PASS_DEF_SCALEREPORTPASS
#include "mpt/Parallel/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// The predictions for one program.
struct ScaleReport {
  std::string name;
  ScaleProgram program;
  std::vector<ScalePoint> points;
};

/// Reads a program's schedule.
class Reader {
public:
  /// `measured` are milliseconds of each instruction; empty: they are estimated.
  Reader(const Cluster &cluster, ArrayRef<double> measured)
      : cluster(cluster), measured(measured) {}

  FailureOr<ScaleProgram> read(program::ProgramOp op);

private:
  LogicalResult visit(Operation *op, double iterations);
  void readBuffer(program::BufferOp buffer);
  /// Computes for this long, or for as long as was measured.
  void work(double seconds) {
    if (!measured.empty() && next < measured.size())
      seconds = 1e-3 * measured[next];
    result.events.push_back({ScaleEvent::Work, seconds, 0});
    ++next;
  }

  const Cluster &cluster;
  ArrayRef<double> measured;
  size_t next = 0;
  ScaleProgram result;
  std::deque<unsigned> begun;
  /// Bytes of each constant, by its number.
  std::map<int64_t, int64_t> constants;
};

int64_t getBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

void Reader::readBuffer(program::BufferOp buffer) {
  const int64_t bytes = getBytes(buffer.getBuffer());
  if (buffer.getSpace() == program::Space::Constant)
    constants[buffer.getOffset()] = std::max(constants[buffer.getOffset()], bytes);
  if (buffer.getSpace() != program::Space::State || !buffer.getRoleAttr())
    return;
  if (buffer.getRoleAttr().getValue() == Role::Parameter)
    result.parameters += bytes;
  if (buffer.getRoleAttr().getValue() == Role::OptimizerState)
    result.optimizer += bytes;
}

LogicalResult Reader::visit(Operation *op, double iterations) {
  if (auto buffer = dyn_cast<program::BufferOp>(op)) {
    readBuffer(buffer);
    return success();
  }
  if (auto loop = dyn_cast<program::LoopOp>(op)) {
    // What has a condition is taken to run once.
    const double count = loop.getCondition() ? 1 : loop.getCount();
    for (Operation &inner : loop.getBody().front())
      if (failed(visit(&inner, iterations * count)))
        return failure();
    return success();
  }
  if (auto launch = dyn_cast<program::LaunchOp>(op)) {
    double bytes = 0;
    for (Value buffer : launch.getInputs())
      bytes += getBytes(buffer);
    for (Value buffer : launch.getOutputs())
      bytes += getBytes(buffer);
    work(iterations * bytes / cluster.memory);
    // The second stage of a column kernel is an instruction of its own.
    if (launch.getPartials())
      work(0);
    return success();
  }
  auto call = dyn_cast<program::LibraryCallOpInterface>(op);
  if (!call)
    return op->emitError("mpt-scale-report: expected a program for CPUs, found '")
           << op->getName() << "'; plan the step without a target";
  FailureOr<rt::Instruction> instruction = encodeCall(call);
  if (failed(instruction))
    return failure();
  if (instruction->getCall<rt::WaitCall>()) {
    if (begun.empty())
      return op->emitError("mpt-scale-report: waits for an exchange that has not begun");
    result.events.push_back({ScaleEvent::Wait, 0, begun.front()});
    begun.pop_front();
    ++next;
    return success();
  }
  if (rt::getRanks(*instruction->call) > 0 && !instruction->getCall<rt::RankCall>()) {
    const unsigned number = result.exchanges.size();
    const bool begins = rt::isAsync(*instruction->call);
    if (begins)
      begun.push_back(number);
    result.events.push_back(
        {begins ? ScaleEvent::Begin : ScaleEvent::Exchange, 0, number});
    result.exchanges.push_back({std::move(*instruction), ""});
    ++next;
    return success();
  }
  const rt::InstructionCost cost = rt::getCost(*instruction);
  work(iterations * std::max(cost.flops / cluster.flops, cost.bytes / cluster.memory));
  return success();
}

FailureOr<ScaleProgram> Reader::read(program::ProgramOp op) {
  for (Operation &inner : op.getBody().front())
    if (failed(visit(&inner, 1)))
      return failure();
  if (result.exchanges.empty())
    return op.emitError("mpt-scale-report: expected a step of several ranks, found no "
                        "exchange; make it with --mpt-data-parallel=size=2 before it is "
                        "planned");
  if (!measured.empty() && next != measured.size())
    return op.emitError("mpt-scale-report: profile has ")
           << measured.size() << " instructions and this program " << next
           << "; profile the same step, planned for as many threads";
  result.arena = op.getArenaBytes();
  result.state = op.getStateBytes();
  result.outputs = op.getOutputBytes();
  for (auto [number, bytes] : constants)
    result.constants += bytes;
  return std::move(result);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

constexpr StringRef columns[] = {"ranks",   "compute ms", "exchange ms", "exposed ms",
                                 "step ms", "efficiency", "sent/link",   "sent/local",
                                 "data",    "zero1",      "zero2",       "zero3"};

std::vector<std::string> makeRow(const ScalePoint &point) {
  return {std::to_string(point.ranks),
          formatDouble(point.compute, "%.3f"),
          formatDouble(point.exchange, "%.3f"),
          formatDouble(point.exposed, "%.3f"),
          formatDouble(point.step, "%.3f"),
          formatDouble(100 * point.efficiency(), "%.1f %%"),
          formatBytes(point.bytesBetween),
          formatBytes(point.bytesWithin),
          formatBytes(point.memory.data),
          formatBytes(point.memory.zero1),
          formatBytes(point.memory.zero2),
          formatBytes(point.memory.zero3)};
}

void writeText(const ScaleReport &report, llvm::raw_ostream &os) {
  std::vector<std::vector<std::string>> table(1);
  for (StringRef column : columns)
    table[0].push_back(column.str());
  for (const ScalePoint &point : report.points)
    table.push_back(makeRow(point));
  std::vector<size_t> widths(std::size(columns), 0);
  for (const auto &row : table)
    for (auto [width, text] : llvm::zip_equal(widths, row))
      width = std::max(width, text.size());
  os << "scale of @" << report.name << ": " << report.program.exchanges.size()
     << " exchanges; bytes that a rank sends in a step, and that it keeps\n";
  for (const auto &row : table) {
    for (auto [i, text] : llvm::enumerate(row))
      os << (i ? "  " : "") << std::string(widths[i] - text.size(), ' ') << text;
    os << '\n';
  }
}

void writeJSON(ArrayRef<ScaleReport> reports, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 1);
  json.array([&] {
    for (const ScaleReport &report : reports)
      json.object([&] {
        json.attribute("name", report.name);
        json.attribute("exchanges", int64_t(report.program.exchanges.size()));
        json.attributeArray("points", [&] {
          for (const ScalePoint &point : report.points)
            json.object([&] {
              json.attribute("ranks", point.ranks);
              json.attribute("compute_ms", point.compute);
              json.attribute("exchange_ms", point.exchange);
              json.attribute("exposed_ms", point.exposed);
              json.attribute("step_ms", point.step);
              json.attribute("efficiency", point.efficiency());
              json.attribute("link_bytes", point.bytesBetween);
              json.attribute("local_bytes", point.bytesWithin);
              json.attribute("zero3_bytes", point.zero3Bytes);
              json.attributeObject("memory", [&] {
                json.attribute("data", point.memory.data);
                json.attribute("zero1", point.memory.zero1);
                json.attribute("zero2", point.memory.zero2);
                json.attribute("zero3", point.memory.zero3);
              });
            });
        });
      });
  });
  os << '\n';
}

void writePage(ArrayRef<ScaleReport> reports, llvm::raw_ostream &os) {
  HtmlPage page("Steps on many ranks", os);
  for (const ScaleReport &report : reports) {
    page.addSection(
        "@" + report.name,
        "A step's time on each number of ranks, and what a rank sends and keeps.");
    if (report.points.size() > 1) {
      double low = INFINITY, high = 1, most = 0;
      Chart::Points step, exchange, exposed;
      for (const ScalePoint &point : report.points) {
        const double x = std::log2(double(point.ranks));
        low = std::min(low, x);
        high = std::max(high, x);
        most = std::max({most, point.step, point.exchange});
        step.push_back({x, point.step});
        exchange.push_back({x, point.exchange});
        exposed.push_back({x, point.exposed});
      }
      if (low < high && most > 0) {
        ChartAxis ranks{low, high, "ranks"};
        ranks.format = [](double value) {
          return formatDouble(std::exp2(value), "%.4g");
        };
        Chart chart(ranks, {0, most * 1.05, "milliseconds"});
        chart.addLine("c0", step);
        chart.addLine("c1 dashed", exchange);
        chart.addLine("c2 dotted", exposed);
        chart.addKey("c0", "step");
        chart.addKey("c1 dashed", "exchanges");
        chart.addKey("c2 dotted", "exposed");
        page.beginCard("Time", "");
        chart.print(os);
        page.endCard();
      }
    }
    std::vector<std::vector<std::string>> rows;
    for (const ScalePoint &point : report.points)
      rows.push_back(makeRow(point));
    const unsigned numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    page.beginCard("Numbers", "", /*isWide=*/true);
    page.addTable(columns, rows, numbers);
    page.endCard();
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct ScaleReportPass : mpt::impl::ScaleReportPassBase<ScaleReportPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(report(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  InFlightDiagnostic error() {
    return emitError(getOperation().getLoc()) << getArgument() << ": ";
  }
  FailureOr<Cluster> readCluster();
  FailureOr<std::vector<double>> readProfile();
  LogicalResult report(ModuleOp module);
};

FailureOr<Cluster> ScaleReportPass::readCluster() {
  Cluster cluster;
  for (auto [name, text, target] :
       {std::tuple<StringRef, StringRef, Link *>{"link", link, &cluster.between},
        {"local-link", localLink, &cluster.within}}) {
    llvm::Expected<Link> read = parseLink(text);
    if (!read)
      return error() << name << ": " << llvm::toString(read.takeError());
    *target = *read;
  }
  if (ranksPerMachine < 1)
    return error() << "ranks-per-machine must be at least 1, got "
                   << ranksPerMachine.getValue();
  cluster.ranksPerMachine = ranksPerMachine;
  for (auto [name, value] :
       {std::pair<StringRef, double>{"gflops", gflops}, {"memory", memory}})
    if (!(value > 0) || !std::isfinite(value))
      return error() << name << " must be above 0, got " << formatDouble(value, "%g");
  cluster.flops = 1e9 * gflops;
  cluster.memory = 1e9 * memory;
  return cluster;
}

FailureOr<std::vector<double>> ScaleReportPass::readProfile() {
  std::vector<double> measured;
  if (profile.empty())
    return measured;
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(profile, &why);
  if (!file)
    return error() << "profile: " << why;
  auto refuse = [&](const Twine &what) {
    return error() << "profile: " << profile << " is no profile of mpt-run: " << what;
  };
  auto value = parseJSON(file->getBuffer());
  if (!value)
    return refuse(llvm::toString(value.takeError()));
  const llvm::json::Object *object = value->getAsObject();
  const llvm::json::Array *entries = object ? object->getArray("instructions") : nullptr;
  if (!entries || entries->empty())
    return refuse("expected 'instructions'");
  for (const llvm::json::Value &entry : *entries) {
    const llvm::json::Object *one = entry.getAsObject();
    std::optional<double> ms = one ? one->getNumber("ms") : std::nullopt;
    if (!ms || !(*ms >= 0) || !std::isfinite(*ms))
      return refuse("expected 'ms' of at least 0 of each instruction");
    measured.push_back(*ms);
  }
  return measured;
}

LogicalResult ScaleReportPass::report(ModuleOp module) {
  if (format != "text" && format != "json" && format != "html")
    return error() << "format must be text, json or html, got '" << format << "'";
  if (ranks.empty())
    return error() << "expected numbers of ranks, as in ranks=8,64,1024";
  for (int64_t number : ranks)
    if (number < 1 || number > rt::kMaxRanks)
      return error() << "ranks must be from 1 to " << rt::kMaxRanks << ", got " << number;
  FailureOr<Cluster> cluster = readCluster();
  FailureOr<std::vector<double>> measured = readProfile();
  if (failed(cluster) || failed(measured))
    return failure();
  std::vector<ScaleReport> reports;
  for (auto op : module.getOps<program::ProgramOp>()) {
    FailureOr<ScaleProgram> read = Reader(*cluster, *measured).read(op);
    if (failed(read))
      return failure();
    ScaleReport &one = reports.emplace_back();
    one.name = op.getName().str();
    one.program = std::move(*read);
    for (int64_t number : ranks)
      one.points.push_back(simulate(one.program, number, *cluster));
  }
  if (reports.empty())
    return error() << "expected a planned program, found none; run --mpt-plan-step first";
  std::string text;
  llvm::raw_string_ostream os(text);
  if (format == "json")
    writeJSON(reports, os);
  else if (format == "html")
    writePage(reports, os);
  else
    for (const ScaleReport &one : reports)
      writeText(one, os);
  if (output.empty()) {
    llvm::errs() << text;
    return success();
  }
  if (llvm::Error failed = writeFileAtomically(output, text))
    return error() << "output: " << llvm::toString(std::move(failed));
  return success();
}

} // namespace
