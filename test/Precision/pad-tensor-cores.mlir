// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-pad-tensor-cores="target=sm_90" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-pad-tensor-cores="target=sm_90" --mpt-pad-tensor-cores="target=sm_90" > %t
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-pad-tensor-cores="target=sm_90" | diff - %t
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-pad-tensor-cores="target=cpu-generic" | FileCheck %s --check-prefix=NONE --implicit-check-not=mpt.pad
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-pad-tensor-cores="target=sm_90" --remark-policy=all --remarks-filter='.*' --mlir-print-op-on-diagnostic=false -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-pad-tensor-cores 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: sed 's/module {}/module attributes {mpt.target = 3 : i32} {}/' %s | not mpt-opt --allow-unregistered-dialect --split-input-file --mpt-pad-tensor-cores 2>&1 | FileCheck %s --check-prefix=ATTRIBUTE

// TARGET: error: mpt-pad-tensor-cores: no target is named; give target=sm_90 or the module an attribute mpt.target = "sm_90"
// ATTRIBUTE: error: expected 'mpt.target' to be a machine, such as "sm_90"; found 3 : i32
// NONE: mpt.linear

// A vocabulary of 50257 pays: the weight, the bias and the result, not the rows.
// CHECK-LABEL: func @head
// CHECK-DAG: %[[W:.*]] = mpt.pad {{.*}} -> tensor<768x50264xbf16>
// CHECK-DAG: %[[B:.*]] = mpt.pad {{.*}} -> tensor<50264xf32>
// CHECK: %[[Y:.*]] = mpt.linear %{{.*}}, %[[W]], %[[B]] {{.*}} -> tensor<8191x50264xf32>
// CHECK: mpt.slice %[[Y]] {offsets = array<i64: 0, 0>, sizes = array<i64: 8191, 50257>, strides = array<i64: 1, 1>}
// The gradient of the input: K is 50257 now, contiguous in both. The padded weight is
// there already.
// CHECK: %[[G:.*]] = mpt.pad {{.*}} -> tensor<8191x50264xbf16>
// CHECK: mpt.matmul %[[G]], %[[W]] {transpose_rhs} {{.*}} -> tensor<8191x768xf32>
// CHECK-NOT: mpt.slice
// REMARK-DAG: {{.*}}mpt.pad-tensor-cores.padded{{.*}}8191 x 50257 x 768 to 8191 x 50264 x 768
func.func @head(%x: tensor<8191x768xbf16>, %w: tensor<768x50257xbf16>, %b: tensor<50257xf32>, %g: tensor<8191x50257xbf16>)
    -> (tensor<8191x50257xf32>, tensor<8191x768xf32>) {
  %y = mpt.linear %x, %w, %b : (tensor<8191x768xbf16>, tensor<768x50257xbf16>, tensor<50257xf32>) -> tensor<8191x50257xf32>
  %d = mpt.matmul %g, %w {transpose_rhs} : (tensor<8191x50257xbf16>, tensor<768x50257xbf16>) -> tensor<8191x768xf32>
  return %y, %d : tensor<8191x50257xf32>, tensor<8191x768xf32>
}

// A small contraction does not pay, an f32 one and one that fits are left alone.
// CHECK-LABEL: func @small
// CHECK-NOT: mpt.pad
// CHECK-LABEL: func @foreign
// REMARK-DAG: {{.*}}mpt.pad-tensor-cores.unaligned{{.*}}3 x 5 x 7 to 3 x 8 x 8: saves 0.0 us at most, costs 6.0 us on sm_90
func.func @small(%a: tensor<3x7xf16>, %b: tensor<7x5xf16>, %c: tensor<4096x4095xf32>, %d: tensor<4096x4096xf16>)
    -> (tensor<3x5xf16>, tensor<4096x4096xf32>, tensor<4096x4096xf16>) {
  %0 = mpt.matmul %a, %b : (tensor<3x7xf16>, tensor<7x5xf16>) -> tensor<3x5xf16>
  %1 = mpt.matmul %c, %c {transpose_rhs} : (tensor<4096x4095xf32>, tensor<4096x4095xf32>) -> tensor<4096x4096xf32>
  %2 = mpt.matmul %d, %d : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
  return %0, %1, %2 : tensor<3x5xf16>, tensor<4096x4096xf32>, tensor<4096x4096xf16>
}

// REMARK-DAG: {{.*}}mpt.pad-tensor-cores.unaligned{{.*}}the last dimension of tensor<8x100xbf16> is 100; multiples of 8 suit the units of sm_90
func.func @foreign(%a: tensor<8x100xbf16>, %b: tensor<100x8xbf16>) -> tensor<8x8xbf16> {
  %0 = "stablehlo.dot"(%a, %b) : (tensor<8x100xbf16>, tensor<100x8xbf16>) -> tensor<8x8xbf16>
  return %0 : tensor<8x8xbf16>
}

// -----
module {}
