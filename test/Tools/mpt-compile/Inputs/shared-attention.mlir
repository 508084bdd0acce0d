// Attention of four heads of queries that share two of keys, of 32 over 70 rows, causal.
func.func @loss(
    %x: tensor<2x70x128xf32> {mpt.name = "x", mpt.role = "input"},
    %target: tensor<2x70x4xf32> {mpt.name = "t", mpt.role = "target"},
    %wq: tensor<128x128xf32> {mpt.name = "wq", mpt.role = "parameter"},
    %wk: tensor<128x64xf32> {mpt.name = "wk", mpt.role = "parameter"},
    %wv: tensor<128x64xf32> {mpt.name = "wv", mpt.role = "parameter"},
    %wo: tensor<128x4xf32> {mpt.name = "wo", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %q0 = mpt.linear %x, %wq : (tensor<2x70x128xf32>, tensor<128x128xf32>) -> tensor<2x70x128xf32>
  %k0 = mpt.linear %x, %wk : (tensor<2x70x128xf32>, tensor<128x64xf32>) -> tensor<2x70x64xf32>
  %v0 = mpt.linear %x, %wv : (tensor<2x70x128xf32>, tensor<128x64xf32>) -> tensor<2x70x64xf32>
  %q1 = mpt.reshape %q0 : (tensor<2x70x128xf32>) -> tensor<2x70x4x32xf32>
  %k1 = mpt.reshape %k0 : (tensor<2x70x64xf32>) -> tensor<2x70x2x32xf32>
  %v1 = mpt.reshape %v0 : (tensor<2x70x64xf32>) -> tensor<2x70x2x32xf32>
  %q = mpt.transpose %q1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x70x4x32xf32>) -> tensor<2x4x70x32xf32>
  %k = mpt.transpose %k1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x70x2x32xf32>) -> tensor<2x2x70x32xf32>
  %v = mpt.transpose %v1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x70x2x32xf32>) -> tensor<2x2x70x32xf32>
  %y0, %lse = mpt.attention %q, %k, %v {causal} : (tensor<2x4x70x32xf32>, tensor<2x2x70x32xf32>, tensor<2x2x70x32xf32>) -> (tensor<2x4x70x32xf32>, tensor<2x4x70xf32>)
  %y1 = mpt.transpose %y0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x70x32xf32>) -> tensor<2x70x4x32xf32>
  %y2 = mpt.reshape %y1 : (tensor<2x70x4x32xf32>) -> tensor<2x70x128xf32>
  %y = mpt.linear %y2, %wo : (tensor<2x70x128xf32>, tensor<128x4xf32>) -> tensor<2x70x4xf32>
  %loss = mpt.mse_loss %y, %target : (tensor<2x70x4xf32>, tensor<2x70x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
