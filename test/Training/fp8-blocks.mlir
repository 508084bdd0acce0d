// Matmuls of 8-bit floats with a scale for each block, in linear layers alone.
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-fp8="recipe=deepseek" --mpt-loss-scale --mpt-validate-loss-scale | FileCheck %s
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-fp8="recipe=deepseek saved=original scales=f32 promotion=0 quantize-head" | FileCheck %s --check-prefix=OPTIONS
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-fp8="recipe=mxfp8" | FileCheck %s --check-prefix=MX
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-fp8="recipe=deepseek" --remarks-filter="mpt\.fp8" 2>&1 | FileCheck %s --check-prefix=REMARKS
// RUN: mpt-opt %s --mpt-fp8="function=others recipe=deepseek" --remarks-filter="mpt\.fp8" 2>&1 | FileCheck %s --check-prefix=OTHERS
// A scaled loss: blocks have no state, so the order of the passes does not matter.
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" --mpt-loss-scale --mpt-fp8="recipe=deepseek" --mpt-validate-loss-scale | FileCheck %s

// Nothing takes part: the function stays as it is.
// RUN: mpt-opt %s --mpt-fp8="function=others recipe=deepseek" -o %t.others
// RUN: mpt-opt %s | diff %t.others -
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=sgd" -o %t.step
// RUN: mpt-opt %t.step --mpt-fp8="recipe=mxfp8 keep=mpt.linear" | diff %t.step -

// Told to, what a norm and SwiGLU give is computed again, with the 8-bit copies.
// RUN: mpt-opt %s --mpt-autodiff="function=gated" --mpt-train-step="function=gated optimizer=sgd" --mpt-fp8="function=gated recipe=deepseek recompute=norms,swiglu" | FileCheck %s --check-prefix=AGAIN
// RUN: mpt-opt %s --mpt-autodiff="function=gated" --mpt-train-step="function=gated optimizer=sgd" --mpt-fp8="function=gated recipe=deepseek recompute=swiglu" | FileCheck %s --check-prefix=GATE
// RUN: not mpt-opt %s --mpt-fp8="function=others recipe=deepseek recompute=gelu" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not mpt-opt %s --mpt-fp8="function=others recipe=current recompute=norms" 2>&1 | FileCheck %s --check-prefix=UNREAD
// WORD: mpt-fp8: unknown recompute 'gelu'; expected norms or swiglu
// UNREAD: mpt-fp8: recompute is an option of recipe=deepseek and recipe=mxfp8, and the recipe is current; leave it out

// The head keeps its types; all others read blocks. The input is held back in 8 bits alone:
// nothing after the forward pass reads %arg4 (x).
// CHECK-LABEL: func.func @loss
//   CHECK-DAG:   %[[W2:.+]], %[[SW2:.+]] = mpt.quantize %arg2 {block = array<i64: 128, 128>, rule = #mpt.scale_rule<power_of_two>} : (tensor<128x384xf32>) -> (tensor<128x384xf8E4M3FN>, tensor<1x3xf32>)
//   CHECK-DAG:   %[[W1:.+]], %[[SW1:.+]] = mpt.quantize %arg0 {block = array<i64: 128, 128>, rule = #mpt.scale_rule<power_of_two>}
//       CHECK:   %[[X:.+]], %[[SX:.+]] = mpt.quantize %{{.*}} {block = array<i64: 1, 128>, {{.*}}} : (tensor<128x256xf32>) -> (tensor<128x256xf8E4M3FN>, tensor<128x2xf32>)
//       CHECK:   %[[Y:.+]] = mpt.scaled_matmul %[[X]], %[[SX]], %[[W1]], %[[SW1]] {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>}
//       CHECK:   %[[Z:.+]] = mpt.reshape %[[Y]] : (tensor<128x384xf32>) -> tensor<2x64x384xf32>
//       CHECK:   mpt.add %[[Z]], %arg1
//       CHECK:   %[[H:.+]], %[[SH:.+]] = mpt.quantize %{{.*}} {block = array<i64: 1, 128>, {{.*}}} : (tensor<128x384xf32>)
//       CHECK:   mpt.scaled_matmul %[[H]], %[[SH]], %[[W2]], %[[SW2]] {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>, transpose_rhs}
//       CHECK:   mpt.linear %{{.*}}, %arg3 : (tensor<2x64x128xf32>, tensor<128x16xf32>)
//       CHECK:   mpt.matmul {{.*}} : (tensor<2x64x16xf32>, tensor<128x16xf32>)
//       CHECK:   mpt.matmul {{.*}} : (tensor<128x128xf32>, tensor<128x16xf32>)
//   CHECK-DAG:   %[[GK:.+]], %[[SGK:.+]] = mpt.quantize %{{.*}} {block = array<i64: 128, 1>, {{.*}}} : (tensor<128x128xf32>)
//   CHECK-DAG:   %[[G:.+]], %[[SG:.+]] = mpt.quantize %{{.*}} {block = array<i64: 1, 128>, {{.*}}} : (tensor<128x128xf32>)
//       CHECK:   mpt.scaled_matmul %[[G]], %[[SG]], %[[W2]], %[[SW2]] {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>}
//       CHECK:   %[[D:.+]] = mpt.dequantize %[[H]], %[[SH]] {block = array<i64: 1, 128>}
//       CHECK:   %[[HK:.+]], %[[SHK:.+]] = mpt.quantize %[[D]] {block = array<i64: 128, 1>, {{.*}}}
//       CHECK:   mpt.scaled_matmul %[[GK]], %[[SGK]], %[[HK]], %[[SHK]] {lhs_block = array<i64: 128, 1>, rhs_block = array<i64: 128, 1>, transpose_lhs}
//       CHECK:   %[[E:.+]] = mpt.dequantize %[[X]], %[[SX]] {block = array<i64: 1, 128>}
//       CHECK:   %[[XK:.+]], %[[SXK:.+]] = mpt.quantize %[[E]] {block = array<i64: 128, 1>, {{.*}}}
//       CHECK:   mpt.scaled_matmul %[[XK]], %[[SXK]],
//   CHECK-NOT:   mpt.scaled_matmul

