// Patterns of names, places and single ops.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 deny=stablehlo.*dot*" | FileCheck %s --check-prefix=GLOB
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 keep=head:,@frozen" | FileCheck %s
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-autocast="deny=stablehlo.nothing*" 2>&1 | FileCheck %s --check-prefix=NOMATCH
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-autocast="keep=[" 2>&1 | FileCheck %s --check-prefix=REGEX

// NOMATCH: error: no op matches 'stablehlo.nothing*' for the list 'deny'
// REGEX: error: keep: '[' is not a regular expression: {{.+}}

!x = tensor<4x4xf32>

// GLOB-LABEL: func.func @model
// GLOB-NOT: "stablehlo.dot"({{.*}}) : (tensor<4x4xbf16>
// CHECK-LABEL: func.func @model
// CHECK: "stablehlo.dot"({{.*}}) : (tensor<4x4xbf16>, tensor<4x4xbf16>)
// CHECK: "stablehlo.dot"({{.*}}) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: "stablehlo.dot"({{.*}}) {mpt.precision = "f32"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: "stablehlo.exponential"({{.*}}) {mpt.precision = "low"} : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
func.func @model(%x: !x, %w: !x) -> !x {
  %a = "stablehlo.dot"(%x, %w) : (!x, !x) -> !x
  %b = "stablehlo.dot"(%a, %w) : (!x, !x) -> !x loc("head:logits")
  %c = "stablehlo.dot"(%b, %w) {mpt.precision = "f32"} : (!x, !x) -> !x
  %d = "stablehlo.exponential"(%c) {mpt.precision = "low"} : (!x) -> !x
  return %d : !x
}

// CHECK-LABEL: func.func @frozen
// CHECK-NOT: bf16
func.func @frozen(%x: !x, %w: !x) -> !x {
  %a = "stablehlo.dot"(%x, %w) : (!x, !x) -> !x
  return %a : !x
}
