// The largest of what a scatter brings to a place: the pairs of an index and a place are in
// no tensor, and no op of them is made.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch | FileCheck %s --implicit-check-not=mpt.concat --implicit-check-not=7x101
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch --mpt-plan-kernels --mpt-assign-buffers | FileCheck %s --check-prefix=BYTES
// CHECK: mpt.scatter_reduce %{{.*}}, %{{.*}}, %{{.*}} {kind = #mpt.reduce_kind<max>} : (tensor<101xi64>, tensor<101xf32>, tensor<7xf32>) -> tensor<7xf32>
// CHECK-NEXT: return
// 7 x 101 pairs would take 2,828 bytes; the indices take 832 with what pads them.
// BYTES: arena_bytes = 832
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
