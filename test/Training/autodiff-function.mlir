// RUN: mpt-opt %s -mpt-autodiff="function=evaluate" | FileCheck %s

// CHECK-LABEL: func.func @loss
//   CHECK-NOT:   mpt.grad_seed
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// CHECK-LABEL: func.func @evaluate
//       CHECK:   mpt.grad_seed
func.func @evaluate(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  return %w : tensor<f32>
}
