// RUN: mpt-opt %s --split-input-file --verify-diagnostics

func.func @shapes(%x: tensor<4x8xf32>, %w: tensor<9x16xf32>, %z: tensor<4x16xf32>) {
  // expected-error @+1 {{has operands that do not fit together}}
  %y = mpt.gemm %x, %w aux(%z) {epilogue = #mpt.epilogue<gelu_tanh>, resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x8xf32>, tensor<9x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @rank(%x: tensor<2x4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @+1 {{needs matrices of static shape, found 'tensor<2x4x8xf32>'}}
  %y, %b = mpt.gemm %x, %w {resultSegmentSizes = array<i32: 1, 0, 1>} : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @bias(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<15xf32>) {
  // expected-error @+1 {{needs one number for each of 16 columns, found 'tensor<15xf32>'}}
  %y, %s = mpt.gemm %x, %w bias(%b) {epilogue = #mpt.epilogue<relu>, resultSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<15xf32>) -> (tensor<4x16xf32>, tensor<4x16xi8>)
  return
}

// -----

func.func @nothing(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @+1 {{either saves what its activation needs, or reads it, or has no activation and sums rhs}}
  %y = mpt.gemm %x, %w {resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @backward(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>, %z: tensor<4x16xf32>) {
  // expected-error @+1 {{has a bias forward, and its gradient backward}}
  %y = mpt.gemm %x, %w bias(%b) aux(%z) {epilogue = #mpt.epilogue<gelu_tanh>, resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @bits(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %z: tensor<4x16xf32>) {
  // expected-error @+1 {{needs 'tensor<4x16xi8>' for its activation, found 'tensor<4x16xf32>'}}
  %y = mpt.gemm %x, %w aux(%z) {epilogue = #mpt.epilogue<relu>, resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @addend(%x: tensor<4x8xf16>, %w: tensor<8x16xf16>, %z: tensor<4x16xf32>) {
  // expected-error @+1 {{takes an addend of the result's type, 'tensor<4x16xf16>', and then neither a bias nor an activation, found 'tensor<4x16xf32>'}}
  %y = mpt.gemm %x, %w add(%z) {resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x8xf16>, tensor<8x16xf16>, tensor<4x16xf32>) -> tensor<4x16xf16>
  return
}

// -----

func.func @addend_bias(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>, %z: tensor<4x16xf32>) {
  // expected-error @+1 {{takes an addend of the result's type, 'tensor<4x16xf32>', and then neither a bias nor an activation}}
  %y, %s = mpt.gemm %x, %w bias(%b) add(%z) {epilogue = #mpt.epilogue<relu>, resultSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xi8>)
  return
}
