// Where there are blocks enough, one of attention takes 128 queries or keys, and a warp 32
// of them. Under a causal mask a warp leaves out tiles that none of its rows sees. The
// gradient of the query sums dy times the result, for those of key and value.
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu | FileCheck %s

// CHECK-LABEL: mpt_program.program @many
// CHECK: device_launch @mpt_kernels::@mpt_attention_dquery_1 blocks [256, 1] {{.*}} ins(%0, %1, %1, %1, %3, %2 : {{.*}}) outs(%4, %[[DOTS:.*]] : memref<1x256x128x64xbf16>, memref<32768xf32>)
// CHECK: device_launch @mpt_kernels::@mpt_attention_dkey_2 blocks [256, 1] {{.*}} ins(%0, %1, %1, %1, %3, %[[DOTS]] : {{.*}})
// CHECK-LABEL: mpt_program.program @few
// CHECK: device_launch @mpt_kernels::@mpt_attention_dquery_3 blocks [510, 1]
// CHECK: device_launch @mpt_kernels::@mpt_attention_dkey_4 blocks [510, 1]

// Tiles before the diagonal, and on it.
// CHECK-LABEL: llvm.func @mpt_attention_dquery_1(
// CHECK: scf.for
// CHECK-NOT: scf.if {{.*}} -> (f32
// CHECK: nvvm.mma.sync
// CHECK: nvvm.bar.warp.sync
// CHECK: scf.for
// CHECK: scf.if {{.*}} -> (f32
// CHECK: nvvm.mma.sync
// The diagonal first.
// CHECK-LABEL: llvm.func @mpt_attention_dkey_2(
// CHECK: scf.for
// CHECK: scf.if {{.*}} -> (f32
// CHECK: nvvm.mma.sync
// CHECK: scf.for
// CHECK-NOT: scf.if {{.*}} -> (f32
// CHECK: nvvm.mma.sync
// Without a mask nothing is left out; a warp of 16 rows has all operands in registers.
// CHECK-LABEL: llvm.func @mpt_attention_dquery_3(
// CHECK-NOT: scf.if {{.*}} -> (f32
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK-LABEL: llvm.func @mpt_attention_dkey_4(
// CHECK-NOT: scf.if {{.*}} -> (f32
// CHECK-NOT: nvvm.bar.warp.sync
mpt_program.program @many attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 67108864 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %dy = mpt_program.buffer <arena> 0 : memref<1x256x128x64xbf16>
  %q = mpt_program.buffer <arena> 4194304 : memref<1x256x128x64xbf16>
  %y = mpt_program.buffer <arena> 8388608 : memref<1x256x128x64xbf16>
  %lse = mpt_program.buffer <arena> 12582912 : memref<1x256x128xf32>
  %dq = mpt_program.buffer <arena> 16777216 : memref<1x256x128x64xbf16>
  %dk = mpt_program.buffer <arena> 20971520 : memref<1x256x128x64xbf16>
  %dv = mpt_program.buffer <arena> 25165824 : memref<1x256x128x64xbf16>
  %ws = mpt_program.buffer <arena> 29360128 : memref<131072xi8>
  mpt_program.attention_grad ins(%dy, %q, %q, %q, %y, %lse : memref<1x256x128x64xbf16>, memref<1x256x128x64xbf16>, memref<1x256x128x64xbf16>, memref<1x256x128x64xbf16>, memref<1x256x128x64xbf16>, memref<1x256x128xf32>)
      outs(%dq, %dk, %dv : memref<1x256x128x64xbf16>, memref<1x256x128x64xbf16>, memref<1x256x128x64xbf16>) workspace(%ws : memref<131072xi8>) {causal, scale = 0.125 : f64}
}
mpt_program.program @few attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 67108864 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %dy = mpt_program.buffer <arena> 0 : memref<1x255x128x64xbf16>
  %q = mpt_program.buffer <arena> 4194304 : memref<1x255x128x64xbf16>
  %y = mpt_program.buffer <arena> 8388608 : memref<1x255x128x64xbf16>
  %lse = mpt_program.buffer <arena> 12582912 : memref<1x255x128xf32>
  %dq = mpt_program.buffer <arena> 16777216 : memref<1x255x128x64xbf16>
  %dk = mpt_program.buffer <arena> 20971520 : memref<1x255x128x64xbf16>
  %dv = mpt_program.buffer <arena> 25165824 : memref<1x255x128x64xbf16>
  %ws = mpt_program.buffer <arena> 29360128 : memref<131072xi8>
  mpt_program.attention_grad ins(%dy, %q, %q, %q, %y, %lse : memref<1x255x128x64xbf16>, memref<1x255x128x64xbf16>, memref<1x255x128x64xbf16>, memref<1x255x128x64xbf16>, memref<1x255x128x64xbf16>, memref<1x255x128xf32>)
      outs(%dq, %dk, %dv : memref<1x255x128x64xbf16>, memref<1x255x128x64xbf16>, memref<1x255x128x64xbf16>) workspace(%ws : memref<131072xi8>) {scale = 0.125 : f64}
}
