// RUN: split-file %s %t
// RUN: mpt-opt %t/model.mlir --mpt-cast-parameters | FileCheck %s --check-prefix=KEEP
// RUN: mpt-opt %t/model.mlir --mpt-cast-parameters="type=bf16 keep-batch-norm=false" | FileCheck %s --check-prefix=ALL
// RUN: not mpt-opt %t/model.mlir --mpt-cast-parameters="type=f8E5M2" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mpt-opt %t/half.mlir --mpt-cast-parameters 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: not mpt-opt %t/model.mlir --mpt-autodiff --mpt-cast-parameters 2>&1 | FileCheck %s --check-prefix=LATE

// Parameters are low, data is not; batch norm's are not.
// KEEP: func.func @loss(%[[W:[^:]*]]: tensor<8x4xf16> {mpt.name = "w", mpt.role = "parameter"}, %[[G:[^:]*]]: tensor<4xf32>
// KEEP-SAME: %[[M:[^:]*]]: tensor<4xf32> {mpt.name = "mean"
// KEEP-SAME: tensor<2x8xf32> {mpt.name = "x", mpt.role = "input"}
// KEEP: %[[WIDE:.*]] = mpt.cast %[[W]] {autocast} : (tensor<8x4xf16>) -> tensor<8x4xf32>
// KEEP-NOT: mpt.cast
// KEEP: mpt.linear %{{.*}}, %[[WIDE]]

// ALL: func.func @loss(%{{[^:]*}}: tensor<8x4xbf16> {{.*}}, %[[G:[^:]*]]: tensor<4xbf16> {{.*}}, %[[M:[^:]*]]: tensor<4xbf16> {mpt.name = "mean"
// ALL-SAME: tensor<4xbf16> {mpt.name = "mean", mpt.updates = "mean"}
// ALL: mpt.batch_norm {{.*}} -> (tensor<2x4xf32>, tensor<4xf32>
// ALL: mpt.cast {{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
// ALL: mpt.cast {{.*}} : (tensor<4xf32>) -> tensor<4xbf16>

// TYPE: error: mpt-cast-parameters: unknown type 'f8E5M2'; expected f16 or bf16
// HALF: error: mpt-cast-parameters: expected parameter 'w' to be f32, as the model declares it without this pass, found 'tensor<8x4xf16>'
// LATE: error: mpt-cast-parameters: the function is differentiated already; run this pass before --mpt-autodiff

//--- model.mlir
func.func @loss(
    %w: tensor<8x4xf32> {mpt.name = "w", mpt.role = "parameter"},
    %g: tensor<4xf32> {mpt.name = "g", mpt.role = "parameter"},
    %m: tensor<4xf32> {mpt.name = "mean", mpt.role = "running_stat"},
    %v: tensor<4xf32> {mpt.name = "var", mpt.role = "running_stat"},
    %x: tensor<2x8xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<4xf32> {mpt.name = "mean", mpt.updates = "mean"},
        tensor<4xf32> {mpt.name = "var", mpt.updates = "var"}) {
  %h = mpt.linear %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %n, %m1, %v1, %bm, %br = mpt.batch_norm %h, %g, %g, %m, %v : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %l = mpt.reduce %n {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
  return %l, %m1, %v1 : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

//--- half.mlir
func.func @loss(%w: tensor<8x4xf16> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %l = mpt.reduce %w {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<8x4xf16>) -> tensor<f32>
  return %l : tensor<f32>
}
