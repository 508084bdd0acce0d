// Functions of f32 as polynomials, the same on scalars and vectors; others stay.
// RUN: mpt-opt %s --mpt-approximate-math --cse | FileCheck %s --implicit-check-not='{{math[.](tanh|exp .* f32)}}'

// exp: x = n ln 2 + r in two steps, a polynomial in r, and n into the exponent.
// CHECK-LABEL: func.func @scalars(
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-DAG: %[[LN2:.*]] = arith.constant -0.693359375 : f32
// CHECK: math.fma %{{.*}}, %[[LOG2E]],
// CHECK: %[[N:.*]] = math.floor
// CHECK: math.fma %[[LN2]],
// CHECK: arith.fptosi
// CHECK: arith.shli
// CHECK: %[[POWER:.*]] = arith.bitcast {{.*}} : i32 to f32
// CHECK: %[[EXP:.*]] = arith.mulf %{{.*}}, %[[POWER]] : f32
// CHECK: math.powf %{{.*}}, %[[EXP]] : f32
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