// Told to: scales of f32 (the default rule, which is not printed), no promotion, all from
// the original, and the head takes part.
// OPTIONS-LABEL: func.func @loss
//     OPTIONS-NOT:   mpt.dequantize
//     OPTIONS-NOT:   mpt.linear
//     OPTIONS-NOT:   power_of_two
// OPTIONS-COUNT-8:   mpt.scaled_matmul {{.*}}promotion = 0 : i64
//     OPTIONS-NOT:   mpt.scaled_matmul
//         OPTIONS: func.func @others

// Blocks of 32 along K, both ways, from the original.
// MX-LABEL: func.func @loss
//     MX-NOT:   mpt.dequantize
// MX-DAG:   mpt.quantize %arg0 {block = array<i64: 32, 1>, rule = #mpt.scale_rule<power_of_two>} : (tensor<256x384xf32>) -> (tensor<256x384xf8E4M3FN>, tensor<8x384xf8E8M0FNU>)
// MX-DAG:   mpt.quantize %arg2 {block = array<i64: 1, 32>, {{.*}}} : (tensor<128x384xf32>) -> (tensor<128x384xf8E4M3FN>, tensor<128x12xf8E8M0FNU>)
// MX-DAG:   mpt.quantize %arg2 {block = array<i64: 32, 1>,
//     MX:   mpt.scaled_matmul {{.*}} {lhs_block = array<i64: 1, 32>, promotion = 0 : i64, rhs_block = array<i64: 32, 1>}
//     MX:   mpt.scaled_matmul {{.*}} {lhs_block = array<i64: 1, 32>, promotion = 0 : i64, rhs_block = array<i64: 1, 32>, transpose_rhs}
//     MX:   mpt.scaled_matmul {{.*}} {lhs_block = array<i64: 32, 1>, promotion = 0 : i64, rhs_block = array<i64: 32, 1>, transpose_lhs}
// MX: func.func @others

// REMARKS-DAG: remark: [Missed] mpt.fp8.kept{{.*}}a loss reads its result; quantize-head lets it take part
// REMARKS-DAG: remark: [Missed] mpt.fp8.kept{{.*}}the layer whose gradient it computes keeps its types
// REMARKS-DAG: remark: [Passed] mpt.fp8.product{{.*}}f8E4M3FN in blocks of 1x128 by f8E4M3FN in blocks of 128x128
// REMARKS-DAG: remark: [Passed] mpt.fp8.product{{.*}}f8E4M3FN in blocks of 128x1 by f8E4M3FN in blocks of 128x1, made from the 8-bit copy

