// Attention of two heads of WIDTH (DOUBLE together) over ROWS rows; the names are
// replaced by sed. SEES is a mask's rows: 1, or ROWS, of which the sixth sees nothing.
// MASK is ", %mask" or nothing, and MTYPE its type.
func.func @loss(
    %x: tensor<2xROWSxDOUBLExf32> {mpt.name = "x", mpt.role = "input"},
    %target: tensor<2xROWSx4xf32> {mpt.name = "t", mpt.role = "target"},
    %seen: tensor<2x1xSEESxROWSxf32> {mpt.name = "seen", mpt.role = "input"},
    %wq: tensor<DOUBLExDOUBLExf32> {mpt.name = "wq", mpt.role = "parameter"},
    %wk: tensor<DOUBLExDOUBLExf32> {mpt.name = "wk", mpt.role = "parameter"},
    %wv: tensor<DOUBLExDOUBLExf32> {mpt.name = "wv", mpt.role = "parameter"},
    %wo: tensor<DOUBLEx4xf32> {mpt.name = "wo", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %q0 = mpt.linear %x, %wq : (tensor<2xROWSxDOUBLExf32>, tensor<DOUBLExDOUBLExf32>) -> tensor<2xROWSxDOUBLExf32>
  %k0 = mpt.linear %x, %wk : (tensor<2xROWSxDOUBLExf32>, tensor<DOUBLExDOUBLExf32>) -> tensor<2xROWSxDOUBLExf32>
  %v0 = mpt.linear %x, %wv : (tensor<2xROWSxDOUBLExf32>, tensor<DOUBLExDOUBLExf32>) -> tensor<2xROWSxDOUBLExf32>
  %q1 = mpt.reshape %q0 : (tensor<2xROWSxDOUBLExf32>) -> tensor<2xROWSx2xWIDTHxf32>
  %k1 = mpt.reshape %k0 : (tensor<2xROWSxDOUBLExf32>) -> tensor<2xROWSx2xWIDTHxf32>
  %v1 = mpt.reshape %v0 : (tensor<2xROWSxDOUBLExf32>) -> tensor<2xROWSx2xWIDTHxf32>
  %q = mpt.transpose %q1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2xROWSx2xWIDTHxf32>) -> tensor<2x2xROWSxWIDTHxf32>
  %k = mpt.transpose %k1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2xROWSx2xWIDTHxf32>) -> tensor<2x2xROWSxWIDTHxf32>
  %v = mpt.transpose %v1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2xROWSx2xWIDTHxf32>) -> tensor<2x2xROWSxWIDTHxf32>
  %bound = mpt.constant dense<-0.3> : tensor<f32>
  %above = mpt.compare %seen, %bound {predicate = #mpt.predicate<gt>} : (tensor<2x1xSEESxROWSxf32>, tensor<f32>) -> tensor<2x1xSEESxROWSxi1>
  %row = mpt.iota {axis = 2 : i64} : () -> tensor<2x1xSEESxROWSxi32>
  %blind = mpt.constant dense<5> : tensor<i32>
  %sees = mpt.compare %row, %blind {predicate = #mpt.predicate<ne>} : (tensor<2x1xSEESxROWSxi32>, tensor<i32>) -> tensor<2x1xSEESxROWSxi1>
  %mask = mpt.and %above, %sees : (tensor<2x1xSEESxROWSxi1>, tensor<2x1xSEESxROWSxi1>) -> tensor<2x1xSEESxROWSxi1>
  %y0, %lse = mpt.attention %q, %k, %vMASK {CAUSAL} : (tensor<2x2xROWSxWIDTHxf32>, tensor<2x2xROWSxWIDTHxf32>, tensor<2x2xROWSxWIDTHxf32>MTYPE) -> (tensor<2x2xROWSxWIDTHxf32>, tensor<2x2xROWSxf32>)
  %y1 = mpt.transpose %y0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2xROWSxWIDTHxf32>) -> tensor<2xROWSx2xWIDTHxf32>
  %y2 = mpt.reshape %y1 : (tensor<2xROWSx2xWIDTHxf32>) -> tensor<2xROWSxDOUBLExf32>
  %y = mpt.linear %y2, %wo : (tensor<2xROWSxDOUBLExf32>, tensor<DOUBLEx4xf32>) -> tensor<2xROWSx4xf32>
  %loss = mpt.mse_loss %y, %target : (tensor<2xROWSx4xf32>, tensor<2xROWSx4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
