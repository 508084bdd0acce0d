// RUN: mpt-opt %s -canonicalize | FileCheck %s
// Every fold, and what must not fold: where a bit of a result could change.

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

// -0 is the neutral element of the sum: x + -0 is x for every x, NaN and both
// zeros included.
// CHECK-LABEL: func @add_negative_zero
//  CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
//  CHECK-NEXT: return %[[X]], %[[X]]
func.func @add_negative_zero(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = mpt.constant dense<-0.0> : tensor<4xf32>
  %s = mpt.constant dense<-0.0> : tensor<bf16>
  %a = mpt.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.add %s, %x : (tensor<bf16>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -0 + +0 is +0.
// CHECK-LABEL: func @add_zero_stays
//       CHECK: mpt.add
func.func @add_zero_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = mpt.constant dense<0.0> : tensor<4xf32>
  %a = mpt.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// CHECK-LABEL: func @add_integer_zero
//  CHECK-SAME: (%[[X:.*]]: tensor<4xi32>)
//  CHECK-NEXT: return %[[X]]
func.func @add_integer_zero(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = mpt.constant dense<0> : tensor<i32>
  %a = mpt.add %x, %c : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %a : tensor<4xi32>
}

// The sum rounds to another type, has another shape, or not all of it is zero.
// CHECK-LABEL: func @add_stays
// CHECK-COUNT-3: mpt.add
func.func @add_stays(%x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<2x4xf32>, tensor<4xf32>) {
  %c = mpt.constant dense<-0.0> : tensor<4xf32>
  %d = mpt.constant dense<-0.0> : tensor<2x4xf32>
  %e = mpt.constant dense<[-0.0, -0.0, -0.0, 1.0]> : tensor<4xf32>
  %a0 = mpt.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xbf16>
  %a1 = mpt.add %x, %d : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %a2 = mpt.add %x, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a0, %a1, %a2 : tensor<4xbf16>, tensor<2x4xf32>, tensor<4xf32>
}

// An open size may be 1 when the program runs, and is repeated then.
// CHECK-LABEL: func @add_open_size
//  CHECK-SAME: (%[[X:.*]]: tensor<?xf32>)
//       CHECK: %[[A:.*]] = mpt.add
//       CHECK: return %[[A]], %[[X]]
func.func @add_open_size(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c = mpt.constant dense<-0.0> : tensor<4xf32>
  %s = mpt.constant dense<-0.0> : tensor<1xf32>
  %a = mpt.add %x, %c : (tensor<?xf32>, tensor<4xf32>) -> tensor<?xf32>
  %b = mpt.add %x, %s : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
  return %a, %b : tensor<?xf32>, tensor<?xf32>
}

// x - +0 is x, -0 included; x - -0 is +0 for x = -0.
// CHECK-LABEL: func @sub
//  CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
//       CHECK: %[[B:.*]] = mpt.sub
//       CHECK: %[[C:.*]] = mpt.sub
//       CHECK: return %[[X]], %[[B]], %[[C]]
func.func @sub(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %p = mpt.constant dense<0.0> : tensor<4xf32>
  %n = mpt.constant dense<-0.0> : tensor<4xf32>
  %a = mpt.sub %x, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.sub %x, %n : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = mpt.sub %p, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @mul_div_one
//  CHECK-SAME: (%[[X:.*]]: tensor<4xf16>, %[[I:.*]]: tensor<4xi64>)
//  CHECK-NEXT: return %[[X]], %[[X]], %[[I]]
func.func @mul_div_one(%x: tensor<4xf16>, %i: tensor<4xi64>) -> (tensor<4xf16>, tensor<4xf16>, tensor<4xi64>) {
  %c = mpt.constant dense<1.0> : tensor<f32>
  %k = mpt.constant dense<1> : tensor<i64>
  %a = mpt.mul %x, %c : (tensor<4xf16>, tensor<f32>) -> tensor<4xf16>
  %b = mpt.div %x, %c : (tensor<4xf16>, tensor<f32>) -> tensor<4xf16>
  %d = mpt.mul %k, %i : (tensor<i64>, tensor<4xi64>) -> tensor<4xi64>
  return %a, %b, %d : tensor<4xf16>, tensor<4xf16>, tensor<4xi64>
}

// 0 x is NaN for an infinite x, and x - x and x / x are NaN there, too.
// CHECK-LABEL: func @nan_stays
//       CHECK: mpt.mul
//       CHECK: mpt.sub
//       CHECK: mpt.div
//       CHECK: mpt.div
func.func @nan_stays(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %z = mpt.constant dense<0.0> : tensor<f32>
  %o = mpt.constant dense<1.0> : tensor<f32>
  %a = mpt.mul %x, %z : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = mpt.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = mpt.div %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = mpt.div %o, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @double_negation
//  CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<?xi1>)
//  CHECK-NEXT: return %[[X]], %[[C]]
func.func @double_negation(%x: tensor<4xf32>, %c: tensor<?xi1>) -> (tensor<4xf32>, tensor<?xi1>) {
  %a = mpt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.neg %a : (tensor<4xf32>) -> tensor<4xf32>
  %d = mpt.not %c : (tensor<?xi1>) -> tensor<?xi1>
  %e = mpt.not %d : (tensor<?xi1>) -> tensor<?xi1>
  return %b, %e : tensor<4xf32>, tensor<?xi1>
}

// CHECK-LABEL: func @bits_that_stay
//  CHECK-SAME: (%[[X:.*]]: tensor<4xi32>)
//  CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @bits_that_stay(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %ones = mpt.constant dense<-1> : tensor<i32>
  %zero = mpt.constant dense<0> : tensor<i32>
  %a = mpt.and %x, %ones : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %b = mpt.or %zero, %x : (tensor<i32>, tensor<4xi32>) -> tensor<4xi32>
  %c = mpt.xor %x, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %d = mpt.shift_left %x, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %e = mpt.and %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %f = mpt.not %x : (tensor<4xi32>) -> tensor<4xi32>
  %g = mpt.not %f : (tensor<4xi32>) -> tensor<4xi32>
  %h = mpt.bitcast %x : (tensor<4xi32>) -> tensor<4xi32>
  return %a, %b, %c, %d, %e, %g, %h : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// A shift of 0 is shifted, all bits of `or` are, and the result is wider than %x.
// CHECK-LABEL: func @bits_that_change
// CHECK: mpt.shift_right_logical
// CHECK: mpt.or
// CHECK: mpt.and
func.func @bits_that_change(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<4xi32>) {
  %ones = mpt.constant dense<-1> : tensor<i32>
  %zero = mpt.constant dense<0> : tensor<i32>
  %wide = mpt.constant dense<-1> : tensor<4xi32>
  %a = mpt.shift_right_logical %zero, %x : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %b = mpt.or %x, %ones : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %c = mpt.and %x, %wide : (tensor<i32>, tensor<4xi32>) -> tensor<4xi32>
  return %a, %b, %c : tensor<i32>, tensor<i32>, tensor<4xi32>
}

// Arithmetic on a few integers that are known.
// CHECK-LABEL: func @known_integers
//   CHECK-DAG: %[[A:.*]] = mpt.constant dense<19> : tensor<i32>
//   CHECK-DAG: %[[B:.*]] = mpt.constant dense<[-2147483648, 8]> : tensor<2xi32>
//   CHECK-DAG: %[[C:.*]] = mpt.constant dense<0> : tensor<i32>
//   CHECK-DAG: %[[D:.*]] = mpt.constant dense<-1> : tensor<i32>
//       CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @known_integers() -> (tensor<i32>, tensor<2xi32>, tensor<i32>, tensor<i32>) {
  %rotations = mpt.constant dense<[13, 15, 26, 6]> : tensor<4xi32>
  %width = mpt.constant dense<32> : tensor<i32>
  %low = mpt.constant dense<-3> : tensor<i32>
  %two = mpt.constant dense<[31, 3]> : tensor<2xi32>
  %ones = mpt.constant dense<1> : tensor<2xi32>
  %r = mpt.slice %rotations {offsets = array<i64: 0>, sizes = array<i64: 1>, strides = array<i64: 1>} : (tensor<4xi32>) -> tensor<1xi32>
  %s = mpt.reshape %r : (tensor<1xi32>) -> tensor<i32>
  %a = mpt.sub %width, %s : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %b = mpt.shift_left %ones, %two : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %c = mpt.shift_right_logical %low, %width : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %d = mpt.shift_right_arithmetic %low, %width : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %a, %b, %c, %d : tensor<i32>, tensor<2xi32>, tensor<i32>, tensor<i32>
}

// The value in between was rounded.
// CHECK-LABEL: func @rounded_negation
// CHECK-COUNT-2: mpt.neg
func.func @rounded_negation(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = mpt.neg %x : (tensor<4xf32>) -> tensor<4xbf16>
  %b = mpt.neg %a : (tensor<4xbf16>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// CHECK-LABEL: func @where
//  CHECK-SAME: (%[[C:.*]]: tensor<4xi1>, %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
//  CHECK-NEXT: return %[[X]], %[[X]], %[[Y]]
func.func @where(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %true = mpt.constant dense<true> : tensor<4xi1>
  %false = mpt.constant dense<false> : tensor<i1>
  %a = mpt.where %c, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.where %true, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = mpt.where %false, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The condition repeats the operand, may repeat it, or the result is rounded.
// CHECK-LABEL: func @where_stays
// CHECK-COUNT-4: mpt.where
func.func @where_stays(%c: tensor<2x4xi1>, %o: tensor<?xi1>, %x: tensor<4xf32>, %y: tensor<?xf32>)
    -> (tensor<2x4xf32>, tensor<?xf32>, tensor<4xf16>, tensor<4xf32>) {
  %true = mpt.constant dense<true> : tensor<i1>
  %mixed = mpt.constant dense<[true, true, true, false]> : tensor<4xi1>
  %z = mpt.constant dense<0.0> : tensor<f32>
  %a = mpt.where %c, %x, %x : (tensor<2x4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %b = mpt.where %o, %y, %y : (tensor<?xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %d = mpt.where %true, %x, %z : (tensor<i1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf16>
  %e = mpt.where %mixed, %x, %z : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %a, %b, %d, %e : tensor<2x4xf32>, tensor<?xf32>, tensor<4xf16>, tensor<4xf32>
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @cast_same
//  CHECK-SAME: (%[[X:.*]]: tensor<?xf32>)
//  CHECK-NEXT: return %[[X]]
func.func @cast_same(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = mpt.cast %x : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// Up and down again, by casts that autocast made.
// CHECK-LABEL: func @cast_there_and_back
//  CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>)
//  CHECK-NEXT: return %[[X]]
func.func @cast_there_and_back(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %a = mpt.cast %x {autocast} : (tensor<4xbf16>) -> tensor<4xf32>
  %b = mpt.cast %a {autocast} : (tensor<4xf32>) -> tensor<4xbf16>
  return %b : tensor<4xbf16>
}

// Still rounded once.
// CHECK-LABEL: func @cast_through_wider
//  CHECK-SAME: (%[[X:.*]]: tensor<4xf16>)
//  CHECK-NEXT: %[[Y:.*]] = mpt.cast %[[X]] {autocast} : (tensor<4xf16>) -> tensor<4xbf16>
//  CHECK-NEXT: return %[[Y]]
func.func @cast_through_wider(%x: tensor<4xf16>) -> tensor<4xbf16> {
  %a = mpt.cast %x {autocast} : (tensor<4xf16>) -> tensor<4xf32>
  %b = mpt.cast %a {autocast} : (tensor<4xf32>) -> tensor<4xbf16>
  return %b : tensor<4xbf16>
}

// bf16 holds neither all f16 nor all f32; f8E4M3FN has no infinities.
// CHECK-LABEL: func @cast_rounds
// CHECK-COUNT-6: mpt.cast
func.func @cast_rounds(%x: tensor<4xf32>, %y: tensor<4xf16>, %z: tensor<4xf8E5M2>) -> (tensor<4xf32>, tensor<4xf16>, tensor<4xf8E5M2>) {
  %a = mpt.cast %x {autocast} : (tensor<4xf32>) -> tensor<4xbf16>
  %b = mpt.cast %a {autocast} : (tensor<4xbf16>) -> tensor<4xf32>
  %c = mpt.cast %y {autocast} : (tensor<4xf16>) -> tensor<4xbf16>
  %d = mpt.cast %c {autocast} : (tensor<4xbf16>) -> tensor<4xf16>
  %e = mpt.cast %z {autocast} : (tensor<4xf8E5M2>) -> tensor<4xf8E4M3FN>
  %f = mpt.cast %e {autocast} : (tensor<4xf8E4M3FN>) -> tensor<4xf8E5M2>
  return %b, %d, %f : tensor<4xf32>, tensor<4xf16>, tensor<4xf8E5M2>
}

// A user's casts stay, whichever of the two it is.
// CHECK-LABEL: func @cast_users
// CHECK-COUNT-6: mpt.cast
func.func @cast_users(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) {
  %a = mpt.cast %x : (tensor<4xf16>) -> tensor<4xf32>
  %b = mpt.cast %a : (tensor<4xf32>) -> tensor<4xf16>
  %c = mpt.cast %b : (tensor<4xf16>) -> tensor<4xf32>
  %d = mpt.cast %c {autocast} : (tensor<4xf32>) -> tensor<4xf16>
  %e = mpt.cast %d {autocast} : (tensor<4xf16>) -> tensor<4xf64>
  %f = mpt.cast %e : (tensor<4xf64>) -> tensor<4xf16>
  return %b, %d, %f : tensor<4xf16>, tensor<4xf16>, tensor<4xf16>
}

// Integers are not floats, though i8 fits into f32.
// CHECK-LABEL: func @cast_integers
// CHECK-COUNT-2: mpt.cast
func.func @cast_integers(%x: tensor<4xi8>) -> tensor<4xi8> {
  %a = mpt.cast %x {autocast} : (tensor<4xi8>) -> tensor<4xf32>
  %b = mpt.cast %a {autocast} : (tensor<4xf32>) -> tensor<4xi8>
  return %b : tensor<4xi8>
}

//===----------------------------------------------------------------------===//
// Reshape, transpose, broadcast
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @reshape
//  CHECK-SAME: (%[[X:.*]]: tensor<4x6xf32>)
//   CHECK-DAG: %[[C:.*]] = mpt.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>
//   CHECK-DAG: %[[Y:.*]] = mpt.reshape %[[X]] : (tensor<4x6xf32>) -> tensor<3x8xf32>
//       CHECK: return %[[X]], %[[X]], %[[Y]], %[[C]]
func.func @reshape(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<3x8xf32>, tensor<2x2xi32>) {
  %a = mpt.reshape %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = mpt.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  %c = mpt.reshape %b : (tensor<24xf32>) -> tensor<4x6xf32>
  %d = mpt.reshape %b : (tensor<24xf32>) -> tensor<3x8xf32>
  %e = mpt.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %f = mpt.reshape %e : (tensor<4xi32>) -> tensor<2x2xi32>
  return %a, %c, %d, %f : tensor<4x6xf32>, tensor<4x6xf32>, tensor<3x8xf32>, tensor<2x2xi32>
}

// ?x? to ?x? may be another shape.
// CHECK-LABEL: func @reshape_open
//       CHECK: mpt.reshape
func.func @reshape_open(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %a = mpt.reshape %x : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %a : tensor<?x?xf32>
}

// CHECK-LABEL: func @transpose
//  CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[S:.*]]: tensor<?x?xf32>)
//   CHECK-DAG: %[[C:.*]] = mpt.constant dense<2.000000e+00> : tensor<4x3xf32>
//   CHECK-DAG: %[[Y:.*]] = mpt.transpose %[[X]] {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
//       CHECK: return %[[X]], %[[X]], %[[Y]], %[[C]], %[[S]]
func.func @transpose(%x: tensor<2x3x4xf32>, %s: tensor<?x?xf32>)
    -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<4x3xf32>, tensor<?x?xf32>) {
  %a = mpt.transpose %x {permutation = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %b = mpt.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %c = mpt.transpose %b {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  // Dimension 0 of this is 1 of %b, which is 2 of %x.
  %d = mpt.transpose %b {permutation = array<i64: 1, 2, 0>} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  %two = mpt.constant dense<2.0> : tensor<3x4xf32>
  %e = mpt.transpose %two {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %f = mpt.transpose %s {permutation = array<i64: 1, 0>} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %g = mpt.transpose %f {permutation = array<i64: 1, 0>} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %a, %c, %d, %e, %g : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<4x3xf32>, tensor<?x?xf32>
}

// Equal types are not equal values, a rounding in between stays, and so does a
// constant whose elements differ or that is rounded.
// CHECK-LABEL: func @transpose_stays
// CHECK-COUNT-5: mpt.transpose
func.func @transpose_stays(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<2x1xf32>, tensor<2x1xf16>) {
  %a = mpt.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %b = mpt.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf16>
  %c = mpt.transpose %b {permutation = array<i64: 1, 0>} : (tensor<3x3xf16>) -> tensor<3x3xf32>
  %k = mpt.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %d = mpt.transpose %k {permutation = array<i64: 1, 0>} : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %third = mpt.constant dense<0.3333> : tensor<1x2xf32>
  %e = mpt.transpose %third {permutation = array<i64: 1, 0>} : (tensor<1x2xf32>) -> tensor<2x1xf16>
  return %a, %c, %d, %e : tensor<3x3xf32>, tensor<3x3xf32>, tensor<2x1xf32>, tensor<2x1xf16>
}

// CHECK-LABEL: func @broadcast
//  CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[S:.*]]: tensor<1xf32>)
//   CHECK-DAG: %[[C:.*]] = mpt.constant dense<2.000000e+00> : tensor<3x4xf32>
//   CHECK-DAG: %[[Y:.*]] = mpt.broadcast %[[S]] : (tensor<1xf32>) -> tensor<2x4xf32>
//       CHECK: return %[[X]], %[[C]], %[[Y]]
func.func @broadcast(%x: tensor<4xf32>, %s: tensor<1xf32>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<2x4xf32>) {
  %a = mpt.broadcast %x : (tensor<4xf32>) -> tensor<4xf32>
  %two = mpt.constant dense<2.0> : tensor<f32>
  %b = mpt.broadcast %two : (tensor<f32>) -> tensor<3x4xf32>
  %c = mpt.broadcast %s : (tensor<1xf32>) -> tensor<1x4xf32>
  %d = mpt.broadcast %c : (tensor<1x4xf32>) -> tensor<2x4xf32>
  return %a, %b, %d : tensor<4xf32>, tensor<3x4xf32>, tensor<2x4xf32>
}

// An open size may grow, there is no constant without elements, and one whose
// elements differ is not written out.
// CHECK-LABEL: func @broadcast_stays
// CHECK-COUNT-3: mpt.broadcast
func.func @broadcast_stays(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<0x4xf32>, tensor<2x2xf32>) {
  %a = mpt.broadcast %x : (tensor<?xf32>) -> tensor<?xf32>
  %two = mpt.constant dense<2.0> : tensor<f32>
  %b = mpt.broadcast %two : (tensor<f32>) -> tensor<0x4xf32>
  %k = mpt.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = mpt.broadcast %k : (tensor<2xf32>) -> tensor<2x2xf32>
  return %a, %b, %c : tensor<?xf32>, tensor<0x4xf32>, tensor<2x2xf32>
}

// Bits and bytes move like words; no elements are no elements.
// CHECK-LABEL: func @narrow_constants
//   CHECK-DAG: %[[A:.*]] = mpt.constant dense<true> : tensor<9xi1>
//   CHECK-DAG: %[[B:.*]] = mpt.constant dense<true> : tensor<3x3xi1>
//   CHECK-DAG: %[[C:.*]] = mpt.constant dense<1.500000e+00> : tensor<2x1xf8E4M3FN>
//   CHECK-DAG: %[[D:.*]] = mpt.constant dense<> : tensor<4x0xf32>
//       CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @narrow_constants() -> (tensor<9xi1>, tensor<3x3xi1>, tensor<2x1xf8E4M3FN>, tensor<4x0xf32>) {
  %true = mpt.constant dense<true> : tensor<i1>
  %a = mpt.broadcast %true : (tensor<i1>) -> tensor<9xi1>
  %b = mpt.reshape %a : (tensor<9xi1>) -> tensor<3x3xi1>
  %k = mpt.constant dense<1.5> : tensor<1x2xf8E4M3FN>
  %c = mpt.transpose %k {permutation = array<i64: 1, 0>} : (tensor<1x2xf8E4M3FN>) -> tensor<2x1xf8E4M3FN>
  %none = mpt.constant dense<> : tensor<0x4xf32>
  %d = mpt.reshape %none : (tensor<0x4xf32>) -> tensor<4x0xf32>
  return %a, %b, %c, %d : tensor<9xi1>, tensor<3x3xi1>, tensor<2x1xf8E4M3FN>, tensor<4x0xf32>
}

//===----------------------------------------------------------------------===//
// Slice, concat, pad, reduce
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @slice
//  CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
//   CHECK-DAG: %[[C:.*]] = mpt.constant dense<2.000000e+00> : tensor<3xf32>
//       CHECK: return %[[X]], %[[C]]
func.func @slice(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<3xf32>) {
  %a = mpt.slice %x {offsets = array<i64: 0, 0>, sizes = array<i64: 4, 8>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %two = mpt.constant dense<2.0> : tensor<8xf32>
  %b = mpt.slice %two {offsets = array<i64: 1>, sizes = array<i64: 3>, strides = array<i64: 2>} : (tensor<8xf32>) -> tensor<3xf32>
  return %a, %b : tensor<4x8xf32>, tensor<3xf32>
}

// Less than all of it, or rounded; the first 4 rows of an open number.
// CHECK-LABEL: func @slice_stays
// CHECK-COUNT-3: mpt.slice
func.func @slice_stays(%x: tensor<4x8xf32>, %y: tensor<?x8xf32>) -> (tensor<4x7xf32>, tensor<4x8xf16>, tensor<4x8xf32>) {
  %a = mpt.slice %x {offsets = array<i64: 0, 1>, sizes = array<i64: 4, 7>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x7xf32>
  %b = mpt.slice %x {offsets = array<i64: 0, 0>, sizes = array<i64: 4, 8>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x8xf16>
  %c = mpt.slice %y {offsets = array<i64: 0, 0>, sizes = array<i64: 4, 8>, strides = array<i64: 1, 1>} : (tensor<?x8xf32>) -> tensor<4x8xf32>
  return %a, %b, %c : tensor<4x7xf32>, tensor<4x8xf16>, tensor<4x8xf32>
}

// CHECK-LABEL: func @concat
//  CHECK-SAME: (%[[X:.*]]: tensor<?xf32>)
//       CHECK: %[[B:.*]] = mpt.concat
//       CHECK: %[[C:.*]] = mpt.concat
//       CHECK: return %[[X]], %[[B]], %[[C]]
func.func @concat(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf16>) {
  %a = mpt.concat %x {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  %b = mpt.concat %x, %x {axis = 0 : i64} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %c = mpt.concat %x {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf16>
  return %a, %b, %c : tensor<?xf32>, tensor<?xf32>, tensor<?xf16>
}

// CHECK-LABEL: func @pad
//  CHECK-SAME: (%[[X:.*]]: tensor<?xf32>)
//       CHECK: %[[C:.*]] = mpt.pad
//       CHECK: %[[D:.*]] = mpt.pad
//       CHECK: %[[E:.*]] = mpt.pad
//       CHECK: %[[F:.*]] = mpt.pad
//       CHECK: return %[[X]], %[[X]], %[[C]], %[[D]], %[[E]], %[[F]]
func.func @pad(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf16>) {
  %a = mpt.pad %x {low = array<i64: 0>, high = array<i64: 0>} : (tensor<?xf32>) -> tensor<?xf32>
  %b = mpt.pad %x {low = array<i64: 0>, high = array<i64: 0>, interior = array<i64: 0>, value = 1.0 : f64} : (tensor<?xf32>) -> tensor<?xf32>
  %c = mpt.pad %x {low = array<i64: 1>, high = array<i64: 0>} : (tensor<?xf32>) -> tensor<?xf32>
  %d = mpt.pad %x {low = array<i64: 0>, high = array<i64: 1>} : (tensor<?xf32>) -> tensor<?xf32>
  %e = mpt.pad %x {low = array<i64: 0>, high = array<i64: 0>, interior = array<i64: 1>} : (tensor<?xf32>) -> tensor<?xf32>
  %f = mpt.pad %x {low = array<i64: 0>, high = array<i64: 0>} : (tensor<?xf32>) -> tensor<?xf16>
  return %a, %b, %c, %d, %e, %f : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf16>
}

// Over no axis alone: an empty sum may be +0, and +0 + -0 is +0.
// CHECK-LABEL: func @reduce
//  CHECK-SAME: (%[[X:.*]]: tensor<1x4xf32>)
//       CHECK: %[[B:.*]] = mpt.reduce
//       CHECK: %[[C:.*]] = mpt.reduce
//       CHECK: return %[[X]], %[[B]], %[[C]]
func.func @reduce(%x: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf16>, tensor<1x4xf32>) {
  %a = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %b = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64>} : (tensor<1x4xf32>) -> tensor<1x4xf16>
  %c = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>, keep_dims} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %a, %b, %c : tensor<1x4xf32>, tensor<1x4xf16>, tensor<1x4xf32>
}

//===----------------------------------------------------------------------===//
// What is not merged or dropped
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @markers
//       CHECK: mpt.stop_gradient
//       CHECK: mpt.barrier
//       CHECK: mpt.gradients
func.func @markers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = mpt.stop_gradient %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.barrier %x : (tensor<4xf32>) -> tensor<4xf32>
  %c = mpt.gradients %x {names = ["w"]} : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
