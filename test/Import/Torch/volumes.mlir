// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch --canonicalize --cse | FileCheck %s

// Of one channel three places of the filter along the depth are three channels; of four
// channels, of which images of all places would take more than half as much as the result,
// they are convolutions of their own.
// CHECK-LABEL: func.func @volumes
// CHECK: [[IMAGES:%.*]] = mpt.concat {{.*}} -> tensor<8x6x5x3xf32>
// CHECK: mpt.conv2d [[IMAGES]], {{.*}} : (tensor<8x6x5x3xf32>, tensor<8x3x3x3xf32>) -> tensor<8x6x5x8xf32>
// CHECK-NOT: mpt.concat
// CHECK-COUNT-3: mpt.conv2d {{.*}} : (tensor<8x6x5x4xf32>, tensor<8x4x3x3xf32>) -> tensor<8x6x5x8xf32>
// CHECK-NOT: mpt.conv2d
func.func @volumes(%x: !torch.vtensor<[2,1,4,6,5],f32>, %f: !torch.vtensor<[8,1,3,3,3],f32>, %y: !torch.vtensor<[2,4,4,6,5],f32>, %g: !torch.vtensor<[8,4,3,3,3],f32>)
    -> (!torch.vtensor<[2,8,4,6,5],f32>, !torch.vtensor<[2,8,4,6,5],f32>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %ones = "torch.prim.ListConstruct"(%1, %1, %1) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %a = "torch.aten.conv3d"(%x, %f, %none, %ones, %ones, %ones, %1) : (!torch.vtensor<[2,1,4,6,5],f32>, !torch.vtensor<[8,1,3,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[2,8,4,6,5],f32>
  %b = "torch.aten.conv3d"(%y, %g, %none, %ones, %ones, %ones, %1) : (!torch.vtensor<[2,4,4,6,5],f32>, !torch.vtensor<[8,4,3,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[2,8,4,6,5],f32>
  return %a, %b : !torch.vtensor<[2,8,4,6,5],f32>, !torch.vtensor<[2,8,4,6,5],f32>
}

// Of one depth the places beside it read padding alone; of two, all read something.
// CHECK-LABEL: func.func @idle_places
// CHECK-NOT: mpt.pad
// CHECK: mpt.conv2d {{.*}} : (tensor<2x6x5x4xf32>, tensor<8x4x3x3xf32>) -> tensor<2x6x5x8xf32>
// CHECK: mpt.pad {{.*}} -> tensor<4x2x6x5x4xf32>
// CHECK-COUNT-3: mpt.conv2d {{.*}} : (tensor<4x6x5x4xf32>, tensor<8x4x3x3xf32>) -> tensor<4x6x5x8xf32>
// CHECK-NOT: mpt.conv2d
func.func @idle_places(%x: !torch.vtensor<[2,4,1,6,5],f32>, %y: !torch.vtensor<[2,4,2,6,5],f32>, %g: !torch.vtensor<[8,4,3,3,3],f32>)
    -> (!torch.vtensor<[2,8,1,6,5],f32>, !torch.vtensor<[2,8,2,6,5],f32>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %ones = "torch.prim.ListConstruct"(%1, %1, %1) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %a = "torch.aten.conv3d"(%x, %g, %none, %ones, %ones, %ones, %1) : (!torch.vtensor<[2,4,1,6,5],f32>, !torch.vtensor<[8,4,3,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[2,8,1,6,5],f32>
  %b = "torch.aten.conv3d"(%y, %g, %none, %ones, %ones, %ones, %1) : (!torch.vtensor<[2,4,2,6,5],f32>, !torch.vtensor<[8,4,3,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[2,8,2,6,5],f32>
  return %a, %b : !torch.vtensor<[2,8,1,6,5],f32>, !torch.vtensor<[2,8,2,6,5],f32>
}
