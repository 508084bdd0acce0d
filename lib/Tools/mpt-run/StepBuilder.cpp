//===- StepBuilder.cpp - From a model to a step -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBuilder.h"
#include "../PrintDiagnostic.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Pipelines/Pipelines.h"
#include "mpt/Precision/RangeProfile.h"
#include "mpt/Support/DiagnosticCapture.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpt;

llvm::Expected<StepSignature> mpt::readSignature(func::FuncOp function) {
  DiagnosticCapture error(function.getContext());
  auto signature = readStepSignature(function);
  if (failed(signature))
    return error.take("@" + function.getName() + " cannot be run");
  return std::move(*signature);
}

/// A module that holds a copy of `function`, one of the optimizer if that is a function,
/// and nothing else.
static OwningOpRef<ModuleOp> isolate(func::FuncOp function, const RunOptions &options) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  // Such as the mesh of a step of several ranks.
  if (auto parent = function->getParentOfType<ModuleOp>())
    module.get()->setDiscardableAttrs(parent->getDiscardableAttrDictionary());
  module->push_back(function.clone());
  llvm::StringRef optimizer;
  if (options.optimizer)
    optimizer = llvm::StringRef(*options.optimizer).ltrim().split(' ').first;
  if (auto parent = function->getParentOfType<ModuleOp>();
      parent && optimizer.consume_front("@"))
    if (auto update = parent.lookupSymbol<func::FuncOp>(optimizer);
        update && update != function)
      module->push_back(update.clone());
  return module;
}

/// Runs `passes`; warnings and remarks are printed, unless `isQuiet`, the first error is
/// the message.
static llvm::Error run(PassManager &passes, ModuleOp module, bool isQuiet) {
  ScopedDiagnosticHandler others(module.getContext(), [&](Diagnostic &diagnostic) {
    if (!isQuiet)
      printDiagnostic(diagnostic, "mpt-run");
    return success();
  });
  DiagnosticCapture error(module.getContext());
  if (succeeded(passes.run(module)))
    return llvm::Error::success();
  return error.take("the passes failed");
}

/// Adds passes to a pass manager. Fails, after it called its last argument with a
/// message, if an option cannot be read.
using BuildPasses = llvm::function_ref<LogicalResult(PassManager &, EmitError)>;

/// Runs the passes that `build` adds.
static llvm::Error runPipeline(ModuleOp module, const RunOptions &options,
                               BuildPasses build) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  std::string message;
  auto emitError = [&](const llvm::Twine &text) -> LogicalResult {
    message = text.str();
    return failure();
  };
  if (failed(build(passes, emitError)))
    return llvm::createStringError(message);
  if (options.dumpPipeline) {
    passes.dump();
    llvm::errs() << "\n";
  }
  return run(passes, module, options.isQuiet);
}

/// Notes the memory budget and order on what `prepare` made, and adds records unless it
/// has some. The digest stays: a step computes the same without them.
static llvm::Expected<PreparedFunction> instrument(PreparedFunction prepared,
                                                   const RunOptions &options) {
  auto step = prepared.module->lookupSymbol<func::FuncOp>(prepared.name);
  // The digest stays here too: what is computed again has the same bits.
  if (options.memoryBudget)
    step->setAttr(kBudgetAttr, StringAttr::get(step.getContext(), *options.memoryBudget));
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
  InstrumentPassOptions instrument;
  instrument.function = prepared.name;
  if (llvm::Error error = runPipeline(
          *prepared.module, options, [&](PassManager &passes, EmitError emitError) {
            return addPass(passes, createInstrumentPass(instrument),
                           options.instrument.value_or(""), "--instrument: ", emitError);
          }))
    return std::move(error);
  auto signature =
      readSignature(prepared.module->lookupSymbol<func::FuncOp>(prepared.name));
  if (!signature)
    return signature.takeError();
  prepared.signature = std::move(*signature);
  return std::move(prepared);
}

