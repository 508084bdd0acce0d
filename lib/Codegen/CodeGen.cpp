//===- CodeGen.cpp - Programs as machine code -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CodeGen.h"
#include "mpt/Codegen/CPU/Passes.h"
#include "mpt/Codegen/CUDA/EmulatedKernels.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Codegen/Common/Passes.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/Pipelines/Pipelines.h"
#include "mpt/ProgramABI/ProgramFile.h"
#include "mpt/Support/DiagnosticCapture.h"
#include "mpt/Support/FileIO.h"
#include "mpt/Support/Interrupts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "llvm/Transforms/Utils/SplitModule.h"
#include <map>

using namespace mlir;
using namespace mpt;

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
mpt::createTargetMachine(llvm::StringRef cpu, llvm::StringRef triple) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  const llvm::Triple host = builder->getTargetTriple();
  bool isHost = true;
  if (!triple.empty()) {
    const llvm::Triple wanted(llvm::Triple::normalize(triple));
    isHost = wanted.getArch() == host.getArch() && wanted.getOS() == host.getOS();
    if (!isHost) {
      llvm::InitializeAllTargetInfos();
      llvm::InitializeAllTargets();
      llvm::InitializeAllTargetMCs();
      llvm::InitializeAllAsmPrinters();
      *builder = llvm::orc::JITTargetMachineBuilder(wanted);
    }
  }
  const llvm::Triple &target = builder->getTargetTriple();
  if ((target.getArch() != llvm::Triple::x86_64 &&
       target.getArch() != llvm::Triple::aarch64) ||
      !target.isOSBinFormatELF() || (!isHost && !target.isOSLinux()))
    return llvm::createStringError(
        "code is generated for x86-64 and AArch64 with Linux, as x86_64-linux-gnu and "
        "aarch64-linux-gnu; found '" +
        target.str() + "'");
  if (cpu != "native" || !isHost) {
    // A machine of an unknown CPU would print to standard error.
    auto any = builder->createTargetMachine();
    if (!any)
      return any.takeError();
    const llvm::StringRef name = cpu == "native" ? "generic" : cpu;
    if (!(*any)->getMCSubtargetInfo()->isCPUStringValid(name))
      return llvm::createStringError("unknown CPU '" + name +
                                     "'; use native or a name that clang's -mcpu takes");
    builder->setCPU(name.str());
    builder->getFeatures() = llvm::SubtargetFeatures();
  }
  builder->setRelocationModel(llvm::Reloc::PIC_);
  // The default of a JIT is large, which cannot be linked statically with glibc.
  builder->setCodeModel(llvm::CodeModel::Small);
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return builder->createTargetMachine();
}

static llvm::Error optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  return makeOptimizingTransformer(/*optLevel=*/2, /*sizeLevel=*/0, &machine)(&module);
}

/// `module` in the LLVM dialect, and `more` if there is any, as LLVM IR for
/// `machine` that is not optimized.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, llvm::LLVMContext &context, llvm::TargetMachine &machine,
          DiagnosticCapture &message, std::unique_ptr<llvm::Module> more = nullptr) {
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "mpt_program");
  if (!llvmModule)
    return message.take("the step could not be translated to LLVM IR");
  llvmModule->setTargetTriple(machine.getTargetTriple());
  llvmModule->setDataLayout(machine.createDataLayout());
  if (more) {
    more->setTargetTriple(machine.getTargetTriple());
    more->setDataLayout(machine.createDataLayout());
    if (llvm::Linker::linkModules(*llvmModule, std::move(more)))
      return llvm::createStringError("the emulated kernels could not be linked");
  }
  for (llvm::Function &function : *llvmModule) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    // Only the descriptor is seen from outside.
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  return llvmModule;
}

static void registerTranslations(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
}

