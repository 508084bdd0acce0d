// Convolutions in groups: one with bias and activation, a depthwise one with two filters a
// channel, and a strided one whose filter is larger than its matrix of columns would be.
func.func @loss(
    %x: tensor<2x7x6x8xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<2x16xf32> {mpt.name = "t", mpt.role = "target"},
    %w0: tensor<3x3x4x12xf32> {mpt.name = "w0", mpt.role = "parameter"},
    %b0: tensor<12xf32> {mpt.name = "b0", mpt.role = "parameter"},
    %w1: tensor<3x2x1x24xf32> {mpt.name = "w1", mpt.role = "parameter"},
    %w2: tensor<4x3x24x16xf32> {mpt.name = "w2", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.conv2d %x, %w0, %b0 {groups = 2 : i64, padding = array<i64: 1, 1, 1, 1>} : (tensor<2x7x6x8xf32>, tensor<3x3x4x12xf32>, tensor<12xf32>) -> tensor<2x7x6x12xf32>
  %1 = mpt.gelu %0 : (tensor<2x7x6x12xf32>) -> tensor<2x7x6x12xf32>
  %2 = mpt.conv2d %1, %w1 {groups = 12 : i64, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 0, 0>} : (tensor<2x7x6x12xf32>, tensor<3x2x1x24xf32>) -> tensor<2x4x3x24xf32>
  %3 = mpt.relu %2 : (tensor<2x4x3x24xf32>) -> tensor<2x4x3x24xf32>
  %4 = mpt.conv2d %3, %w2 : (tensor<2x4x3x24xf32>, tensor<4x3x24x16xf32>) -> tensor<2x1x1x16xf32>
  %5 = mpt.reshape %4 : (tensor<2x1x1x16xf32>) -> tensor<2x16xf32>
  %6 = mpt.mse_loss %5, %t : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<f32>
  return %6 : tensor<f32>
}
