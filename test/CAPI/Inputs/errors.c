/* What goes wrong, through MPT's C API: each error is an object with a text and a place,
 * and nothing is printed or changed. errors DIRECTORY STAND-IN */
#include "mpt-c/Error.h"
#include "mpt-c/Module.h"
#include "mpt-c/Registration.h"
#include "mpt-c/Step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MlirStringRef text(const char *chars) {
  return mlirStringRefCreateFromCString(chars);
}

static void check(int line, MptError error) {
  if (mptErrorIsNull(error))
    return;
  printf("line %d: unexpected: %s\n", line, mptErrorGetText(error).data);
  exit(1);
}
#define OK(call) check(__LINE__, call)

/* Prints the error that `call` gives. */
static void show(const char *what, MptError error) {
  printf("%s: %s\n", what,
         mptErrorIsNull(error) ? "success" : mptErrorGetText(error).data);
  for (intptr_t i = 0; i < mptErrorGetNumDiagnostics(error); ++i) {
    MptDiagnostic d = mptErrorGetDiagnostic(error, i);
    printf("  %s [%s:%d:%d] %s\n", d.severity == MlirDiagnosticNote ? "note" : "error",
           d.file.data, (int)d.line, (int)d.column, d.message.data);
  }
  mptErrorDestroy(error);
}

static MlirLogicalResult handle(MlirDiagnostic diagnostic, void *unused) {
  (void)unused;
  const char *kinds[] = {"error", "warning", "note", "remark"};
  printf("handler: %s\n", kinds[mlirDiagnosticGetSeverity(diagnostic)]);
  return mlirLogicalResultSuccess();
}

static const char *const kStep =
    "func.func @step(%w: tensor<3xf32> {mpt.name = \"w\", mpt.role = \"parameter\"},\n"
    "    %x: tensor<3xf32> {mpt.name = \"x\", mpt.role = \"input\"})\n"
    "    -> (tensor<3xf32> {mpt.name = \"y\"},\n"
    "        tensor<3xf32> {mpt.name = \"w\", mpt.updates = \"w\"}) {\n"
    "  %next = mpt.add %w, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>\n"
    "  return %x, %next : tensor<3xf32>, tensor<3xf32>\n"
    "}\n";

/* Bytecode, as another compiler writes it. */
static char bytecode[4096];
static size_t bytecodeSize;

