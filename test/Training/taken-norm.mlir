// RUN: mpt-opt %s -split-input-file -verify-diagnostics --mpt-autodiff --mpt-train-step --mpt-loss-scale

// Without clip-norm mpt-loss-scale adds the result 'grad_norm'. It takes nothing else of
// that name for the norm: no parameter, and no result of the user's.

func.func @loss(
    // expected-error @below {{mpt-loss-scale: the name 'grad_norm' is that of a result that this pass adds; rename argument 0}}
    %w: tensor<4xf32> {mpt.name = "grad_norm", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.reduce %w {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<f32> {mpt.name = "grad_norm"}) {
  %0 = mpt.reduce %w {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %1 = mpt.abs %0 : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{mpt-loss-scale: result 1 is called 'grad_norm', as a result that this pass adds; rename it}}
  return %0, %1 : tensor<f32>, tensor<f32>
}
