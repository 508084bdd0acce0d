//===- SerializeKernels.cpp - Device code by LLVM and ptxas -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-serialize-kernels`: upstream's serialization of `gpu.module`s, after
/// checks whose failure it would report poorly or not survive.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/DeviceKernels.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"

namespace mpt {
#define GEN_PASS_DEF_SERIALIZEKERNELSPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

/// Whether LLVM knows `chip`; it would print to standard error and go on.
static bool isChip(StringRef chip) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  std::string error;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return false;
  std::unique_ptr<llvm::MCSubtargetInfo> any(
      target->createMCSubtargetInfo(triple, "", ""));
  return any && chip.starts_with("sm_") && any->isCPUStringValid(chip);
}

/// The toolkit's folder: `given`, that of the ptxas on the path, or the default.
/// "" if there is no ptxas.
static std::string findToolkit(StringRef given) {
  auto hasPtxas = [](StringRef root) {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, "bin", "ptxas");
    return llvm::sys::fs::can_execute(path);
  };
  if (!given.empty())
    return hasPtxas(given) ? given.str() : "";
  if (auto found = llvm::sys::findProgramByName("ptxas")) {
    llvm::SmallString<128> real;
    if (!llvm::sys::fs::real_path(*found, real)) {
      StringRef root = llvm::sys::path::parent_path(llvm::sys::path::parent_path(real));
      // A script that calls another folder's ptxas has no toolkit around it.
      auto hasLibdevice = [](const llvm::Twine &folder) {
        return llvm::sys::fs::exists(folder + "/nvvm/libdevice/libdevice.10.bc");
      };
      if (hasLibdevice(root) || !hasPtxas("/usr/local/cuda") ||
          !hasLibdevice("/usr/local/cuda"))
        return root.str();
    }
  }
  return hasPtxas("/usr/local/cuda") ? "/usr/local/cuda" : "";
}

