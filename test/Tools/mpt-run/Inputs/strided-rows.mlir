// Transposes that no matmul can read through: images of 56 x 56.
func.func @loss(
    %w: tensor<32x8xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %v: tensor<4x32xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 32 : i64}},
    %x: tensor<8x3136xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<4x3136xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %m = mpt.matmul %w, %x : (tensor<32x8xf32>, tensor<8x3136xf32>) -> tensor<32x3136xf32>
  %h = mpt.reshape %m : (tensor<32x3136xf32>) -> tensor<32x56x56xf32>
  %t = mpt.transpose %h {permutation = array<i64: 1, 2, 0>} : (tensor<32x56x56xf32>) -> tensor<56x56x32xf32>
  %q = mpt.mul %t, %t : (tensor<56x56x32xf32>, tensor<56x56x32xf32>) -> tensor<56x56x32xf32>
  %s = mpt.reduce %q {axes = array<i64: 2>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<56x56x32xf32>) -> tensor<56x56x1xf32>
  %r = mpt.rsqrt %s : (tensor<56x56x1xf32>) -> tensor<56x56x1xf32>
  %n = mpt.mul %t, %r : (tensor<56x56x32xf32>, tensor<56x56x1xf32>) -> tensor<56x56x32xf32>
  %p = mpt.mul %n, %n : (tensor<56x56x32xf32>, tensor<56x56x32xf32>) -> tensor<56x56x32xf32>
  %b = mpt.transpose %p {permutation = array<i64: 2, 0, 1>} : (tensor<56x56x32xf32>) -> tensor<32x56x56xf32>
  %c = mpt.reshape %b : (tensor<32x56x56xf32>) -> tensor<32x3136xf32>
  %z = mpt.matmul %v, %c : (tensor<4x32xf32>, tensor<32x3136xf32>) -> tensor<4x3136xf32>
  %loss = mpt.mse_loss %z, %y : (tensor<4x3136xf32>, tensor<4x3136xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
