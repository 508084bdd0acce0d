//===- KernelEmitter.h - A kernel as loops over vectors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_COMMON_KERNELEMITTER_H
#define MPT_LIB_CODEGEN_COMMON_KERNELEMITTER_H

#include "ByteTables.h"
#include "HalfKeys.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

namespace mpt::detail {

/// Lanes of a vector.
inline constexpr int64_t kLanes = 16;

/// Where an operand or result of a kernel lies: the element at a point is
/// `offset` + the sum of `strides[d]` times the point's index d, in elements.
struct KernelBuffer {
  mlir::Type element;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;

  /// Elements between two columns.
  int64_t columnStride() const { return strides.empty() ? 0 : strides.back(); }
};

/// What an element is loaded and stored as: i1 takes a byte; floats of 8 and 16
/// bits are their bits (LLVM takes masked loads of bf16 vectors apart with
/// conversions that need a library where the processor has none).
mlir::Type storageOf(mlir::Type element);

/// Emits one kernel function. The body is evaluated on demand: for a whole row
/// (scalars), for a vector of columns, or after all rows. What depends on how
/// points are spread over the machine is virtual: here one thread runs a task;
/// GpuKernelEmitter spreads it over threads.
///
/// Dimensions that every buffer walks with one stride are merged first. If that
/// leaves one dimension of a pointwise kernel, its tasks are ranges of whole
/// vectors instead of rows; the last task also runs the tail.
class KernelEmitter {
public:
  /// With `hasManyRegisters` a processor has 32 of `kLanes` lanes of f32, and loads lanes
  /// of any width with a mask.
  explicit KernelEmitter(kernel::FuncOp kernel, bool hasManyRegisters = false);
  virtual ~KernelEmitter() = default;

  /// Checks that the code generator can do every type and op of the body.
  virtual mlir::LogicalResult check();
  /// Emits the function over tasks, and the second stage of column kernels.
  virtual void emit(mlir::OpBuilder &moduleBuilder);

protected:
  using Value = mlir::Value;
  using ValueMap = llvm::DenseMap<Value, Value>;

  /// One place where body values are evaluated.
  struct Frame {
    mlir::OpBuilder *builder = nullptr;
    /// Vector code of this many lanes, or 0 for scalars.
    int64_t lanes = 0;
    /// Column of the first lane; null for scalars.
    Value column;
    /// The lanes' columns as i32, if a loop carries them.
    Value columnNumbers;
    /// Lanes that exist; null if all do.
    Value mask;
    /// Among the frames that one thread of a GPU keeps for its row.
    unsigned number = 0;
    ValueMap values;
    Frame *outer = nullptr;
  };

  Value evaluate(Value value, Frame &frame);
  virtual Value load(unsigned operand, Frame &frame);
  virtual void store(unsigned result, Value value, Frame &frame);
  Value pointerTo(unsigned buffer, Frame &frame);
  Value convertFloat(mlir::OpBuilder &b, Value value, mlir::Type from, mlir::Type to);
  virtual Value cloneOp(mlir::Operation *op, Frame &frame);
  /// Finds what is read from tables, and makes these.
  void emitTables(mlir::ModuleOp module);
  /// A load from `table` for each of the frame's lanes.
  Value lookUp(const ByteTable &table, Frame &frame);
  /// An element's bits as they lie in memory, to and from the element.
  Value fromStorage(mlir::OpBuilder &builder, Value value, mlir::Type element);
  Value toStorage(mlir::OpBuilder &builder, Value value, mlir::Type element);
  virtual Value loadFrom(Value pointer, mlir::Type element, Frame &frame);
  virtual void storeTo(Value pointer, Value value, mlir::Type element, Frame &frame);

