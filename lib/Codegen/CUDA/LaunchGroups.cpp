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
/// The same of launches of different kernels, and how many of them are tried.
static constexpr size_t kMixReach = 256, kMostTried = 8;
/// Four blocks for each of an H200's 132 processors: as many as run at once if a thread
/// has 64 registers.
static constexpr int64_t kMostMixedBlocks = 528;
/// Parameters of one launch: 4,096 bytes of them, which every driver takes.
static constexpr size_t kMostParameters = 512;

namespace {

/// A launch or call in its new place.
struct Entry {
  Operation *op;
  SmallVector<ByteRange> ranges;
  size_t instructions;
  /// What it shares with launches of the same code; empty if it can be in no group.
  std::string key;
  /// Blocks of threads that a group has for it.
  int64_t blocks = 0;
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
    const int64_t element = bytesOf(type.getElementType());
    const int64_t bytes = program::countSpannedElements(type).value_or(0) * element;
    ranges.push_back({declared.getSpace(), begin, begin + bytes, isWritten});
    if (auto layout = dyn_cast<StridedLayoutAttr>(type.getLayout());
        layout && type.getRank() == 2 && layout.getStrides()[1] == 1) {
      ranges.back().width = type.getDimSize(1) * element;
      ranges.back().pitch = layout.getStrides()[0] * element;
    }
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

/// Whether the ranges are columns of one matrix that have none in common.
static bool haveOtherColumns(const ByteRange &x, const ByteRange &y) {
  if (x.pitch <= 0 || x.pitch != y.pitch)
    return false;
  const int64_t atX = x.begin % x.pitch, atY = y.begin % y.pitch;
  return atX + x.width <= x.pitch && atY + y.width <= y.pitch &&
         (atX + x.width <= atY || atY + y.width <= atX);
}

bool mpt::detail::conflict(ArrayRef<ByteRange> first, ArrayRef<ByteRange> second) {
  for (const ByteRange &x : first)
    for (const ByteRange &y : second)
      if ((x.isWritten || y.isWritten) && x.space == y.space && x.begin < y.end &&
          y.begin < x.end && !haveOtherColumns(x, y))
        return true;
  return false;
}

MemoryBlock mpt::detail::blockOf(program::BufferOp buffer) {
  MemoryBlock block = {buffer.getSpace()};
  if (block.isReadOnly())
    block.number = static_cast<int64_t>(buffer.getOffset());
  return block;
}

int64_t mpt::detail::startInBlock(program::BufferOp buffer) {
  return static_cast<int64_t>(blockOf(buffer).isReadOnly() ? buffer.getStart()
                                                           : buffer.getOffset());
}

namespace {

void addBlock(SmallVector<MemoryBlock> &blocks, MemoryBlock block) {
  if (!llvm::is_contained(blocks, block))
    blocks.push_back(block);
}

/// The block of memory that each buffer of `launch` lies in.
void forBuffers(program::LaunchOp launch, llvm::function_ref<void(MemoryBlock)> visit) {
  for (ValueRange buffers :
       {ValueRange(launch.getInputs()), ValueRange(launch.getOutputs())})
    for (Value buffer : buffers)
      visit(blockOf(buffer.getDefiningOp<program::BufferOp>()));
}

/// Puts the launches of a program next to each other.
class LaunchGrouper {
public:
  explicit LaunchGrouper(program::ProgramOp program)
      : program(program), symbols(program->getParentOfType<ModuleOp>()),
        besideExchanges(findOpsBesideExchanges(program)) {}

  std::vector<LaunchGroup> run();

private:
  /// Describes the kernel and the blocks of memory of `launch`; leaves `entry.key` empty
  /// if it can be in no group.
  void describe(program::LaunchOp launch, Entry &entry);
  /// Adds `entry` after the last member of the group of its kernel, if it is independent
  /// of all that runs after the first one; otherwise at the end.
  void place(Entry entry);
  /// Entries next to each other that are one launch: [begin, end).
  struct Unit {
    size_t begin, end;
    int64_t blocks;
    /// What it reads and writes: its parameters.
    SmallVector<MemoryBlock> memory;
  };
  /// Joins units of few blocks.
  void mix();
  /// Joins `last`, the latest unit, and an earlier one: it moves up to that, or that down
  /// to it. Returns false if no other is near and independent.
  bool join(const Unit &last);
  bool isFree(ArrayRef<ByteRange> ranges, size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i)
      if (conflict(entries[i].ranges, ranges))
        return false;
    return true;
  }
  SmallVector<ByteRange> rangesIn(const Unit &unit) const {
    SmallVector<ByteRange> ranges;
    for (size_t i = unit.begin; i < unit.end; ++i)
      llvm::append_range(ranges, entries[i].ranges);
    return ranges;
  }
  LaunchGroup makeGroup(ArrayRef<Entry> members);

