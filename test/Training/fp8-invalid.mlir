// RUN: not mpt-opt %s --mpt-fp8="recipe=later" 2>&1 | FileCheck %s --check-prefix=RECIPE
// RUN: not mpt-opt %s --mpt-fp8="format=e3m4" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not mpt-opt %s --mpt-fp8="amax=mean" 2>&1 | FileCheck %s --check-prefix=AMAX
// RUN: not mpt-opt %s --mpt-fp8="history=0" 2>&1 | FileCheck %s --check-prefix=HISTORY
// RUN: not mpt-opt %s --mpt-fp8="keep=(" 2>&1 | FileCheck %s --check-prefix=KEEP
// RUN: not mpt-opt %s --mpt-fp8="function=none" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not mpt-opt %s --mpt-fp8 --mpt-fp8 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale --mpt-fp8 2>&1 | FileCheck %s --check-prefix=LATE

// RECIPE: error: mpt-fp8: unknown recipe 'later'; expected delayed or current
// FORMAT: error: mpt-fp8: unknown format 'e3m4'; expected hybrid or e4m3
// AMAX: error: mpt-fp8: unknown amax 'mean'; expected max or most_recent
// HISTORY: error: mpt-fp8: expected a history of 1 to 65536 steps, a margin of 0 to 30 and an alignment of at least 1, found 0, 0 and 16
// KEEP: error: mpt-fp8: keep: '(' is not a regular expression: {{.+}}
// FUNCTION: error: mpt-fp8: no function 'none' with a body; name one with function=
// TWICE: error: mpt-fp8: @loss has scales of 8-bit floats already; run this pass once
// LATE: error: mpt-fp8: the loss of @loss is scaled already, so a step that is skipped would not keep the scales of 8-bit floats; run --mpt-loss-scale after this pass
func.func @loss(
    %w: tensor<16x16xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %x: tensor<32x16xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<32x16xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %p = mpt.linear %x, %w : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %loss = mpt.mse_loss %p, %y : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
