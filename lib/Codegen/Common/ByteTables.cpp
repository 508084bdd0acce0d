//===- ByteTables.cpp - What kernels compute of single bytes ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteTables.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Instructions from which a table is read: two loads for each element are hidden by as
/// many.
static constexpr size_t leastOps = 16;

namespace {

/// A value's one byte, if it has one, and the ops that compute it of the byte.
struct ByteFunction {
  BlockArgument byte;
  llvm::SmallSetVector<Operation *, 32> ops;
};

} // namespace

/// What `op` gives for constant operands; null if that is not known.
static Attribute foldConstants(Operation *op, ArrayRef<Attribute> operands) {
  if (isa<math::FmaOp>(op)) {
    auto x = dyn_cast<FloatAttr>(operands[0]), y = dyn_cast<FloatAttr>(operands[1]),
         z = dyn_cast<FloatAttr>(operands[2]);
    if (!x || !y || !z)
      return {};
    llvm::APFloat sum = x.getValue();
    sum.fusedMultiplyAdd(y.getValue(), z.getValue(), llvm::APFloat::rmNearestTiesToEven);
    return FloatAttr::get(x.getType(), sum);
  }
  // Folding may exchange operands of the op itself.
  Operation *copy = op->clone();
  SmallVector<OpFoldResult> results;
  Attribute result;
  if (succeeded(copy->fold(operands, results)) && results.size() == 1) {
    result = dyn_cast<Attribute>(results.front());
    if (auto operand = dyn_cast<Value>(results.front()))
      for (auto [value, constant] : llvm::zip_equal(copy->getOperands(), operands))
        if (value == operand)
          result = constant;
  }
  copy->destroy();
  return result;
}

/// The table of `root`, which `function` computes; null if an op does not fold.
static DenseElementsAttr makeTable(Value root, const ByteFunction &function) {
  SmallVector<Attribute> numbers;
  for (int64_t code = 0; code < 256; ++code) {
    DenseMap<Value, Attribute> known;
    known[function.byte] =
        IntegerAttr::get(function.byte.getType(), llvm::APInt(8, code));
    for (Operation *op : function.ops) {
      SmallVector<Attribute> operands;
      for (Value operand : op->getOperands()) {
        Attribute value = known.lookup(operand);
        if (auto constant = operand.getDefiningOp<arith::ConstantOp>())
          value = constant.getValue();
        operands.push_back(value);
      }
      Attribute result = foldConstants(op, operands);
      if (!result)
        return {};
      known[op->getResult(0)] = result;
    }
    auto number = dyn_cast<FloatAttr>(known.lookup(root));
    if (!number)
      return {};
    numbers.push_back(number);
  }
  return DenseElementsAttr::get(RankedTensorType::get({256}, root.getType()), numbers);
}

llvm::DenseMap<Value, ByteTable> mpt::detail::findByteTables(Block &body) {
  DenseMap<Value, ByteFunction> functions;
  for (BlockArgument argument : body.getArguments())
    if (argument.getType().isInteger(8))
      functions[argument].byte = argument;
  llvm::DenseMap<Value, ByteTable> tables;
  if (functions.empty())
    return tables;
  for (Operation &op : body.without_terminator()) {
    // Functions such as exp are approximated by the code generator.
    const bool isExact =
        isa<arith::ArithDialect>(op.getDialect()) || isa<math::AbsFOp, math::FmaOp>(op);
    if (!isExact || op.getNumResults() != 1 || isa<arith::ConstantOp>(op))
      continue;
    ByteFunction function;
    bool isFunction = true;
    for (Value operand : op.getOperands()) {
      if (operand.getDefiningOp<arith::ConstantOp>())
        continue;
      auto found = functions.find(operand);
      isFunction &= found != functions.end() &&
                    (!function.byte || function.byte == found->second.byte);
      if (!isFunction)
        break;
      function.byte = found->second.byte;
      function.ops.insert_range(found->second.ops);
    }
    if (!isFunction || !function.byte)
      continue;
    function.ops.insert(&op);
    functions[op.getResult(0)] = std::move(function);
  }
  for (const auto &[value, function] : functions) {
    auto isInside = [&](Operation *user) {
      return user->getNumResults() == 1 && functions.contains(user->getResult(0));
    };
    if (!value.getType().isF32() || function.ops.size() < leastOps ||
        llvm::all_of(value.getUsers(), isInside))
      continue;
    if (DenseElementsAttr numbers = makeTable(value, function))
      tables[value] = {function.byte, numbers};
  }
  return tables;
}
