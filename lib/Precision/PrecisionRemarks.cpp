//===- PrecisionRemarks.cpp - Why each op has its precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PrecisionRemarks.h"

#include "ConstantElements.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Precision/RangeProfile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace mlir;
using namespace mpt;

constexpr uint32_t kNone = PrecisionGraph::kNone;
/// Steps of a chain that are printed.
constexpr unsigned kMostSteps = 8;

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

uint32_t mpt::findDecider(const PrecisionPlan &plan, uint32_t vertex) {
  // Chains of one breadth-first search cannot run in circles.
  while (plan[vertex].reason == PrecisionReason::BehindDenied &&
         plan[vertex].via != kNone)
    vertex = plan[vertex].via;
  return vertex;
}

SmallVector<std::pair<uint32_t, uint64_t>> mpt::findBlockers(const PrecisionPlan &plan,
                                                             size_t limit) {
  const uint32_t count = plan.getGraph().getVertices().size();
  std::vector<uint64_t> blocked(count);
  // Each chain is walked once: up to what is known from another.
  std::vector<uint32_t> deciders(count, kNone);
  SmallVector<uint32_t> chain;
  for (uint32_t v = 0; v < count; ++v) {
    if (plan.isLow(v) || plan[v].reason != PrecisionReason::BehindDenied)
      continue;
    chain.clear();
    uint32_t at = v;
    while (deciders[at] == kNone && plan[at].via != kNone &&
           plan[at].reason == PrecisionReason::BehindDenied) {
      chain.push_back(at);
      at = plan[at].via;
    }
    if (deciders[at] != kNone)
      at = deciders[at];
    for (uint32_t each : chain)
      deciders[each] = at;
    if (at != v)
      ++blocked[at];
  }
  SmallVector<std::pair<uint32_t, uint64_t>> blockers;
  for (uint32_t v = 0; v < count; ++v)
    if (plan[v].reason == PrecisionReason::Denied)
      blockers.push_back({v, blocked[v]});
  llvm::stable_sort(blockers,
                    [](const auto &a, const auto &b) { return a.second > b.second; });
  if (blockers.size() > limit)
    blockers.truncate(limit);
  return blockers;
}

static std::string describeClass(const PrecisionGraph::Vertex &vertex) {
  return (stringifyPrecisionClass(vertex.precisionClass) + " by " +
          stringifyRuleSource(vertex.source))
      .str();
}

static StringRef getFunctionName(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

/// "result 0 of op", "argument 1".
static std::string describeValue(Value value) {
  if (auto result = dyn_cast<OpResult>(value))
    return llvm::formatv("result {0} of {1}", result.getResultNumber(),
                         result.getOwner()->getName().getStringRef());
  return llvm::formatv("argument {0}", cast<BlockArgument>(value).getArgNumber());
}

static StringRef getText(PrecisionReason reason) { return getRemarkInfo(reason).text; }

/// The vertices in the order of their ops in the text: in the graph, joins come
/// last.
static std::vector<uint32_t> sortByProgram(const PrecisionGraph &graph, Operation *root) {
  const uint32_t count = graph.getVertices().size();
  if (llvm::none_of(graph.getVertices(),
                    [](const PrecisionGraph::Vertex &vertex) { return vertex.isJoin; })) {
    std::vector<uint32_t> same(count);
    std::iota(same.begin(), same.end(), 0);
    return same;
  }
  llvm::DenseMap<Operation *, uint32_t> first;
  std::vector<uint32_t> next(count, kNone);
  for (uint32_t v = count; v-- > 0;) {
    uint32_t &head = first.try_emplace(graph.getVertices()[v].op, kNone).first->second;
    next[v] = head;
    head = v;
  }
  std::vector<uint32_t> order;
  order.reserve(count);
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto found = first.find(op);
    if (found != first.end())
      for (uint32_t v = found->second; v != kNone; v = next[v])
        order.push_back(v);
  });
  return order;
}

//===----------------------------------------------------------------------===//
// What if
//===----------------------------------------------------------------------===//

Counterfactuals::Counterfactuals(const PrecisionPlan &plan,
                                 const PrecisionPlanner &planner,
                                 ArrayRef<uint32_t> denied)
    : plan(plan), planner(planner) {
  for (uint32_t vertex : denied)
    answers[vertex] = std::nullopt;
}

