//===- KernelRunner.cpp - Kernels compiled and evaluated naively -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mpt/Codegen/CPU/Passes.h"
#include "mpt/Codegen/CUDA/DeviceKernels.h"
#include "mpt/Codegen/CUDA/EmulatedKernels.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mpt;
using namespace mpt::test;

ElementType test::hostType(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  std::optional<ElementType> parsed = parseElementType(name);
  EXPECT_TRUE(parsed) << name;
  return parsed.value_or(ElementType::F32);
}

KernelModule::KernelModule(llvm::StringRef text, llvm::StringRef math, bool isForHost) {
  compile(text, math, isForHost);
}

void KernelModule::compile(llvm::StringRef text, llvm::StringRef math, bool isForHost) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  DialectRegistry registry;
  registry.insert<kernel::KernelDialect, arith::ArithDialect, math::MathDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  source = parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(source);
#ifdef MPT_TEST_DEVICE_KERNELS
  return compileForDevice(math);
#endif
  auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  std::unique_ptr<llvm::TargetMachine> machine =
      llvm::cantFail(builder.createTargetMachine());
  OwningOpRef<ModuleOp> lowered = source->clone();
  PassManager passes(context.get(), ModuleOp::getOperationName());
  KernelsToLLVMOptions kernels;
  if (isForHost)
    readMachine(*machine, kernels);
  buildKernelsToLLVMPipeline(passes, kernels);
  ASSERT_TRUE(succeeded(passes.run(*lowered)));
  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(2, 0, machine.get());
  options.transformer = optimize;
  auto made = ExecutionEngine::create(*lowered, options, std::move(machine));
  ASSERT_TRUE(static_cast<bool>(made)) << llvm::toString(made.takeError());
  engine = std::move(*made);
}

void KernelModule::compileForDevice(llvm::StringRef math) {
  OwningOpRef<ModuleOp> lowered = source->clone();
  PassManager passes(context.get(), ModuleOp::getOperationName());
  KernelsToGPUOptions options;
  options.format = "llvm";
  options.math = math.str();
  buildKernelsToGPUPipeline(passes, options);
  ASSERT_TRUE(succeeded(passes.run(*lowered)));
  auto modules = lowered->getOps<gpu::GPUModuleOp>();
  ASSERT_FALSE(modules.empty());
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto module = emulateKernels(*modules.begin(), *llvmContext);
  ASSERT_TRUE(static_cast<bool>(module)) << llvm::toString(module.takeError());
  auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  auto machine = llvm::cantFail(builder.createTargetMachine());
  (*module)->setTargetTriple(machine->getTargetTriple());
  (*module)->setDataLayout(machine->createDataLayout());
  llvm::cantFail(makeOptimizingTransformer(2, 0, machine.get())(module->get()));
  device = llvm::cantFail(
      llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
  device->getMainJITDylib().addGenerator(
      llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          device->getDataLayout().getGlobalPrefix())));
  llvm::cantFail(device->addIRModule(
      llvm::orc::ThreadSafeModule(std::move(*module), std::move(llvmContext))));
  auto symbol = device->lookup("mpt_simt_module");
  ASSERT_TRUE(static_cast<bool>(symbol)) << llvm::toString(symbol.takeError());
  emulated = symbol->toPtr<mpt_simt_module *>();
}

void KernelModule::callOnDevice(kernel::FuncOp kernel,
                                std::vector<void *> &buffers) const {
  for (const DeviceLaunch &launch : getDeviceLaunches(kernel)) {
    const mpt_simt_kernel *found = nullptr;
    for (int64_t i = 0; i < emulated->num_kernels; ++i)
      if (emulated->kernels[i].name == launch.function)
        found = &emulated->kernels[i];
    ASSERT_TRUE(found) << launch.function;
    std::vector<void *> arguments;
    for (int64_t i = 0; i < found->parameters; ++i)
      arguments.push_back(&buffers[i]);
    std::string error;
    EXPECT_TRUE(rt::runEmulated(*emulated, *found, launch.blocks[0], launch.blocks[1],
                                launch.threads, arguments.data(), error))
        << error;
  }
}

kernel::FuncOp KernelModule::find(llvm::StringRef kernel) const {
  ModuleOp module = source.get();
  auto found = module ? module.lookupSymbol<kernel::FuncOp>(kernel) : kernel::FuncOp();
  EXPECT_TRUE(found) << kernel.str();
  return found;
}

int64_t KernelModule::getTasks(llvm::StringRef kernel) const {
  kernel::FuncOp func = find(kernel);
  return getKernelTasks(func.getDomain(), func.getChunkRows());
}

