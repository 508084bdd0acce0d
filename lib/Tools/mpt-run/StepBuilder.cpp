//===- StepBuilder.cpp - From a model to a step -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBuilder.h"
#include "../PrintDiagnostic.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "mpt/Precision/RangeProfile.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpt/Support/FirstError.h"
#include "mpt/Support/OptionText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mpt;

llvm::Expected<StepSignature> mpt::readSignature(func::FuncOp function) {
  FirstError error(function.getContext());
  auto signature = readStepSignature(function);
  if (failed(signature))
    return error.take("@" + function.getName() + " cannot be run");
  return std::move(*signature);
}

/// A module that holds a copy of `function` and nothing else.
static OwningOpRef<ModuleOp> isolate(func::FuncOp function) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  module->push_back(function.clone());
  return module;
}

namespace {
/// Passes as text, and the option of mpt-run that they come from.
struct OptionPasses {
  std::string option, passes;
};
} // namespace

/// Runs what `parts` say one after the other; whatever passes emit is kept for the
/// message.
static llvm::Error runPipeline(ModuleOp module, llvm::ArrayRef<OptionPasses> parts) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  for (const OptionPasses &part : parts) {
    std::string problem;
    llvm::raw_string_ostream os(problem);
    if (succeeded(parsePassPipeline(part.passes, manager, os)))
      continue;
    // The parser shows the text and points into it on further lines. A value that an
    // option cannot take, it prints by itself.
    llvm::StringRef reason = llvm::StringRef(problem).split('\n').first;
    for (llvm::StringRef prefix : {"error: ", "<Pass-Options-Parser>: "})
      if (reason.contains(prefix))
        reason = reason.split(prefix).second;
    return llvm::createStringError(
        part.option + ": " +
        (reason.empty() ? "a value cannot be read, see the line above" : reason));
  }
  // Warnings and remarks are for the user now; the first error is the message.
  ScopedDiagnosticHandler others(module.getContext(), [](Diagnostic &diagnostic) {
    printDiagnostic(diagnostic, "mpt-run");
    return success();
  });
  FirstError error(module.getContext());
  if (succeeded(manager.run(module)))
    return llvm::Error::success();
  return error.take("the passes of " + llvm::join(llvm::map_range(parts,
                                                                  [](const auto &part) {
                                                                    return part.option;
                                                                  }),
                                                  ", ") +
                    " failed");
}

/// The option `function=` of a pass, for the function called `name`.
static llvm::Expected<std::string> writeFunctionOption(llvm::StringRef name) {
  if (std::optional<std::string> quoted = quoteOptionValue(name))
    return "function=" + *quoted;
  return llvm::createStringError(
      "@\"" + name + "\": a function's name with a quote, with braces that do not match "
      "or with space at an end cannot be given to passes; rename it");
}

/// Notes the memory budget and order on what `prepare` made, and adds records unless it has some.
/// The digest stays: a step computes the same without them.
static llvm::Expected<PreparedFunction> instrument(PreparedFunction prepared,
                                                   const RunOptions &options) {
  auto step = prepared.module->lookupSymbol<func::FuncOp>(prepared.name);
  // The digest stays here too: what is computed again has the same bits.
  if (options.memoryBudget)
    step->setAttr(kBudgetAttr,
                  StringAttr::get(step.getContext(), *options.memoryBudget));
  // Each order of its ops computes the same.
  if (options.memoryOrder)
    step->setAttr(kMemoryOrderAttr,
                  StringAttr::get(step.getContext(), *options.memoryOrder));
  if (!options.recordsRanges())
    return std::move(prepared);
  if (step->hasAttr(kRecordsAttr)) {
    if (options.instrument)
      return llvm::createStringError(
          "--instrument: @" + prepared.name +
          " holds records already; leave the option or mpt-instrument out");
    return std::move(prepared);
  }
  auto onFunction = writeFunctionOption(prepared.name);
  if (!onFunction)
    return onFunction.takeError();
  if (llvm::Error error =
          runPipeline(*prepared.module,
                      OptionPasses{"--instrument", "mpt-instrument{" + *onFunction + " " +
                                                       options.instrument.value_or("") +
                                                       "}"}))
    return std::move(error);
  auto signature = readSignature(prepared.module->lookupSymbol<func::FuncOp>(prepared.name));
  if (!signature)
    return signature.takeError();
  prepared.signature = std::move(*signature);
  return std::move(prepared);
}

