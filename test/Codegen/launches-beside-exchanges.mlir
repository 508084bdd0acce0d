// Beside an exchange between ranks no launch names a whole space of memory: what the exchange
// reads and writes lies there, too. Launches before and after it are shared as ever.
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_90 format=llvm" | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>
"mpt_kernel.func"() <{sym_name = "double", function_type = (tensor<10xf32>) -> tensor<10xf32>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 10>, chunk_rows = 1 : i64,
    operand_maps = [#id], result_maps = [#id]}> ({
^bb0(%a: f32):
  %p = arith.addf %a, %a : f32
  mpt_kernel.yield %p : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "sum", function_type = (tensor<96xf32>) -> tensor<f32>,
    kind = #mpt_kernel.kind<row>, domain = array<i64: 96>, chunk_rows = 1 : i64,
    operand_maps = [#id], result_maps = [#one]}> ({
^bb0(%g: f32):
  %r = mpt_kernel.row_reduce <sum> %g : f32
  mpt_kernel.yield %r : f32
}) : () -> ()

mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 3072 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<96xf32>
  %a = mpt_program.buffer <arena> 384 : memref<10xf32>
  %b = mpt_program.buffer <arena> 448 : memref<10xf32>
  %c = mpt_program.buffer <arena> 512 : memref<10xf32>
  %d = mpt_program.buffer <arena> 576 : memref<10xf32>
  %e = mpt_program.buffer <arena> 640 : memref<10xf32>
  %f = mpt_program.buffer <arena> 704 : memref<10xf32>
  %p = mpt_program.buffer <arena> 768 : memref<f32>
  %q = mpt_program.buffer <arena> 832 : memref<f32>
  %r = mpt_program.buffer <arena> 896 : memref<f32>
  %s = mpt_program.buffer <arena> 960 : memref<f32>
  %u = mpt_program.buffer <arena> 1024 : memref<96xf32>
  %w = mpt_program.buffer <arena> 1408 : memref<256xi8>
  %z = mpt_program.buffer <arena> 1664 : memref<10xf32>
  %v = mpt_program.buffer <arena> 1728 : memref<f32>

  // The launches before it, and one that moves there.
  // CHECK: mpt_program.device_launch @mpt_kernels::@double_group0
  // CHECK-NEXT: mpt_program.all_reduce {{.*}}async
  // What would begin beside the exchange stays alone.
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@sum blocks
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@sum blocks
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_fill__1
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_fill__2
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@double blocks
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_fill__2
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@double blocks
  // CHECK-NEXT: mpt_program.wait
  // After the wait, with one that moves there.
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@sum_batch0 {{.*}} outs(%{{.*}} : memref<{{.*}}xi8>)
  // CHECK-NEXT: }
  mpt_program.launch @double ins(%z : memref<10xf32>) outs(%a : memref<10xf32>) tasks 1
  mpt_program.launch @double ins(%z : memref<10xf32>) outs(%b : memref<10xf32>) tasks 1
  mpt_program.all_reduce ins(%u : memref<96xf32>) outs(%u : memref<96xf32>) workspace(%w : memref<256xi8>)
      {async, kind = #mpt.reduce_kind<sum>, order = #mpt_program.sum_order<library>, ranks = 2 : i64}
  mpt_program.launch @double ins(%z : memref<10xf32>) outs(%c : memref<10xf32>) tasks 1
  mpt_program.launch @sum ins(%x : memref<96xf32>) outs(%p : memref<f32>) tasks 1
  mpt_program.launch @sum ins(%x : memref<96xf32>) outs(%q : memref<f32>) tasks 1
  mpt_program.fill outs(%x : memref<96xf32>) {value = 0.0 : f64}
  mpt_program.launch @sum ins(%x : memref<96xf32>) outs(%v : memref<f32>) tasks 1
  mpt_program.fill outs(%d : memref<10xf32>) {value = 1.0 : f64}
  mpt_program.launch @double ins(%d : memref<10xf32>) outs(%e : memref<10xf32>) tasks 1
  mpt_program.fill outs(%d : memref<10xf32>) {value = 1.0 : f64}
  mpt_program.launch @double ins(%d : memref<10xf32>) outs(%f : memref<10xf32>) tasks 1
  mpt_program.wait ins(%u : memref<96xf32>) outs(%u : memref<96xf32>) workspace(%w : memref<256xi8>)
  mpt_program.launch @sum ins(%u : memref<96xf32>) outs(%r : memref<f32>) tasks 1
  mpt_program.launch @sum ins(%u : memref<96xf32>) outs(%s : memref<f32>) tasks 1
}
