//===- PrecisionPlan.h - Which ops run in low precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides for each vertex of a PrecisionGraph whether it is low. All strategies
/// are pure and deterministic.
///
/// `paint` is TensorFlow's (tensorflow/core/grappler/optimizers/
/// auto_mixed_precision.cc, AutoMixedPrecisionImpl). In order:
///  1. allowed vertices are painted;
///  2. deny spreads forward through clear and infer vertices, up to the last
///     infer or denied vertex that they lead to;
///  3. infer and clear vertices on a path between two painted ones are painted;
///  4. infer vertices that read a painted one and no denied one are painted, in
///     program order;
///  5. paint spreads through clear vertices both ways;
///  6. all ops on one tensor list share a precision: f32 if any member is denied or
///     the list escapes, otherwise low if any member is low. The f32 case is also
///     applied after 2. A loop-carried value takes the precision of its readers.
///
/// `mincut` first finds what may be low without harm: allowed vertices, infer and
/// stable ones between two of them that deny does not reach (rules 2 and 3),
/// stable ones that read a low value, and clear ones next to a vertex that may be low.
/// Of those it makes the set low whose casts read and write the fewest bytes, with one
/// shared cast per value and direction; of equal sets the largest. Casts that sums in f32
/// alone read move none. Exact, by a minimum cut.
///
/// `promote` is PyTorch's autocast (aten/src/ATen/autocast_mode.h) as type
/// promotion over a whole graph: allowed vertices are low, denied ones f32, and all
/// others have the widest type that they read, not counting numbers in the program's
/// text. With `castArguments`, as Apex's O2 and O3, a function's arguments are low for
/// whatever leads to an allowed vertex: the model was cast.
///
/// `none` leaves everything in f32.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_PRECISIONPLAN_H
#define MPT_PRECISION_PRECISIONPLAN_H

#include "mpt/Precision/PrecisionGraph.h"
#include "mpt/Precision/RangeProfile.h"
#include "mpt/Support/Remarks.h"
#include <memory>

namespace mpt {

enum class PrecisionStrategy : uint8_t { Paint, MinCut, Promote, None };
std::optional<PrecisionStrategy> symbolizePrecisionStrategy(llvm::StringRef text);

/// Why a vertex has the precision that it has: a remark of the catalogue.
using PrecisionReason = RemarkId;

struct PrecisionDecision {
  bool low = false;
  PrecisionReason reason = PrecisionReason::NotBetween;
  /// The vertex that made it so (the next one on the way to the denied op, or
  /// to the low neighbour); kNone if it is the vertex itself.
  uint32_t via = PrecisionGraph::kNone;
};

/// What a cast costs, in bytes.
struct CastCost {
  /// Added for each cast to the bytes that it moves: what a core moves in the
  /// microsecond that it takes to start one.
  uint64_t overhead = 16384;
  /// A cast in a loop counts 2^loopShift times for each loop around it.
  unsigned loopShift = 3;
  /// What an op with f32 results reads low without a cast costs as a cast would: for
  /// the digits that were lost before it.
  bool loosePays = true;

  /// A cast that f32 sums alone read moves no bytes (PrecisionGraph::Use::summed).
  bool sumsWiden = true;

  /// Bytes, and the same for each cast wherever it is.
  static CastCost getFlat(uint64_t overhead) { return {overhead, 0, false, false}; }
};

class PrecisionPlan {
public:
  PrecisionPlan(const PrecisionGraph &graph) : graph(&graph) {
    vertices.resize(graph.getVertices().size());
  }
  const PrecisionGraph &getGraph() const { return *graph; }
  PrecisionDecision &operator[](uint32_t vertex) { return vertices[vertex]; }
  const PrecisionDecision &operator[](uint32_t vertex) const { return vertices[vertex]; }
  bool isLow(uint32_t vertex) const { return vertices[vertex].low; }
  /// True if the reader wants the low type.
  bool wantsLow(const PrecisionGraph::Use &use) const {
    return use.vertex != PrecisionGraph::kNone && vertices[use.vertex].low;
  }
  /// True if the value itself has the low type, given what its vertex and its
  /// readers are.
  bool isValueLow(uint32_t value) const;
  /// What a cast of `value` moves: all its elements are read in one type and
  /// written in the other.
  uint64_t getCastBytes(uint32_t value) const {
    return graph->getValues()[value].elements * 6;
  }

