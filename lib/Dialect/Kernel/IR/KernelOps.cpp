//===- KernelOps.cpp - The mpt_kernel dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../MPT/IR/StrictModel.h"
#include "../../MPT/IR/TypeInference.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"

#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;
using namespace mpt::kernel;

#include "mpt/Dialect/Kernel/IR/KernelDialect.cpp.inc"
#include "mpt/Dialect/Kernel/IR/KernelEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mpt/Dialect/Kernel/IR/KernelAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "mpt/Dialect/Kernel/IR/KernelOps.cpp.inc"

void KernelDialect::initialize() {
  addStrictOperations<
#define GET_OP_LIST
#include "mpt/Dialect/Kernel/IR/KernelOps.cpp.inc"
      >(this);
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mpt/Dialect/Kernel/IR/KernelAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>> mpt::kernel::getLinearCoefficients(AffineExpr expr,
                                                                   unsigned numDims) {
  // The flattener gives every division or remainder a variable of its own.
  SimpleAffineExprFlattener flattener(numDims, /*numSymbols=*/0);
  if (!expr.isPureAffine() || failed(flattener.walkPostOrder(expr)) ||
      flattener.numLocals != 0)
    return failure();
  SmallVector<int64_t> coefficients(flattener.operandExprStack.back().begin(),
                                    flattener.operandExprStack.back().end());
  return coefficients;
}

/// Whether `type` begins where its buffer does and has strides of at least 1.
static bool hasStaticStrides(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  return succeeded(type.getStridesAndOffset(strides, offset)) && offset == 0 &&
         llvm::all_of(strides, [](int64_t stride) { return stride >= 1; });
}

/// Checks one indexing map: affine over the domain's dimensions without
/// divisions, with every index inside the tensor.
static LogicalResult verifyMap(Operation *op, AffineMap map, Type type,
                               ArrayRef<int64_t> domain, StringRef what) {
  auto tensor = cast<ShapedType>(type);
  if (map.getNumDims() != domain.size() || map.getNumSymbols() != 0 ||
      static_cast<int64_t>(map.getNumResults()) != tensor.getRank())
    return op->emitOpError("expected a map of ")
           << domain.size() << " dimensions to " << tensor.getRank() << " indices for "
           << what << " " << type << ", found " << AffineMapAttr::get(map);
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    FailureOr<SmallVector<int64_t>> linear = getLinearCoefficients(expr, domain.size());
    if (failed(linear))
      return op->emitOpError("expected indices that are sums of dimensions "
                             "times constants, found ")
             << AffineMapAttr::get(map);
    ArrayRef<int64_t> coefficients = *linear;
    // Domains and constants come from the file: sums may not overflow.
    std::optional<int64_t> low = coefficients.back(), high = coefficients.back();
    for (size_t d = 0; d < domain.size(); ++d) {
      std::optional<int64_t> &end = coefficients[d] < 0 ? low : high;
      if (end)
        end = llvm::checkedMulAdd(coefficients[d], domain[d] - 1, *end);
    }
    if (!low || !high)
      return op->emitOpError("expected indices below 2^63, found ")
             << AffineMapAttr::get(map) << " over the domain " << shapeToString(domain);
    if (*low < 0 || *high >= tensor.getDimSize(i))
      return op->emitOpError("expected index ")
             << i << " of " << what << " " << type << " in [0, " << tensor.getDimSize(i)
             << "), found " << *low << " to " << *high;
  }
  return success();
}