/// Puts the schedule that the options ask for into what `prepare` made. The digest
/// stays: a run may be resumed with another schedule, or a longer one.
static llvm::Error addSchedule(PreparedFunction &prepared, int64_t steps,
                               const RunOptions &options) {
  if (!options.lr && !options.schedule)
    return llvm::Error::success();
  if (llvm::none_of(prepared.signature.arguments, [](const auto &argument) {
        return argument.name == "lr" && argument.role == Role::Schedule &&
               argument.shape.empty();
      }))
    return llvm::createStringError("--lr, --lr-schedule and --warmup: the step has no "
                                   "scalar argument 'lr' of role schedule");
  if (!options.schedule)
    return llvm::Error::success();
  LearningRatePassOptions schedule = *options.schedule;
  schedule.function = prepared.name;
  if (options.scheduleEnds)
    schedule.totalSteps = steps;
  if (llvm::Error error =
          runPipeline(*prepared.module, options, [&](PassManager &passes, EmitError) {
            passes.addPass(createLearningRatePass(schedule));
            return success();
          }))
    return error;
  auto signature =
      readSignature(prepared.module->lookupSymbol<func::FuncOp>(prepared.name));
  if (!signature)
    return signature.takeError();
  prepared.signature = std::move(*signature);
  return llvm::Error::success();
}

/// `checkMetricNames`, with the diagnostic as the error.
static llvm::Error checkResultNames(PreparedFunction &prepared) {
  auto function = prepared.module->lookupSymbol<func::FuncOp>(prepared.name);
  DiagnosticCapture error(function.getContext());
  if (succeeded(checkMetricNames(function, prepared.signature)))
    return llvm::Error::success();
  return error.take("@" + prepared.name +
                    " has results that cannot be columns of metrics");
}

/// A copy of `function`, dimension 0 set to `batch` where it is open, after the
/// passes that `build` adds.
static llvm::Expected<PreparedFunction> prepare(func::FuncOp function, int64_t batch,
                                                const RunOptions &options,
                                                BuildPasses build) {
  PreparedFunction prepared;
  prepared.name = function.getName().str();
  prepared.module = isolate(function, options);
  auto signature = readSignature(function);
  if (!signature)
    return signature.takeError();
  if (llvm::Error error = runPipeline(
          *prepared.module, options, [&](PassManager &passes, EmitError emitError) {
            if (signature->isDynamic())
              passes.addPass(createSpecializePass(SpecializePassOptions{batch}));
            return build(passes, emitError);
          }))
    return std::move(error);

  auto result = prepared.module->lookupSymbol<func::FuncOp>(prepared.name);
  if (!result)
    return llvm::createStringError("--pipeline: the passes left no function @" +
                                   prepared.name);
  signature = readSignature(result);
  if (!signature)
    return signature.takeError();
  prepared.signature = std::move(*signature);
  prepared.digest = computeStepDigest(result);
  return std::move(prepared);
}

llvm::Expected<PreparedFunction> mpt::specialize(func::FuncOp function, int64_t batch,
                                                 const RunOptions &options) {
  return prepare(function, batch, options,
                 [](PassManager &, EmitError) { return success(); });
}

namespace {
/// What an option such as --optimizer holds: "adamw" and "lr=1e-3 clip-norm=1".
struct Kind {
  std::string name, options;
};
} // namespace

/// Splits "adamw lr=1e-3 clip-norm=1", the value of `option`. A text that begins with an
/// option is an error that says what comes first, one of `kinds`, and shows `example`.
static llvm::Expected<Kind> splitKind(llvm::StringRef option, llvm::StringRef kinds,
                                      llvm::StringRef example, llvm::StringRef text) {
  auto [kind, rest] = text.trim().split(' ');
  if (kind.empty() || kind.contains('='))
    return llvm::createStringError(option + ": expected " + kinds +
                                   " first, then options, as in '" + example +
                                   "'; found '" + text + "'");
  return Kind{kind.str(), rest.trim().str()};
}

/// Fails if `text`, options of a pass that `option` holds, sets `key`, which `setter`
/// sets: the pass would take the later one.
static llvm::Error checkNotSet(llvm::StringRef option, llvm::StringRef text,
                               llvm::StringRef key, llvm::StringRef setter) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words, " \t\n");
  for (llvm::StringRef word : words)
    if (word.split('=').first == key)
      return llvm::createStringError(option + ": '" + word + "' is set by " + setter +
                                     "; leave it out");
  return llvm::Error::success();
}

