// Elementwise ops that no example network has.
func.func @loss(
    %w: tensor<8x16xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 1.0}},
    %b: tensor<16xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<40x8xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<40x16xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.linear %x, %w, %b : (tensor<40x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<40x16xf32>
  %s = mpt.softplus %h : (tensor<40x16xf32>) -> tensor<40x16xf32>
  %p = mpt.log1p %s : (tensor<40x16xf32>) -> tensor<40x16xf32>
  // Numbers from 1 to 2, of bits that depend on the row and the column.
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<40x16xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<40x16xi32>
  %golden = mpt.constant dense<-1640531527> : tensor<i32>
  %c13 = mpt.constant dense<13> : tensor<i32>
  %c19 = mpt.constant dense<19> : tensor<i32>
  %mantissa = mpt.constant dense<8388607> : tensor<i32>
  %one = mpt.constant dense<1065353216> : tensor<i32>
  %scaled = mpt.mul %row, %golden : (tensor<40x16xi32>, tensor<i32>) -> tensor<40x16xi32>
  %mixed = mpt.xor %scaled, %column : (tensor<40x16xi32>, tensor<40x16xi32>) -> tensor<40x16xi32>
  %high = mpt.shift_left %mixed, %c13 : (tensor<40x16xi32>, tensor<i32>) -> tensor<40x16xi32>
  %low = mpt.shift_right_logical %mixed, %c19 : (tensor<40x16xi32>, tensor<i32>) -> tensor<40x16xi32>
  %turned = mpt.or %high, %low : (tensor<40x16xi32>, tensor<40x16xi32>) -> tensor<40x16xi32>
  // By the column: from 0 bits on.
  %signs = mpt.shift_right_arithmetic %turned, %column : (tensor<40x16xi32>, tensor<40x16xi32>) -> tensor<40x16xi32>
  %ones = mpt.population_count %turned : (tensor<40x16xi32>) -> tensor<40x16xi32>
  %zeros = mpt.count_leading_zeros %signs : (tensor<40x16xi32>) -> tensor<40x16xi32>
  %counts = mpt.shift_left %ones, %zeros : (tensor<40x16xi32>, tensor<40x16xi32>) -> tensor<40x16xi32>
  %flipped = mpt.not %counts : (tensor<40x16xi32>) -> tensor<40x16xi32>
  %sum = mpt.xor %signs, %flipped : (tensor<40x16xi32>, tensor<40x16xi32>) -> tensor<40x16xi32>
  %fraction = mpt.and %sum, %mantissa : (tensor<40x16xi32>, tensor<i32>) -> tensor<40x16xi32>
  %bits = mpt.or %fraction, %one : (tensor<40x16xi32>, tensor<i32>) -> tensor<40x16xi32>
  %number = mpt.bitcast %bits : (tensor<40x16xi32>) -> tensor<40x16xf32>
  %q = mpt.mul %p, %number : (tensor<40x16xf32>, tensor<40x16xf32>) -> tensor<40x16xf32>
  %loss = mpt.mse_loss %q, %y : (tensor<40x16xf32>, tensor<40x16xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
