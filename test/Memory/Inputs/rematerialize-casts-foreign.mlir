// The backward pass begins where most bytes are alive: at the sum, the third product.
func.func @convert(%x: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %n = "stablehlo.tanh"(%x) : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %w = "stablehlo.convert"(%n) : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %y = "stablehlo.tanh"(%w) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = "stablehlo.sine"(%y) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = "stablehlo.add"(%z, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = "stablehlo.multiply"(%a, %z) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = "stablehlo.multiply"(%g, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}
func.func @kernel(%x: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %n = "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 64, 64>, chunk_rows = 64 : i64,
      operand_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      result_maps = [affine_map<(d0, d1) -> (d0, d1)>]}> ({
  ^bb0(%e: bf16):
    %f = arith.negf %e : bf16
    mpt_kernel.yield %f : bf16
  }) : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %w = "mpt_kernel.kernel"(%n) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 64, 64>, chunk_rows = 64 : i64,
      operand_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      result_maps = [affine_map<(d0, d1) -> (d0, d1)>]}> ({
  ^bb0(%e: bf16):
    %f = arith.extf %e : bf16 to f32
    mpt_kernel.yield %f : f32
  }) : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %y = mpt.matmul %w, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = mpt.matmul %y, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = mpt.matmul %z, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = mpt.matmul %a, %z : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = mpt.matmul %g, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}
