// Elementwise ops that no example network has.
func.func @loss(
    %w: tensor<8x16xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 1.0}},
    %b: tensor<16xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<40x8xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<40x16xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.linear %x, %w, %b : (tensor<40x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<40x16xf32>
  %s = mpt.softplus %h : (tensor<40x16xf32>) -> tensor<40x16xf32>
  %p = mpt.log1p %s : (tensor<40x16xf32>) -> tensor<40x16xf32>
  %loss = mpt.mse_loss %p, %y : (tensor<40x16xf32>, tensor<40x16xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
