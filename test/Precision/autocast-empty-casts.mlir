// A user's cast from f32 to f32 is nothing: what reads it reads what it reads, in either
// type, and a second run changes nothing.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16" | diff %t.once.mlir -
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16 mixed-results=false" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=f16 mixed-results=false" | diff %t.once.mlir -

// CHECK-LABEL: func @stablehlo
// CHECK: %[[P:.*]] = "stablehlo.dot_general"
// CHECK-NEXT: %[[T:.*]] = "stablehlo.add"(%[[P]], %[[P]]) : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK-NEXT: "stablehlo.dot"(%[[T]], %[[P]])
func.func @stablehlo(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = "stablehlo.dot_general"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = "stablehlo.convert"(%p) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = "stablehlo.add"(%q, %p) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = "stablehlo.dot"(%t, %p) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %u : tensor<4x4xf32>
}

// `.float()` of what is f32: a type that the op names would not change with its result's.
// CHECK-LABEL: func @torch
// CHECK: %[[P:.*]] = "torch.aten.mm"
// CHECK-NEXT: %[[T:.*]] = "torch.aten.add.Tensor"(%[[P]], %[[P]],
// CHECK-NEXT: "torch.aten.mm"(%[[T]], %[[P]])
func.func @torch(%x: !torch.vtensor<[4,4],f32>, %y: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  %float32 = "torch.constant.int"() {value = 6 : i64} : () -> !torch.int
  %none = "torch.constant.none"() : () -> !torch.none
  %false = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %p = "torch.aten.mm"(%x, %y) : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  %q = "torch.aten.to.dtype"(%p, %float32, %false, %false, %none) : (!torch.vtensor<[4,4],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[4,4],f32>
  %t = "torch.aten.add.Tensor"(%q, %p, %one) : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>, !torch.int) -> !torch.vtensor<[4,4],f32>
  %u = "torch.aten.mm"(%t, %p) : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  return %u : !torch.vtensor<[4,4],f32>
}

// A cast that widens is meaning.
// CHECK-LABEL: func @widens
// CHECK: %[[Q:.*]] = "stablehlo.convert"(%{{.*}}) : (tensor<4x4xf16>) -> tensor<4x4xf32>
// CHECK: return %[[Q]]
func.func @widens(%x: tensor<4x4xf16>) -> tensor<4x4xf32> {
  %q = "stablehlo.convert"(%x) : (tensor<4x4xf16>) -> tensor<4x4xf32>
  return %q : tensor<4x4xf32>
}

// A reader that has no part in the plan, as this op without regions, loses the cast at
// once, not when autocast runs again.
// CHECK-LABEL: func.func @outsider
//       CHECK:   %[[C:.*]] = "tf.Const"
//  CHECK-NEXT:   "stablehlo.case"(%[[C]], %[[C]])
func.func @outsider() -> tensor<32x32xf32> {
  %0 = "tf.Const"() {value = dense<1.0> : tensor<32x32xf64>} : () -> tensor<32x32xf32>
  %1 = "tf.Cast"(%0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = "stablehlo.case"(%1, %1) {callee = @f} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %3 = "tf.MatMul"(%2) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %3 : tensor<32x32xf32>
}

// An op of a dialect that MLIR does not know may be a terminator: a cast that nobody reads
// stays where it ends its block.
// CHECK-LABEL: func @ends
// CHECK-NEXT: "stablehlo.convert"({{.*}}) {mpt.autocast} : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK-NEXT: "stablehlo.convert"({{.*}}) {mpt.autocast} : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT: }
func.func @ends(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = "stablehlo.convert"(%x) {mpt.autocast} : (tensor<4xf32>) -> tensor<4xbf16>
  %b = "stablehlo.convert"(%a) {mpt.autocast} : (tensor<4xbf16>) -> tensor<4xf32>
}
