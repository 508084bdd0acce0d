//===- ProgramOps.cpp - The ops of planned programs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/IR/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Support/ElementCount.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;

#include "mpt/Dialect/Program/IR/LibraryCallOpInterface.cpp.inc"

#define GET_OP_CLASSES
#include "mpt/Dialect/Program/IR/ProgramOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

LogicalResult program::ProgramOp::verify() {
  for (auto [name, bytes] : {std::pair<StringRef, int64_t>{"arena_bytes", getArenaBytes()},
                             {"state_bytes", getStateBytes()},
                             {"output_bytes", getOutputBytes()}})
    if (bytes < 0)
      return emitOpError("expected ") << name << " of at least 0, found " << bytes;
  if (static_cast<int64_t>(getMaxThreads()) < 1)
    return emitOpError("expected max_threads of at least 1, found ")
           << static_cast<int64_t>(getMaxThreads());
  for (Operation &op : getBody().front())
    if (!isa_and_present<program::ProgramDialect>(op.getDialect()) || isa<program::ProgramOp>(op))
      return op.emitOpError("found in a mpt_program.program: expected only buffers, "
                            "launches and calls");
  return success();
}

LogicalResult program::BufferOp::verify() {
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
  auto program = cast<program::ProgramOp>((*this)->getParentOp());
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

LogicalResult program::LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
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

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The outputs `first`, .., `last`, which follow each other.
static MutableOperandRange getInits(OpOperand &first, OpOperand &last) {
  unsigned begin = first.getOperandNumber();
  return MutableOperandRange(first.getOwner(), begin,
                             last.getOperandNumber() + 1 - begin);
}

MutableOperandRange program::AttentionOp::getDpsInitsMutable() {
  return getInits(getResultMutable(), getLogSumExpMutable());
}

MutableOperandRange program::AttentionGradOp::getDpsInitsMutable() {
  return getInits(getDqueryMutable(), getDvalueMutable());
}
