// RUN: mpt-opt %s -split-input-file -verify-diagnostics --mpt-autodiff --mpt-train-step="clip-norm=1 lr-schedule=linear total-steps=9 ema-decay=0.9" --mpt-loss-scale

// A pass never gives an argument or result that it adds the name of another.

func.func @loss(
    // expected-error @below {{mpt-train-step: the name 'grad_norm' is that of a result that this pass adds; rename argument 0}}
    %w: tensor<4xf32> {mpt.name = "grad_norm", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.reduce %w {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @loss(
    // expected-error @below {{mpt-train-step: the name 'learning_rate' is that of a result that this pass adds; rename argument 0}}
    %w: tensor<4xf32> {mpt.name = "learning_rate", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.reduce %w {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
    // expected-error @below {{mpt-train-step: argument 1 is called 'w.exp_avg', as an argument that this pass adds; rename it}}
    %v: tensor<4xf32> {mpt.name = "w.exp_avg", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.mul %w, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mpt.reduce %0 {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
    // expected-error @below {{mpt-loss-scale: argument 1 is called 'loss_scale', as an argument that this pass adds; rename it}}
    %s: tensor<4xf32> {mpt.name = "loss_scale", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.mul %w, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mpt.reduce %0 {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<4xf32> {mpt.name = "grad.w"}) {
  %0 = mpt.reduce %w {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{mpt-autodiff: result 1 is called 'grad.w', as a result that this pass adds; rename it}}
  return %0, %w : tensor<f32>, tensor<4xf32>
}

// -----

func.func @loss(
    // expected-error @below {{mpt-train-step: the function has an argument named 'lr' already; was this pass run before? If not, rename it}}
    %w: tensor<4xf32> {mpt.name = "lr", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.reduce %w {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Names that only resemble those of passes are free, as is a result with the name of
// the argument that it updates.
func.func @loss(%w: tensor<4xf32> {mpt.name = "grad_norms", mpt.role = "parameter"},
                %s: tensor<4xf32> {mpt.name = "scale", mpt.role = "running_stat"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<4xf32> {mpt.name = "scale", mpt.updates = "scale"}) {
  %0 = mpt.reduce %w {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %0, %s : tensor<f32>, tensor<4xf32>
}

// -----

// The first pass says which results have no name, at the return.
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<4xf32>) {
  %0 = mpt.reduce %w {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // expected-warning @below {{mpt-autodiff: result 1 has no 'mpt.name', which mpt-run and mpt-compile need}}
  return %0, %w : tensor<f32>, tensor<4xf32>
}
