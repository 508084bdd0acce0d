//===- WarpgroupRunner.h - Kernels of attention by wgmma -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs one kernel for sm_90a in the emulator, as it is or with a change that must make
/// its results wrong. Most changes take effect when the kernel runs, so that it is
/// compiled once for all of them.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_CODEGEN_WARPGROUPRUNNER_H
#define MPT_UNITTESTS_CODEGEN_WARPGROUPRUNNER_H

#include "../../../lib/Codegen/CUDA/WarpgroupAttentionEmitter.h"
#include "mpt/Codegen/CUDA/EmulatedKernels.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Runtime/Emulator/Emulation.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace mpt::test {

using detail::AttentionShape;
using detail::GPUFunctionBuilder;
using detail::RowStrides;
using detail::TensorMapPlan;

struct Case {
  int64_t entries, heads, groups, queries, keys, width, valueWidth;
  bool isCausal, isF16;
  /// Rows of all heads lie side by side, in batches of `parts` tensors.
  bool sideBySide;
};

inline double roundTo(double x, bool isF16, uint16_t &bits) {
  llvm::APFloat number(x);
  bool lost;
  const llvm::fltSemantics &type =
      isF16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
  number.convert(type, llvm::APFloat::rmNearestTiesToEven, &lost);
  bits = static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
  return number.convertToDouble();
}
inline double valueOf(uint16_t bits, bool isF16) {
  llvm::APFloat number(isF16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                       llvm::APInt(16, bits));
  return number.convertToDouble();
}

inline RowStrides makeStrides(const Case &c, int64_t heads, int64_t rows, int64_t width) {
  if (c.sideBySide)
    return {rows * heads * width, width, heads * width, 8};
  return {heads * rows * width, rows * width, width, 8};
}

inline AttentionShape makeShape(const Case &c, mlir::MLIRContext &context) {
  AttentionShape shape;
  shape.batch = c.entries * c.heads;
  shape.heads = c.heads;
  shape.groups = c.groups;
  shape.queries = c.queries;
  shape.keys = c.keys;
  shape.width = c.width;
  shape.valueWidth = c.valueWidth;
  shape.query = makeStrides(c, c.heads, c.queries, c.width);
  shape.key = makeStrides(c, c.groups, c.keys, c.width);
  shape.value = makeStrides(c, c.groups, c.keys, c.valueWidth);
  shape.result = makeStrides(c, c.heads, c.queries, c.valueWidth);
  shape.isCausal = c.isCausal;
  shape.dy = makeStrides(c, c.heads, c.queries, c.valueWidth);
  shape.dquery = shape.query;
  shape.dkey = shape.key;
  shape.dvalue = shape.value;
  shape.scale = 1 / std::sqrt(static_cast<double>(c.width));
  shape.type = c.isF16 ? mlir::Type(mlir::Float16Type::get(&context))
                       : mlir::BFloat16Type::get(&context);
  return shape;
}

/// [entries, heads, rows, width] in memory.
struct Tensor {
  RowStrides strides;
  std::vector<uint16_t> bits;
  std::vector<double> numbers;
  Tensor(const RowStrides &strides, int64_t size) : strides(strides) {
    // cudaMalloc's memory lies at multiples of 256 bytes.
    bits.resize(size + 128);
    numbers.resize(size + 128);
  }
  uint16_t *data() {
    auto at = reinterpret_cast<uintptr_t>(bits.data());
    return reinterpret_cast<uint16_t *>((at + 255) / 256 * 256);
  }
  /// With evenly distributed numbers up to `most`.
  Tensor(const Case &c, const RowStrides &strides, int64_t ofEntry, double most,
         uint64_t seed)
      : Tensor(strides, ofEntry * c.entries) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> draw(-most, most);
    for (int64_t i = 0; i < ofEntry * c.entries; ++i)
      numbers[i] = roundTo(draw(random), c.isF16, data()[i]);
  }
  int64_t at(int64_t entry, int64_t head, int64_t row, int64_t column) const {
    return entry * strides.batch + head * strides.head + row * strides.row + column;
  }
};

inline mpt_simt_tensor_map makeMap(const TensorMapPlan &plan, void *data) {
  mpt_simt_tensor_map map = {mpt_simt_tensor_map::kMagic, 4, 2, data, {}, {}, {}, 128};
  for (int i = 0; i < 4; ++i) {
    map.sizes[i] = plan.sizes[i];
    map.box[i] = static_cast<int16_t>(plan.box[i]);
    if (i < 3)
      map.strides[i] = plan.strides[i];
  }
  return map;
}

using Mutate = llvm::function_ref<void(mlir::gpu::GPUModuleOp)>;

