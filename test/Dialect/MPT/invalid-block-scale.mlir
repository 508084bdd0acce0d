// RUN: mpt-opt %s -split-input-file -verify-diagnostics

func.func @format(%a: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.block_scale' op expected the format f8E4M3FN, f8E5M2 or f4E2M1FN, found 'f16'}}
  %s = mpt.block_scale %a {format = f16} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @rule(%a: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.block_scale' op expected scales of f32 with the rule 'largest', found 'f8E8M0FNU', which holds powers of two alone; use the rule 'power_of_two' or 'ocp_mx'}}
  %s = mpt.block_scale %a {format = f8E5M2} : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  return
}

// -----

func.func @quantize_rule(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'mpt.quantize' op expected scales of f32 with the rule 'largest', found 'f8E8M0FNU'}}
  %q, %s = mpt.quantize %x {block = array<i64: 1, 4>} : (tensor<4x8xf32>) -> (tensor<4x8xf8E4M3FN>, tensor<4x2xf8E8M0FNU>)
  return
}

// -----

func.func @quantize_rank(%x: tensor<8xf32>) {
  // expected-error @+2 {{expected x of rank 2 or more, whose last two dimensions blocks cut, found 'tensor<8xf32>'; reshape it first}}
  // expected-error @+1 {{'mpt.quantize' op failed to infer returned types}}
  %q, %s = mpt.quantize %x {block = array<i64: 1, 4>} : (tensor<8xf32>) -> (tensor<8xf8E4M3FN>, tensor<2xf32>)
  return
}

// -----

func.func @quantize_block(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{expected block to have the rows and columns of a block, each at least 1, found [0, 4]}}
  // expected-error @+1 {{'mpt.quantize' op failed to infer returned types}}
  %q, %s = mpt.quantize %x {block = array<i64: 0, 4>} : (tensor<4x8xf32>) -> (tensor<4x8xf8E4M3FN>, tensor<4x2xf32>)
  return
}

// -----

func.func @quantize_block_rank(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{expected block to have the rows and columns of a block, each at least 1, found [128]}}
  // expected-error @+1 {{'mpt.quantize' op failed to infer returned types}}
  %q, %s = mpt.quantize %x {block = array<i64: 128>} : (tensor<4x8xf32>) -> (tensor<4x8xf8E4M3FN>, tensor<4x2xf32>)
  return
}

// -----

func.func @quantize_shape(%x: tensor<4x9xf32>) {
  // expected-error-re @+2 {{'mpt.quantize' op inferred type(s) {{.*}}tensor<4x3xf32>{{.*}} are incompatible}}
  // expected-error @+1 {{'mpt.quantize' op failed to infer returned types}}
  %q, %s = mpt.quantize %x {block = array<i64: 1, 4>} : (tensor<4x9xf32>) -> (tensor<4x9xf8E4M3FN>, tensor<4x2xf32>)
  return
}

// -----

func.func @quantize_type(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'mpt.quantize' op result #0 must be ranked tensor of f8E4M3FN type or f8E5M2 type or f4E2M1FN type values, but got 'tensor<4x8xf16>'}}
  %q, %s = mpt.quantize %x {block = array<i64: 1, 4>} : (tensor<4x8xf32>) -> (tensor<4x8xf16>, tensor<4x2xf32>)
  return
}

// -----

