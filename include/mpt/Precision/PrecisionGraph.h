//===- PrecisionGraph.h - Values that must share a precision ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A module as autocast sees it. A vertex is what has one precision: the f32
/// operands and results of an op that share an element type, or the values that
/// a loop, a conditional or a branch joins (initial value, block arguments,
/// what is yielded, result). A value is a tensor of f32 or of the low type with
/// what makes it and what reads it. MPT's own casts are looked through, so that a
/// graph that was cast before looks as it did then. Pure: the IR is not
/// changed. Built in one walk, linear in ops and operands.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_PRECISIONGRAPH_H
#define MPT_PRECISION_PRECISIONGRAPH_H

#include "mpt/Precision/ElementTypes.h"
#include "mpt/Precision/PrecisionPolicy.h"
#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace mpt {

/// True for a cast that autocast made.
bool isOwnCast(mlir::Operation *op);

class PrecisionGraph {
public:
  static constexpr uint32_t kNone = ~uint32_t(0);

  struct Vertex {
    /// The op; for a join, the op or block that joins.
    mlir::Operation *op = nullptr;
    PrecisionClass precisionClass = PrecisionClass::Fixed;
    RuleSource source = RuleSource::Unlisted;
    bool isJoin = false;
    /// Stays as it is, though neighbours see its class.
    bool kept = false;
    /// Has the low type already.
    bool pinned = false;
    bool contraction = false;
    /// Takes what its neighbours have, but not from a variable next to it.
    bool readsVariable = false;
    /// What reads it goes round a loop: no cast in between.
    bool recurrent = false;
    /// Reads a constant that is not a tensor and that the low type cannot hold.
    bool unfitScalar = false;
    /// ... since it would be infinite.
    bool infiniteScalar = false;
    /// Multiplies what sums in f32 alone read (mpt.mul before mpt.reduce): squares of
    /// what f16 holds need not fit it.
    bool feedsSums = false;
    /// More of the op than its operands and results depends on its type: regions,
    /// attributes, its name.
    bool hasTypedParts = false;
  };

  /// Who makes a value.
  enum class Producer : uint8_t {
    /// Nobody that can change: an argument, an unlisted op.
    Fixed,
    Vertex,
    /// A constant, or an op on constants that is cheaper to repeat than to cast.
    Constant,
    /// A cast from integers or bits, which can make the low type as well.
    Cast,
  };

  struct ValueNode {
    mlir::Value value;
    /// A user's exact widening of this low value, which low readers may read.
    mlir::Value lowSource;
    uint64_t elements = 0;
    /// For Producer::Vertex.
    uint32_t vertex = kNone;
    Producer producer = Producer::Fixed;
    /// Loops around the place where it is made.
    uint8_t loopDepth = 0;
    /// f32 or low at no cost where its vertex is low.
    bool wide = false;
    /// f32 whatever its vertex is.
    bool alwaysF32 = false;
    /// The type is low now.
    bool isLow = false;
    /// Constants, and casts from integers: if low, it may be MPT that made it so.
    bool maybeOurs = false;
    /// Constants: converted, no element becomes infinite or, unless it is zero,
    /// zero; nor, where all are one number, 1 or -1.
    bool fitsLow = true;
    /// Constants that do not fit since a number would be infinite.
    bool overflows = false;
    /// Read as it comes by an op that takes any type.
    bool readAny = false;
    /// A handle to a list, which cannot be cast.
    bool isList = false;
    /// Constants that do not fit since numbers become zero, each of which is less than
    /// what rounding takes from the largest.
    bool losesLittle = false;
  };

  struct Use {
    mlir::OpOperand *operand;
    /// kNone if the reader keeps the type.
    uint32_t vertex;
    /// The reader, low or f32, takes the value as it is: no cast is made. It
    /// rounds what is f32 itself.
    bool loose = false;
    /// The reader is a sum in f32, or multiplies for such sums alone. Kernels widen what
    /// they add while they read it.
    bool summed = false;
  };

  /// Vertices among which no cast can stand: what works on one list by its
  /// handles, or what goes round a loop with all that reads it.
  struct Cluster {
    std::vector<uint32_t> members;
    /// Also something outside the graph works on it: it must stay f32.
    bool escapes = false;
    bool isList = false;
  };

