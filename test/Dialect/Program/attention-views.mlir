// Attention on GPUs takes strides: what is [B, T, H, D] is read and written where it lies, and
// no launch transposes it.
// RUN: mpt-opt %s --split-input-file --mpt-plan-step="target='cuda sm_90'" | FileCheck %s
// On CPUs the transposes are kernels.
// RUN: mpt-opt %s --split-input-file --mpt-plan-step | FileCheck %s --check-prefix=CPU
// CPU-NOT: strided

// CHECK-LABEL: mpt_program.program @forward
// CHECK-NOT: mpt_program.launch
// CHECK-NOT: mpt_program.copy
// CHECK-DAG: %[[Q:.*]] = mpt_program.buffer <input> 0 : memref<2x4x128x64xbf16, strided<[32768, 64, 256, 1]>>
// CHECK-DAG: %[[K:.*]] = mpt_program.buffer <input> 1 : memref<2x4x128x64xbf16, strided<[32768, 64, 256, 1]>>
// CHECK-DAG: %[[Y:.*]] = mpt_program.buffer <output> 0 : memref<2x4x128x64xbf16, strided<[32768, 64, 256, 1]>>
// CHECK: mpt_program.attention ins(%[[Q]], %[[K]], %[[K]] : {{.*}}) outs(%[[Y]], {{.*}})
func.func @forward(%q0: tensor<2x128x4x64xbf16> {mpt.name = "q", mpt.role = "input"}, %k0: tensor<2x128x4x64xbf16> {mpt.name = "k", mpt.role = "input"}) -> (tensor<2x128x4x64xbf16> {mpt.name = "y"}, tensor<2x4x128xf32> {mpt.name = "lse"}) {
  %q = mpt.transpose %q0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x128x4x64xbf16>) -> tensor<2x4x128x64xbf16>
  %k = mpt.transpose %k0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x128x4x64xbf16>) -> tensor<2x4x128x64xbf16>
  %y, %lse = mpt.attention %q, %k, %k : (tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>) -> (tensor<2x4x128x64xbf16>, tensor<2x4x128xf32>)
  %r = mpt.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x128x64xbf16>) -> tensor<2x128x4x64xbf16>
  return %r, %lse : tensor<2x128x4x64xbf16>, tensor<2x4x128xf32>
}

// -----

// The gradient reads the result where attention wrote it, and writes into the transposes.
// CHECK-LABEL: mpt_program.program @backward
// CHECK-NOT: mpt_program.launch
// CHECK: mpt_program.attention ins({{.*}}strided{{.*}}) outs(%[[Y:[0-9]+]], %[[L:[0-9]+]] : {{.*}})
// CHECK: mpt_program.attention_grad ins(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %[[Y]], %[[L]] : {{.*}}) outs({{.*}} : memref<2x4x128x64xbf16, strided<[32768, 64, 256, 1]>>, memref<2x4x128x64xbf16, strided<[32768, 64, 256, 1]>>, memref<2x4x128x64xbf16>)
func.func @backward(%q0: tensor<2x128x4x64xbf16> {mpt.name = "q", mpt.role = "input"}, %k: tensor<2x4x128x64xbf16> {mpt.name = "k", mpt.role = "input"}, %d0: tensor<2x128x4x64xbf16> {mpt.name = "d", mpt.role = "input"}) -> (tensor<2x128x4x64xbf16> {mpt.name = "y"}, tensor<2x128x4x64xbf16> {mpt.name = "dq"}, tensor<2x128x4x64xbf16> {mpt.name = "dk"}, tensor<2x4x128x64xbf16> {mpt.name = "dv"}) {
  %q = mpt.transpose %q0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x128x4x64xbf16>) -> tensor<2x4x128x64xbf16>
  %d = mpt.transpose %d0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x128x4x64xbf16>) -> tensor<2x4x128x64xbf16>
  %y, %lse = mpt.attention %q, %k, %k {causal} : (tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>) -> (tensor<2x4x128x64xbf16>, tensor<2x4x128xf32>)
  %r = mpt.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x128x64xbf16>) -> tensor<2x128x4x64xbf16>
  %dq, %dk, %dv = mpt.attention_grad %d, %q, %k, %k, %y, %lse {causal} : (tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>, tensor<2x4x128xf32>) -> (tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>)
  %dq1 = mpt.transpose %dq {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x128x64xbf16>) -> tensor<2x128x4x64xbf16>
  %dk1 = mpt.transpose %dk {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x128x64xbf16>) -> tensor<2x128x4x64xbf16>
  return %r, %dq1, %dk1, %dv : tensor<2x128x4x64xbf16>, tensor<2x128x4x64xbf16>, tensor<2x128x4x64xbf16>, tensor<2x4x128x64xbf16>
}

// -----

// What something else reads too, or rows that do not stay whole, are moved.
// CHECK-LABEL: mpt_program.program @others
// CHECK-NOT: strided
// CHECK: mpt_program.attention
// CHECK-NOT: strided
// CHECK: mpt_kernel.func
func.func @others(%q0: tensor<2x128x4x64xbf16> {mpt.name = "q", mpt.role = "input"}, %k0: tensor<2x4x64x128xbf16> {mpt.name = "k", mpt.role = "input"}) -> (tensor<2x4x128x64xbf16> {mpt.name = "y"}, tensor<2x4x128x64xbf16> {mpt.name = "t"}) {
  %q = mpt.transpose %q0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x128x4x64xbf16>) -> tensor<2x4x128x64xbf16>
  %k = mpt.transpose %k0 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x64x128xbf16>) -> tensor<2x4x128x64xbf16>
  %y, %lse = mpt.attention %q, %k, %k : (tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>) -> (tensor<2x4x128x64xbf16>, tensor<2x4x128xf32>)
  return %y, %q : tensor<2x4x128x64xbf16>, tensor<2x4x128x64xbf16>
}
