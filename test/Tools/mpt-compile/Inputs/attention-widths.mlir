// Attention with dropout whose queries and keys have KEYS columns and whose values have
// VALUES; the names are replaced by sed.
func.func @loss(
    %number: tensor<i64> {mpt.name = "seed", mpt.role = "rng"},
    %drawn: tensor<i64> {mpt.name = "attempt", mpt.role = "rng"},
    %q: tensor<2x4x256xKEYSxf32> {mpt.name = "q", mpt.role = "parameter"},
    %k: tensor<2x4x256xKEYSxf32> {mpt.name = "k", mpt.role = "parameter"},
    %v: tensor<2x4x256xVALUESxf32> {mpt.name = "v", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y, %lse = mpt.attention %q, %k, %v rng(%number, %drawn) {dropout = 0.25 : f64, stream = 3 : i64} : (tensor<2x4x256xKEYSxf32>, tensor<2x4x256xKEYSxf32>, tensor<2x4x256xVALUESxf32>, tensor<i64>, tensor<i64>) -> (tensor<2x4x256xVALUESxf32>, tensor<2x4x256xf32>)
  %loss = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x256xVALUESxf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
