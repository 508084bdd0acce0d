// Fused attention copies tiles ahead where rows lie at multiples of 16 bytes, by their
// strides and where a buffer begins.
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu | FileCheck %s

// CHECK-LABEL: mpt_program.program @step
// CHECK: device_launch @mpt_kernels::@mpt_attention_1
// CHECK: device_launch @mpt_kernels::@mpt_attention_2
// CHECK: device_launch @mpt_kernels::@mpt_attention_3
// CHECK-SAME: strided<[12288, 32, 192, 1]>
// CHECK: device_launch @mpt_kernels::@mpt_attention_4

// Two tiles before the loop, and the next two in it, when all threads have those before.
// CHECK-LABEL: llvm.func @mpt_attention_1(
// CHECK: nvvm.cp.async.shared.global %{{[^,]*}}, %{{[^,]*}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.barrier
// CHECK: scf.if
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.mma.sync

// It begins at a multiple of 8 bytes.
// CHECK-LABEL: llvm.func @mpt_attention_2(
// CHECK-NOT: nvvm.cp.async
// A third of each row of one matmul.
// CHECK-LABEL: llvm.func @mpt_attention_3(
// CHECK: nvvm.cp.async.shared.global
// The last tile is not full: zeros.
// CHECK-LABEL: llvm.func @mpt_attention_4(
// CHECK: nvvm.cp.async.shared.global %{{[^,]*}}, %{{[^,]*}}, 16, cache = cg, %{{[^,]*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 262144 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %q = mpt_program.buffer <arena> 0 : memref<2x2x64x32xf16>
  %k = mpt_program.buffer <arena> 16384 : memref<2x2x64x32xf16>
  %odd = mpt_program.buffer <input> 0 start 8 : memref<2x2x64x32xf16>
  %y = mpt_program.buffer <arena> 65536 : memref<2x2x64x32xf16>
  %lse = mpt_program.buffer <arena> 81920 : memref<2x2x64xf32>
  %q3 = mpt_program.buffer <arena> 131072 : memref<2x2x64x32xf16, strided<[12288, 32, 192, 1]>>
  %k3 = mpt_program.buffer <arena> 131200 : memref<2x2x64x32xf16, strided<[12288, 32, 192, 1]>>
  %v3 = mpt_program.buffer <arena> 131328 : memref<2x2x64x32xf16, strided<[12288, 32, 192, 1]>>
  %few = mpt_program.buffer <arena> 16384 : memref<2x2x40x32xf16>
  mpt_program.attention ins(%q, %k, %k : memref<2x2x64x32xf16>, memref<2x2x64x32xf16>, memref<2x2x64x32xf16>)
      outs(%y, %lse : memref<2x2x64x32xf16>, memref<2x2x64xf32>) {scale = 0.25 : f64}
  mpt_program.attention ins(%q, %odd, %k : memref<2x2x64x32xf16>, memref<2x2x64x32xf16>, memref<2x2x64x32xf16>)
      outs(%y, %lse : memref<2x2x64x32xf16>, memref<2x2x64xf32>) {scale = 0.25 : f64}
  mpt_program.attention ins(%q3, %k3, %v3 : memref<2x2x64x32xf16, strided<[12288, 32, 192, 1]>>, memref<2x2x64x32xf16, strided<[12288, 32, 192, 1]>>, memref<2x2x64x32xf16, strided<[12288, 32, 192, 1]>>)
      outs(%y, %lse : memref<2x2x64x32xf16>, memref<2x2x64xf32>) {scale = 0.25 : f64}
  mpt_program.attention ins(%q, %few, %few : memref<2x2x64x32xf16>, memref<2x2x40x32xf16>, memref<2x2x40x32xf16>)
      outs(%y, %lse : memref<2x2x64x32xf16>, memref<2x2x64xf32>) {scale = 0.25 : f64}
}