namespace {

struct SerializeKernelsPass : mpt::impl::SerializeKernelsPassBase<SerializeKernelsPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerGPUDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
    NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    auto devices = llvm::to_vector(getOperation().getOps<gpu::GPUModuleOp>());
    if (devices.empty() && !mpt::detail::hasKernelsOrProgram(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no gpu.module and no program");
    for (gpu::GPUModuleOp device : devices)
      if (failed(serialize(device)))
        return signalPassFailure();
  }

private:
  static LogicalResult checkTarget(gpu::GPUModuleOp device, Attribute attribute) {
    auto target = dyn_cast<NVVM::NVVMTargetAttr>(attribute);
    if (!target || !isa<gpu::TargetAttrInterface>(attribute))
      return device.emitError("expected an NVVM target, found ") << attribute;
    if (!isChip(target.getChip()))
      return device.emitError("unknown chip '")
             << target.getChip() << "'; LLVM knows sm_80, sm_90, sm_100 and others "
             << "like them";
    if (!llvm::isDigit(target.getChip().back()))
      return device.emitError("the chip '")
             << target.getChip() << "' is one whose code runs nowhere else, for "
             << "instructions that kernels do not use; use "
             << target.getChip().drop_back();
    // Older ones lack instructions that kernels may hold (bf16, mma with k = 16), for
    // which LLVM would abort.
    int64_t number = 0;
    if (StringRef digits = target.getChip().drop_front(3);
        digits.consumeInteger(10, number) || number < 80)
      return device.emitError("the chip '")
             << target.getChip() << "' is too old: kernels are made for sm_80 and newer";
    return success();
  }

  /// 90 of sm_90.
  static int64_t getNumber(Attribute target) {
    int64_t number = 0;
    StringRef chip = cast<NVVM::NVVMTargetAttr>(target).getChip();
    return chip.drop_front(3).getAsInteger(10, number) ? 0 : number;
  }

  static constexpr llvm::StringLiteral kSpecificChip = "sm_90a";
  static bool isHopper(Attribute target) {
    return cast<NVVM::NVVMTargetAttr>(target).getChip() == "sm_90";
  }
  static bool isSpecific(Attribute target) {
    return cast<NVVM::NVVMTargetAttr>(target).getChip() == kSpecificChip;
  }

  /// Erases the functions of variants, or all others.
  static void keepFunctions(gpu::GPUModuleOp device, DictionaryAttr variants,
                            bool ofVariants) {
    llvm::StringSet<> names;
    for (NamedAttribute variant : variants)
      names.insert(getVariantName(variant.getName()));
    for (auto function : llvm::make_early_inc_range(device.getOps<LLVM::LLVMFuncOp>()))
      if (!function.isExternal() && names.contains(function.getName()) != ofVariants)
        function.erase();
  }

  LogicalResult serialize(gpu::GPUModuleOp device) {
    if (format != "isa" && format != "cubin" && format != "cubin+isa")
      return device.emitError("unknown format '")
             << format << "'; use isa, cubin or cubin+isa";
    ArrayAttr all = device.getTargetsAttr();
    if (!all || all.empty())
      return device.emitError("no chip to compile for; name one, as in chip=sm_90");
    std::string root = findToolkit(toolkit);
    if (format != "isa" && root.empty()) {
      InFlightDiagnostic error = device.emitError();
      if (toolkit.empty())
        error << "no ptxas: neither on the path nor in /usr/local/cuda/bin; install "
                 "the CUDA toolkit, or PyPI's nvidia-cuda-nvcc and give its folder "
                 "as toolkit (mpt-compile: --cuda-toolkit)";
      else
        error
            << "no ptxas in '" << toolkit
            << "/bin'; name the folder of a CUDA toolkit, or of PyPI's nvidia-cuda-nvcc";
      return error;
    }
    for (Attribute attribute : all)
      if (failed(checkTarget(device, attribute)))
        return failure();
    // Chips are independent; each has a compilation of its own, and a ptxas.
    bool wantsBinary = format != "isa";
    auto variants = getVariants(device);
    SmallVector<Attribute> targets(all.begin(), all.end());
    if (const auto *of = llvm::find_if(all, isHopper); variants && of != all.end()) {
      auto target = cast<NVVM::NVVMTargetAttr>(*of);
      targets.push_back(NVVM::NVVMTargetAttr::get(&getContext(), target.getO(),
                                                  target.getTriple(), kSpecificChip));
    }
    std::vector<SmallVector<char, 0>> made(targets.size());
    std::vector<std::string> texts(targets.size());
    auto compile = [&](size_t i) -> LogicalResult {
      auto keep = [&](StringRef isa) { texts[i] = isa.str(); };
      gpu::TargetOptions options(root, {}, "", "",
                                 wantsBinary ? gpu::CompilationTarget::Binary
                                             : gpu::CompilationTarget::Assembly,
                                 {}, {}, {}, {}, keep);
      // Serialization writes how long it takes on the module, which chips share.
      OwningOpRef<gpu::GPUModuleOp> copy(device.clone());
      if (variants)
        keepFunctions(*copy, variants, isSpecific(targets[i]));
      std::optional<SmallVector<char, 0>> object =
          cast<gpu::TargetAttrInterface>(targets[i]).serializeToObject(*copy, options);
      if (!object)
        return device.emitError("the kernels could not be compiled for ")
               << cast<NVVM::NVVMTargetAttr>(targets[i]).getChip();
      made[i] = std::move(*object);
      return success();
    };
    if (failed(failableParallelForEachN(&getContext(), 0, targets.size(), compile)))
      return failure();
    OpBuilder builder(device);
    SmallVector<Attribute> objects;
    auto add = [&](size_t i, gpu::CompilationTarget kind,
                   const SmallVector<char, 0> &object) {
      gpu::TargetOptions options(root, {}, "", "", kind);
      objects.push_back(cast<gpu::TargetAttrInterface>(targets[i])
                            .createObject(device, object, options));
    };
    auto addText = [&](size_t i) {
      SmallVector<char, 0> text(texts[i].begin(), texts[i].end());
      text.push_back('\0');
      add(i, gpu::CompilationTarget::Assembly, text);
    };
    size_t newest = 0;
    for (size_t i = 0; i < targets.size(); ++i) {
      if (!isSpecific(targets[i]) && getNumber(targets[i]) > getNumber(targets[newest]))
        newest = i;
      add(i,
          wantsBinary ? gpu::CompilationTarget::Binary : gpu::CompilationTarget::Assembly,
          made[i]);
    }
    // PTX runs on newer chips, too. The driver reads up to a zero.
    if (format == "cubin+isa") {
      addText(newest);
      if (isSpecific(targets.back()))
        addText(targets.size() - 1);
    }
    auto binary = gpu::BinaryOp::create(builder, device.getLoc(), device.getName(),
                                        Attribute(), builder.getArrayAttr(objects));
    if (variants)
      setVariants(binary, variants);
    device.erase();
    return success();
  }
};

} // namespace
