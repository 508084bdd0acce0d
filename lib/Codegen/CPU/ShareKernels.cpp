//===- ShareKernels.cpp - One function for kernels of many sizes -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-share-kernels`. Numbers are renamed to the order in which a kernel has them
/// first; kernels that are equal then become one function. Those numbers that are not the
/// same in all of them are read from a constant buffer, which each launch has of its own.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CPU/Passes.h"
#include "mpt/Dialect/Program/IR/Program.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace mpt {
#define GEN_PASS_DEF_SHAREKERNELSPASS
#include "mpt/Codegen/CPU/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// Loops of fewer iterations keep their number: LLVM unrolls them.
constexpr int64_t leastIterations = 8;

/// Marks constants while functions are compared.
constexpr llvm::StringLiteral numberMark = "number", countMark = "count";

/// A kernel as it is emitted: a function over tasks and, of column kernels, one that
/// combines their sums. Both have the launch's buffers.
struct EmittedKernel {
  SmallVector<func::FuncOp, 2> functions;
  SmallVector<program::LaunchOp> launches;
  /// The numbers that may be arguments, in the order in which they come first. No two
  /// are equal.
  SmallVector<int64_t> numbers;
  /// Elements of what is allocated. More do no harm.
  SmallVector<int64_t> counts;

  void hideNumbers();
  bool isEqual(EmittedKernel &other);
  llvm::hash_code hash();
  /// Makes the functions' numbers constants again, but for those that `isArgument` has,
  /// which become elements of the first buffer.
  void showNumbers(ArrayRef<bool> isArgument);

private:
  void takeArguments(func::FuncOp function, ArrayRef<bool> isArgument);
};

/// Whether code gains nothing if it knows the number at `use`.
bool isReplaceable(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(user)) {
    if (use.getOperandNumber() >= loop.getNumControlOperands() ||
        use.get() == loop.getStep())
      return false;
    llvm::APInt begin, end, step;
    if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&begin)) ||
        !matchPattern(loop.getUpperBound(), m_ConstantInt(&end)) ||
        !matchPattern(loop.getStep(), m_ConstantInt(&step)))
      return true;
    return llvm::divideCeilSigned(end.getSExtValue() - begin.getSExtValue(),
                                  step.getSExtValue()) >= leastIterations;
  }
  // Divisions by a constant are multiplications.
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp,
             arith::CmpIOp, LLVM::GEPOp>(user);
}

/// Whether `constant` says how many elements are allocated, and nothing else.
bool isCount(arith::ConstantOp constant) {
  return llvm::all_of(constant->getUsers(), llvm::IsaPred<LLVM::AllocaOp>);
}

void EmittedKernel::hideNumbers() {
  // Their values say which may be hidden.
  SmallVector<std::pair<arith::ConstantOp, StringRef>> hidden;
  for (func::FuncOp function : functions)
    function.walk([&](arith::ConstantOp constant) {
      auto value = dyn_cast<IntegerAttr>(constant.getValue());
      if (!value || !value.getType().isInteger(64) || constant->use_empty())
        return;
      if (isCount(constant))
        hidden.push_back({constant, countMark});
      // What adding or multiplying by 0 or 1 gives is known.
      else if (value.getInt() > 1 && llvm::isInt<32>(value.getInt()) &&
               llvm::all_of(constant->getUses(), isReplaceable))
        hidden.push_back({constant, numberMark});
    });
  DenseMap<int64_t, size_t> places;
  for (auto [constant, mark] : hidden) {
    auto value = cast<IntegerAttr>(constant.getValue());
    size_t place = counts.size();
    if (mark == countMark) {
      counts.push_back(value.getInt());
    } else {
      auto [known, isNew] = places.try_emplace(value.getInt(), numbers.size());
      if (isNew)
        numbers.push_back(value.getInt());
      place = known->second;
    }
    constant->setAttr(mark, UnitAttr::get(constant.getContext()));
    constant.setValueAttr(IntegerAttr::get(value.getType(), static_cast<int64_t>(place)));
  }
}

