// RUN: mpt-opt %s -split-input-file -verify-diagnostics -mpt-train-step=optimizer=@update

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
// expected-error @below {{mpt-train-step: expected argument 1 of the optimizer '@update' to have a 'mpt.name'}}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %g: tensor<f32>) -> (tensor<f32> {mpt.updates = "w"}) {
  return %w : tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
// expected-error @below {{mpt-train-step: expected "grad.w" of the optimizer '@update' to have the type that it has in the step, 'tensor<f32>', found 'tensor<1xf32>'}}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %g: tensor<1xf32> {mpt.name = "grad.w", mpt.role = "input"}) -> (tensor<f32> {mpt.updates = "w"}) {
  return %w : tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
// expected-error @below {{mpt-train-step: expected "step" of the optimizer '@update' to have the type that it has in the step, 'tensor<i64>', found 'tensor<f32>'}}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %s: tensor<f32> {mpt.name = "step", mpt.role = "schedule"}) -> (tensor<f32> {mpt.updates = "w"}) {
  return %w : tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
// expected-error @below {{mpt-train-step: expected "x" of the optimizer '@update' to be a parameter that has a gradient, a gradient (grad.NAME), loss, lr, step, or state with 'mpt.role' = "optimizer_state"}}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %x: tensor<f32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.updates = "w"}) {
  return %w : tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
// expected-error @below {{mpt-train-step: the optimizer '@update' has no argument for the parameter "w"}}
func.func private @update(%w: tensor<f32> {mpt.name = "m", mpt.role = "optimizer_state"}) -> (tensor<f32> {mpt.updates = "m"}) {
  return %w : tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
// expected-error @below {{mpt-train-step: expected result 1 of the optimizer '@update' to be the next value of a parameter or of state, with 'mpt.updates'}}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.updates = "w"}, tensor<f32>) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
// expected-error @below {{mpt-train-step: expected result 1 of the optimizer '@update' to be the next value of a parameter or of state, with 'mpt.updates'}}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %l: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"}) -> (tensor<f32> {mpt.updates = "w"}, tensor<f32> {mpt.updates = "lr"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
// expected-error @below {{mpt-train-step: the optimizer '@update' does not give the next value of "m"; return it with 'mpt.updates'}}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %m: tensor<f32> {mpt.name = "m", mpt.role = "optimizer_state"}) -> (tensor<f32> {mpt.updates = "w"}) {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{mpt-train-step: argument 1 is called 'm', as an argument that this pass adds; rename it}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %m: tensor<f32> {mpt.name = "m", mpt.role = "running_stat"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
func.func private @update(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %m: tensor<f32> {mpt.name = "m", mpt.role = "optimizer_state"}) -> (tensor<f32> {mpt.updates = "w"}, tensor<f32> {mpt.updates = "m"}) {
  return %w, %m : tensor<f32>, tensor<f32>
}

// -----

func.func @loss(%w: tensor<bf16> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<bf16> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<bf16>) -> tensor<bf16>
  return %w : tensor<bf16>
}
// expected-error @below {{mpt-train-step: expected "w" of the optimizer '@update' to have the type that it has in the step, 16 bits widened to f32, 'tensor<f32>', found 'tensor<bf16>'}}
func.func private @update(%w: tensor<bf16> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<bf16> {mpt.updates = "w"}) {
  return %w : tensor<bf16>
}

// -----

// Losses of two types have no sum.
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %v: tensor<f64> {mpt.name = "v", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "a", mpt.loss}, tensor<f64> {mpt.name = "b", mpt.loss}) {
  %g = mpt.gradients %w {names = ["w"], mpt.loss = "a"} : (tensor<f32>) -> tensor<f32>
  %h = mpt.gradients %v {names = ["v"], mpt.loss = "b"} : (tensor<f64>) -> tensor<f64>
  return %w, %v : tensor<f32>, tensor<f64>
}
// expected-error @below {{mpt-train-step: expected "loss" of the optimizer '@update' to be}}
func.func private @update(%l: tensor<f32> {mpt.name = "loss", mpt.role = "input"}, %w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %v: tensor<f64> {mpt.name = "v", mpt.role = "parameter"}) -> (tensor<f32> {mpt.updates = "w"}, tensor<f64> {mpt.updates = "v"}) {
  return %w, %v : tensor<f32>, tensor<f64>
}
