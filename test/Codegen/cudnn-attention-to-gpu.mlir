// Attention becomes a call of cuDNN and, as its alternative, launches.
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu=cudnn-attention --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu --split-input-file | FileCheck %s --check-prefix=OWN
// OWN-NOT: cudnn_attention
// OWN-NOT: alternatives

// CHECK-LABEL: mpt_program.program @views
// CHECK: %[[Q:.*]] = mpt_program.buffer <arena> 0 : memref<2x4x16x32xbf16, strided<[2048, 32, 128, 1]>>
// CHECK: mpt_program.alternatives {
// CHECK-NEXT: mpt_program.cudnn_attention ins(%[[Q]], %{{.*}}, %{{.*}} : {{.*}}) outs({{.*}}) {causal, row_strides = array<i64: 2048, 32, 128, 1024, 512, 32, 1024, 512, 32, 2048, 32, 128>, scale = 2.500000e-01 : f64, sizes = array<i64: 2, 4, 2, 16, 16, 32>}
// CHECK-NEXT: } else {
// CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_attention
// CHECK-NEXT: }
// CHECK: mpt_program.alternatives {
// CHECK-NEXT: mpt_program.cudnn_attention_grad ins({{.*}}) outs({{.*}}) workspace({{.*}}) {causal, row_strides = array<i64: 2048, 512, 32, 2048, 32, 128, 1024, 512, 32, 1024, 512, 32, 2048, 32, 128, 2048, 512, 32, 1024, 512, 32, 1024, 512, 32>, scale = 2.500000e-01 : f64, sizes = array<i64: 2, 4, 2, 16, 16, 32>}
// CHECK-NEXT: } else {
// CHECK-COUNT-3: mpt_program.device_launch
// CHECK-NEXT: }
mpt_program.program @views attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 131072 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %q = mpt_program.buffer <arena> 0 : memref<2x4x16x32xbf16, strided<[2048, 32, 128, 1]>>
  %k = mpt_program.buffer <arena> 8192 : memref<2x2x16x32xbf16>
  %v = mpt_program.buffer <arena> 12288 : memref<2x2x16x32xbf16>
  %y = mpt_program.buffer <arena> 16384 : memref<2x4x16x32xbf16, strided<[2048, 32, 128, 1]>>
  %lse = mpt_program.buffer <arena> 24576 : memref<2x4x16xf32>
  %dy = mpt_program.buffer <arena> 25088 : memref<2x4x16x32xbf16>
  %dq = mpt_program.buffer <arena> 33280 : memref<2x4x16x32xbf16>
  %dk = mpt_program.buffer <arena> 41472 : memref<2x2x16x32xbf16>
  %dv = mpt_program.buffer <arena> 45568 : memref<2x2x16x32xbf16>
  %w = mpt_program.buffer <arena> 49664 : memref<512xi8>
  mpt_program.attention ins(%q, %k, %v : memref<2x4x16x32xbf16, strided<[2048, 32, 128, 1]>>, memref<2x2x16x32xbf16>, memref<2x2x16x32xbf16>)
      outs(%y, %lse : memref<2x4x16x32xbf16, strided<[2048, 32, 128, 1]>>, memref<2x4x16xf32>) {causal, scale = 0.25 : f64}
  mpt_program.attention_grad ins(%dy, %q, %k, %v, %y, %lse : memref<2x4x16x32xbf16>, memref<2x4x16x32xbf16, strided<[2048, 32, 128, 1]>>, memref<2x2x16x32xbf16>, memref<2x2x16x32xbf16>, memref<2x4x16x32xbf16, strided<[2048, 32, 128, 1]>>, memref<2x4x16xf32>)
      outs(%dq, %dk, %dv : memref<2x4x16x32xbf16>, memref<2x2x16x32xbf16>, memref<2x2x16x32xbf16>) workspace(%w : memref<512xi8>) {causal, scale = 0.25 : f64}
}

// -----

// Not with a mask, nor with fewer queries than keys that are causal.
// CHECK-LABEL: mpt_program.program @masked
// CHECK-NOT: cudnn_attention
// CHECK: mpt_program.device_launch
// CHECK-NOT: cudnn_attention
// CHECK: mpt_program.device_launch
// CHECK-NOT: cudnn_attention
mpt_program.program @masked attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 131072 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %q = mpt_program.buffer <arena> 0 : memref<2x4x16x32xf16>
  %k = mpt_program.buffer <arena> 8192 : memref<2x4x16x32xf16>
  %l = mpt_program.buffer <arena> 32768 : memref<2x4x32x32xf16>
  %m = mpt_program.buffer <arena> 65536 : memref<2x1x1x16xi1>
  %y = mpt_program.buffer <arena> 16384 : memref<2x4x16x32xf16>
  %lse = mpt_program.buffer <arena> 24576 : memref<2x4x16xf32>
  mpt_program.attention ins(%q, %k, %k : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>) mask(%m : memref<2x1x1x16xi1>)
      outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>) {scale = 0.25 : f64}
  mpt_program.attention ins(%q, %l, %l : memref<2x4x16x32xf16>, memref<2x4x32x32xf16>, memref<2x4x32x32xf16>)
      outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>) {causal, scale = 0.25 : f64}
}