llvm::hash_code EmittedKernel::hash() {
  llvm::hash_code code(functions.size());
  for (func::FuncOp function : functions)
    function.getBody().walk([&](Operation *op) {
      code = llvm::hash_combine(code, OperationEquivalence::computeHash(
                                          op, OperationEquivalence::ignoreHashValue,
                                          OperationEquivalence::ignoreHashValue,
                                          OperationEquivalence::IgnoreLocations));
    });
  return code;
}

bool EmittedKernel::isEqual(EmittedKernel &other) {
  return llvm::equal(functions, other.functions, [](func::FuncOp a, func::FuncOp b) {
    return a.getFunctionType() == b.getFunctionType() &&
           OperationEquivalence::isRegionEquivalentTo(
               &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
  });
}

void EmittedKernel::takeArguments(func::FuncOp function, ArrayRef<bool> isArgument) {
  // The numbers come before the launch's buffers.
  for (Operation *user : function.getArgument(0).getUsers()) {
    auto slot = cast<LLVM::GEPOp>(user);
    slot.setRawConstantIndices({slot.getRawConstantIndices().front() + 1});
  }
  OpBuilder b = OpBuilder::atBlockBegin(&function.front());
  Location loc = function.getLoc();
  Value buffers = function.getArgument(0);
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto load = [&](Type type, Value pointer) -> Value {
    return LLVM::LoadOp::create(b, loc, type, pointer, /*alignment=*/0,
                                /*isVolatile=*/false, /*isNonTemporal=*/false,
                                /*isInvariant=*/true);
  };
  auto elementOf = [&](Type element, Value pointer, int64_t index) -> Value {
    return LLVM::GEPOp::create(b, loc, buffers.getType(), element, pointer,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  };
  Value table = load(buffers.getType(), elementOf(buffers.getType(), buffers, 0));
  SmallVector<Value> values(isArgument.size());
  int64_t index = 0;
  for (auto [is, value] : llvm::zip_equal(isArgument, values))
    if (is)
      value =
          arith::ExtUIOp::create(b, loc, i64, load(i32, elementOf(i32, table, index++)));
  function.walk([&](arith::ConstantOp constant) {
    if (!constant->hasAttr(numberMark))
      return;
    if (Value value = values[cast<IntegerAttr>(constant.getValue()).getInt()]) {
      constant.replaceAllUsesWith(value);
      constant.erase();
    }
  });
}

void EmittedKernel::showNumbers(ArrayRef<bool> isArgument) {
  for (func::FuncOp function : functions) {
    if (llvm::is_contained(isArgument, true))
      takeArguments(function, isArgument);
    function.walk([&](arith::ConstantOp constant) {
      const bool isNumber = constant->removeAttr(numberMark) != nullptr;
      if (!isNumber && !constant->removeAttr(countMark))
        return;
      auto place = cast<IntegerAttr>(constant.getValue());
      constant.setValueAttr(IntegerAttr::get(
          place.getType(), (isNumber ? numbers : counts)[place.getInt()]));
    });
  }
}

/// Whether `function` gets pointers to the launch's buffers as kernels do: each from its
/// place in the first argument.
bool isEmitted(func::FuncOp function) {
  if (!function || function.isExternal() || function.getNumArguments() != 3 ||
      function.getNumResults() != 0)
    return false;
  Value buffers = function.getArgument(0);
  return isa<LLVM::LLVMPointerType>(buffers.getType()) &&
         llvm::all_of(buffers.getUsers(), [&](Operation *user) {
           auto slot = dyn_cast<LLVM::GEPOp>(user);
           return slot && slot.getElemType() == buffers.getType() &&
                  slot.getDynamicIndices().empty() &&
                  slot.getRawConstantIndices().size() == 1;
         });
}

struct ShareKernelsPass : mpt::impl::ShareKernelsPassBase<ShareKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    numberBuffers.clear();
    numConstants.clear();
    getOperation().walk([&](program::BufferOp buffer) {
      if (buffer.getSpace() != program::Space::Constant)
        return;
      int64_t &count = numConstants[buffer->getParentOfType<program::ProgramOp>()];
      count = std::max<int64_t>(count, buffer.getOffset() + 1);
    });
    SmallVector<EmittedKernel> kernels = findKernels();
    for (EmittedKernel &kernel : kernels)
      kernel.hideNumbers();
    // In the order of the module.
    llvm::MapVector<size_t, SmallVector<SmallVector<EmittedKernel *>>> groups;
    for (EmittedKernel &kernel : kernels) {
      auto &equal = groups[kernel.hash()];
      auto *group = llvm::find_if(
          equal, [&](const auto &other) { return other.front()->isEqual(kernel); });
      if (group == equal.end())
        equal.push_back({&kernel});
      else
        group->push_back(&kernel);
    }
    for (auto &[hash, equal] : groups)
      for (ArrayRef<EmittedKernel *> group : equal)
        share(group);
  }

private:
  SmallVector<EmittedKernel> findKernels();
  void share(ArrayRef<EmittedKernel *> group);
  /// The buffer of these numbers in the program of `launch`.
  Value getNumbers(program::LaunchOp launch, ArrayRef<int32_t> numbers);

  /// By program and numbers.
  DenseMap<std::pair<Operation *, Attribute>, Value> numberBuffers;
  /// How many constants each program has.
  DenseMap<Operation *, int64_t> numConstants;
};

