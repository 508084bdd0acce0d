// Operands that are summed along their last dimension, and those of 16 bits, stay as they are.
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 | FileCheck %s --implicit-check-not=mpt.transpose
// CHECK: mpt.matmul %{{.*}}, %{{.*}} {transpose_rhs} :
// CHECK: mpt.linear %{{.*}}, %{{.*}} {transpose_weight} :
// CHECK: mpt.matmul %{{.*}}, %{{.*}} {transpose_lhs} :
func.func @step(%a: tensor<32x64xf8E4M3FN> {mpt.name = "a", mpt.role = "input"}, %b: tensor<48x64xf8E4M3FN> {mpt.name = "b", mpt.role = "input"}, %c: tensor<64x32xbf16> {mpt.name = "c", mpt.role = "input"})
    -> (tensor<32x48xf32> {mpt.name = "y"}, tensor<32x48xf32> {mpt.name = "z"}, tensor<32x32xf32> {mpt.name = "u"}) {
  %y = mpt.matmul %a, %b {transpose_rhs} : (tensor<32x64xf8E4M3FN>, tensor<48x64xf8E4M3FN>) -> tensor<32x48xf32>
  %z = mpt.linear %a, %b {transpose_weight} : (tensor<32x64xf8E4M3FN>, tensor<48x64xf8E4M3FN>) -> tensor<32x48xf32>
  %u = mpt.matmul %c, %c {transpose_lhs} : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<32x32xf32>
  return %y, %z, %u : tensor<32x48xf32>, tensor<32x48xf32>, tensor<32x32xf32>
}
