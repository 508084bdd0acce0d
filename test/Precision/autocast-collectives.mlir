// Collectives that add keep f32, unless `wire` says what travels.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 wire=f32" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 wire=bf16" | FileCheck %s --check-prefix=WIRE
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 wire=f16" 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: mpt-autocast: expected wire=f32 or wire=bf16, the low type, found 'f16'

// CHECK-LABEL: func.func @sums
// CHECK: }) : (tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK: "sdy.all_reduce"{{.*}} : (tensor<16x16xf32>) -> tensor<16x16xf32>
// WIRE-LABEL: func.func @sums
// WIRE: %[[A:.*]] = "stablehlo.dot_general"{{.*}} -> tensor<16x16xbf16>
// WIRE: "stablehlo.all_reduce"(%[[A]])
// WIRE: "stablehlo.add"{{.*}} : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
// WIRE: }) : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
// WIRE: "sdy.all_reduce"{{.*}} : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
func.func @sums(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %a = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = "stablehlo.dot_general"(%b, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = "sdy.all_reduce"(%c) <{reduction_axes = #sdy<axis_ref_list{"data"}>}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}

// What only moves goes either way: half the bytes where a matmul reads it.
// CHECK-LABEL: func.func @gather
// CHECK: "stablehlo.all_gather"{{.*}} : (tensor<8x16xbf16>) -> tensor<16x16xbf16>
func.func @gather(%x: tensor<16x16xf32>, %w: tensor<8x16xf32>) -> tensor<16x16xf32> {
  %a = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x16xf32>) -> tensor<16x16xf32>
  %b = "stablehlo.dot_general"(%x, %a) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %b : tensor<16x16xf32>
}