inline std::unique_ptr<mlir::MLIRContext> makeDeviceContext() {
  using namespace mlir;
  DialectRegistry registry;
  registerAllExtensions(registry);
  registry
      .insert<arith::ArithDialect, gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect,
              NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  return context;
}

/// A launch of a kernel that `emit` makes, with tensor maps, and then `buffers`.
struct Launch {
  int64_t blocks, threads, sharedBytes;
  std::vector<std::pair<TensorMapPlan, void *>> maps;
  std::vector<void *> buffers;
  llvm::function_ref<void(GPUFunctionBuilder &)> emit;
};

/// What differs from the kernel as it is.
struct Change {
  /// The number of an order that is left out; negative: none.
  int32_t omitted = -1;
  /// Bits to flip in all constants of matrix descriptors.
  int64_t bits = 0;
  /// Of tensor maps.
  int swizzle = 128;
  /// Changes what is compiled.
  Mutate mutate = {};
};

/// Whether an instruction of inline PTX is an order: barriers, waits, arrivals, commits
/// and fences. The other fence orders what the emulator does at once, and registers have
/// no limit in it.
inline bool isOrder(mlir::LLVM::InlineAsmOp op) {
  llvm::StringRef text = op.getAsmString();
  return op.getNumResults() == 0 && !text.contains("setmaxnreg") &&
         !text.contains("prefetch") && !text.contains("fence.proxy");
}

/// A kernel that was compiled for the emulator.
class EmulatedKernel {
public:
  EmulatedKernel(mlir::MLIRContext &context, const Launch &launch, Mutate mutate = {}) {
    error = compile(context, launch, mutate);
  }

  /// What fails; "" if nothing does.
  std::string run(const Launch &launch, const Change &change) {
    if (!error.empty())
      return error;
    *omitted = change.omitted;
    *bits = change.bits;
    struct alignas(64) Place {
      char bytes[128] = {};
    };
    static_assert(sizeof(mpt_simt_tensor_map) <= sizeof(Place));
    std::vector<Place> places(launch.maps.size());
    std::vector<void *> pointers = launch.buffers, arguments;
    for (auto [place, map] : llvm::zip_equal(places, launch.maps)) {
      mpt_simt_tensor_map made = makeMap(map.first, map.second);
      made.swizzle_bytes = static_cast<int16_t>(change.swizzle);
      std::memcpy(place.bytes, &made, sizeof(made));
      arguments.push_back(place.bytes);
    }
    for (void *&pointer : pointers)
      arguments.push_back(&pointer);
    if (table->num_kernels != 1 ||
        table->kernels[0].maps != static_cast<int64_t>(launch.maps.size()))
      return "not one kernel with these maps";
    std::string failure;
    rt::runEmulated(*table, table->kernels[0], launch.blocks, 1, launch.threads,
                    arguments.data(), failure, /*parts=*/0, launch.sharedBytes);
    return failure;
  }

  /// The text of each instruction that is an order, by its number.
  std::vector<std::string> orders;

private:
  std::string compile(mlir::MLIRContext &context, const Launch &launch, Mutate mutate) {
    using namespace mlir;
    OpBuilder b(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToEnd(module->getBody());
    auto device = gpu::GPUModuleOp::create(b, b.getUnknownLoc(), "device");
    OpBuilder inner = OpBuilder::atBlockEnd(&device.getBodyRegion().front());
    GPUFunctionBuilder code(inner, b.getUnknownLoc(), "attention",
                            static_cast<int64_t>(launch.buffers.size()), launch.threads,
                            /*isWide=*/false, /*numbers=*/0,
                            static_cast<int64_t>(launch.maps.size()));
    launch.emit(code);
    code.finish();
    PassManager passes(&context, ModuleOp::getOperationName());
    buildDeviceToLLVMPipeline(passes, "fast");
    if (failed(passes.run(*module)))
      return "the kernel is not compiled";
    if (mutate)
      mutate(device);
    readChanges(device);
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    auto made = emulateKernels(device, *llvmContext);
    if (!made)
      return llvm::toString(made.takeError());
    auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
    // It runs for less time than it is compiled.
    builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
    auto machine = llvm::cantFail(builder.createTargetMachine());
    (*made)->setTargetTriple(machine->getTargetTriple());
    (*made)->setDataLayout(machine->createDataLayout());
    llvm::cantFail(makeOptimizingTransformer(1, 0, machine.get())(made->get()));
    jit = llvm::cantFail(
        llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
    jit->getMainJITDylib().addGenerator(
        llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
            jit->getDataLayout().getGlobalPrefix())));
    llvm::cantFail(jit->addIRModule(
        llvm::orc::ThreadSafeModule(std::move(*made), std::move(llvmContext))));
    table = llvm::cantFail(jit->lookup("mpt_simt_module")).toPtr<mpt_simt_module *>();
    omitted = llvm::cantFail(jit->lookup("omitted")).toPtr<int32_t *>();
    bits = llvm::cantFail(jit->lookup("bits")).toPtr<int64_t *>();
    return "";
  }

