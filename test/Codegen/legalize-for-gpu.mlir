// Attention that device functions do is marked and stays one op, down to the program; the
// rest is decomposed.
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 | FileCheck %s
// RUN: mpt-opt %s --mpt-legalize-for-gpu="chip=sm_90 fused-attention=false" | FileCheck %s --check-prefix=NONE
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 --mpt-decompose | FileCheck %s --check-prefix=STAYS
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_90' function=f16" | FileCheck %s --check-prefix=PROGRAM
// What is not marked has to be decomposed.
// RUN: not mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 --mpt-assign-buffers=function=f32 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: 'mpt.attention' is not decomposed; run --mpt-decompose before planning
// NONE-NOT: fused

// CHECK-LABEL: func.func @f16(
// CHECK: mpt.attention %{{.*}} {causal, fused} :
// STAYS-LABEL: func.func @f16(
// STAYS: mpt.attention
// PROGRAM: mpt_program.program @f16 attributes {{.*}}target = #mpt.target<cuda, [sm_90]>
// PROGRAM: mpt_program.attention ins({{.*}}) outs({{.*}}) {causal, scale = 0.17677669529663687 : f64}
func.func @f16(%q: tensor<1x2x16x32xf16> {mpt.name = "q", mpt.role = "input"}) -> (tensor<1x2x16x32xf16> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q {causal} : (tensor<1x2x16x32xf16>, tensor<1x2x16x32xf16>, tensor<1x2x16x32xf16>) -> (tensor<1x2x16x32xf16>, tensor<1x2x16xf32>)
  return %y : tensor<1x2x16x32xf16>
}

// CHECK-LABEL: func.func @f32(
// CHECK: mpt.attention %{{.*}} {causal} :
// STAYS-LABEL: func.func @f32(
// STAYS-NOT: mpt.attention
func.func @f32(%q: tensor<1x2x16x32xf32> {mpt.name = "q", mpt.role = "input"}) -> (tensor<1x2x16x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q {causal} : (tensor<1x2x16x32xf32>, tensor<1x2x16x32xf32>, tensor<1x2x16x32xf32>) -> (tensor<1x2x16x32xf32>, tensor<1x2x16xf32>)
  return %y : tensor<1x2x16x32xf32>
}

// The matmuls of a scan are those of its iterations.
// CHECK-LABEL: func.func @scan(
// CHECK-NOT: mpt.scan
// CHECK-COUNT-3: mpt.matmul
// CHECK-NOT: mpt.matmul
func.func @scan(%c: tensor<16x16xf16> {mpt.name = "c", mpt.role = "input"}, %w: tensor<16x16xf16> {mpt.name = "w", mpt.role = "input"}) -> (tensor<16x16xf16> {mpt.name = "y"}) {
  %y = mpt.scan 3 carry(%c : tensor<16x16xf16>) {
  ^bb0(%h: tensor<16x16xf16>):
    %n = mpt.matmul %h, %w : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
    mpt.yield %n : tensor<16x16xf16>
  } : tensor<16x16xf16>
  return %y : tensor<16x16xf16>
}

// Device code reads filters as [KH, KW, C / groups, O] alone.
// CHECK-LABEL: func.func @filters(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x8x8x4xf32> {{.*}}, %[[F:[^:]*]]: tensor<16x2x3x5xf32>
// CHECK: %[[T:.*]] = mpt.transpose %[[F]] {permutation = array<i64: 2, 3, 1, 0>} : (tensor<16x2x3x5xf32>) -> tensor<3x5x2x16xf32>
// CHECK: %[[Y:.*]] = mpt.conv2d %[[X]], %[[T]] {groups = 2 : i64} :
// CHECK: %[[T2:.*]] = mpt.transpose %[[F]] {permutation = array<i64: 2, 3, 1, 0>}
// CHECK: %[[DX:.*]] = mpt.conv2d_input_grad %[[Y]], %[[T2]] {groups = 2 : i64} :
// CHECK: %[[DF:.*]] = mpt.conv2d_filter_grad %[[X]], %[[Y]] {groups = 2 : i64} : {{.*}} -> tensor<3x5x2x16xf32>
// CHECK: %[[DT:.*]] = mpt.transpose %[[DF]] {permutation = array<i64: 3, 2, 0, 1>} : {{.*}} -> tensor<16x2x3x5xf32>
// CHECK: return %[[DX]], %[[DT]]
func.func @filters(%x: tensor<2x8x8x4xf32> {mpt.name = "x", mpt.role = "input"}, %f: tensor<16x2x3x5xf32> {mpt.name = "f", mpt.role = "input"})
    -> (tensor<2x8x8x4xf32> {mpt.name = "dx"}, tensor<16x2x3x5xf32> {mpt.name = "df"}) {
  %y = mpt.conv2d %x, %f {groups = 2 : i64, oihw} : (tensor<2x8x8x4xf32>, tensor<16x2x3x5xf32>) -> tensor<2x6x4x16xf32>
  %dx = mpt.conv2d_input_grad %y, %f {groups = 2 : i64, oihw} : (tensor<2x6x4x16xf32>, tensor<16x2x3x5xf32>) -> tensor<2x8x8x4xf32>
  %df = mpt.conv2d_filter_grad %x, %y {groups = 2 : i64, oihw} : (tensor<2x8x8x4xf32>, tensor<2x6x4x16xf32>) -> tensor<16x2x3x5xf32>
  return %dx, %df : tensor<2x8x8x4xf32>, tensor<16x2x3x5xf32>
}

