//===- WarpgroupAttentionTest.cpp - Attention by wgmma and TMA -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernel for sm_90a in the emulator against attention in f64, and with one
/// instruction less or another at a time, which has to show.
///
//===----------------------------------------------------------------------===//

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

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct Case {
  int64_t entries, heads, groups, queries, keys, width, valueWidth;
  bool isCausal, isF16;
  /// Rows of all heads lie side by side, in batches of `parts` tensors.
  bool sideBySide;
};

double roundTo(double x, bool isF16, uint16_t &bits) {
  llvm::APFloat number(x);
  bool lost;
  const llvm::fltSemantics &type =
      isF16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
  number.convert(type, llvm::APFloat::rmNearestTiesToEven, &lost);
  bits = static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
  return number.convertToDouble();
}
double valueOf(uint16_t bits, bool isF16) {
  llvm::APFloat number(isF16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                       llvm::APInt(16, bits));
  return number.convertToDouble();
}

RowStrides makeStrides(const Case &c, int64_t heads, int64_t rows, int64_t width) {
  if (c.sideBySide)
    return {rows * heads * width, width, heads * width, 8};
  return {heads * rows * width, rows * width, width, 8};
}

AttentionShape makeShape(const Case &c, MLIRContext &context) {
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
  shape.scale = 1 / std::sqrt(static_cast<double>(c.width));
  shape.type = c.isF16 ? Type(Float16Type::get(&context)) : BFloat16Type::get(&context);
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
  int64_t at(int64_t entry, int64_t head, int64_t row, int64_t column) const {
    return entry * strides.batch + head * strides.head + row * strides.row + column;
  }
};

mpt_simt_tensor_map makeMap(const TensorMapPlan &plan, void *data) {
  mpt_simt_tensor_map map = {mpt_simt_tensor_map::kMagic, 4, 2, data, {}, {}, {}, 128};
  for (int i = 0; i < 4; ++i) {
    map.sizes[i] = plan.sizes[i];
    map.box[i] = static_cast<int16_t>(plan.box[i]);
    if (i < 3)
      map.strides[i] = plan.strides[i];
  }
  return map;
}

using Mutate = llvm::function_ref<void(gpu::GPUModuleOp)>;

class Kernel {
public:
  explicit Kernel(const Case &c) : c(c) {
    DialectRegistry registry;
    registerAllExtensions(registry);
    registry.insert<arith::ArithDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                    math::MathDialect, NVVM::NVVMDialect, scf::SCFDialect,
                    vector::VectorDialect>();
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    shape = makeShape(c, *context);
    plan = planWarpgroupAttention(shape);
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  }

  /// What differs from attention in f64, or fails; "" if all is right.
  std::string run(Mutate mutate = {}, int swizzle = 128) {
    if (!plan)
      return "no plan";
    OpBuilder b(context.get());
    OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToEnd(module->getBody());
    auto device = gpu::GPUModuleOp::create(b, b.getUnknownLoc(), "device");
    OpBuilder inner = OpBuilder::atBlockEnd(&device.getBodyRegion().front());
    GPUFunctionBuilder code(inner, b.getUnknownLoc(), "attention", 5, plan->threads,
                            /*isWide=*/false, /*numbers=*/0, /*maps=*/3);
    emitWarpgroupAttention(code, shape, *plan);
    code.finish();
    PassManager passes(context.get(), ModuleOp::getOperationName());
    buildDeviceToLLVMPipeline(passes, "fast");
    if (failed(passes.run(*module)))
      return "the kernel is not compiled";
    if (mutate)
      mutate(device);
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    auto made = emulateKernels(device, *llvmContext);
    if (!made)
      return llvm::toString(made.takeError());
    auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
    auto machine = llvm::cantFail(builder.createTargetMachine());
    (*made)->setTargetTriple(machine->getTargetTriple());
    (*made)->setDataLayout(machine->createDataLayout());
    llvm::cantFail(makeOptimizingTransformer(1, 0, machine.get())(made->get()));
    auto jit = llvm::cantFail(
        llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
    jit->getMainJITDylib().addGenerator(
        llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
            jit->getDataLayout().getGlobalPrefix())));
    llvm::cantFail(jit->addIRModule(
        llvm::orc::ThreadSafeModule(std::move(*made), std::move(llvmContext))));
    auto *table =
        llvm::cantFail(jit->lookup("mpt_simt_module")).toPtr<mpt_simt_module *>();
    return compare(*table, swizzle);
  }

  MLIRContext *getContext() { return context.get(); }
  AttentionShape shape;
  std::optional<WarpgroupAttentionPlan> plan;

