// RUN: mpt-opt %s -split-input-file -verify-diagnostics

func.func @matmul_rank(%a: tensor<4xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+2 {{expected lhs of rank 2 or more and rhs of the same rank or of rank 2, found 'tensor<4xf32>' and 'tensor<4x8xf32>'}}
  // expected-error @+1 {{'mpt.matmul' op failed to infer returned types}}
  %y = mpt.matmul %a, %b : (tensor<4xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @matmul_rhs_rank(%a: tensor<2x4xf32>, %b: tensor<f32>) {
  // expected-error @+2 {{expected lhs of rank 2 or more and rhs of the same rank or of rank 2, found 'tensor<2x4xf32>' and 'tensor<f32>'}}
  // expected-error @+1 {{'mpt.matmul' op failed to infer returned types}}
  %y = mpt.matmul %a, %b : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @matmul_batch(%a: tensor<2x3x4xf32>, %b: tensor<5x4x8xf32>) {
  // expected-error @+2 {{expected equal batch dimensions, found 2 and 5}}
  // expected-error @+1 {{'mpt.matmul' op failed to infer returned types}}
  %y = mpt.matmul %a, %b : (tensor<2x3x4xf32>, tensor<5x4x8xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @matmul_inner(%a: tensor<2x4xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+2 {{expected equal contracted sizes, found 4 of lhs 'tensor<2x4xf32>' and 8 of rhs 'tensor<4x8xf32>'}}
  // expected-error @+1 {{'mpt.matmul' op failed to infer returned types}}
  %y = mpt.matmul %a, %b {transpose_rhs} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @matmul_inner_lhs(%a: tensor<2x4xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+2 {{expected equal contracted sizes, found 2 of lhs 'tensor<2x4xf32>' and 4 of rhs 'tensor<4x8xf32>'}}
  // expected-error @+1 {{'mpt.matmul' op failed to infer returned types}}
  %y = mpt.matmul %a, %b {transpose_lhs} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// The open batch of lhs takes the size of rhs's.
func.func @matmul_result(%a: tensor<?x3x4xf32>, %b: tensor<5x4x8xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<5x3x8xf32>' are incompatible with return type(s) of operation 'tensor<2x3x8xf32>'}}
  // expected-error @+1 {{'mpt.matmul' op failed to infer returned types}}
  %y = mpt.matmul %a, %b : (tensor<?x3x4xf32>, tensor<5x4x8xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @matmul_acc(%a: tensor<2x4xf64>, %b: tensor<4x8xf64>) {
  // expected-error @+1 {{'mpt.matmul' op expected acc_type f32 or f64, no narrower than the operands' 'f64', found 'f32'}}
  %y = mpt.matmul %a, %b {acc_type = f32} : (tensor<2x4xf64>, tensor<4x8xf64>) -> tensor<2x8xf64>
  return
}

// -----

func.func @matmul_acc_integer(%a: tensor<2x4xf16>, %b: tensor<4x8xf16>) {
  // expected-error @+1 {{'mpt.matmul' op expected acc_type f32 or f64, no narrower than the operands' 'f16', found 'i32'}}
  %y = mpt.matmul %a, %b {acc_type = i32} : (tensor<2x4xf16>, tensor<4x8xf16>) -> tensor<2x8xf32>
  return
}

// -----

func.func @matmul_integers(%a: tensor<2x4xi8>, %b: tensor<4x8xi8>) {
  // expected-error @+1 {{'mpt.matmul' op operand #0 must be ranked tensor of 64-bit float}}
  %y = mpt.matmul %a, %b : (tensor<2x4xi8>, tensor<4x8xi8>) -> tensor<2x8xi32>
  return
}

// -----

func.func @linear_rank(%x: tensor<f32>, %w: tensor<4x8xf32>) {
  // expected-error @+2 {{expected x of rank 1 or more and weight [in, out], found 'tensor<f32>' and 'tensor<4x8xf32>'}}
  // expected-error @+1 {{'mpt.linear' op failed to infer returned types}}
  %y = mpt.linear %x, %w : (tensor<f32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @linear_weight_rank(%x: tensor<2x4xf32>, %w: tensor<1x4x8xf32>) {
  // expected-error @+1 {{'mpt.linear' op expected weight of rank 2, found 'tensor<1x4x8xf32>'}}
  %y = mpt.linear %x, %w : (tensor<2x4xf32>, tensor<1x4x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @linear_sizes(%x: tensor<2x3xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+2 {{expected weight with 3 rows, as x has columns, found 4}}
  // expected-error @+1 {{'mpt.linear' op failed to infer returned types}}
  %y = mpt.linear %x, %w : (tensor<2x3xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @linear_bias(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.linear' op expected bias of the shape of the weight's columns, 8, found 4}}
  %y = mpt.linear %x, %w, %b : (tensor<2x4xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @linear_bias_rank(%x: tensor<2x4xf32>, %w: tensor<4x1xf32>, %b: tensor<f32>) {
  // expected-error @+1 {{'mpt.linear' op expected bias of the shape of the weight's columns, 1, found scalar}}
  %y = mpt.linear %x, %w, %b : (tensor<2x4xf32>, tensor<4x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @linear_acc(%x: tensor<2x4xf64>, %w: tensor<4x8xf64>) {
  // expected-error @+1 {{'mpt.linear' op expected acc_type f32 or f64, no narrower than the operands' 'f64', found 'bf16'}}
  %y = mpt.linear %x, %w {acc_type = bf16} : (tensor<2x4xf64>, tensor<4x8xf64>) -> tensor<2x8xf64>
  return
}

// -----

func.func @linear_epilogue(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+2 {{expected ::mpt::Epilogue to be one of: none, relu, gelu_tanh}}
  // expected-error @+1 {{failed to parse MPT_Epilogue parameter 'value' which is to be a `::mpt::Epilogue`}}
  %y = mpt.linear %x, %w {epilogue = #mpt.epilogue<gelu>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @conv_rank(%x: tensor<8x8x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected x of rank 4, found 'tensor<8x8x3xf32>'}}
  %y = mpt.conv2d %x, %f : (tensor<8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<6x6x16xf32>
  return
}

// -----

func.func @conv_filter_rank(%x: tensor<1x8x8x3xf32>, %f: tensor<f32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected filter of rank 4, found 'tensor<f32>'}}
  %y = mpt.conv2d %x, %f : (tensor<1x8x8x3xf32>, tensor<f32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_result_rank(%x: tensor<1x8x8x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected result of rank 4, found 'tensor<6x6x16xf32>'}}
  %y = mpt.conv2d %x, %f : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<6x6x16xf32>
  return
}

// -----

func.func @linear_weight_scalar(%x: tensor<2x4xf32>, %w: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{'mpt.linear' op expected weight of rank 2, found 'tensor<f32>'}}
  %y = mpt.linear %x, %w, %b : (tensor<2x4xf32>, tensor<f32>, tensor<f32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @conv_counts(%x: tensor<1x8x8x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected 2 values in 'strides', found 1}}
  %y = mpt.conv2d %x, %f {strides = array<i64: 2>} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_window(%x: tensor<1x2x8x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected a window and a stride of at least 1 that fit the padded size, found size 2 with padding 0 and 0, window 3, dilation 1, stride 1}}
  %y = mpt.conv2d %x, %f : (tensor<1x2x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x0x6x16xf32>
  return
}

// -----

func.func @conv_empty_window(%x: tensor<1x8x8x3xf32>, %f: tensor<3x0x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected a window and a stride of at least 1 that fit the padded size, found size 8 with padding 0 and 0, window 0, dilation 1, stride 1}}
  %y = mpt.conv2d %x, %f : (tensor<1x8x8x3xf32>, tensor<3x0x3x16xf32>) -> tensor<1x6x9x16xf32>
  return
}

// -----

func.func @conv_stride(%x: tensor<1x8x8x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected values of at least 1 in 'strides', found 0}}
  %y = mpt.conv2d %x, %f {strides = array<i64: 0, 1>} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

// A dilated window beyond 2^63.
func.func @conv_overflow(%x: tensor<1x8x8x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected a window and a stride of at least 1 that fit the padded size, found size 8 with padding 0 and 0, window 3, dilation 9223372036854775807, stride 1}}
  %y = mpt.conv2d %x, %f {dilations = array<i64: 9223372036854775807, 1>} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_padding(%x: tensor<1x8x8x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected values of at least 0 in 'padding', found -1}}
  %y = mpt.conv2d %x, %f {padding = array<i64: -1, 1, 0, 0>} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_dilation(%x: tensor<1x?x?x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected values of at least 1 in 'dilations', found 0}}
  %y = mpt.conv2d %x, %f {dilations = array<i64: 0, 1>} : (tensor<1x?x?x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x?x?x16xf32>
  return
}

// -----

func.func @conv_open_stride(%x: tensor<1x?x?x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected values of at least 1 in 'strides', found -2}}
  %y = mpt.conv2d %x, %f {strides = array<i64: 1, -2>} : (tensor<1x?x?x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x?x?x16xf32>
  return
}

// -----

func.func @conv_groups(%x: tensor<1x8x8x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected values of at least 1 in 'groups', found 0}}
  %y = mpt.conv2d %x, %f {groups = 0 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_channels(%x: tensor<1x8x8x4xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected a filter over 4 channels in 2 groups, found 3 channels a group}}
  %y = mpt.conv2d %x, %f {groups = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_oihw_channels(%x: tensor<1x8x8x3xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected an output of the shape 1x6x6x3, found 1x6x6x16}}
  %y = mpt.conv2d %x, %f {padding = array<i64: 0, 0, 4, 4>, oihw} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_hwio_of_oihw(%x: tensor<1x8x8x3xf32>, %f: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected an output of the shape 1x6x6x3, found 1x6x6x16}}
  %y = mpt.conv2d %x, %f : (tensor<1x8x8x3xf32>, tensor<16x3x3x3xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_oihw_bias(%x: tensor<1x8x8x3xf32>, %f: tensor<16x3x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected bias of the shape of the filter's output channels}}
  %y = mpt.conv2d %x, %f, %b {oihw} : (tensor<1x8x8x3xf32>, tensor<16x3x3x3xf32>, tensor<3xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_oihw_grad(%x: tensor<1x8x8x3xf32>, %dy: tensor<1x6x6x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_filter_grad' op expected a filter over 3 channels in 1 groups, found 4 channels a group}}
  %df = mpt.conv2d_filter_grad %x, %dy {oihw} : (tensor<1x8x8x3xf32>, tensor<1x6x6x16xf32>) -> tensor<16x4x3x3xf32>
  return
}

// -----

func.func @conv_group_outputs(%x: tensor<1x8x8x6xf32>, %f: tensor<3x3x2x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected output channels divisible by the 3 groups, found 16}}
  %y = mpt.conv2d %x, %f {groups = 3 : i64} : (tensor<1x8x8x6xf32>, tensor<3x3x2x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_bias(%x: tensor<1x8x8x3xf32>, %f: tensor<3x3x3x16xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'mpt.conv2d' op expected bias of the shape of the filter's output channels, 16, found 3}}
  %y = mpt.conv2d %x, %f, %b : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<3xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @conv_acc(%x: tensor<1x8x8x3xbf16>, %f: tensor<3x3x3x16xbf16>) {
  // expected-error @+1 {{'mpt.conv2d' op expected acc_type f32 or f64, no narrower than the operands' 'bf16', found 'f16'}}
  %y = mpt.conv2d %x, %f {acc_type = f16} : (tensor<1x8x8x3xbf16>, tensor<3x3x3x16xbf16>) -> tensor<1x6x6x16xbf16>
  return
}

// -----

func.func @input_grad_dy_rank(%dy: tensor<6x6x16xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_input_grad' op expected dy of rank 4, found 'tensor<6x6x16xf32>'}}
  %dx = mpt.conv2d_input_grad %dy, %f : (tensor<6x6x16xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @input_grad_filter_rank(%dy: tensor<1x6x6x16xf32>, %f: tensor<3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_input_grad' op expected filter of rank 4, found 'tensor<3x16xf32>'}}
  %dx = mpt.conv2d_input_grad %dy, %f : (tensor<1x6x6x16xf32>, tensor<3x16xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @input_grad_result_rank(%dy: tensor<1x6x6x16xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_input_grad' op expected result of rank 4, found 'tensor<f32>'}}
  %dx = mpt.conv2d_input_grad %dy, %f : (tensor<1x6x6x16xf32>, tensor<3x3x3x16xf32>) -> tensor<f32>
  return
}

// -----

func.func @input_grad_acc(%dy: tensor<1x6x6x16xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_input_grad' op expected acc_type f32 or f64, no narrower than the operands' 'f32', found 'f16'}}
  %dx = mpt.conv2d_input_grad %dy, %f {acc_type = f16} : (tensor<1x6x6x16xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @input_grad_strides(%dy: tensor<1x6x6x16xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_input_grad' op expected 2 values in 'strides', found 3}}
  %dx = mpt.conv2d_input_grad %dy, %f {strides = array<i64: 1, 1, 1>} : (tensor<1x6x6x16xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @input_grad_padding(%dy: tensor<1x6x6x16xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_input_grad' op expected 4 values in 'padding', found 2}}
  %dx = mpt.conv2d_input_grad %dy, %f {padding = array<i64: 1, 1>} : (tensor<1x6x6x16xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @input_grad_dilations(%dy: tensor<1x6x6x16xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_input_grad' op expected 2 values in 'dilations', found 0}}
  %dx = mpt.conv2d_input_grad %dy, %f {dilations = array<i64>} : (tensor<1x6x6x16xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @input_grad_batch(%dy: tensor<1x6x6x16xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_input_grad' op expected an output of the shape 2x6x6x16, found 1x6x6x16}}
  %dx = mpt.conv2d_input_grad %dy, %f : (tensor<1x6x6x16xf32>, tensor<3x3x3x16xf32>) -> tensor<2x8x8x3xf32>
  return
}

// -----

func.func @input_grad_size(%dy: tensor<1x6x6x16xf32>, %f: tensor<3x3x3x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_input_grad' op expected output size 8 along dimension 2, found 6}}
  %dx = mpt.conv2d_input_grad %dy, %f {padding = array<i64: 0, 0, 1, 1>} : (tensor<1x6x6x16xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @filter_grad_x_rank(%x: tensor<8x8x3xf32>, %dy: tensor<1x6x6x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_filter_grad' op expected x of rank 4, found 'tensor<8x8x3xf32>'}}
  %df = mpt.conv2d_filter_grad %x, %dy : (tensor<8x8x3xf32>, tensor<1x6x6x16xf32>) -> tensor<3x3x3x16xf32>
  return
}

// -----

func.func @filter_grad_dy_rank(%x: tensor<1x8x8x3xf32>, %dy: tensor<f32>) {
  // expected-error @+1 {{'mpt.conv2d_filter_grad' op expected dy of rank 4, found 'tensor<f32>'}}
  %df = mpt.conv2d_filter_grad %x, %dy : (tensor<1x8x8x3xf32>, tensor<f32>) -> tensor<3x3x3x16xf32>
  return
}

// -----

func.func @filter_grad_result_rank(%x: tensor<1x8x8x3xf32>, %dy: tensor<1x6x6x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_filter_grad' op expected result of rank 4, found 'tensor<27x16xf32>'}}
  %df = mpt.conv2d_filter_grad %x, %dy : (tensor<1x8x8x3xf32>, tensor<1x6x6x16xf32>) -> tensor<27x16xf32>
  return
}

// -----

func.func @filter_grad_acc(%x: tensor<1x8x8x3xf64>, %dy: tensor<1x6x6x16xf64>) {
  // expected-error @+1 {{'mpt.conv2d_filter_grad' op expected acc_type f32 or f64, no narrower than the operands' 'f64', found 'f32'}}
  %df = mpt.conv2d_filter_grad %x, %dy {acc_type = f32} : (tensor<1x8x8x3xf64>, tensor<1x6x6x16xf64>) -> tensor<3x3x3x16xf64>
  return
}

// -----

func.func @filter_grad_window(%x: tensor<1x8x8x3xf32>, %dy: tensor<1x6x6x16xf32>) {
  // expected-error @+1 {{'mpt.conv2d_filter_grad' op expected a window and a stride of at least 1 that fit the padded size, found size 8 with padding 0 and 0, window 9, dilation 1, stride 1}}
  %df = mpt.conv2d_filter_grad %x, %dy : (tensor<1x8x8x3xf32>, tensor<1x6x6x16xf32>) -> tensor<9x3x3x16xf32>
  return
}

// -----

func.func @attention_rank(%q: tensor<4x16x8xf32>, %k: tensor<2x4x16x8xf32>) {
  // expected-error @+1 {{'mpt.attention' op expected query of rank 4, found 'tensor<4x16x8xf32>'}}
  %y, %lse = mpt.attention %q, %k, %k : (tensor<4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_key(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x16x6xf32>) {
  // expected-error @+1 {{'mpt.attention' op expected key of the shape of [B, G, S, D], 2x4x16x8, found 2x4x16x6}}
  %y, %lse = mpt.attention %q, %k, %q : (tensor<2x4x16x8xf32>, tensor<2x4x16x6xf32>, tensor<2x4x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_value(%q: tensor<2x4x16x8xf32>, %v: tensor<3x4x16x8xf32>) {
  // expected-error @+1 {{'mpt.attention' op expected value of the shape of [B, G, S, E], 2x4x16x8, found 3x4x16x8}}
  %y, %lse = mpt.attention %q, %q, %v : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<3x4x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_groups(%q: tensor<2x4x16x8xf32>, %two: tensor<2x2x16x8xf32>, %three: tensor<2x3x16x8xf32>) {
  %y, %lse = mpt.attention %q, %two, %two : (tensor<2x4x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  // expected-error @+1 {{'mpt.attention' op expected a number of heads of keys and values that divides the query's 4, found 3}}
  %z, %lse2 = mpt.attention %q, %three, %three : (tensor<2x4x16x8xf32>, tensor<2x3x16x8xf32>, tensor<2x3x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_key_heads(%q: tensor<2x4x16x8xf32>, %two: tensor<2x2x16x8xf32>) {
  // expected-error @+1 {{'mpt.attention' op expected key of the shape of [B, G, S, D], 2x2x16x8, found 2x4x16x8}}
  %y, %lse = mpt.attention %q, %q, %two : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x2x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_bias(%q: tensor<2x4x16x8xf32>, %row: tensor<1x1x1x16xf32>, %b: tensor<16x16xf32>) {
  %y, %lse = mpt.attention %q, %q, %q bias(%row) : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<1x1x1x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  // expected-error @+1 {{'mpt.attention' op expected bias [B, H, T, S] of sizes 1 or those of 2x4x16x16, found 'tensor<16x16xf32>'}}
  %z, %lse2 = mpt.attention %q, %q, %q bias(%b) : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<16x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_dropout_without_rng(%q: tensor<2x4x16x8xf32>) {
  // expected-error @+1 {{'mpt.attention' op expected rng(seed, attempt), 'dropout' and 'stream' together, found some of them alone}}
  %y, %lse = mpt.attention %q, %q, %q {dropout = 0.1 : f64} : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_dropout_rate(%q: tensor<2x4x16x8xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{'mpt.attention' op expected 'dropout' in [0, 1), found 1}}
  %y, %lse = mpt.attention %q, %q, %q rng(%s, %s) {dropout = 1.0 : f64, stream = 0 : i64} : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_acc(%q: tensor<2x4x16x8xf16>) {
  // expected-error @+1 {{'mpt.attention' op expected acc_type f32 or f64, no narrower than the operands' 'f16', found 'f16'}}
  %y, %lse = mpt.attention %q, %q, %q {acc_type = f16} : (tensor<2x4x16x8xf16>, tensor<2x4x16x8xf16>, tensor<2x4x16x8xf16>) -> (tensor<2x4x16x8xf16>, tensor<2x4x16xf32>)
  return
}

// -----

// A cache of keys longer than the queries is fine; a shorter one leaves rows
// without any.
func.func @attention_causal(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x12x8xf32>) {
  %y, %lse = mpt.attention %k, %q, %q {causal} : (tensor<2x4x12x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> (tensor<2x4x12x8xf32>, tensor<2x4x12xf32>)
  // expected-error @+1 {{'mpt.attention' op expected at least as many keys as queries with 'causal', found 12 and 16}}
  %z, %lse2 = mpt.attention %q, %k, %k {causal} : (tensor<2x4x16x8xf32>, tensor<2x4x12x8xf32>, tensor<2x4x12x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_mask(%q: tensor<2x4x16x8xf32>, %all: tensor<2x4x16x16xi1>, %m: tensor<2x3x1x16xi1>) {
  %y, %lse = mpt.attention %q, %q, %q, %all : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x16xi1>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  // expected-error @+1 {{'mpt.attention' op expected mask [B, H, T, S] of sizes 1 or those of 2x4x16x16, found 'tensor<2x3x1x16xi1>'}}
  %z, %lse2 = mpt.attention %q, %q, %q, %m : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x3x1x16xi1>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_grad_mask(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %m: tensor<16x16xi1>) {
  // expected-error @+1 {{'mpt.attention_grad' op expected mask [B, H, T, S] of sizes 1 or those of 2x4x16x16, found 'tensor<16x16xi1>'}}
  %dq, %dk, %dv = mpt.attention_grad %q, %q, %q, %q, %q, %l, %m : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<16x16xi1>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @attention_grad_causal(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x12x8xf32>, %l: tensor<2x4x16xf32>) {
  // expected-error @+1 {{'mpt.attention_grad' op expected at least as many keys as queries with 'causal', found 12 and 16}}
  %dq, %dk, %dv = mpt.attention_grad %q, %q, %k, %k, %q, %l {causal} : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x12x8xf32>, tensor<2x4x12x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x12x8xf32>, tensor<2x4x12x8xf32>)
  return
}

// -----

func.func @attention_result(%q: tensor<2x4x16x8xf32>, %v: tensor<2x4x16x6xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x4x16x6xf32>', 'tensor<2x4x16xf32>' are incompatible with return type(s) of operation 'tensor<2x4x16x8xf32>', 'tensor<2x4x16xf32>'}}
  // expected-error @+1 {{'mpt.attention' op failed to infer returned types}}
  %y, %lse = mpt.attention %q, %q, %v : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x6xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @attention_grad_rank(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'mpt.attention_grad' op expected query of rank 4, found 'tensor<f32>'}}
  %dq, %dk, %dv = mpt.attention_grad %q, %s, %q, %q, %q, %l : (tensor<2x4x16x8xf32>, tensor<f32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>) -> (tensor<f32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @attention_grad_key_rank(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'mpt.attention_grad' op expected key of rank 4, found 'tensor<f32>'}}
  %dq, %dk, %dv = mpt.attention_grad %q, %q, %s, %q, %q, %l : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<f32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<f32>, tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @attention_grad_value_rank(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'mpt.attention_grad' op expected value of rank 4, found 'tensor<f32>'}}
  %dq, %dk, %dv = mpt.attention_grad %q, %q, %q, %s, %q, %l : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<f32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<f32>)
  return
}

// -----

func.func @attention_grad_dy(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %dy: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'mpt.attention_grad' op expected dy of the shape of the result, 2x4x16x8, found 2x4x8x8}}
  %dq, %dk, %dv = mpt.attention_grad %dy, %q, %q, %q, %q, %l : (tensor<2x4x8x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @attention_grad_result(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %y: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'mpt.attention_grad' op expected result of the shape of [B, H, T, E], 2x4x16x8, found 2x4x8x8}}
  %dq, %dk, %dv = mpt.attention_grad %q, %q, %q, %q, %y, %l : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x8x8xf32>, tensor<2x4x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @attention_grad_lse(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4xf32>) {
  // expected-error @+1 {{'mpt.attention_grad' op expected log_sum_exp of the shape of [B, H, T], 2x4x16, found 2x4}}
  %dq, %dk, %dv = mpt.attention_grad %q, %q, %q, %q, %q, %l : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @lstm_cell_rank(%x: tensor<8xf32>, %h: tensor<4x16xf32>, %c: tensor<4x16xf32>, %w: tensor<8x64xf32>, %u: tensor<16x64xf32>, %b: tensor<64xf32>) {
  // expected-error @+1 {{'mpt.lstm_cell' op expected x of rank 2, found 'tensor<8xf32>'}}
  %y, %s, %g = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<8xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<8x64xf32>, tensor<16x64xf32>, tensor<64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x64xf32>)
  return
}

// -----

func.func @lstm_cell_h(%x: tensor<4x8xf32>, %h: tensor<3x16xf32>, %c: tensor<4x16xf32>, %w: tensor<8x64xf32>, %u: tensor<16x64xf32>, %b: tensor<64xf32>) {
  // expected-error @+1 {{'mpt.lstm_cell' op expected h of the shape of [B, H], 4x16, found 3x16}}
  %y, %s, %g = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<4x8xf32>, tensor<3x16xf32>, tensor<4x16xf32>, tensor<8x64xf32>, tensor<16x64xf32>, tensor<64xf32>) -> (tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x64xf32>)
  return
}

// -----

func.func @lstm_cell_c(%x: tensor<4x8xf32>, %h: tensor<4x16xf32>, %c: tensor<4x15xf32>, %w: tensor<8x64xf32>, %u: tensor<16x64xf32>, %b: tensor<64xf32>) {
  // expected-error @+1 {{'mpt.lstm_cell' op expected c of the shape of [B, H], 4x16, found 4x15}}
  %y, %s, %g = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<4x15xf32>, tensor<8x64xf32>, tensor<16x64xf32>, tensor<64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x64xf32>)
  return
}

// -----

func.func @lstm_cell_weight_ih(%x: tensor<4x8xf32>, %h: tensor<4x16xf32>, %c: tensor<4x16xf32>, %w: tensor<8x48xf32>, %u: tensor<16x64xf32>, %b: tensor<64xf32>) {
  // expected-error @+1 {{'mpt.lstm_cell' op expected weight_ih of the shape of [I, 4H], 8x64, found 8x48}}
  %y, %s, %g = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<8x48xf32>, tensor<16x64xf32>, tensor<64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x48xf32>)
  return
}

// -----

func.func @lstm_cell_weight_hh(%x: tensor<4x8xf32>, %h: tensor<4x16xf32>, %c: tensor<4x16xf32>, %w: tensor<8x64xf32>, %u: tensor<8x64xf32>, %b: tensor<64xf32>) {
  // expected-error @+1 {{'mpt.lstm_cell' op expected weight_hh of the shape of [H, 4H], 16x64, found 8x64}}
  %y, %s, %g = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x64xf32>)
  return
}

// -----

func.func @lstm_cell_bias(%x: tensor<4x8xf32>, %h: tensor<4x16xf32>, %c: tensor<4x16xf32>, %w: tensor<8x64xf32>, %u: tensor<16x64xf32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{'mpt.lstm_cell' op expected bias of the shape of [4H], 64, found 16}}
  %y, %s, %g = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<8x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x64xf32>)
  return
}

// -----

func.func @lstm_cell_gates(%x: tensor<4x8xf32>, %h: tensor<4x16xf32>, %c: tensor<4x16xf32>, %w: tensor<8x64xf32>, %u: tensor<16x64xf32>, %b: tensor<64xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4x16xf32>', 'tensor<4x16xf32>', 'tensor<4x64xf32>' are incompatible with return type(s) of operation 'tensor<4x16xf32>', 'tensor<4x16xf32>', 'tensor<4x16xf32>'}}
  // expected-error @+1 {{'mpt.lstm_cell' op failed to infer returned types}}
  %y, %s, %g = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<8x64xf32>, tensor<16x64xf32>, tensor<64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
  return
}

// -----

func.func @lstm_cell_size(%x: tensor<4x8xf32>, %h: tensor<4x4611686018427387904xf32>, %c: tensor<4x4611686018427387904xf32>, %w: tensor<8x64xf32>, %u: tensor<16x64xf32>, %b: tensor<64xf32>) {
  // expected-error @+1 {{'mpt.lstm_cell' op expected four times h's columns to be below 2^63, found 'tensor<4x4611686018427387904xf32>'}}
  %y, %s, %g = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<4x8xf32>, tensor<4x4611686018427387904xf32>, tensor<4x4611686018427387904xf32>, tensor<8x64xf32>, tensor<16x64xf32>, tensor<64xf32>) -> (tensor<4x4611686018427387904xf32>, tensor<4x4611686018427387904xf32>, tensor<4x64xf32>)
  return
}

// -----

func.func @fast_accumulation(%x: tensor<16x32xf8E4M3FN>, %w: tensor<32x16xbf16>) {
  // expected-error @+1 {{'mpt.matmul' op expected operands of 8 bits with 'fast_accumulation', found 'tensor<16x32xf8E4M3FN>' and 'tensor<32x16xbf16>'}}
  %y = mpt.matmul %x, %w {fast_accumulation} : (tensor<16x32xf8E4M3FN>, tensor<32x16xbf16>) -> tensor<16x16xf32>
  return
}

// -----

func.func @fast_accumulation_of_linear(%x: tensor<16x32xf32>, %w: tensor<32x16xf32>) {
  // expected-error @+1 {{'mpt.linear' op expected operands of 8 bits with 'fast_accumulation', found 'tensor<16x32xf32>' and 'tensor<32x16xf32>'}}
  %y = mpt.linear %x, %w {fast_accumulation} : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  return
}
