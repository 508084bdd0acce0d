// An optimizer that is a function may read the loss, without a loss scale; of several, their sum.
// RUN: mpt-opt %s --split-input-file --mpt-train-step=optimizer=@update | FileCheck %s
// RUN: mpt-opt %s --split-input-file --mpt-train-step=optimizer=@update --mpt-loss-scale | FileCheck %s --check-prefix=SCALED

// CHECK-LABEL: func.func @loss
// CHECK:      %[[LOSS:.*]] = mpt.mul %arg0, %arg0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK:      %[[NEW:.*]] = mpt.sub %arg0, %[[LOSS]] {mpt.optimizer, mpt.precision = "f32"}
// CHECK:      return %[[LOSS]], %[[NEW]]
// SCALED-LABEL: func.func @loss
// SCALED:     %[[LOSS:.*]] = mpt.mul %arg0, %arg0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// SCALED:     mpt.scale_loss
// SCALED:     mpt.sub %arg0, %[[LOSS]] {mpt.optimizer, mpt.precision = "f32"}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %l = mpt.mul %w, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %d = mpt.mul %s, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %g = mpt.gradients %d {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"},
                          %l: tensor<f32> {mpt.name = "loss", mpt.role = "input"}) -> (tensor<f32> {mpt.updates = "w"}) {
  %n = mpt.sub %w, %l : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %n : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @loss
// CHECK:      %[[A:.*]] = mpt.neg %arg0
// CHECK:      %[[B:.*]] = mpt.abs %arg0
// CHECK:      %[[LOSS:.*]] = mpt.add %[[A]], %[[B]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK:      mpt.sub %arg0, %[[LOSS]] {mpt.optimizer, mpt.precision = "f32"}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "count"}, tensor<f32> {mpt.name = "a", mpt.loss}, tensor<f32> {mpt.name = "b", mpt.loss}) {
  %a = mpt.neg %w : (tensor<f32>) -> tensor<f32>
  %b = mpt.abs %w : (tensor<f32>) -> tensor<f32>
  %sa = mpt.grad_seed {mpt.loss = "a"} : () -> tensor<f32>
  %sb = mpt.grad_seed {mpt.loss = "b"} : () -> tensor<f32>
  %g = mpt.gradients %sa {names = ["w"], mpt.loss = "a"} : (tensor<f32>) -> tensor<f32>
  %h = mpt.gradients %sb {names = ["w"], mpt.loss = "b"} : (tensor<f32>) -> tensor<f32>
  return %w, %a, %b : tensor<f32>, tensor<f32>, tensor<f32>
}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"},
                          %l: tensor<f32> {mpt.name = "loss", mpt.role = "input"}) -> (tensor<f32> {mpt.updates = "w"}) {
  %n = mpt.sub %w, %l : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %n : tensor<f32>
}

// -----

// Parameters and state may have its name.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[W:arg[0-9]+]]: tensor<f32> {mpt.name = "loss", mpt.role = "parameter"}
// CHECK:      mpt.sub %[[W]], %[[W]] {mpt.optimizer, mpt.precision = "f32"}
func.func @loss(%w: tensor<f32> {mpt.name = "loss", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "value"}) {
  %l = mpt.neg %w : (tensor<f32>) -> tensor<f32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %g = mpt.gradients %s {names = ["loss"]} : (tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @update(%w: tensor<f32> {mpt.name = "loss", mpt.role = "parameter"}) -> (tensor<f32> {mpt.updates = "loss"}) {
  %n = mpt.sub %w, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %n : tensor<f32>
}