SmallVector<EmittedKernel> ShareKernelsPass::findKernels() {
  ModuleOp module = getOperation();
  llvm::MapVector<StringAttr, SmallVector<program::LaunchOp>> launches;
  module.walk([&](program::LaunchOp launch) {
    launches[launch.getKernelAttr().getAttr()].push_back(launch);
  });
  SymbolTable symbols(module);
  SmallVector<EmittedKernel> kernels;
  for (auto &[name, those] : launches) {
    EmittedKernel kernel;
    kernel.functions.push_back(symbols.lookup<func::FuncOp>(name));
    if (those.front().getPartials())
      kernel.functions.push_back(
          symbols.lookup<func::FuncOp>((name.getValue() + "_combine").str()));
    kernel.launches = std::move(those);
    if (llvm::all_of(kernel.functions, isEmitted))
      kernels.push_back(std::move(kernel));
  }
  return kernels;
}

Value ShareKernelsPass::getNumbers(program::LaunchOp launch, ArrayRef<int32_t> numbers) {
  auto program = launch->getParentOfType<program::ProgramOp>();
  OpBuilder b = OpBuilder::atBlockBegin(&program.getBody().front());
  const auto count = static_cast<int64_t>(numbers.size());
  auto value =
      DenseElementsAttr::get(RankedTensorType::get({count}, b.getI32Type()), numbers);
  Value &buffer = numberBuffers[{program, value}];
  if (!buffer)
    buffer = program::BufferOp::create(
        b, program.getLoc(), MemRefType::get({count}, b.getI32Type()),
        program::Space::Constant, numConstants[program]++, value);
  return buffer;
}

void ShareKernelsPass::share(ArrayRef<EmittedKernel *> group) {
  EmittedKernel &first = *group.front();
  SmallVector<bool> isArgument;
  for (auto [place, number] : llvm::enumerate(first.numbers))
    isArgument.push_back(
        llvm::any_of(group, [&, place = place, number = number](EmittedKernel *kernel) {
          return kernel->numbers[place] != number;
        }));
  const bool hasArguments = llvm::is_contained(isArgument, true);
  for (EmittedKernel *kernel : group) {
    SmallVector<int32_t> numbers;
    for (auto [number, is] : llvm::zip_equal(kernel->numbers, isArgument))
      if (is)
        numbers.push_back(static_cast<int32_t>(number));
    for (program::LaunchOp launch : kernel->launches) {
      launch.setKernel(first.functions.front().getSymName());
      if (hasArguments)
        launch.getInputsMutable().assign(llvm::to_vector(
            llvm::concat<Value>(SmallVector<Value>{getNumbers(launch, numbers)},
                                llvm::to_vector(launch.getInputs()))));
    }
    for (auto [count, most] : llvm::zip_equal(kernel->counts, first.counts))
      most = std::max(most, count);
    if (kernel != &first)
      for (func::FuncOp function : kernel->functions)
        function.erase();
  }
  first.showNumbers(isArgument);
}

} // namespace
