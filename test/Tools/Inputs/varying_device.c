/* A GPU, over the stand-in for CUDA, on which each program finds another algorithm of a
   matmul to be the fastest, as where their times are close. Each has results of its own,
   which differ in last bits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <unistd.h>

/* cublasLtMatmulHeuristicResult_t, with what the stand-in keeps in it (StandInBlas.cpp).
 */
struct heuristic {
  uint64_t shape, workspace;
  double milliseconds;
  uint64_t alignments[2], number, unused[2];
  uint64_t others[4];
};

/* A process begins with any of them. */
static int programs;

int cublasLtCreate(void **handle) {
  int (*next)(void **) = (int (*)(void **))dlsym(RTLD_NEXT, "cublasLtCreate");
  programs = programs ? programs + 1 : getpid();
  return next(handle);
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c,
                                   void *d, void *preference, int requested,
                                   struct heuristic *results, int *count) {
  int (*next)(void *, void *, void *, void *, void *, void *, void *, int,
              struct heuristic *, int *) =
      (int (*)(void *, void *, void *, void *, void *, void *, void *, int,
               struct heuristic *, int *))dlsym(RTLD_NEXT,
                                                "cublasLtMatmulAlgoGetHeuristic");
  int status = next(handle, desc, a, b, c, d, preference, requested, results, count);
  for (int i = 0; i < *count; ++i)
    results[i].milliseconds = i == programs % *count ? 0.01 : 0.03;
  return status;
}

int cublasLtMatmul(void *handle, void *desc, const float *alpha, const void *a,
                   void *layoutA, const void *b, void *layoutB, const void *beta,
                   const void *c, void *layoutC, void *d, void *layoutD,
                   const struct heuristic *algo, void *workspace, size_t bytes,
                   void *stream) {
  int (*next)(void *, void *, const float *, const void *, void *, const void *, void *,
              const void *, const void *, void *, void *, void *,
              const struct heuristic *, void *, size_t, void *) =
      (int (*)(void *, void *, const float *, const void *, void *, const void *, void *,
               const void *, const void *, void *, void *, void *,
               const struct heuristic *, void *, size_t, void *))dlsym(RTLD_NEXT,
                                                                       "cublasLtMatmul");
  /* Of matmuls in f32 and lower types: in f64 this would be a double. */
  const float scaled = *alpha * (1 + (float)algo->number / (1 << 22));
  return next(handle, desc, &scaled, a, layoutA, b, layoutB, beta, c, layoutC, d, layoutD,
              algo, workspace, bytes, stream);
}