/// Puts the schedule that the options ask for into what `prepare` made. The digest
/// stays: a run may be resumed with another schedule, or a longer one.
static llvm::Error addSchedule(PreparedFunction &prepared, int64_t steps,
                               const RunOptions &options) {
  if (!options.lr && options.schedule.empty())
    return llvm::Error::success();
  if (llvm::none_of(prepared.signature.arguments, [](const auto &argument) {
        return argument.name == "lr" && argument.role == Role::Schedule &&
               argument.shape.empty();
      }))
    return llvm::createStringError("--lr, --lr-schedule and --warmup: the step has no "
                                   "scalar argument 'lr' of role schedule");
  if (options.schedule.empty())
    return llvm::Error::success();
  auto onFunction = writeFunctionOption(prepared.name);
  if (!onFunction)
    return onFunction.takeError();
  if (llvm::Error error = runPipeline(
          *prepared.module,
          OptionPasses{"--lr-schedule", "mpt-learning-rate{" + *onFunction +
                                            " " + options.schedule +
                                            (options.scheduleEnds
                                                 ? " total-steps=" + std::to_string(steps)
                                                 : "") +
                                            "}"}))
    return error;
  auto signature = readSignature(prepared.module->lookupSymbol<func::FuncOp>(prepared.name));
  if (!signature)
    return signature.takeError();
  prepared.signature = std::move(*signature);
  return llvm::Error::success();
}

/// `checkMetricNames`, with the diagnostic as the error.
static llvm::Error checkResultNames(PreparedFunction &prepared) {
  auto function = prepared.module->lookupSymbol<func::FuncOp>(prepared.name);
  FirstError error(function.getContext());
  if (succeeded(checkMetricNames(function, prepared.signature)))
    return llvm::Error::success();
  return error.take("@" + prepared.name + " has results that cannot be columns of metrics");
}

static llvm::Expected<PreparedFunction>
prepare(func::FuncOp function, int64_t batch, llvm::ArrayRef<OptionPasses> passes) {
  PreparedFunction prepared;
  prepared.name = function.getName().str();
  prepared.module = isolate(function);
  llvm::SmallVector<OptionPasses> all;
  auto signature = readSignature(function);
  if (!signature)
    return signature.takeError();
  if (signature->isDynamic())
    all.push_back({"--batch", "mpt-specialize{batch=" + std::to_string(batch) + "}"});
  llvm::append_range(all, passes);
  if (!all.empty())
    if (llvm::Error error = runPipeline(*prepared.module, all))
      return std::move(error);

  auto result = prepared.module->lookupSymbol<func::FuncOp>(prepared.name);
  if (!result)
    return llvm::createStringError(all.back().option + ": the passes left no function @" +
                                   prepared.name);
  signature = readSignature(result);
  if (!signature)
    return signature.takeError();
  prepared.signature = std::move(*signature);
  std::string text;
  llvm::raw_string_ostream os(text);
  result.print(os);
  prepared.digest = llvm::utohexstr(llvm::xxh3_64bits(text), true, 16);
  return std::move(prepared);
}

llvm::Expected<PreparedFunction> mpt::specialize(func::FuncOp function,
                                                 int64_t batch) {
  return prepare(function, batch, {});
}

namespace {
/// What an option such as --optimizer holds: "adamw" and " lr=1e-3 clip-norm=1".
struct Kind {
  std::string name, options;
};
} // namespace

/// Splits "adamw lr=1e-3 clip-norm=1", the value of `option`. A text that begins with an
/// option is an error that says what comes first, one of `kinds`, and shows `example`.
static llvm::Expected<Kind> splitKind(llvm::StringRef option, llvm::StringRef kinds,
                                      llvm::StringRef example, llvm::StringRef text) {
  auto [kind, rest] = text.trim().split(' ');
  rest = rest.trim();
  if (kind.empty() || kind.contains('='))
    return llvm::createStringError(option + ": expected " + kinds +
                                   " first, then options, as in '" + example +
                                   "'; found '" + text + "'");
  return Kind{kind.str(), rest.empty() ? "" : " " + rest.str()};
}

/// Whether a parameter is stored in f16 or bf16.
static bool hasHalfParameter(func::FuncOp function) {
  return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
    auto role =
        function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
    Type element = getElementTypeOrSelf(argument.getType());
    return role && role.getValue() == "parameter" && (element.isF16() || element.isBF16());
  });
}

