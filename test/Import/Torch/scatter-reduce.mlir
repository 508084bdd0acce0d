// The largest of what a scatter brings to a place is a row's: the pairs of an index and a
// place are in no tensor.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch | FileCheck %s --implicit-check-not=mpt.concat
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch --mpt-plan-kernels --mpt-assign-buffers | FileCheck %s --check-prefix=BYTES
// CHECK: %[[V:[0-9]+]] = mpt.where %{{.*}} : (tensor<102xi1>, tensor<7x1xf32>, tensor<7x102xf32>) -> tensor<7x102xf32>
// CHECK-NEXT: mpt.reduce %[[V]] {axes = array<i64: 1>, kind = #mpt.reduce_kind<max>} : (tensor<7x102xf32>) -> tensor<7xf32>
// 7 x 101 pairs would take 2,828 bytes.
// BYTES: arena_bytes = 1664
func.func @loss(%x: !torch.vtensor<[7],f32> {mpt.name = "x", mpt.role = "input"},
                %i: !torch.vtensor<[101],si64> {mpt.name = "i", mpt.role = "input"},
                %s: !torch.vtensor<[101],f32> {mpt.name = "s", mpt.role = "input"})
    -> (!torch.vtensor<[7],f32> {mpt.name = "y"}) {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %amax = "torch.constant.str"() {value = "amax"} : () -> !torch.str
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %y = "torch.aten.scatter_reduce.two"(%x, %0, %i, %s, %amax, %true) : (!torch.vtensor<[7],f32>, !torch.int, !torch.vtensor<[101],si64>, !torch.vtensor<[101],f32>, !torch.str, !torch.bool) -> !torch.vtensor<[7],f32>
  return %y : !torch.vtensor<[7],f32>
}
