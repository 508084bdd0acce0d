// A linear fit over 40 rows.
func.func @loss(
    %w: tensor<2x1xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %b: tensor<1xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<40x2xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<40x1xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %p = mpt.linear %x, %w, %b : (tensor<40x2xf32>, tensor<2x1xf32>, tensor<1xf32>) -> tensor<40x1xf32>
  %loss = mpt.mse_loss %p, %y : (tensor<40x1xf32>, tensor<40x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
