// Where paint's casts would move fewer bytes, all that paint makes low is a choice.
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16 mixed-results=false" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 mixed-results=false" --split-input-file -o %t
// RUN: mpt-opt %t --allow-unregistered-dialect --mpt-autocast="type=bf16 mixed-results=false" --split-input-file | diff %t -

// The slice moves a thousandth of what the contraction returns.
// CHECK: module attributes {mpt.autocast_painted_overhead = 16384 : i64}
// CHECK-LABEL: @behind
// CHECK: stablehlo.multiply{{.*}}xbf16
// CHECK: stablehlo.slice{{.*}}tensor<1x1000xbf16>
// CHECK-NEXT: stablehlo.convert{{.*}}tensor<1x1000xf32>
func.func @behind(%a: tensor<1000x1000xf32>, %b: tensor<1000x1000xf32>) -> tensor<1x1000xf32> {
  %d = "stablehlo.dot"(%a, %b) : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %m = "stablehlo.multiply"(%d, %d) : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %s = "stablehlo.slice"(%m) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 1000>, strides = array<i64: 1, 1>} : (tensor<1000x1000xf32>) -> tensor<1x1000xf32>
  return %s : tensor<1x1000xf32>
}

// -----

// As many bytes either way: the loss stays f32.
// CHECK: module {
// CHECK-LABEL: @same
// CHECK: stablehlo.convert{{.*}} -> tensor<1000x1000xf32>
// CHECK-NEXT: stablehlo.multiply{{.*}} -> tensor<1000x1000xf32>
func.func @same(%a: tensor<1000x1000xf32>, %b: tensor<1000x1000xf32>) -> tensor<1000x1000xf32> {
  %d = "stablehlo.dot"(%a, %b) : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %m = "stablehlo.multiply"(%d, %d) : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  return %m : tensor<1000x1000xf32>
}

// -----

// Where there would be as many casts as contractions have operands and results, what follows
// two contractions may be low too, though paint's casts (of the large contraction below) move
// more bytes.
// CHECK: module attributes {mpt.autocast_painted_overhead = 16384 : i64}
// CHECK-LABEL: @count
// CHECK-COUNT-4: stablehlo.convert{{.*}} -> tensor<4x4xbf16>
// CHECK-NOT: stablehlo.convert
// CHECK: stablehlo.add{{.*}} -> tensor<4x4xbf16>
// CHECK-NEXT: stablehlo.convert{{.*}} -> tensor<4x4xf32>
// CHECK-NEXT: stablehlo.dot
// CHECK-NEXT: stablehlo.convert{{.*}} -> tensor<4x4xf32>
// CHECK-NEXT: stablehlo.broadcast_in_dim{{.*}} -> tensor<64x4x4xf32>
// CHECK-NEXT: stablehlo.multiply{{.*}} -> tensor<64x4x4xf32>
func.func @count(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %v: tensor<4x4xf32>, %y: tensor<4x4xf32>, %large: tensor<64x4x4xf32>) -> (tensor<4x4xf32>, tensor<64x4x4xf32>) {
  %a = "stablehlo.dot"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = "stablehlo.dot"(%v, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = "stablehlo.add"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = "stablehlo.dot"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = "stablehlo.broadcast_in_dim"(%c) {broadcast_dimensions = array<i64: 1, 2>} : (tensor<4x4xf32>) -> tensor<64x4x4xf32>
  %e = "stablehlo.multiply"(%large, %d) : (tensor<64x4x4xf32>, tensor<64x4x4xf32>) -> tensor<64x4x4xf32>
  return %s, %e : tensor<4x4xf32>, tensor<64x4x4xf32>
}
