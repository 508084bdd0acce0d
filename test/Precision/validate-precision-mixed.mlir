// Under a policy without mixed forms, what the user mixed is valid; an op of that form that
// reads casts of MPT is not.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --mpt-validate-precision="policy=torch-cuda"

func.func @users(%x: tensor<4x4xf16>) -> tensor<4x4xf32> {
  %0 = "stablehlo.dot"(%x, %x) : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @ours(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = "stablehlo.convert"(%x) {mpt.autocast} : (tensor<4x4xf32>) -> tensor<4x4xf16>
  // expected-error@+1 {{'stablehlo.dot' has operands of 'f16', but result 0 is of 'f32'}}
  %0 = "stablehlo.dot"(%a, %a) : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
