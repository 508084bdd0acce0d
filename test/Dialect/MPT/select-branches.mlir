// Branches are computed and chosen from.
// RUN: mpt-opt %s --split-input-file --mpt-select-branches | FileCheck %s

// CHECK-LABEL: func.func @branch
// CHECK-SAME:  %[[FLAG:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
// CHECK-NEXT:  %[[E:.*]] = mpt.exp %[[X]]
// CHECK-NEXT:  %[[S:.*]] = mpt.add %[[E]], %[[Y]]
// CHECK-NEXT:  %[[R:.*]] = mpt.where %[[FLAG]], %[[S]], %[[X]]
// CHECK-NEXT:  return %[[R]], %[[FLAG]]
func.func @branch(%flag: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>) {
  %r:2 = mpt.scan conditional 1 carry(%flag, %x : tensor<i1>, tensor<4xf32>) {
  ^bb0(%c: tensor<i1>, %v: tensor<4xf32>):
    %e = mpt.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    %s = mpt.add %e, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %c, %s : tensor<i1>, tensor<4xf32>
  } : tensor<i1>, tensor<4xf32>
  return %r#1, %r#0 : tensor<4xf32>, tensor<i1>
}

// -----

// A branch in a branch in a loop, which stays.
// CHECK-LABEL: func.func @nested
// CHECK:       mpt.scan 20 carry
// CHECK-NEXT:  ^bb0(%[[V:.*]]: tensor<f32>):
// CHECK-NEXT:    %[[N:.*]] = mpt.neg %[[V]]
// CHECK-NEXT:    %[[I:.*]] = mpt.where %arg1, %[[N]], %[[V]]
// CHECK-NEXT:    %[[O:.*]] = mpt.where %arg0, %[[I]], %[[V]]
// CHECK-NEXT:    mpt.yield %[[O]]
func.func @nested(%a: tensor<i1>, %b: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %r = mpt.scan 20 carry(%x : tensor<f32>) {
  ^bb0(%v: tensor<f32>):
    %o:2 = mpt.scan conditional 1 carry(%a, %v : tensor<i1>, tensor<f32>) {
    ^bb1(%c: tensor<i1>, %u: tensor<f32>):
      %i:2 = mpt.scan conditional 1 carry(%b, %u : tensor<i1>, tensor<f32>) {
      ^bb2(%d: tensor<i1>, %w: tensor<f32>):
        %n = mpt.neg %w : (tensor<f32>) -> tensor<f32>
        mpt.yield %d, %n : tensor<i1>, tensor<f32>
      } : tensor<i1>, tensor<f32>
      mpt.yield %c, %i#1 : tensor<i1>, tensor<f32>
    } : tensor<i1>, tensor<f32>
    mpt.yield %o#1 : tensor<f32>
  } : tensor<f32>
  return %r : tensor<f32>
}

// -----

// Other conditional scans stay, with branches inside.
// CHECK-LABEL: func.func @loop
// CHECK:       mpt.scan conditional 2 carry
// CHECK:         mpt.where
func.func @loop(%flag: tensor<i1>, %x: tensor<f32>) -> (tensor<i1>, tensor<f32>) {
  %r:2 = mpt.scan conditional 2 carry(%flag, %x : tensor<i1>, tensor<f32>) {
  ^bb0(%c: tensor<i1>, %v: tensor<f32>):
    %i:2 = mpt.scan conditional 1 carry(%flag, %v : tensor<i1>, tensor<f32>) {
    ^bb2(%d: tensor<i1>, %w: tensor<f32>):
      %n = mpt.neg %w : (tensor<f32>) -> tensor<f32>
      mpt.yield %d, %n : tensor<i1>, tensor<f32>
    } : tensor<i1>, tensor<f32>
    %n = mpt.not %c : (tensor<i1>) -> tensor<i1>
    mpt.yield %n, %i#1 : tensor<i1>, tensor<f32>
  } : tensor<i1>, tensor<f32>
  return %r#0, %r#1 : tensor<i1>, tensor<f32>
}
