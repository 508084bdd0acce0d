//===- CudaGlobals.cpp - What a program for GPUs exports -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaGlobals.h"

#include "ChipName.h"
#include "mpt/Codegen/CUDA/DeviceKernels.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <variant>

using namespace mlir;
using namespace mpt;

/// 90 of "sm_90" or "sm_90a"; 0 of anything else.
static int64_t architectureOf(gpu::ObjectAttr object) {
  auto target = dyn_cast<NVVM::NVVMTargetAttr>(object.getTarget());
  return parseChipName(target ? target.getChip() : "").value_or(0);
}

/// Whether its code runs on that architecture alone, as that of sm_90a.
static bool isSpecific(gpu::ObjectAttr object) {
  auto target = dyn_cast<NVVM::NVVMTargetAttr>(object.getTarget());
  return target && llvm::isAlpha(target.getChip().back());
}

static SmallVector<gpu::ObjectAttr> objectsOf(gpu::BinaryOp binary) {
  SmallVector<gpu::ObjectAttr> objects;
  for (Attribute attribute : binary.getObjects())
    if (auto object = dyn_cast<gpu::ObjectAttr>(attribute))
      objects.push_back(object);
  return objects;
}

static gpu::BinaryOp findBinary(ModuleOp module) {
  auto binaries = module.getOps<gpu::BinaryOp>();
  return binaries.empty() ? gpu::BinaryOp() : *binaries.begin();
}

LogicalResult mpt::getArchitectures(ModuleOp module,
                                    SmallVectorImpl<int64_t> &architectures) {
  gpu::BinaryOp binary = findBinary(module);
  if (!binary)
    return success();
  for (gpu::ObjectAttr object : objectsOf(binary)) {
    architectures.push_back(architectureOf(object));
    if (architectures.back() == 0)
      return binary.emitError("expected objects for sm_.. chips, found ")
             << object.getTarget();
  }
  return success();
}

LogicalResult mpt::checkCompiled(const KernelEntry &kernel) {
  program::DeviceLaunchOp launch = kernel.launch;
  auto module = launch->getParentOfType<ModuleOp>();
  if (module.lookupSymbol<gpu::BinaryOp>(launch.getFunction().getRootReference()))
    return success();
  return launch.emitError("kernel '")
         << kernel.name
         << "' is not compiled for a GPU; run --mpt-serialize-kernels first";
}

