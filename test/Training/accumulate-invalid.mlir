// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: not mpt-opt model.mlir --mpt-accumulate="steps=2" 2>&1 | FileCheck model.mlir --check-prefix=MARKER
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-accumulate="steps=0" 2>&1 | FileCheck model.mlir --check-prefix=STEPS
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-accumulate="steps=1000000000" 2>&1 | FileCheck model.mlir --check-prefix=MOST
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-accumulate="steps=2 function=net" 2>&1 | FileCheck model.mlir --check-prefix=FUNCTION
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-accumulate="steps=2 shared=y" 2>&1 | FileCheck model.mlir --check-prefix=SHARED
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-accumulate="steps=2 shared=x" 2>&1 | FileCheck model.mlir --check-prefix=NONE
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-train-step --mpt-accumulate="steps=2" 2>&1 | FileCheck model.mlir --check-prefix=ORDER
// RUN: not mpt-opt model.mlir --mpt-autodiff --mpt-accumulate="steps=2" --mpt-accumulate="steps=2" 2>&1 | FileCheck model.mlir --check-prefix=TWICE
// RUN: not mpt-opt open.mlir --mpt-autodiff --mpt-accumulate="steps=2" 2>&1 | FileCheck open.mlir
// RUN: mpt-opt open.mlir --mpt-specialize="batch=4" --mpt-autodiff --mpt-accumulate="steps=2" | FileCheck open.mlir --check-prefix=CUT

//--- model.mlir
// MARKER: mpt-accumulate: expected one mpt.gradients op, found 0; run --mpt-autodiff first
// STEPS: mpt-accumulate: expected at least 1 for steps, found 0
// MOST: mpt-accumulate: 1000000000 micro-batches of {{[0-9]+}} ops each are more than 4194304 ops; use fewer micro-batches
// FUNCTION: mpt-accumulate: no function 'net' with a body
// SHARED: mpt-accumulate: no argument named 'y', which shared names
// NONE: mpt-accumulate: no data to cut: expected an argument of role input or target with a dimension
// ORDER: mpt-accumulate: expected gradients that nothing uses yet, found 'mpt.adamw'; run --mpt-accumulate right after --mpt-autodiff
// TWICE: mpt-accumulate: the gradients are accumulated already; give all micro-batches in steps
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- open.mlir
// CHECK: mpt-accumulate: expected static shapes, found 'tensor<?x4xf32>'; run --mpt-specialize first
// CUT: %{{.*}}: tensor<8x4xf32> {mpt.name = "x"
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<?x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.mul %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
