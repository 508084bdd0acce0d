// Functions of f32 as polynomials, the same on scalars and vectors; others stay.
// RUN: mpt-opt %s --mpt-approximate-math --cse | FileCheck %s --implicit-check-not='{{math[.](tanh|exp .* f32)}}'

// exp: x = n ln 2 + r in two steps, a polynomial in r, and n into its exponent. Where the
// result is too large, x times infinity, so that a NaN stays one.
// CHECK-LABEL: func.func @scalars(
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-DAG: %[[LN2:.*]] = arith.constant -0.693359375 : f32
// CHECK-DAG: %[[ANCHOR:.*]] = arith.constant 0x4B400000 : f32
// CHECK-DAG: %[[INFINITY:.*]] = arith.constant 0x7F800000 : f32
// CHECK: %[[SHIFTED:.*]] = math.fma %[[X]], %[[LOG2E]], %[[ANCHOR]]
// CHECK: %[[N:.*]] = arith.subf %[[SHIFTED]], %[[ANCHOR]]
// CHECK: math.fma %[[N]], %[[LN2]], %[[X]]
// CHECK-COUNT-7: math.fma
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SHIFTED]] : f32 to i32
// CHECK: arith.shli %[[BITS]]
// CHECK: arith.addi
// CHECK: %[[LARGE:.*]] = arith.mulf %[[X]], %[[INFINITY]]
// CHECK: %[[ABOVE:.*]] = arith.cmpf ugt, %[[X]],
// CHECK: arith.select %[[ABOVE]], %[[LARGE]],
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %[[X]],
// CHECK: %[[EXP:.*]] = arith.select %[[BELOW]],
// CHECK: math.powf %[[X]], %[[EXP]] : f32
func.func @scalars(%x: f32) -> (f32, f32) {
  %e = math.exp %x : f32
  %p = math.powf %x, %e : f32
  return %e, %p : f32, f32
}

// CHECK-LABEL: func.func @vectors(
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: arith.divf {{.*}} : vector<16xf32>
// CHECK: math.exp %{{.*}} : f64
func.func @vectors(%x: vector<16xf32>, %d: f64) -> (vector<16xf32>, f64) {
  %t = math.tanh %x : vector<16xf32>
  %e = math.exp %d : f64
  return %t, %e : vector<16xf32>, f64
}
