// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16" -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 strategy=paint mixed-results=false specialize-calls" -o %t.special.mlir
// RUN: FileCheck %s --check-prefix=SPECIAL < %t.special.mlir
// RUN: mpt-opt %t.special.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 strategy=paint mixed-results=false specialize-calls" | diff %t.special.mlir -

!x = tensor<4x4xf32>

// (Painted: mincut would rather cast once inside than at every call.)
// Without being asked, autocast keeps every function's type.
// CHECK-LABEL: func.func private @layer(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-LABEL: func.func @two_layers(
// CHECK: call @layer(%arg0, %arg1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>

// SPECIAL-LABEL: func.func private @layer(%arg0: tensor<4x4xbf16>, %arg1: tensor<4x4xbf16>) -> tensor<4x4xbf16>
// SPECIAL-NEXT: stablehlo.dot
// SPECIAL-NEXT: stablehlo.tanh
// SPECIAL-NEXT: return
func.func private @layer(%x: !x, %w: !x) -> !x {
  %a = "stablehlo.dot"(%x, %w) : (!x, !x) -> !x
  %t = "stablehlo.tanh"(%a) : (!x) -> !x
  return %t : !x
}

// SPECIAL-LABEL: func.func @two_layers(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>) -> tensor<4x4xf32>
// SPECIAL-COUNT-2: stablehlo.convert
// SPECIAL: %[[A:.*]] = call @layer(%{{.*}}, %[[W:.*]]) : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
// SPECIAL-NEXT: %[[B:.*]] = call @layer(%[[A]], %[[W]])
// SPECIAL-NEXT: %[[R:.*]] = "stablehlo.convert"(%[[B]])
// SPECIAL-NEXT: return %[[R]] : tensor<4x4xf32>
func.func @two_layers(%x: !x, %w: !x) -> !x {
  %a = call @layer(%x, %w) : (!x, !x) -> !x
  %b = call @layer(%a, %w) : (!x, !x) -> !x
  return %b : !x
}

// A function that calls itself agrees with itself.
// SPECIAL-LABEL: func.func private @recursive(%arg0: tensor<4x4xbf16>, %arg1: tensor<i1>) -> tensor<4x4xbf16>
func.func private @recursive(%x: !x, %p: tensor<i1>) -> !x {
  %a = "stablehlo.dot"(%x, %x) : (!x, !x) -> !x
  %b = call @recursive(%a, %p) : (!x, tensor<i1>) -> !x
  %c = "stablehlo.dot"(%b, %a) : (!x, !x) -> !x
  return %c : !x
}
func.func @start(%x: !x, %p: tensor<i1>) -> !x {
  %a = call @recursive(%x, %p) : (!x, tensor<i1>) -> !x
  return %a : !x
}

// One that somebody else refers to keeps its type.
// SPECIAL-LABEL: func.func private @referred(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32>
func.func private @referred(%x: !x) -> !x {
  %a = "stablehlo.dot"(%x, %x) : (!x, !x) -> !x
  return %a : !x
}
func.func @refers(%x: !x) -> !x {
  %a = call @referred(%x) : (!x) -> !x
  "acme.register"() {callback = @referred} : () -> ()
  return %a : !x
}

// A functional loop and its two functions.
// CHECK-LABEL: func.func @loop
// CHECK: "tf.While"({{.*}}) <{body = @body, cond = @cond}> {T = [i32, f32]} : (tensor<i32>, tensor<4x4xf32>) -> (tensor<i32>, tensor<4x4xf32>)
// SPECIAL-LABEL: func.func @loop
// SPECIAL: "tf.While"({{.*}}) <{body = @body, cond = @cond}> {T = [i32, bf16]} : (tensor<i32>, tensor<4x4xbf16>) -> (tensor<i32>, tensor<4x4xbf16>)
// SPECIAL: func.func private @cond(%arg0: tensor<i32>, %arg1: tensor<4x4xbf16>) -> tensor<i1>
// SPECIAL: func.func private @body(%arg0: tensor<i32>, %arg1: tensor<4x4xbf16>) -> (tensor<i32>, tensor<4x4xbf16>)
func.func @loop(%i: tensor<i32>, %x: !x) -> !x {
  %y = "tf.MatMul"(%x, %x) : (!x, !x) -> !x
  %r:2 = "tf.While"(%i, %y) <{body = @body, cond = @cond}> {T = [i32, f32]} : (tensor<i32>, !x) -> (tensor<i32>, !x)
  %z = "tf.MatMul"(%r#1, %r#1) : (!x, !x) -> !x
  return %z : !x
}
func.func private @cond(%i: tensor<i32>, %x: !x) -> tensor<i1> {
  %p = "tf.Less"(%i, %i) : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %p : tensor<i1>
}
func.func private @body(%i: tensor<i32>, %x: !x) -> (tensor<i32>, !x) {
  %y = "tf.MatMul"(%x, %x) : (!x, !x) -> !x
  return %i, %y : tensor<i32>, !x
}