/// The words of `text` whose keys are among `keys`, and the others.
static std::pair<std::string, std::string>
splitWords(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> keys) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words, " \t\n");
  auto *others = std::stable_partition(words.begin(), words.end(), [&](auto word) {
    return llvm::is_contained(keys, word.split('=').first);
  });
  return {llvm::join(words.begin(), others, " "), llvm::join(others, words.end(), " ")};
}

/// Adds the expressions of options REGEX=NUMBER, which name parameters, among `text`, the
/// options of a pass, to `expressions`.
static void addExpressions(llvm::StringRef text, std::vector<std::string> &expressions) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words, " \t\n");
  for (llvm::StringRef word : words) {
    auto [key, values] = word.split('=');
    if (!llvm::is_contained(
            {"groups", "lr-groups", "decay-groups", "clip-groups", "scale-gradients"},
            key))
      continue;
    if (values.consume_front("{"))
      values.consume_back("}");
    // The pass that reads the option says what is wrong with it.
    for (llvm::StringRef value : llvm::split(values, ','))
      if (llvm::StringRef regex = value.rsplit('=').first;
          !regex.empty() && llvm::Regex(regex).isValid())
        expressions.push_back(regex.str());
  }
}

/// The loss scale and the casts of --precision, --loss-scale and --autocast.
static llvm::Error readPrecision(llvm::StringRef precision, const RunOptions &options,
                                 TrainingOptions &training) {
  auto [type, ownScale] = precision.split(':');
  llvm::StringRef option = ownScale.empty() ? "--loss-scale" : "--precision";
  auto scale = splitKind(
      option, "dynamic, static, amax or none", "dynamic preset=tf",
      !ownScale.empty() ? ownScale.str()
                        : options.lossScale.value_or(getDefaultLossScale(type).str()));
  if (!scale)
    return scale.takeError();
  if (llvm::Error error = checkNotSet(option, scale->options, "mode", "its first word"))
    return error;
  if (llvm::Error error =
          checkNotSet("--autocast", options.autocast.value_or(""), "type", "--precision"))
    return error;
  if (scale->name != "none") {
    auto &settings = training.lossScale.emplace();
    settings.options.mode = scale->name;
    // Gradients have the type that the step computes in, unless the text says otherwise.
    if (scale->name == "amax")
      settings.options.type = type.str();
    settings.text = scale->options;
    settings.origin = (option + ": ").str();
  } else if (!scale->options.empty()) {
    return llvm::createStringError(option + ": none takes no options, found '" +
                                   scale->options + "'");
  }
  if (type != "f32") {
    auto &settings = training.autocast.emplace();
    settings.options.type = type.str();
    settings.text = options.autocast.value_or("");
    settings.origin = "--autocast: ";
  }
  return llvm::Error::success();
}

/// What --apex asks for, with the rest of `training` as it is.
static llvm::Error readApex(const RunOptions &options, TrainingOptions &training) {
  auto level =
      splitKind("--apex", "O0, O1, O2 or O3", "O1 loss-scale=128", *options.apex);
  if (!level)
    return level.takeError();
  for (auto [key, setter] :
       {std::pair("level", "its first word"), std::pair("function", "--function"),
        std::pair("train-step", "--optimizer"), std::pair("masters", "--master-weights"),
        std::pair("accumulate", "--accumulate")})
    if (llvm::Error error = checkNotSet("--apex", level->options, key, setter))
      return error;
  ApexOptions apex;
  apex.level = level->name;
  std::string message;
  auto emitError = [&](const llvm::Twine &text) -> LogicalResult {
    message = text.str();
    return failure();
  };
  llvm::raw_string_ostream os(message);
  if (failed(apex.parseFromString(level->options, os)))
    return llvm::createStringError("--apex: " + describeOptionError(message));
  auto result = getTrainingOptions(apex, training, emitError);
  if (failed(result))
    return llvm::createStringError(message);
  training = std::move(*result);
  return llvm::Error::success();
}

