//===- GPUFunctionBuilder.cpp - Short names for writing device functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUFunctionBuilder.h"
#include "../Common/EightBitFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Address spaces of NVPTX.
static constexpr unsigned kGlobal = 1, kShared = 3;

/// Of a CUtensorMap.
static constexpr int64_t kTensorMapBytes = 128;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

static GPUFunctionBuilder *codeOf(Index x, Index y) { return x.code ? x.code : y.code; }

template <typename Op>
static Index compute(Index x, Index y) {
  GPUFunctionBuilder &code = *codeOf(x, y);
  Value first = code.get(x), second = code.get(y);
  return {code, Op::create(code.b, code.loc, first, second)};
}

Index mpt::detail::operator+(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return x.number + y.number;
  if (x.isConstant() && x.number == 0)
    return y;
  if (y.isConstant() && y.number == 0)
    return x;
  return compute<arith::AddIOp>(x, y);
}
Index mpt::detail::operator-(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return x.number - y.number;
  return y.isConstant() && y.number == 0 ? x : compute<arith::SubIOp>(x, y);
}
Index mpt::detail::operator*(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return x.number * y.number;
  if (x.isConstant())
    std::swap(x, y);
  if (y.isConstant() && y.number <= 1)
    return y.number == 1 ? x : y;
  return compute<arith::MulIOp>(x, y);
}
Index mpt::detail::operator/(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return x.number / y.number;
  return y.isConstant() && y.number == 1 ? x : compute<arith::DivUIOp>(x, y);
}
Index mpt::detail::operator%(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return x.number % y.number;
  return y.isConstant() && y.number == 1 ? Index(0) : compute<arith::RemUIOp>(x, y);
}
Index mpt::detail::smaller(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return std::min(x.number, y.number);
  return compute<arith::MinSIOp>(x, y);
}
Index mpt::detail::larger(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return std::max(x.number, y.number);
  return compute<arith::MaxSIOp>(x, y);
}

Value GPUFunctionBuilder::get(Index x) {
  if (!x.isConstant())
    return x.value;
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(index, x.number));
}
Value GPUFunctionBuilder::get32(int64_t number) {
  return arith::ConstantOp::create(b, loc,
                                   b.getI32IntegerAttr(static_cast<int32_t>(number)));
}
Value GPUFunctionBuilder::get64(int64_t number) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(number));
}
Index GPUFunctionBuilder::fromInteger(Value value) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = index.getIntOrFloatBitWidth();
  if (from < to)
    value = arith::ExtUIOp::create(b, loc, index, value);
  else if (from > to)
    value = arith::TruncIOp::create(b, loc, index, value);
  return {*this, value};
}
Value GPUFunctionBuilder::isLess(Index x, Index y) {
  Value first = get(x), second = get(y);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, first, second);
}
Value GPUFunctionBuilder::isEqual(Index x, Index y) {
  Value first = get(x), second = get(y);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, first, second);
}
Index GPUFunctionBuilder::select(Value condition, Index x, Index y) {
  Value first = get(x), second = get(y);
  return {*this, arith::SelectOp::create(b, loc, condition, first, second)};
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

GPUFunctionBuilder::GPUFunctionBuilder(OpBuilder &device, Location loc, StringRef name,
                                       int64_t parameters, int64_t threads, bool isWide,
                                       int64_t numbers, int64_t maps)
    : b(device.getContext()), loc(loc), device(device),
      index(isWide ? device.getI64Type() : device.getI32Type()), threads(threads),
      maps(static_cast<unsigned>(maps)) {
  MLIRContext *context = device.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context, kGlobal);
  SmallVector<Type> types(maps, LLVM::LLVMPointerType::get(context));
  types.append(parameters, pointer);
  types.append(numbers, device.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  function = LLVM::LLVMFuncOp::create(device, loc, name, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), device.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    device.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  for (unsigned i = 0; i < maps; ++i) {
    auto bytes = LLVM::LLVMArrayType::get(device.getI8Type(), kTensorMapBytes);
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        device.getI64IntegerAttr(64));
    function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(),
                        device.getUnitAttr());
  }
  b.setInsertionPointToEnd(function.addEntryBlock(device));
}

void GPUFunctionBuilder::wantBlocksAtOnce(int32_t blocks) {
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(blocks));
}

