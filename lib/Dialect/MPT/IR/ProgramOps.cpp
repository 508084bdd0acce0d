//===- ProgramOps.cpp - Kernels and planned programs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"

#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>> mpt::getLinearCoefficients(AffineExpr expr,
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

/// Checks one indexing map: affine over the domain's dimensions without
/// divisions, with every index inside the tensor.
static LogicalResult verifyMap(Operation *op, AffineMap map, Type type,
                               ArrayRef<int64_t> domain, StringRef what) {
  auto tensor = cast<RankedTensorType>(type);
  if (map.getNumDims() != domain.size() || map.getNumSymbols() != 0 ||
      static_cast<int64_t>(map.getNumResults()) != tensor.getRank())
    return op->emitOpError("expected a map of ")
           << domain.size() << " dimensions to " << tensor.getRank()
           << " indices for " << what << " " << type << ", found "
           << AffineMapAttr::get(map);
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    FailureOr<SmallVector<int64_t>> linear =
        getLinearCoefficients(expr, domain.size());
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
             << AffineMapAttr::get(map) << " over the domain "
             << shapeToString(domain);
    if (*low < 0 || *high >= tensor.getDimSize(i))
      return op->emitOpError("expected index ")
             << i << " of " << what << " " << type << " in [0, "
             << tensor.getDimSize(i) << "), found " << *low << " to " << *high;
  }
  return success();
}

/// Checks what mpt.kernel and mpt.kernel_func have in common.
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
           << operands.size() << " operands and " << results.size()
           << " results, found " << operandMaps.size() << " and "
           << resultMaps.size();
  auto verifySide = [&](ArrayAttr maps, TypeRange types,
                        StringRef what) -> LogicalResult {
    for (auto [attribute, type] : llvm::zip(maps, types)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape())
        return op->emitOpError("expected ranked tensors of static shape, found ")
               << type;
      if (failed(verifyMap(op, cast<AffineMapAttr>(attribute).getValue(), type,
                           domain, what)))
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
    if (cast<RankedTensorType>(type).getNumElements() > points)
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
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield)
    return op->emitOpError("expected mpt.yield at the body's end, found '")
           << body.back().getName() << "'";
  if (yield.getValues().size() != results.size())
    return op->emitOpError("expected mpt.yield of ")
           << results.size() << " values, found " << yield.getValues().size();
  for (auto [value, type] : llvm::zip(yield.getValues(), results))
    if (value.getType() != cast<RankedTensorType>(type).getElementType())
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
    if (auto index = dyn_cast<IndexOp>(bodyOp)) {
      int64_t dim = index.getDim(), rank = domain.size();
      if (dim < 0 || dim >= rank)
        return index.emitOpError("expected a dimension in [0, ")
               << rank << "), found " << dim;
    }
  }
  return success();
}

LogicalResult KernelOp::verify() {
  return verifyKernel(*this, getBody(), getKind(), getDomain(), getChunkRows(),
                      getOperandMaps(), getResultMaps(), getInputs().getTypes(),
                      getOutputs().getTypes());
}

LogicalResult KernelFuncOp::verify() {
  return verifyKernel(*this, getBody(), getKind(), getDomain(), getChunkRows(),
                      getOperandMaps(), getResultMaps(),
                      getFunctionType().getInputs(),
                      getFunctionType().getResults());
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  for (auto [name, bytes] : {std::pair<StringRef, int64_t>{"arena_bytes", getArenaBytes()},
                             {"state_bytes", getStateBytes()},
                             {"output_bytes", getOutputBytes()}})
    if (bytes < 0)
      return emitOpError("expected ") << name << " of at least 0, found " << bytes;
  if (static_cast<int64_t>(getMaxThreads()) < 1)
    return emitOpError("expected max_threads of at least 1, found ")
           << static_cast<int64_t>(getMaxThreads());
  for (Operation &op : getBody().front())
    if (!isa<SlotOp, LaunchOp, CallOp>(op) && op.getName().getDialectNamespace() != "mpt_program")
      return op.emitOpError("found in a mpt.program: expected only mpt.slot, "
                            "mpt.launch and the calls of mpt_program");
  return success();
}