  struct Options {
    /// Sees what TensorFlow's pass sees: an op that makes what a function returns
    /// is kept where its dialect says so, and what is low already ends all paths.
    bool likeGrappler = false;
    /// Private functions whose uses are all known calls may change their types:
    /// what is passed and what is returned joins at all calls.
    bool specializeCalls = false;
    /// Constants are converted at compile time: no casts.
    bool foldConstants = true;
  };
  /// Builds the graph of all functions of `root`.
  PrecisionGraph(mlir::Operation *root, PrecisionPolicy &policy, Options options);

  llvm::ArrayRef<Vertex> getVertices() const { return vertices; }
  llvm::ArrayRef<ValueNode> getValues() const { return values; }
  /// The uses of a value by ports that follow or keep a type.
  llvm::ArrayRef<Use> getUses(uint32_t value) const {
    return llvm::ArrayRef(uses).slice(useBegin[value],
                                      useBegin[value + 1] - useBegin[value]);
  }
  /// The values that a vertex reads, and those that it makes.
  llvm::ArrayRef<uint32_t> getConsumed(uint32_t vertex) const {
    return llvm::ArrayRef(consumed).slice(
        consumedBegin[vertex], consumedBegin[vertex + 1] - consumedBegin[vertex]);
  }
  llvm::ArrayRef<uint32_t> getProduced(uint32_t vertex) const {
    return llvm::ArrayRef(produced).slice(
        producedBegin[vertex], producedBegin[vertex + 1] - producedBegin[vertex]);
  }
  /// The vertex of `op` if it has one that is not a join; kNone otherwise. Looks at all.
  uint32_t getVertex(mlir::Operation *op) const {
    auto found = llvm::find_if(vertices, [&](const Vertex &vertex) {
      return vertex.op == op && !vertex.isJoin;
    });
    return found == vertices.end() ? kNone : found - vertices.begin();
  }

  /// Every vertex whose values `vertex` reads, once for each; and every one that reads
  /// its values, once for each use.
  llvm::ArrayRef<uint32_t> getInputs(uint32_t vertex) const {
    return llvm::ArrayRef(inputs).slice(inputsBegin[vertex],
                                        inputsBegin[vertex + 1] - inputsBegin[vertex]);
  }
  llvm::ArrayRef<uint32_t> getOutputs(uint32_t vertex) const {
    return llvm::ArrayRef(outputs).slice(outputsBegin[vertex],
                                         outputsBegin[vertex + 1] - outputsBegin[vertex]);
  }

  /// Disjoint.
  llvm::ArrayRef<Cluster> getClusters() const { return clusters; }

  /// Ops of one name that no rule, list or interface knows and that read or make
  /// f32 tensors.
  struct Unlisted {
    mlir::Operation *first = nullptr;
    unsigned count = 0;
  };
  /// In the order of their first appearance.
  const llvm::MapVector<mlir::OperationName, Unlisted> &getUnlisted() const {
    return unlisted;
  }
  /// The functions whose types may change, in order of their calls.
  llvm::ArrayRef<mlir::Operation *> getSpecialized() const { return specialized; }
  /// The calls of these functions; one that names several is there for each.
  llvm::ArrayRef<mlir::Operation *> getSpecializedCalls() const {
    return specializedCalls;
  }
  /// MPT's casts that were there already.
  llvm::ArrayRef<mlir::Operation *> getOwnCasts() const { return ownCasts; }
  /// The user's casts from f32 to f32, whose readers have the value that those read.
  llvm::ArrayRef<mlir::Operation *> getEmptyCasts() const { return emptyCasts; }

  /// What the module's kPaintedOverheadAttr says.
  std::optional<uint64_t> getPaintedOverhead() const { return paintedOverhead; }

private:
  friend class PrecisionGraphBuilder;
  std::optional<uint64_t> paintedOverhead;
  std::vector<Vertex> vertices;
  std::vector<ValueNode> values;
  std::vector<Use> uses;
  std::vector<uint32_t> useBegin, consumed, consumedBegin, produced, producedBegin;
  std::vector<uint32_t> inputs, inputsBegin, outputs, outputsBegin;
  llvm::MapVector<mlir::OperationName, Unlisted> unlisted;
  std::vector<mlir::Operation *> ownCasts, emptyCasts, specialized, specializedCalls;
  std::vector<Cluster> clusters;
};

} // namespace mpt

#endif // MPT_PRECISION_PRECISIONGRAPH_H