/// As compileToLLVM, but not optimized.
static llvm::Expected<std::unique_ptr<llvm::Module>>
lowerToLLVM(ModuleOp module, llvm::LLVMContext &context, llvm::TargetMachine &machine,
            int64_t maxThreads, int64_t memoryLimit) {
  MLIRContext *mlirContext = module.getContext();
  registerTranslations(*mlirContext);
  DiagnosticCapture message(mlirContext);
  for (program::ProgramOp program : module.getOps<program::ProgramOp>())
    if (program.getTarget().isCuda())
      return llvm::createStringError("the program was planned for '" +
                                     program.getTarget().getText() +
                                     "'; compile it with --target=cuda and its chips");
  PassManager passes(mlirContext, ModuleOp::getOperationName());
  if (module.getOps<program::ProgramOp>().empty()) {
    PlanStepOptions plan;
    // The dialect has a name for x86-64 alone.
    plan.target = machine.getTargetTriple().isX86()
                      ? "x86_64 " + machine.getTargetCPU().str()
                      : "cpu";
    plan.maxThreads = maxThreads;
    plan.memoryLimit = memoryLimit;
    buildPlanStepPipeline(passes, plan);
  }
  KernelsToLLVMOptions kernels;
  readMachine(machine, kernels);
  buildProgramToLLVMPipeline(passes, kernels);
  if (failed(passes.run(module)))
    return message.take("the step could not be compiled");
  return translate(module, context, machine, message);
}

llvm::Expected<std::unique_ptr<llvm::Module>>
mpt::compileToLLVM(ModuleOp module, llvm::LLVMContext &context,
                   llvm::TargetMachine &machine, int64_t maxThreads,
                   int64_t memoryLimit) {
  auto compiled = lowerToLLVM(module, context, machine, maxThreads, memoryLimit);
  if (!compiled)
    return compiled;
  if (llvm::Error error = optimize(**compiled, machine))
    return std::move(error);
  return compiled;
}

/// Optimizes `module` and writes its object code to `os`.
static llvm::Error compilePart(llvm::Module &module, llvm::TargetMachine &machine,
                               llvm::raw_pwrite_stream &os) {
  if (llvm::Error error = optimize(module, machine))
    return error;
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("this target has no object files");
  passes.run(module);
  return llvm::Error::success();
}

/// Functions from which on a part of a program is worth a thread.
static constexpr int64_t functionsOfPart = 16;

llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>>
mpt::compileToObjects(ModuleOp module, int64_t maxThreads, int64_t memoryLimit) {
  auto machine = createTargetMachine("native");
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto whole = lowerToLLVM(module, context, **machine, maxThreads, memoryLimit);
  if (!whole)
    return whole.takeError();
  const int64_t functions =
      llvm::count_if(**whole, [](llvm::Function &f) { return !f.isDeclaration(); });
  const int64_t parts = std::clamp<int64_t>(functions / functionsOfPart, 1, maxThreads);
  std::vector<llvm::SmallVector<char, 0>> bitcode, objects(parts);
  std::vector<std::string> errors(parts);
  if (parts == 1) {
    llvm::raw_svector_ostream os(objects[0]);
    errors[0] = llvm::toString(compilePart(**whole, **machine, os));
  } else {
    // Each has a context of its own, as threads must.
    llvm::SplitModule(**whole, parts, [&](std::unique_ptr<llvm::Module> part) {
      llvm::raw_svector_ostream os(bitcode.emplace_back());
      llvm::WriteBitcodeToFile(*part, os);
    });
    whole->reset();
    auto compile = [&](size_t i) -> llvm::Error {
      llvm::LLVMContext own;
      auto part = llvm::parseBitcodeFile(
          {llvm::StringRef(bitcode[i].data(), bitcode[i].size()), "mpt_program"}, own);
      if (!part)
        return part.takeError();
      auto ownMachine = createTargetMachine("native");
      if (!ownMachine)
        return ownMachine.takeError();
      llvm::raw_svector_ostream os(objects[i]);
      return compilePart(**part, **ownMachine, os);
    };
    parallelFor(module.getContext(), 0, bitcode.size(),
                [&](size_t i) { errors[i] = llvm::toString(compile(i)); });
  }
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  for (int64_t i = 0; i < parts; ++i) {
    if (!errors[i].empty())
      return llvm::createStringError(errors[i]);
    buffers.push_back(std::make_unique<llvm::SmallVectorMemoryBuffer>(
        std::move(objects[i]), "mpt_program", /*RequiresNullTerminator=*/false));
  }
  return buffers;
}

