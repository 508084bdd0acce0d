// Launches that make single numbers of buffers become one, and one for their second
// stages, however far apart they were, where nothing in between prevents it. Their
// partial sums are apart.
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_90 format=llvm" | FileCheck %s
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_90 format=isa" | %python %S/Inputs/extract_ptx.py > %t.ptx
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.ptx
// RUN: not grep -w local %t.ptx

#line = affine_map<(d0) -> (d0)>
#rows = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0) -> ()>
#none = affine_map<(d0, d1) -> ()>
"mpt_kernel.func"() <{sym_name = "large", function_type = (tensor<3x4096xf32>, tensor<f32>) -> tensor<f32>,
    kind = #mpt_kernel.kind<column>, domain = array<i64: 3, 4096>, chunk_rows = 1 : i64,
    operand_maps = [#rows, #none], result_maps = [#none]}> ({
^bb0(%g: f32, %s: f32):
  %u = arith.mulf %g, %s : f32
  %q = arith.mulf %u, %u : f32
  %r = mpt_kernel.row_reduce <sum> %q : f32
  %t = mpt_kernel.column_reduce <sum> %r : f32
  mpt_kernel.yield %t : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "small", function_type = (tensor<96xf32>, tensor<f32>) -> (tensor<96xf32>, tensor<f32>),
    kind = #mpt_kernel.kind<row>, domain = array<i64: 96>, chunk_rows = 1 : i64,
    operand_maps = [#line, #one], result_maps = [#line, #one]}> ({
^bb0(%g: f32, %s: f32):
  %u = arith.mulf %g, %s : f32
  %q = arith.mulf %u, %u : f32
  %r = mpt_kernel.row_reduce <sum> %q : f32
  mpt_kernel.yield %u, %r : f32, f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "add", function_type = (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 1>, chunk_rows = 1 : i64,
    operand_maps = [#one, #one, #one], result_maps = [#one]}> ({
^bb0(%a: f32, %b: f32, %c: f32):
  %d = arith.addf %a, %b : f32
  %e = arith.addf %d, %c : f32
  mpt_kernel.yield %e : f32
}) : () -> ()

// CHECK: mpt_program.program @step
// CHECK-SAME: arena_bytes = 125696
mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 125184 : i64,
    state_bytes = 64 : i64, output_bytes = 64 : i64} {
  // CHECK-DAG: %[[ARENA:.*]] = mpt_program.buffer <arena> 0 : memref<125696xi8>
  // CHECK-DAG: %[[STATE:.*]] = mpt_program.buffer <state> 0 : memref<64xi8>
  // CHECK-DAG: mpt_program.buffer <arena> 125184 : memref<96xi8>
  // CHECK-DAG: mpt_program.buffer <arena> 125440 : memref<96xi8>
  %g = mpt_program.buffer <arena> 0 : memref<3x4096xf32>
  %h = mpt_program.buffer <arena> 49152 : memref<3x4096xf32>
  %k = mpt_program.buffer <arena> 98304 : memref<96xf32>
  %partials = mpt_program.buffer <arena> 98688 : memref<96xi8>
  %a = mpt_program.buffer <arena> 98816 : memref<f32>
  %b = mpt_program.buffer <arena> 98880 : memref<f32>
  %c = mpt_program.buffer <arena> 98944 : memref<f32>
  %d = mpt_program.buffer <arena> 99008 : memref<f32>
  %s = mpt_program.buffer <state> 0 {name = "s", role = #mpt.role<parameter>} : memref<f32>
  %norm = mpt_program.buffer <output> 0 {name = "norm"} : memref<f32>
  // This one is read before the others can be.
  // CHECK: mpt_program.device_launch @mpt_kernels::@small {{.*}} ins(%[[K:[0-9a-z]+]],
  // The fills are launches, too, which are one with that of @add.
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@add_group0 blocks [26, 1]
  // Three blocks, one and three; what is added up has a block each.
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@large_batch0 blocks [7, 1] threads 256 ins() outs(%[[ARENA]], %[[STATE]] :
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@large_batch0_combine blocks [2, 1] threads 32 ins() outs(%[[ARENA]], %[[STATE]] :
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@add
  // CHECK-NEXT: }
  mpt_program.launch @small ins(%k, %s : memref<96xf32>, memref<f32>) outs(%k, %d : memref<96xf32>, memref<f32>) tasks 1
  mpt_program.launch @add ins(%d, %s, %s : memref<f32>, memref<f32>, memref<f32>) outs(%s : memref<f32>) tasks 1
  mpt_program.fill outs(%g : memref<3x4096xf32>) {value = 1.0 : f64}
  mpt_program.launch @large ins(%g, %s : memref<3x4096xf32>, memref<f32>) outs(%a : memref<f32>) partials(%partials : memref<96xi8>) tasks 3
  mpt_program.fill outs(%k : memref<96xf32>) {value = 2.0 : f64}
  mpt_program.launch @small ins(%k, %s : memref<96xf32>, memref<f32>) outs(%k, %b : memref<96xf32>, memref<f32>) tasks 1
  mpt_program.fill outs(%h : memref<3x4096xf32>) {value = 3.0 : f64}
  mpt_program.launch @large ins(%h, %s : memref<3x4096xf32>, memref<f32>) outs(%c : memref<f32>) partials(%partials : memref<96xi8>) tasks 3
  mpt_program.launch @add ins(%a, %b, %c : memref<f32>, memref<f32>, memref<f32>) outs(%norm : memref<f32>) tasks 1
}

// CHECK: gpu.module @mpt_kernels
// CHECK: llvm.mlir.global internal constant @large_batch0_table(dense<[0, 0,
// CHECK: llvm.func @large_batch0(%{{[^,]*}}: !llvm.ptr<1>, %{{[^,]*}}: !llvm.ptr<1>)

// PTX-LABEL: .entry large_batch0(
// PTX: ld.const
// PTX: ld.global{{.*}}.v4
// PTX-LABEL: .entry large_batch0_combine(