// OTHERS-DAG: remark: [Missed] mpt.fp8.kept{{.*}}both operands are batches, as inside attention
// OTHERS-DAG: remark: [Missed] mpt.fp8.kept{{.*}}its operands are not those of a linear layer or of its gradients
// OTHERS-DAG: remark: [Missed] mpt.fp8.kept{{.*}}the sizes of tensor<5x16xf32> are not multiples of 16
// OTHERS: warning: mpt-fp8: found nothing to do: there is no matmul that can take 8-bit floats in @others (the first keeps its types: {{.+}}; remarks mpt.fp8.kept name all)

func.func @loss(
    %w1: tensor<256x384xf32> {mpt.name = "w1", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %b1: tensor<384xf32> {mpt.name = "b1", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %w2: tensor<128x384xf32> {mpt.name = "w2", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %w3: tensor<128x16xf32> {mpt.name = "w3", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %x: tensor<2x64x256xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<2x64x16xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.linear %x, %w1, %b1 : (tensor<2x64x256xf32>, tensor<256x384xf32>, tensor<384xf32>) -> tensor<2x64x384xf32>
  %1 = mpt.tanh %0 : (tensor<2x64x384xf32>) -> tensor<2x64x384xf32>
  %2 = mpt.linear %1, %w2 {transpose_weight} : (tensor<2x64x384xf32>, tensor<128x384xf32>) -> tensor<2x64x128xf32>
  %3 = mpt.tanh %2 : (tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %4 = mpt.linear %3, %w3 : (tensor<2x64x128xf32>, tensor<128x16xf32>) -> tensor<2x64x16xf32>
  %loss = mpt.mse_loss %4, %y : (tensor<2x64x16xf32>, tensor<2x64x16xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

func.func @others(%q: tensor<2x16x16xf32>, %k: tensor<2x16x16xf32>, %a: tensor<16x16xf32>, %b: tensor<16x16xf32>,
    %w: tensor<16x16xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %odd: tensor<5x16xf32>) -> (tensor<2x16x16xf32>, tensor<16x16xf32>, tensor<5x16xf32>) {
  %0 = mpt.matmul %q, %k {transpose_rhs} : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %1 = mpt.matmul %a, %b : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = mpt.linear %odd, %w : (tensor<5x16xf32>, tensor<16x16xf32>) -> tensor<5x16xf32>
  return %0, %1, %2 : tensor<2x16x16xf32>, tensor<16x16xf32>, tensor<5x16xf32>
}

// AGAIN-LABEL: func.func @gated
//       AGAIN:   mpt.rms_norm {{.*}}mpt.save = "never"
//       AGAIN:   mpt.quantize {{.*}}mpt.save = "never"
//       AGAIN:   mpt.silu {{.*}}mpt.save = "never"
//       AGAIN:   mpt.mul {{.*}}mpt.save = "never"
//       AGAIN:   mpt.quantize {{.*}}mpt.save = "never"
//       AGAIN:   mpt.grad_seed
//   AGAIN-NOT:   mpt.save

// GATE-LABEL: func.func @gated
//   GATE-NOT:   mpt.save
//       GATE:   mpt.silu {{.*}}mpt.save = "never"
//       GATE:   mpt.grad_seed
func.func @gated(
    %g: tensor<128xf32> {mpt.name = "g", mpt.role = "parameter"},
    %w1: tensor<128x128xf32> {mpt.name = "w1", mpt.role = "parameter"},
    %w2: tensor<128x128xf32> {mpt.name = "w2", mpt.role = "parameter"},
    %w3: tensor<128x128xf32> {mpt.name = "w3", mpt.role = "parameter"},
    %w4: tensor<128x16xf32> {mpt.name = "w4", mpt.role = "parameter"},
    %x: tensor<32x128xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<32x16xf32> {mpt.name = "y", mpt.role = "target"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %n, %r = mpt.rms_norm %x, %g : (tensor<32x128xf32>, tensor<128xf32>) -> (tensor<32x128xf32>, tensor<32xf32>)
  %a = mpt.linear %n, %w1 : (tensor<32x128xf32>, tensor<128x128xf32>) -> tensor<32x128xf32>
  %b = mpt.linear %n, %w2 : (tensor<32x128xf32>, tensor<128x128xf32>) -> tensor<32x128xf32>
  %s = mpt.silu %a : (tensor<32x128xf32>) -> tensor<32x128xf32>
  %m = mpt.mul %s, %b : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<32x128xf32>
  %c = mpt.linear %m, %w3 : (tensor<32x128xf32>, tensor<128x128xf32>) -> tensor<32x128xf32>
  %p = mpt.linear %c, %w4 : (tensor<32x128xf32>, tensor<128x16xf32>) -> tensor<32x16xf32>
  %l = mpt.mse_loss %p, %y : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