  void mergeDimensions();
  void findUniformValues();
  bool isFlat() {
    return kernel.getKind() == kernel::KernelKind::Pointwise && domain.size() == 1;
  }
  virtual void emitTask(mlir::OpBuilder &builder, Value task);
  virtual void emitRowRange(mlir::OpBuilder &builder, Value first, Value last,
                            Value task);
  void emitFlat(mlir::OpBuilder &builder, Value begin, Value end);
  void emitRow(mlir::OpBuilder &builder, Value row, Value task);
  /// Sets `rowIndices`.
  void setRow(mlir::OpBuilder &builder, Value row);
  /// The row at `rowIndices`, or those that a frame of `makeRowFrame` has.
  void emitRowAtIndices(mlir::OpBuilder &builder, Value task);
  /// Runs `body` for all columns: whole vectors, then a masked tail. `init` are
  /// carried values; returns their last ones.
  virtual llvm::SmallVector<Value> forColumns(
      mlir::OpBuilder &builder, Frame &rowFrame, mlir::ValueRange init,
      llvm::function_ref<llvm::SmallVector<Value>(Frame &, mlir::ValueRange)> body);
  /// forColumns from vector `begin` to `end`, without a tail.
  llvm::SmallVector<Value> forVectors(
      mlir::OpBuilder &builder, Frame &rowFrame, Value begin, Value end,
      mlir::ValueRange init,
      llvm::function_ref<llvm::SmallVector<Value>(Frame &, mlir::ValueRange)> body);
  Frame makeFrame(mlir::OpBuilder &builder, Frame &rowFrame, Value column);
  /// Numbers of the first columns, as i32, and by how much they grow in each lane: an
  /// addition takes less than making them of the first one's. What no op reads is removed
  /// later.
  Value getFirstColumns(mlir::OpBuilder &builder);
  Value getColumnStep(mlir::OpBuilder &builder, int64_t step);
  /// forColumns, with loops over longer vectors before if getLongLanes() has a number:
  /// `body` gets frames of `lanes` or of that many. LLVM makes several vectors of one, op
  /// by op, so that a processor has work while it waits for one of them.
  llvm::SmallVector<Value> forLongColumns(
      mlir::OpBuilder &builder, Frame &rowFrame, mlir::ValueRange init,
      llvm::function_ref<llvm::SmallVector<Value>(Frame &, mlir::ValueRange)> body);
  /// Lanes of vectors that are computed side by side, or 0. Four vectors take three
  /// fourths of the time of one after the other where each is a long chain of ops, as
  /// exponentials are. Two that are rounded to bf16 share a branch (`--mpt-expand-bf16`).
  int64_t getLongLanes();
  /// Where values are evaluated that do not vary along a row.
  virtual Frame makeRowFrame(mlir::OpBuilder &builder);
  /// Elements between two lanes.
  virtual int64_t laneStride(const KernelBuffer &buffer) const {
    return buffer.columnStride();
  }
  /// A value of the row frame for the lanes of `frame`.
  virtual Value repeat(Value rowValue, Frame &frame);
  /// The index of dimension `dim` for the lanes of `frame`, as `element`.
  virtual Value indexOf(unsigned dim, mlir::Type element, Frame &frame);
  /// Where `frame`'s lanes lie in a kept row, and how many elements that has.
  virtual Value keptPlace(Value row, mlir::Type element, Frame &frame);
  virtual int64_t getKeptElements() const { return llvm::alignTo(columns, lanes); }
  /// The reduction of a row, from the vector that forColumns has carried.
  virtual Value finishRowReduction(mlir::OpBuilder &builder, ReduceKind kind,
                                   Value vector) {
    return foldLanes(builder, kind, vector);
  }
  /// Adds a point's or row's value of `part` to the task's sum.
  virtual void accumulate(const ColumnPartials &part, Value task, Frame &frame);
  /// Sets `frame`'s value of `part` to the sum over all tasks.
  virtual void sumTasks(const ColumnPartials &part, Frame &frame);
  /// Whether vectors walk over a row, which keep in memory what several walks need, and
  /// not threads.
  virtual bool isForVectors() const { return true; }
  /// Whether lanes are columns of one row; otherwise each has a row of its own.
  virtual bool walksAlongRows() const { return true; }
  /// Comes before stores to what other threads of a row have read.
  virtual void beforeSharedStores(mlir::OpBuilder &) {}
  /// What vectors of `reduce` hold: the largest magnitude is that of the largest bits,
  /// NaN among them, as integers.
  virtual mlir::Type getReducedType(kernel::RowReduceOp reduce) const;
  /// What is reduced, as long as it gives the same: a narrow float instead of its f32.
  virtual Value getReducedValue(kernel::RowReduceOp reduce) const {
    return reduce.getValue();
  }
  /// For extremes of half floats as they lie in memory: how vectors compare them, and
  /// these halves.
  struct HalfExtreme {
    HalfKeys keys;
    mlir::BlockArgument halves;
  };
  std::optional<HalfExtreme> getHalfExtreme(kernel::RowReduceOp reduce) const;
  /// The value of a row with which `op` compares the column's number, if it does.
  std::optional<Value> getComparedColumn(mlir::arith::CmpIOp op);
  /// A sum over a row of what is zero but in one column.
  struct OneOfRow {
    /// A value of the row; no column may have this number.
    Value column;
    /// What that column adds.
    Value value;
  };
  std::optional<OneOfRow> getOneOfRow(kernel::RowReduceOp reduce);
  /// The reduction, if that takes no walk over the row; null otherwise.
  virtual Value reduceAtOnce(mlir::OpBuilder &builder, kernel::RowReduceOp reduce,
                             Frame &rowFrame);
  void emitRowReductions(mlir::OpBuilder &builder, Frame &rowFrame, unsigned level);
  /// Asks for the same columns of the next row of each operand, ahead of the walk that
  /// reads them first.
  void prefetchNextRow(Frame &frame);
  void emitCombine(mlir::OpBuilder &builder);
  Value combine(mlir::OpBuilder &builder, ReduceKind kind, Value a, Value b);
  Value identity(mlir::OpBuilder &builder, ReduceKind kind, mlir::Type type);
  Value foldLanes(mlir::OpBuilder &builder, ReduceKind kind, Value vector);
  Value scale(mlir::OpBuilder &builder, Value value, int64_t count);
  Value partialPointer(mlir::OpBuilder &builder, const ColumnPartials &partials,
                       Value task, Value column);
  /// Calls `body` for all of a task's sums of `part`.
  void forSums(mlir::OpBuilder &builder, const ColumnPartials &part,
               llvm::function_ref<void(Frame &)> body);
  Value blockPointer(mlir::OpBuilder &builder, const ColumnPartials &part, Value column);
  /// Memory of the function being emitted, which lasts until it returns.
  Value allocate(mlir::OpBuilder &builder, mlir::Type element, int64_t count);
  /// The pointer to an element as it is stored, of a row at `row`.
  Value elementOf(mlir::OpBuilder &builder, Value row, mlir::Type element, Value column);
  Value constant(mlir::OpBuilder &builder, int64_t value);
  mlir::Type vectorOf(mlir::Type element, int64_t lanes);
  bool isRowUniform(Value value) const { return rowUniform.contains(value); }
  bool isFull(Value value) const {
    return !isRowUniform(value) && !info.isAfterColumns(value);
  }
  /// The pointers to the elements of `frame`'s lanes, and which lanes exist.
  std::pair<Value, Value> lanePointers(unsigned buffer, Frame &frame);