// These are as device code reads them.
// CHECK-LABEL: func.func @plain_filters(
// CHECK-NOT: mpt.transpose
// CHECK: return
func.func @plain_filters(%x: tensor<2x8x8x4xf32> {mpt.name = "x", mpt.role = "input"}, %f: tensor<3x5x4x16xf32> {mpt.name = "f", mpt.role = "input"})
    -> (tensor<2x8x8x4xf32> {mpt.name = "dx"}, tensor<3x5x4x16xf32> {mpt.name = "df"}) {
  %y = mpt.conv2d %x, %f : (tensor<2x8x8x4xf32>, tensor<3x5x4x16xf32>) -> tensor<2x6x4x16xf32>
  %dx = mpt.conv2d_input_grad %y, %f : (tensor<2x6x4x16xf32>, tensor<3x5x4x16xf32>) -> tensor<2x8x8x4xf32>
  %df = mpt.conv2d_filter_grad %x, %y : (tensor<2x8x8x4xf32>, tensor<2x6x4x16xf32>) -> tensor<3x5x4x16xf32>
  return %dx, %df : tensor<2x8x8x4xf32>, tensor<3x5x4x16xf32>
}

// Low rows of batch norm are read once, beside a mean of 64 of them.
// CHECK-LABEL: func.func @batch_norm(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x41x37x24xbf16>
// CHECK-DAG: %[[ROWS:.*]] = mpt.reshape %[[X]] : (tensor<4x41x37x24xbf16>) -> tensor<6068x24xbf16>
// CHECK-DAG: %[[SAMPLE:.*]] = mpt.slice %[[ROWS]] {offsets = array<i64: 0, 0>, sizes = array<i64: 64, 24>, strides = array<i64: 93, 1>}
// CHECK: %[[NEAR:.*]] = mpt.reduce {{.*}} kind = #mpt.reduce_kind<mean>{{.*}} : (tensor<64x24x{{b?f[0-9]+}}>) -> tensor<24xf32>
// CHECK: %[[D:.*]] = mpt.sub %[[ROWS]], %[[NEAR]]
// CHECK: %[[SHIFT:.*]] = mpt.reduce %[[D]] {{.*}}mean
// CHECK: %[[DD:.*]] = mpt.mul %[[D]], %[[D]]
// CHECK: %[[SQUARE:.*]] = mpt.reduce %[[DD]] {{.*}}mean
// CHECK: %[[OFF:.*]] = mpt.mul %[[SHIFT]], %[[SHIFT]]
// CHECK: %[[VAR:.*]] = mpt.sub %[[SQUARE]], %[[OFF]]
// CHECK: mpt.maximum %[[VAR]],
// CHECK: %[[MEAN:.*]] = mpt.add %[[NEAR]], %[[SHIFT]]
// CHECK: mpt.sub %[[X]], %[[MEAN]]
func.func @batch_norm(%x: tensor<4x41x37x24xbf16> {mpt.name = "x", mpt.role = "input"}, %c: tensor<24xf32> {mpt.name = "c", mpt.role = "input"})
    -> (tensor<4x41x37x24xbf16> {mpt.name = "y"}, tensor<24xf32> {mpt.name = "mean"}, tensor<24xf32> {mpt.name = "var"}) {
  %y, %new_mean, %new_var, %mean, %rstd = mpt.batch_norm %x, %c, %c, %c, %c {eps = 1.0e-05 : f64, momentum = 0.1 : f64}
      : (tensor<4x41x37x24xbf16>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>) -> (tensor<4x41x37x24xbf16>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>)
  return %y, %mean, %new_var : tensor<4x41x37x24xbf16>, tensor<24xf32>, tensor<24xf32>
}

// f32 rows, and few ones, are not.
// CHECK-LABEL: func.func @other_batch_norms(
// CHECK-NOT: mpt.slice
// CHECK-COUNT-2: mpt.batch_norm
func.func @other_batch_norms(%x: tensor<6068x24xf32> {mpt.name = "x", mpt.role = "input"}, %z: tensor<4095x24xf16> {mpt.name = "z", mpt.role = "input"}, %c: tensor<24xf32> {mpt.name = "c", mpt.role = "input"})
    -> (tensor<6068x24xf32> {mpt.name = "y"}, tensor<4095x24xf16> {mpt.name = "w"}) {
  %y:5 = mpt.batch_norm %x, %c, %c, %c, %c {eps = 1.0e-05 : f64, momentum = 0.1 : f64}
      : (tensor<6068x24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>) -> (tensor<6068x24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>)
  %w:5 = mpt.batch_norm %z, %c, %c, %c, %c {eps = 1.0e-05 : f64, momentum = 0.1 : f64}
      : (tensor<4095x24xf16>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>) -> (tensor<4095x24xf16>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>)
  return %y#0, %w#0 : tensor<6068x24xf32>, tensor<4095x24xf16>
}
