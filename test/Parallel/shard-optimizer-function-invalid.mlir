// RUN: mpt-opt %s -split-input-file -verify-diagnostics -mpt-autodiff -mpt-data-parallel=size=2 -mpt-shard-optimizer=optimizer=@update -mpt-train-step=optimizer=@update

// expected-error @below {{mpt-shard-optimizer: unknown optimizer '@update'; expected @NAME, a function of the module with one block; leave it out for other optimizers}}
module {
  func.func @loss(%a: tensor<64xf32> {mpt.name = "a", mpt.role = "parameter"}, %x: tensor<64xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
    %y = mpt.mul %a, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>} : (tensor<64xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

// A state of another shape depends on the elements.
func.func @loss(%a: tensor<64xf32> {mpt.name = "a", mpt.role = "parameter"}, %x: tensor<64xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %a, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>} : (tensor<64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @update(%a: tensor<64xf32> {mpt.name = "a", mpt.role = "parameter"}, %g: tensor<64xf32> {mpt.name = "grad.a", mpt.role = "input"}, %n: tensor<f32> {mpt.name = "a.norm", mpt.role = "optimizer_state"}) -> (tensor<64xf32> {mpt.updates = "a"}, tensor<f32> {mpt.updates = "a.norm"}) {
  %s = mpt.mul %g, %n : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = mpt.sub %a, %s : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // expected-error @below {{mpt-train-step: ranks hold parts of "a", but the optimizer '@update' does not update it element by element: 'mpt.reduce' reads more; leave out --mpt-shard-optimizer and --mpt-shard-parameters}}
  %m = mpt.reduce %g {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>} : (tensor<64xf32>) -> tensor<f32>
  return %1, %m : tensor<64xf32>, tensor<f32>
}

// -----

// Elements of two parameters meet.
func.func @loss(%a: tensor<64xf32> {mpt.name = "a", mpt.role = "parameter"}, %b: tensor<64xf32> {mpt.name = "b", mpt.role = "parameter"}, %x: tensor<8x64xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %ab = mpt.mul %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %y = mpt.mul %x, %ab : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @update(%a: tensor<64xf32> {mpt.name = "a", mpt.role = "parameter"}, %b: tensor<64xf32> {mpt.name = "b", mpt.role = "parameter"}, %g: tensor<64xf32> {mpt.name = "grad.a", mpt.role = "input"}, %h: tensor<64xf32> {mpt.name = "grad.b", mpt.role = "input"}) -> (tensor<64xf32> {mpt.updates = "a"}, tensor<64xf32> {mpt.updates = "b"}) {
  // expected-error @below {{mpt-train-step: ranks hold parts of "a", but the optimizer '@update' does not update it element by element: 'mpt.sub' reads more; leave out --mpt-shard-optimizer and --mpt-shard-parameters}}
  %1 = mpt.sub %a, %h : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = mpt.sub %b, %g : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}

// -----

// A constant that differs from element to element.
func.func @loss(%a: tensor<2xf32> {mpt.name = "a", mpt.role = "parameter"}, %x: tensor<2xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %a, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @update(%a: tensor<2xf32> {mpt.name = "a", mpt.role = "parameter"}, %g: tensor<2xf32> {mpt.name = "grad.a", mpt.role = "input"}) -> (tensor<2xf32> {mpt.updates = "a"}) {
  %c = mpt.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // expected-error @below {{mpt-train-step: ranks hold parts of "a", but the optimizer '@update' does not update it element by element: 'mpt.mul' reads more; leave out --mpt-shard-optimizer and --mpt-shard-parameters}}
  %s = mpt.mul %g, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = mpt.sub %a, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// The parameter's next value has elements of another one.
func.func @loss(%a: tensor<2xf32> {mpt.name = "a", mpt.role = "parameter"}, %b: tensor<2xf32> {mpt.name = "b", mpt.role = "parameter"}, %x: tensor<8x2xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %ab = mpt.mul %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %y = mpt.mul %x, %ab : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
// expected-error @below {{mpt-train-step: ranks hold parts of "a", but the optimizer '@update' does not update it element by element; leave out --mpt-shard-optimizer and --mpt-shard-parameters}}
func.func private @update(%a: tensor<2xf32> {mpt.name = "a", mpt.role = "parameter"}, %b: tensor<2xf32> {mpt.name = "b", mpt.role = "parameter"}) -> (tensor<2xf32> {mpt.updates = "a"}, tensor<2xf32> {mpt.updates = "b"}) {
  return %b, %a : tensor<2xf32>, tensor<2xf32>
}

// -----

func.func @loss(%a: tensor<2xf32> {mpt.name = "a", mpt.role = "parameter"}, %x: tensor<8x2xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %a : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
// expected-error @below {{mpt-train-step: expected a of the optimizer '@update' to have the shape that it has in the step, found 'tensor<1x2xf32>'}}
func.func private @update(%a: tensor<1x2xf32> {mpt.name = "a", mpt.role = "parameter"}) -> (tensor<1x2xf32> {mpt.updates = "a"}) {
  return %a : tensor<1x2xf32>
}
