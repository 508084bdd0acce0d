// Matmuls without tensor cores, or with rows that their kernels do not like.
// RUN: mpt-opt %s --mpt-report-gemms --remark-policy=all --remarks-filter='.*' --mlir-print-op-on-diagnostic=false -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %a = mpt_program.buffer <arena> 0 : memref<8x8xf32>
  %b = mpt_program.buffer <arena> 256 : memref<8x8xf32>
  %c = mpt_program.buffer <arena> 512 : memref<8x8xf32>
  %p = mpt_program.buffer <arena> 1024 : memref<8x16xbf16>
  %q = mpt_program.buffer <arena> 1280 : memref<16x8xbf16>
  %r = mpt_program.buffer <arena> 1536 : memref<8x8xf32>
  %s = mpt_program.buffer <arena> 2048 : memref<16x9xbf16>
  %t = mpt_program.buffer <arena> 2560 : memref<8x9xbf16>
  // CHECK: report-gemms.mlir:[[#@LINE+1]]:3: remark: {{.*}}mpt.cuda.no-tensor-cores{{.*}}8 x 8 x 8 of f32, summed exactly{{.*}}--f32-matmuls=tf32, or mixed precision
  mpt_program.matmul ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  // As TF32 it is done by tensor cores; so is bf16 into f32.
  mpt_program.matmul ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>) {f32_matmuls = #mpt_program.f32_matmuls<tf32>}
  mpt_program.matmul ins(%p, %q : memref<8x16xbf16>, memref<16x8xbf16>) outs(%r : memref<8x8xf32>)
  // CHECK: report-gemms.mlir:[[#@LINE+1]]:3: remark: {{.*}}mpt.cuda.tensor-core-shape{{.*}}8 x 9 x 16: rows of the right have 9 elements, 18 bytes{{.*}}--mpt-pad-tensor-cores
  mpt_program.matmul ins(%p, %s : memref<8x16xbf16>, memref<16x9xbf16>) outs(%t : memref<8x9xbf16>)
  // What cuBLASLt does on no chip, and not on this one.
  %u = mpt_program.buffer <arena> 2816 : memref<8x16xf16>
  %v = mpt_program.buffer <arena> 3072 : memref<16x16xf8E5M2>
  %w = mpt_program.buffer <arena> 3328 : memref<16x16xbf16>
  // CHECK: report-gemms.mlir:[[#@LINE+1]]:3: remark: {{.*}}mpt.cuda.no-tensor-cores{{.*}}8 x 8 x 16: cuBLASLt cannot do it on sm_90 (a matmul of f16 and bf16 into f32: both operands must have one type; cast one); MPT's own function runs, which is many times slower
  mpt_program.matmul ins(%u, %q : memref<8x16xf16>, memref<16x8xbf16>) outs(%r : memref<8x8xf32>)
  // CHECK: report-gemms.mlir:[[#@LINE+1]]:3: remark: {{.*}}mpt.cuda.no-tensor-cores{{.*}}16 x 16 x 16: cuBLASLt cannot do it on sm_90 (a matmul of f8E5M2 and f8E5M2 into bf16: one operand must be f8E4M3FN); MPT's own function runs
  mpt_program.matmul ins(%v, %v : memref<16x16xf8E5M2>, memref<16x16xf8E5M2>) outs(%w : memref<16x16xbf16>)
}
