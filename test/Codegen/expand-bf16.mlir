// Rounding to bf16 by integer arithmetic; other casts stay.
// RUN: mpt-opt %s --mpt-expand-bf16 --canonicalize --cse | FileCheck %s
// RUN: mpt-opt %s --mpt-expand-bf16=avx512-bf16 --canonicalize --cse | FileCheck %s --check-prefix=NATIVE

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
// CHECK-DAG: %[[QUIET:.*]] = arith.constant 4194304 : i32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]]
// CHECK: %[[IS:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: %[[NAN:.*]] = arith.ori %[[BITS]], %[[QUIET]]
// CHECK: arith.select %[[IS]], %[[NAN]],
// CHECK: %[[PRODUCT:.*]] = arith.mulf
// CHECK: %[[BITS2:.*]] = arith.bitcast %[[PRODUCT]]
// CHECK: %[[IS2:.*]] = arith.cmpf uno, %[[PRODUCT]], %[[PRODUCT]]
// CHECK: %[[NAN2:.*]] = arith.ori %[[BITS2]], %[[QUIET]]
// CHECK: arith.select %[[IS2]], %[[NAN2]],
// Scalars have no instruction.
// NATIVE-LABEL: func.func @nans(
// NATIVE-NOT: llvm.call_intrinsic
// NATIVE: return
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

// Two roundings that are read after both share a branch. It is left to lanes that have a
// subnormal number; the others keep what the instruction made.
// NATIVE-LABEL: func.func @pair(
// NATIVE-SAME: %[[X:.*]]: vector<16xf32>, %[[Y:.*]]: vector<16xf32>
// NATIVE-DAG: %[[ZERO:.*]] = llvm.mlir.constant(0 : i16)
// NATIVE-DAG: %[[CLASSES:.*]] = llvm.mlir.constant(32 : i32)
// NATIVE: %[[A:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%[[X]])
// NATIVE: %[[AWORDS:.*]] = arith.bitcast %[[A]]
// NATIVE: %[[AFLAGS:.*]] = llvm.call_intrinsic "llvm.x86.avx512.fpclass.ps.512"(%[[X]], %[[CLASSES]])
// NATIVE: %[[B:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%[[Y]])
// NATIVE: %[[BWORDS:.*]] = arith.bitcast %[[B]]
// NATIVE: %[[BFLAGS:.*]] = llvm.call_intrinsic "llvm.x86.avx512.fpclass.ps.512"(%[[Y]], %[[CLASSES]])
// NATIVE: %[[FLAGS:.*]] = arith.ori %[[AFLAGS]], %[[BFLAGS]] : vector<16xi1>
// NATIVE: %[[MASK:.*]] = llvm.bitcast %[[FLAGS]] : vector<16xi1> to i16
// NATIVE: %[[ANY:.*]] = llvm.icmp "ne" %[[MASK]], %[[ZERO]]
// NATIVE: %[[RARE:.*]] = llvm.intr.expect %[[ANY]],
// NATIVE: %[[ROUNDED:.*]]:2 = scf.if %[[RARE]] -> (vector<16xi16>, vector<16xi16>) {
// NATIVE: arith.select %[[AFLAGS]], %{{.*}}, %[[AWORDS]]
// NATIVE: arith.select %[[BFLAGS]], %{{.*}}, %[[BWORDS]]
// NATIVE: } else {
// NATIVE-NEXT: scf.yield %[[AWORDS]], %[[BWORDS]]
// NATIVE: arith.bitcast %[[ROUNDED]]#0
// NATIVE: arith.bitcast %[[ROUNDED]]#1
// NATIVE-NOT: scf.if
// NATIVE: return
func.func @pair(%x: vector<16xf32>, %y: vector<16xf32>)
    -> (vector<16xbf16>, vector<16xbf16>) {
  %a = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  %b = arith.truncf %y : vector<16xf32> to vector<16xbf16>
  return %a, %b : vector<16xbf16>, vector<16xbf16>
}

