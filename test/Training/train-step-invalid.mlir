// RUN: mpt-opt %s -split-input-file -verify-diagnostics -mpt-train-step

// expected-error @below {{mpt-train-step: there is no function in this module}}
module {
}

// -----

// expected-error @below {{mpt-train-step: expected one mpt.gradients op, found 0; run --mpt-autodiff first}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{mpt-train-step: expected one mpt.gradients op, found 2; run --mpt-autodiff first}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  %h = mpt.gradients %g {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}

// -----

// expected-error @below {{mpt-train-step: no argument named "v", which mpt.gradients names}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["v"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}

// -----

// expected-error @below {{mpt-train-step: expected the gradient of "w" to have the shape of the parameter, 'tensor<4xf32>', found 'tensor<3xf32>'}}
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"}, %x: tensor<3xf32>, %l: tensor<f32>) -> tensor<f32> {
  %g = mpt.gradients %x {names = ["w"]} : (tensor<3xf32>) -> tensor<3xf32>
  return %l : tensor<f32>
}

// -----

// expected-error @below {{mpt-train-step: expected the parameter "w" to be a ranked tensor of a float type, found 'tensor<4xi32>'}}
func.func @loss(%w: tensor<4xi32> {mpt.name = "w", mpt.role = "parameter"}, %x: tensor<4xf32>, %l: tensor<f32>) -> tensor<f32> {
  %g = mpt.gradients %x {names = ["w"]} : (tensor<4xf32>) -> tensor<4xf32>
  return %l : tensor<f32>
}

// -----

// expected-error @below {{mpt-train-step: the function has an argument named 'step' already; was this pass run before?}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %s: tensor<i64> {mpt.name = "step"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}

// -----

// expected-error @below {{mpt-train-step: the function has an argument named 'lr' already; was this pass run before?}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %s: tensor<f32> {mpt.name = "lr"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}

// -----

// expected-error @below {{mpt-train-step: expected the argument named 'attempt' to be the counter of attempts, of type 'tensor<i64>', found 'tensor<i32>'}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %a: tensor<i32> {mpt.name = "attempt"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}

// -----

// expected-error @below {{mpt-train-step: the forward pass changes the parameter "w", which is stored in 'bf16'; store it in f32, --mpt-autocast chooses where it is read in less}}
func.func @loss(%w: tensor<bf16> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<bf16>, tensor<bf16> {mpt.name = "w.next", mpt.updates = "w"}) {
  %n = mpt.neg %w : (tensor<bf16>) -> tensor<bf16>
  %g = mpt.gradients %w {names = ["w"]} : (tensor<bf16>) -> tensor<bf16>
  return %w, %n : tensor<bf16>, tensor<bf16>
}

// -----

// expected-error @below {{mpt-train-step: argument 1 is called 'w.exp_avg', as an argument that this pass adds; rename it}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %a: tensor<f32> {mpt.name = "w.exp_avg"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
