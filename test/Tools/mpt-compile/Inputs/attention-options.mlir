// Attention of four heads of WIDTH (ALL together; keys and values have GROUPS heads, SOME
// together) of the first FIRST of ROWS rows to all of them. The names are replaced by sed.
// OPTIONS is what follows the values, TYPES its types, ATTRIBUTES what is in braces.
// %learned is a bias of SIZES. %far, which has no gradient, hides by the lowest number the
// positions that are not %isSeen; above BOUND they are.
func.func @loss(
    %x: tensor<2xROWSxALLxf32> {mpt.name = "x", mpt.role = "input"},
    %target: tensor<2xFIRSTx4xf32> {mpt.name = "t", mpt.role = "target"},
    %number: tensor<i64> {mpt.name = "seed", mpt.role = "rng"},
    %drawn: tensor<i64> {mpt.name = "attempt", mpt.role = "rng"},
    %seen: tensor<2x1x1xROWSxf32> {mpt.name = "seen", mpt.role = "input"},
    %learned: tensor<SIZESxf32> {mpt.name = "learned", mpt.role = "parameter"},
    %wq: tensor<ALLxALLxf32> {mpt.name = "wq", mpt.role = "parameter"},
    %wk: tensor<ALLxSOMExf32> {mpt.name = "wk", mpt.role = "parameter"},
    %wv: tensor<ALLxSOMExf32> {mpt.name = "wv", mpt.role = "parameter"},
    %wo: tensor<ALLx4xf32> {mpt.name = "wo", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %first = mpt.slice %x {offsets = array<i64: 0, 0, 0>, sizes = array<i64: 2, FIRST, ALL>, strides = array<i64: 1, 1, 1>} : (tensor<2xROWSxALLxf32>) -> tensor<2xFIRSTxALLxf32>
  %q0 = mpt.linear %first, %wq : (tensor<2xFIRSTxALLxf32>, tensor<ALLxALLxf32>) -> tensor<2xFIRSTxALLxf32>
  %k0 = mpt.linear %x, %wk : (tensor<2xROWSxALLxf32>, tensor<ALLxSOMExf32>) -> tensor<2xROWSxSOMExf32>
  %v0 = mpt.linear %x, %wv : (tensor<2xROWSxALLxf32>, tensor<ALLxSOMExf32>) -> tensor<2xROWSxSOMExf32>
  %q1 = mpt.reshape %q0 : (tensor<2xFIRSTxALLxf32>) -> tensor<2xFIRSTx4xWIDTHxf32>
  %k1 = mpt.reshape %k0 : (tensor<2xROWSxSOMExf32>) -> tensor<2xROWSxGROUPSxWIDTHxf32>
  %v1 = mpt.reshape %v0 : (tensor<2xROWSxSOMExf32>) -> tensor<2xROWSxGROUPSxWIDTHxf32>
  %q = mpt.transpose %q1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2xFIRSTx4xWIDTHxf32>) -> tensor<2x4xFIRSTxWIDTHxf32>
  %k = mpt.transpose %k1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2xROWSxGROUPSxWIDTHxf32>) -> tensor<2xGROUPSxROWSxWIDTHxf32>
  %v = mpt.transpose %v1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2xROWSxGROUPSxWIDTHxf32>) -> tensor<2xGROUPSxROWSxWIDTHxf32>
  %bound = mpt.constant dense<BOUND> : tensor<f32>
  %isSeen = mpt.compare %seen, %bound {predicate = #mpt.predicate<gt>} : (tensor<2x1x1xROWSxf32>, tensor<f32>) -> tensor<2x1x1xROWSxi1>
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %lowest = mpt.constant dense<-3.40282347E+38> : tensor<f32>
  %far = mpt.where %isSeen, %zero, %lowest : (tensor<2x1x1xROWSxi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1xROWSxf32>
  %y0, %lse = mpt.attention %q, %k, %vOPTIONS {ATTRIBUTES} : (tensor<2x4xFIRSTxWIDTHxf32>, tensor<2xGROUPSxROWSxWIDTHxf32>, tensor<2xGROUPSxROWSxWIDTHxf32>TYPES) -> (tensor<2x4xFIRSTxWIDTHxf32>, tensor<2x4xFIRSTxf32>)
  %y1 = mpt.transpose %y0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4xFIRSTxWIDTHxf32>) -> tensor<2xFIRSTx4xWIDTHxf32>
  %y2 = mpt.reshape %y1 : (tensor<2xFIRSTx4xWIDTHxf32>) -> tensor<2xFIRSTxALLxf32>
  %y = mpt.linear %y2, %wo : (tensor<2xFIRSTxALLxf32>, tensor<ALLx4xf32>) -> tensor<2xFIRSTx4xf32>
  %loss = mpt.mse_loss %y, %target : (tensor<2xFIRSTx4xf32>, tensor<2xFIRSTx4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
