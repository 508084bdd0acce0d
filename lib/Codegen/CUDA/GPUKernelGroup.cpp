//===- GPUKernelGroup.cpp - Many launches as one -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An optimizer has the same kernel for every parameter, of its own size. One
/// function does all: a table says which blocks work on which parameter and where
/// its buffers lie (as multi_tensor_apply of NVIDIA's Apex does at run time).
///
//===----------------------------------------------------------------------===//

#include "GPUKernelEmitter.h"
#include "LaunchTable.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <utility>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static constexpr int64_t kThreads = 256;
/// An address space of NVPTX.
static constexpr unsigned kGlobal = 1;

std::optional<std::string> GPUKernelEmitter::getGroupKey() {
  if (!isFlat() || columns <= 0 || columns > 0x7fff0000 ||
      !body.getOps<kernel::IndexOp>().empty())
    return std::nullopt;
  std::string key;
  llvm::raw_string_ostream os(key);
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    bool isResult = i >= body.getNumArguments();
    if (buffer.offset != 0 || buffer.columnStride() > 1 ||
        (isResult && buffer.columnStride() != 1))
      return std::nullopt;
    os << buffer.element << " " << buffer.columnStride() << ";";
  }
  // The body, its values by number.
  DenseMap<Value, unsigned> numbers;
  auto number = [&](Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  };
  for (BlockArgument argument : body.getArguments())
    number(argument);
  for (Operation &op : body) {
    os << "\n" << op.getName() << op.getAttrDictionary();
    for (Value operand : op.getOperands())
      os << " " << number(operand);
    for (Value result : op.getResults())
      os << " " << number(result) << ":" << result.getType();
  }
  return key;
}

DeviceLaunch GPUKernelEmitter::emitGroup(OpBuilder &moduleBuilder, StringRef name,
                                         ArrayRef<Member> members,
                                         ArrayRef<unsigned> spaces, unsigned parameters) {
  MLIRContext *context = moduleBuilder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context, kGlobal);
  DeviceLaunch launch;
  launch.function = name.str();
  launch.threads = kThreads;
  // First block, elements, offsets.
  int64_t width = 2 + static_cast<int64_t>(spaces.size()), blocks = 0;
  SmallVector<int64_t> table;
  for (const Member &member : members) {
    table.append({blocks, member.elements});
    table.append(member.offsets);
    blocks +=
        llvm::divideCeil(member.elements / lanes + member.elements % lanes, kThreads);
  }
  launch.blocks[0] = blocks;
  Type i32 = moduleBuilder.getI32Type();
  LaunchTable lookup(moduleBuilder, loc, name, table, width);

  SmallVector<Type> types(parameters, pointer);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto function = LLVM::LLVMFuncOp::create(moduleBuilder, loc, launch.function, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    moduleBuilder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    moduleBuilder.getDenseI32ArrayAttr({static_cast<int32_t>(kThreads)}));
  Block *entry = function.addEntryBlock(moduleBuilder);
  OpBuilder b = OpBuilder::atBlockEnd(entry);
  thread = NVVM::ThreadIdXOp::create(b, loc, i32);
  isFirst = rowMask = onlyColumn = partials = Value();
  block = NVVM::BlockIdXOp::create(b, loc, i32);
  lookup.find(b, block);
  auto narrow = [&](Value wide) -> Value {
    return arith::TruncIOp::create(b, loc, i32, wide);
  };
  Value inMember = arith::SubIOp::create(b, loc, block, narrow(lookup.read(b, 0)));
  Value at = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, inMember, constant32(b, kThreads)), thread);
  Value elements = narrow(lookup.read(b, 1));
  Value whole = arith::DivUIOp::create(b, loc, elements, constant32(b, lanes));
  Value tail = arith::RemUIOp::create(b, loc, elements, constant32(b, lanes));
  pointers.clear();
  for (auto [i, parameter] : llvm::enumerate(spaces))
    pointers.push_back(LLVM::GEPOp::create(
        b, loc, pointer, b.getI8Type(), entry->getArgument(parameter),
        ArrayRef<LLVM::GEPArg>{lookup.read(b, 2 + static_cast<int64_t>(i))}));
  auto emitAt = [&](OpBuilder &inner, Value column) {
    frames.clear();
    onlyColumn = column;
    emitRow(inner, constant(inner, 0), constant(inner, 0));
  };
  auto branch =
      scf::IfOp::create(b, loc, isBelow(b, at, whole), /*withElseRegion=*/lanes > 1);
  OpBuilder vector = branch.getThenBodyBuilder();
  emitAt(vector,
         arith::MulIOp::create(vector, loc, widen(vector, at), constant(vector, lanes)));
  if (lanes > 1) {
    OpBuilder rest = branch.getElseBodyBuilder();
    Value past = arith::SubIOp::create(rest, loc, at, whole);
    OpBuilder one = scf::IfOp::create(rest, loc, isBelow(rest, past, tail), false)
                        .getThenBodyBuilder();
    Value first = arith::MulIOp::create(one, loc, whole, constant32(one, lanes));
    Value column = arith::AddIOp::create(one, loc, first, past);
    int64_t saved = std::exchange(lanes, 1);
    emitAt(one, widen(one, column));
    lanes = saved;
  }
  LLVM::ReturnOp::create(b, loc, ValueRange());
  return launch;
}
