// Attention of a parameter, and an equal one of what is computed.
func.func @f(
    %x: tensor<2x1x64x64xbf16> {mpt.name = "x", mpt.role = "input"},
    %w: tensor<2x1x64x64xbf16> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<2x1x64x64xbf16> {mpt.name = "y"}) {
  %a, %sums = mpt.attention %w, %w, %w : (tensor<2x1x64x64xbf16>, tensor<2x1x64x64xbf16>, tensor<2x1x64x64xbf16>) -> (tensor<2x1x64x64xbf16>, tensor<2x1x64xf32>)
  %z = mpt.add %a, %x : (tensor<2x1x64x64xbf16>, tensor<2x1x64x64xbf16>) -> tensor<2x1x64x64xbf16>
  %b, %others = mpt.attention %z, %z, %z : (tensor<2x1x64x64xbf16>, tensor<2x1x64x64xbf16>, tensor<2x1x64x64xbf16>) -> (tensor<2x1x64x64xbf16>, tensor<2x1x64xf32>)
  %y = mpt.add %a, %b : (tensor<2x1x64x64xbf16>, tensor<2x1x64x64xbf16>) -> tensor<2x1x64x64xbf16>
  return %y : tensor<2x1x64x64xbf16>
}