/// Leaves algorithms for the matmuls of `program` as its attribute.
static llvm::Error tuneMatmuls(program::ProgramOp program, const TuneMatmuls &tune) {
  std::map<std::string, rt::GemmPlan> plans;
  program.walk([&](program::MatmulOp call) {
    // Only where cuBLASLt refuses the epilogue does the plain one run.
    if (auto around = dyn_cast<program::AlternativesOp>(call->getParentOp());
        around && around.getPlainMatmul() == call)
      return;
    FailureOr<rt::Instruction> matmul = encodeCall(call);
    rt::GemmPlan plan;
    std::string why;
    if (succeeded(matmul) && rt::makeGemmPlan(*matmul, /*allowTF32=*/false, plan, why))
      plans[rt::describeGemmPlan(plan)] = plan;
  });
  std::vector<rt::GemmPlan> list;
  for (auto &[text, plan] : plans)
    list.push_back(plan);
  auto tuned = tune(list);
  if (!tuned)
    return tuned.takeError();
  Builder builder(program.getContext());
  NamedAttrList attributes;
  for (const TunedMatmul &matmul : *tuned)
    attributes.set(matmul.key, builder.getDenseI64ArrayAttr(matmul.algo));
  program.setTunedMatmulsAttr(attributes.getDictionary(program.getContext()));
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::Module>>
mpt::compileToCuda(ModuleOp module, llvm::LLVMContext &context,
                   llvm::TargetMachine &machine, const CudaOptions &options) {
  MLIRContext *mlirContext = module.getContext();
  registerTranslations(*mlirContext);
  DiagnosticCapture message(mlirContext);
  PassManager plan(mlirContext, ModuleOp::getOperationName());
  for (program::ProgramOp program : module.getOps<program::ProgramOp>())
    if (!program.getTarget().isCuda())
      return llvm::createStringError("the program was planned for '" +
                                     program.getTarget().getText() + "', not for cuda");
  if (module.getOps<program::ProgramOp>().empty()) {
    PlanStepOptions planOptions;
    planOptions.target = "cuda " + llvm::join(options.chips, " ");
    planOptions.maxThreads = 1;
    planOptions.lowBiases = options.lowBiases;
    planOptions.fusedAttention = options.fusedAttention;
    planOptions.epilogues = options.epilogues;
    planOptions.joinMatmuls = options.joinMatmuls;
    buildPlanStepPipeline(plan, planOptions);
  }
  KernelsToGPUOptions kernels;
  kernels.chips = llvm::ArrayRef<std::string>(options.chips);
  kernels.format = "llvm";
  kernels.math = options.fastMath ? "fast" : "exact";
  ConvertCallsToGPUPassOptions calls;
  calls.f32Matmuls = options.f32Matmuls;
  calls.cudnn = options.cudnn;
  calls.cudnnWide = options.cudnnWide;
  calls.cudnnAttention = options.cudnnAttention;
  calls.cudnnPlainAttention = options.cudnnPlainAttention;
  calls.warpgroupAttention = options.warpgroupAttention;
  plan.addPass(createConvertCallsToGPUPass(calls));
  plan.addPass(createReportGemmsPass());
  buildKernelsToGPUPipeline(plan, kernels);
  if (failed(plan.run(module)))
    return message.take("the step could not be compiled");
  if (options.tune)
    for (program::ProgramOp program : module.getOps<program::ProgramOp>())
      if (llvm::Error error = tuneMatmuls(program, options.tune))
        return std::move(error);
  std::unique_ptr<llvm::Module> emulated;
  if (options.emulatedKernels)
    for (auto device : module.getOps<gpu::GPUModuleOp>()) {
      auto made = emulateKernels(device, context);
      if (!made)
        return made.takeError();
      emulated = std::move(*made);
    }
  PassManager lower(mlirContext, ModuleOp::getOperationName());
  SerializeKernelsPassOptions serialize;
  serialize.format = "cubin+isa";
  serialize.toolkit = options.toolkit;
  lower.addPass(createSerializeKernelsPass(serialize));
  lower.addPass(createConvertProgramToLLVMPass());
  if (failed(lower.run(module)))
    return message.take("the step could not be compiled");
  auto compiled = translate(module, context, machine, message, std::move(emulated));
  if (!compiled)
    return compiled;
  if (llvm::Error error = optimize(**compiled, machine))
    return std::move(error);
  return compiled;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

llvm::Error mpt::addStateValues(llvm::Module &module, llvm::StringRef block) {
  llvm::GlobalVariable *desc = module.getNamedGlobal("mpt_program");
  auto *fields = desc && desc->hasInitializer()
                     ? dyn_cast<llvm::ConstantStruct>(desc->getInitializer())
                     : nullptr;
  constexpr unsigned kFirst = 7, kFields = 9;
  if (!fields || fields->getNumOperands() != kFields)
    return llvm::createStringError("expected a compiled program, found a module without "
                                   "the descriptor mpt_program");
  llvm::LLVMContext &context = module.getContext();
  auto *bytes = llvm::ConstantDataArray::getString(context, block, /*AddNull=*/false);
  auto *values = new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::InternalLinkage, bytes,
                                          "mpt_program_state");
  values->setAlignment(llvm::Align(64));
  // Away from what code refers to, which has to be near it.
  if (module.getTargetTriple().isX86())
    values->setCodeModel(llvm::CodeModel::Large);
  llvm::SmallVector<llvm::Constant *> operands;
  for (unsigned i = 0; i < kFields; ++i)
    operands.push_back(fields->getOperand(i));
  operands[kFirst] = values;
  operands[kFirst + 1] =
      llvm::ConstantInt::get(operands[kFirst + 1]->getType(), block.size());
  desc->setInitializer(llvm::ConstantStruct::get(fields->getType(), operands));
  return llvm::Error::success();
}

namespace {
struct Linker {
  std::string path;
  /// What a shared library takes.
  std::vector<std::string> arguments;
};
} // namespace

static llvm::Expected<Linker> findLinker(const llvm::Triple &target) {
  const bool isHost =
      target.getArch() == llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch();
  llvm::StringRef llvmTools[] = {"/usr/lib/llvm-22/bin"};
  for (auto found : {llvm::sys::findProgramByName("ld.lld", llvmTools),
                     llvm::sys::findProgramByName("ld.lld")})
    if (found) {
      Linker linker{*found, {"-shared", "--build-id"}};
      // For another machine there may be no libc here; the program that loads the
      // library has one.
      if (isHost)
        for (const char *argument :
             {"-lm", "-L/lib/x86_64-linux-gnu", "-L/usr/lib/x86_64-linux-gnu",
              "-L/lib/aarch64-linux-gnu", "-L/usr/lib/aarch64-linux-gnu", "-lc"})
          linker.arguments.push_back(argument);
      return linker;
    }
  if (!isHost)
    return llvm::createStringError("no linker for " + target.str() +
                                   ": ld.lld is not on the path; install lld-22");
  if (auto cc = llvm::sys::findProgramByName("cc"))
    return Linker{*cc, {"-shared", "-nostdlib", "-Wl,--build-id", "-lm"}};
  return llvm::createStringError(
      "no linker: neither ld.lld nor cc is on the path; install lld-22 or gcc");
}

/// Adds the note that the runtime checks a library by; what it says is set in the file.
static void addProgramNote(llvm::Module &module) {
  auto *bytes = llvm::ConstantDataArray::getString(module.getContext(),
                                                   rt::makeProgramNote(), false);
  auto *note = new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                        llvm::GlobalValue::InternalLinkage, bytes,
                                        "mpt_program_note");
  note->setSection(rt::kProgramNoteSection);
  note->setAlignment(llvm::Align(4));
  llvm::appendToCompilerUsed(module, note);
}

