// Rounding to bf16 by integer arithmetic; other casts stay.
// RUN: mpt-opt %s --mpt-expand-bf16 --canonicalize --cse | FileCheck %s

// A sum of numbers of bf16 has no NaN that rounding could change: no test for one. It is
// read on in 32 bits, and stored in 16.
// CHECK-LABEL: func.func @sums(
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1> : vector<16xi32>
// CHECK-DAG: %[[HALF:.*]] = arith.constant dense<16> : vector<16xi32>
// CHECK-DAG: %[[BIAS:.*]] = arith.constant dense<32767> : vector<16xi32>
// CHECK-DAG: %[[UPPER:.*]] = arith.constant dense<-65536> : vector<16xi32>
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : vector<16xf32> to vector<16xi32>
// CHECK: %[[ABOVE:.*]] = arith.shrui %[[BITS]], %[[HALF]]
// CHECK: %[[ODD:.*]] = arith.andi %[[ABOVE]], %[[ONE]]
// CHECK: %[[ADDED:.*]] = arith.addi %[[ODD]], %[[BIAS]]
// CHECK: %[[ROUNDED:.*]] = arith.addi %[[BITS]], %[[ADDED]]
// CHECK-NOT: arith.cmpf
// CHECK: %[[KEPT:.*]] = arith.andi %[[ROUNDED]], %[[UPPER]]
// CHECK: %[[NUMBER:.*]] = arith.bitcast %[[KEPT]] : vector<16xi32> to vector<16xf32>
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[ROUNDED]], %[[HALF]]
// CHECK: %[[WORD:.*]] = arith.trunci %[[SHIFTED]] : vector<16xi32> to vector<16xi16>
// CHECK: %[[LOW:.*]] = arith.bitcast %[[WORD]] : vector<16xi16> to vector<16xbf16>
// CHECK: arith.mulf %[[NUMBER]], %[[NUMBER]]
// CHECK-NOT: arith.cmpf
// CHECK: return %[[LOW]]
func.func @sums(%x: vector<16xbf16>, %y: vector<16xbf16>)
    -> (vector<16xbf16>, vector<16xbf16>) {
  %a = arith.extf %x : vector<16xbf16> to vector<16xf32>
  %b = arith.extf %y : vector<16xbf16> to vector<16xf32>
  %sum = arith.addf %a, %b : vector<16xf32>
  %low = arith.truncf %sum : vector<16xf32> to vector<16xbf16>
  %wide = arith.extf %low : vector<16xbf16> to vector<16xf32>
  %square = arith.mulf %wide, %wide : vector<16xf32>
  %last = arith.truncf %square : vector<16xf32> to vector<16xbf16>
  return %low, %last : vector<16xbf16>, vector<16xbf16>
}

// A NaN of f32, or of f16, may have bits that rounding would carry out of.
// CHECK-LABEL: func.func @nans(
// CHECK-SAME: %[[X:.*]]: f32,
// CHECK-DAG: %[[NAN:.*]] = arith.constant 2143289344 : i32
// CHECK: %[[IS:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: arith.select %[[IS]], %[[NAN]],
// CHECK: %[[PRODUCT:.*]] = arith.mulf
// CHECK: %[[IS2:.*]] = arith.cmpf uno, %[[PRODUCT]], %[[PRODUCT]]
// CHECK: arith.select %[[IS2]], %[[NAN]],
func.func @nans(%x: f32, %h: f16, %y: bf16) -> (bf16, bf16) {
  %low = arith.truncf %x : f32 to bf16
  %a = arith.extf %h : f16 to f32
  %b = arith.extf %y : bf16 to f32
  %product = arith.mulf %a, %b : f32
  %low2 = arith.truncf %product : f32 to bf16
  return %low, %low2 : bf16, bf16
}

// CHECK-LABEL: func.func @others(
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.extf %{{.*}} : bf16 to f32
func.func @others(%x: f32, %y: f64, %z: bf16) -> (f16, f32, f32) {
  %a = arith.truncf %x : f32 to f16
  %b = arith.truncf %y : f64 to f32
  %c = arith.extf %z : bf16 to f32
  return %a, %b, %c : f16, f32, f32
}