static int64_t countLow(const PrecisionPlan &plan) {
  int64_t count = 0;
  for (uint32_t v = 0; v < plan.getGraph().getVertices().size(); ++v)
    count += plan.isLow(v);
  return count;
}

std::optional<Counterfactuals::Change> Counterfactuals::get(uint32_t vertex) {
  auto answer = answers.find(vertex);
  if (answer == answers.end())
    return std::nullopt;
  if (answer->second)
    return answer->second;
  if (!before)
    before = plan.countCasts();
  Operation *op = plan.getGraph().getVertices()[vertex].op;
  if (!planner.policy->lookup(op).isMovable(op))
    return std::nullopt;
  Attribute had = op->getDiscardableAttr(kPrecisionAttr);
  op->setDiscardableAttr(kPrecisionAttr, StringAttr::get(op->getContext(), "low"));
  PrecisionGraph graph(planner.root, *planner.policy, planner.graphOptions);
  PrecisionPlanOptions options = planner.planOptions;
  planner.adapt(graph, options);
  PrecisionPlan other = planPrecision(graph, options);
  if (had)
    op->setDiscardableAttr(kPrecisionAttr, had);
  else
    op->removeDiscardableAttr(kPrecisionAttr);
  PrecisionPlan::Casts after = other.countCasts();
  answer->second = Change{
      int64_t(after.down + after.up) - int64_t(before->down + before->up),
      int64_t(after.bytes) - int64_t(before->bytes), countLow(other) - countLow(plan)};
  return answer->second;
}