/// Writes machine code to a temporary file, whose name is in `object` even if this fails.
static llvm::Error emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                              llvm::SmallString<128> &object) {
  int descriptor;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("mpt-program", "o", descriptor, object))
    return llvm::createStringError("cannot make a temporary file: " + code.message());
  removeOnInterrupt(object);
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("this target has no object files");
  passes.run(module);
  os.flush();
  if (os.has_error()) {
    std::string why = os.error().message();
    os.clear_error();
    return createFileMessage(object, "cannot write: " + why);
  }
  return llvm::Error::success();
}

static void removeTemporaryFile(llvm::StringRef name) {
  if (name.empty())
    return;
  llvm::sys::fs::remove(name);
  keepOnInterrupt(name);
}

llvm::Error mpt::writeObject(llvm::Module &module, llvm::TargetMachine &machine,
                             llvm::StringRef symbol, llvm::StringRef path) {
  if (llvm::Error error = checkWritable(path))
    return error;
  if (llvm::GlobalVariable *desc = module.getNamedGlobal("mpt_program"))
    desc->setName(symbol);
  llvm::SmallString<128> object;
  llvm::scope_exit remove([&] { removeTemporaryFile(object); });
  if (llvm::Error error = emitObject(module, machine, object))
    return error;
  auto written = llvm::MemoryBuffer::getFile(object);
  if (!written)
    return createFileMessage(object, "cannot read: " + written.getError().message());
  return writeFileAtomically(path, (*written)->getBuffer());
}

