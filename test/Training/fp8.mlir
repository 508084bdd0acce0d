// Matmuls of 8-bit floats: one scale a tensor, state where it is delayed.
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-fp8="history=4 margin=1" --mpt-loss-scale --mpt-validate-loss-scale | FileCheck %s
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-fp8="recipe=current format=e4m3" | FileCheck %s --check-prefix=CURRENT
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-fp8="recipe=current fast-accumulation=forward" --remarks-filter="mpt\.fp8" -o %t.forward 2>&1 | FileCheck %s --check-prefix=FORWARD-REMARK
// RUN: FileCheck %s --check-prefix=FORWARD < %t.forward
// RUN: mpt-opt %t.forward --mpt-fuse-epilogues | FileCheck %s --check-prefix=FORWARD
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-fp8="recipe=current format=e4m3 fast-accumulation=forward" | FileCheck %s --check-prefix=FORWARD
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-fp8="fast-accumulation=all" | FileCheck %s --check-prefix=ALL
// RUN: mpt-opt %s --mpt-fp8="function=attention" --remarks-filter="mpt\.fp8" 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: mpt-opt %s --mpt-fp8="function=loss keep=mpt.linear" -o %t.kept
// RUN: mpt-opt %s | diff %t.kept -

// The state: three tensors (x, w, the gradient), one row of history each.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<32x16xf32> {mpt.name = "x"
// CHECK-SAME: %[[HISTORY:[a-z0-9]+]]: tensor<3x4xf32> {mpt.init = {kind = "zeros"}, mpt.name = "fp8.amax_history", mpt.role = "running_stat"}
// CHECK-SAME: %[[SCALES:[a-z0-9]+]]: tensor<3xf32> {mpt.init = {kind = "constant", value = 1.000000e+00 : f64}, mpt.name = "fp8.scale", mpt.role = "running_stat"}
// CHECK-SAME: tensor<3x4xf32> {mpt.name = "fp8.amax_history{{[^"]*}}", mpt.updates = "fp8.amax_history"}
// CHECK-SAME: tensor<3xf32> {mpt.name = "fp8.scale{{[^"]*}}", mpt.updates = "fp8.scale"}
// Forward: both operands f8E4M3FN, the bias behind the scale.
// CHECK-DAG: mpt.cast {{.*}} : (tensor<32x16xf32>) -> tensor<32x16xf8E4M3FN>
// CHECK-DAG: mpt.cast {{.*}} : (tensor<16x16xf32>) -> tensor<16x16xf8E4M3FN>
// CHECK-DAG: mpt.linear %{{.+}}, %{{.+}} : (tensor<32x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<32x16xf32>
// Backward: the gradient is f8E5M2, the input the one that the forward pass read.
// CHECK: mpt.matmul {{.*}}transpose_lhs} : (tensor<32x16xf8E4M3FN>, tensor<32x16xf8E5M2>) -> tensor<16x16xf32>
// A step that is skipped keeps the state.
// CHECK-DAG: mpt.select_state {{.*}} : {{.*}}tensor<3x4xf32>
// CHECK-DAG: mpt.select_state {{.*}} : {{.*}}tensor<3xf32>

// CURRENT-LABEL: func.func @loss
// CURRENT-NOT: fp8.
// CURRENT-NOT: f8E5M2
// CURRENT: mpt.matmul {{.*}} : (tensor<32x16xf8E4M3FN>, tensor<32x16xf8E4M3FN>) -> tensor<16x16xf32>

// FORWARD-REMARK-DAG: remark: [Passed] mpt.fp8.product{{.*}}f8E4M3FN by f8E4M3FN, with fast accumulation
// FORWARD-REMARK-DAG: remark: [Passed] mpt.fp8.product{{.*}}f8E4M3FN by f8E5M2"
// FORWARD: mpt.linear {{.*}}fast_accumulation
// FORWARD: mpt.matmul {{.*}} {transpose_lhs} : (tensor<32x16xf8E4M3FN>
// ALL: mpt.linear {{.*}}fast_accumulation
// ALL: mpt.matmul {{.*}} {fast_accumulation, transpose_lhs} : (tensor<32x16xf8E4M3FN>

// KEPT-DAG: remark: [Missed] mpt.fp8.kept{{.*}}both operands are batches, as inside attention
// KEPT-DAG: remark: [Missed] mpt.fp8.kept{{.*}}the sizes of tensor<2x5x16xf32> are not multiples of 16
// KEPT-DAG: remark: [Passed] mpt.fp8.product{{.*}}f8E4M3FN by f8E4M3FN

func.func @loss(
    %w: tensor<16x16xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %b: tensor<16xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<32x16xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<32x16xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %p = mpt.linear %x, %w, %b : (tensor<32x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<32x16xf32>
  %loss = mpt.mse_loss %p, %y : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

func.func @attention(%q: tensor<2x16x16xf32>, %k: tensor<2x16x16xf32>, %odd: tensor<2x5x16xf32>, %w: tensor<16x16xbf16>, %b: tensor<2x16x16xbf16>)
    -> (tensor<2x16x16xf32>, tensor<2x5x16xf32>, tensor<2x16x16xbf16>) {
  %0 = mpt.matmul %q, %k {transpose_rhs} : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %1 = mpt.cast %w : (tensor<16x16xbf16>) -> tensor<16x16xf32>
  %2 = mpt.matmul %odd, %1 : (tensor<2x5x16xf32>, tensor<16x16xf32>) -> tensor<2x5x16xf32>
  %3 = mpt.linear %b, %w : (tensor<2x16x16xbf16>, tensor<16x16xbf16>) -> tensor<2x16x16xbf16>
  return %0, %2, %3 : tensor<2x16x16xf32>, tensor<2x5x16xf32>, tensor<2x16x16xbf16>
}