static HostTensor makeTensor(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return llvm::cantFail(
      HostTensor::create(hostType(tensor.getElementType()), tensor.getShape()));
}

Tensors KernelModule::makeResults(kernel::FuncOp kernel) const {
  Tensors results;
  for (Type type : kernel.getFunctionType().getResults()) {
    results.push_back(makeTensor(type));
    // What is not written shows.
    for (uint8_t &byte : results.back().getBytes())
      byte = 0x5a;
  }
  return results;
}

Tensors KernelModule::makeInputs(llvm::StringRef kernel, uint64_t seed) const {
  Tensors inputs;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (Type type : find(kernel).getFunctionType().getInputs()) {
    HostTensor tensor = makeTensor(type);
    bool isFloat = isFloatType(tensor.getElementType());
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      tensor.setElement(i,
                        isFloat ? normal(random) : static_cast<double>(random() % 100));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void KernelModule::call(kernel::FuncOp kernel, const Tensors &inputs, Tensors &results,
                        llvm::ArrayRef<void *> resultData,
                        llvm::ArrayRef<int64_t> cuts) const {
  KernelInfo info(kernel);
  std::vector<float> partials(info.getPartialsBytes() / sizeof(float) + 16, NAN);
  std::vector<void *> buffers;
  for (const HostTensor &input : inputs)
    buffers.push_back(const_cast<void *>(input.getData()));
  buffers.insert(buffers.end(), resultData.begin(), resultData.end());
  buffers.push_back(partials.data());
  if (emulated)
    return callOnDevice(kernel, buffers);
  auto run = [&](const std::string &name, int64_t begin, int64_t end) {
    auto symbol = engine->lookup(name);
    ASSERT_TRUE(static_cast<bool>(symbol)) << llvm::toString(symbol.takeError());
    reinterpret_cast<void (*)(void **, int64_t, int64_t)>(*symbol)(buffers.data(), begin,
                                                                   end);
  };
  std::string name = kernel.getSymName().str();
  int64_t begin = 0;
  std::vector<int64_t> ends(cuts.begin(), cuts.end());
  ends.push_back(getKernelTasks(kernel.getDomain(), kernel.getChunkRows()));
  for (int64_t end : ends) {
    run(name, begin, end);
    begin = end;
  }
  if (kernel.getKind() == kernel::KernelKind::Column)
    run(name + "_combine", 0, 1);
}

Tensors KernelModule::run(llvm::StringRef kernel, const Tensors &inputs,
                          llvm::ArrayRef<int64_t> cuts) const {
  kernel::FuncOp func = find(kernel);
  Tensors results = makeResults(func);
  std::vector<void *> data;
  for (HostTensor &result : results)
    data.push_back(result.getData());
  if (engine || emulated)
    call(func, inputs, results, data, cuts);
  return results;
}

Tensors KernelModule::runInPlace(llvm::StringRef kernel, Tensors inputs, unsigned operand,
                                 unsigned result) const {
  kernel::FuncOp func = find(kernel);
  Tensors results = makeResults(func);
  std::vector<void *> data;
  for (HostTensor &tensor : results)
    data.push_back(tensor.getData());
  data[result] = inputs[operand].getData();
  if (engine || emulated)
    call(func, inputs, results, data, {});
  results[result] = inputs[operand];
  return results;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

static double roundTo(Type type, double value) {
  if (type.isF32())
    return static_cast<float>(value);
  if (type.isF64() || type.isInteger(64) || type.isInteger(32) || type.isInteger(1))
    return value;
  ElementType host = hostType(type);
  char bytes[8];
  encodeElement(host, value, bytes);
  return decodeElement(host, bytes);
}

static int64_t indexOf(AffineMap map, RankedTensorType type,
                       llvm::ArrayRef<int64_t> point) {
  int64_t index = 0;
  llvm::SmallVector<int64_t> at = map.compose(point);
  for (auto [i, coordinate] : llvm::enumerate(at))
    index = index * type.getDimSize(i) + coordinate;
  return index;
}

static double compare(arith::CmpFPredicate predicate, double x, double y) {
  switch (predicate) {
  case arith::CmpFPredicate::OGT:
    return x > y;
  case arith::CmpFPredicate::OLT:
    return x < y;
  case arith::CmpFPredicate::OGE:
    return x >= y;
  case arith::CmpFPredicate::OEQ:
    return x == y;
  default:
    ADD_FAILURE() << "predicate";
    return 0;
  }
}

static double evaluateOp(Operation &op, llvm::ArrayRef<double> x) {
  if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
    EXPECT_EQ(cmp.getPredicate(), arith::CmpIPredicate::eq);
    return x[0] == x[1];
  }
  llvm::StringRef name = op.getName().getStringRef();
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return compare(cmp.getPredicate(), x[0], x[1]);
  if (name == "arith.addf" || name == "arith.addi")
    return x[0] + x[1];
  if (name == "arith.subf")
    return x[0] - x[1];
  if (name == "arith.mulf")
    return x[0] * x[1];
  if (name == "arith.divf")
    return x[0] / x[1];
  if (name == "arith.maximumf")
    return std::isnan(x[0]) || std::isnan(x[1]) ? NAN : std::max(x[0], x[1]);
  if (name == "arith.negf")
    return -x[0];
  if (name == "arith.select")
    return x[0] != 0 ? x[1] : x[2];
  if (name == "arith.extf" || name == "arith.truncf" || name == "arith.sitofp")
    return x[0];
  if (name == "math.sqrt")
    return std::sqrt(x[0]);
  if (name == "math.rsqrt")
    return 1 / std::sqrt(x[0]);
  if (name == "math.exp")
    return std::exp(x[0]);
  if (name == "math.tanh")
    return std::tanh(x[0]);
  ADD_FAILURE() << name.str();
  return 0;
}

static double reduce(ReduceKind kind, double x, double y) {
  switch (kind) {
  case ReduceKind::Max:
    return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y);
  case ReduceKind::Min:
    return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y);
  case ReduceKind::Prod:
    return x * y;
  default:
    return x + y;
  }
}

