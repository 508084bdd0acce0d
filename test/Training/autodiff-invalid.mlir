// RUN: mpt-opt %s -split-input-file -verify-diagnostics -mpt-autodiff

// expected-error @below {{mpt-autodiff: no function 'loss' with a body; name one with function=}}
module {
  // expected-note @below {{there is 'evaluate'}}
  func.func @evaluate(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error @below {{mpt-autodiff: no function 'loss' with a body; name one with function=}}
module {
  // expected-note @below {{there is 'loss'}}
  func.func private @loss(tensor<f32>) -> tensor<f32>
}

// -----

// expected-error @below {{mpt-autodiff: expected a function of one block, found 2 (branches cannot be differentiated or planned)}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  cf.br ^end
^end:
  return %w : tensor<f32>
}

// -----

// expected-error @+2 {{mpt-autodiff: expected the function's first result to be the loss, a scalar float tensor; found 'tensor<4xf32>'}}
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// expected-error @+2 {{mpt-autodiff: expected the function's first result to be the loss, a scalar float tensor; found 'tensor<i32>'}}
func.func @loss(%w: tensor<i32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<i32> {
  return %w : tensor<i32>
}

// -----

// expected-error @+2 {{mpt-autodiff: expected the function's first result to be the loss, a scalar float tensor; found 'f32'}}
func.func @loss(%w: f32 {mpt.name = "w", mpt.role = "parameter"}) -> f32 {
  return %w : f32
}

// -----

// expected-error @+2 {{mpt-autodiff: expected the function's first result to be the loss, a scalar float tensor; found 'none'}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) {
  return
}

// -----

// expected-error @below {{mpt-autodiff: expected an argument with mpt.role = "parameter" to differentiate for, found none; of an import, --mpt-convert-stablehlo=parameters=NAME says which arguments have it}}
func.func @loss(%x: tensor<f32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{mpt-autodiff: expected parameters to be ranked tensors of a float type, found argument 1 of type 'tensor<4xi32>'}}
func.func @loss(%x: tensor<f32>, %w: tensor<4xi32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{mpt-autodiff: expected parameters to be ranked tensors of a float type, found argument 1 of type 'f32'}}
func.func @loss(%x: tensor<f32>, %w: f32 {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{mpt-autodiff: expected parameters to be ranked tensors of a float type, found argument 1 of type 'tensor<*xf32>'}}
func.func @loss(%x: tensor<f32>, %w: tensor<*xf32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{mpt-autodiff: expected a 'mpt.name' on every parameter, found none on argument 0}}
func.func @loss(%w: tensor<f32> {mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{mpt-autodiff: the function has a mpt.grad_seed: it was differentiated before}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32>, tensor<f32> {mpt.name = "grad.w"}) {
  %s = mpt.grad_seed : () -> tensor<f32>
  %g = mpt.gradients %s {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w, %g : tensor<f32>, tensor<f32>
}

// -----

// expected-warning @+2 {{mpt-autodiff: parameter 'v' does not reach the loss; its gradient is zero}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<4xf32> {mpt.name = "v", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}, tensor<4xf32> {mpt.name = "r1"}) {
  %m = mpt.exp %v : (tensor<4xf32>) -> tensor<4xf32>
  return %w, %m : tensor<f32>, tensor<4xf32>
}

// -----

// expected-warning @+2 {{mpt-autodiff: parameter 'v' does not reach the loss; its gradient is zero}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<f32> {mpt.name = "v", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %s = mpt.stop_gradient %v : (tensor<f32>) -> tensor<f32>
  %l = mpt.mul %w, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-warning @+3 {{mpt-autodiff: parameter 'v' does not reach the loss; its gradient is zero}}
// expected-error @+2 {{mpt-autodiff: expected parameters of static shape, found 'tensor<?xf32>'}}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<?xf32> {mpt.name = "v", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  return %w : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'math.absf' is on a path from a parameter to the loss but has no gradient rule; cut the path with mpt.stop_gradient if it needs none}}
  %a = math.absf %w : tensor<4xf32>
  %l = mpt.reduce %a {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Gradient ops have no second derivative.
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'mpt.relu_grad' is on a path from a parameter to the loss but has no gradient rule; cut the path with mpt.stop_gradient if it needs none}}
  %a = mpt.relu_grad %w, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = mpt.reduce %a {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32>
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'func.call' is on a path from a parameter to the loss but has no gradient rule; inline the call first (--inline)}}
  %l = func.call @f(%w) : (tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %lb: index, %ub: index) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'scf.for' is on a path from a parameter to the loss but has no gradient rule; unroll or inline it first}}
  %l = scf.for %i = %lb to %ub step %lb iter_args(%a = %w) -> tensor<f32> {
    %b = mpt.exp %a : (tensor<f32>) -> tensor<f32>
    scf.yield %b : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// The parameter is no operand of the branch: its regions use it from above.
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %c: i1) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'scf.if' is on a path from a parameter to the loss but has no gradient rule; unroll or inline it first}}
  %a = scf.if %c -> tensor<f32> {
    %b = mpt.exp %w : (tensor<f32>) -> tensor<f32>
    scf.yield %b : tensor<f32>
  } else {
    scf.yield %w : tensor<f32>
  }
  %l = mpt.mul %a, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<1x1x4x2xf32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'mpt.attention' op has no gradient rule for its result log_sum_exp}}
  %y, %lse = mpt.attention %w, %w, %w : (tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>) -> (tensor<1x1x4x2xf32>, tensor<1x1x4xf32>)
  %l = mpt.reduce %lse {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1, 2>} : (tensor<1x1x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4x2xf32> {mpt.name = "w", mpt.role = "parameter"}, %t: tensor<4xi32>) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'mpt.cross_entropy' op has no gradient rule for its result log_sum_exp}}
  %y, %lse = mpt.cross_entropy %w, %t : (tensor<4x2xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %l = mpt.reduce %lse {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4x2xf32> {mpt.name = "w", mpt.role = "parameter"}, %g: tensor<2xf32>) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'mpt.layer_norm' op has a gradient rule for its first result only}}
  %y, %m, %r = mpt.layer_norm %w, %g, %g : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4xf32>, tensor<4xf32>)
  %l = mpt.reduce %m {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4x2xf32> {mpt.name = "w", mpt.role = "parameter"}, %g: tensor<2xf32>) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'mpt.rms_norm' op has a gradient rule for its first result only}}
  %y, %r = mpt.rms_norm %w, %g : (tensor<4x2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4xf32>)
  %l = mpt.reduce %r {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4x2xf32> {mpt.name = "w", mpt.role = "parameter"}, %g: tensor<2xf32>) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'mpt.batch_norm' op has a gradient rule for its first result only}}
  %y:5 = mpt.batch_norm %w, %g, %g, %g, %g : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  %l = mpt.reduce %y#1 {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"}, %x: tensor<4x2xf32>) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @below {{'mpt.batch_norm_inference' op has no gradient rule for its statistics; pass them through mpt.stop_gradient}}
  %y = mpt.batch_norm_inference %x, %w, %w, %w, %w : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"}, %x: tensor<?x2xf32>) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %w : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  // expected-error @below {{'mpt.reduce' op has a gradient of 'mean' over static sizes only; run --mpt-specialize first}}
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"}, %x: tensor<?x2xf32>) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %w : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  // expected-error @below {{'mpt.slice' op has a gradient for operands of static shape only; run --mpt-specialize first}}
  %z = mpt.slice %y {offsets = array<i64: 0, 0>, sizes = array<i64: 1, 2>, strides = array<i64: 1, 1>} : (tensor<?x2xf32>) -> tensor<1x2xf32>
  %l = mpt.reduce %z {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<1x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"}, %x: tensor<?x2xf32>) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %w : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  // expected-error @below {{'mpt.concat' op has a gradient for operands of static shape only; run --mpt-specialize first}}
  %z = mpt.concat %y, %x {axis = 0 : i64} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %l = mpt.reduce %z {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"}, %x: tensor<?x2xf32>) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %w : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  // expected-error @below {{'mpt.pad' op has a gradient for operands of static shape only; run --mpt-specialize first}}
  %z = mpt.pad %y {low = array<i64: 1, 0>, high = array<i64: 0, 0>} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %l = mpt.reduce %z {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<?xf32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @+1 {{mpt-autodiff: expected static shapes, found 'tensor<?xf32>'; run --mpt-specialize first}}
  %h, %s = mpt.scan 3 carry(%w, %w : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%c: tensor<?xf32>, %d: tensor<?xf32>):
    %n = mpt.tanh %c : (tensor<?xf32>) -> tensor<?xf32>
    mpt.yield %n, %d : tensor<?xf32>, tensor<?xf32>
  } : tensor<?xf32>, tensor<?xf32>
  %l = mpt.reduce %h {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<?xf32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @+1 {{mpt-autodiff: expected static shapes, found 'tensor<?xf32>'; run --mpt-specialize first}}
  %h = mpt.scan 4 carry(%w : tensor<?xf32>) {
  ^bb0(%c: tensor<?xf32>):
    %n = mpt.tanh %c : (tensor<?xf32>) -> tensor<?xf32>
    mpt.yield %n : tensor<?xf32>
  } {checkpoint_every = 2 : i64} : tensor<?xf32>
  %l = mpt.reduce %h {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"},
                       %p: tensor<i1> {mpt.name = "p", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  // expected-error @+1 {{'mpt.scan' op is on a path from a parameter to the loss, and runs until a value is false, so that its iterations have no gradient; write a loop that runs a constant number of times, end the gradient before it (mpt.stop_gradient), or in mpt.jax give gradients="jax"}}
  %y:2 = mpt.scan conditional 9 carry(%p, %w : tensor<i1>, tensor<f32>) {
  ^bb0(%c: tensor<i1>, %v: tensor<f32>):
    %n = mpt.log %v : (tensor<f32>) -> tensor<f32>
    mpt.yield %c, %n : tensor<i1>, tensor<f32>
  } : tensor<i1>, tensor<f32>
  return %y#1 : tensor<f32>
}
