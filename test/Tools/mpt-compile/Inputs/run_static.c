/* A program that a step is linked into: run_static RUNS SEED INPUT=FILE.npy... */
#include "mpt/Runtime/Runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STEP_FILE
static int openStep(mpt_rt_context *rt) { return mpt_rt_open(rt, STEP_FILE); }
#else
/* What mpt-compile --emit=object --symbol=tiny_step made. */
extern const struct mpt_program_desc tiny_step;
static int openStep(mpt_rt_context *rt) { return mpt_rt_open_desc(rt, &tiny_step); }
#endif

int main(int argc, char **argv) {
  mpt_rt_context *rt = mpt_rt_create(2);
  int failed =
      argc < 3 || openStep(rt) || mpt_rt_initialize(rt, strtoull(argv[2], NULL, 10));
  mpt_rt_tensor t;
  for (int i = 3; i < argc && !failed; ++i)
    for (int32_t n = 0; mpt_rt_get_tensor(rt, n, &t) == 0; ++n) {
      size_t length = strlen(t.name);
      if (strncmp(argv[i], t.name, length) || argv[i][length] != '=')
        continue;
      FILE *file = fopen(argv[i] + length + 1, "rb");
      void *data = malloc(t.bytes); /* bound until the end */
      if (!file || fseek(file, -(long)t.bytes, SEEK_END) ||
          fread(data, 1, t.bytes, file) != t.bytes || fclose(file))
        return perror(argv[i]), 1;
      failed = mpt_rt_bind(rt, t.name, data, t.bytes);
    }
  for (int run = 0; run < atoi(argv[1]) && !failed; ++run) {
    float loss = 0;
    failed = mpt_rt_run(rt) || mpt_rt_read_output(rt, "loss", &loss, sizeof loss);
    printf("%a\n", loss);
  }
  if (failed)
    fprintf(stderr, "run_static: %s\n", mpt_rt_last_error(rt));
  mpt_rt_destroy(rt);
  return failed;
}
