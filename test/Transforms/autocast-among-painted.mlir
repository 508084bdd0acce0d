// Where paint's casts would move fewer bytes, all that paint makes low is a choice.
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16 mixed-results=false" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 mixed-results=false" --split-input-file -o %t
// RUN: mpt-opt %t --allow-unregistered-dialect --mpt-autocast="type=bf16 mixed-results=false" --split-input-file | diff %t -

// The slice moves a thousandth of what the product returns.
// CHECK: module attributes {mpt.autocast_among_painted = 16384 : i64}
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
