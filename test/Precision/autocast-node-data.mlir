// Custom node data of Model Explorer: by function and number of the op there; ops in
// regions of StableHLO's count, those in regions of others do not.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16 mixed-results=false node-data=%t.json" -o /dev/null
// RUN: %python -m json.tool %t.json | FileCheck %s
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-autocast="node-data=/nowhere/at/all" 2>&1 | FileCheck %s --check-prefix=FILE

// FILE: error: mpt-autocast: node-data: {{.*}}/nowhere/at/all

// CHECK:      {
// CHECK-NEXT:   "f": {
// CHECK-NEXT:     "results": {
// CHECK-NEXT:       "0": {
// CHECK-NEXT:         "value": "f16 allowed",
// CHECK-NEXT:         "bgColor": "#a6d96a",
// CHECK-NEXT:         "class": "allow",
// CHECK-NEXT:         "bytes": 64
// CHECK-NEXT:       },
// CHECK-NEXT:       "1": {
// CHECK-NEXT:         "value": "f32 denied",
// CHECK-NEXT:         "bgColor": "#f46d43",
// CHECK-NEXT:         "class": "deny",
// CHECK-NEXT:         "bytes": 128
// CHECK-NEXT:       },
// CHECK-NEXT:       "2": {
// CHECK-NEXT:         "value": "f32 blocked-by",
// CHECK-NEXT:         "bgColor": "#fdae61",
// CHECK:            "4": {
// CHECK-NEXT:         "value": "f32 denied",
// CHECK:            "8": {
// CHECK-NEXT:         "value": "f32 blocked-by",
// CHECK-NOT:        "value"
// CHECK:          "showExpandedSummaryOnGroupNode": true
// CHECK:        "g": {
// CHECK-NEXT:     "results": {
// CHECK-NEXT:       "2": {
// CHECK-NEXT:         "value": "f16
// CHECK:              "class": "clear",
// CHECK-NOT:        "value"
// CHECK:          "showExpandedSummaryOnGroupNode": true
func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %z: tensor<f32>) -> tensor<8xf32> {
  %a = "stablehlo.dot"(%x, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %e = "stablehlo.exponential"(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %m = "stablehlo.multiply"(%e, %x) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %b = "stablehlo.dot"(%m, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %s = "stablehlo.reduce"(%b, %z) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %d = "stablehlo.add"(%c, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%d) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %t = "stablehlo.tanh"(%s) : (tensor<8xf32>) -> tensor<8xf32>
  return %t : tensor<8xf32>
}

func.func private @declared(tensor<8xf32>)

func.func @g(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %n: index) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> tensor<8x4xf32> {
    %a = "stablehlo.dot"(%h, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    scf.yield %a : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}
