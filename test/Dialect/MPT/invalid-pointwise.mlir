// RUN: mpt-opt %s -split-input-file -verify-diagnostics

// An inferred type comes with a second message that names the op.

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{'mpt.neg' op operand #0 must be ranked tensor of 64-bit float or 32-bit float or 16-bit float or bfloat16 type or f8E4M3FN type or f8E5M2 type values, but got 'tensor<*xf32>'}}
  %y = mpt.neg %x : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @integer(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.exp' op operand #0 must be ranked tensor of 64-bit float}}
  %y = mpt.exp %x : (tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @shape(%x: tensor<4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error @+1 {{'mpt.relu' op failed to infer returned types}}
  %y = mpt.relu %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @rank(%x: tensor<f32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<f32>' are incompatible with return type(s) of operation 'tensor<1xf32>'}}
  // expected-error @+1 {{'mpt.tanh' op failed to infer returned types}}
  %y = mpt.tanh %x : (tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @kind(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<4xi32>'}}
  // expected-error @+1 {{'mpt.add' op failed to infer returned types}}
  %z = mpt.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<4xf32>) {
  // expected-error @+2 {{operands do not broadcast: expected sizes that are equal or 1, aligned at the last dimension, found 2x3 and 4}}
  // expected-error @+1 {{'mpt.add' op failed to infer returned types}}
  %z = mpt.add %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_empty(%x: tensor<0xf32>, %y: tensor<2xf32>) {
  // expected-error @+2 {{operands do not broadcast: expected sizes that are equal or 1, aligned at the last dimension, found 0 and 2}}
  // expected-error @+1 {{'mpt.mul' op failed to infer returned types}}
  %z = mpt.mul %x, %y : (tensor<0xf32>, tensor<2xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @broadcast_scalar(%c: tensor<2xi1>, %x: tensor<f32>, %y: tensor<3x?xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<3x2xf32>' are incompatible with return type(s) of operation 'tensor<3x4xf32>'}}
  // expected-error @+1 {{'mpt.where' op failed to infer returned types}}
  %z = mpt.where %c, %x, %y : (tensor<2xi1>, tensor<f32>, tensor<3x?xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @where_shapes(%c: tensor<2xi1>, %x: tensor<3xf32>, %y: tensor<f32>) {
  // expected-error @+2 {{operands do not broadcast: expected sizes that are equal or 1, aligned at the last dimension, found 2 and 3 and scalar}}
  // expected-error @+1 {{'mpt.where' op failed to infer returned types}}
  %z = mpt.where %c, %x, %y : (tensor<2xi1>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @where_types(%c: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xi32>) {
  // expected-error @+2 {{expected two floats or two equal integer types, found 'f32' and 'i32'; convert one with mpt.cast}}
  // expected-error @+1 {{'mpt.where' op failed to infer returned types}}
  %z = mpt.where %c, %x, %y : (tensor<i1>, tensor<3xf32>, tensor<3xi32>) -> tensor<3xf32>
  return
}

// -----

func.func @where_condition(%c: tensor<i8>, %x: tensor<3xf32>) {
  // expected-error @+1 {{'mpt.where' op operand #0 must be ranked tensor of 1-bit signless integer values, but got 'tensor<i8>'}}
  %z = mpt.where %c, %x, %x : (tensor<i8>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @mixed(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+2 {{expected two floats or two equal integer types, found 'f32' and 'i32'; convert one with mpt.cast}}
  // expected-error @+1 {{'mpt.sub' op failed to infer returned types}}
  %z = mpt.sub %x, %y : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @integer_widths(%x: tensor<4xi64>, %y: tensor<4xi32>) {
  // expected-error @+2 {{expected two floats or two equal integer types, found 'i64' and 'i32'; convert one with mpt.cast}}
  // expected-error @+1 {{'mpt.compare' op failed to infer returned types}}
  %z = mpt.compare %x, %y {predicate = #mpt.predicate<eq>} : (tensor<4xi64>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @boolean(%x: tensor<4xi1>) {
  // expected-error @+2 {{expected floats or integers of at least 8 bits, found 'i1'; use mpt.and, mpt.or, mpt.xor or mpt.not, or convert with mpt.cast}}
  // expected-error @+1 {{'mpt.maximum' op failed to infer returned types}}
  %z = mpt.maximum %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @pow_integers(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.pow' op operand #0 must be ranked tensor of 64-bit float}}
  %z = mpt.pow %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @unsigned(%x: tensor<4xui8>) {
  // expected-error @+1 {{'mpt.add' op operand #0 must be ranked tensor of 64-bit float or 32-bit float or 16-bit float or bfloat16 type or f8E4M3FN type or f8E5M2 type or 1-bit signless integer or 8-bit signless integer or 16-bit signless integer or 32-bit signless integer or 64-bit signless integer values, but got 'tensor<4xui8>'}}
  %z = mpt.add %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return
}

// -----

func.func @compare_predicate(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.compare' op requires attribute 'predicate'}}
  %z = mpt.compare %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_keyword(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected ::mpt::ComparePredicate to be one of: eq, ne, lt, le, gt, ge}}
  // expected-error @+1 {{failed to parse MPT_Predicate parameter 'value' which is to be a `::mpt::ComparePredicate`}}
  %z = mpt.compare %x, %x {predicate = #mpt.predicate<less>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @gelu_keyword(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected ::mpt::GeluApproximation to be one of: none, tanh}}
  // expected-error @+1 {{failed to parse MPT_GeluKind parameter 'value' which is to be a `::mpt::GeluApproximation`}}
  %z = mpt.gelu %x {approximate = #mpt.gelu<sigmoid>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @logical(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.and' op operand #0 must be ranked tensor of 1-bit signless integer or 8-bit signless integer or 16-bit signless integer or 32-bit signless integer or 64-bit signless integer values, but got 'tensor<4xf32>'}}
  %z = mpt.and %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @logical_shapes(%x: tensor<4xi1>, %y: tensor<3xi1>) {
  // expected-error @+2 {{operands do not broadcast: expected sizes that are equal or 1, aligned at the last dimension, found 4 and 3}}
  // expected-error @+1 {{'mpt.or' op failed to infer returned types}}
  %z = mpt.or %x, %y : (tensor<4xi1>, tensor<3xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @relu_grad(%dy: tensor<4xf32>, %y: tensor<1xf32>) {
  // expected-error @+2 {{expected operands of one shape, found 'tensor<4xf32>' and 'tensor<1xf32>'}}
  // expected-error @+1 {{'mpt.relu_grad' op failed to infer returned types}}
  %z = mpt.relu_grad %dy, %y : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @tanh_grad(%dy: tensor<4xf32>, %y: tensor<4x1xf32>) {
  // expected-error @+2 {{expected operands of one shape, found 'tensor<4xf32>' and 'tensor<4x1xf32>'}}
  // expected-error @+1 {{'mpt.tanh_grad' op failed to infer returned types}}
  %z = mpt.tanh_grad %dy, %y : (tensor<4xf32>, tensor<4x1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sigmoid_grad(%dy: tensor<4xf32>, %y: tensor<f32>) {
  // expected-error @+2 {{expected operands of one shape, found 'tensor<4xf32>' and 'tensor<f32>'}}
  // expected-error @+1 {{'mpt.sigmoid_grad' op failed to infer returned types}}
  %z = mpt.sigmoid_grad %dy, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @silu_grad(%dy: tensor<4xf32>, %x: tensor<3xf32>) {
  // expected-error @+2 {{expected operands of one shape, found 'tensor<4xf32>' and 'tensor<3xf32>'}}
  // expected-error @+1 {{'mpt.silu_grad' op failed to infer returned types}}
  %z = mpt.silu_grad %dy, %x : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @gelu_grad(%dy: tensor<4xf32>, %x: tensor<3xf32>) {
  // expected-error @+2 {{expected operands of one shape, found 'tensor<4xf32>' and 'tensor<3xf32>'}}
  // expected-error @+1 {{'mpt.gelu_grad' op failed to infer returned types}}
  %z = mpt.gelu_grad %dy, %x : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_grad(%dy: tensor<4xf32>, %mask: tensor<3xi1>) {
  // expected-error @+2 {{expected operands of one shape, found 'tensor<4xf32>' and 'tensor<3xi1>'}}
  // expected-error @+1 {{'mpt.dropout_grad' op failed to infer returned types}}
  %z = mpt.dropout_grad %dy, %mask {rate = 0.1 : f64} : (tensor<4xf32>, tensor<3xi1>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_grad_rate(%dy: tensor<4xf32>, %mask: tensor<4xi1>) {
  // expected-error @+1 {{'mpt.dropout_grad' op expected 'rate' in [0, 1), found 1}}
  %z = mpt.dropout_grad %dy, %mask {rate = 1.0 : f64} : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_rate(%x: tensor<4xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{'mpt.dropout' op expected 'rate' in [0, 1), found -0.5}}
  %y, %m = mpt.dropout %x, %s, %s {rate = -0.5 : f64, stream = 0 : i64} : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> (tensor<4xf32>, tensor<4xi1>)
  return
}

// -----

func.func @dropout_seed(%x: tensor<4xf32>, %s: tensor<1xi64>) {
  // expected-error @+1 {{'mpt.dropout' op operand #1 must be 0D tensor of 64-bit signless integer values, but got 'tensor<1xi64>'}}
  %y, %m = mpt.dropout %x, %s, %s {rate = 0.5 : f64, stream = 0 : i64} : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>) -> (tensor<4xf32>, tensor<4xi1>)
  return
}

// -----

func.func @random_mask_rate(%s: tensor<i64>) {
  // expected-error @+1 {{'mpt.random_mask' op expected 'rate' in [0, 1), found nan}}
  %m = mpt.random_mask %s, %s {rate = 0x7FF8000000000000 : f64, stream = 0 : i64, shape = array<i64: 4>} : (tensor<i64>, tensor<i64>) -> tensor<4xi1>
  return
}

// -----

func.func @random_mask_shape(%s: tensor<i64>) {
  // expected-error @+2 {{expected sizes of at least 0 in 'shape', found -1}}
  // expected-error @+1 {{'mpt.random_mask' op failed to infer returned types}}
  %m = mpt.random_mask %s, %s {rate = 0.5 : f64, stream = 0 : i64, shape = array<i64: 4, -1>} : (tensor<i64>, tensor<i64>) -> tensor<4x?xi1>
  return
}

// -----

func.func @is_finite(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.is_finite' op result #0 must be ranked tensor of 1-bit signless integer values, but got 'tensor<4xf32>'}}
  %m = mpt.is_finite %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @not(%x: tensor<4xi1>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xi1>' are incompatible with return type(s) of operation 'tensor<4x1xi1>'}}
  // expected-error @+1 {{'mpt.not' op failed to infer returned types}}
  %m = mpt.not %x : (tensor<4xi1>) -> tensor<4x1xi1>
  return
}

// -----

func.func @bits_of_two_types(%x: tensor<4xi32>, %y: tensor<4xi1>) {
  // expected-error @+2 {{expected two floats or two equal integer types, found 'i32' and 'i1'; convert one with mpt.cast}}
  // expected-error @+1 {{'mpt.xor' op failed to infer returned types}}
  %z = mpt.xor %x, %y : (tensor<4xi32>, tensor<4xi1>) -> tensor<4xi32>
  return
}

// -----

func.func @shifted_truth(%x: tensor<4xi1>) {
  // expected-error @+1 {{'mpt.shift_left' op operand #0 must be ranked tensor of 8-bit signless integer or 16-bit signless integer or 32-bit signless integer or 64-bit signless integer values, but got 'tensor<4xi1>'}}
  %z = mpt.shift_left %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @bitcast_width(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.bitcast' op expected a result with elements of the operand's 32 bits, found 'f16'; mpt.cast converts values}}
  %z = mpt.bitcast %x : (tensor<4xi32>) -> tensor<4xf16>
  return
}

// -----

func.func @bitcast_shape(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.bitcast' op expected result of the shape of the operand, 4, found 5}}
  %z = mpt.bitcast %x : (tensor<4xi32>) -> tensor<5xf32>
  return
}
