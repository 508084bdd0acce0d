// RUN: not mpt-opt %s --mpt-fp8="recipe=later" 2>&1 | FileCheck %s --check-prefix=RECIPE
// RUN: not mpt-opt %s --mpt-fp8="format=e3m4" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not mpt-opt %s --mpt-fp8="amax=mean" 2>&1 | FileCheck %s --check-prefix=AMAX
// RUN: not mpt-opt %s --mpt-fp8="history=0" 2>&1 | FileCheck %s --check-prefix=HISTORY
// RUN: not mpt-opt %s --mpt-fp8="keep=(" 2>&1 | FileCheck %s --check-prefix=KEEP
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-fp8="keep=router,mpt.linear" -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNMATCHED --implicit-check-not="'mpt.linear'"
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-fp8="recipe=mxfp8 quantize-head keep=router" -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// RUN: not mpt-opt %s --mpt-fp8="function=none" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not mpt-opt %s --mpt-fp8 --mpt-fp8 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale --mpt-fp8 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not mpt-opt %s --mpt-fp8="recipe=deepseek scales=bf16" 2>&1 | FileCheck %s --check-prefix=SCALES
// RUN: not mpt-opt %s --mpt-fp8="recipe=deepseek saved=both" 2>&1 | FileCheck %s --check-prefix=SAVED
// RUN: not mpt-opt %s --mpt-fp8="recipe=deepseek promotion=64" 2>&1 | FileCheck %s --check-prefix=PROMOTION
// RUN: not mpt-opt %s --mpt-fp8="recipe=mxfp8 promotion=256" 2>&1 | FileCheck %s --check-prefix=MXPROMOTION
// RUN: not mpt-opt %s --mpt-fp8="recipe=mxfp8 accumulator-bits=4" 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not mpt-opt %s --mpt-fp8="recipe=current accumulator-bits=14" 2>&1 | FileCheck %s --check-prefix=CURRENTBITS
// RUN: not mpt-opt %s --mpt-fp8="recipe=mxfp8 scales=f32" 2>&1 | FileCheck %s --check-prefix=MXSCALES
// RUN: not mpt-opt %s --mpt-fp8="recipe=current saved=original" 2>&1 | FileCheck %s --check-prefix=CURRENTSAVED
// RUN: not mpt-opt %s --mpt-fp8="quantize-head" 2>&1 | FileCheck %s --check-prefix=HEAD
// RUN: not mpt-opt %s --mpt-fp8="recipe=current quantize-router" 2>&1 | FileCheck %s --check-prefix=ROUTER
// RUN: not mpt-opt %s --mpt-fp8="recipe=deepseek margin=1" 2>&1 | FileCheck %s --check-prefix=MARGIN
// RUN: not mpt-opt %s --mpt-fp8="recipe=deepseek history=2" 2>&1 | FileCheck %s --check-prefix=BLOCKHISTORY
// RUN: not mpt-opt %s --mpt-fp8="recipe=current history=2" 2>&1 | FileCheck %s --check-prefix=CURRENTHISTORY
// RUN: not mpt-opt %s --mpt-fp8="recipe=current amax=most_recent" 2>&1 | FileCheck %s --check-prefix=CURRENTAMAX
// RUN: not mpt-opt %s --mpt-fp8="recipe=mxfp8 format=e4m3" 2>&1 | FileCheck %s --check-prefix=BLOCKFORMAT
// RUN: not mpt-opt %s --mpt-fp8="recipe=mxfp8 amax=most_recent" 2>&1 | FileCheck %s --check-prefix=BLOCKAMAX
// RUN: not mpt-opt %s --mpt-fp8="recipe=mxfp8 quantize-head" --mpt-fp8="recipe=deepseek quantize-head" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpt-opt %s --mpt-fp8="fast-accumulation=backward" 2>&1 | FileCheck %s --check-prefix=FAST
// RUN: not mpt-opt %s --mpt-fp8="recipe=deepseek fast-accumulation=forward" 2>&1 | FileCheck %s --check-prefix=BLOCKFAST

// FAST: error: mpt-fp8: unknown fast-accumulation 'backward'; expected none, forward or all
// BLOCKFAST: error: mpt-fp8: fast-accumulation is an option of recipe=delayed and recipe=current, and the recipe is deepseek; leave it out
// RECIPE: error: mpt-fp8: unknown recipe 'later'; expected delayed, current, deepseek or mxfp8
// FORMAT: error: mpt-fp8: unknown format 'e3m4'; expected hybrid or e4m3
// AMAX: error: mpt-fp8: unknown amax 'mean'; expected max or most_recent
// HISTORY: error: mpt-fp8: expected a history of 1 to 65536 steps, a margin of 0 to 30 and an alignment of at least 1, found 0, 0 and 16
// KEEP: error: mpt-fp8: keep: '(' is not a regular expression: {{.+}}
// UNMATCHED: warning: mpt-fp8: keep: 'router' matches no matmul of @loss; it is matched with an op's name, location (file:line, name) and function (@name)
// FUNCTION: error: mpt-fp8: no function 'none' with a body; name one with function=
// TWICE: error: mpt-fp8: @loss has scales of 8-bit floats already; run this pass once
// LATE: error: mpt-fp8: the loss of @loss is scaled already, so a step that is skipped would not keep the scales of 8-bit floats; run --mpt-loss-scale after this pass
// SCALES: error: mpt-fp8: unknown scales 'bf16'; expected power_of_two or f32
// SAVED: error: mpt-fp8: unknown saved 'both'; expected quantized or original
// PROMOTION: error: mpt-fp8: expected a promotion that is a multiple of 128, or 0, found 64
// MXPROMOTION: error: mpt-fp8: promotion is an option of recipe=deepseek, and the recipe is mxfp8; leave it out
// BITS: error: mpt-fp8: expected accumulator-bits from 8 to 18, or 0 for f32, found 4
// CURRENTBITS: error: mpt-fp8: accumulator-bits is an option of recipe=deepseek and recipe=mxfp8, and the recipe is current; leave it out
// MXSCALES: error: mpt-fp8: scales is an option of recipe=deepseek, and the recipe is mxfp8; leave it out
// CURRENTSAVED: error: mpt-fp8: saved is an option of recipe=deepseek, and the recipe is current; leave it out
// HEAD: error: mpt-fp8: quantize-head is an option of recipe=deepseek and recipe=mxfp8, and the recipe is delayed; leave it out
// ROUTER: error: mpt-fp8: quantize-router is an option of recipe=deepseek and recipe=mxfp8, and the recipe is current; leave it out
// MARGIN: error: mpt-fp8: margin is an option of recipe=delayed and recipe=current, and the recipe is deepseek; leave it out
// BLOCKHISTORY: error: mpt-fp8: history is an option of recipe=delayed, and the recipe is deepseek; leave it out
// CURRENTHISTORY: error: mpt-fp8: history is an option of recipe=delayed, and the recipe is current; leave it out
// CURRENTAMAX: error: mpt-fp8: amax is an option of recipe=delayed, and the recipe is current; leave it out
// BLOCKFORMAT: error: mpt-fp8: format is an option of recipe=delayed and recipe=current, and the recipe is mxfp8; leave it out
// BLOCKAMAX: error: mpt-fp8: amax is an option of recipe=delayed, and the recipe is mxfp8; leave it out
func.func @loss(
    %w: tensor<16x16xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %x: tensor<32x16xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<32x16xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %p = mpt.linear %x, %w : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %loss = mpt.mse_loss %p, %y : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