std::string Counterfactuals::describe(uint32_t vertex) {
  std::optional<Change> change = get(vertex);
  if (!change)
    return "";
  std::string text = "allowing it ";
  llvm::raw_string_ostream os(text);
  auto verb = [](int64_t number) { return number > 0 ? "adds " : "removes "; };
  auto casts = [&] {
    os << std::abs(change->casts) << (std::abs(change->casts) == 1 ? " cast" : " casts");
  };
  auto bytes = [&] {
    const int64_t number = std::abs(change->bytes);
    if (number < 100000)
      os << number << " bytes";
    else
      os << llvm::format("%.2f MB", number / 1e6);
  };
  if (change->casts == 0 && change->bytes == 0) {
    os << "leaves the casts as they are";
  } else if (change->casts == 0) {
    os << verb(change->bytes);
    bytes();
    os << " of casts";
  } else {
    os << verb(change->casts);
    casts();
    const bool agree = change->bytes == 0 || (change->casts > 0) == (change->bytes > 0);
    os << (agree ? ", " : std::string(" but ") + verb(change->bytes));
    bytes();
  }
  if (change->lowOps > 1)
    os << ", and " << change->lowOps - 1 << " more "
       << (change->lowOps == 2 ? "op runs" : "ops run") << " low";
  return text;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

using RemarkArg = remark::detail::Remark::Arg;

/// "'op' f32: on the deny list".
static std::string describeDecision(const PrecisionPlan &plan, uint32_t vertex) {
  return llvm::formatv("'{0}' {1}: {2}",
                       plan.getGraph().getVertices()[vertex].op->getName().getStringRef(),
                       plan.isLow(vertex) ? "low" : "f32", getText(plan[vertex].reason));
}

static void emitCast(const PrecisionPlan &plan, Type low,
                     const PrecisionPlan::Cast &cast) {
  const PrecisionGraph::ValueNode &node = plan.getGraph().getValues()[cast.value];
  Value value = node.value;
  Operation *maker = value.getDefiningOp();
  Operation *place = maker ? maker : value.getParentBlock()->getParentOp();
  auto remark = emitRemark(PrecisionReason::CastInserted, value.getLoc(),
                           place ? getFunctionName(place) : StringRef());
  if (!remark)
    return;
  std::string lowName;
  llvm::raw_string_ostream(lowName) << low;
  Operation *reader = cast.reader->operand->getOwner();
  remark << RemarkArg("Reason", getText(PrecisionReason::CastInserted))
         << RemarkArg("Value", describeValue(value))
         << RemarkArg("From", cast.toLow ? "f32" : lowName)
         << RemarkArg("To", cast.toLow ? lowName : "f32")
         << RemarkArg("Maker", node.producer == PrecisionGraph::Producer::Vertex
                                   ? describeDecision(plan, node.vertex)
                                   : std::string("keeps its type"))
         << RemarkArg(
                "Reader",
                cast.reader->vertex != kNone
                    ? describeDecision(plan, cast.reader->vertex)
                    : ("'" + reader->getName().getStringRef() + "' keeps its type").str())
         << RemarkArg("Bytes", plan.getCastBytes(cast.value));
}

/// Says why the constant that is cast was not converted instead.
static void emitConstantCast(const PrecisionPlan &plan, const RuleTable &rules,
                             const PrecisionPlan::Cast &cast) {
  Value value = plan.getGraph().getValues()[cast.value].value;
  Operation *maker = value.getDefiningOp();
  ElementsAttr elements;
  if (!cast.toLow || !maker || !isConstant(maker, rules, &elements))
    return;
  const ConstantElements numbers(elements);
  if (numbers)
    return;
  if (auto remark = emitRemark(PrecisionReason::ConstantCast, value.getLoc(),
                               getFunctionName(maker))) {
    const RemarkInfo &info = getRemarkInfo(PrecisionReason::ConstantCast);
    remark << RemarkArg("Op", maker->getName().getStringRef())
           << RemarkArg("Reason", numbers.getObstacle())
           << RemarkArg("Suggestion", StringRef(info.hint))
           << RemarkArg("Bytes", plan.getCastBytes(cast.value));
  }
}

void mpt::emitPrecisionRemarks(const PrecisionPlan &plan,
                               const PrecisionPlanner &planner) {
  if (!planner.root->getContext()->getRemarkEngine())
    return;
  // mpt-opt has an engine in any case, which may not want these: what is not emitted
  // once is of a kind that is not.
  SmallVector<StringRef, 4> unwanted;
  auto isUnwanted = [&](PrecisionReason reason) {
    return !unwanted.empty() && llvm::is_contained(unwanted, getRemarkInfo(reason).kind);
  };
  // Not yet asked, wanted, not wanted.
  SmallVector<int8_t, 64> answers(256, -1);
  const PrecisionGraph &graph = plan.getGraph();
  SmallVector<uint32_t> top;
  for (auto [vertex, count] : findBlockers(plan))
    top.push_back(vertex);
  Counterfactuals changes(plan, planner, top);
  for (uint32_t v : sortByProgram(graph, planner.root)) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    const PrecisionReason reason = plan[v].reason;
    int8_t &answer = answers[uint8_t(reason)];
    if (answer < 0)
      answer = isUnwanted(reason);
    if (answer != 0)
      continue;
    auto remark = emitRemark(reason, vertex.op->getLoc(), getFunctionName(vertex.op));
    const RemarkInfo &info = getRemarkInfo(reason);
    if (!remark) {
      unwanted.push_back(info.kind);
      answer = 1;
      continue;
    }
    remark << RemarkArg("Op", vertex.op->getName().getStringRef())
           << RemarkArg("Reason", StringRef(info.text))
           << RemarkArg("Class", describeClass(vertex));
    const uint32_t decider = findDecider(plan, v);
    Operation *op = graph.getVertices()[decider].op;
    std::string change = changes.describe(decider);
    if (plan[v].via != kNone) {
      std::string chain;
      unsigned steps = 0;
      for (uint32_t at = plan[v].via; at != kNone && steps <= kMostSteps;
           at = plan[at].via, ++steps)
        chain += (steps ? " <- " : "") +
                 (steps == kMostSteps
                      ? std::string("...")
                      : graph.getVertices()[at].op->getName().getStringRef().str());
      remark << RemarkArg("Chain", chain);
    }
    StringRef hint = info.hint;
    std::string suggestion;
    if (reason == PrecisionReason::BehindDenied)
      suggestion = llvm::formatv(info.hint, op->getName().getStringRef(),
                                 describeLocation(op->getLoc()), change);
    else if (reason == PrecisionReason::Denied)
      suggestion = planner.policy->lookup(op).isMovable(op)
                       ? llvm::formatv(info.hint, change).str()
                       : "there is no low form of it";
    else
      suggestion = hint.str();
    if (!suggestion.empty())
      remark << RemarkArg("Suggestion", StringRef(suggestion).rtrim("; "));
    if (std::optional<Counterfactuals::Change> numbers =
            reason == PrecisionReason::Denied ? changes.get(v) : std::nullopt)
      remark << RemarkArg("CastsAdded", numbers->casts)
             << RemarkArg("BytesAdded", numbers->bytes)
             << RemarkArg("LowOpsAdded", numbers->lowOps);
  }
  if (!isUnwanted(PrecisionReason::CastInserted))
    plan.forEachCast([&](const PrecisionPlan::Cast &cast) {
      emitCast(plan, planner.policy->getLowType(), cast);
    });
  if (!isUnwanted(PrecisionReason::ConstantCast))
    plan.forEachCast([&](const PrecisionPlan::Cast &cast) {
      emitConstantCast(plan, planner.policy->getRules(), cast);
    });
  for (auto &[name, entry] : graph.getUnlisted()) {
    auto remark = emitRemark(PrecisionReason::UnlistedOp, entry.first->getLoc(),
                             getFunctionName(entry.first));
    if (!remark)
      continue;
    const RemarkInfo &info = getRemarkInfo(PrecisionReason::UnlistedOp);
    remark << RemarkArg("Op", name.getStringRef())
           << RemarkArg("Reason", StringRef(info.text))
           << RemarkArg("Suggestion", llvm::formatv(info.hint, name.getStringRef()).str())
           << RemarkArg("Count", entry.count);
  }
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

unsigned mpt::explainPrecision(const PrecisionPlan &plan, const PrecisionPlanner &planner,
                               const llvm::Regex &pattern) {
  const PrecisionGraph &graph = plan.getGraph();
  SmallVector<uint32_t> matched;
  SmallVector<uint32_t> denied;
  for (uint32_t v : sortByProgram(graph, planner.root)) {
    if (!pattern.match(describePlace(graph.getVertices()[v].op)))
      continue;
    matched.push_back(v);
    const uint32_t decider = findDecider(plan, v);
    if (plan[decider].reason == PrecisionReason::Denied && denied.size() < 10 &&
        !llvm::is_contained(denied, decider))
      denied.push_back(decider);
  }
  Counterfactuals changes(plan, planner, denied);
  for (uint32_t v : matched) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    auto name = [](PrecisionReason reason) { return getRemarkInfo(reason).name; };
    InFlightDiagnostic remark = vertex.op->emitRemark();
    remark << "'" << vertex.op->getName() << "' "
           << (plan.isLow(v) ? "runs low: " : "stays f32: ") << getText(plan[v].reason)
           << " (" << describeClass(vertex) << ") [" << name(plan[v].reason) << "]";
    unsigned steps = 0;
    for (uint32_t at = plan[v].via; at != kNone && steps < kMostSteps;
         at = plan[at].via, ++steps) {
      Operation *op = graph.getVertices()[at].op;
      remark.attachNote(op->getLoc())
          << "because of '" << op->getName() << "', " << getText(plan[at].reason) << " ["
          << name(plan[at].reason) << "]";
    }
    const uint32_t decider = findDecider(plan, v);
    std::string change = changes.describe(decider);
    if (!change.empty()) {
      Operation *op = graph.getVertices()[decider].op;
      remark.attachNote(op->getLoc()) << "'" << op->getName() << "': " << change;
    }
  }
  return matched.size();
}