LogicalResult SlotOp::verify() {
  auto type = cast<MemRefType>(getBuffer().getType());
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return emitOpError("expected a packed buffer of static shape, found ") << type;
  if (getSpace() == Space::Constant && !getValue())
    return emitOpError("expected 'value' in the constant space, found none");
  int64_t offset = getOffset();
  if (offset < 0)
    return emitOpError("expected an offset of at least 0, found ") << offset;
  if (getSpace() != Space::Input && getSpace() != Space::Constant &&
      offset % 64 != 0)
    return emitOpError("expected an offset that is a multiple of 64, found ")
           << offset;
  auto program = cast<ProgramOp>((*this)->getParentOp());
  int64_t width = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  std::optional<int64_t> end = countElements(type.getShape());
  if (end)
    end = llvm::checkedMulAdd(*end, width, offset);
  if (!end)
    return emitOpError("expected a buffer that ends below byte 2^63, found ")
           << type << " at " << offset;
  int64_t limit = getSpace() == Space::Arena    ? program.getArenaBytes()
                  : getSpace() == Space::State  ? program.getStateBytes()
                  : getSpace() == Space::Output ? program.getOutputBytes()
                                                : -1;
  if (limit >= 0 && *end > limit)
    return emitOpError("expected to end within the ")
           << limit << " bytes of its space, found its end at " << *end;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!symbol)
    return emitOpError("expected a mpt.kernel_func named ")
           << getKernelAttr() << ", found nothing of that name";
  // Once kernels are lowered their names belong to functions.
  auto kernel = dyn_cast<KernelFuncOp>(symbol);
  if (!kernel && isa<FunctionOpInterface>(symbol))
    return success();
  if (!kernel)
    return emitOpError("expected ")
           << getKernelAttr() << " to be a mpt.kernel_func, found '"
           << symbol->getName() << "'";
  auto matches = [](TypeRange buffers, TypeRange tensors) {
    if (buffers.size() != tensors.size())
      return false;
    for (auto [buffer, tensor] : llvm::zip(buffers, tensors))
      if (cast<ShapedType>(buffer).getShape() != cast<ShapedType>(tensor).getShape() ||
          cast<ShapedType>(buffer).getElementType() !=
              cast<ShapedType>(tensor).getElementType())
        return false;
    return true;
  };
  if (!matches(getInputs().getTypes(), kernel.getFunctionType().getInputs()) ||
      !matches(getOutputs().getTypes(), kernel.getFunctionType().getResults()))
    return emitOpError("expected buffers as in ")
           << kernel.getFunctionType() << ", found " << getInputs().getTypes()
           << " and " << getOutputs().getTypes();
  int64_t rows = 1;
  for (int64_t size : kernel.getDomain().drop_back(kernel.getDomain().empty() ? 0 : 1))
    rows *= size;
  int64_t tasks = llvm::divideCeil(rows, kernel.getChunkRows());
  if (static_cast<int64_t>(getTasks()) != tasks)
    return emitOpError("expected ")
           << tasks << " tasks, found " << static_cast<int64_t>(getTasks());
  bool isColumn = kernel.getKind() == KernelKind::Column;
  if (isColumn != (getPartials() != nullptr))
    return emitOpError("expected ")
           << (isColumn ? "partials" : "no partials") << " for a kernel of kind '"
           << stringifyKernelKind(kernel.getKind()) << "', found "
           << (isColumn ? "none" : "some");
  return success();
}

LogicalResult CallOp::verify() {
  // Products on GPUs may save something, or sum a bias's gradient.
  bool savesMore = getCallee() == Callee::Matmul && getConfig().get("gpu_epilogue") &&
                   getOutputs().size() == 2;
  if (getOutputs().size() != 1 && !savesMore)
    return emitOpError("expected one output, found ") << getOutputs().size();
  return success();
}
