//--- calls.mlir
func.func @caller(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = call @callee(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %b = arith.addf %a, %a : tensor<64xf32>
  return %b : tensor<64xf32>
}
func.func @callee(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = call @callee(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %b = arith.mulf %a, %x : tensor<64xf32>
  return %b : tensor<64xf32>
}
//--- blocks.mlir
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}