  kernel::FuncOp kernel;
  KernelInfo info;
  mlir::Block &body;
  mlir::Location loc;
  /// The kernel's domain with dimensions merged.
  llvm::SmallVector<int64_t> domain;
  int64_t rows = 1, columns = 1, tasks, rowsPerTask, lanes;
  llvm::SmallVector<KernelBuffer> buffers;
  /// Values that do not vary along a row of the merged domain.
  llvm::DenseSet<Value> rowUniform;
  /// How many row reductions must come before a value; by value.
  llvm::DenseMap<Value, unsigned> levels;
  unsigned mostLevels = 0;
  /// Of the reductions that forColumns carries; what it carries after them are flags.
  llvm::SmallVector<ReduceKind> reducedKinds;
  /// Whether an op reads the column's number as i32.
  bool countsColumns = false;
  bool hasManyRegisters;
  /// Values that one walk over a row computes and later ones read, with its level.
  llvm::DenseMap<Value, unsigned> keptValues;

  /// What vectors read from tables, which are constants of the module.
  llvm::DenseMap<Value, ByteTable> tables;
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> tableGlobals;

  // Of the function being emitted.
  llvm::SmallVector<Value> pointers;
  Value partials;
  /// Where sums over some rows of a task grow before they are added to the task's.
  llvm::DenseMap<mlir::Operation *, Value> blockSums;
  /// Where values of the current row lie that a walk has kept.
  llvm::DenseMap<Value, Value> keptRows;
  /// Index of the current row along each leading dimension.
  llvm::SmallVector<Value> rowIndices;
  /// In a flat kernel: the columns to run, and whether the tail is among them.
  Value flatBegin, flatEnd, flatTail;
};

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_COMMON_KERNELEMITTER_H
