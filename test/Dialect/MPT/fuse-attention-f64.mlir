// The CPU's call of attention has sums in f32: what asks for f64 is not fused.
// RUN: mpt-opt %s --mpt-fuse-attention --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-fuse-attention --split-input-file --remarks-filter=mpt.cpu -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @f64(
// CHECK-NOT: fused
// REMARK: remark: [Missed] mpt.cpu.attention-decomposed {{.*}}it reads or makes tensor<1x4x256x32xf64>; it takes f32, f16 and bf16
func.func @f64(%q: tensor<1x4x256x32xf64> {mpt.name = "q", mpt.role = "input"}) -> (tensor<1x4x256x32xf64> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q : (tensor<1x4x256x32xf64>, tensor<1x4x256x32xf64>, tensor<1x4x256x32xf64>) -> (tensor<1x4x256x32xf64>, tensor<1x4x256xf64>)
  return %y : tensor<1x4x256x32xf64>
}

// -----

// CHECK-LABEL: func.func @sums(
// CHECK-NOT: fused
// REMARK: remark: [Missed] mpt.cpu.attention-decomposed {{.*}}its sums are f64, not f32
func.func @sums(%q: tensor<1x4x256x32xf32> {mpt.name = "q", mpt.role = "input"}) -> (tensor<1x4x256x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q {acc_type = f64} : (tensor<1x4x256x32xf32>, tensor<1x4x256x32xf32>, tensor<1x4x256x32xf32>) -> (tensor<1x4x256x32xf32>, tensor<1x4x256xf32>)
  return %y : tensor<1x4x256x32xf32>
}
