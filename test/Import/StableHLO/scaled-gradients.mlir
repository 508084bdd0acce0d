// RUN: mpt-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --mpt-mark-stablehlo-step --mpt-loss-scale
// A step of JAX may have rules (jax.custom_vjp) that are not linear in the gradients that they get.

// As it should be: a loop that adds up gradients, choices with zeros, sums of rows; and clipping
// and curves of what is unscaled, or has no scale.
func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %limit = "stablehlo.constant"() <{value = dense<0.5> : tensor<4xf32>}> : () -> tensor<4xf32>
  %count = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %step = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %end = "stablehlo.constant"() <{value = dense<9> : tensor<i32>}> : () -> tensor<i32>
  %zeros = "stablehlo.broadcast_in_dim"(%zero) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
  %s = "stablehlo.composite"(%one) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %g = "stablehlo.broadcast_in_dim"(%s) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
  %loop:3 = "stablehlo.while"(%count, %g, %zeros) ({
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %more = "stablehlo.compare"(%i, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %next = "stablehlo.add"(%i, %step) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %bent = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %product = "stablehlo.multiply"(%a, %bent) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %mask = "stablehlo.compare"(%x, %limit) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %chosen = "stablehlo.select"(%mask, %product, %zeros) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %sum = "stablehlo.add"(%b, %chosen) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%next, %product, %sum) : (tensor<i32>, tensor<4xf32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>, tensor<4xf32>)
  %m = "stablehlo.composite"(%loop#2) <{composite_attributes = {}, decomposition = @gradients, name = "mpt.gradients"}> : (tensor<4xf32>) -> tensor<4xf32>
  %clipped = "stablehlo.minimum"(%m, %limit) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %curve = "stablehlo.tanh"(%clipped) : (tensor<4xf32>) -> tensor<4xf32>
  %decayed = "stablehlo.add"(%curve, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %decayed, %one : tensor<4xf32>, tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}
func.func private @gradients(%g: tensor<4xf32>) -> tensor<4xf32> {
  return %g : tensor<4xf32>
}

// -----

func.func public @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32}) -> (tensor<f32>, tensor<f32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %s = "stablehlo.composite"(%one) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %minus = "stablehlo.negate"(%one) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{operand 1 is scaled and operand 0 is not, so that the result depends on the scale}}
  // expected-note @below {{in a step of JAX gradients are unscaled by mpt.jax.gradients}}
  %g = "stablehlo.clamp"(%minus, %s, %one) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %m = "stablehlo.composite"(%g) <{composite_attributes = {}, decomposition = @seed, name = "mpt.gradients"}> : (tensor<f32>) -> tensor<f32>
  return %m, %one : tensor<f32>, tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}

// -----

// In a loop of the backward pass.
func.func public @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32}) -> (tensor<f32>, tensor<f32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %true = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
  %s = "stablehlo.composite"(%one) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %loop:2 = "stablehlo.while"(%true, %s) ({
  ^bb0(%c: tensor<i1>, %a: tensor<f32>):
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<i1>, %a: tensor<f32>):
    // expected-error @below {{operand 0 is scaled, and the op is not linear}}
    // expected-note @below {{in a step of JAX gradients are unscaled by mpt.jax.gradients}}
    %b = "stablehlo.tanh"(%a) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c, %b) : (tensor<i1>, tensor<f32>) -> ()
  }) : (tensor<i1>, tensor<f32>) -> (tensor<i1>, tensor<f32>)
  %m = "stablehlo.composite"(%loop#1) <{composite_attributes = {}, decomposition = @seed, name = "mpt.gradients"}> : (tensor<f32>) -> tensor<f32>
  return %m, %one : tensor<f32>, tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}

// -----

// Noise, and weight decay, before the gradients are marked.
func.func public @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32}, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %s = "stablehlo.composite"(%one) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{operand 0 is scaled and the other is not; put mpt.unscale before what is added to gradients, such as weight decay}}
  // expected-note @below {{in a step of JAX gradients are unscaled by mpt.jax.gradients}}
  %g = "stablehlo.add"(%s, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %m = "stablehlo.composite"(%g) <{composite_attributes = {}, decomposition = @seed, name = "mpt.gradients"}> : (tensor<f32>) -> tensor<f32>
  return %m, %one : tensor<f32>, tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}

// -----

// The square of a gradient.
func.func public @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32}) -> (tensor<f32>, tensor<f32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %s = "stablehlo.composite"(%one) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %g = "chlo.square"(%s) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{gradient 0 holds the scale to the power 2, not 1}}
  %m = "stablehlo.composite"(%g) <{composite_attributes = {}, decomposition = @seed, name = "mpt.gradients"}> : (tensor<f32>) -> tensor<f32>
  return %m, %one : tensor<f32>, tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}
