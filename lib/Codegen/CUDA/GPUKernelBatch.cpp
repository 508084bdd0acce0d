//===- GPUKernelBatch.cpp - Reductions of many buffers as one -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A table says for each block which launch of the batch it belongs to, whose kernel it
/// runs, and where the buffers lie. Kernels of one size share their code.
///
//===----------------------------------------------------------------------===//

#include "GPUKernelEmitter.h"
#include "LaunchTable.h"
#include "ReductionBatches.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include <map>
#include <memory>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// An address space of NVPTX.
static constexpr unsigned kGlobal = 1;

namespace {

/// A kernel of the batch, with the blocks of memory that its launches' buffers are in.
struct Part {
  std::unique_ptr<GPUKernelEmitter> emitter;
  SmallVector<DeviceLaunch> launches;
  SmallVector<unsigned> parameters;
  bool hasPartials = false;
};

class BatchEmitter {
public:
  BatchEmitter(program::ProgramOp program, ArrayRef<program::LaunchOp> batch);

  size_t numStages() const { return stages; }
  ArrayRef<program::Space> getSpaces() const { return spaces; }
  DeviceLaunch emitStage(OpBuilder &device, unsigned stage, StringRef name);
  void emitShared(OpBuilder &device, StringRef name);

private:
  void emitParts(OpBuilder &b, LaunchTable &table, unsigned stage, ValueRange arguments,
                 Value block);

  Location loc;
  std::vector<Part> parts;
  /// Of each launch: its part, and where its buffers and partial sums begin.
  SmallVector<unsigned> partOf;
  SmallVector<SmallVector<int64_t>> offsets;
  SmallVector<program::Space> spaces;
  size_t stages = 1, width = 0;
};

} // namespace

BatchEmitter::BatchEmitter(program::ProgramOp program, ArrayRef<program::LaunchOp> batch)
    : loc(program::LaunchOp(batch.front()).getLoc()) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  std::map<std::pair<std::string, SmallVector<unsigned>>, unsigned> known;
  for (program::LaunchOp launch : batch) {
    SmallVector<Value> buffers(launch.getInputs());
    llvm::append_range(buffers, launch.getOutputs());
    if (launch.getPartials())
      buffers.push_back(launch.getPartials());
    SmallVector<unsigned> parameters;
    SmallVector<int64_t> &starts = offsets.emplace_back();
    for (Value buffer : buffers) {
      auto declared = buffer.getDefiningOp<program::BufferOp>();
      program::Space space = declared.getSpace();
      auto *found = llvm::find(spaces, space);
      parameters.push_back(found - spaces.begin());
      if (found == spaces.end())
        spaces.push_back(space);
      starts.push_back(static_cast<int64_t>(declared.getOffset()));
    }
    width = std::max(width, starts.size());
    auto [place, isNew] =
        known.try_emplace({launch.getKernel().str(), parameters}, parts.size());
    partOf.push_back(place->second);
    if (!isNew)
      continue;
    Part &part = parts.emplace_back();
    part.emitter = std::make_unique<GPUKernelEmitter>(
        symbols.lookup<kernel::FuncOp>(launch.getKernel()), /*isBatched=*/true);
    part.launches = part.emitter->getLaunches();
    part.parameters = parameters;
    part.hasPartials = launch.getPartials() != nullptr;
    stages = std::max<size_t>(stages, part.launches.size());
  }
}

void BatchEmitter::emitShared(OpBuilder &device, StringRef name) {
  for (auto [i, part] : llvm::enumerate(parts))
    part.emitter->emitShared(device, name + "_shared" + Twine(i));
}

void BatchEmitter::emitParts(OpBuilder &b, LaunchTable &table, unsigned stage,
                             ValueRange arguments, Value block) {
  Type i32 = b.getI32Type();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobal);
  table.find(b, block);
  Value number = arith::TruncIOp::create(b, loc, i32, table.read(b, 1));
  Value first = arith::TruncIOp::create(b, loc, i32, table.read(b, 0));
  Value inMember = arith::SubIOp::create(b, loc, block, first);
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (stage >= part.launches.size())
      continue;
    Value isThis =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number,
                              arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(i)));
    OpBuilder inner = scf::IfOp::create(b, loc, isThis).getThenBodyBuilder();
    SmallVector<Value> pointers;
    for (auto [field, parameter] : llvm::enumerate(part.parameters))
      pointers.push_back(LLVM::GEPOp::create(
          inner, loc, pointer, inner.getI8Type(), arguments[parameter],
          ArrayRef<LLVM::GEPArg>{table.read(inner, 2 + static_cast<int64_t>(field))}));
    Value partials = part.hasPartials ? pointers.pop_back_val() : Value();
    part.emitter->emitBlock(inner, stage, pointers, partials, inMember);
  }
}

DeviceLaunch BatchEmitter::emitStage(OpBuilder &device, unsigned stage, StringRef name) {
  MLIRContext *context = device.getContext();
  DeviceLaunch launch;
  launch.function = name.str();
  // First block, part, offsets.
  SmallVector<int64_t> rows;
  int64_t blocks = 0;
  for (auto [number, starts] : llvm::zip_equal(partOf, offsets)) {
    const Part &part = parts[number];
    if (stage >= part.launches.size())
      continue;
    size_t end = rows.size() + 2 + width;
    rows.append({blocks, static_cast<int64_t>(number)});
    rows.append(starts);
    rows.resize(end, 0);
    blocks += part.launches[stage].blocks[0];
    launch.threads = part.launches[stage].threads;
  }
  launch.blocks[0] = blocks;
  LaunchTable table(device, loc, name, rows, 2 + static_cast<int64_t>(width));
  SmallVector<Type> types(spaces.size(), LLVM::LLVMPointerType::get(context, kGlobal));
  auto function = LLVM::LLVMFuncOp::create(
      device, loc, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), device.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    device.getDenseI32ArrayAttr({static_cast<int32_t>(launch.threads)}));
  Block *entry = function.addEntryBlock(device);
  OpBuilder b = OpBuilder::atBlockEnd(entry);
  emitParts(b, table, stage, entry->getArguments(),
            NVVM::BlockIdXOp::create(b, loc, b.getI32Type()));
  LLVM::ReturnOp::create(b, loc, ValueRange());
  return launch;
}

SharedLaunch mpt::detail::emitBatch(program::ProgramOp program,
                                    ArrayRef<program::LaunchOp> batch, StringRef name,
                                    OpBuilder &device) {
  BatchEmitter emitter(program, batch);
  emitter.emitShared(device, name);
  SharedLaunch shared;
  shared.members.assign(batch.begin(), batch.end());
  for (program::Space space : emitter.getSpaces())
    shared.blocks.push_back({space});
  for (size_t stage = 0; stage < emitter.numStages(); ++stage)
    shared.launches.push_back(emitter.emitStage(
        device, stage, stage == 0 ? name.str() : (name + "_combine").str()));
  return shared;
}
