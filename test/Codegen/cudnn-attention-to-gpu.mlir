// Attention becomes a call of cuDNN and, as its alternative, launches.
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu=cudnn-attention --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu --split-input-file | FileCheck %s --check-prefix=OWN
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu=cudnn-attention --split-input-file -o %t --remarks-filter='mpt\.cuda' 2>&1 | FileCheck %s --check-prefix=REMARK
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
// CHECK-COUNT-2: mpt_program.device_launch
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

// A mask, a bias or both are added as one f32 bias, which lies after the arena; rows that
// see nothing are zeros after the call. The gradient takes another log-sum-exp, and the
// bias's gradient comes in the query's type.
// CHECK-LABEL: mpt_program.program @masked
// CHECK-SAME: arena_bytes = 137728
// CHECK: %[[MASK:.*]] = mpt_program.buffer <arena> 65536 : memref<2x1x1x16xi1>
// CHECK: %[[BIAS:.*]] = mpt_program.buffer <arena> 73728 : memref<1x4x16x16xf32>
// CHECK: %[[ADDED:.*]] = mpt_program.buffer <arena> 131072 : memref<2x1x1x16xf32>
// CHECK: mpt_program.alternatives {
// CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_attention_added{{.*}} ins(%[[MASK]] : memref<2x1x1x16xi1>) outs(%[[ADDED]] : {{.*}})
// CHECK-NEXT: mpt_program.cudnn_attention ins({{.*}}) bias(%[[ADDED]] : memref<2x1x1x16xf32>) outs(%[[Y:[0-9]+]], %[[LSE:[0-9]+]] : {{.*}})
// CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_attention_hidden{{.*}} blocks [16, 1] threads 256 ins() outs(%[[Y]], %[[LSE]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_attention_
// CHECK-NEXT: }
// CHECK: %[[ADDED2:.*]] = mpt_program.buffer <arena> 131072 : memref<1x4x16x16xf32>
// CHECK: %[[SUMS:.*]] = mpt_program.buffer <arena> 135168 : memref<2x4x16xf32>
// CHECK: %[[GRAD:.*]] = mpt_program.buffer <arena> 135680 : memref<1x4x16x16xf16>
// CHECK: mpt_program.alternatives {
// CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_attention_added{{.*}} ins(%[[BIAS]], %[[LSE]] : {{.*}}) outs(%[[ADDED2]], %[[SUMS]] : {{.*}})
// CHECK-NEXT: mpt_program.cudnn_attention_grad ins({{.*}}, %[[SUMS]] : {{.*}}) bias(%[[ADDED2]] : {{.*}}) outs({{.*}}) dbias(%[[GRAD]] : {{.*}}) workspace(
// CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_attention_widened{{.*}} ins(%[[GRAD]] : {{.*}}) outs(%{{.*}} : memref<1x4x16x16xf32>)
// CHECK-NEXT: } else {
mpt_program.program @masked attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 131072 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %q = mpt_program.buffer <arena> 0 : memref<2x4x16x32xf16>
  %k = mpt_program.buffer <arena> 8192 : memref<2x4x16x32xf16>
  %m = mpt_program.buffer <arena> 65536 : memref<2x1x1x16xi1>
  %b = mpt_program.buffer <arena> 73728 : memref<1x4x16x16xf32>
  %y = mpt_program.buffer <arena> 16384 : memref<2x4x16x32xf16>
  %lse = mpt_program.buffer <arena> 24576 : memref<2x4x16xf32>
  %dq = mpt_program.buffer <arena> 33280 : memref<2x4x16x32xf16>
  %dk = mpt_program.buffer <arena> 41472 : memref<2x4x16x32xf16>
  %dv = mpt_program.buffer <arena> 49664 : memref<2x4x16x32xf16>
  %w = mpt_program.buffer <arena> 57856 : memref<1024xi8>
  %db = mpt_program.buffer <arena> 81920 : memref<1x4x16x16xf32>
  mpt_program.attention ins(%q, %k, %k : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>) mask(%m : memref<2x1x1x16xi1>)
      outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>) {scale = 0.25 : f64}
  mpt_program.attention_grad ins(%y, %q, %k, %k, %y, %lse : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16xf32>) bias(%b : memref<1x4x16x16xf32>)
      outs(%dq, %dk, %dv : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>) dbias(%db : memref<1x4x16x16xf32>) workspace(%w : memref<1024xi8>) {scale = 0.25 : f64}
}

// -----

// Not with dropout, nor with fewer queries than keys that are causal, nor where a mask
// would widen a bias.
// CHECK-LABEL: mpt_program.program @own
// CHECK-NOT: cudnn_attention
// REMARK: attention-without-cudnn
// REMARK-SAME: it drops other elements than mpt.attention does
// REMARK: it is causal with 16 queries and 32 keys
// REMARK: the mask and the bias are the same along different dimensions
// REMARK: rows do not lie at multiples of 16 bytes
// REMARK: the bias that has a gradient is the same for all queries or keys
// REMARK-NOT: attention-without-cudnn
mpt_program.program @own attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 131072 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %q = mpt_program.buffer <arena> 0 : memref<2x4x16x32xf16>
  %k = mpt_program.buffer <arena> 8192 : memref<2x4x16x32xf16>
  %l = mpt_program.buffer <arena> 32768 : memref<2x4x32x32xf16>
  %m = mpt_program.buffer <arena> 65536 : memref<2x1x1x16xi1>
  %b = mpt_program.buffer <arena> 73728 : memref<1x4x16x16xf32>
  %s = mpt_program.buffer <arena> 81920 : memref<i64>
  %y = mpt_program.buffer <arena> 16384 : memref<2x4x16x32xf16>
  %lse = mpt_program.buffer <arena> 24576 : memref<2x4x16xf32>
  mpt_program.attention ins(%q, %k, %k : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>) seed(%s : memref<i64>) attempt(%s : memref<i64>)
      outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>) {scale = 0.25 : f64, dropout = 0.1 : f64, stream = 2 : i64}
  mpt_program.attention ins(%q, %l, %l : memref<2x4x16x32xf16>, memref<2x4x32x32xf16>, memref<2x4x32x32xf16>)
      outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>) {causal, scale = 0.25 : f64}
  mpt_program.attention ins(%q, %k, %k : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>) mask(%m : memref<2x1x1x16xi1>) bias(%b : memref<1x4x16x16xf32>)
      outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>) {scale = 0.25 : f64}
  %odd = mpt_program.buffer <input> 0 start 8 : memref<2x4x16x32xf16>
  mpt_program.attention ins(%q, %odd, %k : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>)
      outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>) {scale = 0.25 : f64}
  %dq = mpt_program.buffer <arena> 90112 : memref<2x4x16x32xf16>
  %w = mpt_program.buffer <arena> 57856 : memref<1024xi8>
  %rows = mpt_program.buffer <arena> 120000 : memref<1x4x1x16xf32>
  mpt_program.attention_grad ins(%y, %q, %k, %k, %y, %lse : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16xf32>) bias(%rows : memref<1x4x1x16xf32>)
      outs(%dq, %dq, %dq : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>) dbias(%rows : memref<1x4x1x16xf32>) workspace(%w : memref<1024xi8>) {scale = 0.25 : f64}
}
