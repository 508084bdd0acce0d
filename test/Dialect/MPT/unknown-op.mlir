// RUN: mpt-opt %s --split-input-file --verify-diagnostics
// What the dialect says to an op that it does not have.

// What other libraries call an op.

func.func @mean(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'mpt.mean' is unknown; in mpt it is `mpt.reduce` with `kind = #mpt.reduce_kind<mean>`}}
  %y = mpt.mean %x : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @batch_matmul(%x: tensor<2x4x4xf32>) {
  // expected-error @+1 {{custom op 'mpt.batch_matmul' is unknown; in mpt it is `mpt.matmul`}}
  %y = mpt.batch_matmul %x, %x : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @dense(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{custom op 'mpt.dense' is unknown; in mpt it is `mpt.linear`}}
  %y = mpt.dense %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @cat(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'mpt.cat' is unknown; in mpt it is `mpt.concat`}}
  %y = mpt.cat %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @permute(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{custom op 'mpt.permute' is unknown; in mpt it is `mpt.transpose`}}
  %y = mpt.permute %x {permutation = array<i64: 1, 0>} : (tensor<4x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @view(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{custom op 'mpt.view' is unknown; in mpt it is `mpt.reshape`}}
  %y = mpt.view %x : (tensor<4x2xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @return() {
  // expected-error @+1 {{custom op 'mpt.return' is unknown; in mpt it is MLIR's own `func.func`, `return` or `module`, without `mpt.`}}
  mpt.return
}

// -----

// A function that is made of ops.

func.func @relu6(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'mpt.relu6' is unknown; in mpt it is `minimum(relu(x), 6)`}}
  %y = mpt.relu6 %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// In another case, or with other underscores.

func.func @layernorm(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'mpt.layernorm' is unknown; did you mean `mpt.layer_norm`?}}
  %y = mpt.layernorm %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @BatchNorm2d(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'mpt.BatchNorm2d' is unknown; in mpt it is `mpt.batch_norm` in the layout NHWC}}
  %y = mpt.BatchNorm2d %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Misspelled.

func.func @sofmax(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'mpt.sofmax' is unknown; did you mean `mpt.softmax`?}}
  %y = mpt.sofmax %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @logsigmod(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'mpt.logsigmod' is unknown; did you mean logsigmoid? in mpt it is `neg(softplus(neg(x)))`}}
  %y = mpt.logsigmod %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Like nothing that is known.

func.func @frobnicate(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'mpt.frobnicate' is unknown; `mpt-opt --mpt-ops` lists all ops}}
  %y = mpt.frobnicate %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// The generic form.

func.func @generic(%x: tensor<4xf32>) {
  // expected-error @+1 {{unregistered operation 'mpt.mean' found in dialect ('mpt') that does not allow unknown operations; in mpt it is `mpt.reduce` with `kind = #mpt.reduce_kind<mean>`}}
  %y = "mpt.mean"(%x) : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

// Other dialects' ops are none of mpt's business.

func.func @other(%x: tensor<4xf32>) {
  // expected-error @+1 {{unregistered operation 'arith.mean' found in dialect ('arith') that does not allow unknown operations}}
  %y = "arith.mean"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
