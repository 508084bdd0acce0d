// Matmuls in the body of a loop keep their types, and a remark says so. Unrolled before,
// they take part, those of the backward pass, too.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step=optimizer=sgd -o %t
// RUN: mpt-opt %t --mpt-fp8=recipe=mxfp8 --remarks-filter="mpt\.fp8" 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: mpt-opt %t --mpt-fp8=recipe=current --remarks-filter="mpt\.fp8" 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: mpt-opt %t --mpt-unroll-scan --mpt-fp8="recipe=mxfp8 quantize-head" 2>&1 | FileCheck %s --check-prefix=UNROLLED
// RUN: mpt-opt %t --mpt-unroll-scan --mpt-fp8=recipe=current 2>&1 | FileCheck %s --check-prefix=CURRENT

// LOOP-COUNT-3: remark: [Missed] mpt.fp8.kept{{.*}}it is in the body of an mpt.scan; run --mpt-unroll-scan before this pass
// LOOP: warning: mpt-fp8: found nothing to do: there is no matmul that can take 8-bit floats in @loss (the first keeps its types: it is in the body of an mpt.scan; run --mpt-unroll-scan before this pass; remarks mpt.fp8.kept name all)
// LOOP-NOT: f8E4M3FN
// LOOP: mpt.linear {{.*}} -> tensor<32x128xf32>
// UNROLLED-NOT: warning:
// UNROLLED-COUNT-6: mpt.scaled_matmul
// UNROLLED-NOT: mpt.{{linear|matmul|scan }}
// CURRENT-NOT: warning:
// CURRENT-COUNT-2: mpt.linear {{.*}} : (tensor<32x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>)
// CURRENT-COUNT-4: mpt.matmul {{.*}}f8E5M2
func.func @loss(
    %w: tensor<2x128x128xf32> {mpt.name = "w", mpt.role = "parameter"},
    %x: tensor<32x128xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<32x128xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %r = mpt.scan 2 carry(%x : tensor<32x128xf32>) over(%w : tensor<2x128x128xf32>) {
  ^bb0(%a: tensor<32x128xf32>, %b: tensor<128x128xf32>):
    %h = mpt.linear %a, %b : (tensor<32x128xf32>, tensor<128x128xf32>) -> tensor<32x128xf32>
    %t = mpt.tanh %h : (tensor<32x128xf32>) -> tensor<32x128xf32>
    mpt.yield %t : tensor<32x128xf32>
  } : tensor<32x128xf32>
  %l = mpt.mse_loss %r, %y : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