// One that the next depends on is mended before, each with a branch of its own.
// NATIVE-LABEL: func.func @chain(
// NATIVE: %[[FIRST:.*]] = scf.if {{.*}} -> (vector<16xi16>)
// NATIVE: %[[NARROW:.*]] = arith.bitcast %[[FIRST]]
// NATIVE: arith.extf %[[NARROW]]
// NATIVE: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"
// NATIVE: scf.if {{.*}} -> (vector<16xi16>)
// NATIVE: return
func.func @chain(%x: vector<16xf32>) -> (vector<16xbf16>, vector<16xbf16>) {
  %a = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  %wide = arith.extf %a : vector<16xbf16> to vector<16xf32>
  %sum = arith.addf %wide, %x : vector<16xf32>
  %b = arith.truncf %sum : vector<16xf32> to vector<16xbf16>
  return %a, %b : vector<16xbf16>, vector<16xbf16>
}

// What is only widened again stays 32 bits wide, and vectors of four would need a mask.
// NATIVE-LABEL: func.func @wide_and_short(
// NATIVE-NOT: llvm.call_intrinsic
// NATIVE: return
func.func @wide_and_short(%x: vector<16xf32>, %y: vector<4xf32>)
    -> (vector<16xf32>, vector<4xbf16>) {
  %a = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  %wide = arith.extf %a : vector<16xbf16> to vector<16xf32>
  %b = arith.truncf %y : vector<4xf32> to vector<4xbf16>
  return %wide, %b : vector<16xf32>, vector<4xbf16>
}

// Vectors of eight lanes have an instruction, and share no branch with those of sixteen.
// NATIVE-LABEL: func.func @eight(
// NATIVE-SAME: %[[X:.*]]: vector<8xf32>, %[[Y:.*]]: vector<16xf32>
// NATIVE: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.256"(%[[X]])
// NATIVE: %[[FLAGS:.*]] = llvm.call_intrinsic "llvm.x86.avx512.fpclass.ps.256"(%[[X]],
// NATIVE: llvm.bitcast %[[FLAGS]] : vector<8xi1> to i8
// NATIVE: scf.if {{.*}} -> (vector<8xi16>)
// NATIVE: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%[[Y]])
// NATIVE: scf.if {{.*}} -> (vector<16xi16>)
// NATIVE: return
func.func @eight(%x: vector<8xf32>, %y: vector<16xf32>)
    -> (vector<8xbf16>, vector<16xbf16>) {
  %a = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  %b = arith.truncf %y : vector<16xf32> to vector<16xbf16>
  return %a, %b : vector<8xbf16>, vector<16xbf16>
}

// Longer vectors take one instruction for sixteen lanes, and one branch.
// NATIVE-LABEL: func.func @long(
// NATIVE-SAME: %[[X:.*]]: vector<32xf32>
// NATIVE: %[[LOW:.*]] = vector.extract_strided_slice %[[X]] {offsets = [0], sizes = [16]
// NATIVE: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%[[LOW]])
// NATIVE: %[[FLAGS:.*]] = llvm.call_intrinsic "llvm.x86.avx512.fpclass.ps.512"(%[[LOW]],
// NATIVE: %[[HIGH:.*]] = vector.extract_strided_slice %[[X]] {offsets = [16], sizes = [16]
// NATIVE: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%[[HIGH]])
// NATIVE: %[[MORE:.*]] = llvm.call_intrinsic "llvm.x86.avx512.fpclass.ps.512"(%[[HIGH]],
// NATIVE: arith.ori %[[FLAGS]], %[[MORE]] : vector<16xi1>
// NATIVE: %[[R:.*]]:2 = scf.if {{.*}} -> (vector<16xi16>, vector<16xi16>)
// NATIVE-NOT: scf.if
// NATIVE: %[[FIRST:.*]] = vector.insert_strided_slice %[[R]]#0, {{.*}} {offsets = [0]
// NATIVE: %[[BOTH:.*]] = vector.insert_strided_slice %[[R]]#1, %[[FIRST]] {offsets = [16]
// NATIVE: %[[Y:.*]] = arith.bitcast %[[BOTH]] : vector<32xi16> to vector<32xbf16>
// NATIVE: return %[[Y]]
func.func @long(%x: vector<32xf32>) -> vector<32xbf16> {
  %y = arith.truncf %x : vector<32xf32> to vector<32xbf16>
  return %y : vector<32xbf16>
}
