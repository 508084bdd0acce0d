// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: not mpt-opt model.mlir --mpt-data-parallel="size=2" 2>&1 | FileCheck model.mlir --check-prefix=MARKER
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=0" 2>&1 | FileCheck model.mlir --check-prefix=SIZE
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2000000" 2>&1 | FileCheck model.mlir --check-prefix=MOST
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2 bucket-bytes=0" 2>&1 | FileCheck model.mlir --check-prefix=BUCKET
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2 axis=" 2>&1 | FileCheck model.mlir --check-prefix=AXIS
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2 order=tree" 2>&1 | FileCheck model.mlir --check-prefix=TREE
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2 wire=f64" 2>&1 | FileCheck model.mlir --check-prefix=WIRE
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2 batch-norm=all" 2>&1 | FileCheck model.mlir --check-prefix=NORM
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2 batch-norm=synchronized" 2>&1 | FileCheck model.mlir --check-prefix=NONORM
// RUN: not mpt-opt loop.mlir --mpt-autodiff --mpt-data-parallel="size=2 batch-norm=synchronized" 2>&1 | FileCheck loop.mlir
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2 function=net" 2>&1 | FileCheck model.mlir --check-prefix=FUNCTION
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2 shared=y" 2>&1 | FileCheck model.mlir --check-prefix=SHARED
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2 shared=x" 2>&1 | FileCheck model.mlir --check-prefix=NONE
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-train-step --mpt-data-parallel="size=2" 2>&1 | FileCheck model.mlir --check-prefix=ORDER
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2" --mpt-data-parallel="size=2" 2>&1 | FileCheck model.mlir --check-prefix=TWICE
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-data-parallel="size=2" --mpt-accumulate="steps=2" 2>&1 | FileCheck model.mlir --check-prefix=ACCUMULATE
// RUN: not mpt-opt open.mlir --mpt-autodiff --mpt-data-parallel="size=2" 2>&1 | FileCheck open.mlir
// RUN: not mpt-opt mesh.mlir --mpt-autodiff --mpt-data-parallel="size=2" 2>&1 | FileCheck mesh.mlir
// RUN: not mpt-opt gradient.mlir --mpt-autodiff --mpt-data-parallel="size=2" 2>&1 | FileCheck gradient.mlir
// RUN: not mpt-opt result.mlir --mpt-autodiff --mpt-data-parallel="size=2" 2>&1 | FileCheck result.mlir
// RUN: not mpt-opt kind.mlir --mpt-autodiff 2>&1 | FileCheck kind.mlir

//--- model.mlir
// MARKER: mpt-data-parallel: expected one mpt.gradients op, found 0; run --mpt-autodiff first
// SIZE: mpt-data-parallel: expected at least 1 for size, found 0
// MOST: mpt-data-parallel: expected at least one rank along the axis "data" and at most 1048576 in all, found 2000000
// BUCKET: mpt-data-parallel: expected at least 1 for bucket-bytes, found 0
// AXIS: mpt-data-parallel: expected a name for axis, found none
// TREE: mpt-data-parallel: unknown order 'tree'; expected rank or library
// WIRE: mpt-data-parallel: unknown wire 'f64'; expected f32, bf16 or f16
// NORM: mpt-data-parallel: unknown batch-norm 'all'; expected own or synchronized
// NONORM: mpt-data-parallel: expected a function with 'mpt.batch_norm' for batch-norm=synchronized, found none; leave out batch-norm
// FUNCTION: mpt-data-parallel: no function 'net' with a body
// SHARED: mpt-data-parallel: no argument named 'y', which shared names
// NONE: mpt-data-parallel: no data that ranks have of their own: expected an argument of role input or target with a dimension
// ORDER: mpt-data-parallel: expected gradients that nothing uses yet, found 'mpt.adamw'; run --mpt-data-parallel before --mpt-train-step
// TWICE: mpt-data-parallel: expected a step of one rank, found 'mpt.all_reduce', which exchanges values between ranks already; run --mpt-data-parallel once, on a function without collectives
// ACCUMULATE: mpt-accumulate: expected a step of one rank, found 'mpt.all_reduce', which each micro-batch would repeat; run --mpt-accumulate before --mpt-data-parallel
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- open.mlir
// CHECK: mpt-data-parallel: expected static shapes
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<?x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- mesh.mlir
// CHECK: mpt-data-parallel: expected a module without a mesh, or with #mpt.mesh<data = 2>, found #mpt.mesh<data = 3>
module attributes {mpt.mesh = #mpt.mesh<data = 3>} {
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
}

//--- loop.mlir
// CHECK: mpt-data-parallel: 'mpt.batch_norm' is in a loop, where ranks cannot exchange its statistics; unroll the loop with --mpt-unroll-scan, or leave out batch-norm
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<3x8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %zero = mpt.constant dense<0.0> : tensor<4xf32>
  %start = mpt.constant dense<0.0> : tensor<8x4xf32>
  %y = mpt.scan 3 carry(%start : tensor<8x4xf32>) over(%x : tensor<3x8x4xf32>) {
  ^bb0(%h: tensor<8x4xf32>, %xt: tensor<8x4xf32>):
    %0, %nm, %nv, %m, %r = mpt.batch_norm %xt, %w, %zero, %zero, %zero {momentum = 0.1 : f64}
        : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %1 = mpt.add %h, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    mpt.yield %1 : tensor<8x4xf32>
  } : tensor<8x4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- gradient.mlir
// CHECK: mpt-data-parallel: a gradient depends on state that each micro-batch hands to the next, and ranks run micro-batches at the same time; use --mpt-accumulate on one rank, or do not update that state in the step
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %s: tensor<4xf32> {mpt.name = "s", mpt.role = "running_stat"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<4xf32> {mpt.name = "s", mpt.updates = "s"}) {
  %n = mpt.reduce %x {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %s1 = mpt.add %s, %n : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v = mpt.mul %w, %s1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = mpt.mul %x, %v : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %l, %s1 : tensor<f32>, tensor<4xf32>
}

//--- result.mlir
// CHECK: mpt-data-parallel: the result "seen" depends on state that each micro-batch hands to the next, and ranks run micro-batches at the same time; use --mpt-accumulate on one rank, or do not return it
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %s: tensor<f32> {mpt.name = "s", mpt.role = "running_stat"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<f32> {mpt.name = "s", mpt.updates = "s"},
        tensor<f32> {mpt.name = "seen"}) {
  %y = mpt.mul %x, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  %s1 = mpt.add %s, %l : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %seen = mpt.exp %s1 : (tensor<f32>) -> tensor<f32>
  return %l, %s1, %seen : tensor<f32>, tensor<f32>, tensor<f32>
}

//--- kind.mlir
// CHECK: 'mpt.all_reduce' op of the kind max has no gradient; use the kind sum or mean, or mpt.stop_gradient
module attributes {mpt.mesh = #mpt.mesh<data = 3>} {
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %l = mpt.all_reduce %w {axis = "data", kind = #mpt.collective_kind<max>} : (tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
}