llvm::Expected<PreparedFunction> mpt::buildStep(func::FuncOp function,
                                                bool isStep, int64_t batch,
                                                llvm::ArrayRef<std::string> shared,
                                                int64_t steps,
                                                llvm::StringRef precision,
                                                const RunOptions &options) {
  auto prepareStep =
      [&](llvm::ArrayRef<OptionPasses> passes) -> llvm::Expected<PreparedFunction> {
    auto prepared = prepare(function, batch, passes);
    if (!prepared)
      return prepared.takeError();
    if (llvm::Error error = addSchedule(*prepared, steps, options))
      return std::move(error);
    if (llvm::Error error = checkResultNames(*prepared))
      return std::move(error);
    return instrument(std::move(*prepared), options);
  };
  if (options.pipeline)
    return prepareStep(OptionPasses{"--pipeline", *options.pipeline});
  // A step that is whole is held to the rules that those made here keep.
  if (isStep)
    return prepareStep(OptionPasses{"mpt-validate-loss-scale", "mpt-validate-loss-scale"});

  auto option = writeFunctionOption(function.getName());
  if (!option)
    return option.takeError();
  std::string onFunction = "{" + *option;
  auto optimizer = splitKind("--optimizer", "sgd, momentum, adam or adamw", "sgd momentum=0.9",
                             options.optimizer.value_or("adamw"));
  if (!optimizer)
    return optimizer.takeError();
  std::string trainStep = "optimizer=" + optimizer->name + optimizer->options;
  std::string accumulate =
      options.accumulate > 1
          ? "steps=" + std::to_string(options.accumulate) +
                (shared.empty() ? "" : " shared=" + llvm::join(shared, ","))
          : "";
  std::string masters;
  if (options.masterWeights) {
    auto kind = splitKind("--master-weights",
                          "f32, bf16-stochastic-rounding, bf16-kahan, split16 or none",
                          "split16 groups=bias=f32",
                          *options.masterWeights);
    if (!kind)
      return kind.takeError();
    masters = "kind=" + kind->name + kind->options;
  }
  if (options.apex) {
    auto level = splitKind("--apex", "O0, O1, O2 or O3", "O1 loss-scale=128", *options.apex);
    if (!level)
      return level.takeError();
    return prepareStep(OptionPasses{
        "--apex",
        "mpt-apex" + onFunction + " level=" + level->name + level->options +
            (accumulate.empty() ? "" : " accumulate={" + accumulate + "}") +
            (masters.empty() ? "" : " masters={" + masters + "}") +
            " train-step={" + trainStep + "}}"});
  }
  llvm::SmallVector<OptionPasses> passes;
  passes.push_back({"--function", "mpt-autodiff" + onFunction + "}"});
  if (!accumulate.empty())
    passes.push_back(
        {"--accumulate", "mpt-accumulate" + onFunction + " " + accumulate + "}"});
  passes.push_back(
      {"--optimizer", "mpt-train-step" + onFunction + " " + trainStep + "}"});
  auto [type, ownScale] = precision.split(':');
  const char *scaleOption = ownScale.empty() ? "--loss-scale" : "--precision";
  auto scale = splitKind(
      scaleOption, "dynamic, static, amax or none", "dynamic preset=tf",
      !ownScale.empty() ? ownScale.str()
                        : options.lossScale.value_or(type == "f16" ? "dynamic" : "none"));
  if (!scale)
    return scale.takeError();
  if (type != "f32" || options.masterWeights || hasHalfParameter(function))
    passes.push_back({"--master-weights", "mpt-master-weights{" + masters + "}"});
  // Gradients have the type that the step computes in, unless the text says otherwise.
  const bool needsType =
      scale->name == "amax" && !llvm::StringRef(scale->options).contains(" type=");
  if (scale->name != "none")
    passes.push_back({scaleOption, "mpt-loss-scale{mode=" + scale->name + scale->options +
                                       (needsType ? " type=" + type.str() : "") + "}"});
  else if (!scale->options.empty())
    return llvm::createStringError(llvm::Twine(scaleOption) +
                                   ": none takes no options, found '" +
                                   llvm::StringRef(scale->options).trim() + "'");
  passes.push_back({"mpt-validate-loss-scale", "mpt-validate-loss-scale"});
  if (type != "f32")
    passes.push_back({"--autocast", "mpt-autocast{type=" + type.str() + " " +
                                        options.autocast.value_or("") + "}"});
  return prepareStep(passes);
}
