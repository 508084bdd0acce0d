// Small launches over rows that share an operand become one. Large ones, whose threads take
// several rows, do not: they read what rows share once.
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_90 format=llvm" | FileCheck %s

#rows = affine_map<(i, j) -> (i, j)>
#shared = affine_map<(i, j) -> (j)>
"mpt_kernel.func"() <{sym_name = "large", function_type = (tensor<67200x64xf32>, tensor<64xf32>) -> tensor<67200x64xf32>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 67200, 64>, chunk_rows = 64 : i64,
    operand_maps = [#rows, #shared], result_maps = [#rows]}> ({
^bb0(%a: f32, %s: f32):
  %p = arith.mulf %a, %s : f32
  mpt_kernel.yield %p : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "small", function_type = (tensor<200x64xf32>, tensor<64xf32>) -> tensor<200x64xf32>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 200, 64>, chunk_rows = 64 : i64,
    operand_maps = [#rows, #shared], result_maps = [#rows]}> ({
^bb0(%a: f32, %s: f32):
  %p = arith.mulf %a, %s : f32
  mpt_kernel.yield %p : f32
}) : () -> ()

// CHECK: mpt_program.device_launch @mpt_kernels::@large blocks [2100, 1] threads 256
// CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@small_group{{[0-9]+}} blocks [26, 1] threads 256
// CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@large blocks [2100, 1] threads 256
// CHECK-NEXT: }
mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 34509056 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %a = mpt_program.buffer <arena> 0 : memref<67200x64xf32>
  %b = mpt_program.buffer <arena> 17203200 : memref<67200x64xf32>
  %c = mpt_program.buffer <arena> 34406400 : memref<200x64xf32>
  %d = mpt_program.buffer <arena> 34457600 : memref<200x64xf32>
  %s = mpt_program.buffer <arena> 34508800 : memref<64xf32>
  mpt_program.launch @large ins(%a, %s : memref<67200x64xf32>, memref<64xf32>) outs(%a : memref<67200x64xf32>) tasks 1050
  mpt_program.launch @small ins(%c, %s : memref<200x64xf32>, memref<64xf32>) outs(%c : memref<200x64xf32>) tasks 4
  mpt_program.launch @large ins(%b, %s : memref<67200x64xf32>, memref<64xf32>) outs(%b : memref<67200x64xf32>) tasks 1050
  mpt_program.launch @small ins(%d, %s : memref<200x64xf32>, memref<64xf32>) outs(%d : memref<200x64xf32>) tasks 4
}
