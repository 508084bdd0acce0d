/* Opens a compiled program, runs it and prints its tensors, through the C ABI.
 *   run_step STEP.so RUNS [--seed=N | name=number | name=@file.npy]...
 * A seed initializes the state. A number becomes an f32 scalar; a file's last bytes are
 * the data of a tensor that is written, if it is state, or bound. */
#include "mpt/Runtime/Runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(mpt_rt_context *rt) {
  fprintf(stderr, "run_step: %s\n", mpt_rt_last_error(rt));
  mpt_rt_destroy(rt);
  return 1;
}

int main(int argc, char **argv) {
  mpt_rt_context *rt = mpt_rt_create(2);
  if (argc < 3 || mpt_rt_open(rt, argv[1]))
    return fail(rt);
  for (int i = 3; i < argc; ++i) {
    char *name = argv[i], *value = strchr(name, '=');
    *value++ = 0;
    if (!strcmp(name, "--seed")) {
      if (mpt_rt_initialize(rt, strtoull(value, NULL, 10)))
        return fail(rt);
      continue;
    }
    float number = strtof(value, NULL);
    void *data = &number;
    mpt_rt_tensor t = {0};
    for (int32_t n = 0; mpt_rt_get_tensor(rt, n, &t) == 0 && strcmp(t.name, name);)
      ++n;
    if (*value == '@') {
      FILE *file = fopen(value + 1, "rb");
      data = malloc(t.bytes); /* bound until the end */
      if (!file || fseek(file, -(long)t.bytes, SEEK_END) ||
          fread(data, 1, t.bytes, file) != t.bytes || fclose(file))
        return perror(value + 1), 1;
    }
    int isInput = !strcmp(t.role, "input") || !strcmp(t.role, "target");
    if (isInput ? mpt_rt_bind(rt, name, data, t.bytes)
                : mpt_rt_write(rt, name, data, t.bytes))
      return fail(rt);
  }
  for (int run = atoi(argv[2]); run > 0; --run)
    if (mpt_rt_run(rt))
      return fail(rt);
  mpt_rt_tensor t;
  for (int32_t n = 0; mpt_rt_get_tensor(rt, n, &t) == 0; ++n) {
    unsigned char *data = malloc(t.bytes);
    int isOutput = !strcmp(t.role, "output");
    if (strcmp(t.role, "input") && strcmp(t.role, "target") &&
        !(isOutput && atoi(argv[2]) == 0)) {
      if ((isOutput ? mpt_rt_read_output : mpt_rt_read)(rt, t.name, data, t.bytes))
        return fail(rt);
      printf("%s %s %s ", t.role, t.name, t.type);
      for (size_t i = 0; i < t.bytes; ++i)
        printf("%02x", data[i]);
      printf("\n");
    }
    free(data);
  }
  mpt_rt_destroy(rt);
  return 0;
}
