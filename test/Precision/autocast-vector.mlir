// The vector dialect: contractions read low vectors and add to f32 ones; memory and
// scalars keep their type.
//
// RUN: mpt-opt %s --mpt-autocast="type=bf16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-validate-precision="type=bf16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --mpt-autocast="type=bf16" | diff %t.once.mlir -

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A tile of a contraction, over memory of f32. The accumulator goes round the loop in
// f32.
// CHECK-LABEL: func.func @tile(
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<8x8xf32>)
// CHECK: %[[A:.*]] = vector.transfer_read %arg0{{.*}} : memref<8x64xf32>, vector<8x16xf32>
// CHECK: %[[AL:.*]] = arith.truncf %[[A]] {mpt.autocast} : vector<8x16xf32> to vector<8x16xbf16>
// CHECK: %[[BL:.*]] = arith.truncf %{{.*}} {mpt.autocast} : vector<16x8xf32> to vector<16x8xbf16>
// CHECK: vector.contract {{.*}} %[[AL]], %[[BL]], %[[ACC]] : vector<8x16xbf16>, vector<16x8xbf16> into vector<8x8xf32>
// CHECK: vector.transfer_write {{.*}} : vector<8x8xf32>, memref<8x8xf32>
func.func @tile(%x: memref<8x64xf32>, %w: memref<64x8xf32>, %y: memref<8x8xf32>) {
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  %pad = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %sum = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zero) -> (vector<8x8xf32>) {
    %a = vector.transfer_read %x[%c0, %k], %pad : memref<8x64xf32>, vector<8x16xf32>
    %b = vector.transfer_read %w[%k, %c0], %pad : memref<64x8xf32>, vector<16x8xf32>
    %p = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<8x16xf32>, vector<16x8xf32> into vector<8x8xf32>
    scf.yield %p : vector<8x8xf32>
  }
  vector.transfer_write %sum, %y[%c0, %c0] : vector<8x8xf32>, memref<8x8xf32>
  return
}

// What lies between two contractions is low: pointwise arithmetic and moves.
// CHECK-LABEL: func.func @between(
// CHECK: %[[P:.*]] = vector.contract
// CHECK: %[[L:.*]] = arith.truncf %[[P]] {mpt.autocast} : vector<8x8xf32> to vector<8x8xbf16>
// CHECK: %[[M:.*]] = arith.mulf %[[L]], %[[L]] : vector<8x8xbf16>
// CHECK: %[[F:.*]] = vector.fma %[[M]], %{{.*}}, %{{.*}} : vector<8x8xbf16>
// CHECK: %[[T:.*]] = vector.transpose %[[F]], [1, 0] : vector<8x8xbf16> to vector<8x8xbf16>
// CHECK: vector.contract {{.*}} %[[T]], {{.*}} : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
func.func @between(%x: vector<8x8xf32>, %w: vector<8x8xf32>) -> vector<8x8xf32> {
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  %p = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %w, %zero : vector<8x8xf32>, vector<8x8xf32> into vector<8x8xf32>
  %m = arith.mulf %p, %p : vector<8x8xf32>
  %f = vector.fma %m, %m, %m : vector<8x8xf32>
  %t = vector.transpose %f, [1, 0] : vector<8x8xf32> to vector<8x8xf32>
  %q = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %t, %w, %zero : vector<8x8xf32>, vector<8x8xf32> into vector<8x8xf32>
  return %q : vector<8x8xf32>
}

// Must stay: sums, scalars, what is masked.
// CHECK-LABEL: func.func @kept(
// CHECK: %[[P:.*]] = vector.contract {{.*}} into vector<8x8xf32>
// CHECK: vector.multi_reduction <add>, %[[P]], %{{.*}} [1] : vector<8x8xf32> to vector<8xf32>
// CHECK: %[[S:.*]] = vector.extract %[[P]][0, 0] : f32 from vector<8x8xf32>
// CHECK: vector.broadcast %[[S]] : f32 to vector<8x8xf32>
// CHECK: vector.mask %{{.*}} { vector.outerproduct %{{.*}}, %{{.*}}, %[[P]] {kind = #vector.kind<add>} : vector<8xf32>, vector<8xf32> } : vector<8x8xi1> -> vector<8x8xf32>
func.func @kept(%x: vector<8x8xf32>, %w: vector<8x8xf32>, %v: vector<8xf32>, %mask: vector<8x8xi1>) -> vector<8x8xf32> {
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  %zeros = arith.constant dense<0.0> : vector<8xf32>
  %p = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %w, %zero : vector<8x8xf32>, vector<8x8xf32> into vector<8x8xf32>
  %r = vector.multi_reduction <add>, %p, %zeros [1] : vector<8x8xf32> to vector<8xf32>
  %s = vector.extract %p[0, 0] : f32 from vector<8x8xf32>
  %b = vector.broadcast %s : f32 to vector<8x8xf32>
  %o = vector.mask %mask { vector.outerproduct %r, %v, %p {kind = #vector.kind<add>} : vector<8xf32>, vector<8xf32> } : vector<8x8xi1> -> vector<8x8xf32>
  %m = arith.mulf %b, %o : vector<8x8xf32>
  %q = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %m, %w, %zero : vector<8x8xf32>, vector<8x8xf32> into vector<8x8xf32>
  return %q : vector<8x8xf32>
}