  /// Lets the kernel read at each order and descriptor what a `Change` says of it.
  void readChanges(mlir::gpu::GPUModuleOp device) {
    using namespace mlir;
    OpBuilder b = OpBuilder::atBlockBegin(&device.getBodyRegion().front());
    auto makeGlobal = [&](Type type, StringRef name, int64_t value) {
      return LLVM::GlobalOp::create(b, device.getLoc(), type, /*isConstant=*/false,
                                    LLVM::Linkage::External, name,
                                    b.getIntegerAttr(type, value));
    };
    LLVM::GlobalOp ofOrders = makeGlobal(b.getI32Type(), "omitted", -1),
                   ofBits = makeGlobal(b.getI64Type(), "bits", 0);
    // Volatile, so that no loop is compiled for each value.
    auto read = [&](LLVM::GlobalOp global, Location loc) -> Value {
      return LLVM::LoadOp::create(b, loc, global.getType(),
                                  LLVM::AddressOfOp::create(b, loc, global),
                                  /*alignment=*/0, /*isVolatile=*/true);
    };
    llvm::SmallVector<LLVM::InlineAsmOp> all;
    llvm::SmallVector<LLVM::ConstantOp> descriptors;
    device.walk([&](Operation *op) {
      if (auto code = dyn_cast<LLVM::InlineAsmOp>(op); code && isOrder(code))
        all.push_back(code);
      auto constant = dyn_cast<LLVM::ConstantOp>(op);
      auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
      if (number && constant.getType().isInteger(64) && number.getValue()[62])
        descriptors.push_back(constant);
    });
    for (LLVM::ConstantOp constant : descriptors) {
      b.setInsertionPointAfter(constant);
      Value flipped = LLVM::XOrOp::create(b, constant.getLoc(), constant,
                                          read(ofBits, constant.getLoc()));
      constant.getResult().replaceAllUsesExcept(flipped, flipped.getDefiningOp());
    }
    for (auto [i, order] : llvm::enumerate(all)) {
      orders.push_back(order.getAsmString().str());
      Location loc = order.getLoc();
      Block *before = order->getBlock();
      Block *after = before->splitBlock(order->getNextNode());
      Block *with = before->splitBlock(order);
      b.setInsertionPointToEnd(with);
      LLVM::BrOp::create(b, loc, ValueRange(), after);
      b.setInsertionPointToEnd(before);
      Value isKept = LLVM::ICmpOp::create(
          b, loc, LLVM::ICmpPredicate::ne, read(ofOrders, loc),
          LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int>(i))));
      LLVM::CondBrOp::create(b, loc, isKept, with, after);
    }
  }

  std::unique_ptr<llvm::orc::LLJIT> jit;
  const mpt_simt_module *table = nullptr;
  int32_t *omitted = nullptr;
  int64_t *bits = nullptr;
  std::string error;
};

/// Runs kernels that are compiled when they are first wanted.
class KernelRuns {
public:
  /// What fails; "" if nothing does.
  std::string run(mlir::MLIRContext &context, const Launch &launch,
                  const Change &change) {
    if (change.mutate)
      return EmulatedKernel(context, launch, change.mutate).run(launch, change);
    if (!kernel)
      kernel.emplace(context, launch);
    return kernel->run(launch, change);
  }
  /// After a run.
  const std::vector<std::string> &getOrders() const { return kernel->orders; }

private:
  std::optional<EmulatedKernel> kernel;
};

/// A number in f64 and what one that is computed may differ by.
struct Wanted {
  double value = 0, bound = 0;
};

/// Calls `isRight` with one of the orders of `runs` less at a time, and then with all of
/// them.
inline void expectOrdersAreNeeded(const KernelRuns &runs,
                                  llvm::function_ref<bool(const Change &)> isRight) {
  for (auto [i, text] : llvm::enumerate(runs.getOrders())) {
    Change change;
    change.omitted = static_cast<int32_t>(i);
    EXPECT_FALSE(isRight(change)) << i << ": " << text;
  }
  // Nothing stays of those that failed.
  EXPECT_TRUE(isRight({}));
}

} // namespace mpt::test

#endif // MPT_UNITTESTS_CODEGEN_WARPGROUPRUNNER_H
