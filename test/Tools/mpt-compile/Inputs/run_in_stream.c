/* Trains a step in a stream of the host's own, with batches that lie on the GPU: the host
 * waits once, at the end. run_in_stream STEP.so CUDA-LIBRARY The step is that of fit.mlir
 * for batches of 7 rows. The losses are those of a context that copies batches from the
 * host, on each of two GPUs; while the step runs on one, the thread's is the other. */
#include "mpt/Runtime/Runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cudaMalloc(void **, size_t);
int cudaMallocHost(void **, size_t);
int cudaFree(void *);
int cudaFreeHost(void *);
int cudaSetDevice(int);
int cudaGetDevice(int *);
int cudaStreamCreateWithFlags(void **, unsigned);
int cudaStreamDestroy(void *);
int cudaStreamSynchronize(void *);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int64_t mpt_standin_calls(const char *);
int64_t mpt_standin_alive(void);
const char *mpt_standin_breach(void);

enum { STEPS = 8, ROWS = 7, X_BYTES = 4 * 2 * ROWS, Y_BYTES = 4 * ROWS };

static void check(const mpt_rt_context *rt, int status) {
  if (!status)
    return;
  printf("error: %s\n", rt ? mpt_rt_last_error(rt) : "of CUDA");
  exit(1);
}

static mpt_rt_context *open_step(char **argv, int device) {
  mpt_rt_context *rt = mpt_rt_create(1);
  const float lr = 0.05f;
  check(rt, mpt_rt_set_cuda_libraries(rt, argv[2], argv[2]));
  check(rt, mpt_rt_set_cuda_device(rt, device));
  check(rt, mpt_rt_open(rt, argv[1]));
  check(rt, mpt_rt_initialize(rt, 3));
  check(rt, mpt_rt_write(rt, "lr", &lr, sizeof(lr)));
  return rt;
}

static void fill(int step, float *x, float *y) {
  for (int i = 0; i < 2 * ROWS; ++i)
    x[i] = (float)((7 * i + 3 * step) % 11) / 11;
  for (int i = 0; i < ROWS; ++i)
    y[i] = x[2 * i] - x[2 * i + 1];
}

static int64_t count_waits(void) {
  return mpt_standin_calls("cudaStreamSynchronize") +
         mpt_standin_calls("cudaEventSynchronize");
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  float x[2 * ROWS], y[ROWS], expected[STEPS];
  mpt_rt_context *rt = open_step(argv, 0);
  check(rt, mpt_rt_bind(rt, "x", x, X_BYTES));
  check(rt, mpt_rt_bind(rt, "y", y, Y_BYTES));
  for (int step = 0; step < STEPS; ++step) {
    fill(step, x, y);
    check(rt, mpt_rt_run(rt));
    check(rt, mpt_rt_read_output(rt, "loss", &expected[step], 4));
  }
  mpt_rt_destroy(rt);

  for (int device = 0; device < 2; ++device) {
    rt = open_step(argv, device);
    void *stream, *x_there, *y_there, *pinned;
    check(NULL, cudaSetDevice(device));
    check(NULL, cudaStreamCreateWithFlags(&stream, 1));
    check(NULL, cudaMalloc(&x_there, X_BYTES));
    check(NULL, cudaMalloc(&y_there, Y_BYTES));
    check(NULL, cudaMallocHost(&pinned, STEPS * (X_BYTES + Y_BYTES + 4)));
    char *xs = pinned, *ys = xs + STEPS * X_BYTES;
    float *losses = (float *)(ys + STEPS * Y_BYTES);
    check(rt, mpt_rt_bind_device(rt, "x", x_there, X_BYTES));
    check(rt, mpt_rt_bind_device(rt, "y", y_there, Y_BYTES));
    check(rt, mpt_rt_set_cuda_stream(rt, stream));

    int32_t number = 0;
    for (mpt_rt_tensor tensor;
         !mpt_rt_get_tensor(rt, number, &tensor) && strcmp(tensor.name, "loss"); ++number)
      ;
    void *loss = NULL;
    mpt_rt_snapshot *snapshot = NULL;
    int64_t waits = 0;
    for (int step = 0; step < STEPS; ++step) {
      fill(step, (float *)(xs + step * X_BYTES), (float *)(ys + step * Y_BYTES));
      check(NULL, cudaSetDevice(device));
      check(NULL, cudaMemcpyAsync(x_there, xs + step * X_BYTES, X_BYTES, 1, stream));
      check(NULL, cudaMemcpyAsync(y_there, ys + step * Y_BYTES, Y_BYTES, 1, stream));
      check(NULL, cudaSetDevice(1 - device));
      check(rt, mpt_rt_run(rt));
      if (step == 0) {
        check(rt, mpt_rt_get_device_data(rt, number, &loss));
        waits = count_waits();
      }
      if (step == 4)
        check(rt, mpt_rt_take_snapshot(rt, &snapshot));
      int current = -1;
      check(NULL, cudaGetDevice(&current));
      if (current != 1 - device)
        printf("the thread has GPU %d\n", current);
      check(NULL, cudaSetDevice(device));
      check(NULL, cudaMemcpyAsync(losses + step, loss, 4, 2, stream));
    }
    waits = count_waits() - waits;
    check(NULL, cudaStreamSynchronize(stream));
    printf("GPU %d: %d waits, the same losses: %d\n", device, (int)waits,
           !memcmp(losses, expected, sizeof(expected)));
    mpt_rt_destroy(rt);
    mpt_rt_destroy_snapshot(snapshot);
    check(NULL, cudaFree(x_there));
    check(NULL, cudaFree(y_there));
    check(NULL, cudaFreeHost(pinned));
    check(NULL, cudaStreamDestroy(stream));
  }
  printf("left: %d, breach: '%s'\n", (int)mpt_standin_alive(), mpt_standin_breach());
  return 0;
}
