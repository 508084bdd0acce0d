// Launches that differ only in size become one, where nothing in between prevents it, and
// small ones of other kernels with them (launch-mixes.mlir).
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_90 format=llvm" | FileCheck %s
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_90 format=isa" | %python %S/Inputs/extract_ptx.py | FileCheck %s --check-prefix=PTX

#id = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>
"mpt_kernel.func"() <{sym_name = "large", function_type = (tensor<4099xf32>, tensor<f32>) -> tensor<4099xbf16>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4099>, chunk_rows = 1 : i64,
    operand_maps = [#id, #all], result_maps = [#id]}> ({
^bb0(%a: f32, %s: f32):
  %p = arith.mulf %a, %s : f32
  %t = arith.truncf %p : f32 to bf16
  mpt_kernel.yield %t : bf16
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "small", function_type = (tensor<10xf32>, tensor<f32>) -> tensor<10xbf16>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 10>, chunk_rows = 1 : i64,
    operand_maps = [#id, #all], result_maps = [#id]}> ({
^bb0(%a: f32, %s: f32):
  %p = arith.mulf %a, %s : f32
  %t = arith.truncf %p : f32 to bf16
  mpt_kernel.yield %t : bf16
}) : () -> ()
// Another body.
"mpt_kernel.func"() <{sym_name = "other", function_type = (tensor<10xf32>, tensor<f32>) -> tensor<10xbf16>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 10>, chunk_rows = 1 : i64,
    operand_maps = [#id, #all], result_maps = [#id]}> ({
^bb0(%a: f32, %s: f32):
  %p = arith.addf %a, %s : f32
  %t = arith.truncf %p : f32 to bf16
  mpt_kernel.yield %t : bf16
}) : () -> ()

mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 24896 : i64,
    state_bytes = 128 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<4099xf32>
  %y = mpt_program.buffer <arena> 16448 : memref<4099xbf16>
  %u = mpt_program.buffer <arena> 24704 : memref<10xf32>
  %v = mpt_program.buffer <arena> 24768 : memref<10xbf16>
  %w = mpt_program.buffer <arena> 24832 : memref<10xbf16>
  %s = mpt_program.buffer <state> 0 {name = "s", role = #mpt.role<parameter>} : memref<f32>
  %t = mpt_program.buffer <state> 64 {name = "t", role = #mpt.role<parameter>} : memref<f32>
  // 512 vectors of 8 and 3 single elements are 3 blocks, 1 vector and 2 one more, and the
  // other body another.
  // CHECK-DAG: %[[ARENA:.*]] = mpt_program.buffer <arena> 0 : memref<24896xi8>
  // CHECK-DAG: %[[STATE:.*]] = mpt_program.buffer <state> 0 : memref<128xi8>
  // CHECK-DAG: %[[U:.*]] = mpt_program.buffer <arena> 24704 : memref<10xf32>
  // CHECK-DAG: %[[W:.*]] = mpt_program.buffer <arena> 24832 : memref<10xbf16>
  // CHECK-DAG: %[[T:.*]] = mpt_program.buffer <state> 64
  // CHECK: mpt_program.device_launch @mpt_kernels::@large_group0 blocks [5, 1] threads 256 ins() outs(%[[ARENA]], %[[STATE]] : memref<24896xi8>, memref<128xi8>)
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_fill__1 blocks [1, 1] threads 32 ins() outs(%[[U]] :
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@small blocks [1, 1] threads 32 ins(%[[U]], %[[T]] : {{.*}}) outs(%[[W]] :
  // CHECK-NEXT: }
  mpt_program.launch @large ins(%x, %s : memref<4099xf32>, memref<f32>) outs(%y : memref<4099xbf16>) tasks 1
  mpt_program.launch @other ins(%u, %t : memref<10xf32>, memref<f32>) outs(%w : memref<10xbf16>) tasks 1
  mpt_program.launch @small ins(%u, %t : memref<10xf32>, memref<f32>) outs(%v : memref<10xbf16>) tasks 1
  // This one reads what has just been written.
  mpt_program.fill outs(%u : memref<10xf32>) {value = 1.0 : f64}
  mpt_program.launch @small ins(%u, %t : memref<10xf32>, memref<f32>) outs(%w : memref<10xbf16>) tasks 1
}

// CHECK: gpu.module @mpt_kernels
// CHECK: llvm.mlir.global internal constant @large_group0_table(dense<[0, 4099, 0, 0, 16448, 0, 3, 10, 24704, 64, 24768, 0, 4, 10, 24704, 64, 24832, 1]>
// CHECK: llvm.func @large_group0(%{{[^,]*}}: !llvm.ptr<1>, %{{[^,]*}}: !llvm.ptr<1>)

// PTX-LABEL: .entry large_group0(
// PTX-NOT: .local
// PTX: ld.const
// PTX: ld.global{{.*}}.v4
// PTX: cvt.rn.bf16x2.f32
// PTX: st.global.v4
