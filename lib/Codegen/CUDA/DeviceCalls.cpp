//===- DeviceCalls.cpp - Library calls as functions of a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCalls.h"
#include "DevicePhilox.h"
#include "GPUFunctionBuilder.h"
#include "PlainMatmulEmitter.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/CudnnPlan.h"
#include "mpt/Support/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

bool CallSite::isWide() const {
  for (const rt::BufferRef &ref : call.refs)
    if (ref.count() > 0x7fff0000)
      return true;
  return false;
}

int64_t mpt::detail::lanesFor(Type element, ArrayRef<int64_t> counts) {
  int64_t lanes = std::min<int64_t>(16, 16 / bytesOf(element));
  for (int64_t count : counts)
    while (count % lanes != 0)
      lanes /= 2;
  return lanes;
}

DeviceLaunch mpt::detail::launchFor(const CallSite &site, int64_t total,
                                    int64_t threads) {
  DeviceLaunch launch;
  launch.function = site.name;
  launch.threads = std::min(
      threads, static_cast<int64_t>(llvm::alignTo(std::max<int64_t>(total, 1), kWarp)));
  launch.blocks[0] = std::max<int64_t>(1, llvm::divideCeil(total, launch.threads));
  return launch;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// A kernel over `sizes` that stores through `resultMap` what it loads from the first
/// buffer through `operandMap`, or, if that is null, `value`.
static kernel::FuncOp createMove(OpBuilder &b, Location loc, StringRef name,
                                 const rt::Instruction &call, ArrayRef<Type> elements,
                                 ArrayRef<int64_t> sizes, AffineMap operandMap,
                                 AffineMap resultMap, double value) {
  if (llvm::is_contained(sizes, 0))
    return {};
  auto flat = [&](unsigned i) -> Type {
    return RankedTensorType::get({call.refs[i].count()}, elements[i]);
  };
  SmallVector<Type> inputs;
  SmallVector<AffineMap> operandMaps;
  if (operandMap) {
    inputs.push_back(flat(0));
    operandMaps.push_back(operandMap);
  }
  auto kernel = kernel::FuncOp::create(
      b, loc, name, b.getFunctionType(inputs, flat(inputs.size())),
      kernel::KernelKind::Pointwise, sizes, /*chunk_rows=*/1,
      b.getAffineMapArrayAttr(operandMaps), b.getAffineMapArrayAttr(resultMap));
  Block &body = kernel.getBody().emplaceBlock();
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  Type element = elements[0];
  Value stored;
  if (operandMap) {
    stored = body.addArgument(element, loc);
  } else {
    TypedAttr number =
        isa<IntegerType>(element)
            ? TypedAttr(b.getIntegerAttr(element, static_cast<int64_t>(value)))
            : TypedAttr(b.getFloatAttr(element, value));
    stored = arith::ConstantOp::create(inner, loc, number);
  }
  kernel::YieldOp::create(inner, loc, stored);
  return kernel;
}

/// The place offset + i * strides in a flat buffer.
static AffineMap getMap(MLIRContext *context, int64_t offset, ArrayRef<int64_t> strides) {
  AffineExpr at = getAffineConstantExpr(offset, context);
  for (auto [d, stride] : llvm::enumerate(strides))
    at = at + getAffineDimExpr(d, context) * stride;
  return AffineMap::get(strides.size(), 0, at);
}

kernel::FuncOp mpt::detail::createMoveKernel(OpBuilder &b, Location loc, StringRef name,
                                             const rt::Instruction &call,
                                             ArrayRef<Type> elements) {
  MLIRContext *context = b.getContext();
  if (const auto *fill = call.getCall<rt::FillCall>())
    return createMove(b, loc, name, call, elements, call.refs[0].count(), AffineMap(),
                      getMap(context, 0, {1}), fill->value);
  const auto *copy = call.getCall<rt::CopyCall>();
  if (!copy)
    return {};
  std::vector<int64_t> sizes = copy->sizes, from = copy->srcStrides,
                       to = copy->dstStrides;
  // One element, as a row of one.
  if (sizes.empty())
    sizes = from = to = {1};
  return createMove(b, loc, name, call, elements, sizes,
                    getMap(context, copy->srcOffset, from),
                    getMap(context, copy->dstOffset, to), 0.0);
}

/// As a kernel, because its emitter finds the vectors.
static DeviceCall emitMove(const CallSite &site) {
  DeviceCall result;
  Block holder;
  OpBuilder b(site.device.getContext());
  b.setInsertionPointToStart(&holder);
  kernel::FuncOp kernel =
      createMoveKernel(b, site.loc, site.name, site.call, site.elements);
  if (!kernel)
    return result;
  GPUKernelEmitter emitter(kernel);
  if (succeeded(emitter.check())) {
    result.launches = emitter.getLaunches();
    emitter.emit(site.device);
  }
  kernel.erase();
  return result;
}

DeviceCall mpt::detail::emitCall(const rt::FillCall &, const CallSite &site) {
  return emitMove(site);
}

DeviceCall mpt::detail::emitCall(const rt::CopyCall &, const CallSite &site) {
  return emitMove(site);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Whether `value` is outside [0, size), of its own type.
static Value isOutside(GPUFunctionBuilder &code, Value value, int64_t size) {
  Value bound =
      value.getType().isInteger(64)
          ? code.get64(size)
          : code.get32(std::min<int64_t>(size, std::numeric_limits<int32_t>::max()));
  return arith::CmpIOp::create(code.b, code.loc, arith::CmpIPredicate::uge, value, bound);
}

DeviceCall mpt::detail::emitCall(const rt::GatherCall &, const CallSite &site) {
  const rt::BufferRef &table = site.ref(0), &indices = site.ref(1);
  int64_t size = table.dims[0], row = size ? table.count() / size : 0;
  DeviceCall result;
  if (row == 0 || indices.count() == 0)
    return result;
  int64_t lanes = lanesFor(site.elements[0], row), vectors = row / lanes;
  int64_t total = indices.count() * vectors;
  DeviceLaunch launch = launchFor(site, total);
  launch.bound = size;
  GPUFunctionBuilder code(site.device, site.loc, site.name, 4, launch.threads,
                          site.isWide() || total > 0x7fff0000);
  Index at = code.globalThread();
  code.ifThen(code.isLess(at, total), [&] {
    Index position = at / vectors, column = at % vectors * lanes;
    Value index = code.load(code.parameter(1), site.elements[1], position);
    Value outside = isOutside(code, index, size);
    code.ifThen(outside, [&] { code.fault(code.parameter(3), position, index); });
    Index from = code.select(outside, 0, code.fromInteger(index));
    Value value =
        code.load(code.parameter(0), site.elements[0], from * row + column, lanes);
    code.store(value, code.parameter(2), site.elements[0], at * lanes, lanes);
  });
  code.finish();
  result.launches.push_back(launch);
  return result;
}

DeviceCall mpt::detail::emitCall(const rt::CheckIndicesCall &call, const CallSite &site) {
  int64_t count = site.ref(0).count();
  DeviceCall result;
  if (count == 0)
    return result;
  DeviceLaunch launch = launchFor(site, count);
  launch.bound = call.size;
  GPUFunctionBuilder code(site.device, site.loc, site.name, 3, launch.threads,
                          site.isWide());
  Index at = code.globalThread();
  code.ifThen(code.isLess(at, count), [&] {
    Value index = code.load(code.parameter(0), site.elements[0], at);
    Value outside = isOutside(code, index, call.size);
    if (call.ignoreIndex) {
      Value ignored = index.getType().isInteger(64) ? code.get64(*call.ignoreIndex)
                                                    : code.get32(*call.ignoreIndex);
      Value counts = arith::CmpIOp::create(code.b, code.loc, arith::CmpIPredicate::ne,
                                           index, ignored);
      outside = arith::AndIOp::create(code.b, code.loc, outside, counts);
    }
    code.ifThen(outside, [&] { code.fault(code.parameter(2), at, index); });
    // Whoever uses them stays inside.
    Value zero = code.constant(index.getType(), 0);
    index = arith::SelectOp::create(code.b, code.loc, outside, zero, index);
    code.store(index, code.parameter(1), site.elements[1], at);
  });
  code.finish();
  result.launches.push_back(launch);
  return result;
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// A mask where there is a rate, else 16 bits per element.
static DeviceCall emitRandom(const CallSite &site, int64_t stream,
                             std::optional<double> rate) {
  bool isMask = rate.has_value();
  int64_t count = site.ref(2).count(), perBlock = isMask ? 4 : 8;
  // 16 bytes a thread.
  int64_t perThread = isMask ? 16 : 8, total = llvm::divideCeil(count, perThread);
  DeviceCall result;
  if (count == 0)
    return result;
  DeviceLaunch launch = launchFor(site, total);
  GPUFunctionBuilder code(site.device, site.loc, site.name, 3, launch.threads,
                          site.isWide());
  OpBuilder &b = code.b;
  Type i64 = b.getI64Type(), i16 = b.getI16Type(), i8 = b.getI8Type();
  Index at = code.globalThread();
  code.ifThen(code.isLess(at, total), [&] {
    DevicePhilox philox(code, code.load(code.parameter(0), i64, 0),
                        code.load(code.parameter(1), i64, 0),
                        static_cast<uint32_t>(stream));
    SmallVector<Value> elements;
    for (int64_t i = 0; i < perThread / perBlock; ++i) {
      Value number = code.get(at * (perThread / perBlock) + i);
      if (number.getType() != i64)
        number = arith::ExtUIOp::create(b, code.loc, i64, number);
      for (Value word : philox.block(number)) {
        if (isMask) {
          Value kept = arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::uge, word,
                                             code.get32(mpt::dropoutThreshold(*rate)));
          elements.push_back(arith::ExtUIOp::create(b, code.loc, i8, kept));
        } else {
          elements.push_back(arith::TruncIOp::create(b, code.loc, i16, word));
          Value upper = arith::ShRUIOp::create(b, code.loc, word, code.get32(16));
          elements.push_back(arith::TruncIOp::create(b, code.loc, i16, upper));
        }
      }
    }
    Type element = isMask ? i8 : i16;
    auto storeAll = [&] {
      Value vector = vector::FromElementsOp::create(
          b, code.loc, VectorType::get({perThread}, element), elements);
      code.store(vector, code.parameter(2), element, at * perThread, perThread);
    };
    if (count % perThread == 0)
      return storeAll();
    Value isWhole = code.isLess(at, count / perThread);
    code.ifThen(isWhole, storeAll);
    Value isTail = code.isEqual(at, count / perThread);
    code.ifThen(isTail, [&] {
      for (int64_t i = 0; i < count % perThread; ++i)
        code.store(elements[i], code.parameter(2), element, at * perThread + i);
    });
  });
  code.finish();
  result.launches.push_back(launch);
  return result;
}

DeviceCall mpt::detail::emitCall(const rt::RandomMaskCall &call, const CallSite &site) {
  return emitRandom(site, call.stream, call.rate);
}

DeviceCall mpt::detail::emitCall(const rt::RandomBitsCall &call, const CallSite &site) {
  return emitRandom(site, call.stream, std::nullopt);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::string mpt::detail::keyOf(const rt::Instruction &call) {
  std::string key = rt::getName(*call.call);
  auto add = [&](int64_t number) { key += "," + std::to_string(number); };
  for (const rt::BufferRef &ref : call.refs) {
    add(static_cast<int64_t>(ref.type));
    for (int64_t dim : ref.dims)
      add(dim);
    key += ";";
  }
  auto addField =
      rt::Overloaded{[&](double value) { add(llvm::bit_cast<int64_t>(value)); },
                     [&](const std::vector<int64_t> &values) {
                       add(values.size());
                       llvm::for_each(values, add);
                     },
                     [&](const std::optional<int64_t> &value) {
                       key += value ? "," + std::to_string(*value) : ",none";
                     },
                     [&](const auto &value) {
                       if constexpr (std::is_convertible_v<decltype(value), int64_t> ||
                                     std::is_enum_v<std::decay_t<decltype(value)>>)
                         add(static_cast<int64_t>(value));
                       else
                         llvm::for_each(value, add);
                     }};
  std::visit(
      [&](const auto &one) {
        one.forEachField(one, [&](const char *, const auto &field) { addField(field); });
      },
      *call.call);
  return key;
}

void DeviceCallEmitter::emitPlainMatmul(const rt::Instruction &matmul, Location loc) {
  rt::GemmPlan plan;
  rt::PlainMatmul plain;
  std::string unused;
  // Whatever matmul is of these types, and for whichever reason it is not done.
  if (rt::makeGemmPlan(matmul, /*allowTF32=*/false, plan, unused) &&
      rt::makePlainMatmul(plan, plain) && plainMatmuls.insert(plain.function).second)
    mpt::detail::emitPlainMatmul(device, loc, plan, plain.function);
}

FailureOr<DeviceCall> DeviceCallEmitter::emit(program::LibraryCallOpInterface op) {
  FailureOr<rt::Instruction> call = encodeCall(op);
  if (failed(call))
    return failure();
  DeviceCall library;
  library.isForLibrary = true;
  if (call->getCall<rt::MatmulCall>())
    emitPlainMatmul(*call, op.getLoc());
  if (call->getCall<rt::MatmulCall>() || rt::getConv(*call) || rt::isCudnnCall(*call))
    return library;
  if (call->getCall<rt::AttentionCall>() || call->getCall<rt::AttentionGradCall>())
    return op->emitError("GPUs have no such call; expected the launches that "
                         "--mpt-convert-calls-to-gpu makes of it");
  // What ranks exchange, NCCL carries.
  if (rt::getRanks(*call->call) > 0 || call->getCall<rt::WaitCall>())
    return library;
  auto [place, isNew] = emitted.try_emplace(keyOf(*call));
  if (!isNew)
    return place->second;
  SmallVector<Type> elements;
  for (ValueRange buffers : {ValueRange(op.getInputs()), ValueRange(op.getOutputs())})
    for (Value buffer : buffers)
      elements.push_back(cast<MemRefType>(buffer.getType()).getElementType());
  std::string name = (llvm::Twine("mpt_") + rt::getName(*call->call) + "_" +
                      llvm::Twine(emitted.size() - 1))
                         .str();
  CallSite site = {device, op.getLoc(), *call, elements, name};
  auto isDone = [&](const auto &) { return library; };
  place->second = std::visit(
      rt::Overloaded{[&](const rt::MatmulCall &one) { return isDone(one); },
                     [&](const rt::Conv2DCall &one) { return isDone(one); },
                     [&](const rt::Conv2DInputGradCall &one) { return isDone(one); },
                     [&](const rt::Conv2DFilterGradCall &one) { return isDone(one); },
                     [&](const rt::AttentionCall &one) { return isDone(one); },
                     [&](const rt::AttentionGradCall &one) { return isDone(one); },
                     [&](const rt::CudnnAttentionCall &one) { return isDone(one); },
                     [&](const rt::CudnnAttentionGradCall &one) { return isDone(one); },
                     [&](const rt::AllReduceCall &one) { return isDone(one); },
                     [&](const rt::ReduceScatterCall &one) { return isDone(one); },
                     [&](const rt::AllGatherCall &one) { return isDone(one); },
                     [&](const rt::AllToAllCall &one) { return isDone(one); },
                     [&](const rt::BroadcastCall &one) { return isDone(one); },
                     [&](const rt::RankCall &one) { return isDone(one); },
                     [&](const rt::WaitCall &one) { return isDone(one); },
                     // A call without an emitCall does not compile.
                     [&](const auto &one) { return emitCall(one, site); }},
      *call->call);
  for (const DeviceLaunch &launch : place->second.launches)
    if (launch.blocks[0] > 0x7fffffff || launch.blocks[1] > 0xffff)
      return op->emitError("the buffers are too large for a launch: ")
             << launch.blocks[0] << " x " << launch.blocks[1] << " blocks";
  launches.append(place->second.launches);
  return place->second;
}
