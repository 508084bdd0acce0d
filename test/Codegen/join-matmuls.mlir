// RUN: mpt-opt %s --mpt-join-matmuls=chip=sm_90 --remark-policy=all --remarks-filter='mpt.cuda' --mlir-print-op-on-diagnostic=false 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: not mpt-opt %s --mpt-join-matmuls=chip=h100 2>&1 | FileCheck %s --check-prefix=CHIP

// CHIP: error: mpt-join-matmuls: unknown chip 'h100'; expected one such as sm_90

// Query, key and value of grouped heads: one matmul, and one for each kind of gradient.
// REMARK: mpt.cuda.joined-matmuls {{.*}}3 of 512 + 128 + 128 columns; saves
// CHECK-LABEL: func.func @heads
// CHECK: %[[Q:.*]] = mpt.cast %arg1
// CHECK: %[[K:.*]] = mpt.cast %arg2
// CHECK: %[[V:.*]] = mpt.cast %arg3
// CHECK: %[[W:.*]] = mpt.concat %[[Q]], %[[K]], %[[V]] {axis = 1 : i64} {{.*}} -> tensor<512x768xbf16>
// CHECK: %[[B:.*]] = mpt.concat {{.*}} {axis = 0 : i64} {{.*}} -> tensor<768xbf16>
// CHECK: %[[Y:.*]] = mpt.linear %arg0, %[[W]], %[[B]] {{.*}} -> tensor<4x1024x768xbf16>
// CHECK: %[[Q3:.*]] = mpt.reshape %[[Y]] {{.*}} -> tensor<4x1024x12x64xbf16>
// CHECK: mpt.slice %[[Q3]] {offsets = array<i64: 0, 0, 0, 0>, sizes = array<i64: 4, 1024, 8, 64>
// CHECK: mpt.slice {{.*}} {offsets = array<i64: 0, 0, 8, 0>, sizes = array<i64: 4, 1024, 2, 64>
// CHECK: mpt.slice {{.*}} {offsets = array<i64: 0, 0, 10, 0>, sizes = array<i64: 4, 1024, 2, 64>
// CHECK: mpt.attention_grad
// CHECK: %[[DY:.*]] = mpt.concat {{.*}} {axis = 2 : i64} {{.*}} -> tensor<4x1024x12x64xbf16>
// CHECK: %[[ROWS:.*]] = mpt.reshape %[[DY]] {{.*}} -> tensor<4096x768xbf16>
// CHECK: %[[DW:.*]] = mpt.matmul {{.*}}, %[[ROWS]] {transpose_lhs} {{.*}} -> tensor<512x768xf32>
// CHECK: mpt.slice %[[DW]] {offsets = array<i64: 0, 0>, sizes = array<i64: 512, 512>
// CHECK: mpt.slice %[[DW]] {offsets = array<i64: 0, 512>, sizes = array<i64: 512, 128>
// CHECK: mpt.slice %[[DW]] {offsets = array<i64: 0, 640>, sizes = array<i64: 512, 128>
// CHECK: %[[DB:.*]] = mpt.reduce %[[ROWS]] {axes = array<i64: 0>{{.*}} -> tensor<768xbf16>
// CHECK: mpt.slice %[[DB]] {offsets = array<i64: 0>, sizes = array<i64: 512>
// CHECK: %[[DX:.*]] = mpt.matmul {{.*}}, %[[W]] {transpose_rhs} {{.*}} -> tensor<4x1024x512xbf16>
// CHECK-NOT: mpt.matmul
// CHECK: mpt.add %arg5, %[[DX]]
func.func @heads(%x: tensor<4x1024x512xbf16>, %wq: tensor<512x512xf32>, %wk: tensor<512x128xf32>,
                 %wv: tensor<512x128xf32>, %bias: tensor<512xbf16>, %more: tensor<4x1024x512xbf16>,
                 %dy: tensor<4x8x1024x64xbf16>, %few: tensor<128xbf16>)
    -> (tensor<4x1024x512xbf16>, tensor<512x512xf32>, tensor<512x128xf32>, tensor<512x128xf32>,
        tensor<512xbf16>, tensor<128xbf16>, tensor<128xbf16>) {
  %q0 = mpt.cast %wq : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %q1 = mpt.linear %x, %q0, %bias : (tensor<4x1024x512xbf16>, tensor<512x512xbf16>, tensor<512xbf16>) -> tensor<4x1024x512xbf16>
  %k0 = mpt.cast %wk : (tensor<512x128xf32>) -> tensor<512x128xbf16>
  %k1 = mpt.linear %x, %k0, %few : (tensor<4x1024x512xbf16>, tensor<512x128xbf16>, tensor<128xbf16>) -> tensor<4x1024x128xbf16>
  %v0 = mpt.cast %wv : (tensor<512x128xf32>) -> tensor<512x128xbf16>
  %v1 = mpt.linear %x, %v0, %few : (tensor<4x1024x512xbf16>, tensor<512x128xbf16>, tensor<128xbf16>) -> tensor<4x1024x128xbf16>
  %q2 = mpt.reshape %q1 : (tensor<4x1024x512xbf16>) -> tensor<4x1024x8x64xbf16>
  %k2 = mpt.reshape %k1 : (tensor<4x1024x128xbf16>) -> tensor<4x1024x2x64xbf16>
  %v2 = mpt.reshape %v1 : (tensor<4x1024x128xbf16>) -> tensor<4x1024x2x64xbf16>
  %q = mpt.transpose %q2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x1024x8x64xbf16>) -> tensor<4x8x1024x64xbf16>
  %k = mpt.transpose %k2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x1024x2x64xbf16>) -> tensor<4x2x1024x64xbf16>
  %v = mpt.transpose %v2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x1024x2x64xbf16>) -> tensor<4x2x1024x64xbf16>
  %y, %lse = mpt.attention %q, %k, %v {causal, fused} : (tensor<4x8x1024x64xbf16>, tensor<4x2x1024x64xbf16>, tensor<4x2x1024x64xbf16>) -> (tensor<4x8x1024x64xbf16>, tensor<4x8x1024xf32>)
  %dq0, %dk0, %dv0 = mpt.attention_grad %dy, %q, %k, %v, %y, %lse {causal, fused} : (tensor<4x8x1024x64xbf16>, tensor<4x8x1024x64xbf16>, tensor<4x2x1024x64xbf16>, tensor<4x2x1024x64xbf16>, tensor<4x8x1024x64xbf16>, tensor<4x8x1024xf32>) -> (tensor<4x8x1024x64xbf16>, tensor<4x2x1024x64xbf16>, tensor<4x2x1024x64xbf16>)
  %dv1 = mpt.transpose %dv0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x2x1024x64xbf16>) -> tensor<4x1024x2x64xbf16>
  %dk1 = mpt.transpose %dk0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x2x1024x64xbf16>) -> tensor<4x1024x2x64xbf16>
  %dq1 = mpt.transpose %dq0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x8x1024x64xbf16>) -> tensor<4x1024x8x64xbf16>
  %x2 = mpt.reshape %x : (tensor<4x1024x512xbf16>) -> tensor<4096x512xbf16>
  %dv = mpt.reshape %dv1 : (tensor<4x1024x2x64xbf16>) -> tensor<4x1024x128xbf16>
  %dv2 = mpt.reshape %dv1 : (tensor<4x1024x2x64xbf16>) -> tensor<4096x128xbf16>
  %gv = mpt.matmul %dv, %v0 {transpose_rhs} : (tensor<4x1024x128xbf16>, tensor<512x128xbf16>) -> tensor<4x1024x512xbf16>
  %dwv = mpt.matmul %x2, %dv2 {transpose_lhs} : (tensor<4096x512xbf16>, tensor<4096x128xbf16>) -> tensor<512x128xf32>
  %dbv = mpt.reduce %dv {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<4x1024x128xbf16>) -> tensor<128xbf16>
  %s0 = mpt.add %more, %gv : (tensor<4x1024x512xbf16>, tensor<4x1024x512xbf16>) -> tensor<4x1024x512xbf16>
  %dk = mpt.reshape %dk1 : (tensor<4x1024x2x64xbf16>) -> tensor<4x1024x128xbf16>
  %dk2 = mpt.reshape %dk1 : (tensor<4x1024x2x64xbf16>) -> tensor<4096x128xbf16>
  %gk = mpt.matmul %dk, %k0 {transpose_rhs} : (tensor<4x1024x128xbf16>, tensor<512x128xbf16>) -> tensor<4x1024x512xbf16>
  %dwk = mpt.matmul %x2, %dk2 {transpose_lhs} : (tensor<4096x512xbf16>, tensor<4096x128xbf16>) -> tensor<512x128xf32>
  %dbk = mpt.reduce %dk {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<4x1024x128xbf16>) -> tensor<128xbf16>
  %s1 = mpt.add %s0, %gk : (tensor<4x1024x512xbf16>, tensor<4x1024x512xbf16>) -> tensor<4x1024x512xbf16>
  %dq = mpt.reshape %dq1 : (tensor<4x1024x8x64xbf16>) -> tensor<4x1024x512xbf16>
  %dq2 = mpt.reshape %dq1 : (tensor<4x1024x8x64xbf16>) -> tensor<4096x512xbf16>
  %gq = mpt.matmul %dq, %q0 {transpose_rhs} : (tensor<4x1024x512xbf16>, tensor<512x512xbf16>) -> tensor<4x1024x512xbf16>
  %dwq = mpt.matmul %x2, %dq2 {transpose_lhs} : (tensor<4096x512xbf16>, tensor<4096x512xbf16>) -> tensor<512x512xf32>
  %dbq = mpt.reduce %dq {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<4x1024x512xbf16>) -> tensor<512xbf16>
  %s2 = mpt.add %s1, %gq : (tensor<4x1024x512xbf16>, tensor<4x1024x512xbf16>) -> tensor<4x1024x512xbf16>
  return %s2, %dwq, %dwk, %dwv, %dbq, %dbk, %dbv : tensor<4x1024x512xbf16>, tensor<512x512xf32>, tensor<512x128xf32>, tensor<512x128xf32>, tensor<512xbf16>, tensor<128xbf16>, tensor<128xbf16>
}

