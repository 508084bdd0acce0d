func.func @loss(%w: tensor<3x3x3x3xf32> {mpt.name = "w", mpt.role = "parameter"},
                %b: tensor<3xf32> {mpt.name = "b", mpt.role = "parameter"}, %x: tensor<1x1200x1200x3xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x1200x1200x3xf32>, tensor<3x3x3x3xf32>) -> tensor<1x1200x1200x3xf32>
  %z = mpt.add %y, %b : (tensor<1x1200x1200x3xf32>, tensor<3xf32>) -> tensor<1x1200x1200x3xf32>
  %q = mpt.mul %z, %z : (tensor<1x1200x1200x3xf32>, tensor<1x1200x1200x3xf32>) -> tensor<1x1200x1200x3xf32>
  %l = mpt.reduce %q {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1, 2, 3>} : (tensor<1x1200x1200x3xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
