//===- LaunchGroups.cpp - Which launches of a program can be one -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchGroups.h"
#include "GPUKernelEmitter.h"
#include "mpt/ProgramABI/CallPlan.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// How far a launch may move, in launches and calls: keeps this linear.
static constexpr size_t kReach = 1024;

namespace {

/// A launch or call in its new place.
struct Entry {
  Operation *op;
  SmallVector<ByteRange> ranges;
  size_t instructions;
  /// The group that it leads or joins, or -1.
  int group = -1;
};

} // namespace

SmallVector<ByteRange> mpt::detail::rangesOf(Operation *op, bool withPartials) {
  SmallVector<ByteRange> ranges;
  auto launch = dyn_cast<program::LaunchOp>(op);
  auto effects = getEffectsRecursively(op);
  for (const MemoryEffects::EffectInstance &effect :
       effects.value_or(SmallVector<MemoryEffects::EffectInstance>())) {
    Value buffer = effect.getValue();
    auto declared = buffer.getDefiningOp<program::BufferOp>();
    if (!declared || declared.getSpace() == program::Space::Input ||
        declared.getSpace() == program::Space::Constant ||
        (launch && !withPartials && buffer == launch.getPartials()))
      continue;
    const bool isWritten = isa<MemoryEffects::Write>(effect.getEffect());
    if (!declared.getStrides().empty()) {
      // In a loop, where it may be anywhere.
      ranges.push_back({declared.getSpace(), 0, INT64_MAX, isWritten});
      continue;
    }
    auto type = cast<MemRefType>(buffer.getType());
    auto begin = static_cast<int64_t>(declared.getOffset());
    // The verifier has counted them.
    int64_t bytes =
        program::countSpannedElements(type).value_or(0) * bytesOf(type.getElementType());
    ranges.push_back({declared.getSpace(), begin, begin + bytes, isWritten});
  }
  return ranges;
}

llvm::DenseSet<Operation *>
mpt::detail::findOpsBesideExchanges(program::ProgramOp program) {
  llvm::DenseSet<Operation *> beside;
  size_t pending = 0;
  for (Operation &op : program.getBody().front()) {
    if (pending > 0)
      beside.insert(&op);
    if (isa<program::WaitOp>(op) && pending > 0)
      --pending;
    auto call = dyn_cast<program::LibraryCallOpInterface>(op);
    if (call && rt::isAsync(call.getCall()))
      ++pending;
  }
  return beside;
}

size_t mpt::detail::countInstructions(Operation *op) {
  if (auto loop = dyn_cast<program::LoopOp>(op)) {
    size_t count = 0;
    for (Operation &inner : loop.getBody().front())
      count += countInstructions(&inner);
    return count;
  }
  auto alternatives = dyn_cast<program::AlternativesOp>(op);
  if (!alternatives)
    return 1;
  // The plain matmul is not one of its own.
  size_t count = alternatives.getPlainMatmul() ? -1 : 0;
  for (Region *region : {&alternatives.getPreferred(), &alternatives.getFallback()})
    for (Operation &inner : region->front())
      count += countInstructions(&inner);
  return count;
}

bool mpt::detail::conflict(ArrayRef<ByteRange> first, ArrayRef<ByteRange> second) {
  for (const ByteRange &x : first)
    for (const ByteRange &y : second)
      if ((x.isWritten || y.isWritten) && x.space == y.space && x.begin < y.end &&
          y.begin < x.end)
        return true;
  return false;
}

/// What launches of one group have in common; empty if `launch` can be in none.
static std::string keyOf(program::LaunchOp launch, SymbolTable &symbols,
                         llvm::StringMap<std::string> &kernelKeys) {
  auto [place, isNew] = kernelKeys.try_emplace(launch.getKernel());
  if (isNew)
    if (auto kernel = symbols.lookup<kernel::FuncOp>(launch.getKernel()))
      place->second = GPUKernelEmitter(kernel).getGroupKey().value_or("");
  if (place->second.empty() || launch.getPartials())
    return "";
  std::string key = place->second;
  for (ValueRange buffers :
       {ValueRange(launch.getInputs()), ValueRange(launch.getOutputs())})
    for (Value buffer : buffers) {
      auto declared = buffer.getDefiningOp<program::BufferOp>();
      // Vectors begin at multiples of 16 bytes; inputs and constants are blocks of
      // their own.
      if (!declared || declared.getSpace() == program::Space::Input ||
          declared.getSpace() == program::Space::Constant ||
          declared.getOffset() % 16 != 0)
        return "";
      key += "\n" + std::to_string(static_cast<int>(declared.getSpace()));
    }
  return key;
}

SmallVector<LaunchGroup> mpt::detail::groupLaunches(program::ProgramOp program) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  llvm::StringMap<std::string> kernelKeys;
  llvm::StringMap<int> latest;
  const llvm::DenseSet<Operation *> besideExchanges = findOpsBesideExchanges(program);
  std::vector<Entry> entries;
  SmallVector<LaunchGroup> groups;
  for (Operation &op : program.getBody().front()) {
    Entry entry;
    entry.op = &op;
    std::string key;
    if (isa<program::BufferOp>(op))
      continue;
    entry.ranges = rangesOf(&op);
    entry.instructions = countInstructions(&op);
    if (auto launch = dyn_cast<program::LaunchOp>(op))
      key = keyOf(launch, symbols, kernelKeys);
    if (key.empty()) {
      entries.push_back(std::move(entry));
      continue;
    }
    // After everything that follows the group's last member, and independent of the
    // others.
    size_t place = entries.size(), reach = 0;
    auto found = latest.find(key);
    bool joins = found != latest.end();
    for (size_t i = entries.size(); joins && i-- > 0;) {
      bool isMember = entries[i].group == found->second;
      if (isMember && place == entries.size())
        place = i + 1;
      reach += entries[i].instructions;
      joins = reach <= kReach && !conflict(entries[i].ranges, entry.ranges);
      if (isMember && entries[i].op == groups[found->second].launches.front())
        break;
    }
    if (joins) {
      entry.group = found->second;
      groups[entry.group].launches.push_back(cast<program::LaunchOp>(op));
      entries.insert(entries.begin() + place, std::move(entry));
      continue;
    }
    if (besideExchanges.contains(&op)) {
      entries.push_back(std::move(entry));
      continue;
    }
    entry.group = static_cast<int>(groups.size());
    latest[key] = entry.group;
    groups.emplace_back().launches.push_back(cast<program::LaunchOp>(op));
    entries.push_back(std::move(entry));
  }
  llvm::erase_if(groups,
                 [](const LaunchGroup &group) { return group.launches.size() < 2; });
  if (groups.empty())
    return groups;
  // Buffers come first, wherever they were.
  Block &block = program.getBody().front();
  for (Entry &entry : entries)
    entry.op->moveBefore(&block, block.end());
  for (LaunchGroup &group : groups) {
    program::LaunchOp first = group.launches.front();
    for (ValueRange buffers :
         {ValueRange(first.getInputs()), ValueRange(first.getOutputs())})
      for (Value buffer : buffers) {
        program::Space space = buffer.getDefiningOp<program::BufferOp>().getSpace();
        auto known = llvm::find(group.spaces, space);
        group.bufferSpaces.push_back(known - group.spaces.begin());
        if (known == group.spaces.end())
          group.spaces.push_back(space);
      }
  }
  return groups;
}
