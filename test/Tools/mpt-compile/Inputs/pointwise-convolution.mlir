// Nothing but a 1x1 convolution that moves by one, with bias and activation.
func.func @loss(
    %x: tensor<2x4x4x8xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<2x4x4x16xf32> {mpt.name = "t", mpt.role = "target"},
    %w: tensor<1x1x8x16xf32> {mpt.name = "w", mpt.role = "parameter"},
    %b: tensor<16xf32> {mpt.name = "b", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.conv2d %x, %w, %b : (tensor<2x4x4x8xf32>, tensor<1x1x8x16xf32>, tensor<16xf32>) -> tensor<2x4x4x16xf32>
  %1 = mpt.gelu %0 : (tensor<2x4x4x16xf32>) -> tensor<2x4x4x16xf32>
  %2 = mpt.mse_loss %1, %t : (tensor<2x4x4x16xf32>, tensor<2x4x4x16xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
