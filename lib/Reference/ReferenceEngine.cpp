//===- ReferenceEngine.cpp - The interpreter as an engine -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Reference/ReferenceEngine.h"
#include "mpt/Host/InterpretedEngine.h"
#include "mpt/ProgramABI/SystemMemory.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

namespace {

/// Keeps what MLIR emits while it lives.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return failure();
          llvm::raw_string_ostream os(text);
          if (!text.empty())
            os << '\n';
          if (auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
            os << place.getFilename().getValue() << ':' << place.getLine() << ':'
               << place.getColumn() << ": ";
          os << diagnostic;
          return success();
        }) {}

  llvm::Error take() const { return llvm::createStringError(text); }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

} // namespace

static llvm::Expected<Tensor> fromHost(const HostTensor &host, Type elementType) {
  Tensor tensor;
  tensor.elementType = elementType;
  tensor.shape.assign(host.getShape().begin(), host.getShape().end());
  bool isFloat = isa<FloatType>(elementType);
  if (isFloat != isFloatType(host.getElementType()))
    return llvm::createStringError("expected an argument with elements of one "
                                   "kind with the function's, found " +
                                   host.describe());
  for (int64_t i = 0, e = host.getNumElements(); i < e; ++i) {
    if (isFloat) {
      tensor.floats.push_back(host.getElement(i));
    } else if (host.getElementType() == ElementType::I64) {
      int64_t value;
      std::memcpy(&value, host.getBytes().data() + 8 * i, 8);
      tensor.ints.push_back(value);
    } else {
      tensor.ints.push_back(static_cast<int64_t>(host.getElement(i)));
    }
  }
  return tensor;
}

static llvm::Expected<HostTensor> toHost(const Tensor &tensor, Mode mode) {
  std::optional<ElementType> type = convertElementType(tensor.elementType);
  if (!type)
    return llvm::createStringError("a result has elements that files cannot hold");
  if (tensor.isFloat() && mode == Mode::Float64)
    type = ElementType::F64;
  llvm::Expected<HostTensor> host = HostTensor::create(*type, tensor.shape);
  if (!host)
    return host.takeError();
  for (int64_t i = 0, e = tensor.size(); i < e; ++i) {
    if (tensor.isFloat())
      host->setElement(i, tensor.floats[i]);
    else if (*type == ElementType::I64)
      std::memcpy(host->getBytes().data() + 8 * i, &tensor.ints[i], 8);
    else
      host->setElement(i, static_cast<double>(tensor.ints[i]));
  }
  return host;
}

llvm::Expected<std::unique_ptr<StepEngine>>
mpt::createReferenceEngine(OwningOpRef<ModuleOp> module, StringRef name, Mode mode,
                           int64_t memoryLimit) {
  MLIRContext *context = module->getContext();
  auto evaluate = [mode](func::FuncOp function,
                         ArrayRef<const HostTensor *> hostArguments)
      -> llvm::Expected<std::vector<HostTensor>> {
    std::vector<Tensor> arguments;
    for (auto [host, type] :
         llvm::zip_equal(hostArguments, function.getArgumentTypes())) {
      llvm::Expected<Tensor> tensor = fromHost(*host, getElementTypeOrSelf(type));
      if (!tensor)
        return tensor.takeError();
      arguments.push_back(std::move(*tensor));
    }
    DiagnosticText diagnostics(function.getContext());
    std::optional<BadIndex> bad;
    FailureOr<std::vector<Tensor>> results = interpret(function, arguments, mode, &bad);
    if (failed(results) && bad)
      return llvm::make_error<BadIndexError>(llvm::toString(diagnostics.take()),
                                             bad->index, bad->position);
    if (failed(results))
      return diagnostics.take();
    std::vector<HostTensor> hostResults;
    for (const Tensor &result : *results) {
      llvm::Expected<HostTensor> host = toHost(result, mode);
      if (!host)
        return host.takeError();
      hostResults.push_back(std::move(*host));
    }
    return hostResults;
  };
  DiagnosticText diagnostics(context);
  const int64_t limit = memoryLimit > 0 ? memoryLimit : rt::getSystemMemory();
  if (auto function = module->lookupSymbol<func::FuncOp>(name))
    if (int64_t bytes = estimateMemory(function); bytes > limit) {
      function.emitError("interpreting @")
          << name << " takes about " << bytes << " bytes of memory and may have " << limit
          << "; use a smaller batch or shapes, or engine cpu, whose values take fewer "
             "bytes";
      return diagnostics.take();
    }
  FailureOr<std::unique_ptr<StepEngine>> engine =
      InterpretedEngine::create(std::move(module), name, evaluate);
  if (failed(engine))
    return diagnostics.take();
  return std::move(*engine);
}