LLVM::GlobalOp mpt::emitCudaGlobals(program::ProgramOp program,
                                    ArrayRef<KernelEntry> kernels) {
  auto module = program->getParentOfType<ModuleOp>();
  gpu::BinaryOp binary = findBinary(module);
  MLIRContext *context = module.getContext();
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  auto emitBytes = [&](const Twine &name, StringRef bytes) {
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    return LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                                  LLVM::Linkage::Internal, name.str(),
                                  builder.getStringAttr(bytes), /*alignment=*/64);
  };
  // A list of structs of numbers and addresses of globals.
  using Field = std::variant<int64_t, LLVM::GlobalOp>;
  auto emitTable = [&](StringRef name, ArrayRef<SmallVector<Field>> rows) {
    SmallVector<Type> types;
    for (const Field &field : rows.front())
      types.push_back(std::holds_alternative<int64_t>(field) ? i64 : Type(pointer));
    auto row = LLVM::LLVMStructType::getLiteral(context, types);
    auto table = LLVM::LLVMArrayType::get(row, rows.size());
    auto global = LLVM::GlobalOp::create(builder, loc, table, /*isConstant=*/false,
                                         LLVM::Linkage::Internal, name, Attribute());
    OpBuilder b = OpBuilder::atBlockEnd(&global.getInitializer().emplaceBlock());
    Value value = LLVM::UndefOp::create(b, loc, table);
    for (auto [i, fields] : llvm::enumerate(rows))
      for (auto [j, field] : llvm::enumerate(fields)) {
        Value part;
        if (auto *number = std::get_if<int64_t>(&field))
          part = LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(*number));
        else
          part = LLVM::AddressOfOp::create(b, loc, std::get<LLVM::GlobalOp>(field));
        value = LLVM::InsertValueOp::create(
            b, loc, value, part,
            ArrayRef<int64_t>{static_cast<int64_t>(i), static_cast<int64_t>(j)});
      }
    LLVM::ReturnOp::create(b, loc, value);
    return global;
  };
  SmallVector<SmallVector<Field>> kernelRows, imageRows;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    LLVM::GlobalOp name =
        emitBytes("mpt_cuda_name_" + Twine(i),
                  StringRef(kernel.name.c_str(), kernel.name.size() + 1));
    program::DeviceLaunchOp launch = kernel.launch;
    SmallVector<Field> row = {name, launch.getBlocks()[0], launch.getBlocks()[1],
                              static_cast<int64_t>(launch.getThreads()),
                              static_cast<int64_t>(launch.getBound())};
    kernelRows.push_back(row);
  }
  if (binary)
    for (auto [i, object] : llvm::enumerate(objectsOf(binary))) {
      bool isPtx = object.getFormat() == gpu::CompilationTarget::Assembly;
      std::string bytes = object.getObject().getValue().str();
      // PTX is text that ends with a zero.
      if (isPtx && (bytes.empty() || bytes.back() != '\0'))
        bytes.push_back('\0');
      SmallVector<Field> row = {architectureOf(object), int64_t(isPtx),
                                emitBytes("mpt_cuda_image_" + Twine(i), bytes),
                                static_cast<int64_t>(bytes.size()),
                                int64_t(isSpecific(object))};
      imageRows.push_back(row);
    }
  auto count = static_cast<int64_t>(imageRows.size());
  // Not read, but a table has to have rows.
  SmallVector<Field> nothing = {int64_t(0)};
  if (kernelRows.empty())
    kernelRows.push_back(nothing);
  if (imageRows.empty())
    imageRows.push_back(nothing);
  LLVM::GlobalOp kernelTable = emitTable("mpt_cuda_kernels", kernelRows);
  LLVM::GlobalOp imageTable = emitTable("mpt_cuda_images", imageRows);
  SmallVector<SmallVector<Field>> variantRows;
  if (DictionaryAttr variants = binary ? getVariants(binary) : nullptr)
    for (auto [i, kernel] : llvm::enumerate(kernels)) {
      auto numbers = variants.getAs<DenseI64ArrayAttr>(kernel.name);
      if (!numbers)
        continue;
      std::string name = getVariantName(kernel.name);
      SmallVector<Field> row = {static_cast<int64_t>(i),
                                emitBytes("mpt_cuda_variant_" + Twine(i),
                                          StringRef(name.c_str(), name.size() + 1))};
      llvm::append_range(row, numbers.asArrayRef());
      variantRows.push_back(row);
    }
  auto numVariants = static_cast<int64_t>(variantRows.size());
  if (variantRows.empty())
    variantRows.push_back(nothing);
  LLVM::GlobalOp variantTable = emitTable("mpt_cuda_variants", variantRows);
  if (binary)
    binary.erase();
  SmallVector<SmallVector<Field>> tunedRows;
  if (DictionaryAttr tuned = program.getTunedMatmulsAttr())
    for (auto [i, entry] : llvm::enumerate(tuned)) {
      std::string key = entry.getName().str();
      SmallVector<Field> row = {emitBytes("mpt_cuda_tuned_" + Twine(i),
                                          StringRef(key.c_str(), key.size() + 1))};
      llvm::append_range(row, cast<DenseI64ArrayAttr>(entry.getValue()).asArrayRef());
      tunedRows.push_back(row);
    }
  auto numTuned = static_cast<int64_t>(tunedRows.size());
  if (tunedRows.empty())
    tunedRows.push_back(nothing);
  LLVM::GlobalOp tunedTable = emitTable("mpt_cuda_tuned", tunedRows);
  SmallVector<Field> desc = {kernelTable, imageTable,   count,      tunedTable,
                             numTuned,    variantTable, numVariants};
  return emitTable("mpt_cuda_program", ArrayRef<SmallVector<Field>>(desc));
}
