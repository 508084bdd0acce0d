// fit.mlir's network, its error on held-out rows and how many of them it puts too
// high.
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

func.func @test(
    %w: tensor<2x1xf32> {mpt.name = "w", mpt.role = "parameter"},
    %b: tensor<1xf32> {mpt.name = "b", mpt.role = "parameter"},
    %x: tensor<?x2xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x1xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "mse"}, tensor<i32> {mpt.name = "above"}) {
  %p = mpt.linear %x, %w, %b : (tensor<?x2xf32>, tensor<2x1xf32>, tensor<1xf32>) -> tensor<?x1xf32>
  %mse = mpt.mse_loss %p, %y : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<f32>
  %is_above = mpt.compare %p, %y {predicate = #mpt.predicate<gt>}
      : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x1xi1>
  %ones = mpt.cast %is_above : (tensor<?x1xi1>) -> tensor<?x1xi32>
  %above = mpt.reduce %ones {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>}
      : (tensor<?x1xi32>) -> tensor<i32>
  return %mse, %above : tensor<f32>, tensor<i32>
}
