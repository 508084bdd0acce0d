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

// -----

func.func @one_scale(%x: tensor<16x128xf8E4M3FN>, %s: tensor<16xf32>) {
  // expected-error @+1 {{needs scales of both operands or of none}}
  %y = mpt.gemm %x, %x lhs_scales(%s) {lhs_scaling = #mpt.gemm_scaling<vec128_32f>, transpose_rhs, resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x128xf8E4M3FN>, tensor<16x128xf8E4M3FN>, tensor<16xf32>) -> tensor<16x16xf32>
  return
}

// -----

func.func @scales_of_f16(%x: tensor<16x128xf16>, %s: tensor<16xf32>) {
  // expected-error @+1 {{needs operands of 8 bits with scales, found 'tensor<16x128xf16>'}}
  %y = mpt.gemm %x, %x lhs_scales(%s) rhs_scales(%s) {lhs_scaling = #mpt.gemm_scaling<vec128_32f>, rhs_scaling = #mpt.gemm_scaling<vec128_32f>, transpose_rhs, resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x128xf16>, tensor<16x128xf16>, tensor<16xf32>, tensor<16xf32>) -> tensor<16x16xf32>
  return
}

// -----

func.func @other_scales(%x: tensor<16x128xf8E4M3FN>, %s: tensor<16xf32>) {
  // expected-error @+1 {{has scales of rhs that do not fit rhs_scaling = vec32_ue8m0, found 'tensor<16xf32>'}}
  %y = mpt.gemm %x, %x lhs_scales(%s) rhs_scales(%s) {lhs_scaling = #mpt.gemm_scaling<vec128_32f>, rhs_scaling = #mpt.gemm_scaling<vec32_ue8m0>, transpose_rhs, resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x128xf8E4M3FN>, tensor<16x128xf8E4M3FN>, tensor<16xf32>, tensor<16xf32>) -> tensor<16x16xf32>
  return
}

// -----

func.func @turned_scales(%x: tensor<128x128xf8E4M3FN>, %s: tensor<128xf32>) {
  // expected-error @+1 {{needs K as the last dimension of operands with scales: transpose_rhs alone}}
  %y = mpt.gemm %x, %x lhs_scales(%s) rhs_scales(%s) {lhs_scaling = #mpt.gemm_scaling<vec128_32f>, rhs_scaling = #mpt.gemm_scaling<vec128_32f>, resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128xf32>, tensor<128xf32>) -> tensor<128x128xf32>
  return
}

// -----

func.func @biased_scales(%x: tensor<16x128xf8E4M3FN>, %s: tensor<16xf32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{has neither an activation nor a bias if its operands have scales}}
  %y = mpt.gemm %x, %x bias(%b) lhs_scales(%s) rhs_scales(%s) {lhs_scaling = #mpt.gemm_scaling<vec128_32f>, rhs_scaling = #mpt.gemm_scaling<vec128_32f>, transpose_rhs, resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x128xf8E4M3FN>, tensor<16x128xf8E4M3FN>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16x16xf32>
  return
}

// -----

func.func @no_scales(%x: tensor<16x128xf8E4M3FN>) {
  // expected-error @+1 {{says how scales are that it does not have}}
  %y, %b = mpt.gemm %x, %x {lhs_scaling = #mpt.gemm_scaling<vec128_32f>, transpose_rhs, resultSegmentSizes = array<i32: 1, 0, 1>} : (tensor<16x128xf8E4M3FN>, tensor<16x128xf8E4M3FN>) -> (tensor<16x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @odd(%x: tensor<16x120xf32>) {
  // expected-error @+1 {{needs sizes that are multiples of 16, found 'tensor<16x120xf32>'}}
  %q, %s = mpt.gemm_quantize %x {block = array<i64: 1, 128>, scaling = #mpt.gemm_scaling<vec128_32f>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<16x120xf32>) -> (tensor<16x120xf8E4M3FN>, tensor<16xf32>)
  return
}

// -----

func.func @block(%x: tensor<16x128xf32>) {
  // expected-error @+1 {{needs blocks that fit scaling = vec128_32f, found [1, 64]}}
  %q, %s = mpt.gemm_quantize %x {block = array<i64: 1, 64>, scaling = #mpt.gemm_scaling<vec128_32f>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<16x128xf32>) -> (tensor<16x128xf8E4M3FN>, tensor<16xf32>)
  return
}

// -----

func.func @rule(%x: tensor<16x128xf32>) {
  // expected-error @+1 {{needs the rule 'power_of_two' or 'ocp_mx' for scales of f8E8M0FNU, found 'largest'}}
  %q, %s = mpt.gemm_quantize %x {block = array<i64: 1, 32>, scaling = #mpt.gemm_scaling<vec32_ue8m0>, rule = #mpt.scale_rule<largest>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<16x128xf32>) -> (tensor<16x128xf8E4M3FN>, tensor<512xf8E8M0FNU>)
  return
}

// -----

func.func @eight_bits(%x: tensor<16x128xf8E4M3FN>) {
  // expected-error @+1 {{needs scales that fit x if x is 8 bits wide, and none otherwise}}
  %q, %s = mpt.gemm_quantize %x {block = array<i64: 1, 128>, scaling = #mpt.gemm_scaling<vec128_32f>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<16x128xf8E4M3FN>) -> (tensor<16x128xf8E4M3FN>, tensor<16xf32>)
  return
}

// -----

func.func @nothing(%x: tensor<16x128xf32>) {
  // expected-error @+1 {{needs a result}}
  mpt.gemm_quantize %x {block = array<i64: 1, 128>, scaling = #mpt.gemm_scaling<vec128_32f>, resultSegmentSizes = array<i32: 0, 0, 0, 0, 0>} : (tensor<16x128xf32>) -> ()
  return
}

// -----

func.func @turned(%x: tensor<16x128xf32>) {
  // expected-error @+1 {{needs results of x's shape and of its transpose's, with their scales}}
  %q, %s = mpt.gemm_quantize %x {block = array<i64: 1, 128>, scaling = #mpt.gemm_scaling<vec128_32f>, resultSegmentSizes = array<i32: 0, 0, 1, 1, 0>} : (tensor<16x128xf32>) -> (tensor<16x128xf8E4M3FN>, tensor<16xf32>)
  return
}

// -----

func.func @packed(%x: tensor<16x64xf32>) -> (tensor<16x32xi8>, tensor<512xf8E4M3FN>) {
  // expected-error @below {{needs sizes that are multiples of 32, found 'tensor<16x64xf32>'}}
  %q, %s = mpt.gemm_quantize %x {block = array<i64: 1, 16>, scaling = #mpt.gemm_scaling<vec16_ue4m3>, rule = #mpt.scale_rule<largest>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<16x64xf32>) -> (tensor<16x32xi8>, tensor<512xf8E4M3FN>)
  return %q, %s : tensor<16x32xi8>, tensor<512xf8E4M3FN>
}

// -----

func.func @packed_rule(%x: tensor<32x64xf32>) -> (tensor<32x32xi8>, tensor<512xf8E4M3FN>) {
  // expected-error @below {{needs the rule 'largest' for scales of f8E4M3FN, found 'power_of_two'}}
  %q, %s = mpt.gemm_quantize %x {block = array<i64: 1, 16>, scaling = #mpt.gemm_scaling<vec16_ue4m3>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<32x64xf32>) -> (tensor<32x32xi8>, tensor<512xf8E4M3FN>)
  return %q, %s : tensor<32x32xi8>, tensor<512xf8E4M3FN>
}

// -----

func.func @packed_bytes(%x: tensor<32x64xf32>) -> tensor<32x64xi8> {
  // expected-error @below {{makes i8 for scales of vec16_ue4m3 alone, and turns 8-bit floats without scales as they are, found 'tensor<32x64xi8>'}}
  %q = mpt.gemm_quantize %x {block = array<i64: 0, 0>, scaling = #mpt.gemm_scaling<none>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>} : (tensor<32x64xf32>) -> tensor<32x64xi8>
  return %q : tensor<32x64xi8>
}

// -----

func.func @factor(%x: tensor<32x64xf8E5M2>, %f: tensor<f32>) -> tensor<32x64xf8E5M2> {
  // expected-error @below {{needs a factor of tensor<f32>, and x wider than 8 bits, found 'tensor<f32>' and 'tensor<32x64xf8E5M2>'}}
  %q = mpt.gemm_quantize %x factor(%f) {block = array<i64: 0, 0>, scaling = #mpt.gemm_scaling<none>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>} : (tensor<32x64xf8E5M2>, tensor<f32>) -> tensor<32x64xf8E5M2>
  return %q : tensor<32x64xf8E5M2>
}

// -----

func.func @via(%x: tensor<32x64xbf16>, %f: tensor<f32>) -> tensor<32x64xf8E5M2> {
  // expected-error @below {{rounds f32 by way of f16 or bf16, found 'tensor<32x64xbf16>' and 'f16'}}
  %q = mpt.gemm_quantize %x factor(%f) {block = array<i64: 0, 0>, scaling = #mpt.gemm_scaling<none>, via = f16, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>} : (tensor<32x64xbf16>, tensor<f32>) -> tensor<32x64xf8E5M2>
  return %q : tensor<32x64xf8E5M2>
}

// -----

func.func @amax(%x: tensor<32x144xf32>, %f: tensor<f32>) -> (tensor<32x144xf8E5M2>, tensor<1x1xf32>) {
  // expected-error @below {{needs one amax for each 128 x 128 elements, found 'tensor<1x1xf32>'}}
  %q, %a = mpt.gemm_quantize %x factor(%f) {block = array<i64: 0, 0>, scaling = #mpt.gemm_scaling<none>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 1>} : (tensor<32x144xf32>, tensor<f32>) -> (tensor<32x144xf8E5M2>, tensor<1x1xf32>)
  return %q, %a : tensor<32x144xf8E5M2>, tensor<1x1xf32>
}

// -----

func.func @bytes(%x: tensor<32x64xi8>) -> tensor<32x32xf32> {
  // expected-error @below {{needs scales of operands of i8}}
  %y, %b = mpt.gemm %x, %x {transpose_rhs, resultSegmentSizes = array<i32: 1, 0, 1>} : (tensor<32x64xi8>, tensor<32x64xi8>) -> (tensor<32x32xf32>, tensor<32xf32>)
  return %y : tensor<32x32xf32>
}
