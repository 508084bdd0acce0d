//===- Options.cpp - Command line of mpt-compile ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "../CommandLine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpt;
using namespace llvm::opt;

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

class CompileOptTable : public GenericOptTable {
public:
  CompileOptTable() : GenericOptTable(OptionStrTable, OptionPrefixesTable, kInfos) {}
};
} // namespace

void mpt::printCompileHelp(llvm::raw_ostream &os) {
  CompileOptTable().printHelp(
      os, "mpt-compile STEP.mlir -o STEP.so [options]",
      "compiles a training step into a file that MPT's runtime opens",
      /*ShowHidden=*/false, /*ShowAllAliases=*/false);
}

/// Reads what says how to compile.
static llvm::Error readOptions(const InputArgList &args, CompileOptions &options) {
  for (auto [id, value] :
       {std::pair(OPT_function, &options.function), std::pair(OPT_mcpu, &options.cpu),
        std::pair(OPT_mtriple, &options.triple), std::pair(OPT_state, &options.state),
        std::pair(OPT_cuda_toolkit, &options.toolkit),
        std::pair(OPT_autotune, &options.autotune),
        std::pair(OPT_cudart, &options.cudart),
        std::pair(OPT_cublaslt, &options.cublasLt)})
    if (llvm::Error error = parseText(args, id, *value))
      return error;
  llvm::StringRef emit = args.getLastArgValue(OPT_emit, "library");
  if (emit != "library" && emit != "object")
    return llvm::createStringError("--emit: expected library or object, found '" + emit +
                                   "'");
  options.emitsObject = emit == "object";
  if (const Arg *symbol = args.getLastArg(OPT_symbol)) {
    options.symbol = symbol->getValue();
    if (!options.emitsObject)
      return llvm::createStringError("--symbol goes with --emit=object");
    if (!llvm::Regex("^[A-Za-z_][A-Za-z0-9_]*$").match(options.symbol))
      return llvm::createStringError("--symbol: expected a name of C, found '" +
                                     options.symbol + "'");
  }
  if (const Arg *pages = args.getLastArg(OPT_max_page_size)) {
    llvm::StringRef text = pages->getValue();
    if (text.getAsInteger(10, options.pageSize) ||
        !llvm::isPowerOf2_64(options.pageSize) || options.pageSize < 4096 ||
        options.pageSize > 65536)
      return llvm::createStringError("--max-page-size: expected a power of two from 4096 "
                                     "to 65536, found '" +
                                     text + "'");
    if (options.emitsObject)
      return llvm::createStringError(
          "--max-page-size goes with --emit=library; give it to the linker");
  }
  llvm::StringRef target = args.getLastArgValue(OPT_target, "cpu");
  if (target != "cpu" && target != "cuda")
    return llvm::createStringError("unknown target '" + target + "'; choose cpu or cuda");
  options.isCuda = target == "cuda";
  for (const std::string &chip : args.getAllArgValues(OPT_chip)) {
    // sm_90, or sm_90a: which of them there are LLVM and ptxas know.
    llvm::StringRef rest = chip;
    unsigned number;
    if (!rest.consume_front("sm_") || rest.consumeInteger(10, number) ||
        rest.size() > 1 || !llvm::all_of(rest, llvm::isLower))
      return llvm::createStringError("--chip: expected a chip such as sm_90, found '" +
                                     chip + "'; for several repeat the option");
    if (number < 80)
      return llvm::createStringError("--chip: the chip '" + chip +
                                     "' is too old: kernels "
                                     "are made for sm_80 and newer");
    if (!llvm::is_contained(options.chips, chip))
      options.chips.push_back(chip);
  }
  options.emulatedKernels = args.hasArg(OPT_emulated_kernels);
  llvm::StringRef attention = args.getLastArgValue(OPT_attention, "auto");
  if (attention != "auto" && attention != "fused" && attention != "cudnn" &&
      attention != "decomposed")
    return llvm::createStringError(
        "--attention: expected auto, fused, cudnn or decomposed, found '" + attention +
        "'");
  options.fusedAttention = attention != "decomposed";
  options.cudnnAttention = attention == "cudnn";
  llvm::StringRef variant = args.getLastArgValue(OPT_attention_variant, "mma");
  if (variant != "mma" && variant != "auto")
    return llvm::createStringError("--attention-variant: expected mma or auto, found '" +
                                   variant + "'");
  options.warpgroupAttention = variant == "auto";
  options.cudnnPlainAttention = attention == "auto" && variant != "auto";
  llvm::StringRef epilogues = args.getLastArgValue(OPT_epilogues, "faster");
  if (epilogues != "faster" && epilogues != "saving" && epilogues != "plain")
    return llvm::createStringError(
        "--epilogues: expected faster, saving or plain, found '" + epilogues + "'");
  options.epilogues = epilogues.str();
  llvm::StringRef matmuls = args.getLastArgValue(OPT_shared_operands, "joined");
  if (matmuls != "joined" && matmuls != "separate")
    return llvm::createStringError(
        "--shared-operands: expected joined or separate, found '" + matmuls + "'");
  options.joinMatmuls = matmuls == "joined";
  llvm::StringRef convolutions = args.getLastArgValue(OPT_convolutions, "auto");
  if (convolutions != "auto" && convolutions != "gemm" && convolutions != "cudnn")
    return llvm::createStringError(
        "--convolutions: expected auto, cudnn or gemm, found '" + convolutions + "'");
  options.cudnn = convolutions != "gemm";
  options.cudnnWide = convolutions == "cudnn";
  options.lowBiases = args.hasArg(OPT_low_biases);
  options.f32Matmuls = args.getLastArgValue(OPT_f32_matmuls, "exact").str();
  if (options.f32Matmuls != "exact" && options.f32Matmuls != "tf32" &&
      options.f32Matmuls != "bf16x9")
    return llvm::createStringError("--f32-matmuls: expected exact, tf32 or bf16x9, "
                                   "found '" +
                                   options.f32Matmuls + "'");
  llvm::StringRef math = args.getLastArgValue(OPT_gpu_math, "fast");
  if (math != "fast" && math != "exact")
    return llvm::createStringError("--gpu-math: expected fast or exact, found '" + math +
                                   "'");
  options.fastMath = math == "fast";
  if (options.isCuda && options.chips.empty())
    return llvm::createStringError(
        "missing option: --target=cuda needs --chip, as in --chip=sm_90");
  for (unsigned id :
       {OPT_chip, OPT_cuda_toolkit, OPT_emulated_kernels, OPT_gpu_math, OPT_f32_matmuls,
        OPT_low_biases, OPT_autotune, OPT_attention, OPT_attention_variant, OPT_epilogues,
        OPT_convolutions, OPT_cudart, OPT_cublaslt})
    if (const Arg *arg = args.getLastArg(id); arg && !options.isCuda)
      return llvm::createStringError(
          "--" + arg->getOption().getUnaliasedOption().getName().rtrim('=') +
          " goes with --target=cuda");
  if (options.warpgroupAttention && !options.fusedAttention)
    return llvm::createStringError(
        "--attention-variant=auto goes with fused attention, not with "
        "--attention=decomposed");
  if (options.warpgroupAttention && !llvm::is_contained(options.chips, "sm_90"))
    return llvm::createStringError("--attention-variant=auto goes with --chip=sm_90");
  if (options.isCuda && (options.emitsObject || !options.triple.empty()))
    return llvm::createStringError("--emit=object and --mtriple go with --target=cpu");
  if (options.autotune.empty() && !(options.cudart + options.cublasLt).empty())
    return llvm::createStringError("--cudart and --cublaslt go with --autotune");
  options.missedRemarks = args.hasArg(OPT_remarks);
  if (const Arg *filter = args.getLastArg(OPT_remarks_filter)) {
    options.remarksFilter = filter->getValue();
    if (std::string why; !llvm::Regex(options.remarksFilter).isValid(why))
      return llvm::createStringError("--remarks-filter: '" + options.remarksFilter +
                                     "' is not a regular expression: " + why);
  }
  if (const Arg *threads = args.getLastArg(OPT_max_threads)) {
    llvm::StringRef text = threads->getValue();
    if (text.getAsInteger(10, options.threads) || options.threads < 1)
      return llvm::createStringError(
          "--max-threads: expected a whole number of at least 1, found '" + text + "'");
  }
  return llvm::Error::success();
}

