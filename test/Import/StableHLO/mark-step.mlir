// RUN: split-file %s %t
// RUN: mpt-opt %t/step.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step | FileCheck %s --implicit-check-not=composite --implicit-check-not=@seed --implicit-check-not=@grads
// CHECK-LABEL: func.func public @main(
// CHECK-SAME: %[[W:.*]]: tensor<4x4xf32> {mpt.name = "arg0", mpt.role = "optimizer_state"}
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32> {mpt.name = "arg1", mpt.role = "input"}
// CHECK-SAME: tensor<4x4xf32> {mpt.name = "arg0.next", mpt.updates = "arg0"}
// CHECK-SAME: tensor<f32> {mpt.name = "loss"}
// CHECK: %[[ONE:.*]] = "stablehlo.constant"
// CHECK: %[[SEED:.*]] = mpt.grad_seed : () -> tensor<f32>
// CHECK: "stablehlo.multiply"(%[[ONE]], %[[SEED]])
// CHECK: mpt.gradients %{{.*}} {names = ["gradient0"]}

// What the loss scale adds becomes StableHLO, and the rest stays.
// RUN: mpt-opt %t/step.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step --mpt-loss-scale --mpt-convert-to-stablehlo=function=main | FileCheck %s --check-prefix=SCALED --implicit-check-not="mpt\."
// SCALED-LABEL: func.func @main(
// SCALED-SAME: tensor<4x4xf32> {tf.aliasing_output = 0 : i32}
// SCALED-SAME: %[[SCALE:.*]]: tensor<f32> {tf.aliasing_output = 4 : i32}
// SCALED-SAME: jax.result_info = "loss_scale"
// SCALED: "stablehlo.dot_general"
// SCALED: "stablehlo.select"

// Or the whole step becomes ops of mpt, before or after the scale is added.
// RUN: mpt-opt %t/step.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step --mpt-convert-stablehlo | FileCheck %s --check-prefix=CONVERTED --implicit-check-not=stablehlo
// CONVERTED: %[[SEED:.*]] = mpt.grad_seed : () -> tensor<f32>
// CONVERTED: mpt.gradients %{{.*}} {names = ["gradient0"]}
// RUN: mpt-opt %t/step.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step --mpt-convert-stablehlo --mpt-loss-scale --mpt-validate-loss-scale | FileCheck %s --check-prefix=BOTH --implicit-check-not=stablehlo
// RUN: mpt-opt %t/step.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step --mpt-loss-scale --mpt-convert-stablehlo --mpt-validate-loss-scale | FileCheck %s --check-prefix=BOTH --implicit-check-not=stablehlo
// BOTH: tensor<f32> {mpt.init = {{.*}}, mpt.name = "loss_scale", mpt.role = "loss_scale"}
// BOTH: mpt.scale_loss
// BOTH: mpt.unscale
// RUN: not mpt-opt %t/region.mlir --allow-unregistered-dialect --mpt-convert-stablehlo 2>&1 | FileCheck %s --check-prefix=REGION
// REGION: error: mpt-convert-stablehlo: 1 op of @main has no counterpart in the mpt dialect:
// REGION-NEXT: mpt.scan, 1 time

// RUN: mpt-opt %t/none.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: warning: mpt-mark-stablehlo-step: found nothing to do: there is no composite named mpt.grad_seed or mpt.gradients
// RUN: not mpt-opt %t/one.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step 2>&1 | FileCheck %s --check-prefix=SINGLE
// SINGLE: one.mlir:1:1: error: mpt-mark-stablehlo-step: expected one composite mpt.grad_seed and one mpt.gradients in @main, found 1 and 0; mark one loss and all gradients at once{{$}}
// RUN: not mpt-opt %t/matrix.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step 2>&1 | FileCheck %s --check-prefix=MATRIX
// MATRIX: matrix.mlir:2:8: error: mpt-mark-stablehlo-step: expected the gradient of a loss, which is one number, found 'tensor<4xf32>'
// RUN: not mpt-opt %t/loop.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step 2>&1 | FileCheck %s --check-prefix=LOOP
// LOOP: loop.mlir:4:10: error: mpt-mark-stablehlo-step: expected it in the body of @main, found it in a region of 'stablehlo.case'; a loop of micro-batches cannot be scaled as a whole
// RUN: not mpt-opt %t/integer.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step 2>&1 | FileCheck %s --check-prefix=INTEGER
// INTEGER: integer.mlir:3:8: error: mpt-mark-stablehlo-step: expected results that are its operands, tensors of floats of known shape

// The marks of a step that calls: calls go, and what they called.
// RUN: mpt-opt %t/calls.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step --mpt-loss-scale --mpt-convert-to-stablehlo=function=main | FileCheck %s --check-prefix=CALLS --implicit-check-not="mpt\." --implicit-check-not="func.func private @{{(seed|update|half)}}"
// CALLS-LABEL: func.func @main(
// CALLS-NOT: call
// CALLS: "stablehlo.composite"({{.*}}name = "acme.kept"
// CALLS-NOT: call
// CALLS: "stablehlo.negate"
// CALLS: func.func private @kept
// CALLS: call @inner
// CALLS: func.func private @inner