  program::ProgramOp program;
  SymbolTable symbols;
  llvm::DenseSet<Operation *> besideExchanges;
  struct KernelKey {
    std::string text;
    int64_t blocks = 0;
  };
  llvm::StringMap<KernelKey> kernelKeys;
  llvm::StringMap<int> latest;
  /// By group: how many members it has, and its first one.
  SmallVector<std::pair<size_t, Operation *>> groups;
  std::vector<Entry> entries;
  /// Units that may take more, in the order of their places.
  SmallVector<Unit> open;
};

} // namespace

void LaunchGrouper::describe(program::LaunchOp launch, Entry &entry) {
  auto [place, isNew] = kernelKeys.try_emplace(launch.getKernel());
  if (isNew)
    if (auto kernel = symbols.lookup<kernel::FuncOp>(launch.getKernel())) {
      GPUKernelEmitter emitter(kernel);
      place->second.text = emitter.getGroupKey().value_or("");
      place->second.blocks = emitter.getGroupBlocks(emitter.getElements());
    }
  if (place->second.text.empty() || launch.getPartials())
    return;
  std::string key = place->second.text;
  for (ValueRange buffers :
       {ValueRange(launch.getInputs()), ValueRange(launch.getOutputs())})
    for (Value buffer : buffers) {
      auto declared = buffer.getDefiningOp<program::BufferOp>();
      if (!declared)
        return;
      const MemoryBlock block = blockOf(declared);
      // Vectors begin at multiples of 16 bytes, and inputs and constants are known by a
      // buffer that begins with them.
      const int64_t start = startInBlock(declared);
      if (start % 16 != 0 || (block.isReadOnly() && start != 0))
        return;
      key += "\n" + std::to_string(static_cast<int>(block.space)) + " " +
             std::to_string(block.number);
    }
  entry.key = std::move(key);
  entry.blocks = place->second.blocks;
}

void LaunchGrouper::place(Entry entry) {
  if (entry.key.empty()) {
    entries.push_back(std::move(entry));
    return;
  }
  size_t place = entries.size(), reach = 0;
  auto found = latest.find(entry.key);
  bool joins = found != latest.end();
  for (size_t i = entries.size(); joins && i-- > 0;) {
    bool isMember = entries[i].group == found->second;
    if (isMember && place == entries.size())
      place = i + 1;
    reach += entries[i].instructions;
    joins = reach <= kReach && !conflict(entries[i].ranges, entry.ranges);
    if (isMember && entries[i].op == groups[found->second].second)
      break;
  }
  if (joins) {
    entry.group = found->second;
    ++groups[entry.group].first;
    entries.insert(entries.begin() + place, std::move(entry));
    return;
  }
  if (besideExchanges.contains(entry.op)) {
    entry.key.clear();
    entries.push_back(std::move(entry));
    return;
  }
  entry.group = static_cast<int>(groups.size());
  latest[entry.key] = entry.group;
  groups.push_back({1, entry.op});
  entries.push_back(std::move(entry));
}

void LaunchGrouper::mix() {
  std::vector<Entry> rest = std::move(entries);
  entries.clear();
  for (size_t i = 0; i < rest.size();) {
    Unit unit = {entries.size(), entries.size(), 0, {}};
    const int group = rest[i].group;
    const bool isOpen = !rest[i].key.empty();
    // Those of one kernel have the same.
    if (isOpen)
      forBuffers(cast<program::LaunchOp>(rest[i].op),
                 [&](MemoryBlock block) { addBlock(unit.memory, block); });
    do {
      unit.blocks += rest[i].blocks;
      entries.push_back(std::move(rest[i++]));
    } while (group >= 0 && i < rest.size() && rest[i].group == group);
    unit.end = entries.size();
    if (isOpen && unit.blocks <= kMostMixedBlocks && !join(unit))
      open.push_back(unit);
  }
}

bool LaunchGrouper::join(const Unit &last) {
  const SmallVector<ByteRange> ranges = rangesIn(last);
  size_t tried = 0;
  for (Unit &unit : llvm::reverse(open)) {
    if (last.begin - unit.end > kMixReach || ++tried > kMostTried)
      return false;
    const SmallVector<ByteRange> other = rangesIn(unit);
    if (unit.blocks + last.blocks > kMostMixedBlocks || conflict(other, ranges))
      continue;
    SmallVector<MemoryBlock> memory = unit.memory;
    for (MemoryBlock block : last.memory)
      addBlock(memory, block);
    if (memory.size() > kMostParameters)
      continue;
    const bool movesUp = isFree(ranges, unit.end, last.begin);
    if (!movesUp && !isFree(other, unit.end, last.begin))
      continue;
    for (size_t i = last.begin; i < last.end; ++i)
      entries[i].group = entries[unit.begin].group;
    const size_t between = unit.end, length = unit.end - unit.begin;
    const auto added = static_cast<std::ptrdiff_t>(last.end - last.begin);
    auto at = [&](size_t index) { return entries.begin() + index; };
    if (movesUp)
      std::rotate(at(between), at(last.begin), at(last.end));
    else
      std::rotate(at(unit.begin), at(between), at(last.begin));
    const std::ptrdiff_t by = movesUp ? added : -static_cast<std::ptrdiff_t>(length);
    for (Unit &moved : open)
      if (moved.begin >= between) {
        moved.begin += by;
        moved.end += by;
      }
    unit.blocks += last.blocks;
    unit.memory = std::move(memory);
    unit.begin = movesUp ? unit.begin : last.begin - length;
    unit.end = unit.begin + length + added;
    llvm::sort(open, [](const Unit &a, const Unit &b) { return a.begin < b.begin; });
    return true;
  }
  return false;
}

LaunchGroup LaunchGrouper::makeGroup(ArrayRef<Entry> members) {
  LaunchGroup group;
  for (bool isReadOnly : {true, false})
    for (const Entry &entry : members)
      forBuffers(cast<program::LaunchOp>(entry.op), [&](MemoryBlock block) {
        if (block.isReadOnly() == isReadOnly)
          addBlock(group.blocks, block);
      });
  llvm::StringMap<unsigned> parts;
  for (const Entry &entry : members) {
    auto launch = cast<program::LaunchOp>(entry.op);
    auto [part, isNew] = parts.try_emplace(entry.key, group.partBlocks.size());
    group.launches.push_back(launch);
    group.parts.push_back(part->second);
    if (!isNew)
      continue;
    SmallVector<unsigned> &places = group.partBlocks.emplace_back();
    forBuffers(launch, [&](MemoryBlock block) {
      places.push_back(llvm::find(group.blocks, block) - group.blocks.begin());
    });
  }
  return group;
}

std::vector<LaunchGroup> LaunchGrouper::run() {
  Block &block = program.getBody().front();
  for (Operation &op : block) {
    if (isa<program::BufferOp>(op))
      continue;
    Entry entry;
    entry.op = &op;
    entry.ranges = rangesOf(&op);
    entry.instructions = countInstructions(&op);
    if (auto launch = dyn_cast<program::LaunchOp>(op))
      describe(launch, entry);
    place(std::move(entry));
  }
  mix();
  std::vector<LaunchGroup> made;
  for (size_t i = 0; i < entries.size();) {
    size_t end = i + 1;
    while (entries[i].group >= 0 && end < entries.size() &&
           entries[end].group == entries[i].group)
      ++end;
    if (end - i > 1)
      made.push_back(makeGroup(ArrayRef(entries).slice(i, end - i)));
    i = end;
  }
  // Buffers come first, wherever they were.
  if (!made.empty())
    for (Entry &entry : entries)
      entry.op->moveBefore(&block, block.end());
  return made;
}

std::vector<LaunchGroup> mpt::detail::groupLaunches(program::ProgramOp program) {
  return LaunchGrouper(program).run();
}
