// Who reads the master of a parameter that a function updates: the function's ops, and state that
// begins the next step as the parameter is now. The model's forward and backward pass read what is
// stored.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step=optimizer=@update -o %t.mlir
// RUN: mpt-opt %t.mlir --mpt-master-weights | FileCheck %s --check-prefix=F32
// RUN: mpt-opt %t.mlir --mpt-master-weights=kind=bf16-kahan | FileCheck %s --check-prefix=KAHAN
// RUN: mpt-opt %t.mlir --mpt-loss-scale --mpt-master-weights=kind=bf16-kahan | FileCheck %s --check-prefix=SCALED
// RUN: mpt-opt %t.mlir --mpt-master-weights=kind=bf16-stochastic-rounding | FileCheck %s --check-prefix=SR

// F32-DAG:  %[[W:.*]] = mpt.cast %arg0 {autocast} : (tensor<3x3xf32>) -> tensor<3x3xbf16>
// F32:      mpt.linear %{{.*}}, %[[W]]
// F32:      mpt.matmul %{{.*}}, %[[W]] {transpose_rhs}
// F32:      mpt.sub %arg0, %{{.*}} {mpt.optimizer

// KAHAN-DAG: %[[W:.*]] = mpt.add_compensation %arg0, %{{.*}} : (tensor<3x3xbf16>
// KAHAN-DAG: %[[V:.*]] = mpt.add_compensation %arg1, %{{.*}} : (tensor<3xbf16>
// KAHAN-DAG: %[[K:.*]] = mpt.add_compensation %arg2, %{{.*}} : (tensor<3xbf16>
// What the function does not change is kept whole.
// KAHAN-DAG: mpt.rounding_error %[[K]]
// KAHAN-DAG: %[[VREAD:.*]] = mpt.cast %arg1 {autocast} : (tensor<3xbf16>) -> tensor<3xf32>
// KAHAN:     mpt.linear %{{.*}}, %arg0, %[[VREAD]]
// KAHAN:     mpt.matmul %{{.*}}, %arg0 {transpose_rhs}
// KAHAN-DAG: mpt.sub %[[W]], %{{.*}} {mpt.optimizer
// KAHAN-DAG: mpt.sub %[[V]], %{{.*}} {mpt.optimizer
// Old values are masters.
// KAHAN:     return %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %[[V]], %[[W]],

// SCALED-DAG: %[[V:.*]] = mpt.add_compensation %arg1, %{{.*}} : (tensor<3xbf16>
// SCALED:     mpt.select_state %{{.*}}, %[[V]], %{{.*}} : (tensor<i1>, tensor<3xf32>, tensor<3xf32>)

// SR: %[[V:.*]] = mpt.cast %arg1 : (tensor<3xbf16>) -> tensor<3xf32>
// SR: mpt.sub %[[V]], %{{.*}} {mpt.optimizer

func.func @loss(%w: tensor<3x3xbf16> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<3xf32> {mpt.name = "v", mpt.role = "parameter"},
                %k: tensor<3xf32> {mpt.name = "k", mpt.role = "parameter"},
                %x: tensor<8x3xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.mul %x, %k : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %y = mpt.linear %h, %w, %v : (tensor<8x3xf32>, tensor<3x3xbf16>, tensor<3xf32>) -> tensor<8x3xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @update(
    %w: tensor<3x3xf32> {mpt.name = "w", mpt.role = "parameter"},
    %gw: tensor<3x3xf32> {mpt.name = "grad.w", mpt.role = "input"},
    %v: tensor<3xf32> {mpt.name = "v", mpt.role = "parameter"},
    %gv: tensor<3xf32> {mpt.name = "grad.v", mpt.role = "input"},
    %k: tensor<3xf32> {mpt.name = "k", mpt.role = "parameter"},
    %vold: tensor<3xf32> {mpt.name = "v.old", mpt.role = "optimizer_state"},
    %wold: tensor<3x3xf32> {mpt.name = "w.old", mpt.role = "optimizer_state"},
    %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"})
    -> (tensor<3x3xf32> {mpt.updates = "w"}, tensor<3xf32> {mpt.updates = "v"}, tensor<3xf32> {mpt.updates = "k"},
        tensor<3xf32> {mpt.updates = "v.old"}, tensor<3x3xf32> {mpt.updates = "w.old"}) {
  %dw = mpt.mul %gw, %lr : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %w1 = mpt.sub %w, %dw : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %dv = mpt.mul %gv, %lr : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %v1 = mpt.sub %v, %dv : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %w1, %v1, %k, %v, %w : tensor<3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x3xf32>
}
