// Convolutions of every kind: 3x3, strided, dilated, 1x1, strided 1x1, in groups, with
// channels that do not fill vectors.
func.func @loss(
    %x: tensor<4x9x8x3xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<4x5xf32> {mpt.name = "t", mpt.role = "target"},
    %w0: tensor<3x3x3x16xf32> {mpt.name = "w0", mpt.role = "parameter"},
    %b0: tensor<16xf32> {mpt.name = "b0", mpt.role = "parameter"},
    %w1: tensor<3x3x16x24xf32> {mpt.name = "w1", mpt.role = "parameter"},
    %w2: tensor<1x1x24x32xf32> {mpt.name = "w2", mpt.role = "parameter"},
    %b2: tensor<32xf32> {mpt.name = "b2", mpt.role = "parameter"},
    %w3: tensor<3x3x4x32xf32> {mpt.name = "w3", mpt.role = "parameter"},
    %w4: tensor<1x1x32x8xf32> {mpt.name = "w4", mpt.role = "parameter"},
    %w5: tensor<2x3x8x8xf32> {mpt.name = "w5", mpt.role = "parameter"},
    %w6: tensor<16x5xf32> {mpt.name = "w6", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.conv2d %x, %w0, %b0 {padding = array<i64: 1, 1, 1, 1>} : (tensor<4x9x8x3xf32>, tensor<3x3x3x16xf32>, tensor<16xf32>) -> tensor<4x9x8x16xf32>
  %1 = mpt.relu %0 : (tensor<4x9x8x16xf32>) -> tensor<4x9x8x16xf32>
  %2 = mpt.conv2d %1, %w1 {strides = array<i64: 2, 2>, padding = array<i64: 0, 1, 1, 1>} : (tensor<4x9x8x16xf32>, tensor<3x3x16x24xf32>) -> tensor<4x4x4x24xf32>
  %3 = mpt.tanh %2 : (tensor<4x4x4x24xf32>) -> tensor<4x4x4x24xf32>
  %4 = mpt.conv2d %3, %w2, %b2 : (tensor<4x4x4x24xf32>, tensor<1x1x24x32xf32>, tensor<32xf32>) -> tensor<4x4x4x32xf32>
  %5 = mpt.gelu %4 : (tensor<4x4x4x32xf32>) -> tensor<4x4x4x32xf32>
  %6 = mpt.conv2d %5, %w3 {groups = 8 : i64, padding = array<i64: 1, 1, 1, 1>} : (tensor<4x4x4x32xf32>, tensor<3x3x4x32xf32>) -> tensor<4x4x4x32xf32>
  %7 = mpt.conv2d %6, %w4 {strides = array<i64: 2, 1>} : (tensor<4x4x4x32xf32>, tensor<1x1x32x8xf32>) -> tensor<4x2x4x8xf32>
  %8 = mpt.conv2d %7, %w5 {dilations = array<i64: 1, 2>, padding = array<i64: 0, 0, 1, 1>} : (tensor<4x2x4x8xf32>, tensor<2x3x8x8xf32>) -> tensor<4x1x2x8xf32>
  %9 = mpt.reshape %8 : (tensor<4x1x2x8xf32>) -> tensor<4x16xf32>
  %10 = mpt.linear %9, %w6 : (tensor<4x16xf32>, tensor<16x5xf32>) -> tensor<4x5xf32>
  %11 = mpt.mse_loss %10, %t : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  return %11 : tensor<f32>
}
