// RUN: mpt-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @relu
func.func @relu(%x: tensor<4x?xbf16>) -> tensor<4x?xf32> {
  // CHECK: mpt.relu %{{.*}} : (tensor<4x?xbf16>) -> tensor<4x?xf32>
  %y = mpt.relu %x : (tensor<4x?xbf16>) -> tensor<4x?xf32>
  return %y : tensor<4x?xf32>
}
