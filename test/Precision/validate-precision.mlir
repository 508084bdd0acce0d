// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --mpt-validate-precision="type=bf16"

// What autocast makes is valid: low operands, an f32 result of a contraction, a sum
// in f32 of low numbers, a user's own casts.
func.func @valid(%x: tensor<4x4xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %a = "stablehlo.convert"(%x) {mpt.autocast} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %b = "stablehlo.dot"(%a, %a) : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
  %c = "stablehlo.convert"(%b) : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %d = "stablehlo.convert"(%c) : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %e = "stablehlo.exponential"(%d) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = "stablehlo.convert"(%e) {mpt.autocast} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %s = "stablehlo.reduce"(%f, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%r) : (tensor<f32>) -> ()
  }) : (tensor<4x4xbf16>, tensor<f32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

func.func @denied(%x: tensor<4xf32>) -> tensor<4xbf16> {
  %a = "stablehlo.convert"(%x) {mpt.autocast} : (tensor<4xf32>) -> tensor<4xbf16>
  // expected-error@+1 {{mpt-validate-precision: 'stablehlo.exponential' is denied for 'bf16', but operand 0 was cast to it}}
  %b = "stablehlo.exponential"(%a) : (tensor<4xbf16>) -> tensor<4xbf16>
  return %b : tensor<4xbf16>
}

// -----

func.func @mixed(%x: tensor<4xf32>, %y: tensor<4xbf16>) -> tensor<4xf32> {
  // expected-error@+1 {{mpt-validate-precision: 'stablehlo.add' has operands of 'f32', but operand 1 is of 'bf16'}}
  %b = "stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

func.func @widened(%x: tensor<4xbf16>) -> tensor<4xf32> {
  // expected-error@+1 {{mpt-validate-precision: 'stablehlo.tanh' has operands of 'bf16', but result 0 is of 'f32'}}
  %b = "stablehlo.tanh"(%x) : (tensor<4xbf16>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

func.func @twice(%x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xbf16>) {
  %a = "stablehlo.convert"(%x) {mpt.autocast} : (tensor<4xf32>) -> tensor<4xbf16>
  // expected-error@+1 {{mpt-validate-precision: this value is cast to 'tensor<4xbf16>' a second time; one cast serves all readers}}
  %b = "stablehlo.convert"(%x) {mpt.autocast} : (tensor<4xf32>) -> tensor<4xbf16>
  return %a, %b : tensor<4xbf16>, tensor<4xbf16>
}

// -----

func.func @back(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = "stablehlo.convert"(%x) {mpt.autocast} : (tensor<4xf32>) -> tensor<4xbf16>
  // expected-error@+1 {{mpt-validate-precision: this cast converts what another cast of MPT's has just converted}}
  %b = "stablehlo.convert"(%a) {mpt.autocast} : (tensor<4xbf16>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// A list is of what it was made of, whatever its type says.
func.func @list(%x: !torch.vtensor<[4,4],bf16>, %text: !torch.str, %path: !torch.none) -> (!torch.vtensor<[4,4],bf16>, !torch.vtensor<[4,4],f32>) {
  %l = "torch.prim.ListConstruct"(%x, %x) : (!torch.vtensor<[4,4],bf16>, !torch.vtensor<[4,4],bf16>) -> !torch.list<vtensor>
  %a = "torch.aten.einsum"(%text, %l, %path) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !torch.vtensor<[4,4],bf16>
  // expected-error@+1 {{mpt-validate-precision: 'torch.aten.einsum' has operands of 'bf16', but result 0 is of 'f32'}}
  %b = "torch.aten.einsum"(%text, %l, %path) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !torch.vtensor<[4,4],f32>
  return %a, %b : !torch.vtensor<[4,4],bf16>, !torch.vtensor<[4,4],f32>
}

// -----

func.func @list_up(%x: !torch.vtensor<[4,4],f32>, %text: !torch.str, %path: !torch.none) -> !torch.vtensor<[4,4],bf16> {
  %l = "torch.prim.ListConstruct"(%x, %x) : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.list<vtensor>
  // expected-error@+1 {{mpt-validate-precision: 'torch.aten.einsum' has operands of 'f32', but result 0 is of 'bf16'}}
  %a = "torch.aten.einsum"(%text, %l, %path) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !torch.vtensor<[4,4],bf16>
  return %a : !torch.vtensor<[4,4],bf16>
}

// -----

func.func @accumulator(%x: tensor<4x4xbf16>) -> tensor<4x4xbf16> {
  // expected-error@+1 {{mpt-validate-precision: 'stablehlo.dot' accumulates in 'bf16'; contractions accumulate in f32}}
  %b = "stablehlo.dot"(%x, %x) {acc_type = bf16} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  return %b : tensor<4x4xbf16>
}
