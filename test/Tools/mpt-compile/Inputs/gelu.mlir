// Two layers with a GELU between them, on three sequences.
func.func @loss(
    %w0: tensor<24x72xf32> {mpt.name = "w0", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 24 : i64}},
    %b0: tensor<72xf32> {mpt.name = "b0", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %w1: tensor<72x40xf32> {mpt.name = "w1", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 72 : i64}},
    %b1: tensor<40xf32> {mpt.name = "b1", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %w2: tensor<40x8xf32> {mpt.name = "w2", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 40 : i64}},
    %x: tensor<3x20x24xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<3x20x8xf32> {mpt.name = "t", mpt.role = "target"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %z0 = mpt.linear %x, %w0, %b0 : (tensor<3x20x24xf32>, tensor<24x72xf32>, tensor<72xf32>) -> tensor<3x20x72xf32>
  %h0 = mpt.gelu %z0 {approximate = #mpt.gelu<tanh>} : (tensor<3x20x72xf32>) -> tensor<3x20x72xf32>
  %z1 = mpt.linear %h0, %w1, %b1 : (tensor<3x20x72xf32>, tensor<72x40xf32>, tensor<40xf32>) -> tensor<3x20x40xf32>
  %h1 = mpt.gelu %z1 {approximate = #mpt.gelu<tanh>} : (tensor<3x20x40xf32>) -> tensor<3x20x40xf32>
  %y = mpt.linear %h1, %w2 : (tensor<3x20x40xf32>, tensor<40x8xf32>) -> tensor<3x20x8xf32>
  %loss = mpt.mse_loss %y, %t : (tensor<3x20x8xf32>, tensor<3x20x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