  /// A cast that the plan needs.
  struct Cast {
    uint32_t value;
    bool toLow;
    /// The first reader that wants the other type.
    const PrecisionGraph::Use *reader;
  };
  /// Calls `visit(cast)` for each cast, in the order of values, those to the low
  /// type first.
  void forEachCast(llvm::function_ref<void(const Cast &)> visit) const;
  /// The casts that the plan needs.
  struct Casts {
    uint64_t down = 0, up = 0, bytes = 0;
  };
  Casts countCasts() const;
  /// What the casts cost, and what contractions forgo that stay f32 to avoid casts.
  uint64_t getCost(const CastCost &cost) const;
  void setForgone(uint64_t gains) { forgone = gains; }
  /// For a plan by mincut: no assignment that its rules permit costs less, proved by
  /// the maximum flow that was found with the plan. As much as the plan costs.
  std::optional<uint64_t> getProvedMinimum() const { return provedMinimum; }
  void setProvedMinimum(uint64_t cost) { provedMinimum = cost; }
  /// For a plan by mincut made among all that paint makes low, see planPrecision: what a
  /// cast cost in addition to its bytes.
  std::optional<uint64_t> getPaintedOverhead() const { return paintedOverhead; }
  void setPaintedOverhead(uint64_t overhead) { paintedOverhead = overhead; }

private:
  const PrecisionGraph *graph;
  std::vector<PrecisionDecision> vertices;
  std::optional<uint64_t> provedMinimum;
  uint64_t forgone = 0;
  std::optional<uint64_t> paintedOverhead;
};

/// Vertices that stay f32, each with the reason (PrecisionExceptions.h).
using PrecisionExceptions = std::vector<std::pair<uint32_t, PrecisionReason>>;

struct PrecisionPlanOptions {
  PrecisionStrategy strategy = PrecisionStrategy::MinCut;
  /// A vertex that reads a constant which the low type cannot hold stays f32.
  bool checkConstants = true;
  /// For `promote`.
  bool castArguments = false;
  PrecisionExceptions exceptions;
  /// What mincut makes as small as it can.
  CastCost cost;
  /// Mincut chooses among what paint makes low whatever paint's bytes are, and a cast
  /// costs this in addition to its bytes.
  std::optional<uint64_t> paintedOverhead;
  /// What an allowed vertex forgoes, in bytes, if it stays f32 (CastProfitability.h);
  /// empty: all allowed vertices are low. For mincut.
  std::vector<uint64_t> gains;
  /// Values recorded in a profile. What makes or reads one that is out of range
  /// stays f32, but for a maker that can return f32 from low operands; what only
  /// passes on its elements is as if recorded.
  std::shared_ptr<const MatchedRanges> ranges;
};

/// Plans by `options.strategy`. Mincut's rules leave some ops f32 that paint makes low,
/// and count casts as well as bytes. Where paint's casts would read and write fewer bytes
/// for the same contractions, mincut plans again: it may choose every op that paint makes
/// low, and the cost of a cast that does not depend on its bytes is lowered until the
/// plan has no more bytes than paint's. So no plan by mincut has more bytes of casts than
/// one by paint. Mincut also plans again where there are as many casts as values that
/// contractions read and make, and takes that plan if it has fewer casts and no more
/// bytes. A module that was planned so is marked (kPaintedOverheadAttr), and later runs
/// plan it in the same way.
PrecisionPlan planPrecision(const PrecisionGraph &graph,
                            const PrecisionPlanOptions &options);

} // namespace mpt

#endif // MPT_PRECISION_PRECISIONPLAN_H
