//===- RowLanesEmitter.h - Kernels with a row in each lane -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CPU_ROWLANESEMITTER_H
#define MPT_LIB_CODEGEN_CPU_ROWLANESEMITTER_H

#include "../Common/KernelEmitter.h"

namespace mpt::detail {

/// Emits kernels whose rows are strided while neighbouring rows lie next to each other,
/// such as the channels of NCHW: a vector has an element of 16 rows, and a loop walks
/// over the columns. Each lane reduces its row in the order of KernelEmitter, so that
/// bits do not depend on how rows lie.
class RowLanesEmitter final : public KernelEmitter {
public:
  explicit RowLanesEmitter(kernel::FuncOp kernel);

  /// Whether rows are short enough, and all that varies along them lies so.
  bool isBetter();

protected:
  void emitRowRange(mlir::OpBuilder &builder, Value first, Value last,
                    Value task) override;
  Frame makeRowFrame(mlir::OpBuilder &builder) override;
  llvm::SmallVector<Value>
  forColumns(mlir::OpBuilder &builder, Frame &rowFrame, mlir::ValueRange init,
             llvm::function_ref<llvm::SmallVector<Value>(Frame &, mlir::ValueRange)> body)
      override;
  bool walksAlongRows() const override { return !inRows; }
  Value finishRowReduction(mlir::OpBuilder &builder, ReduceKind kind,
                           Value vector) override;
  void accumulate(const ColumnPartials &part, Value task, Frame &frame) override;
  Value load(unsigned operand, Frame &frame) override;
  int64_t laneStride(const KernelBuffer &buffer) const override;
  Value repeat(Value rowValue, Frame &frame) override;
  Value indexOf(unsigned dim, mlir::Type element, Frame &frame) override;
  Value keptPlace(Value row, mlir::Type element, Frame &frame) override;
  int64_t getKeptElements() const override { return columns * lanes; }

private:
  /// The dimension that lanes are taken from.
  size_t getRowDim() const { return domain.size() - 2; }

  Value getLaneNumbers(mlir::OpBuilder &builder);

  /// While rows are emitted; what comes after them goes along columns.
  bool inRows = false;
  /// Lanes that have a row; null if all do.
  Value rowMask;
};

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CPU_ROWLANESEMITTER_H