//===----------------------------------------------------------------------===//
// The plan as text
//===----------------------------------------------------------------------===//

void mpt::printPrecisionPlan(const PrecisionPlan &plan, Operation *root,
                             llvm::raw_ostream &os) {
  const PrecisionGraph &graph = plan.getGraph();
  std::optional<StringRef> function;
  for (uint32_t v : sortByProgram(graph, root)) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    StringRef in = getFunctionName(vertex.op);
    if (in != function)
      os << "@" << in << "\n";
    function = in;
    os << "  " << v << ": " << vertex.op->getName() << (vertex.isJoin ? " (join)" : "")
       << " " << (plan.isLow(v) ? "low " : "f32 ") << stringifyRemarkId(plan[v].reason);
    if (plan[v].via != kNone)
      os << " via " << plan[v].via;
    os << ", " << describeClass(vertex) << ", " << describeLocation(vertex.op->getLoc())
       << "\n";
  }
  plan.forEachCast([&](const PrecisionPlan::Cast &cast) {
    const PrecisionGraph::ValueNode &node = graph.getValues()[cast.value];
    os << "cast " << (cast.toLow ? "down" : "up") << ": " << describeValue(node.value);
    if (node.producer == PrecisionGraph::Producer::Vertex)
      os << " (" << node.vertex << ")";
    os << ", for " << cast.reader->operand->getOwner()->getName();
    if (cast.reader->vertex != kNone)
      os << " (" << cast.reader->vertex << ")";
    os << ", " << plan.getCastBytes(cast.value) << " bytes\n";
  });
}
