// Attention that device functions do is marked and stays one op, down to the program; the
// rest is decomposed.
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 | FileCheck %s
// RUN: mpt-opt %s --mpt-legalize-for-gpu="chip=sm_90 fused-attention=false" | FileCheck %s --check-prefix=NONE
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 --mpt-decompose | FileCheck %s --check-prefix=STAYS
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_90' function=f16" | FileCheck %s --check-prefix=PROGRAM
// A CPU does not do it.
// RUN: not mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 --mpt-assign-buffers=function=f16 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: 'mpt.attention' is not decomposed; run --mpt-decompose before planning
// NONE-NOT: fused

// CHECK-LABEL: func.func @f16(
// CHECK: mpt.attention %{{.*}} {causal, fused} :
// STAYS-LABEL: func.func @f16(
// STAYS: mpt.attention
// PROGRAM: mpt_program.program @f16 attributes {{.*}}target = #mpt.target<cuda, [sm_90]>
// PROGRAM: mpt_program.attention ins({{.*}}) outs({{.*}}) {causal}
func.func @f16(%q: tensor<1x2x16x32xf16> {mpt.name = "q", mpt.role = "input"}) -> (tensor<1x2x16x32xf16> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q {causal} : (tensor<1x2x16x32xf16>, tensor<1x2x16x32xf16>, tensor<1x2x16x32xf16>) -> (tensor<1x2x16x32xf16>, tensor<1x2x16xf32>)
  return %y : tensor<1x2x16x32xf16>
}

// CHECK-LABEL: func.func @f32(
// CHECK: mpt.attention %{{.*}} {causal} :
// STAYS-LABEL: func.func @f32(
// STAYS-NOT: mpt.attention
func.func @f32(%q: tensor<1x2x16x32xf32> {mpt.name = "q", mpt.role = "input"}) -> (tensor<1x2x16x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q {causal} : (tensor<1x2x16x32xf32>, tensor<1x2x16x32xf32>, tensor<1x2x16x32xf32>) -> (tensor<1x2x16x32xf32>, tensor<1x2x16xf32>)
  return %y : tensor<1x2x16x32xf32>
}

// The matmuls of a scan are those of its iterations.
// CHECK-LABEL: func.func @scan(
// CHECK-NOT: mpt.scan
// CHECK-COUNT-3: mpt.matmul
// CHECK-NOT: mpt.matmul
func.func @scan(%c: tensor<16x16xf16> {mpt.name = "c", mpt.role = "input"}, %w: tensor<16x16xf16> {mpt.name = "w", mpt.role = "input"}) -> (tensor<16x16xf16> {mpt.name = "y"}) {
  %y = mpt.scan 3 carry(%c : tensor<16x16xf16>) {
  ^bb0(%h: tensor<16x16xf16>):
    %n = mpt.matmul %h, %w : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
    mpt.yield %n : tensor<16x16xf16>
  } : tensor<16x16xf16>
  return %y : tensor<16x16xf16>
}