private:
  std::string compare(const mpt_simt_module &module, int swizzle) {
    Tensor q = make(shape.query, c.heads * c.queries * c.width, 4, 1),
           k = make(shape.key, c.groups * c.keys * c.width, 4, 2),
           v = make(shape.value, c.groups * c.keys * c.valueWidth, 1, 3);
    Tensor o(shape.result, c.entries * c.heads * c.queries * c.valueWidth);
    std::fill(o.bits.begin(), o.bits.end(), 0x7fff);
    std::vector<float> lse(shape.batch * c.queries, NAN);
    alignas(64) mpt_simt_tensor_map maps[3] = {makeMap(plan->query, q.data()),
                                               makeMap(plan->key, k.data()),
                                               makeMap(plan->value, v.data())};
    static_assert(sizeof(mpt_simt_tensor_map) <= 128);
    alignas(64) char places[3][128] = {};
    for (int i = 0; i < 3; ++i) {
      maps[i].swizzle_bytes = static_cast<int16_t>(swizzle);
      std::memcpy(places[i], &maps[i], sizeof(maps[i]));
    }
    void *pointers[] = {q.data(), k.data(), v.data(), o.data(), lse.data()};
    void *arguments[] = {places[0],    places[1],    places[2],    &pointers[0],
                         &pointers[1], &pointers[2], &pointers[3], &pointers[4]};
    EXPECT_EQ(module.num_kernels, 1);
    EXPECT_EQ(module.kernels[0].maps, 3);
    std::string error;
    if (!rt::runEmulated(module, module.kernels[0], plan->blocks, 1, plan->threads,
                         arguments, error, /*parts=*/0, plan->sharedBytes))
      return error;
    return compare(q, k, v, o, lse);
  }

  Tensor make(const RowStrides &strides, int64_t ofEntry, double most, uint64_t seed) {
    Tensor tensor(strides, ofEntry * c.entries);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> draw(-most, most);
    for (int64_t i = 0; i < ofEntry * c.entries; ++i)
      tensor.numbers[i] = roundTo(draw(random), c.isF16, tensor.data()[i]);
    return tensor;
  }

  std::string compare(const Tensor &q, const Tensor &k, const Tensor &v, Tensor &o,
                      const std::vector<float> &lse) {
    const double u = c.isF16 ? 0x1p-11 : 0x1p-8, f = 0x1p-24;
    for (int64_t entry = 0; entry < c.entries; ++entry)
      for (int64_t head = 0; head < c.heads; ++head)
        for (int64_t row = 0; row < c.queries; ++row) {
          const int64_t group = head / (c.heads / c.groups);
          const int64_t seen = c.isCausal ? row + 1 + c.keys - c.queries : c.keys;
          std::vector<double> scores(seen);
          double most = -INFINITY, error = 0, largest = 0;
          for (int64_t j = 0; j < seen; ++j) {
            double sum = 0, size = 0;
            for (int64_t i = 0; i < c.width; ++i) {
              const double term = q.numbers[q.at(entry, head, row, i)] *
                                  k.numbers[k.at(entry, group, j, i)];
              sum += term;
              size += std::fabs(term);
            }
            scores[j] = sum * shape.scale;
            most = std::max(most, scores[j]);
            // Sums of `width` terms, then roundings of what exp2 takes.
            error =
                std::max(error, shape.scale * size * static_cast<double>(c.width) * f);
            largest = std::max(largest, std::fabs(scores[j]));
          }
          error += 4 * largest * 2 * f + 0x1p-21;
          double sum = 0;
          for (double &score : scores)
            sum += score = std::exp(score - most);
          const double wantedLse = most + std::log(sum);
          const double keys = static_cast<double>(seen);
          const double lseBound =
              2 * error + keys * f + 4 * f * (std::fabs(wantedLse) + 1);
          const int64_t rowNumber = (entry * c.heads + head) * c.queries + row;
          if (!(std::fabs(lse[rowNumber] - wantedLse) <= lseBound))
            return "log-sum-exp of row " + std::to_string(rowNumber) + ": " +
                   std::to_string(lse[rowNumber]) + ", wanted " +
                   std::to_string(wantedLse);
          for (int64_t i = 0; i < c.valueWidth; ++i) {
            double wanted = 0, size = 0;
            for (int64_t j = 0; j < seen; ++j) {
              const double term = scores[j] / sum * v.numbers[v.at(entry, group, j, i)];
              wanted += term;
              size += std::fabs(term);
            }
            // Probabilities are rounded (f16 has subnormal ones), added up, divided by
            // their sum, and rounded again.
            const double bound = (u + 2 * error + (keys + 8) * 2 * f) * size * 1.01 +
                                 u * std::fabs(wanted) + (c.isF16 ? keys * 0x1p-25 : 0) +
                                 (c.isF16 ? 0x1p-25 : 0);
            const double found = valueOf(o.data()[o.at(entry, head, row, i)], c.isF16);
            if (!(std::fabs(found - wanted) <= bound))
              return "element " + std::to_string(i) + " of row " +
                     std::to_string(rowNumber) + ": " + std::to_string(found) +
                     ", wanted " + std::to_string(wanted);
          }
        }
    return "";
  }

  const Case &c;
  std::unique_ptr<MLIRContext> context;
};

