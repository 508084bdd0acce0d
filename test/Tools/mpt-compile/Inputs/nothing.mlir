// Sums of rows where there are no rows.
func.func @f(%x: tensor<0x4xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<0xf32> {mpt.name = "y"}) {
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>} : (tensor<0x4xf32>) -> tensor<0xf32>
  return %y : tensor<0xf32>
}