/// Reads what says which report to write.
static llvm::Error readReport(const InputArgList &args, CompileCommand &command) {
  if (llvm::Error error = parseText(args, OPT_report, command.report))
    return error;
  if (llvm::Error error = parseText(args, OPT_report_measured, command.reportMeasured))
    return error;
  if (llvm::Error error = parseText(args, OPT_report_tuning, command.reportTuning))
    return error;
  const Arg *chip = args.getLastArg(OPT_report_chip);
  if (command.report.empty()) {
    if (const Arg *other =
            args.getLastArg(OPT_report_chip, OPT_report_measured, OPT_report_tuning))
      return llvm::createStringError(other->getSpelling().rtrim('=') +
                                     " goes with --report");
    return llvm::Error::success();
  }
  const bool isProgram = command.output.empty();
  if (!command.isCuda && !isProgram)
    return llvm::createStringError("--report goes with --target=cuda");
  std::vector<llvm::StringRef> names;
  for (const GpuChip &known : getGpuChips())
    names.push_back(known.name);
  const std::string all = llvm::join(names, ", ");
  if (chip) {
    command.reportChip = findGpuChip(llvm::StringRef(chip->getValue()));
    if (!command.reportChip)
      return llvm::createStringError("--report-chip: expected one of " + all +
                                     ", found '" + chip->getValue() + "'");
    return llvm::Error::success();
  }
  if (isProgram)
    return llvm::Error::success();
  int architecture = 0;
  llvm::StringRef(command.chips.front()).drop_front(3).consumeInteger(10, architecture);
  command.reportChip = findGpuChip(architecture);
  if (!command.reportChip)
    return llvm::createStringError("--report: no rates of a GPU with " +
                                   command.chips.front() +
                                   " are known; name one with --report-chip: " + all);
  return llvm::Error::success();
}