/// The training pipeline that the options ask for.
static llvm::Expected<TrainingOptions>
readTrainingOptions(llvm::StringRef function, llvm::ArrayRef<std::string> shared,
                    llvm::StringRef precision, const RunOptions &options) {
  TrainingOptions training;
  training.function = function.str();
  if (options.accumulate > 1) {
    auto &settings = training.accumulate.emplace();
    settings.options.steps = options.accumulate;
    settings.options.shared.assign(shared.begin(), shared.end());
  }
  // One rank changes nothing, but reads the options.
  if (options.numRanks > 1 || !options.parallelOptions.empty()) {
    auto &settings = training.dataParallel.emplace();
    for (auto [key, setter] :
         {std::pair("size", "mpirun"), std::pair("function", "--function"),
          std::pair("shared", "the shapes of the data")})
      if (llvm::Error error =
              checkNotSet("--parallel", options.parallelOptions, key, setter))
        return std::move(error);
    settings.options.size = options.numRanks;
    settings.options.shared.assign(shared.begin(), shared.end());
    settings.text = options.parallelOptions;
    settings.origin = "--parallel: ";
    if (options.getZeroStage() == 3) {
      if (llvm::Error error = checkNotSet("--parallel", options.parallelOptions,
                                          "bucket-bytes", "unit-bytes"))
        return std::move(error);
      auto &shards = training.shardParameters.emplace();
      shards.origin = settings.origin;
      std::tie(shards.text, settings.text) =
          splitWords(options.parallelOptions, {"unit-bytes", "prefetch", "keep-bytes"});
    }
  }
  auto optimizer = splitKind("--optimizer", "sgd, momentum, adam, adamw or @NAME",
                             "sgd momentum=0.9", options.optimizer.value_or("adamw"));
  if (!optimizer)
    return optimizer.takeError();
  for (auto [key, setter] :
       {std::pair("optimizer", "its first word"), std::pair("function", "--function")})
    if (llvm::Error error = checkNotSet("--optimizer", optimizer->options, key, setter))
      return std::move(error);
  if (options.lr)
    if (llvm::Error error = checkNotSet("--optimizer", optimizer->options, "lr", "--lr"))
      return std::move(error);
  training.trainStep.options.optimizer = optimizer->name;
  training.trainStep.text = optimizer->options;
  training.trainStep.origin = "--optimizer: ";
  if (options.fp8) {
    auto recipe = splitKind("--fp8", "delayed, current, deepseek or mxfp8",
                            "deepseek keep=router", *options.fp8);
    if (!recipe)
      return recipe.takeError();
    for (auto [key, setter] :
         {std::pair("recipe", "its first word"), std::pair("function", "--function")})
      if (llvm::Error error = checkNotSet("--fp8", recipe->options, key, setter))
        return std::move(error);
    auto &settings = training.fp8.emplace();
    settings.options.recipe = recipe->name;
    settings.text = recipe->options;
    settings.origin = "--fp8: ";
  }
  if (options.optimizerState) {
    auto kind = splitKind("--optimizer-state", "f32, bf16 or block8",
                          "block8 groups=embed=f32", *options.optimizerState);
    if (!kind)
      return kind.takeError();
    if (llvm::Error error =
            checkNotSet("--optimizer-state", kind->options, "kind", "its first word"))
      return std::move(error);
    auto &settings = training.optimizerState.emplace();
    settings.options.kind = kind->name;
    settings.text = kind->options;
    settings.origin = "--optimizer-state: ";
  }
  if (options.getZeroStage() > 0) {
    std::vector<std::string> expressions;
    addExpressions(optimizer->options, expressions);
    addExpressions(options.masterWeights.value_or(""), expressions);
    addExpressions(options.optimizerState.value_or(""), expressions);
    const std::string function =
        StringRef(optimizer->name).starts_with("@") ? optimizer->name : "";
    if (auto &shards = training.shardParameters) {
      shards->options.groups.assign(expressions.begin(), expressions.end());
      shards->options.optimizer = function;
      // One rank cuts nothing, but reads the options.
      if (options.numRanks == 1) {
        std::string message;
        OpPassManager unused;
        if (failed(addPass(unused, createShardParametersPass(shards->options),
                           shards->text, shards->origin, [&](const llvm::Twine &text) {
                             message = text.str();
                             return failure();
                           })))
          return llvm::createStringError(message);
        shards.reset();
      }
    } else if (options.numRanks > 1) {
      auto &settings = training.shardOptimizer.emplace();
      settings.options.stage = options.getZeroStage();
      settings.options.groups.assign(expressions.begin(), expressions.end());
      settings.options.optimizer = function;
    }
  }
  if (options.masterWeights) {
    auto kind = splitKind("--master-weights",
                          "f32, bf16-stochastic-rounding, bf16-kahan, split16 or none",
                          "split16 groups=bias=f32", *options.masterWeights);
    if (!kind)
      return kind.takeError();
    if (llvm::Error error =
            checkNotSet("--master-weights", kind->options, "kind", "its first word"))
      return std::move(error);
    auto &settings = training.masterWeights.emplace();
    settings.options.kind = kind->name;
    settings.text = kind->options;
    settings.origin = "--master-weights: ";
  }
  if (llvm::Error error = options.apex ? readApex(options, training)
                                       : readPrecision(precision, options, training))
    return std::move(error);
  return training;
}