llvm::Error mpt::writeSharedLibrary(llvm::Module &module, llvm::TargetMachine &machine,
                                    llvm::StringRef path, uint64_t pageSize) {
  if (llvm::Error error = checkWritable(path))
    return error;
  auto linker = findLinker(machine.getTargetTriple());
  if (!linker)
    return linker.takeError();
  llvm::SmallString<128> object, library;
  llvm::scope_exit remove([&] {
    removeTemporaryFile(object);
    removeTemporaryFile(library);
  });
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("mpt-program", "so", library))
    return llvm::createStringError("cannot make a temporary file: " + code.message());
  removeOnInterrupt(library);
  addProgramNote(module);
  if (llvm::Error error = emitObject(module, machine, object))
    return error;
  std::vector<std::string> arguments = {linker->path, "-o", library.str().str(),
                                        object.str().str()};
  llvm::append_range(arguments, linker->arguments);
  if (pageSize) {
    const std::string option = "max-page-size=" + std::to_string(pageSize);
    if (llvm::StringRef(linker->path).ends_with("cc"))
      arguments.push_back("-Wl,-z," + option);
    else
      arguments.insert(arguments.end(), {"-z", option});
  }
  std::vector<llvm::StringRef> refs(arguments.begin(), arguments.end());
  std::string why;
  bool failed = false;
  llvm::sys::ProcessInfo child = llvm::sys::ExecuteNoWait(
      linker->path, refs, std::nullopt, {}, /*MemoryLimit=*/0, &why, &failed);
  if (!failed) {
    // Else it would make its file after a signal has ended this process.
    endOnInterrupt(child.Pid);
    child = llvm::sys::Wait(child, std::nullopt, &why);
    endOnInterrupt(0);
  }
  if (failed || child.ReturnCode != 0)
    return llvm::createStringError(linker->path + " could not link the program" +
                                   (why.empty() ? std::string() : ": " + why));
  auto linked = llvm::MemoryBuffer::getFile(library);
  if (!linked)
    return createFileMessage(library, "cannot read: " + linked.getError().message());
  std::string file = (*linked)->getBuffer().str();
  if (!rt::sealProgramFile(file, why))
    return createFileMessage(library, why);
  return writeFileAtomically(path, file);
}
