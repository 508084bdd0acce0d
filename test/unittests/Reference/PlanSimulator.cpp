//===- PlanSimulator.cpp - Plans run on symbols -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSimulator.h"
#include "mpt/Dialect/Program/IR/Program.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace mlir;
using namespace mpt;
using namespace mpt::test;

namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Equal attributes of one context are one object.
uint64_t hash(Attribute attribute) {
  return reinterpret_cast<uintptr_t>(attribute.getAsOpaquePointer());
}
uint64_t hash(Type type) {
  return reinterpret_cast<uintptr_t>(type.getAsOpaquePointer());
}
uint64_t hash(llvm::StringRef text) {
  uint64_t h = text.size();
  for (char c : text)
    h = mix(h, uint8_t(c));
  return h;
}

using Symbols = DenseMap<Value, uint64_t>;

/// Attributes, but for marks of planners.
uint64_t hashAttributes(DictionaryAttr attributes) {
  uint64_t h = 0;
  for (NamedAttribute attribute : attributes)
    if (attribute.getName() != "mpt.remat" && attribute.getName() != "mpt.save")
      h = mix(mix(h, hash(attribute.getName())), hash(attribute.getValue()));
  return h;
}
uint64_t hashOp(Operation *op) {
  return mix(hash(op->getName().getStringRef()), hashAttributes(op->getAttrDictionary()));
}

/// What `op` depends on, by the symbols of what it reads; sets those of its results, and
/// of all in its regions.
void run(Operation *op, Symbols &symbols) {
  uint64_t h = hashOp(op);
  for (Value operand : op->getOperands())
    h = mix(h, symbols.lookup(operand));
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        symbols[argument] =
            mix(mix(h, hash(argument.getType())), argument.getArgNumber());
      for (Operation &inner : block) {
        run(&inner, symbols);
        h = mix(h, hashOp(&inner));
        for (Value operand : inner.getOperands())
          h = mix(h, symbols.lookup(operand));
      }
    }
  for (OpResult result : op->getResults())
    symbols[result] = mix(mix(h, hash(result.getType())), result.getResultNumber());
}

/// What each result of a kernel is made of: repeated ones leave out the others.
std::vector<uint64_t> runKernel(Block &body, ArrayRef<uint64_t> inputs,
                                ArrayAttr inputMaps, ArrayAttr resultMaps,
                                ArrayRef<int64_t> domain, int64_t chunkRows) {
  Symbols symbols;
  for (auto [argument, input, map] :
       llvm::zip_equal(body.getArguments(), inputs, inputMaps))
    symbols[argument] = mix(mix(input, hash(map)), hash(argument.getType()));
  uint64_t h = chunkRows;
  for (int64_t size : domain)
    h = mix(h, size);
  for (Operation &op : body.without_terminator())
    run(&op, symbols);
  std::vector<uint64_t> made;
  for (auto [value, map] :
       llvm::zip_equal(body.getTerminator()->getOperands(), resultMaps))
    made.push_back(mix(mix(h, symbols.lookup(value)), hash(map)));
  return made;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool isNewEachTime(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return name == "stablehlo.rng" || name == "stablehlo.custom_call" ||
         name == "stablehlo.all_reduce" || name == "sdy.manual_computation";
}

bool isThereThroughout(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || isa<ConstantOp>(op) ||
         op->getName().getStringRef().ends_with(".constant");
}

int64_t getRoundedBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  int64_t bits = type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth();
  return (type.getNumElements() * ((bits + 7) / 8) + 63) / 64 * 64;
}

} // namespace