static void append(MlirStringRef part, void *unused) {
  (void)unused;
  memcpy(bytecode + bytecodeSize, part.data, part.length);
  bytecodeSize += part.length;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  char program[512], checkpoint[512], none[512];
  snprintf(program, sizeof(program), "%s/step.so", argv[1]);
  snprintf(checkpoint, sizeof(checkpoint), "%s/c.safetensors", argv[1]);
  snprintf(none, sizeof(none), "%s/none/step.so", argv[1]);
  MlirModule noModule = {NULL}, module = {NULL};
  MlirContext noContext = {NULL};
  MptStep noStep = {NULL}, step = {NULL};
  MptStepOptions noOptions = {NULL}, options;
  MptRanks noRanks = {NULL};
  MptError noError = {NULL};
  MptTrainingPosition position = {0, 0, 0, 0, 0, 0, 0};
  float data[3] = {1, 2, 3};
  int64_t order[4];

  /* Null handles. */
  mptErrorDestroy(noError);
  mptStepDestroy(noStep);
  mptStepOptionsDestroy(noOptions);
  MlirDialectRegistry noRegistry = {NULL};
  mptRegisterAllDialects(noRegistry);
  printf("null: %d '%s' %d '%s' %d %d '%s' '%s' %d %d\n",
         (int)mptErrorGetNumDiagnostics(noError), mptErrorGetText(noError).data,
         (int)mptErrorGetDiagnostic(noError, 0).line,
         mptErrorGetDiagnostic(noError, 0).message.data,
         (int)mptStepGetNumTensors(noStep), (int)mptStepGetTensor(noStep, 0).bytes,
         mptStepGetTarget(noStep).data, mptStepGetDigest(noStep).data,
         (int)mptStepGetArenaBytes(noStep), (int)mptStepGetStateBytes(noStep));
  show("parse null", mptModuleParse(noContext, text(""), text(""), &module));
  show("pipeline null", mptModuleRunPipeline(noModule, text("")));
  show("compile null", mptModuleCompile(noModule, 0, NULL, text("a.so")));
  show("create null", mptStepCreate(noModule, text(""), noOptions, &step));
  show("open null", mptStepOpen(text("a.so"), noOptions, NULL));
  show("initialize null", mptStepInitialize(noStep, 0, text("")));
  show("bind null", mptStepBind(noStep, text("x"), data, 12));
  show("run null", mptStepRun(noStep));
  show("output null", mptStepReadOutput(noStep, text("y"), data, 12));
  show("read null", mptStepReadState(noStep, text("w"), data, 12));
  show("write null", mptStepWriteState(noStep, text("w"), data, 12));
  show("save null", mptStepSaveCheckpoint(noStep, text("a"), &position));
  show("begin null", mptStepBeginCheckpoint(noStep, text("a"), &position));
  show("finish null", mptStepFinishCheckpoint(noStep));
  show("load null", mptStepLoadCheckpoint(noStep, text("a"), &position));
  show("threads null", mptStepOptionsSetThreads(noOptions, 1));
  show("limit null", mptStepOptionsSetMemoryLimit(noOptions, 1));
  show("device null", mptStepOptionsSetDevice(noOptions, text("cpu")));
  show("libraries null",
       mptStepOptionsSetCudaLibraries(noOptions, text(""), text(""), text("")));
  show("nccl null", mptStepOptionsSetNcclLibrary(noOptions, text("")));
  show("tuning null", mptStepOptionsSetTuning(noOptions, true, text("")));
  show("branches null", mptStepOptionsSetGraphBranches(noOptions, 1));
  {
    MptStepOptions some = mptStepOptionsCreate();
    show("branches zero", mptStepOptionsSetGraphBranches(some, 0));
    mptStepOptionsDestroy(some);
  }
  show("tuning cache null", mptStepOptionsUseTuningCache(noOptions));
  show("gpu null", mptStepGetCudaDevice(noStep, NULL));
  show("stream null", mptStepSetCudaStream(noStep, NULL));
  show("profiling null", mptStepSetProfiling(noStep, true));
  show("profile null",
       mptStepPrintProfile(noStep, MptProfileFormatText, text(""), append, NULL));
  show("compiler null", mptStepOptionsSetCudaCompiler(noOptions, text(""), false));
  show("attention null", mptStepOptionsSetAttentionVariant(noOptions, text("mma")));
  show("share null", mptStepOptionsSetSharedState(noOptions, noStep));
  show("data null", mptStepGetData(noStep, 0, NULL));
  show("ranks null", mptStepOptionsSetRanks(noOptions, noRanks));
  show("connect null", mptRanksConnect(60, NULL));
  show("deadline null", mptRanksSetDeadline(noRanks, 60));
  show("same null", mptRanksCheckSame(noRanks, text(""), text("")));
  show("gather null", mptRanksGather(noRanks, 0, NULL));
  show("connect", mptRanksConnect(-1, &noRanks));
  show("connect for", mptRanksConnectFor(text("cuda"), 60, NULL));
  show("connect gpu", mptRanksConnectFor(text("gpu"), 60, &noRanks));
  mptRanksDestroy(noRanks);
  show("order null", mptGetShuffledOrder(4, 0, 0, NULL));
  show("order", mptGetShuffledOrder(-1, 0, 0, order));
  OK(mptGetShuffledOrder(0, 0, 0, NULL));

  /* Text and passes. */
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mptRegisterAllDialects(registry);
  mptRegisterAllPasses();
  mptRegisterAllPasses();
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  show("syntax",
       mptModuleParse(context, text("func.func @f() {"), text("a.mlir"), &module));
  show("verifier",
       mptModuleParse(context,
                      text("func.func @f(%a: tensor<2xf32>) -> tensor<3xf32> {\n"
                           "  %0 = mpt.add %a, %a : (tensor<2xf32>, tensor<2xf32>) -> "
                           "tensor<3xf32>\n  return %0 : tensor<3xf32>\n}"),
                      text("b.mlir"), &module));
  printf("unset: %d\n", mlirModuleIsNull(module));
  MlirModule foreign;
  mlirContextSetAllowUnregisteredDialects(context, true);
  OK(mptModuleParse(context, text("\"acme.op\"() <{a = 1}> : () -> ()"), text("c.mlir"),
                    &foreign));
  mlirOperationWriteBytecode(mlirModuleGetOperation(foreign), append, NULL);
  mlirModuleDestroy(foreign);
  show("bytecode", mptModuleParse(context, mlirStringRefCreate(bytecode, bytecodeSize),
                                  text("c.mlirbc"), &module));
  mlirContextSetAllowUnregisteredDialects(context, false);
  OK(mptModuleParse(context, text(kStep), text("step.mlir"), &module));
  show("unknown pass", mptModuleRunPipeline(module, text("mpt-autodif")));
  show("unknown option", mptModuleRunPipeline(module, text("mpt-autodiff{nothing=1}")));
  show("unclosed", mptModuleRunPipeline(module, text("builtin.module(mpt-autodiff")));
  MlirDiagnosticHandlerID id =
      mlirContextAttachDiagnosticHandler(context, handle, NULL, NULL);
  OK(mptModuleRunPipeline(module, text("mpt-specialize{batch=2}")));
  show("value", mptModuleRunPipeline(module, text("mpt-specialize{batch=x}")));
  MlirModule other;
  OK(mptModuleParse(context, text(kStep), text("step.mlir"), &other));
  show("pass",
       mptModuleRunPipeline(other, text("canonicalize,mpt-autodiff{function=f}")));
  mlirModuleDestroy(other);

  /* Compiling. */
  MlirStringRef bad[] = {text("--target=gpu")}, file[] = {text("-o"), text("a.so")},
                unknown[] = {text("--chips=sm_90")}, input[] = {text("step.mlir")},
                function[] = {text("--function=loss")},
                badRemarks[] = {text("--remarks-filter=[")},
                remarks[] = {text("--remarks-filter=.*"), text("--function=step")};
  show("target", mptModuleCompile(module, 1, bad, text(program)));
  show("file", mptModuleCompile(module, 2, file, text(program)));
  show("input", mptModuleCompile(module, 1, input, text(program)));
  show("option", mptModuleCompile(module, 1, unknown, text(program)));
  show("function", mptModuleCompile(module, 1, function, text(program)));
  show("options null", mptModuleCompile(module, 1, NULL, text(program)));
  show("path", mptModuleCompile(module, 0, NULL, text("")));
  show("directory", mptModuleCompile(module, 0, NULL, text(none)));
  OK(mptModuleCompile(module, 2, remarks, text(program)));
  show("remarks", mptModuleCompile(module, 1, badRemarks, text(program)));
  mlirContextDetachDiagnosticHandler(context, id);

  /* Options of steps. */
  options = mptStepOptionsCreate();
  show("threads", mptStepOptionsSetThreads(options, -1));
  show("limit", mptStepOptionsSetMemoryLimit(options, -1));
  show("device", mptStepOptionsSetDevice(options, text("cuda:x")));
  OK(mptStepOptionsSetMemoryLimit(options, 16));
  show("memory", mptStepCreate(module, text("step"), options, &step));
  OK(mptStepOptionsSetMemoryLimit(options, 0));
  OK(mptStepOptionsSetDevice(options, text("cuda:5")));
  OK(mptStepOptionsSetCudaLibraries(options, text(argv[2]), text(argv[2]), text("")));
  show("gpu", mptStepCreate(module, text("step"), options, &step));
  OK(mptStepOptionsSetDevice(options, text("cpu")));
  OK(mptStepOptionsSetThreads(options, 2));
  show("name", mptStepCreate(module, text("loss"), options, &step));
  show("no file", mptStepOpen(text("/none/step.so"), options, &step));
  printf("unset: %d\n", step.ptr == NULL);

  /* Steps. */
  for (int opened = 0; opened < 2; ++opened) {
    OK(opened ? mptStepOpen(text(program), options, &step)
              : mptStepCreate(module, text("step"), options, &step));
    MptTensorInfo info = mptStepGetTensor(step, 0);
    printf("tensor 0 of %d: %s %s %s rank %d [%d] %d bytes\n",
           (int)mptStepGetNumTensors(step), info.name.data, info.role.data,
           info.type.data, (int)info.rank, (int)info.shape[0], (int)info.bytes);
    printf("tensor 9: '%s'\n", mptStepGetTensor(step, 9).name.data);
    show("no value", mptStepInitialize(step, 0, text("")));
    show("no values", mptStepInitialize(step, 0, text("/none/w.safetensors")));
    show("unbound", (mptErrorDestroy(mptStepWriteState(step, text("w"), data, 12)),
                     mptStepRun(step)));
    show("input name", mptStepBind(step, text("w"), data, 12));
    show("input size", mptStepBind(step, text("x"), data, 8));
    show("input data", mptStepBind(step, text("x"), NULL, 12));
    show("early", mptStepReadOutput(step, text("y"), data, 12));
    OK(mptStepBind(step, text("x"), data, 12));
    show("profile",
         mptStepPrintProfile(step, MptProfileFormatText, text(""), append, NULL));
    OK(mptStepSetProfiling(step, true));
    OK(mptStepRun(step));
    OK(mptStepSetProfiling(step, false));
    printf("profiled: %d\n", (int)mptStepGetNumProfiled(step));
    show("format",
         mptStepPrintProfile(step, (MptProfileFormat)7, text(""), append, NULL));
    show("output name", mptStepReadOutput(step, text("z"), data, 12));
    show("state size", mptStepReadState(step, text("w"), data, 16));
    show("state name", mptStepWriteState(step, text("v"), data, 12));
    void *address = NULL;
    show("number", mptStepGetData(step, 3, &address));
    OK(mptStepGetData(step, 1, &address));
    printf("bound: %d\n", address == data);
    float w[3];
    OK(mptStepReadState(step, text("w"), w, 12));
    printf("w: %g %g %g\n", w[0], w[1], w[2]);
    position.batch = -1;
    show("position", mptStepSaveCheckpoint(step, text(checkpoint), &position));
    position.batch = 0;
    show("save", mptStepSaveCheckpoint(step, text("/none/c.safetensors"), &position));
    OK(mptStepBeginCheckpoint(step, text("/none/c.safetensors"), &position));
    show("finish", mptStepFinishCheckpoint(step));
    OK(mptStepFinishCheckpoint(step));
    OK(mptStepBeginCheckpoint(step, text("/none/c.safetensors"), &position));
    show("before", mptStepBeginCheckpoint(step, text(checkpoint), &position));
    OK(mptStepFinishCheckpoint(step));
    OK(mptStepSaveCheckpoint(step, text(checkpoint), &position));
    show("load", mptStepLoadCheckpoint(step, text("/none/c.safetensors"), &position));
    OK(mptStepLoadCheckpoint(step, text(checkpoint), &position));
    mptStepDestroy(step);
  }

  /* Another step's checkpoint. */
  MlirModule changed;
  char sourceText[1024];
  snprintf(sourceText, sizeof(sourceText), "%s", kStep);
  memcpy(strstr(sourceText, "mpt.add"), "mpt.mul", 7);
  OK(mptModuleParse(context, text(sourceText), text("changed.mlir"), &changed));
  OK(mptStepCreate(changed, text(""), noOptions, &step));
  show("other", mptStepLoadCheckpoint(step, text(checkpoint), &position));
  mptStepDestroy(step);
  mlirModuleDestroy(changed);
  mptStepOptionsDestroy(options);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return 0;
}
