// RUN: mpt-opt %s --mpt-pool-before-relu --split-input-file | FileCheck %s

// By other shapes, as 1-D poolings are imported.
// CHECK-LABEL: @step
// CHECK: [[X:%.*]] = mpt.reshape %arg0 : (tensor<2x8x3xf32>) -> tensor<2x1x8x3xf32>
// CHECK: [[P:%.*]] = mpt.max_pool [[X]] {strides = array<i64: 1, 4>, window = array<i64: 1, 4>} : (tensor<2x1x8x3xf32>) -> tensor<2x1x2x3xf32>
// CHECK: [[Y:%.*]] = mpt.relu [[P]] : (tensor<2x1x2x3xf32>) -> tensor<2x1x2x3xf32>
// CHECK: [[D:%.*]] = mpt.relu_grad %arg1, [[Y]] : {{.*}} -> tensor<2x1x2x3xf32>
// CHECK: [[G:%.*]] = mpt.max_pool_grad [[D]], [[X]] {{.*}} -> tensor<2x1x8x3xf32>
// CHECK: [[R:%.*]] = mpt.reshape [[G]] : (tensor<2x1x8x3xf32>) -> tensor<2x8x3xf32>
// CHECK: return [[Y]], [[R]]
func.func @step(%x: tensor<2x8x3xf32>, %dy: tensor<2x1x2x3xf32>) -> (tensor<2x1x2x3xf32>, tensor<2x8x3xf32>) {
  %r = mpt.relu %x : (tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  %0 = mpt.reshape %r : (tensor<2x8x3xf32>) -> tensor<2x1x8x3xf32>
  %y = mpt.max_pool %0 {strides = array<i64: 1, 4>, window = array<i64: 1, 4>} : (tensor<2x1x8x3xf32>) -> tensor<2x1x2x3xf32>
  %1 = mpt.max_pool_grad %dy, %0 {strides = array<i64: 1, 4>, window = array<i64: 1, 4>} : (tensor<2x1x2x3xf32>, tensor<2x1x8x3xf32>) -> tensor<2x1x8x3xf32>
  %2 = mpt.reshape %1 : (tensor<2x1x8x3xf32>) -> tensor<2x8x3xf32>
  %dx = mpt.relu_grad %2, %r : (tensor<2x8x3xf32>, tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  return %y, %dx : tensor<2x1x2x3xf32>, tensor<2x8x3xf32>
}

// -----

// Two poolings in turn, as those of volumes: the ReLU goes after both.
// CHECK-LABEL: @twice
// CHECK: mpt.max_pool %arg0 {{.*}} -> tensor<4x4x4x8xbf16>
// CHECK-NEXT: mpt.reshape
// CHECK: mpt.max_pool {{.*}} -> tensor<1x2x16x8xbf16>
// CHECK: mpt.relu {{.*}} tensor<1x2x16x8xbf16>
// CHECK-NOT: mpt.relu %
// CHECK: mpt.relu_grad %arg1, {{.*}} -> tensor<1x2x16x8xbf16>
// CHECK: mpt.max_pool_grad {{.*}} -> tensor<1x4x16x8xbf16>
// CHECK: mpt.max_pool_grad {{.*}} -> tensor<4x8x8x8xbf16>
// CHECK-NOT: mpt.relu_grad
func.func @twice(%x: tensor<4x8x8x8xbf16>, %dy: tensor<1x2x16x8xbf16>) -> (tensor<1x2x16x8xbf16>, tensor<4x8x8x8xbf16>) {
  %r = mpt.relu %x : (tensor<4x8x8x8xbf16>) -> tensor<4x8x8x8xbf16>
  %p = mpt.max_pool %r {strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<4x8x8x8xbf16>) -> tensor<4x4x4x8xbf16>
  %q = mpt.reshape %p : (tensor<4x4x4x8xbf16>) -> tensor<1x4x16x8xbf16>
  %y = mpt.max_pool %q {strides = array<i64: 2, 1>, window = array<i64: 2, 1>} : (tensor<1x4x16x8xbf16>) -> tensor<1x2x16x8xbf16>
  %0 = mpt.max_pool_grad %dy, %q {strides = array<i64: 2, 1>, window = array<i64: 2, 1>} : (tensor<1x2x16x8xbf16>, tensor<1x4x16x8xbf16>) -> tensor<1x4x16x8xbf16>
  %1 = mpt.reshape %0 : (tensor<1x4x16x8xbf16>) -> tensor<4x4x4x8xbf16>
  %2 = mpt.max_pool_grad %1, %r {strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<4x4x4x8xbf16>, tensor<4x8x8x8xbf16>) -> tensor<4x8x8x8xbf16>
  %dx = mpt.relu_grad %2, %r : (tensor<4x8x8x8xbf16>, tensor<4x8x8x8xbf16>) -> tensor<4x8x8x8xbf16>
  return %y, %dx : tensor<1x2x16x8xbf16>, tensor<4x8x8x8xbf16>
}

// -----

// Read by something else, too; another pooling; a marked ReLU; a gradient with another use.
// CHECK-LABEL: @others
// CHECK-COUNT-4: mpt.relu_grad {{.*}} -> tensor<1x4x4x3xf32>
// CHECK-NOT: mpt.relu_grad
func.func @others(%a: tensor<1x4x4x3xf32>, %b: tensor<1x4x4x3xf32>, %c: tensor<1x4x4x3xf32>, %d: tensor<1x4x4x3xf32>, %dy: tensor<1x2x2x3xf32>)
    -> (tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>, tensor<1x1x1x3xf32>, tensor<1x4x4x3xf32>, tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>, tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>) {
  %r = mpt.relu %a : (tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %y = mpt.max_pool %r {strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<1x4x4x3xf32>) -> tensor<1x2x2x3xf32>
  %0 = mpt.max_pool_grad %dy, %r {strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %dx = mpt.relu_grad %0, %r : (tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %s = mpt.relu %b : (tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %z = mpt.max_pool %s {strides = array<i64: 4, 4>, window = array<i64: 4, 4>} : (tensor<1x4x4x3xf32>) -> tensor<1x1x1x3xf32>
  %1 = mpt.max_pool_grad %dy, %s {strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %2 = mpt.relu_grad %1, %s : (tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %t = mpt.relu %c {mpt.save = "must"} : (tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %v = mpt.max_pool %t {strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<1x4x4x3xf32>) -> tensor<1x2x2x3xf32>
  %3 = mpt.max_pool_grad %dy, %t {strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %4 = mpt.relu_grad %3, %t : (tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %u = mpt.relu %d : (tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %w = mpt.max_pool %u {strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<1x4x4x3xf32>) -> tensor<1x2x2x3xf32>
  %5 = mpt.max_pool_grad %dy, %u {strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %6 = mpt.relu_grad %5, %u : (tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  return %y, %dx, %r, %z, %2, %v, %4, %w, %5, %6 : tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>, tensor<1x1x1x3xf32>, tensor<1x4x4x3xf32>, tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>, tensor<1x2x2x3xf32>, tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>
}