// A seed that a step makes before its forward pass stands before its first use, in a loop here.
// RUN: mpt-opt %t/early.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step | FileCheck %s --check-prefix=EARLY
// EARLY: "stablehlo.tanh"
// EARLY-NEXT: %[[SEED:.*]] = mpt.grad_seed : () -> tensor<f32>
// EARLY-NEXT: %[[SCALE:.*]] = "stablehlo.multiply"(%{{.*}}, %[[SEED]])
// EARLY-NEXT: "stablehlo.case"
// EARLY-NEXT: "stablehlo.return"(%[[SCALE]])
// RUN: not mpt-opt %t/recursive.mlir --allow-unregistered-dialect --mpt-mark-stablehlo-step 2>&1 | FileCheck %s --check-prefix=RECURSIVE
// RECURSIVE: error: mpt-mark-stablehlo-step: @again is called recursively; expected calls that end

//--- region.mlir
func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  %y = "stablehlo.tanh"(%x) : (tensor<f32>) -> tensor<f32>
  %z = mpt.scan 20 carry(%y : tensor<f32>) {
  ^bb0(%c: tensor<f32>):
    %n = mpt.tanh %c : (tensor<f32>) -> tensor<f32>
    mpt.yield %n : tensor<f32>
  } : tensor<f32>
  return %z : tensor<f32>
}
//--- calls.mlir
func.func public @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32}, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %loss = "stablehlo.composite"(%x) <{composite_attributes = {}, decomposition = @kept, name = "acme.kept"}> : (tensor<f32>) -> tensor<f32>
  %n = call @update(%w, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %n, %loss : tensor<f32>, tensor<f32>
}
func.func private @update(%w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %s = "stablehlo.composite"(%x) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %h = call @half(%s) : (tensor<f32>) -> tensor<f32>
  %m = "stablehlo.composite"(%h) <{composite_attributes = {}, decomposition = @seed, name = "mpt.gradients"}> : (tensor<f32>) -> tensor<f32>
  %n = "stablehlo.subtract"(%w, %m) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %n : tensor<f32>
}
func.func private @half(%x: tensor<f32>) -> tensor<f32> {
  %y = "stablehlo.negate"(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}
func.func private @kept(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @inner(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @inner(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

//--- early.mlir
func.func public @main(%x: tensor<f32>, %i: tensor<i32>) -> (tensor<f32>, tensor<f32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %s = "stablehlo.composite"(%one) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %y = "stablehlo.tanh"(%x) : (tensor<f32>) -> tensor<f32>
  %g = "stablehlo.case"(%i) ({
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<i32>) -> tensor<f32>
  %h = "stablehlo.multiply"(%g, %s) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %m = "stablehlo.composite"(%h) <{composite_attributes = {}, decomposition = @seed, name = "mpt.gradients"}> : (tensor<f32>) -> tensor<f32>
  return %y, %m : tensor<f32>, tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}

//--- recursive.mlir
func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  %s = "stablehlo.composite"(%x) <{composite_attributes = {}, decomposition = @again, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %n = call @again(%s) : (tensor<f32>) -> tensor<f32>
  return %n : tensor<f32>
}
func.func private @again(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @again(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

//--- step.mlir
func.func public @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<f32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %y = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %loss = "stablehlo.reduce"(%y, %zero) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
  %s = "stablehlo.composite"(%one) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %d = "stablehlo.broadcast_in_dim"(%s) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
  %g = "stablehlo.dot_general"(%x, %d) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = "stablehlo.composite"(%g) <{composite_attributes = {}, decomposition = @grads, name = "mpt.gradients"}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = "stablehlo.subtract"(%w, %m) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %n, %loss : tensor<4x4xf32>, tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}
func.func private @grads(%g: tensor<4x4xf32>) -> tensor<4x4xf32> {
  return %g : tensor<4x4xf32>
}

//--- none.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

//--- one.mlir
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = "stablehlo.composite"(%x) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}

//--- matrix.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "stablehlo.composite"(%x) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<4xf32>) -> tensor<4xf32>
  %z = "stablehlo.composite"(%y) <{composite_attributes = {}, decomposition = @seed, name = "mpt.gradients"}> : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
func.func private @seed(%g: tensor<4xf32>) -> tensor<4xf32> {
  return %g : tensor<4xf32>
}

//--- loop.mlir
func.func @main(%i: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %s = "stablehlo.composite"(%x) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %r = "stablehlo.case"(%i) ({
    %g = "stablehlo.composite"(%s) <{composite_attributes = {}, decomposition = @seed, name = "mpt.gradients"}> : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%g) : (tensor<f32>) -> ()
  }, {
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<i32>) -> tensor<f32>
  return %r : tensor<f32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}

//--- integer.mlir
func.func @main(%x: tensor<f32>, %i: tensor<i32>) -> tensor<i32> {
  %y = "stablehlo.composite"(%x) <{composite_attributes = {}, decomposition = @seed, name = "mpt.grad_seed"}> : (tensor<f32>) -> tensor<f32>
  %z = "stablehlo.composite"(%i) <{composite_attributes = {}, decomposition = @grads, name = "mpt.gradients"}> : (tensor<i32>) -> tensor<i32>
  return %z : tensor<i32>
}
func.func private @seed(%g: tensor<f32>) -> tensor<f32> {
  return %g : tensor<f32>
}
func.func private @grads(%g: tensor<i32>) -> tensor<i32> {
  return %g : tensor<i32>
}