/// Checks what mpt_kernel.kernel and mpt_kernel.func have in common.
static LogicalResult verifyKernel(Operation *op, Region &region, KernelKind kind,
                                  ArrayRef<int64_t> domain, int64_t chunkRows,
                                  ArrayAttr operandMaps, ArrayAttr resultMaps,
                                  TypeRange operands, TypeRange results) {
  if (failed(checkAtLeast(op, domain, "domain", 1)) ||
      failed(checkAtLeast(op, chunkRows, "chunk_rows", 1)))
    return failure();
  if (!countElements(domain))
    return op->emitOpError("expected a domain of fewer than 2^63 points, found ")
           << shapeToString(domain);
  if (operandMaps.size() != operands.size() || resultMaps.size() != results.size())
    return op->emitOpError("expected a map for each of ")
           << operands.size() << " operands and " << results.size() << " results, found "
           << operandMaps.size() << " and " << resultMaps.size();
  auto verifySide = [&](ArrayAttr maps, TypeRange types,
                        StringRef what) -> LogicalResult {
    for (auto [attribute, type] : llvm::zip(maps, types)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      auto strided = dyn_cast<MemRefType>(type);
      const bool isStrided = strided && what == "result" && isa<FuncOp>(op) &&
                             strided.hasStaticShape() && hasStaticStrides(strided);
      if (!isStrided && (!tensor || !tensor.hasStaticShape()))
        return op->emitOpError("expected ranked tensors of static shape, found ") << type;
      if (failed(verifyMap(op, cast<AffineMapAttr>(attribute).getValue(), type, domain,
                           what)))
        return failure();
    }
    return success();
  };
  if (failed(verifySide(operandMaps, operands, "operand")) ||
      failed(verifySide(resultMaps, results, "result")))
    return failure();
  // Maps are injective where it matters or repeat an element; they never write more
  // elements than there are points.
  const int64_t points = *countElements(domain);
  for (Type type : results)
    if (cast<ShapedType>(type).getNumElements() > points)
      return op->emitOpError("expected results of at most as many elements as the domain "
                             "has points (")
             << points << "), found " << type;
  Block &body = region.front();
  if (body.getNumArguments() != operands.size())
    return op->emitOpError("expected a body argument for each of ")
           << operands.size() << " operands, found " << body.getNumArguments();
  for (auto [argument, type] : llvm::zip(body.getArguments(), operands))
    if (argument.getType() != cast<RankedTensorType>(type).getElementType())
      return op->emitOpError("expected body arguments of the operands' element "
                             "types, found ")
             << argument.getType() << " for " << type;
  auto yield = dyn_cast<kernel::YieldOp>(body.back());
  if (!yield)
    return op->emitOpError("expected mpt_kernel.yield at the body's end, found '")
           << body.back().getName() << "'";
  if (yield.getValues().size() != results.size())
    return op->emitOpError("expected mpt_kernel.yield of ")
           << results.size() << " values, found " << yield.getValues().size();
  for (auto [value, type] : llvm::zip(yield.getValues(), results))
    if (value.getType() != cast<ShapedType>(type).getElementType())
      return op->emitOpError("expected yielded values of the results' element "
                             "types, found ")
             << value.getType() << " for " << type;
  for (Operation &bodyOp : body) {
    bool fits = isa<RowReduceOp>(bodyOp)      ? kind != KernelKind::Pointwise
                : isa<ColumnReduceOp>(bodyOp) ? kind == KernelKind::Column
                                              : true;
    if (!fits)
      return bodyOp.emitOpError("expected in a kernel of kind 'column'")
             << (isa<RowReduceOp>(bodyOp) ? " or 'row'" : "") << ", found '"
             << stringifyKernelKind(kind) << "'";
    if (auto index = dyn_cast<kernel::IndexOp>(bodyOp)) {
      int64_t dim = index.getDim(), rank = domain.size();
      if (dim < 0 || dim >= rank)
        return index.emitOpError("expected a dimension in [0, ")
               << rank << "), found " << dim;
    }
  }
  return success();
}

LogicalResult kernel::KernelOp::verify() {
  return verifyKernel(*this, getBody(), getKind(), getDomain(), getChunkRows(),
                      getOperandMaps(), getResultMaps(), getInputs().getTypes(),
                      getOutputs().getTypes());
}

LogicalResult kernel::FuncOp::verify() {
  return verifyKernel(*this, getBody(), getKind(), getDomain(), getChunkRows(),
                      getOperandMaps(), getResultMaps(), getFunctionType().getInputs(),
                      getFunctionType().getResults());
}
