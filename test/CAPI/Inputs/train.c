/* From a model's text to a trained checkpoint, through MPT's C API alone.
 *   train MODEL.mlir X.npy Y.npy PIPELINE BATCH STEPS OUT [CUDA-LIBRARY]
 * Parses the model, runs PIPELINE on it and compiles it to OUT.so. Then trains half of
 * the steps with the step that is compiled in this process, saves OUT.half.safetensors,
 * goes on from there with OUT.so and saves OUT.safetensors. The data are f32; batches are
 * the rows that mpt-run takes with seed 3. With CUDA-LIBRARY, a stand-in for CUDA, all of
 * it is done for GPUs. */
#include "mlir-c/IR.h"
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

/* Ends the program if `error` is one. */
static void check(MptError error) {
  if (mptErrorIsNull(error))
    return;
  fprintf(stderr, "train: %s\n", mptErrorGetText(error).data);
  mptErrorDestroy(error);
  exit(1);
}

static char *readFile(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *data = malloc(*size + 1);
  if (!data || fread(data, 1, *size, file) != *size || fclose(file))
    exit(1);
  data[*size] = 0;
  return data;
}

/* Prints the severity and place of what the compiler tells. */
static MlirLogicalResult handle(MlirDiagnostic diagnostic, void *unused) {
  (void)unused;
  MlirLocation place = mlirDiagnosticGetLocation(diagnostic);
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticRemark &&
      mlirLocationIsAFileLineColRange(place))
    printf("remark in line %d\n", mlirLocationFileLineColRangeGetStartLine(place));
  return mlirLogicalResultSuccess();
}

/* One input: its rows, and room for a batch of them. */
typedef struct Input {
  const char *name;
  char *rows, *batch;
  size_t rowBytes;
} Input;

static void bindInput(MptStep step, Input *input, int64_t batch) {
  for (intptr_t i = 0; i < mptStepGetNumTensors(step); ++i) {
    MptTensorInfo info = mptStepGetTensor(step, i);
    if (strcmp(info.name.data, input->name))
      continue;
    if (info.shape[0] != batch)
      exit(2);
    input->rowBytes = info.bytes / (size_t)batch;
    if (!input->batch)
      input->batch = malloc(info.bytes);
    check(mptStepBind(step, text(input->name), input->batch, info.bytes));
    return;
  }
  exit(2);
}

/* Runs until `at` stands at `steps`. */
static void train(MptStep step, Input inputs[2], MptTrainingPosition *at, int64_t steps) {
  int64_t *order = malloc(sizeof(int64_t) * (size_t)at->rows);
  for (int i = 0; i < 2; ++i)
    bindInput(step, &inputs[i], at->batch);
  for (; at->attempt < steps; ++at->attempt) {
    check(mptGetShuffledOrder(at->rows, at->seed, at->epoch, order));
    for (int64_t row = 0; row < at->batch; ++row)
      for (int i = 0; i < 2; ++i) {
        size_t bytes = inputs[i].rowBytes;
        memcpy(inputs[i].batch + (size_t)row * bytes,
               inputs[i].rows + (size_t)order[at->index + row] * bytes, bytes);
      }
    at->index += at->batch;
    if (at->index + at->batch > at->rows) {
      at->index = 0;
      ++at->epoch;
    }
    check(mptStepRun(step));
    bool taken = true;
    MptError error = mptStepReadOutput(step, text("did_step"), &taken, 1);
    mptErrorDestroy(error); /* a step without a loss scale has no such output */
    at->skipped += !taken;
  }
  free(order);
}

int main(int argc, char **argv) {
  if (argc != 8 && argc != 9)
    return 2;
  const bool isCuda = argc == 9;
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mptRegisterAllDialects(registry);
  mptRegisterAllPasses();
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);

  size_t size;
  char *source = readFile(argv[1], &size);
  MlirModule module;
  check(
      mptModuleParse(context, mlirStringRefCreate(source, size), text(argv[1]), &module));
  check(mptModuleRunPipeline(module, text(argv[4])));

  char path[256], half[256], whole[256];
  snprintf(path, sizeof(path), "%s.so", argv[7]);
  snprintf(half, sizeof(half), "%s.half.safetensors", argv[7]);
  snprintf(whole, sizeof(whole), "%s.safetensors", argv[7]);
  MlirStringRef options[] = {text("--target=cpu"), text("--max-threads=2")};
  MlirStringRef cudaOptions[] = {text("--target=cuda"), text("--chip=sm_90"),
                                 text("--emulated-kernels"),
                                 text("--remarks-filter=mpt.cuda")};
  MlirDiagnosticHandlerID id =
      mlirContextAttachDiagnosticHandler(context, handle, NULL, NULL);
  check(isCuda ? mptModuleCompile(module, 4, cudaOptions, text(path))
               : mptModuleCompile(module, 2, options, text(path)));
  mlirContextDetachDiagnosticHandler(context, id);

  Input inputs[2] = {{"x", NULL, NULL, 0}, {"y", NULL, NULL, 0}};
  MptTrainingPosition at = {0, 0, 3, atoll(argv[5]), 40, 0, 0};
  const size_t rowBytes[2] = {8, 4};
  for (int i = 0; i < 2; ++i) {
    char *data = readFile(argv[2 + i], &size);
    inputs[i].rows = data + size - rowBytes[i] * 40; /* after NumPy's header */
  }

  MptStepOptions stepOptions = mptStepOptionsCreate();
  check(mptStepOptionsSetThreads(stepOptions, 1));
  if (isCuda) {
    check(mptStepOptionsSetDevice(stepOptions, text("cuda:0")));
    check(mptStepOptionsSetCudaLibraries(stepOptions, text(argv[8]), text(argv[8]),
                                         text(argv[8])));
    check(mptStepOptionsSetCudaCompiler(stepOptions, text(""), true));
  }
  MptStep step;
  check(mptStepCreate(module, text("loss"), stepOptions, &step));
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  check(mptStepInitialize(step, at.seed, text("")));
  float lr = 0.05f;
  check(mptStepWriteState(step, text("lr"), &lr, sizeof(lr)));
  int64_t steps = atoll(argv[6]);
  train(step, inputs, &at, steps / 2);
  /* While steps go on, which it does not see. */
  check(mptStepBeginCheckpoint(step, text(half), &at));
  check(mptStepRun(step));
  mptStepDestroy(step);

  check(mptStepOpen(text(path), stepOptions, &step));
  mptStepOptionsDestroy(stepOptions);
  MptTrainingPosition loaded;
  check(mptStepLoadCheckpoint(step, text(half), &loaded));
  if (loaded.attempt != at.attempt || loaded.rows != at.rows || loaded.index != at.index)
    return 3;
  train(step, inputs, &loaded, steps);
  check(mptStepSaveCheckpoint(step, text(whole), &loaded));
  float loss;
  check(mptStepReadOutput(step, text("loss"), &loss, sizeof(loss)));
  printf("MPT %s, step %s for %s: loss %g after %ld steps, %ld skipped\n",
         mptGetVersion().data, mptStepGetDigest(step).data, mptStepGetTarget(step).data,
         loss, (long)loaded.attempt, (long)loaded.skipped);
  mptStepDestroy(step);
  return 0;
}
