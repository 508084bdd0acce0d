// RUN: mpt-opt %s --mpt-specialize="batch=6" -split-input-file -verify-diagnostics | FileCheck %s
// RUN: not mpt-opt %s -split-input-file --mpt-specialize="batch=6" --mpt-autodiff="function=columns" 2>/dev/null | FileCheck %s --check-prefix=GRADIENT
// RUN: not mpt-opt %s --mpt-specialize 2>&1 | FileCheck %s --check-prefix=NOBATCH
// NOBATCH: mpt-specialize: expected batch to be at least 1, found 0

// Shapes follow through inferred ops, reshapes, casts and regions.
// CHECK-LABEL: func.func @net
// CHECK-SAME: %{{.*}}: tensor<3x4xf32>, %{{.*}}: tensor<6x3xf32>
// CHECK-SAME: -> (tensor<6x4xbf16>, tensor<f32>)
// CHECK: mpt.linear {{.*}} -> tensor<6x4xf32>
// CHECK: mpt.reshape {{.*}} -> tensor<12x2xf32>
// CHECK: mpt.checkpoint
// CHECK: mpt.relu {{.*}} -> tensor<12x2xf32>
// CHECK: } : tensor<12x2xf32>
// CHECK: mpt.cast {{.*}} -> tensor<6x4xbf16>
// CHECK: mpt.broadcast {{.*}} -> tensor<6x4xf32>
// CHECK: mpt.mse_loss {{.*}} -> tensor<f32>
func.func @net(%w: tensor<3x4xf32>, %x: tensor<?x3xf32>) -> (tensor<?x4xbf16>, tensor<f32>) {
  %h = mpt.linear %x, %w : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
  %r = mpt.reshape %h : (tensor<?x4xf32>) -> tensor<?x2xf32>
  %c = mpt.checkpoint {
    %a = mpt.relu %r : (tensor<?x2xf32>) -> tensor<?x2xf32>
    mpt.yield %a : tensor<?x2xf32>
  } : tensor<?x2xf32>
  %back = mpt.reshape %c : (tensor<?x2xf32>) -> tensor<?x4xf32>
  %low = mpt.cast %back : (tensor<?x4xf32>) -> tensor<?x4xbf16>
  %one = mpt.constant dense<1.0> : tensor<1x4xf32>
  %ones = mpt.broadcast %one : (tensor<1x4xf32>) -> tensor<?x4xf32>
  %loss = mpt.mse_loss %back, %ones : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  return %low, %loss : tensor<?x4xbf16>, tensor<f32>
}

// CHECK-LABEL: func.func @scan
// CHECK: mpt.scan 3 carry(%{{.*}} : tensor<6x4xf32>) over(%{{.*}} : tensor<3x6x4xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<6x4xf32>, %{{.*}}: tensor<6x4xf32>):
// CHECK: mpt.checkpoint
// CHECK: mpt.add {{.*}} -> tensor<6x4xf32>
// CHECK: } : tensor<6x4xf32>, tensor<3x6x4xf32>
func.func @scan(%x: tensor<?x3x4xf32>) -> (tensor<?x4xf32>, tensor<3x?x4xf32>) {
  %xs = mpt.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<?x3x4xf32>) -> tensor<3x?x4xf32>
  %one = mpt.constant dense<0.0> : tensor<1x4xf32>
  %zeros = mpt.broadcast %one : (tensor<1x4xf32>) -> tensor<?x4xf32>
  %h, %hs = mpt.scan 3 carry(%zeros : tensor<?x4xf32>) over(%xs : tensor<3x?x4xf32>) {
  ^bb0(%c: tensor<?x4xf32>, %e: tensor<?x4xf32>):
    %n = mpt.checkpoint {
      %a = mpt.add %c, %e : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
      mpt.yield %a : tensor<?x4xf32>
    } : tensor<?x4xf32>
    mpt.yield %n, %n : tensor<?x4xf32>, tensor<?x4xf32>
  } : tensor<?x4xf32>, tensor<3x?x4xf32>
  return %h, %hs : tensor<?x4xf32>, tensor<3x?x4xf32>
}

// A slice's size of -1 is the whole dimension, before and after; so is its gradient's.
// CHECK-LABEL: func.func @columns
// CHECK: mpt.slice {{.*}} {offsets = array<i64: 0, 1>, sizes = array<i64: -1, 2>, strides = array<i64: 1, 1>} : (tensor<6x4xf32>) -> tensor<6x2xf32>
// GRADIENT-LABEL: func.func @columns
// GRADIENT: mpt.pad %{{.*}} {high = array<i64: 0, 1>, low = array<i64: 0, 1>} : (tensor<6x2xf32>) -> tensor<6x4xf32>
func.func @columns(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"}, %x: tensor<?x4xf32>) -> tensor<f32> {
  %p = mpt.mul %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %s = mpt.slice %p {offsets = array<i64: 0, 1>, sizes = array<i64: -1, 2>, strides = array<i64: 1, 1>} : (tensor<?x4xf32>) -> tensor<?x2xf32>
  %l = mpt.reduce %s {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<?x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// A static function is left as it is.
// CHECK-LABEL: func.func @static(%{{.*}}: tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @static(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = mpt.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// expected-error @below {{argument 0: expected only dimension 0 to be open, found 'tensor<?x?xf32>'}}
func.func @inner(%x: tensor<?x?xf32>) {
  return
}

// -----

func.func @reshape(%x: tensor<?x3xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{expected one open size that divides 18 elements, found 'tensor<?x4xf32>'}}
  %y = mpt.reshape %x : (tensor<?x3xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @unknown(%x: tensor<?x3xf32>) {
  %c = mpt.constant dense<1.0> : tensor<4x3xf32>
  // expected-error @below {{operands do not broadcast: expected sizes that are equal or 1, aligned at the last dimension, found 6x3 and 4x3}}
  %y = mpt.add %x, %c : (tensor<?x3xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  return
}

// -----

// expected-error @below {{expected a body of one block to specialize}}
func.func @branch(%x: tensor<?xf32>) -> tensor<?xf32> {
  cf.br ^end
^end:
  return %x : tensor<?xf32>
}

// -----

func.func @not_of_the_batch(%x: tensor<?x3xf32>, %w: tensor<f32>) -> tensor<?x?xf32> {
  // expected-error @below {{expected every size to follow from the batch, found 'tensor<6x?xf32>'}}
  %y = mpt.broadcast %w : (tensor<f32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