/// Parses `arguments`; fails on options that there are not and on values that are
/// missing.
static llvm::Expected<InputArgList> parse(const CompileOptTable &table,
                                          llvm::ArrayRef<const char *> arguments) {
  unsigned missingIndex, missingCount;
  InputArgList args = table.ParseArgs(arguments, missingIndex, missingCount);
  if (args.hasArg(OPT_help, OPT_version))
    return std::move(args);
  if (llvm::Error error = checkKnown(table, args, OPT_UNKNOWN))
    return std::move(error);
  if (missingCount)
    return llvm::createStringError(llvm::StringRef(arguments[missingIndex]) +
                                   ": expected a value");
  return std::move(args);
}

llvm::Expected<CompileCommand>
mpt::parseCompileCommand(llvm::ArrayRef<const char *> arguments) {
  CompileOptTable table;
  auto args = parse(table, arguments);
  if (!args)
    return args.takeError();
  CompileCommand command;
  command.help = args->hasArg(OPT_help);
  command.version = args->hasArg(OPT_version);
  if (command.help || command.version)
    return command;
  std::vector<std::string> inputs = args->getAllArgValues(OPT_INPUT);
  if (inputs.size() != 1)
    return llvm::createStringError(
        inputs.empty() ? "missing argument: the step, a .mlir file"
                       : "expected one step, found " + llvm::join(inputs, " and "));
  command.input = inputs.front();
  if (llvm::StringRef(command.input).ends_with(".so")) {
    for (const Arg *arg : *args)
      if (!arg->getOption().matches(OPT_INPUT) && !arg->getOption().matches(OPT_report) &&
          !arg->getOption().matches(OPT_report_chip) &&
          !arg->getOption().matches(OPT_report_measured) &&
          !arg->getOption().matches(OPT_report_tuning))
        return llvm::createStringError(
            command.input + " is compiled already: give --report=FILE alone, or with " +
            "--report-chip, --report-tuning and --report-measured, found " +
            arg->getSpelling());
    if (llvm::Error error = readReport(*args, command))
      return std::move(error);
    if (command.report.empty())
      return llvm::createStringError(command.input + " is compiled already: give " +
                                     "--report=FILE to see what it costs");
    return command;
  }
  command.output = args->getLastArgValue(OPT_o).str();
  if (command.output.empty())
    return llvm::createStringError("missing option: give -o FILE");
  if (llvm::Error error = readOptions(*args, command))
    return std::move(error);
  if (llvm::Error error = parseText(*args, OPT_remarks_output_file, command.remarksFile))
    return std::move(error);
  if (llvm::Error error = readReport(*args, command))
    return std::move(error);
  if (!command.remarksFile.empty() && !command.missedRemarks &&
      command.remarksFilter.empty())
    return llvm::createStringError(
        "--remarks-output-file goes with --remarks or --remarks-filter");
  return command;
}

llvm::Expected<CompileOptions>
mpt::parseCompileOptionList(llvm::ArrayRef<const char *> arguments) {
  CompileOptTable table;
  auto args = parse(table, arguments);
  if (!args)
    return args.takeError();
  for (const Arg *arg : *args)
    if (unsigned id = arg->getOption().getUnaliasedOption().getID();
        id == OPT_INPUT || id == OPT_o || id == OPT_remarks_output_file ||
        id == OPT_report || id == OPT_report_chip || id == OPT_help || id == OPT_version)
      return llvm::createStringError(
          "'" + arg->getAsString(*args) +
          "' belongs on mpt-compile's command line; expected options that say how to "
          "compile, such as --target=cpu");
  CompileOptions options;
  if (llvm::Error error = readOptions(*args, options))
    return std::move(error);
  return options;
}
