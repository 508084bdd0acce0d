// Two layers whose parameters an optimizer updates.
func.func @loss(
    %w: tensor<64x48xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 64 : i64}},
    %v: tensor<48x32xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 48 : i64}},
    %x: tensor<16x64xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<16x32xf32> {mpt.name = "t", mpt.role = "target"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.linear %x, %w {epilogue = #mpt.epilogue<relu>} : (tensor<16x64xf32>, tensor<64x48xf32>) -> tensor<16x48xf32>
  %y = mpt.linear %h, %v : (tensor<16x48xf32>, tensor<48x32xf32>) -> tensor<16x32xf32>
  %loss = mpt.mse_loss %y, %t : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
