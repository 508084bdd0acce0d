/* Trains a step that holds its weights: train_file STEP.so RUNS INPUT=FILE.npy... */
#include "mpt/Runtime/Runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of a .npy file are its last bytes. */
static void *readNumbers(const char *path, size_t bytes) {
  void *data = malloc(bytes);
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, -(long)bytes, SEEK_END) ||
      fread(data, 1, bytes, file) != bytes)
    exit(fprintf(stderr, "%s: expected %zu bytes of numbers\n", path, bytes));
  fclose(file);
  return data;
}

static void check(int status, mpt_rt_context *rt) {
  if (status)
    exit(fprintf(stderr, "%s\n", mpt_rt_last_error(rt)));
}

int main(int argc, char **argv) {
  mpt_rt_context *rt = mpt_rt_create(0); /* as many threads as the machine has */
  check(mpt_rt_open(rt, argv[1]), rt);
  mpt_rt_tensor tensor;
  for (int32_t i = 0; mpt_rt_get_tensor(rt, i, &tensor) == 0; ++i)
    for (int a = 3; a < argc; ++a) {
      size_t length = strlen(tensor.name);
      if (!strncmp(argv[a], tensor.name, length) && argv[a][length] == '=')
        check(mpt_rt_bind(rt, tensor.name,
                          readNumbers(argv[a] + length + 1, tensor.bytes), tensor.bytes),
              rt);
    }
  for (int step = 0; step < atoi(argv[2]); ++step) {
    float loss;
    check(mpt_rt_run(rt), rt);
    check(mpt_rt_read_output(rt, "loss", &loss, sizeof loss), rt);
    printf("%a\n", loss);
  }
  mpt_rt_destroy(rt);
}