/// `PreparedFunction::wholeDigest` of a step for micro-batches of `batch` rows.
static llvm::Expected<std::string> computeWholeDigest(func::FuncOp function,
                                                      int64_t batch,
                                                      llvm::StringRef precision,
                                                      const RunOptions &options) {
  RunOptions whole = options;
  whole.accumulate = whole.numRanks = 1;
  whole.parallel.clear();
  whole.parallelOptions.clear();
  whole.isQuiet = true;
  whole.dumpPipeline = false;
  auto training =
      readTrainingOptions(function.getName(), /*shared=*/{}, precision, whole);
  if (!training)
    return training.takeError();
  auto prepared = prepare(function, batch * options.accumulate * options.numRanks, whole,
                          [&](PassManager &passes, EmitError emitError) {
                            return buildTrainingPipeline(passes, *training, emitError);
                          });
  if (!prepared)
    return prepared.takeError();
  return prepared->digest;
}

llvm::Expected<PreparedFunction> mpt::buildStep(func::FuncOp function, bool isStep,
                                                int64_t batch,
                                                llvm::ArrayRef<std::string> shared,
                                                int64_t steps, llvm::StringRef precision,
                                                const RunOptions &options) {
  std::optional<TrainingOptions> training;
  if (!options.pipeline && !isStep) {
    auto read = readTrainingOptions(function.getName(), shared, precision, options);
    if (!read)
      return read.takeError();
    training = std::move(*read);
  }
  auto build = [&](PassManager &passes, EmitError emitError) -> LogicalResult {
    if (training)
      return buildTrainingPipeline(passes, *training, emitError);
    if (options.pipeline) {
      std::string problem;
      llvm::raw_string_ostream os(problem);
      // With the anchor, as mpt-opt has it, the passes would run on nested modules.
      llvm::StringRef text = llvm::StringRef(*options.pipeline).trim();
      if (text.consume_front("builtin.module("))
        text.consume_back(")");
      if (succeeded(parsePassPipeline(text, passes, os)))
        return success();
      return emitError("--pipeline: " + describeOptionError(problem));
    }
    // A step that is whole is held to the rules that those made here keep.
    passes.addPass(createValidateLossScalePass());
    return success();
  };
  auto prepared = prepare(function, batch, options, build);
  if (!prepared)
    return prepared.takeError();
  if (training && options.accumulate * options.numRanks > 1) {
    // Some functions take no batch but this one: nothing else can go on from there.
    auto whole = computeWholeDigest(function, batch, precision, options);
    if (whole)
      prepared->wholeDigest = std::move(*whole);
    else
      llvm::consumeError(whole.takeError());
  }
  if (options.pipeline && !prepared->signature.isStep() && !options.isQuiet)
    llvm::errs()
        << "mpt-run: warning: --pipeline: the step that the passes made updates no "
           "parameter, so nothing is trained\n";
  if (llvm::Error error = addSchedule(*prepared, steps, options))
    return std::move(error);
  if (llvm::Error error = checkResultNames(*prepared))
    return std::move(error);
  return instrument(std::move(*prepared), options);
}