FunctionRun test::simulateFunction(func::FuncOp function, StringRef barrier) {
  FunctionRun result;
  Block &block = function.getBody().front();
  Symbols symbols;
  DenseMap<Value, Value> owners;
  auto getOwner = [&](Value value) {
    Value owner = owners.lookup(value);
    return owner ? owner : value;
  };
  for (BlockArgument argument : block.getArguments())
    symbols[argument] = mix(1, argument.getArgNumber());
  uint64_t occurrences = 0;
  // The last op that reads each owner.
  DenseMap<Value, Operation *> lastReader;
  for (Operation &op : block) {
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == &block)
          lastReader[getOwner(operand)] = &op;
    });
    bool isBarrier = isa<BarrierOp>(op) || op.getName().getStringRef() == barrier;
    if (isBarrier || isa<ReshapeOp>(op)) {
      for (auto [from, to] : llvm::zip_equal(op.getOperands(), op.getResults())) {
        owners[to] = getOwner(from);
        symbols[to] = isBarrier ? symbols.lookup(from)
                                : mix(symbols.lookup(from), hash(to.getType()));
      }
      continue;
    }
    if (auto kernel = dyn_cast<kernel::KernelOp>(op)) {
      std::vector<uint64_t> inputs;
      for (Value input : kernel.getInputs())
        inputs.push_back(symbols.lookup(input));
      std::vector<uint64_t> values =
          runKernel(kernel.getBody().front(), inputs, kernel.getOperandMaps(),
                    kernel.getResultMaps(), kernel.getDomain(), kernel.getChunkRows());
      for (auto [value, symbol] : llvm::zip_equal(op.getResults(), values))
        symbols[value] = symbol;
    } else {
      run(&op, symbols);
      if (isNewEachTime(&op)) {
        ++occurrences;
        for (Value value : op.getResults())
          symbols[value] = mix(symbols[value], occurrences);
      }
    }
    bool isClone = op.hasAttr("mpt.remat");
    for (Value value : op.getResults()) {
      uint64_t symbol = symbols.lookup(value);
      if (isClone) {
        result.clones.push_back(symbol);
      } else if (!isThereThroughout(value)) {
        result.originals.push_back(symbol);
      }
    }
  }
  llvm::DenseSet<Value> returned;
  for (Value value : block.getTerminator()->getOperands()) {
    result.results.push_back(symbols.lookup(value));
    returned.insert(getOwner(value));
  }
  // Time passes op by op: what it makes is there with all that it reads.
  int64_t held = 0;
  llvm::DenseSet<Value> alive;
  for (Operation &op : block) {
    for (Value value : op.getResults())
      if (!owners.contains(value) && !isThereThroughout(value) &&
          !returned.contains(value) && alive.insert(value).second)
        held += getRoundedBytes(value);
    result.peak = std::max(result.peak, held);
    SmallVector<Value> dead;
    for (Value value : alive) {
      Operation *last = lastReader.lookup(value);
      if (!last || last == &op)
        dead.push_back(value);
    }
    for (Value value : dead) {
      held -= getRoundedBytes(value);
      alive.erase(value);
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {

/// Bytes of a space from `begin` to `end`.
struct Range {
  program::Space space;
  /// For inputs and constants, which; 0 elsewhere.
  int64_t number;
  int64_t begin, end;

  bool overlaps(const Range &other) const {
    return space == other.space && number == other.number && begin < other.end &&
           other.begin < end;
  }
  bool operator==(const Range &other) const {
    return space == other.space && number == other.number && begin == other.begin &&
           end == other.end;
  }
};

class Machine {
public:
  explicit Machine(ModuleOp module) : module(module) {}

  ProgramRun run();

private:
  /// No byte that was written has it.
  static constexpr uint64_t kUnwritten = 0;

  std::vector<uint64_t> &getBlock(const Range &range) {
    return memory[{range.space, range.number}];
  }
  void fault(Operation *op, const Twine &what) {
    std::string text;
    llvm::raw_string_ostream(text) << *op << ": " << what;
    result.faults.push_back(text);
  }
  Range getRange(Value buffer);
  void prepare(program::BufferOp slot, program::ProgramOp program);
  uint64_t read(Operation *op, Value buffer);
  void write(Value buffer, uint64_t symbol);
  void checkApart(Operation *op, Value first, Value second, const Twine &what);
  void launch(program::LaunchOp op);
  void call(program::LibraryCallOpInterface op);
  void copy(program::CopyOp op);

  ModuleOp module;
  std::map<std::pair<program::Space, int64_t>, std::vector<uint64_t>> memory;
  ProgramRun result;
};

Range Machine::getRange(Value buffer) {
  auto slot = buffer.getDefiningOp<program::BufferOp>();
  auto type = cast<MemRefType>(buffer.getType());
  int64_t bytes = type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  int64_t offset = slot.getOffset();
  if (slot.getSpace() == program::Space::Input ||
      slot.getSpace() == program::Space::Constant)
    return {slot.getSpace(), offset, 0, bytes};
  return {slot.getSpace(), 0, offset, offset + bytes};
}

void Machine::prepare(program::BufferOp slot, program::ProgramOp program) {
  Range range = getRange(slot);
  std::vector<uint64_t> &block = getBlock(range);
  int64_t size = range.end;
  if (range.space == program::Space::Arena)
    size = program.getArenaBytes();
  else if (range.space == program::Space::State)
    size = program.getStateBytes();
  else if (range.space == program::Space::Output)
    size = program.getOutputBytes();
  if (range.end > size)
    fault(slot, "ends behind its block");
  block.resize(std::max<int64_t>(size, range.end), kUnwritten);
  uint64_t symbol = 0;
  if (range.space == program::Space::Constant && slot.getValue())
    symbol = hash(*slot.getValue());
  else if (slot.getName() &&
           (range.space == program::Space::Input || range.space == program::Space::State))
    symbol = hash(*slot.getName());
  if (symbol)
    write(slot, symbol);
}

uint64_t Machine::read(Operation *op, Value buffer) {
  Range range = getRange(buffer);
  const std::vector<uint64_t> &block = getBlock(range);
  uint64_t h = hash(cast<MemRefType>(buffer.getType()).getElementType());
  bool isWritten = true;
  for (int64_t i = range.begin; i < range.end; ++i) {
    isWritten &= block[i] != kUnwritten;
    h = mix(h, block[i]);
  }
  if (!isWritten)
    fault(op, "reads what was not written");
  return h;
}

void Machine::write(Value buffer, uint64_t symbol) {
  Range range = getRange(buffer);
  std::vector<uint64_t> &block = getBlock(range);
  for (int64_t i = range.begin; i < range.end; ++i)
    block[i] = mix(symbol, i - range.begin) | 1;
}

void Machine::checkApart(Operation *op, Value first, Value second, const Twine &what) {
  if (getRange(first).overlaps(getRange(second)))
    fault(op, what);
}

void Machine::launch(program::LaunchOp op) {
  auto kernel = module.lookupSymbol<kernel::FuncOp>(op.getKernel());
  if (!kernel)
    return fault(op, "has no kernel");
  std::vector<uint64_t> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(read(op, input));
  for (auto [o, output] : llvm::enumerate(op.getOutputs())) {
    Attribute map = kernel.getResultMaps()[o];
    for (auto [i, input] : llvm::enumerate(op.getInputs())) {
      bool isSame =
          getRange(input) == getRange(output) && kernel.getOperandMaps()[i] == map;
      if (!isSame)
        checkApart(op, input, output, "writes what it reads elsewhere");
    }
    for (Value other : op.getOutputs().drop_front(o + 1))
      checkApart(op, other, output, "writes twice");
  }
  if (Value partials = op.getPartials()) {
    for (Value other : llvm::concat<Value>(op.getInputs(), op.getOutputs()))
      checkApart(op, partials, other, "has its partial sums in a buffer");
    write(partials, mix(hash(op.getKernel()), 1));
  }
  std::vector<uint64_t> made =
      runKernel(kernel.getBody().front(), inputs, kernel.getOperandMaps(),
                kernel.getResultMaps(), kernel.getDomain(), kernel.getChunkRows());
  for (auto [output, symbol] : llvm::zip_equal(op.getOutputs(), made))
    write(output, symbol);
}

void Machine::copy(program::CopyOp op) {
  ArrayRef<int64_t> sizes = op.getSizes(), from = op.getSrcStrides(),
                    to = op.getDstStrides();
  Range source = getRange(op.getX()), target = getRange(op.getResult());
  auto type = cast<MemRefType>(op.getX().getType());
  int64_t width = (type.getElementTypeBitWidth() + 7) / 8, count = 1;
  for (int64_t size : sizes)
    count *= size;
  std::vector<uint64_t> &written = getBlock(target);
  const std::vector<uint64_t> &block = getBlock(source);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = op.getSrcOffset(), into = op.getDstOffset();
    for (int64_t rest = i, d = sizes.size(); d-- > 0; rest /= sizes[d]) {
      at += rest % sizes[d] * from[d];
      into += rest % sizes[d] * to[d];
    }
    for (int64_t byte = 0; byte < width; ++byte) {
      int64_t get = source.begin + at * width + byte,
              put = target.begin + into * width + byte;
      if (get < source.begin || get >= source.end || put < target.begin ||
          put >= target.end)
        return fault(op, "copies what is outside of its buffers");
      if (block[get] == kUnwritten)
        return fault(op, "copies what was not written");
      written[put] = block[get];
    }
  }
}

void Machine::call(program::LibraryCallOpInterface op) {
  for (Value output : op.getOutputs()) {
    for (Value input : op.getInputs())
      checkApart(op, input, output, "writes what it reads");
    if (Value workspace = op.getCallWorkspace())
      checkApart(op, workspace, output, "has its workspace in a result");
  }
  if (Value workspace = op.getCallWorkspace()) {
    for (Value input : op.getInputs())
      checkApart(op, input, workspace, "has its workspace in what it reads");
    write(workspace, hash(op->getName().getStringRef()));
  }
  if (auto copied = dyn_cast<program::CopyOp>(op.getOperation()))
    return copy(copied);
  // Without the segments, which tell whether there is a workspace.
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase("operandSegmentSizes");
  uint64_t h = mix(hash(op->getName().getStringRef()),
                   hashAttributes(attributes.getDictionary(op->getContext())));
  for (Value input : op.getInputs())
    h = mix(mix(h, hash(input.getType())), read(op, input));
  for (auto [i, output] : llvm::enumerate(op.getOutputs()))
    write(output, mix(mix(h, hash(output.getType())), i));
}

ProgramRun Machine::run() {
  auto programs = module.getOps<program::ProgramOp>();
  if (programs.empty()) {
    result.faults.push_back("no program");
    return std::move(result);
  }
  program::ProgramOp program = *programs.begin();
  for (auto slot : program.getOps<program::BufferOp>())
    prepare(slot, program);
  for (Operation &op : program.getBody().front()) {
    if (auto launched = dyn_cast<program::LaunchOp>(op))
      launch(launched);
    else if (auto called = dyn_cast<program::LibraryCallOpInterface>(op))
      call(called);
    else if (!isa<program::BufferOp>(op))
      fault(&op, "is unknown");
  }
  result.state = memory[{program::Space::State, 0}];
  result.results = memory[{program::Space::Output, 0}];
  return std::move(result);
}

} // namespace

ProgramRun test::simulateProgram(ModuleOp module) { return Machine(module).run(); }
