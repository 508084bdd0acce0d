// What a program cannot hold is an error of each pass that plans one, also where nothing but
// the signature has it.
// RUN: mpt-opt %s --mpt-plan-step --split-input-file --verify-diagnostics
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_90'" --split-input-file --verify-diagnostics

// expected-error @below {{but argument 0 is 'tensor<index>'; cast it to one of them first}}
func.func @loss(%x: tensor<index>) -> tensor<index> { return %x : tensor<index> }

// -----

// expected-error @below {{but argument 0 is 'tensor<2x3xvector<4xf32>>'; cast it to one of them first}}
func.func @loss(%x: tensor<2x3xvector<4xf32>>) -> tensor<2x3xvector<4xf32>> { return %x : tensor<2x3xvector<4xf32>> }

// -----

// expected-error @below {{but argument 0 ("x") is 'tensor<complex<f64>>'; cast it to one of them first}}
func.func @loss(%x: tensor<complex<f64>> {mpt.name = "x", mpt.role = "parameter"}) -> (tensor<complex<f64>> {mpt.name = "y"}) {
  return %x : tensor<complex<f64>>
}

// -----

// expected-error @below {{planning cannot count the bytes of argument 0, which is 'tensor<4294967296x4294967296x4294967296xf32>'}}
func.func @loss(%x: tensor<4294967296x4294967296x4294967296xf32>) -> tensor<4294967296x4294967296x4294967296xf32> {
  return %x : tensor<4294967296x4294967296x4294967296xf32>
}