TEST(WarpgroupAttention, IsThatInF64) {
  const Case cases[] = {
      {1, 2, 2, 128, 128, 64, 64, false, false, false},
      {2, 2, 1, 300, 300, 64, 64, true, false, true},
      {1, 2, 2, 130, 449, 64, 64, true, true, true},
      {1, 1, 1, 70, 520, 128, 128, false, false, false},
      {1, 2, 2, 200, 200, 128, 128, true, false, true},
      {1, 1, 1, 256, 384, 128, 64, true, true, false},
      {1, 1, 1, 1, 65, 64, 128, false, true, false},
  };
  for (const Case &c : cases)
    EXPECT_EQ(Kernel(c).run(), "")
        << c.queries << " queries, " << c.keys << " keys of " << c.width;
}

/// Causal, with two tiles that hide keys, three that do not, and two stages.
const Case kMutated = {1, 1, 1, 128, 600, 64, 64, true, false, false};

TEST(WarpgroupAttention, EachInstructionIsNeeded) {
  Kernel kernel(kMutated);
  // Barriers, waits, arrivals, commits and fences; the other fence orders what the
  // emulator does at once, and registers have no limit in it.
  auto isNeeded = [](StringRef text) {
    return !text.contains("setmaxnreg") && !text.contains("prefetch") &&
           !text.contains("fence.proxy");
  };
  unsigned count = 0;
  auto erase = [&](unsigned which) {
    return [&, which](gpu::GPUModuleOp device) {
      SmallVector<LLVM::InlineAsmOp> all;
      device.walk([&](LLVM::InlineAsmOp op) {
        if (isNeeded(op.getAsmString()) && op.getNumResults() == 0)
          all.push_back(op);
      });
      count = all.size();
      if (which < count)
        all[which].erase();
    };
  };
  ASSERT_EQ(kernel.run(erase(~0u)), "");
  ASSERT_GT(count, 40u);
  for (unsigned i = 0; i < count; ++i) {
    std::string erased;
    auto mutate = [&](gpu::GPUModuleOp device) {
      unsigned number = 0;
      device.walk([&](LLVM::InlineAsmOp op) {
        if (isNeeded(op.getAsmString()) && op.getNumResults() == 0 && number++ == i)
          erased = op.getAsmString();
      });
      erase(i)(device);
    };
    EXPECT_NE(kernel.run(mutate), "") << i << ": " << erased;
  }
}

