// The body of the inner loop ends in an op that computes, which no parser of the dialect
// would take. What it carries keeps its type, in a second run too.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast='type=f16 mixed-results=false fold-constants=false' -o %t
// RUN: FileCheck %s < %t
// RUN: mpt-opt %t --allow-unregistered-dialect --mpt-autocast='type=f16 mixed-results=false fold-constants=false' | diff %t -

// CHECK-LABEL: @nested
// CHECK: "stablehlo.while"
// CHECK: "stablehlo.while"
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<8x8xf32>):
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<8x8xf32>):
// CHECK: "stablehlo.dot"{{.*}}(tensor<8x8xf16>, tensor<8x8xf16>)
func.func @nested(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %zero: tensor<8x8xf32>, %n: tensor<i32>) -> tensor<8x8xf32> {
  %outer:2 = "stablehlo.while"(%n, %zero) ({
  ^bb0(%i: tensor<i32>, %s: tensor<8x8xf32>):
    %t = "stablehlo.compare"(%i, %i) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %s: tensor<8x8xf32>):
    %inner:2 = "stablehlo.while"(%i, %s) ({
    ^bb0(%j: tensor<i32>, %r: tensor<8x8xf32>):
      %t = "stablehlo.compare"(%j, %j) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%t) : (tensor<i1>) -> ()
    }, {
    ^bb0(%j: tensor<i32>, %r: tensor<8x8xf32>):
      %p = "stablehlo.dot"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %a = "stablehlo.add"(%r, %p) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      "stablehlo.dot"(%j, %a) : (tensor<i32>, tensor<8x8xf32>) -> ()
    }) : (tensor<i32>, tensor<8x8xf32>) -> (tensor<i32>, tensor<8x8xf32>)
    "stablehlo.return"(%i, %inner#1) : (tensor<i32>, tensor<8x8xf32>) -> ()
  }) : (tensor<i32>, tensor<8x8xf32>) -> (tensor<i32>, tensor<8x8xf32>)
  %y = "stablehlo.dot"(%outer#1, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// This loop has two operands, no body, and one result: no value is carried that we know.
// CHECK-LABEL: @no_body
// CHECK: "stablehlo.while"(%{{.*}}, %{{.*}}) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
func.func @no_body(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %p = "stablehlo.dot"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = "stablehlo.add"(%x, %p) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = "stablehlo.while"(%p, %p) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  "stablehlo.add"(%y, %a) : (tensor<8x8xf32>, tensor<8x8xf32>) -> ()
  return %y : tensor<8x8xf32>
}