void GPUFunctionBuilder::finish() { LLVM::ReturnOp::create(b, loc, ValueRange()); }

Index GPUFunctionBuilder::thread() {
  return fromInteger(NVVM::ThreadIdXOp::create(b, loc, b.getI32Type()));
}
Index GPUFunctionBuilder::lane() {
  return fromInteger(NVVM::LaneIdOp::create(b, loc, b.getI32Type()));
}
Index GPUFunctionBuilder::blockX() {
  return fromInteger(NVVM::BlockIdXOp::create(b, loc, b.getI32Type()));
}
Index GPUFunctionBuilder::blockY() {
  return fromInteger(NVVM::BlockIdYOp::create(b, loc, b.getI32Type()));
}
Index GPUFunctionBuilder::globalThread() { return blockX() * threads + thread(); }

void GPUFunctionBuilder::ifThen(Value condition, Body body) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

SmallVector<Value>
GPUFunctionBuilder::ifThen(Value condition, ValueRange carried,
                           llvm::function_ref<SmallVector<Value>()> body) {
  auto branch = scf::IfOp::create(b, loc, carried.getTypes(), condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, carried);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, body());
  return SmallVector<Value>(branch.getResults());
}

SmallVector<Value> GPUFunctionBuilder::loop(Index begin, Index end, Index step,
                                            ValueRange init, LoopBody body) {
  Value bounds[] = {get(begin), get(end), get(step)};
  auto loop = scf::ForOp::create(b, loc, bounds[0], bounds[1], bounds[2], init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body({*this, loop.getInductionVar()}, loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Type vectorOf(Type element, int64_t lanes) {
  return lanes == 0 ? element : VectorType::get({lanes}, element);
}

static Value pointerTo(GPUFunctionBuilder &code, Value base, Type element, Index at) {
  Value offset = code.get(at);
  return LLVM::GEPOp::create(code.b, code.loc, base.getType(), storageOf(element), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

static unsigned alignmentOf(Type element, int64_t lanes) {
  return std::min<int64_t>(16, bytesOf(element) * std::max<int64_t>(lanes, 1));
}

Value GPUFunctionBuilder::load(Value base, Type element, Index at, int64_t lanes) {
  return LLVM::LoadOp::create(b, loc, vectorOf(storageOf(element), lanes),
                              pointerTo(*this, base, element, at),
                              alignmentOf(element, lanes));
}

void GPUFunctionBuilder::store(Value value, Value base, Type element, Index at,
                               int64_t lanes) {
  LLVM::StoreOp::create(b, loc, value, pointerTo(*this, base, element, at),
                        alignmentOf(element, lanes));
}

Type GPUFunctionBuilder::numberType(Type element, int64_t lanes) {
  Type type = isa<IntegerType>(element) ? Type(b.getI64Type())
              : element.isF64()         ? element
                                        : Type(b.getF32Type());
  return vectorOf(type, lanes);
}

Value GPUFunctionBuilder::loadNumber(Value base, Type element, Index at, int64_t lanes) {
  Value bits = load(base, element, at, lanes);
  Type number = numberType(element, lanes);
  if (bits.getType() == number)
    return bits;
  if (isa<IntegerType>(element))
    return arith::ExtSIOp::create(b, loc, number, bits);
  if (isEightBitFloat(element))
    return extendEightBitFloat(b, loc, bits, element);
  Value narrow = arith::BitcastOp::create(b, loc, vectorOf(element, lanes), bits);
  return arith::ExtFOp::create(b, loc, number, narrow);
}

void GPUFunctionBuilder::storeNumber(Value value, Value base, Type element, Index at,
                                     int64_t lanes) {
  Type memory = vectorOf(storageOf(element), lanes);
  if (value.getType() != memory) {
    if (isa<IntegerType>(element)) {
      value = arith::TruncIOp::create(b, loc, memory, value);
    } else if (isEightBitFloat(element)) {
      value = truncateToEightBitFloat(b, loc, value, element);
    } else {
      value = arith::TruncFOp::create(b, loc, vectorOf(element, lanes), value);
      value = arith::BitcastOp::create(b, loc, memory, value);
    }
  }
  store(value, base, element, at, lanes);
}

Value GPUFunctionBuilder::constant(Type type, double number) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr value =
      isa<IntegerType>(element)
          ? TypedAttr(b.getIntegerAttr(element, static_cast<int64_t>(number)))
          : TypedAttr(b.getFloatAttr(element, number));
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, Attribute(value));
  return arith::ConstantOp::create(b, loc, value);
}

//===----------------------------------------------------------------------===//
// Threads together
//===----------------------------------------------------------------------===//

Value GPUFunctionBuilder::shared(int64_t bytes) {
  auto type = LLVM::LLVMArrayType::get(b.getI64Type(), (bytes + 7) / 8);
  std::string name = (function.getSymName() + "_shared" + llvm::Twine(numShared++)).str();
  OpBuilder before = device;
  before.setInsertionPoint(function);
  auto global = LLVM::GlobalOp::create(before, loc, type, /*isConstant=*/false,
                                       LLVM::Linkage::Internal, name, Attribute(),
                                       /*alignment=*/64, kShared);
  return LLVM::AddressOfOp::create(b, loc, global);
}

void GPUFunctionBuilder::barrier() { NVVM::Barrier0Op::create(b, loc); }
void GPUFunctionBuilder::warpBarrier() { NVVM::SyncWarpOp::create(b, loc, get32(-1)); }

void GPUFunctionBuilder::startCopy(Value to, Index toAt, Value from, Index fromAt,
                                   Type element, Value isThere) {
  Value bytes;
  if (isThere)
    bytes = arith::SelectOp::create(b, loc, isThere, get32(16), get32(0));
  NVVM::CpAsyncOp::create(b, loc, pointerTo(*this, to, element, toAt),
                          pointerTo(*this, from, element, fromAt), /*size=*/16,
                          NVVM::LoadCacheModifierKind::CG, bytes);
}
void GPUFunctionBuilder::endCopies() { NVVM::CpAsyncCommitGroupOp::create(b, loc); }
void GPUFunctionBuilder::waitForCopies() {
  NVVM::CpAsyncWaitGroupOp::create(b, loc, b.getI32IntegerAttr(0));
}

Value GPUFunctionBuilder::exchange(Value value, int64_t distance) {
  Type type = value.getType();
  auto word = [&](Value part) -> Value {
    return NVVM::ShflOp::create(b, loc, part.getType(), get32(-1), part, get32(distance),
                                get32(kWarp - 1), NVVM::ShflKind::bfly, UnitAttr());
  };
  if (type.getIntOrFloatBitWidth() == 32)
    return word(value);
  Type i64 = b.getI64Type(), i32 = b.getI32Type();
  Value bits = type == i64 ? value : arith::BitcastOp::create(b, loc, i64, value);
  Value low = word(arith::TruncIOp::create(b, loc, i32, bits));
  Value high = word(arith::TruncIOp::create(
      b, loc, i32, arith::ShRUIOp::create(b, loc, bits, get64(32))));
  bits = arith::OrIOp::create(
      b, loc, arith::ExtUIOp::create(b, loc, i64, low),
      arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, i64, high),
                            get64(32)));
  return type == i64 ? bits : arith::BitcastOp::create(b, loc, type, bits).getResult();
}

Value GPUFunctionBuilder::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(b, loc, b.getI32Type(), get32(-1), condition,
                                  NVVM::VoteSyncKind::ballot);
}

void GPUFunctionBuilder::fault(Value record, Index position, Value value) {
  // The smaller the position, the larger the word.
  Type i64 = b.getI64Type();
  Value at = get(position);
  if (at.getType() != i64)
    at = arith::ExtUIOp::create(b, loc, i64, at);
  Value place = arith::SubIOp::create(b, loc, get64(0xffffffff), at);
  Value number = value;
  if (number.getType() != i64)
    number = arith::ExtSIOp::create(b, loc, i64, number);
  number = arith::MinSIOp::create(b, loc, number, get64(0x7fffffff));
  number = arith::MaxSIOp::create(b, loc, number, get64(-int64_t(0x80000000)));
  number = arith::AndIOp::create(b, loc, number, get64(0xffffffff));
  Value word = arith::OrIOp::create(
      b, loc, arith::ShLIOp::create(b, loc, place, get64(32)), number);
  LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::umax, record, word,
                            LLVM::AtomicOrdering::monotonic);
}
