// A second run changes nothing: what the first made low is no reason for more.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16" -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mpt-opt %t.mlir --allow-unregistered-dialect --mpt-autocast="type=f16" | diff %t.mlir -
// RUN: %python %S/Inputs/run-twice.py mpt-opt 400 | FileCheck %s --check-prefix=RANDOM
// RANDOM: {{^}}0 functions changed

// tanh reads what is low for the sake of a contraction, but comes after none.
// CHECK-LABEL: func @clear
// CHECK: "stablehlo.tanh"{{.*}}(tensor<512x512xf32>) -> tensor<512x512xf32>
func.func @clear(%a: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = "stablehlo.transpose"(%a) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = "stablehlo.dot"(%0, %a) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = "stablehlo.tanh"(%0) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %4 = "stablehlo.dot"(%2, %1) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %4 : tensor<512x512xf32>
}

// What the user made low is one.
// CHECK-LABEL: func @user
// CHECK: "stablehlo.tanh"{{.*}}(tensor<512x512xf16>) -> tensor<512x512xf16>
func.func @user(%a: tensor<512x512xf16>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = "stablehlo.transpose"(%a) : (tensor<512x512xf16>) -> tensor<512x512xf16>
  %1 = "stablehlo.convert"(%0) : (tensor<512x512xf16>) -> tensor<512x512xf32>
  %2 = "stablehlo.tanh"(%0) : (tensor<512x512xf16>) -> tensor<512x512xf16>
  %3 = "stablehlo.convert"(%2) : (tensor<512x512xf16>) -> tensor<512x512xf32>
  %4 = "stablehlo.dot"(%3, %1) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %4 : tensor<512x512xf32>
}

// Ops that hold another narrow type are left alone.
// CHECK-LABEL: func @others
// CHECK: "stablehlo.dot"{{.*}}(tensor<4x4xf32>, tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK: "stablehlo.dot"{{.*}}(tensor<4x4xf8E4M3FN>, tensor<4x4xf8E4M3FN>) -> tensor<4x4xf32>
// CHECK: "torch.aten.mm"{{.*}}(!torch.vtensor<*,f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<*,f32>
// CHECK: "torch.aten.mm"{{.*}}(!torch.vtensor<[4,4],unk>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
func.func @others(%a: tensor<4x4xf32>, %b: tensor<4x4xbf16>, %c: tensor<4x4xf8E4M3FN>, %t: !torch.vtensor<*,f32>, %u: !torch.vtensor<[4,4],f32>, %v: !torch.vtensor<[4,4],unk>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, !torch.vtensor<*,f32>, !torch.vtensor<[4,4],f32>) {
  %0 = "stablehlo.dot"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xbf16>) -> tensor<4x4xf32>
  %1 = "stablehlo.dot"(%c, %c) : (tensor<4x4xf8E4M3FN>, tensor<4x4xf8E4M3FN>) -> tensor<4x4xf32>
  %2 = "torch.aten.mm"(%t, %u) : (!torch.vtensor<*,f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<*,f32>
  %3 = "torch.aten.mm"(%v, %u) : (!torch.vtensor<[4,4],unk>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, !torch.vtensor<*,f32>, !torch.vtensor<[4,4],f32>
}
