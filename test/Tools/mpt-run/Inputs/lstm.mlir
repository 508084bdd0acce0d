// Two time steps of one cell, over the columns of x, and a linear layer.
func.func @loss(
    %w: tensor<1x32xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %u: tensor<8x32xf32> {mpt.name = "u", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %b: tensor<32xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %v: tensor<8x1xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %d: tensor<1xf32> {mpt.name = "d", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<40x2xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<40x1xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %zero = mpt.constant dense<0.0> : tensor<40x8xf32>
  %x0 = mpt.slice %x {offsets = array<i64: 0, 0>, sizes = array<i64: 40, 1>, strides = array<i64: 1, 1>} : (tensor<40x2xf32>) -> tensor<40x1xf32>
  %x1 = mpt.slice %x {offsets = array<i64: 0, 1>, sizes = array<i64: 40, 1>, strides = array<i64: 1, 1>} : (tensor<40x2xf32>) -> tensor<40x1xf32>
  %h0, %c0, %g0 = mpt.lstm_cell %x0, %zero, %zero, %w, %u, %b : (tensor<40x1xf32>, tensor<40x8xf32>, tensor<40x8xf32>, tensor<1x32xf32>, tensor<8x32xf32>, tensor<32xf32>) -> (tensor<40x8xf32>, tensor<40x8xf32>, tensor<40x32xf32>)
  %h1, %c1, %g1 = mpt.lstm_cell %x1, %h0, %c0, %w, %u, %b : (tensor<40x1xf32>, tensor<40x8xf32>, tensor<40x8xf32>, tensor<1x32xf32>, tensor<8x32xf32>, tensor<32xf32>) -> (tensor<40x8xf32>, tensor<40x8xf32>, tensor<40x32xf32>)
  %p = mpt.linear %h1, %v, %d : (tensor<40x8xf32>, tensor<8x1xf32>, tensor<1xf32>) -> tensor<40x1xf32>
  %loss = mpt.mse_loss %p, %y : (tensor<40x1xf32>, tensor<40x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
