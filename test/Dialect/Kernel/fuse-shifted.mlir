// Half-precision results of library calls from which a mean is taken, and which are scaled, are
// kept as they are: each reader shifts and scales what it reads, and no f32 tensor is kept for
// the backward pass.
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func @norm
// CHECK-NOT: tensor<64x32xf32>
// CHECK: return
func.func @norm(%a: tensor<64x32xbf16>, %w: tensor<32x32xbf16>, %factor: tensor<32xf32>) -> (tensor<64x32xbf16>, tensor<32xf32>) {
  %x = mpt.matmul %a, %w : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
  %mean = mpt.reduce %x {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>} : (tensor<64x32xbf16>) -> tensor<32xf32>
  %centered = mpt.sub %x, %mean : (tensor<64x32xbf16>, tensor<32xf32>) -> tensor<64x32xf32>
  %scaled = mpt.mul %centered, %factor : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %y = mpt.cast %scaled : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  %z = mpt.matmul %y, %w : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
  %product = mpt.mul %z, %scaled : (tensor<64x32xbf16>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %sum = mpt.reduce %product {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<32xf32>
  return %z, %sum : tensor<64x32xbf16>, tensor<32xf32>
}

// -----

// Nor is one kept if a kernel computes the narrow tensor and the mean.
// CHECK-LABEL: func @computed_norm
// CHECK-NOT: tensor<64x32xf32>
// CHECK: return
func.func @computed_norm(%a: tensor<64x32xbf16>, %w: tensor<32x32xbf16>) -> (tensor<64x32xbf16>, tensor<64x1xf32>) {
  %x = mpt.exp %a : (tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %mean = mpt.reduce %x {kind = #mpt.reduce_kind<mean>, axes = array<i64: 1>, keep_dims} : (tensor<64x32xbf16>) -> tensor<64x1xf32>
  %centered = mpt.sub %x, %mean : (tensor<64x32xbf16>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %y = mpt.cast %centered : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  %z = mpt.matmul %y, %w : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
  %product = mpt.mul %z, %centered : (tensor<64x32xbf16>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %sum = mpt.reduce %product {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>, keep_dims} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  return %z, %sum : tensor<64x32xbf16>, tensor<64x1xf32>
}

// -----

// Of a tensor that a kernel computes, and that would have to be stored for it, a multiple is
// kept.
// CHECK-LABEL: func @computed
// CHECK: mpt_kernel.kernel {{.*}}tensor<64x32xf32>
// CHECK: mpt.matmul
// CHECK: mpt_kernel.kernel {{.*}}tensor<64x32xf32>
func.func @computed(%a: tensor<64x32xbf16>, %w: tensor<32x32xbf16>, %factor: tensor<32xf32>) -> (tensor<64x32xbf16>, tensor<32xf32>) {
  %x = mpt.exp %a : (tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %scaled = mpt.mul %x, %factor : (tensor<64x32xbf16>, tensor<32xf32>) -> tensor<64x32xf32>
  %y = mpt.cast %scaled : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  %z = mpt.matmul %y, %w : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
  %product = mpt.mul %z, %scaled : (tensor<64x32xbf16>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %sum = mpt.reduce %product {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<32xf32>
  return %z, %sum : tensor<64x32xbf16>, tensor<32xf32>
}

// -----

// Nor is there anything to gain in f32.
// CHECK-LABEL: func @wide
// CHECK: mpt.matmul
// CHECK: mpt_kernel.kernel {{.*}} -> ({{.*}}tensor<64x32xf32>
// CHECK: mpt.matmul
func.func @wide(%a: tensor<64x32xf32>, %w: tensor<32x32xf32>, %factor: tensor<32xf32>) -> (tensor<64x32xf32>, tensor<32xf32>) {
  %x = mpt.matmul %a, %w : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %scaled = mpt.mul %x, %factor : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %y = mpt.relu %scaled : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %z = mpt.matmul %y, %w : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %product = mpt.mul %z, %scaled : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %sum = mpt.reduce %product {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<32xf32>
  return %z, %sum : tensor<64x32xf32>, tensor<32xf32>
}