Tensors KernelModule::evaluate(llvm::StringRef kernel, const Tensors &inputs) const {
  kernel::FuncOp func = find(kernel);
  Tensors results = makeResults(func);
  llvm::ArrayRef<int64_t> domain = func.getDomain();
  int64_t columns = getKernelColumns(domain), rows = getKernelRows(domain);
  std::vector<llvm::SmallVector<int64_t>> points;
  for (int64_t p = 0; p < rows * columns; ++p) {
    llvm::SmallVector<int64_t> point(domain.size());
    int64_t rest = p;
    for (size_t d = domain.size(); d-- > 0; rest /= domain[d])
      point[d] = rest % domain[d];
    points.push_back(point);
  }
  llvm::DenseMap<Value, std::vector<double>> values;
  Block &body = func.getBody().front();
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    auto map = cast<AffineMapAttr>(func.getOperandMaps()[i]).getValue();
    auto type = cast<RankedTensorType>(func.getFunctionType().getInput(i));
    for (auto &point : points)
      values[argument].push_back(inputs[i].getElement(indexOf(map, type, point)));
  }
  for (Operation &op : body.without_terminator()) {
    std::vector<double> out(points.size());
    std::vector<std::vector<double>> in;
    for (Value operand : op.getOperands())
      in.push_back(values[operand]);
    auto group = [&](size_t p) {
      return isa<kernel::RowReduceOp>(op) ? p / columns : p % columns;
    };
    ReduceKind kind = ReduceKind::Sum;
    double count = 0;
    if (auto row = dyn_cast<kernel::RowReduceOp>(op))
      kind = row.getKind(), count = columns;
    if (auto column = dyn_cast<kernel::ColumnReduceOp>(op))
      kind = column.getKind(), count = rows;
    llvm::DenseMap<int64_t, double> sums;
    for (size_t p = 0; p < points.size(); ++p) {
      if (count) {
        // A value that is the same along a row counts once in a column.
        auto [it, isNew] = sums.try_emplace(group(p), in[0][p]);
        if (!isNew)
          it->second = reduce(kind, it->second, in[0][p]);
        continue;
      }
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
          out[p] = number.getValueAsDouble();
        else
          out[p] = cast<IntegerAttr>(constant.getValue()).getInt();
      } else if (auto index = dyn_cast<kernel::IndexOp>(op)) {
        out[p] = points[p][index.getDim()];
      } else {
        llvm::SmallVector<double> operands;
        for (auto &operand : in)
          operands.push_back(operand[p]);
        out[p] = evaluateOp(op, operands);
      }
      out[p] = roundTo(op.getResult(0).getType(), out[p]);
    }
    if (count)
      for (size_t p = 0; p < points.size(); ++p)
        out[p] = roundTo(op.getResult(0).getType(),
                         sums[group(p)] / (kind == ReduceKind::Mean ? count : 1));
    values[op.getResult(0)] = std::move(out);
  }
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    auto map = cast<AffineMapAttr>(func.getResultMaps()[i]).getValue();
    auto type = cast<RankedTensorType>(func.getFunctionType().getResult(i));
    for (size_t p = 0; p < points.size(); ++p)
      results[i].setElement(indexOf(map, type, points[p]), values[value][p]);
  }
  return results;
}