// A gate and what it gates, with weights as PyTorch has them.
// CHECK-LABEL: func.func @gate
// CHECK: %[[W:.*]] = mpt.concat {{.*}} {axis = 0 : i64} {{.*}} -> tensor<4096x512xbf16>
// CHECK: %[[Y:.*]] = mpt.linear %arg0, %[[W]] {transpose_weight} {{.*}} -> tensor<8192x4096xbf16>
// CHECK: mpt.slice %[[Y]]
// CHECK: %[[DY:.*]] = mpt.concat {{.*}} {axis = 1 : i64}
// CHECK: %[[DW:.*]] = mpt.matmul %[[DY]], %arg0 {transpose_lhs} {{.*}} -> tensor<4096x512xf32>
// CHECK: mpt.slice %[[DW]] {offsets = array<i64: 0, 0>, sizes = array<i64: 2048, 512>
// CHECK: mpt.slice %[[DW]] {offsets = array<i64: 2048, 0>, sizes = array<i64: 2048, 512>
// CHECK: mpt.matmul %[[DY]], %[[W]] : {{.*}} -> tensor<8192x512xbf16>
func.func @gate(%x: tensor<8192x512xbf16>, %w0: tensor<2048x512xf32>, %w1: tensor<2048x512xf32>,
                %d: tensor<8192x2048xbf16>) -> (tensor<8192x2048xbf16>, tensor<8192x512xbf16>, tensor<2048x512xf32>, tensor<2048x512xf32>) {
  %a = mpt.cast %w0 : (tensor<2048x512xf32>) -> tensor<2048x512xbf16>
  %b = mpt.cast %w1 : (tensor<2048x512xf32>) -> tensor<2048x512xbf16>
  %g = mpt.linear %x, %a {transpose_weight} : (tensor<8192x512xbf16>, tensor<2048x512xbf16>) -> tensor<8192x2048xbf16>
  %s = mpt.silu %g : (tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %u = mpt.linear %x, %b {transpose_weight} : (tensor<8192x512xbf16>, tensor<2048x512xbf16>) -> tensor<8192x2048xbf16>
  %y = mpt.mul %s, %u : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %du = mpt.mul %d, %s : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %ds = mpt.mul %d, %u : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %dg = mpt.silu_grad %ds, %g : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %xu = mpt.matmul %du, %b : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %xg = mpt.matmul %dg, %a : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %dx = mpt.add %xu, %xg : (tensor<8192x512xbf16>, tensor<8192x512xbf16>) -> tensor<8192x512xbf16>
  %wu = mpt.matmul %du, %x {transpose_lhs} : (tensor<8192x2048xbf16>, tensor<8192x512xbf16>) -> tensor<2048x512xf32>
  %wg = mpt.matmul %dg, %x {transpose_lhs} : (tensor<8192x2048xbf16>, tensor<8192x512xbf16>) -> tensor<2048x512xf32>
  return %y, %dx, %wg, %wu : tensor<8192x2048xbf16>, tensor<8192x512xbf16>, tensor<2048x512xf32>, tensor<2048x512xf32>
}

// The gradients of a residual stream are added in f32: so are they with the joined one.
// REMARK: mpt.cuda.joined-matmuls {{.*}}2 of 2048 + 2048 columns; saves
// CHECK-LABEL: func.func @stream
// CHECK: %[[DX:.*]] = mpt.matmul {{.*}} : (tensor<8192x4096xbf16>, tensor<4096x512xbf16>) -> tensor<8192x512xbf16>
// CHECK: %[[OTHERS:.*]] = mpt.add %arg4, %arg5 : (tensor<8192x512xf32>, tensor<8192x512xbf16>) -> tensor<8192x512xf32>
// CHECK: mpt.add %[[OTHERS]], %[[DX]] : (tensor<8192x512xf32>, tensor<8192x512xbf16>) -> tensor<8192x512xf32>
func.func @stream(%x: tensor<8192x512xbf16>, %w0: tensor<2048x512xf32>, %w1: tensor<2048x512xf32>, %d: tensor<8192x2048xbf16>, %d0: tensor<8192x512xf32>, %d1: tensor<8192x512xbf16>) -> (tensor<8192x2048xbf16>, tensor<8192x512xf32>, tensor<2048x512xf32>, tensor<2048x512xf32>) {
  %a = mpt.cast %w0 : (tensor<2048x512xf32>) -> tensor<2048x512xbf16>
  %b = mpt.cast %w1 : (tensor<2048x512xf32>) -> tensor<2048x512xbf16>
  %g = mpt.linear %x, %a {transpose_weight} : (tensor<8192x512xbf16>, tensor<2048x512xbf16>) -> tensor<8192x2048xbf16>
  %u = mpt.linear %x, %b {transpose_weight} : (tensor<8192x512xbf16>, tensor<2048x512xbf16>) -> tensor<8192x2048xbf16>
  %y = mpt.mul %g, %u : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %du = mpt.mul %d, %g : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %dg = mpt.mul %d, %u : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %xu = mpt.matmul %du, %b : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %xg = mpt.matmul %dg, %a : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %s0 = mpt.add %d0, %xu : (tensor<8192x512xf32>, tensor<8192x512xbf16>) -> tensor<8192x512xf32>
  %s1 = mpt.add %s0, %d1 : (tensor<8192x512xf32>, tensor<8192x512xbf16>) -> tensor<8192x512xf32>
  %s2 = mpt.add %s1, %xg : (tensor<8192x512xf32>, tensor<8192x512xbf16>) -> tensor<8192x512xf32>
  %wu = mpt.matmul %du, %x {transpose_lhs} : (tensor<8192x2048xbf16>, tensor<8192x512xbf16>) -> tensor<2048x512xf32>
  %wg = mpt.matmul %dg, %x {transpose_lhs} : (tensor<8192x2048xbf16>, tensor<8192x512xbf16>) -> tensor<2048x512xf32>
  return %y, %s2, %wg, %wu : tensor<8192x2048xbf16>, tensor<8192x512xf32>, tensor<2048x512xf32>, tensor<2048x512xf32>
}

// The last sum is rounded; those before it are in f32.
// REMARK: mpt.cuda.joined-matmuls {{.*}}2 of 2048 + 2048 columns; saves
// CHECK-LABEL: func.func @end_of_stream
// CHECK: %[[DX:.*]] = mpt.matmul {{.*}} : (tensor<8192x4096xbf16>, tensor<4096x512xbf16>) -> tensor<8192x512xbf16>
// CHECK: %[[OTHERS:.*]] = mpt.add %arg4, %arg5 : (tensor<8192x512xbf16>, tensor<8192x512xbf16>) -> tensor<8192x512xf32>
// CHECK: mpt.add %[[OTHERS]], %[[DX]] : (tensor<8192x512xf32>, tensor<8192x512xbf16>) -> tensor<8192x512xbf16>
func.func @end_of_stream(%x: tensor<8192x512xbf16>, %w0: tensor<2048x512xf32>, %w1: tensor<2048x512xf32>, %d: tensor<8192x2048xbf16>, %d0: tensor<8192x512xbf16>, %d1: tensor<8192x512xbf16>) -> (tensor<8192x2048xbf16>, tensor<8192x512xbf16>, tensor<2048x512xf32>, tensor<2048x512xf32>) {
  %a = mpt.cast %w0 : (tensor<2048x512xf32>) -> tensor<2048x512xbf16>
  %b = mpt.cast %w1 : (tensor<2048x512xf32>) -> tensor<2048x512xbf16>
  %g = mpt.linear %x, %a {transpose_weight} : (tensor<8192x512xbf16>, tensor<2048x512xbf16>) -> tensor<8192x2048xbf16>
  %u = mpt.linear %x, %b {transpose_weight} : (tensor<8192x512xbf16>, tensor<2048x512xbf16>) -> tensor<8192x2048xbf16>
  %y = mpt.mul %g, %u : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %du = mpt.mul %d, %g : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %dg = mpt.mul %d, %u : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %xu = mpt.matmul %du, %b : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %xg = mpt.matmul %dg, %a : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %s0 = mpt.add %d0, %xu : (tensor<8192x512xbf16>, tensor<8192x512xbf16>) -> tensor<8192x512xf32>
  %s1 = mpt.add %s0, %d1 : (tensor<8192x512xf32>, tensor<8192x512xbf16>) -> tensor<8192x512xf32>
  %s2 = mpt.add %s1, %xg : (tensor<8192x512xf32>, tensor<8192x512xbf16>) -> tensor<8192x512xbf16>
  %wu = mpt.matmul %du, %x {transpose_lhs} : (tensor<8192x2048xbf16>, tensor<8192x512xbf16>) -> tensor<2048x512xf32>
  %wg = mpt.matmul %dg, %x {transpose_lhs} : (tensor<8192x2048xbf16>, tensor<8192x512xbf16>) -> tensor<2048x512xf32>
  return %y, %s2, %wg, %wu : tensor<8192x2048xbf16>, tensor<8192x512xbf16>, tensor<2048x512xf32>, tensor<2048x512xf32>
}

// Nothing else is added: the joined matmul is not rounded.
// REMARK: mpt.cuda.joined-matmuls {{.*}}2 of 2048 + 2048 columns; saves
// CHECK-LABEL: func.func @start_of_stream
// CHECK: mpt.matmul {{.*}} : (tensor<8192x4096xbf16>, tensor<4096x512xbf16>) -> tensor<8192x512xf32>
// CHECK-NOT: mpt.add
// CHECK: return
func.func @start_of_stream(%x: tensor<8192x512xbf16>, %w0: tensor<2048x512xf32>, %w1: tensor<2048x512xf32>, %d: tensor<8192x2048xbf16>) -> (tensor<8192x2048xbf16>, tensor<8192x512xf32>, tensor<2048x512xf32>, tensor<2048x512xf32>) {
  %a = mpt.cast %w0 : (tensor<2048x512xf32>) -> tensor<2048x512xbf16>
  %b = mpt.cast %w1 : (tensor<2048x512xf32>) -> tensor<2048x512xbf16>
  %g = mpt.linear %x, %a {transpose_weight} : (tensor<8192x512xbf16>, tensor<2048x512xbf16>) -> tensor<8192x2048xbf16>
  %u = mpt.linear %x, %b {transpose_weight} : (tensor<8192x512xbf16>, tensor<2048x512xbf16>) -> tensor<8192x2048xbf16>
  %y = mpt.mul %g, %u : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %du = mpt.mul %d, %g : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %dg = mpt.mul %d, %u : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
  %xu = mpt.matmul %du, %b : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %xg = mpt.matmul %dg, %a : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %s0 = mpt.add %xu, %xg : (tensor<8192x512xbf16>, tensor<8192x512xbf16>) -> tensor<8192x512xf32>
  %wu = mpt.matmul %du, %x {transpose_lhs} : (tensor<8192x2048xbf16>, tensor<8192x512xbf16>) -> tensor<2048x512xf32>
  %wg = mpt.matmul %dg, %x {transpose_lhs} : (tensor<8192x2048xbf16>, tensor<8192x512xbf16>) -> tensor<2048x512xf32>
  return %y, %s0, %wg, %wu : tensor<8192x2048xbf16>, tensor<8192x512xf32>, tensor<2048x512xf32>, tensor<2048x512xf32>
}

// One weight twice.
// REMARK: mpt.cuda.separate-matmuls {{.*}}two of them have one weight
// CHECK-LABEL: func.func @tied
// CHECK-NOT: mpt.concat
func.func @tied(%x: tensor<8192x512xbf16>, %w: tensor<512x512xbf16>) -> (tensor<8192x512xbf16>, tensor<8192x512xbf16>) {
  %0 = mpt.linear %x, %w : (tensor<8192x512xbf16>, tensor<512x512xbf16>) -> tensor<8192x512xbf16>
  %1 = mpt.linear %x, %w : (tensor<8192x512xbf16>, tensor<512x512xbf16>) -> tensor<8192x512xbf16>
  return %0, %1 : tensor<8192x512xbf16>, tensor<8192x512xbf16>
}

// Without gradients, copies of the weights cost more than a launch.
// REMARK: mpt.cuda.separate-matmuls {{.*}}one matmul would save 4.0 us and cost
// CHECK-LABEL: func.func @inference
// CHECK-NOT: mpt.concat
func.func @inference(%x: tensor<64x4096xf32>, %a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>) -> (tensor<64x4096xf32>, tensor<64x4096xf32>) {
  %0 = mpt.linear %x, %a : (tensor<64x4096xf32>, tensor<4096x4096xf32>) -> tensor<64x4096xf32>
  %1 = mpt.linear %x, %b : (tensor<64x4096xf32>, tensor<4096x4096xf32>) -> tensor<64x4096xf32>
  return %0, %1 : tensor<64x4096xf32>, tensor<64x4096xf32>
}

// Adapters of low rank, other element types, an activation in the matmul, and what
// another matmul lies between.
// CHECK-LABEL: func.func @others
// CHECK-NOT: mpt.concat
func.func @others(%x: tensor<8192x512xbf16>, %a: tensor<512x16xbf16>, %b: tensor<512x16xbf16>,
                  %c: tensor<512x64xbf16>, %d: tensor<512x64xbf16>, %e: tensor<64x64xbf16>)
    -> (tensor<8192x16xbf16>, tensor<8192x16xbf16>, tensor<8192x64xbf16>, tensor<8192x64xf32>, tensor<8192x64xbf16>, tensor<8192x64xbf16>) {
  %0 = mpt.linear %x, %a : (tensor<8192x512xbf16>, tensor<512x16xbf16>) -> tensor<8192x16xbf16>
  %1 = mpt.linear %x, %b : (tensor<8192x512xbf16>, tensor<512x16xbf16>) -> tensor<8192x16xbf16>
  %2 = mpt.linear %x, %c : (tensor<8192x512xbf16>, tensor<512x64xbf16>) -> tensor<8192x64xbf16>
  %3 = mpt.linear %x, %d : (tensor<8192x512xbf16>, tensor<512x64xbf16>) -> tensor<8192x64xf32>
  %4 = mpt.linear %2, %e {epilogue = #mpt.epilogue<relu>} : (tensor<8192x64xbf16>, tensor<64x64xbf16>) -> tensor<8192x64xbf16>
  %5 = mpt.linear %x, %d : (tensor<8192x512xbf16>, tensor<512x64xbf16>) -> tensor<8192x64xbf16>
  return %0, %1, %2, %3, %4, %5 : tensor<8192x16xbf16>, tensor<8192x16xbf16>, tensor<8192x64xbf16>, tensor<8192x64xf32>, tensor<8192x64xbf16>, tensor<8192x64xbf16>
}

// Products of x and dy with other rows are not the gradients of the weights: dy is read by
// others, too.
// REMARK: mpt.cuda.separate-matmuls {{.*}}one matmul would save
// CHECK-LABEL: func.func @regrouped
// CHECK-NOT: mpt.concat
// CHECK: mpt.matmul {{.*}} {transpose_lhs} {{.*}} -> tensor<256x256xf32>
// CHECK-NOT: mpt.concat
// CHECK: mpt.matmul {{.*}} {transpose_lhs} {{.*}} -> tensor<256x256xf32>
// CHECK-NOT: mpt.concat
func.func @regrouped(%x: tensor<65536x512xbf16>, %w0: tensor<512x512xf32>, %w1: tensor<512x512xf32>, %c0: tensor<65536x512xbf16>, %c1: tensor<65536x512xbf16>) -> (tensor<65536x512xbf16>, tensor<256x256xf32>, tensor<256x256xf32>) {
  %v0 = mpt.cast %w0 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %y0 = mpt.matmul %x, %v0 : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %v1 = mpt.cast %w1 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %y1 = mpt.matmul %x, %v1 : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %xr = mpt.reshape %x : (tensor<65536x512xbf16>) -> tensor<131072x256xbf16>
  %d0 = mpt.mul %y0, %c0 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %g0 = mpt.matmul %d0, %v0 {transpose_rhs} : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %dr0 = mpt.reshape %d0 : (tensor<65536x512xbf16>) -> tensor<131072x256xbf16>
  %h0 = mpt.matmul %xr, %dr0 {transpose_lhs} : (tensor<131072x256xbf16>, tensor<131072x256xbf16>) -> tensor<256x256xf32>
  %d1 = mpt.mul %y1, %c1 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %g1 = mpt.matmul %d1, %v1 {transpose_rhs} : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %dr1 = mpt.reshape %d1 : (tensor<65536x512xbf16>) -> tensor<131072x256xbf16>
  %h1 = mpt.matmul %xr, %dr1 {transpose_lhs} : (tensor<131072x256xbf16>, tensor<131072x256xbf16>) -> tensor<256x256xf32>
  %s = mpt.add %g0, %g1 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  return %s, %h0, %h1 : tensor<65536x512xbf16>, tensor<256x256xf32>, tensor<256x256xf32>
}

// Gradients that are there before x: joined after the matmuls.
// CHECK-LABEL: func.func @early
// CHECK: %[[X:.*]] = mpt.tanh %arg0
// CHECK: %[[W:.*]] = mpt.concat {{.*}} -> tensor<512x1024xbf16>
// CHECK: mpt.matmul %[[X]], %[[W]] : {{.*}} -> tensor<65536x1024xbf16>
// CHECK: %[[DY:.*]] = mpt.concat {{.*}} -> tensor<65536x1024xbf16>
// CHECK: mpt.matmul %[[X]], %[[DY]] {transpose_lhs} {{.*}} -> tensor<512x1024xf32>
// CHECK: mpt.matmul %[[DY]], %[[W]] {transpose_rhs}
// CHECK-NOT: mpt.matmul
func.func @early(%x0: tensor<65536x512xbf16>, %w0: tensor<512x512xf32>, %w1: tensor<512x512xf32>, %c0: tensor<65536x512xbf16>, %c1: tensor<65536x512xbf16>) -> (tensor<65536x512xbf16>, tensor<65536x512xbf16>, tensor<65536x512xbf16>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %d0 = mpt.mul %c0, %c0 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %d1 = mpt.mul %c1, %c1 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %x = mpt.tanh %x0 : (tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %v0 = mpt.cast %w0 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %v1 = mpt.cast %w1 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %y0 = mpt.matmul %x, %v0 : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %y1 = mpt.matmul %x, %v1 : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %t0 = mpt.tanh %y0 : (tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %g0 = mpt.matmul %d0, %v0 {transpose_rhs} : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %h0 = mpt.matmul %x, %d0 {transpose_lhs} : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<512x512xf32>
  %t1 = mpt.tanh %y1 : (tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %g1 = mpt.matmul %d1, %v1 {transpose_rhs} : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %h1 = mpt.matmul %x, %d1 {transpose_lhs} : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<512x512xf32>
  %s = mpt.add %g0, %g1 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  return %s, %t0, %t1, %h0, %h1 : tensor<65536x512xbf16>, tensor<65536x512xbf16>, tensor<65536x512xbf16>, tensor<512x512xf32>, tensor<512x512xf32>
}

// Two groups, one's gradients between those of the other.
// CHECK-LABEL: func.func @branches
// CHECK: mpt.matmul %arg0, {{.*}} -> tensor<65536x1024xbf16>
// CHECK: mpt.matmul %arg1, {{.*}} -> tensor<65536x1024xbf16>
// CHECK-COUNT-2: mpt.matmul {{.*}} {transpose_lhs} {{.*}} -> tensor<512x1024xf32>
// CHECK-COUNT-2: mpt.matmul {{.*}} {transpose_rhs} {{.*}} -> tensor<65536x512xbf16>
// CHECK-NOT: mpt.matmul
func.func @branches(%xa: tensor<65536x512xbf16>, %xb: tensor<65536x512xbf16>, %wa0: tensor<512x512xf32>, %wa1: tensor<512x512xf32>, %wb0: tensor<512x512xf32>, %wb1: tensor<512x512xf32>, %c0: tensor<65536x512xbf16>, %c1: tensor<65536x512xbf16>) -> (tensor<65536x512xbf16>, tensor<65536x512xbf16>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %va0 = mpt.cast %wa0 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %va1 = mpt.cast %wa1 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %vb0 = mpt.cast %wb0 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %vb1 = mpt.cast %wb1 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  %ya0 = mpt.matmul %xa, %va0 : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %ya1 = mpt.matmul %xa, %va1 : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %yb0 = mpt.matmul %xb, %vb0 : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %yb1 = mpt.matmul %xb, %vb1 : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %da0 = mpt.mul %ya0, %c0 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %ha0 = mpt.matmul %xa, %da0 {transpose_lhs} : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<512x512xf32>
  %db0 = mpt.mul %yb0, %c0 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %db1 = mpt.mul %yb1, %c1 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %ua0 = mpt.sub %wa0, %ha0 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %hb0 = mpt.matmul %xb, %db0 {transpose_lhs} : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<512x512xf32>
  %hb1 = mpt.matmul %xb, %db1 {transpose_lhs} : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<512x512xf32>
  %ub0 = mpt.sub %wb0, %hb0 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %ub1 = mpt.sub %wb1, %hb1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %da1 = mpt.mul %ya1, %c1 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %ha1 = mpt.matmul %xa, %da1 {transpose_lhs} : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<512x512xf32>
  %ua1 = mpt.sub %wa1, %ha1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %ga0 = mpt.matmul %da0, %va0 {transpose_rhs} : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %ga1 = mpt.matmul %da1, %va1 {transpose_rhs} : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %sa = mpt.add %ga0, %ga1 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %gb0 = mpt.matmul %db0, %vb0 {transpose_rhs} : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %gb1 = mpt.matmul %db1, %vb1 {transpose_rhs} : (tensor<65536x512xbf16>, tensor<512x512xbf16>) -> tensor<65536x512xbf16>
  %sb = mpt.add %gb0, %gb1 : (tensor<65536x512xbf16>, tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  return %sa, %sb, %ua0, %ua1, %ub0, %ub1 : tensor<65536x512xbf16>, tensor<65536x512xbf16>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}

// The weights of one group are made by another.
// CHECK-LABEL: func.func @chained
// CHECK: %[[Y:.*]] = mpt.matmul %arg0, {{.*}} -> tensor<64x128xbf16>
// CHECK: mpt.matmul %arg3, {{.*}} -> tensor<262144x128xbf16>
// CHECK-COUNT-2: mpt.matmul {{.*}} {transpose_rhs}
// CHECK-NOT: mpt.matmul
func.func @chained(%x: tensor<64x512xbf16>, %w0: tensor<512x64xf32>, %w1: tensor<512x64xf32>, %u: tensor<262144x64xbf16>, %c0: tensor<262144x64xbf16>, %c1: tensor<262144x64xbf16>, %e0: tensor<64x64xbf16>, %e1: tensor<64x64xbf16>) -> (tensor<262144x64xbf16>, tensor<64x512xbf16>) {
  %v0 = mpt.cast %w0 : (tensor<512x64xf32>) -> tensor<512x64xbf16>
  %v1 = mpt.cast %w1 : (tensor<512x64xf32>) -> tensor<512x64xbf16>
  %y0 = mpt.matmul %x, %v0 : (tensor<64x512xbf16>, tensor<512x64xbf16>) -> tensor<64x64xbf16>
  %y1 = mpt.matmul %x, %v1 : (tensor<64x512xbf16>, tensor<512x64xbf16>) -> tensor<64x64xbf16>
  %z0 = mpt.matmul %u, %y0 : (tensor<262144x64xbf16>, tensor<64x64xbf16>) -> tensor<262144x64xbf16>
  %z1 = mpt.matmul %u, %y1 : (tensor<262144x64xbf16>, tensor<64x64xbf16>) -> tensor<262144x64xbf16>
  %d0 = mpt.mul %z0, %c0 : (tensor<262144x64xbf16>, tensor<262144x64xbf16>) -> tensor<262144x64xbf16>
  %d1 = mpt.mul %z1, %c1 : (tensor<262144x64xbf16>, tensor<262144x64xbf16>) -> tensor<262144x64xbf16>
  %g0 = mpt.matmul %d0, %y0 {transpose_rhs} : (tensor<262144x64xbf16>, tensor<64x64xbf16>) -> tensor<262144x64xbf16>
  %g1 = mpt.matmul %d1, %y1 {transpose_rhs} : (tensor<262144x64xbf16>, tensor<64x64xbf16>) -> tensor<262144x64xbf16>
  %s = mpt.add %g0, %g1 : (tensor<262144x64xbf16>, tensor<262144x64xbf16>) -> tensor<262144x64xbf16>
  %f0 = mpt.mul %y0, %e0 : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %f1 = mpt.mul %y1, %e1 : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %k0 = mpt.matmul %f0, %v0 {transpose_rhs} : (tensor<64x64xbf16>, tensor<512x64xbf16>) -> tensor<64x512xbf16>
  %k1 = mpt.matmul %f1, %v1 {transpose_rhs} : (tensor<64x64xbf16>, tensor<512x64xbf16>) -> tensor<64x512xbf16>
  %t = mpt.add %k0, %k1 : (tensor<64x512xbf16>, tensor<64x512xbf16>) -> tensor<64x512xbf16>
  return %s, %t : tensor<262144x64xbf16>, tensor<64x512xbf16>
}

// What is made of the first gradient is needed for the second.
// REMARK: mpt.cuda.separate-matmuls {{.*}}a gradient is read before all are known
// CHECK-LABEL: func.func @dependent
// CHECK-NOT: mpt.concat
func.func @dependent(%x: tensor<128x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %c: tensor<128x64xbf16>) -> (tensor<128x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %y0 = mpt.matmul %x, %w0 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %y1 = mpt.matmul %x, %w1 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %d0 = mpt.mul %y0, %c : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %h0 = mpt.matmul %x, %d0 {transpose_lhs} : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
  %n = mpt.reduce %h0 {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<64x64xf32>) -> tensor<f32>
  %m = mpt.cast %n : (tensor<f32>) -> tensor<bf16>
  %d1 = mpt.mul %y1, %m : (tensor<128x64xbf16>, tensor<bf16>) -> tensor<128x64xbf16>
  %h1 = mpt.matmul %x, %d1 {transpose_lhs} : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
  %g0 = mpt.matmul %d0, %w0 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %g1 = mpt.matmul %d1, %w1 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %s = mpt.add %g0, %g1 : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  return %s, %h0, %h1 : tensor<128x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32>
}

// One gradient is computed twice.
// REMARK: mpt.cuda.separate-matmuls {{.*}}a weight has two gradients
// CHECK-LABEL: func.func @twice
// CHECK-NOT: mpt.concat
func.func @twice(%x: tensor<128x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %c: tensor<128x64xbf16>) -> (tensor<128x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %y0 = mpt.matmul %x, %w0 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %y1 = mpt.matmul %x, %w1 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %d0 = mpt.mul %y0, %c : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %d1 = mpt.mul %y1, %c : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %h0 = mpt.matmul %x, %d0 {transpose_lhs} : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
  %h1 = mpt.matmul %x, %d1 {transpose_lhs} : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
  %h2 = mpt.matmul %x, %d1 {transpose_lhs} : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
  %g0 = mpt.matmul %d0, %w0 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %g1 = mpt.matmul %d1, %w1 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %s = mpt.add %g0, %g1 : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  return %s, %h0, %h1, %h2 : tensor<128x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// One weight is frozen.
// REMARK: mpt.cuda.separate-matmuls {{.*}}only some of their weights are trained
// CHECK-LABEL: func.func @frozen
// CHECK-NOT: mpt.concat
func.func @frozen(%x: tensor<128x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %c: tensor<128x64xbf16>) -> (tensor<128x64xbf16>, tensor<64x64xf32>) {
  %y0 = mpt.matmul %x, %w0 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %y1 = mpt.matmul %x, %w1 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %d0 = mpt.mul %y0, %c : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %d1 = mpt.mul %y1, %c : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %h0 = mpt.matmul %x, %d0 {transpose_lhs} : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
  %g0 = mpt.matmul %d0, %w0 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %g1 = mpt.matmul %d1, %w1 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %s = mpt.add %g0, %g1 : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  return %s, %h0 : tensor<128x64xbf16>, tensor<64x64xf32>
}

// What both add to.
// REMARK: mpt.cuda.separate-matmuls {{.*}}two of them have one gradient
// CHECK-LABEL: func.func @summed
// CHECK-NOT: mpt.concat
func.func @summed(%x: tensor<128x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %c: tensor<128x64xbf16>) -> (tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<64x64xf32>) {
  %y0 = mpt.matmul %x, %w0 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %y1 = mpt.matmul %x, %w1 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %h0 = mpt.matmul %x, %c {transpose_lhs} : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
  %g0 = mpt.matmul %c, %w0 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %g1 = mpt.matmul %c, %w1 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %s = mpt.add %g0, %g1 : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  return %y0, %y1, %s, %h0 : tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<64x64xf32>
}

// Gradients, and their sum, that are there before the matmuls.
// REMARK: mpt.cuda.separate-matmuls {{.*}}the gradient of their input is computed before them
// CHECK-LABEL: func.func @before
// CHECK-NOT: mpt.concat
func.func @before(%w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %c: tensor<128x64xbf16>) -> (tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<128x64xbf16>) {
  %d0 = mpt.tanh %c : (tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %d1 = mpt.neg %c : (tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %g0 = mpt.matmul %d0, %w0 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %g1 = mpt.matmul %d1, %w1 {transpose_rhs} : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %s = mpt.add %g0, %g1 : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %x = mpt.tanh %s : (tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %y0 = mpt.matmul %x, %w0 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  %y1 = mpt.matmul %x, %w1 : (tensor<128x64xbf16>, tensor<64x64xbf16>) -> tensor<128x64xbf16>
  return %y0, %y1, %s : tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<128x64xbf16>
}

// The second weight is made of what the first matmul gives.
// REMARK: mpt.cuda.separate-matmuls {{.*}}a weight is computed after the first of them
// CHECK-LABEL: func.func @late
// CHECK-NOT: mpt.concat
func.func @late(%x: tensor<65536x64xbf16>, %w0: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %c: tensor<65536x64xbf16>) -> (tensor<65536x64xbf16>) {
  %y0 = mpt.matmul %x, %w0 : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
  %r = mpt.reduce %y0 {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<65536x64xbf16>) -> tensor<64xbf16>
  %w1 = mpt.mul %w, %r : (tensor<64x64xbf16>, tensor<64xbf16>) -> tensor<64x64xbf16>
  %y1 = mpt.matmul %x, %w1 : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
  %d0 = mpt.mul %y0, %c : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
  %d1 = mpt.mul %y1, %c : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
  %g0 = mpt.matmul %d0, %w0 {transpose_rhs} : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
  %g1 = mpt.matmul %d1, %w1 {transpose_rhs} : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
  %s = mpt.add %g0, %g1 : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
  return %s : tensor<65536x64xbf16>
}
