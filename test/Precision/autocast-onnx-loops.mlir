// onnx.If, onnx.Loop and onnx.Scan: what is carried, and what is collected, has one
// type inside and outside. Trip count and condition come first.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-validate-precision="type=f16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=f16" | diff %t.once.mlir -

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// Carried, and collected over the iterations; shapes are less known outside.
// CHECK-LABEL: func.func @loop(
// CHECK: %[[A:.*]] = "onnx.MatMul"({{.*}}) : {{.*}} -> tensor<8x4xf16>
// CHECK: %[[L:.*]]:2 = "onnx.Loop"(%{{.*}}, %{{.*}}, %[[A]]) ({
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %[[H:.*]]: tensor<8x4xf16>):
// CHECK: %[[N:.*]] = "onnx.MatMul"(%[[H]], %{{.*}}) : {{.*}} -> tensor<8x4xf16>
// CHECK: %[[T:.*]] = "onnx.Relu"(%[[N]]) : (tensor<8x4xf16>) -> tensor<8x4xf16>
// CHECK: "onnx.Yield"(%{{.*}}, %[[N]], %[[T]]) : (tensor<i1>, tensor<8x4xf16>, tensor<8x4xf16>) -> ()
// CHECK: }) : (tensor<i64>, tensor<i1>, tensor<8x4xf16>) -> (tensor<*xf16>, tensor<?x8x4xf16>)
// CHECK: "onnx.MatMul"(%[[L]]#1, %{{.*}}) : (tensor<?x8x4xf16>
func.func @loop(%x: !x, %w: !w, %m: tensor<i64>, %c: tensor<i1>) -> (tensor<*xf32>, tensor<?x8x4xf32>) {
  %a = "onnx.MatMul"(%x, %w) : (!x, !w) -> !x
  %r:2 = "onnx.Loop"(%m, %c, %a) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %h: !x):
    %n = "onnx.MatMul"(%h, %w) : (!x, !w) -> !x
    %t = "onnx.Relu"(%n) : (!x) -> !x
    "onnx.Yield"(%go, %n, %t) : (tensor<i1>, !x, !x) -> ()
  }) : (tensor<i64>, tensor<i1>, !x) -> (tensor<*xf32>, tensor<?x8x4xf32>)
  %d = "onnx.MatMul"(%r#1, %w) : (tensor<?x8x4xf32>, !w) -> tensor<?x8x4xf32>
  return %r#0, %d : tensor<*xf32>, tensor<?x8x4xf32>
}

// The state stays f32, as the sum over it does; what is read slice by slice is low,
// and so is what is collected.
// CHECK-LABEL: func.func @scan(
// CHECK: "onnx.Scan"({{.*}}) ({
// CHECK: ^bb0(%{{.*}}: tensor<8x4xf32>, %[[S:.*]]: tensor<8x4xf16>):
// CHECK: %[[N:.*]] = "onnx.MatMul"(%[[S]], %{{.*}}) : {{.*}} -> tensor<8x4xf16>
// CHECK: "onnx.Yield"(%{{.*}}, %[[N]]) : (tensor<8x4xf32>, tensor<8x4xf16>) -> ()
// CHECK: }) {num_scan_inputs = 1 : si64} : (tensor<8x4xf32>, tensor<5x8x4xf16>) -> (tensor<8x4xf32>, tensor<5x8x4xf16>)
func.func @scan(%x: !x, %xs: tensor<5x8x4xf32>, %w: !w) -> (!x, tensor<5x8x4xf32>) {
  %ys = "onnx.MatMul"(%xs, %w) : (tensor<5x8x4xf32>, !w) -> tensor<5x8x4xf32>
  %r:2 = "onnx.Scan"(%x, %ys) ({
  ^bb0(%h: !x, %s: !x):
    %n = "onnx.MatMul"(%s, %w) : (!x, !w) -> !x
    %e = "onnx.Exp"(%h) : (!x) -> !x
    "onnx.Yield"(%e, %n) : (!x, !x) -> ()
  }) {num_scan_inputs = 1 : si64} : (!x, tensor<5x8x4xf32>) -> (!x, tensor<5x8x4xf32>)
  %d = "onnx.MatMul"(%r#1, %w) : (tensor<5x8x4xf32>, !w) -> tensor<5x8x4xf32>
  return %r#0, %d : !x, tensor<5x8x4xf32>
}

// Must stay: nobody says how many of the operands are scanned.
// CHECK-LABEL: func.func @open(
// CHECK: ^bb0(%{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<8x4xf32>):
// CHECK: }) : (tensor<8x4xf32>, tensor<5x8x4xf32>) -> tensor<8x4xf32>
func.func @open(%x: !x, %xs: tensor<5x8x4xf32>, %w: !w) -> !x {
  %a = "onnx.MatMul"(%x, %w) : (!x, !w) -> !x
  %r = "onnx.Scan"(%a, %xs) ({
  ^bb0(%h: !x, %s: !x):
    %n = "onnx.MatMul"(%h, %w) : (!x, !w) -> !x
    "onnx.Yield"(%n) : (!x) -> ()
  }) : (!x, tensor<5x8x4xf32>) -> !x
  %d = "onnx.MatMul"(%r, %w) : (!x, !w) -> !x
  return %d : !x
}

// CHECK-LABEL: func.func @if(
// CHECK: "onnx.If"
// CHECK: "onnx.Yield"(%{{.*}}) : (tensor<8x4xf16>) -> ()
// CHECK: "onnx.Return"(%{{.*}}) : (tensor<8x4xf16>) -> ()
// CHECK: }) : (tensor<i1>) -> tensor<8x4xf16>
func.func @if(%x: !x, %w: !w, %c: tensor<i1>) -> !x {
  %r = "onnx.If"(%c) ({
    %a = "onnx.MatMul"(%x, %w) : (!x, !w) -> !x
    "onnx.Yield"(%a) : (!x) -> ()
  }, {
    %a = "onnx.Relu"(%x) : (!x) -> !x
    "onnx.Return"(%a) : (!x) -> ()
  }) : (tensor<i1>) -> !x
  %d = "onnx.MatMul"(%r, %w) : (!x, !w) -> !x
  return %d : !x
}
