// Softmax's gradient and the sum of it over rows: one kernel, unless its rows are longer than
// most-summed-columns. A sum without reductions of rows fuses in any case.
// RUN: mpt-opt %s --mpt-fuse-kernels | FileCheck %s --check-prefixes=ANY,WHOLE
// RUN: mpt-opt %s --mpt-fuse-kernels="most-summed-columns=64" | FileCheck %s --check-prefixes=ANY,WHOLE
// RUN: mpt-opt %s --mpt-fuse-kernels="most-summed-columns=63" | FileCheck %s --check-prefixes=ANY,CUT

// ANY-LABEL: func.func @rows
// WHOLE: mpt_kernel.kernel <column>
// CUT: mpt_kernel.kernel <row>
// CUT: mpt_kernel.kernel <column>
// ANY-NOT: mpt_kernel.kernel
// ANY: return
func.func @rows(%x: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<64xf32>) {
  %s = mpt.reduce %x {kind = #mpt.reduce_kind<max>, axes = array<i64: 1>, keep_dims} : (tensor<32x64xf32>) -> tensor<32x1xf32>
  %d = mpt.sub %x, %s : (tensor<32x64xf32>, tensor<32x1xf32>) -> tensor<32x64xf32>
  %b = mpt.reduce %d {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<32x64xf32>) -> tensor<64xf32>
  return %d, %b : tensor<32x64xf32>, tensor<64xf32>
}

// ANY-LABEL: func.func @columns
// ANY: mpt_kernel.kernel <column>
// ANY-NOT: mpt_kernel.kernel
// ANY: return
func.func @columns(%x: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<64xf32>) {
  %d = mpt.add %x, %x : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %b = mpt.reduce %d {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<32x64xf32>) -> tensor<64xf32>
  return %d, %b : tensor<32x64xf32>, tensor<64xf32>
}