TEST(WarpgroupAttention, MatricesAreDescribed) {
  // The distance of panels says nothing where there is one, and something where a matmul
  // has values of two.
  Case wide = kMutated;
  wide.valueWidth = 128;
  Kernel kernel(kMutated), ofWide(wide);
  ASSERT_EQ(ofWide.run(), "");
  // Each bit of a descriptor's constant fields, one after the other.
  for (int bit : {16, 24, 32, 38, 46, 49, 62, 63}) {
    auto mutate = [&](gpu::GPUModuleOp device) {
      device.walk([&](LLVM::ConstantOp op) {
        auto number = dyn_cast<IntegerAttr>(op.getValue());
        if (number && op.getType().isInteger(64) && number.getValue()[62])
          op.setValueAttr(IntegerAttr::get(
              op.getType(), number.getValue() ^ llvm::APInt::getOneBitSet(64, bit)));
      });
    };
    if (bit >= 32)
      EXPECT_NE(kernel.run(mutate), "") << bit;
    else
      EXPECT_EQ(kernel.run(mutate), "") << bit;
    EXPECT_NE(ofWide.run(mutate), "") << bit;
  }
  for (int swizzle : {0, 32, 64})
    EXPECT_NE(kernel.run({}, swizzle), "") << swizzle;
  // Whether a matrix is transposed.
  for (auto [from, to] : {std::pair("adds, 1, 1, 1;", "adds, 1, 1, 0;"),
                          std::pair("adds, 1, 1, 0, 0;", "adds, 1, 1, 0, 1;")}) {
    bool found = false;
    auto mutate = [&, from = from, to = to](gpu::GPUModuleOp device) {
      device.walk([&](LLVM::InlineAsmOp op) {
        std::string text = op.getAsmString().str();
        if (size_t at = text.find(from); at != std::string::npos) {
          found = true;
          op.setAsmString(text.replace(at, std::strlen(from), to));
        }
      });
    };
    EXPECT_NE(kernel.run(mutate), "") << to;
    EXPECT_TRUE(found) << from;
  }
}

TEST(WarpgroupAttention, WhatIsLeftToTheOtherKernel) {
  MLIRContext context;
  const Case plain = {2, 4, 2, 256, 256, 64, 64, true, false, true};
  const AttentionShape shape = makeShape(plain, context);
  ASSERT_TRUE(planWarpgroupAttention(shape));
  auto refuses = [&](llvm::function_ref<void(AttentionShape &)> change) {
    AttentionShape other = shape;
    change(other);
    return !planWarpgroupAttention(other);
  };
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.width = 96; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.valueWidth = 256; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.maskStrides = {0, 0, 0, 1}; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.biasStrides = {0, 0, 0, 1}; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.dropout = 0.1; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.scale = -1; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.keys = 255; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.key.first = 4; }));
  // Rows at multiples of 8 bytes, and rows that overlap.
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.query.row = 260; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.value.row = 64; }));
  // A stride that is no multiple of the smaller one.
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.key.row = 64 * 2 + 8; }));
}

TEST(WarpgroupAttention, MapsOfTensors) {
  // 2 entries, 4 heads, 100 rows, [B, T, H, D].
  auto map = planTensorMap({100 * 256, 64, 256, 0}, 64, 100, 4, 2, 128);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->sizes, (std::array<int64_t, 4>{64, 4, 100, 2}));
  EXPECT_EQ(map->strides, (std::array<int64_t, 3>{128, 512, 51200}));
  EXPECT_EQ(map->box, (std::array<int64_t, 4>{64, 1, 128, 1}));
  EXPECT_EQ(map->row, 2u);
  EXPECT_EQ(map->head, 1u);
  EXPECT_EQ(map->entry, 3u);
  // [B, H, T, D] of one entry, whose stride says nothing.
  map = planTensorMap({7, 6400, 64, 0}, 64, 100, 4, 1, 64);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->sizes, (std::array<int64_t, 4>{64, 100, 4, 1}));
  EXPECT_EQ(map->strides, (std::array<int64_t, 3>{128, 12800, 51200}));
  EXPECT_EQ(map->row, 1u);
  // A part of [B, T, 3, H, D].
  EXPECT_TRUE(planTensorMap({100 * 768, 64, 768, 256}, 64, 100, 4, 2, 128));
  EXPECT_FALSE(planTensorMap({100 * 768, 64, 767, 256}, 64, 100, 4, 2, 128));
  EXPECT_FALSE(planTensorMap({100 * 768, 64, 768, 4}, 64, 100, 4, 2, 128));
}

} // namespace
