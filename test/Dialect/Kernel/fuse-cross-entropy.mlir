// A loss of logits and its gradient.
// RUN: mpt-opt %s --mpt-decompose --cse --mpt-fuse-kernels --cse --split-input-file | FileCheck %s

// One kernel with one exponential, also where the number of rows that count is not known.
// CHECK-LABEL: func.func @one_kernel
//       CHECK:   mpt_kernel.kernel <row>({{.*}} domain [64] {{.*}}(tensor<64xi32>, tensor<f32>) ->
//       CHECK:   mpt_kernel.kernel <column>({{.*}} -> (tensor<f32>, tensor<64x512xbf16>)
// CHECK-COUNT-1:   math.exp
//   CHECK-NOT:   math.exp
//   CHECK-NOT:   mpt_kernel.kernel
//       CHECK:   return
func.func @one_kernel(%x: tensor<64x512xbf16>, %t: tensor<64xi32>, %d: tensor<f32>) -> (tensor<f32>, tensor<64x512xbf16>) {
  %l, %lse = mpt.cross_entropy %x, %t {ignore_index = -100 : i64} : (tensor<64x512xbf16>, tensor<64xi32>) -> (tensor<f32>, tensor<64xf32>)
  %g = mpt.cross_entropy_grad %d, %x, %t, %lse {ignore_index = -100 : i64} : (tensor<f32>, tensor<64x512xbf16>, tensor<64xi32>, tensor<64xf32>) -> tensor<64x512xbf16>
  return %l, %g : tensor<f32>, tensor<64x512xbf16>
}

// -----

// A gradient that comes after a matmul computes the powers again: they are not stored.
// CHECK-LABEL: func.func @after_a_matmul
//       CHECK:   mpt_kernel.kernel <column>({{.*}} -> (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
//       CHECK:   math.exp
//       CHECK:   mpt.matmul
//       CHECK:   mpt_kernel.kernel <pointwise>(
//       CHECK:   math.exp
func.func @after_a_matmul(%x: tensor<64x512xf32>, %t: tensor<64xi32>, %w: tensor<512x512xf32>) -> (tensor<f32>, tensor<64x512xf32>, tensor<64x512xf32>) {
  %l, %lse = mpt.cross_entropy %x, %t : (tensor<64x512xf32>, tensor<64xi32>) -> (tensor<f32>, tensor<64xf32>)
  %y = mpt.matmul %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %g = mpt.cross_entropy_grad %l, %x, %t, %lse : (tensor<f32>, tensor<64x512xf32>, tensor<64xi32>, tensor<64xf32>) -> tensor<64x512xf32>
  return %l, %y, %g : tensor<f32>, tensor<64x512xf32>, tensor<64x512xf32>
}

// -----

// Powers that matmuls read are stored, and serve the sum, too.
// CHECK-LABEL: func.func @read_by_matmuls
//       CHECK:   mpt_kernel.kernel
// CHECK-COUNT-1:   math.exp
//   CHECK-NOT:   math.exp
//   CHECK-NOT:   mpt_kernel.kernel
//       CHECK:   return
func.func @read_by_matmuls(%x: tensor<64x512xf32>, %v: tensor<512x64xf32>, %w: tensor<512x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x1xf32>) {
  %m = mpt.reduce %x {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<max>} : (tensor<64x512xf32>) -> tensor<64x1xf32>
  %d = mpt.sub %x, %m : (tensor<64x512xf32>, tensor<64x1xf32>) -> tensor<64x512xf32>
  %e = mpt.exp %d : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %s = mpt.reduce %e {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<64x512xf32>) -> tensor<64x1xf32>
  %a = mpt.matmul %e, %v : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %b = mpt.matmul %e, %w : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  return %a, %b, %s : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x1xf32>
}