func.func @dequantize_scales(%q: tensor<4x8xf8E4M3FN>, %s: tensor<4x1xf32>) {
  // expected-error @+1 {{'mpt.dequantize' op expected scales of shape 4x2, one for each block of [1, 4] of 'tensor<4x8xf8E4M3FN>', found 'tensor<4x1xf32>'}}
  %y = mpt.dequantize %q, %s {block = array<i64: 1, 4>} : (tensor<4x8xf8E4M3FN>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @matmul_rank(%a: tensor<2x4x8xf8E4M3FN>, %s: tensor<2x4x2xf32>, %b: tensor<8x4xf8E4M3FN>, %t: tensor<2x4xf32>) {
  // expected-error @+2 {{expected matrices lhs and rhs, found 'tensor<2x4x8xf8E4M3FN>' and 'tensor<8x4xf8E4M3FN>'; reshape leading dimensions into rows first}}
  // expected-error @+1 {{'mpt.scaled_matmul' op failed to infer returned types}}
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 4>, rhs_block = array<i64: 4, 1>, promotion = 4 : i64}
      : (tensor<2x4x8xf8E4M3FN>, tensor<2x4x2xf32>, tensor<8x4xf8E4M3FN>, tensor<2x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @matmul_inner(%a: tensor<4x8xf8E4M3FN>, %s: tensor<4x2xf32>, %b: tensor<8x4xf8E4M3FN>, %t: tensor<8x1xf32>) {
  // expected-error @+2 {{expected equal contracted sizes, found 8 of lhs 'tensor<4x8xf8E4M3FN>' and 4 of rhs 'tensor<8x4xf8E4M3FN>'}}
  // expected-error @+1 {{'mpt.scaled_matmul' op failed to infer returned types}}
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 4>, rhs_block = array<i64: 1, 4>, promotion = 4 : i64, transpose_rhs}
      : (tensor<4x8xf8E4M3FN>, tensor<4x2xf32>, tensor<8x4xf8E4M3FN>, tensor<8x1xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @matmul_scales(%a: tensor<4x8xf8E4M3FN>, %s: tensor<4x2xf32>, %b: tensor<8x4xf8E4M3FN>, %t: tensor<4x2xf32>) {
  // expected-error @+1 {{'mpt.scaled_matmul' op expected rhs_scales of shape 2x4, one for each block of [4, 1] of 'tensor<8x4xf8E4M3FN>', found 'tensor<4x2xf32>'}}
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 4>, rhs_block = array<i64: 4, 1>, promotion = 4 : i64}
      : (tensor<4x8xf8E4M3FN>, tensor<4x2xf32>, tensor<8x4xf8E4M3FN>, tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @matmul_promotion(%a: tensor<4x8xf8E4M3FN>, %s: tensor<4x2xf32>, %b: tensor<8x4xf8E4M3FN>, %t: tensor<2x4xf32>) {
  // expected-error @+1 {{'mpt.scaled_matmul' op expected a promotion that is a multiple or a divisor of the 4 elements along K of a block of lhs, found 6}}
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 4>, rhs_block = array<i64: 4, 1>, promotion = 6 : i64}
      : (tensor<4x8xf8E4M3FN>, tensor<4x2xf32>, tensor<8x4xf8E4M3FN>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @matmul_negative(%a: tensor<4x8xf8E4M3FN>, %s: tensor<4x2xf32>, %b: tensor<8x4xf8E4M3FN>, %t: tensor<2x4xf32>) {
  // expected-error @+1 {{'mpt.scaled_matmul' op expected a promotion of at least 1, or 0 for all of K, found -4}}
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 4>, rhs_block = array<i64: 4, 1>, promotion = -4 : i64}
      : (tensor<4x8xf8E4M3FN>, tensor<4x2xf32>, tensor<8x4xf8E4M3FN>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @matmul_segments(%a: tensor<1x4097xf8E4M3FN>, %s: tensor<1x1xf32>, %b: tensor<4097x1xf8E4M3FN>, %t: tensor<1x1xf32>) {
  // expected-error @+1 {{'mpt.scaled_matmul' op expected at most 4096 segments of K, found 4097 elements with a promotion of 1; give it a larger promotion}}
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 4097>, rhs_block = array<i64: 4097, 1>, promotion = 1 : i64}
      : (tensor<1x4097xf8E4M3FN>, tensor<1x1xf32>, tensor<4097x1xf8E4M3FN>, tensor<1x1xf32>) -> tensor<1x1xf32>
  return
}

// -----

// Nothing computes in f8E8M0FNU.
func.func @scales_are_no_numbers(%s: tensor<4xf8E8M0FNU>) {
  // expected-error @+1 {{'mpt.neg' op operand #0 must be ranked tensor of}}
  %y = mpt.neg %s : (tensor<4xf8E8M0FNU>) -> tensor<4xf8E8M0FNU>
  return
}

// -----

func.func @cast_to_scale(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.cast' op result #0 must be ranked tensor of}}
  %y = mpt.cast %x : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  return
}

// -----

func.func @scales_rule(%x: tensor<4x16xf32>) {
  // expected-error @+1 {{'mpt.quantize' op expected the rule 'largest' with scales of 'f8E4M3FN', found 'power_of_two'; use scales of f8E8M0FNU or f32}}
  %q, %s = mpt.quantize %x {block = array<i64: 1, 16>, rule = #mpt.scale_rule<power_of_two>} : (tensor<4x16xf32>) -> (tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>)
  return
}

// -----

func.func @half_matmul(%a: tensor<4x16xf16>, %s: tensor<4x1xf32>) {
  // expected-error @+1 {{'mpt.scaled_matmul' op operand #0 must be ranked tensor of f8E4M3FN type or f8E5M2 type or f4E2M1FN type values, but got 'tensor<4x16xf16>'}}
  %y = mpt.scaled_matmul %a, %s, %a, %s {lhs_block = array<i64: 1, 16>, rhs_block = array<i64: 1, 16>, transpose_rhs, promotion = 16 : i64} : (tensor<4x16xf16>, tensor<4x1xf32>, tensor<4x16xf16>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @accumulator_bits(%a: tensor<4x16xf8E4M3FN>, %s: tensor<4x1xf32>) {
  // expected-error @+1 {{'mpt.scaled_matmul' op expected 'accumulator_bits' from 8 to 18, or 0 for f32, found 24}}
  %y = mpt.scaled_matmul %a, %s, %a, %s {lhs_block = array<i64: 1, 16>, rhs_block = array<i64: 1, 16>, transpose_rhs, promotion = 16 : i64, accumulator_bits = 24 : i64} : (tensor<4x16xf8E4M3FN>, tensor<4x1xf32>, tensor<4x16xf8E4M3FN>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return
}
