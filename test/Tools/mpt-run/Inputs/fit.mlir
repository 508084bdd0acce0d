// A linear fit, y = w x + b, for 40 rows or batches of any size.
func.func @loss(
    %w: tensor<2x1xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 2 : i64}},
    %b: tensor<1xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<?x2xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x1xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %p = mpt.linear %x, %w, %b : (tensor<?x2xf32>, tensor<2x1xf32>, tensor<1xf32>) -> tensor<?x1xf32>
  %loss = mpt.mse_loss %p, %y : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
