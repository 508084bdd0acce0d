//===- Options.cpp - Command line of mpt-run --------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "../CommandLine.h"
#include "mpt/Memory/Planning/RematPlan.h"
#include "mpt/ProgramABI/ProgramFormat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mpt;
using namespace llvm::opt;

//===----------------------------------------------------------------------===//
// The table that Options.td describes
//===----------------------------------------------------------------------===//

namespace {
enum ID {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

#define OPTTABLE_STR_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr OptTable::Info kInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

class RunOptTable : public GenericOptTable {
public:
  RunOptTable() : GenericOptTable(OptionStrTable, OptionPrefixesTable, kInfos) {}
};
} // namespace

void mpt::printRunHelp(llvm::raw_ostream &os) {
  RunOptTable().printHelp(
      os, "mpt-run MODEL.mlir|STEP.so --data NAME=FILE... --steps N [options]",
      "trains a network written in the mpt dialect, or a compiled step",
      /*ShowHidden=*/false,
      /*ShowAllAliases=*/false);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static llvm::Error createOptionError(const Arg &arg, const llvm::Twine &message) {
  std::string name = arg.getSpelling().str();
  llvm::StringRef shown(name);
  shown.consume_back("=");
  return llvm::createStringError(shown + ": " + message);
}

static llvm::Error parseCount(const ArgList &args, ID id, int64_t least, int64_t &value) {
  const Arg *arg = args.getLastArg(id);
  if (!arg)
    return llvm::Error::success();
  llvm::StringRef text = arg->getValue();
  if (text.getAsInteger(10, value) || value < least)
    return createOptionError(*arg, "expected a whole number of at least " +
                                       llvm::Twine(least) + ", found '" + text + "'");
  return llvm::Error::success();
}

/// A size such as 512MB.
static llvm::Error parseBytes(const ArgList &args, ID id, int64_t &value) {
  const Arg *arg = args.getLastArg(id);
  if (!arg)
    return llvm::Error::success();
  std::optional<RematBudget> size = parseRematBudget(arg->getValue());
  if (!size || size->kind != RematBudget::Bytes)
    return createOptionError(*arg, "expected a number of bytes, such as 512MB or 4GiB, "
                                   "found '" +
                                       llvm::Twine(arg->getValue()) + "'");
  value = size->bytes;
  return llvm::Error::success();
}

static llvm::Error parseNumber(const ArgList &args, ID id, double &value) {
  const Arg *arg = args.getLastArg(id);
  if (!arg)
    return llvm::Error::success();
  llvm::StringRef text = arg->getValue();
  if (text.getAsDouble(value) || !std::isfinite(value) || value < 0)
    return createOptionError(*arg,
                             "expected a number of at least 0, found '" + text + "'");
  return llvm::Error::success();
}

static llvm::Error parseChoice(const ArgList &args, ID id,
                               llvm::ArrayRef<llvm::StringRef> choices,
                               std::string &value) {
  const Arg *arg = args.getLastArg(id);
  if (!arg)
    return llvm::Error::success();
  value = arg->getValue();
  if (!llvm::is_contained(choices, value))
    return createOptionError(*arg, "expected one of " + llvm::join(choices, ", ") +
                                       ", found '" + value + "'");
  return llvm::Error::success();
}

static llvm::Error parsePrecisions(const ArgList &args, RunOptions &options) {
  const Arg *arg = args.getLastArg(OPT_precision);
  if (!arg)
    return llvm::Error::success();
  for (llvm::StringRef name : llvm::split(llvm::StringRef(arg->getValue()), ',')) {
    auto [type, lossScale] = name.split(':');
    if (type != "f32" && type != "f16" && type != "bf16")
      return createOptionError(*arg, "expected f32, f16 or bf16, found '" + type + "'");
    if (lossScale.empty() && name != type)
      return createOptionError(*arg, "expected a loss scale after '" + name + "'");
    if (llvm::is_contained(options.precisions, name.str()))
      return createOptionError(*arg, "'" + name + "' is given twice");
    options.precisions.push_back(name.str());
  }
  if (options.precisions.size() > 1 && !args.hasArg(OPT_compare))
    return createOptionError(*arg, "a list needs --compare");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The whole command line
//===----------------------------------------------------------------------===//

/// cpu, cuda or cuda:N.
static llvm::Error parseDevice(const ArgList &args, RunOptions &options) {
  const Arg *arg = args.getLastArg(OPT_device);
  if (!arg)
    return llvm::Error::success();
  auto [kind, number] = llvm::StringRef(arg->getValue()).split(':');
  const bool hasNumber = llvm::StringRef(arg->getValue()).contains(':');
  if ((kind != "cpu" && kind != "cuda") || (hasNumber && kind == "cpu") ||
      (hasNumber &&
       (number.getAsInteger(10, options.deviceNumber) || options.deviceNumber < 0)))
    return createOptionError(*arg, "expected cpu, cuda or cuda:N, found '" +
                                       llvm::Twine(arg->getValue()) + "'");
  options.device = kind.str();
  options.hasDeviceNumber = hasNumber;
  return llvm::Error::success();
}

/// What options need of each other.
static llvm::Error checkCombination(const RunOptions &options) {
  auto fail = [](const char *message) { return llvm::createStringError(message); };
  if (options.steps && options.epochs)
    return fail("--steps and --epochs: give one of them");
  if (!options.steps && !options.epochs)
    return fail("missing option: give --steps=N or --epochs=N");
  if (!options.evaluates() && (!options.evalData.empty() || options.evalEvery ||
                               options.evalBatch || !options.evalWeights.empty()))
    return fail("--eval-data, --eval-every, --eval-batch and --eval-weights need "
                "--eval-function or, for a compiled step, --eval-program");
  if (!options.evalFunction.empty() && !options.evalProgram.empty())
    return fail("--eval-function and --eval-program: give one of them");
  if (options.resume && options.checkpoint.empty() && options.resumeFrom.empty())
    return fail("--resume needs --checkpoint=FILE, or a file of its own: "
                "--resume=FILE");
  if (options.checkpointEvery && options.checkpoint.empty())
    return fail("--checkpoint-every needs --checkpoint=FILE");
  if (options.compare && (!options.checkpoint.empty() || options.resume))
    return fail("--compare trains several networks: --checkpoint and --resume "
                "are for one");
  if (options.compare && options.recordsRanges())
    return fail("--compare trains several networks: --ranges and --ranges-html are "
                "for one");
  if (options.compare && !(options.profileJson + options.profileHtml).empty())
    return fail("--compare trains several networks: --profile-json and --profile-html "
                "are for one");
  if (options.instrument && !options.recordsRanges())
    return fail("--instrument needs --ranges=FILE, --ranges-html=FILE or "
                "--tensorboard=DIR");
  if (options.autocast && llvm::none_of(options.precisions, [](llvm::StringRef name) {
        return !name.starts_with("f32");
      }))
    return fail("--autocast needs --precision=f16 or bf16");
  if (options.apex && (!options.precisions.empty() || options.lossScale ||
                       options.autocast || options.pipeline))
    return fail("--apex takes the place of --precision, --loss-scale, --autocast and "
                "--pipeline: give one or the other");
  if (options.pipeline && (!options.precisions.empty() || options.optimizer ||
                           options.lossScale || options.changesUpdates()))
    return fail("--pipeline takes the place of --precision, --optimizer, "
                "--loss-scale, --fp8, --optimizer-state, --master-weights and "
                "--accumulate: give one or the other");
  if (options.device == "cuda" && options.memoryLimit)
    return fail(
        "--memory-limit is for --device=cpu; on a GPU its own memory is the limit");
  if (options.device != "cuda" && (!options.toolkit.empty() || options.emulatedKernels))
    return fail("--cuda-toolkit and --emulated-kernels need --device=cuda");
  if (!options.attentionVariant.empty() && options.attentionVariant != "mma" &&
      options.attentionVariant != "auto")
    return llvm::createStringError("--attention-variant: expected mma or auto, found '" +
                                   options.attentionVariant + "'");
  if (options.device != "cuda" && !options.attentionVariant.empty())
    return fail("--attention-variant needs --device=cuda");
  if (options.device == "cpu" && options.namesCudaLibraries())
    return fail("--cudart, --cublaslt, --cudnn and --nccl have no meaning with "
                "--device=cpu");
  if (options.device == "cpu" && (!options.tunes || !options.tuningFile.empty()))
    return fail("--no-tune and --tuning-file have no meaning with --device=cpu");
  if (options.device == "cpu" && options.graphBranches)
    return fail("--graph-branches has no meaning with --device=cpu");
  if (options.graphBranches > 3)
    return llvm::createStringError("--graph-branches: expected 1 to 3, found " +
                                   llvm::Twine(options.graphBranches));
  if (!options.tunes && !options.tuningFile.empty())
    return fail("--no-tune measures nothing to keep in --tuning-file: give one or the "
                "other");
  if (!options.parallel.empty() && options.hasDeviceNumber)
    return fail("--parallel gives each rank a GPU of its own; write --device=cuda, and "
                "choose GPUs with CUDA_VISIBLE_DEVICES");
  if (!options.nccl.empty() && options.parallel.empty())
    return fail("--nccl needs --parallel");
  if (!options.parallel.empty() && options.recordsRanges())
    return fail("--parallel: --ranges, --ranges-html and --instrument record the values "
                "of one process; leave them or --parallel out");
  if (options.batch % options.accumulate != 0)
    return fail("--accumulate must divide --batch");
  return llvm::Error::success();
}

llvm::Expected<RunOptions> mpt::parseRunOptions(llvm::ArrayRef<const char *> arguments) {
  RunOptTable table;
  unsigned missingIndex, missingCount;
  InputArgList args = table.ParseArgs(arguments, missingIndex, missingCount);
  RunOptions options;
  options.help = args.hasArg(OPT_help);
  options.version = args.hasArg(OPT_version);
  if (options.help || options.version)
    return options;
  if (llvm::Error error = checkKnown(table, args, OPT_UNKNOWN))
    return std::move(error);
  if (missingCount)
    return llvm::createStringError(llvm::StringRef(arguments[missingIndex]) +
                                   ": expected a value");

  std::vector<std::string> inputs = args.getAllArgValues(OPT_INPUT);
  if (inputs.size() != 1)
    return llvm::createStringError(
        inputs.empty() ? "missing argument: the model, a .mlir file, or a compiled step"
                       : "expected one model, found " + llvm::join(inputs, " and "));
  options.model = inputs.front();

  for (auto [id, value] : {std::pair(OPT_function, &options.function),
                           std::pair(OPT_engine, &options.engine),
                           std::pair(OPT_init, &options.init),
                           std::pair(OPT_eval_function, &options.evalFunction),
                           std::pair(OPT_checkpoint, &options.checkpoint),
                           std::pair(OPT_resume_from, &options.resumeFrom),
                           std::pair(OPT_metrics, &options.metrics),
                           std::pair(OPT_tensorboard, &options.tensorboard),
                           std::pair(OPT_plot, &options.plot),
                           std::pair(OPT_eval_program, &options.evalProgram),
                           std::pair(OPT_cudart, &options.cudart),
                           std::pair(OPT_cublaslt, &options.cublasLt),
                           std::pair(OPT_cudnn, &options.cudnn),
                           std::pair(OPT_nccl, &options.nccl),
                           std::pair(OPT_cuda_toolkit, &options.toolkit),
                           std::pair(OPT_tuning_file, &options.tuningFile),
                           std::pair(OPT_profile_json, &options.profileJson),
                           std::pair(OPT_profile_html, &options.profileHtml),
                           std::pair(OPT_ranges, &options.ranges),
                           std::pair(OPT_ranges_html, &options.rangesHtml)})
    if (llvm::Error error = parseText(args, id, *value))
      return std::move(error);
  auto optionalText = [&](ID id, std::optional<std::string> &value) {
    if (const Arg *arg = args.getLastArg(id))
      value = arg->getValue();
  };
  options.emulatedKernels = args.hasArg(OPT_emulated_kernels);
  options.attentionVariant = args.getLastArgValue(OPT_attention_variant).str();
  options.tunes = !args.hasArg(OPT_no_tune);
  optionalText(OPT_optimizer, options.optimizer);
  optionalText(OPT_loss_scale, options.lossScale);
  optionalText(OPT_autocast, options.autocast);
  optionalText(OPT_apex, options.apex);
  optionalText(OPT_memory_budget, options.memoryBudget);
  optionalText(OPT_memory_order, options.memoryOrder);
  optionalText(OPT_pipeline, options.pipeline);
  optionalText(OPT_master_weights, options.masterWeights);
  optionalText(OPT_optimizer_state, options.optimizerState);
  optionalText(OPT_fp8, options.fp8);
  optionalText(OPT_instrument, options.instrument);
  options.whole = args.getAllArgValues(OPT_whole);
  options.compare = args.hasArg(OPT_compare);
  options.profile = args.hasArg(OPT_profile);
  options.dumpPipeline = args.hasArg(OPT_dump_pass_pipeline);
  options.resume = args.hasArg(OPT_resume, OPT_resume_from);

  int64_t warmup = 0, lrStep = 0;
  struct Count {
    ID id;
    int64_t *value;
  };
  for (Count count :
       {Count{OPT_graph_branches, &options.graphBranches},
        Count{OPT_threads, &options.threads}, Count{OPT_batch, &options.batch},
        Count{OPT_eval_batch, &options.evalBatch},
        Count{OPT_eval_every, &options.evalEvery}, Count{OPT_steps, &options.steps},
        Count{OPT_epochs, &options.epochs}, Count{OPT_accumulate, &options.accumulate},
        Count{OPT_warmup, &warmup}, Count{OPT_lr_step, &lrStep},
        Count{OPT_checkpoint_every, &options.checkpointEvery},
        Count{OPT_log_every, &options.logEvery}})
    if (llvm::Error error = parseCount(args, count.id, 1, *count.value))
      return std::move(error);
  if (options.threads > rt::kMaxProgramThreads)
    return createOptionError(*args.getLastArg(OPT_threads),
                             "expected at most " + llvm::Twine(rt::kMaxProgramThreads) +
                                 ", found " + llvm::Twine(options.threads));
  if (llvm::Error error = parseBytes(args, OPT_memory_limit, options.memoryLimit))
    return std::move(error);
  int64_t seed = 0;
  if (llvm::Error error = parseCount(args, OPT_seed, 0, seed))
    return std::move(error);
  options.seed = seed;
  double lr = -1;
  if (llvm::Error error = parseNumber(args, OPT_lr, lr))
    return std::move(error);
  if (lr >= 0)
    options.lr = lr;
  double lrFinal = 0, lrGamma = 0.1;
  for (auto [id, value] :
       {std::pair(OPT_lr_final, &lrFinal), std::pair(OPT_lr_gamma, &lrGamma)})
    if (llvm::Error error = parseNumber(args, id, *value))
      return std::move(error);
  if (const Arg *arg = args.getLastArg(OPT_parallel)) {
    // A kind, and options of the pass.
    auto [kind, rest] = llvm::StringRef(arg->getValue()).trim().split(' ');
    if (kind != "data" && kind != "zero1" && kind != "zero2" && kind != "zero3")
      return createOptionError(
          *arg, "expected one of data, zero1, zero2, zero3, found '" + kind + "'");
    options.parallel = kind.str();
    options.parallelOptions = rest.trim().str();
  }
  if (llvm::Error error =
          parseNumber(args, OPT_parallel_timeout, options.parallelTimeout))
    return std::move(error);
  if (const Arg *arg = args.getLastArg(OPT_parallel_timeout)) {
    if (options.parallelTimeout == 0)
      return createOptionError(*arg, "expected a number of seconds above 0, found '" +
                                         llvm::Twine(arg->getValue()) + "'");
    if (options.parallel.empty())
      return createOptionError(*arg, "needs --parallel=data");
  }
  std::string kind = "constant";
  if (llvm::Error error = parseChoice(args, OPT_lr_schedule,
                                      {"constant", "linear", "cosine", "step"}, kind))
    return std::move(error);
  const bool isStep = kind == "step", falls = kind == "linear" || kind == "cosine";
  for (auto [id, isRead, readers] :
       {std::tuple(OPT_lr_step, isStep, "step"), std::tuple(OPT_lr_gamma, isStep, "step"),
        std::tuple(OPT_lr_final, falls, "linear or cosine")})
    if (const Arg *arg = args.getLastArg(id); arg && !isRead)
      return createOptionError(*arg, "has no meaning with --lr-schedule=" + kind +
                                         "; remove it, or use --lr-schedule=" + readers);
  if (isStep && !lrStep)
    return llvm::createStringError("--lr-schedule=step needs --lr-step=N");
  if (kind != "constant" || warmup) {
    LearningRatePassOptions &schedule = options.schedule.emplace();
    schedule.lrSchedule = kind;
    schedule.warmup = warmup;
    schedule.lrStep = lrStep;
    schedule.lrGamma = lrGamma;
    schedule.lrFinal = lrFinal;
  }
  options.scheduleEnds = falls;
  if (llvm::Error error =
          parseChoice(args, OPT_eval_weights, {"parameters", "ema"}, options.evalWeights))
    return std::move(error);
  if (llvm::Error error =
          parseChoice(args, OPT_progress, {"bar", "lines", "none"}, options.progress))
    return std::move(error);
  if (llvm::Error error = parseDevice(args, options))
    return std::move(error);
  if (llvm::Error error = parsePrecisions(args, options))
    return std::move(error);
  for (auto [id, option, specs] :
       {std::tuple(OPT_data, "--data", &options.data),
        std::tuple(OPT_eval_data, "--eval-data", &options.evalData)})
    for (const std::string &value : args.getAllArgValues(id)) {
      auto spec = parseDataSpec(option, value);
      if (!spec)
        return spec.takeError();
      specs->push_back(std::move(*spec));
    }
  if (llvm::Error error = checkCombination(options))
    return std::move(error);
  return options;
}
