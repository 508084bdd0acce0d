func.func @loss(
    %w: tensor<32x8xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %v: tensor<4x32xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 32 : i64}},
    %x: tensor<8x3136xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<4x3136xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.matmul %w, %x : (tensor<32x8xf32>, tensor<8x3136xf32>) -> tensor<32x3136xf32>
  %t = mpt.transpose %h {permutation = array<i64: 1, 0>} : (tensor<32x3136xf32>) -> tensor<3136x32xf32>
  %q = mpt.mul %t, %t : (tensor<3136x32xf32>, tensor<3136x32xf32>) -> tensor<3136x32xf32>
  %s = mpt.reduce %q {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<3136x32xf32>) -> tensor<3136x1xf32>
  %r = mpt.rsqrt %s : (tensor<3136x1xf32>) -> tensor<3136x1xf32>
  %n = mpt.mul %t, %r : (tensor<3136x32xf32>, tensor<3136x1xf32>) -> tensor<3136x32xf32>
  %p = mpt.mul %n, %n : (tensor<3136x32xf32>, tensor<3136x32xf32>) -> tensor<3136x32xf32>
  %b = mpt.transpose %p {permutation = array<i64: 1, 0>} : (tensor<3136x32xf32>) -> tensor<32x3136xf32>
  %z = mpt.matmul %v, %b : (tensor<4x32xf32>, tensor<32x3136xf32>) -> tensor<4x3136xf32>
  %loss = mpt.mse_loss %z, %y : (tensor<4x3136xf32>, tensor<4x3136xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
