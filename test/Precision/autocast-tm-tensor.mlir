// torch-mlir's ops beside linalg, and torch's prims.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16" --remarks-filter="mpt[.]autocast[.]unlisted" -o %t.mlir 2>&1 | FileCheck %s --check-prefix=LISTED --allow-empty
// RUN: FileCheck %s < %t.mlir
// RUN: mpt-opt %t.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16" | diff %t.mlir -
// LISTED-NOT: unlisted

// Structured ops stay f32, with casts of upstream dialects around them.

// CHECK-LABEL: func.func @add
// CHECK: "tm_tensor.scatter"
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
// CHECK: }) : (tensor<4x4xf32>, tensor<4x1xi32>, tensor<8x4xf32>) -> tensor<8x4xf32>
func.func @add(%x: tensor<4x4xf32>, %i: tensor<4x1xi32>, %o: tensor<4x4xf32>, %z: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = "tm_tensor.scatter"(%a, %i, %z) <{dimension_map = array<i64: 0>, operandSegmentSizes = array<i32: 2, 1>, unique_indices = false}> ({
  ^bb0(%u: f32, %v: f32):
    %s = arith.addf %u, %v : f32
    "tm_tensor.yield"(%s) : (f32) -> ()
  }) : (tensor<4x4xf32>, tensor<4x1xi32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %d = linalg.matmul ins(%c, %x : tensor<8x4xf32>, tensor<4x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %d : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @prims
// CHECK: "torch.prims.squeeze"({{.*}}) : (!torch.vtensor<[1,4,4],bf16>, !torch.list<int>) -> !torch.vtensor<[4,4],bf16>
func.func @prims(%x: !torch.vtensor<[1,4,4],f32>, %w: !torch.vtensor<[4,4],f32>, %v: !torch.vtensor<[1,4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  %zero = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %none = "torch.constant.none"() : () -> !torch.none
  %one = "torch.constant.float"() {value = 1.0 : f64} : () -> !torch.float
  %dims = "torch.prim.ListConstruct"(%zero) : (!torch.int) -> !torch.list<int>
  %a = "torch.aten.bmm"(%x, %v) : (!torch.vtensor<[1,4,4],f32>, !torch.vtensor<[1,4,4],f32>) -> !torch.vtensor<[1,4,4],f32>
  %b = "torch.prims.squeeze"(%a, %dims) : (!torch.vtensor<[1,4,4],f32>, !torch.list<int>) -> !torch.vtensor<[4,4],f32>
  %s = "torch.aten.scalar_tensor"(%one, %none, %none, %none, %none) : (!torch.float, !torch.none, !torch.none, !torch.none, !torch.none) -> !torch.vtensor<[],f32>
  %c = "torch.aten.mm"(%b, %w) : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  %d = "torch.aten.sub.Tensor"(%c, %s, %zero) : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[],f32>, !torch.int) -> !torch.vtensor<[4,4],f32>
  return %d : !torch.vtensor<[4,4],f32>
}
