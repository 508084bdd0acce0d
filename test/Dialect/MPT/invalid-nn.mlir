// RUN: mpt-opt %s -split-input-file -verify-diagnostics

func.func @reduce_axis(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{expected axes in [0, 2), found -1}}
  // expected-error @+1 {{'mpt.reduce' op failed to infer returned types}}
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: -1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_scalar(%x: tensor<f32>) {
  // expected-error @+2 {{expected axes in [0, 0), found 0}}
  // expected-error @+1 {{'mpt.reduce' op failed to infer returned types}}
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_twice(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{expected distinct axes, found 1 twice}}
  // expected-error @+1 {{'mpt.reduce' op failed to infer returned types}}
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_keep_dims(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4x1xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'mpt.reduce' op failed to infer returned types}}
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>, keep_dims} : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_kind(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected ::mpt::ReduceKind to be one of: sum, mean, max, min, prod}}
  // expected-error @+1 {{failed to parse MPT_ReduceKind parameter 'value' which is to be a `::mpt::ReduceKind`}}
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<median>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_acc(%x: tensor<4xf64>) {
  // expected-error @+1 {{'mpt.reduce' op expected acc_type f32 or f64, no narrower than the operands' 'f64', found 'f32'}}
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>, acc_type = f32} : (tensor<4xf64>) -> tensor<f64>
  return
}

// -----

func.func @reduce_integer_mean(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.reduce' op expected a float operand for 'mean', found 'tensor<4xi32>'; convert it with mpt.cast}}
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>} : (tensor<4xi32>) -> tensor<i32>
  return
}

// -----

func.func @reduce_bool(%x: tensor<4xi1>) {
  // expected-error @+1 {{'mpt.reduce' op expected a float or wider integer operand, found 'tensor<4xi1>'; convert it with mpt.cast}}
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xi1>) -> tensor<i1>
  return
}

// -----

// The sum of nothing is 0; the largest of nothing is not defined.
func.func @reduce_empty(%x: tensor<4x0xf32>) {
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>} : (tensor<4x0xf32>) -> tensor<4xf32>
  // expected-error @+1 {{'mpt.reduce' op expected at least one element along axis 1 for 'max', found 'tensor<4x0xf32>'}}
  %z = mpt.reduce %x {kind = #mpt.reduce_kind<max>, axes = array<i64: 1>} : (tensor<4x0xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_empty_integer(%x: tensor<0xi32>) {
  // expected-error @+1 {{'mpt.reduce' op expected at least one element along axis 0 for 'min', found 'tensor<0xi32>'}}
  %z = mpt.reduce %x {kind = #mpt.reduce_kind<min>, axes = array<i64: 0>} : (tensor<0xi32>) -> tensor<i32>
  return
}

// -----

func.func @argmax_scalar(%x: tensor<f32>) {
  // expected-error @+2 {{expected an operand of rank 1 or more with at least one element in a row, found 'tensor<f32>'}}
  // expected-error @+1 {{'mpt.argmax' op failed to infer returned types}}
  %y = mpt.argmax %x : (tensor<f32>) -> tensor<i32>
  return
}

// -----

func.func @argmax_empty(%x: tensor<4x0xf32>) {
  // expected-error @+2 {{expected an operand of rank 1 or more with at least one element in a row, found 'tensor<4x0xf32>'}}
  // expected-error @+1 {{'mpt.argmax' op failed to infer returned types}}
  %y = mpt.argmax %x : (tensor<4x0xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @argmax_type(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'mpt.argmax' op result #0 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<4xi16>'}}
  %y = mpt.argmax %x : (tensor<4x8xf32>) -> tensor<4xi16>
  return
}

// -----

func.func @softmax_scalar(%x: tensor<f32>) {
  // expected-error @+2 {{expected an operand of rank 1 or more, found 'tensor<f32>'}}
  // expected-error @+1 {{'mpt.softmax' op failed to infer returned types}}
  %y = mpt.softmax %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @log_softmax_scalar(%x: tensor<f32>) {
  // expected-error @+2 {{expected an operand of rank 1 or more, found 'tensor<f32>'}}
  // expected-error @+1 {{'mpt.log_softmax' op failed to infer returned types}}
  %y = mpt.log_softmax %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @softmax_grad(%x: tensor<4x8xf32>, %y: tensor<4x1xf32>) {
  // expected-error @+2 {{expected operands of one shape of rank 1 or more, found 'tensor<4x8xf32>' and 'tensor<4x1xf32>'}}
  // expected-error @+1 {{'mpt.softmax_grad' op failed to infer returned types}}
  %z = mpt.softmax_grad %x, %y : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @log_softmax_grad(%x: tensor<f32>) {
  // expected-error @+2 {{expected operands of one shape of rank 1 or more, found 'tensor<f32>' and 'tensor<f32>'}}
  // expected-error @+1 {{'mpt.log_softmax_grad' op failed to infer returned types}}
  %z = mpt.log_softmax_grad %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @layer_norm_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.layer_norm' op expected an operand of rank 1 or more, found 'tensor<f32>'}}
  %y, %m, %r = mpt.layer_norm %x, %x, %x : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @layer_norm_gamma(%x: tensor<4x8xf32>, %g: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'mpt.layer_norm' op expected gamma of the shape of x's last dimension, 8, found 4}}
  %y, %m, %r = mpt.layer_norm %x, %g, %b : (tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_beta(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error @+1 {{'mpt.layer_norm' op expected beta of the shape of x's last dimension, 8, found scalar}}
  %y, %m, %r = mpt.layer_norm %x, %g, %b : (tensor<4x8xf32>, tensor<8xf32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_eps(%x: tensor<4x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'mpt.layer_norm' op expected a finite 'eps' of at least 0, found -1}}
  %y, %m, %r = mpt.layer_norm %x, %g, %g {eps = -1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_statistics(%x: tensor<4x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4x8xf32>', 'tensor<4xf32>', 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<4x8xf32>', 'tensor<8xf32>', 'tensor<4xf32>'}}
  // expected-error @+1 {{'mpt.layer_norm' op failed to infer returned types}}
  %y, %m, %r = mpt.layer_norm %x, %g, %g : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_grad_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.layer_norm_grad' op expected an operand of rank 1 or more, found 'tensor<f32>'}}
  %dx, %dg, %db = mpt.layer_norm_grad %x, %x, %x, %x, %x : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @layer_norm_grad_dy(%dy: tensor<4xf32>, %x: tensor<4x8xf32>, %g: tensor<8xf32>, %r: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.layer_norm_grad' op expected dy of the shape of x, 4x8, found 4}}
  %dx, %dg, %db = mpt.layer_norm_grad %dy, %x, %g, %r, %r : (tensor<4xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_grad_gamma(%x: tensor<4x8xf32>, %r: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.layer_norm_grad' op expected gamma of the shape of x's last dimension, 8, found 4}}
  %dx, %dg, %db = mpt.layer_norm_grad %x, %x, %r, %r, %r : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_grad_mean(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %r: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.layer_norm_grad' op expected mean of the shape of x's rows, 4, found 8}}
  %dx, %dg, %db = mpt.layer_norm_grad %x, %x, %g, %g, %r : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_grad_rstd(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %r: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.layer_norm_grad' op expected rstd of the shape of x's rows, 4, found 8}}
  %dx, %dg, %db = mpt.layer_norm_grad %x, %x, %g, %r, %g : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @rms_norm_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.rms_norm' op expected an operand of rank 1 or more, found 'tensor<f32>'}}
  %y, %r = mpt.rms_norm %x, %x : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @rms_norm_gamma(%x: tensor<4x8xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.rms_norm' op expected gamma of the shape of x's last dimension, 8, found 4}}
  %y, %r = mpt.rms_norm %x, %g : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_eps(%x: tensor<4x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'mpt.rms_norm' op expected a finite 'eps' of at least 0, found inf}}
  %y, %r = mpt.rms_norm %x, %g {eps = 0x7FF0000000000000 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_grad_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.rms_norm_grad' op expected an operand of rank 1 or more, found 'tensor<f32>'}}
  %dx, %dg = mpt.rms_norm_grad %x, %x, %x, %x : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @rms_norm_grad_dy(%dy: tensor<8x4xf32>, %x: tensor<4x8xf32>, %g: tensor<8xf32>, %r: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.rms_norm_grad' op expected dy of the shape of x, 4x8, found 8x4}}
  %dx, %dg = mpt.rms_norm_grad %dy, %x, %g, %r : (tensor<8x4xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @rms_norm_grad_gamma(%x: tensor<4x8xf32>, %r: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.rms_norm_grad' op expected gamma of the shape of x's last dimension, 8, found 4}}
  %dx, %dg = mpt.rms_norm_grad %x, %x, %r, %r : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_grad_rstd(%x: tensor<4x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'mpt.rms_norm_grad' op expected rstd of the shape of x's rows, 4, found 8}}
  %dx, %dg = mpt.rms_norm_grad %x, %x, %g, %g : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.batch_norm' op expected an operand of rank 1 or more, found 'tensor<f32>'}}
  %y:5 = mpt.batch_norm %x, %x, %x, %x, %x : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @batch_norm_running(%x: tensor<2x4x4x8xf32>, %c: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.batch_norm' op expected running_mean of the shape of x's last dimension, 8, found 4}}
  %y:5 = mpt.batch_norm %x, %c, %c, %b, %c : (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_running_var(%x: tensor<2x4x4x8xf32>, %c: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.batch_norm' op expected running_var of the shape of x's last dimension, 8, found 4}}
  %y:5 = mpt.batch_norm %x, %c, %c, %c, %b : (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_eps(%x: tensor<4x8xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{'mpt.batch_norm' op expected a finite 'eps' of at least 0, found nan}}
  %y:5 = mpt.batch_norm %x, %c, %c, %c, %c {eps = 0x7FF8000000000000 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// A momentum of 1 keeps the batch's statistics alone.
func.func @batch_norm_momentum(%x: tensor<4x8xf32>, %c: tensor<8xf32>) {
  %y:5 = mpt.batch_norm %x, %c, %c, %c, %c {momentum = 1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  // expected-error @+1 {{'mpt.batch_norm' op expected 'momentum' in [0, 1], found 1.5}}
  %z:5 = mpt.batch_norm %x, %c, %c, %c, %c {momentum = 1.5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_grad_dy(%dy: tensor<8xf32>, %x: tensor<4x8xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{'mpt.batch_norm_grad' op expected dy of the shape of x, 4x8, found 8}}
  %dx, %dg, %db = mpt.batch_norm_grad %dy, %x, %c, %c, %c : (tensor<8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_grad_mean(%x: tensor<4x8xf32>, %c: tensor<8xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.batch_norm_grad' op expected mean of the shape of x's last dimension, 8, found 4}}
  %dx, %dg, %db = mpt.batch_norm_grad %x, %x, %c, %m, %c : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_grad_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.batch_norm_grad' op expected an operand of rank 1 or more, found 'tensor<f32>'}}
  %dx, %dg, %db = mpt.batch_norm_grad %x, %x, %x, %x, %x : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @batch_norm_inference_var(%x: tensor<4x8xf32>, %c: tensor<8xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.batch_norm_inference' op expected var of the shape of x's last dimension, 8, found 4}}
  %y = mpt.batch_norm_inference %x, %c, %c, %c, %m : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @batch_norm_inference_eps(%x: tensor<4x8xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{'mpt.batch_norm_inference' op expected a finite 'eps' of at least 0, found -0.1}}
  %y = mpt.batch_norm_inference %x, %c, %c, %c, %c {eps = -0.1 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @batch_norm_inference_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.batch_norm_inference' op expected an operand of rank 1 or more, found 'tensor<f32>'}}
  %y = mpt.batch_norm_inference %x, %x, %x, %x, %x : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @max_pool_rank(%x: tensor<8x8x3xf32>) {
  // expected-error @+2 {{expected x [N, H, W, C], found 'tensor<8x8x3xf32>'}}
  // expected-error @+1 {{'mpt.max_pool' op failed to infer returned types}}
  %y = mpt.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<8x8x3xf32>) -> tensor<4x4x3xf32>
  return
}

// -----

func.func @max_pool_counts(%x: tensor<1x8x8x3xf32>) {
  // expected-error @+2 {{expected 2 window sizes, 2 strides and 4 paddings, found 1, 2 and 4}}
  // expected-error @+1 {{'mpt.max_pool' op failed to infer returned types}}
  %y = mpt.max_pool %x {window = array<i64: 2>, strides = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @max_pool_stride(%x: tensor<1x8x8x3xf32>) {
  // expected-error @+2 {{expected windows and strides of at least 1 and paddings smaller than the window, found window 2, stride 0, padding 0 and 0}}
  // expected-error @+1 {{'mpt.max_pool' op failed to infer returned types}}
  %y = mpt.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 0>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @avg_pool_window(%x: tensor<1x8x8x3xf32>) {
  // expected-error @+2 {{expected windows and strides of at least 1 and paddings smaller than the window, found window 0, stride 2, padding 0 and 0}}
  // expected-error @+1 {{'mpt.avg_pool' op failed to infer returned types}}
  %y = mpt.avg_pool %x {window = array<i64: 0, 2>, strides = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @avg_pool_padding(%x: tensor<1x8x8x3xf32>) {
  // expected-error @+2 {{expected windows and strides of at least 1 and paddings smaller than the window, found window 2, stride 2, padding 2 and 0}}
  // expected-error @+1 {{'mpt.avg_pool' op failed to infer returned types}}
  %y = mpt.avg_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 2, 0, 0, 0>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  return
}

// -----

func.func @avg_pool_fit(%x: tensor<1x8x3x3xf32>) {
  // expected-error @+2 {{expected a window that fits the padded size, found window 4 for size 3 with padding 0 and 0}}
  // expected-error @+1 {{'mpt.avg_pool' op failed to infer returned types}}
  %y = mpt.avg_pool %x {window = array<i64: 4, 4>, strides = array<i64: 4, 4>} : (tensor<1x8x3x3xf32>) -> tensor<1x2x0x3xf32>
  return
}

// -----

// A padded size beyond 2^63.
func.func @max_pool_overflow(%x: tensor<1x8x8x3xf32>) {
  // expected-error @+2 {{expected a window that fits the padded size, found window 9223372036854775807 for size 8 with padding 9223372036854775806 and 0}}
  // expected-error @+1 {{'mpt.max_pool' op failed to infer returned types}}
  %y = mpt.max_pool %x {window = array<i64: 9223372036854775807, 1>, strides = array<i64: 1, 1>, padding = array<i64: 9223372036854775806, 0, 0, 0>} : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @max_pool_grad_dy(%dy: tensor<1x4x4x3xf32>, %x: tensor<1x8x8x3xf32>) {
  // expected-error @+1 {{'mpt.max_pool_grad' op expected dy of the shape of the pooled x, 1x2x2x3, found 1x4x4x3}}
  %dx = mpt.max_pool_grad %dy, %x {window = array<i64: 4, 4>, strides = array<i64: 4, 4>} : (tensor<1x4x4x3xf32>, tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @max_pool_grad_rank(%dy: tensor<f32>, %x: tensor<f32>) {
  // expected-error @+1 {{expected x [N, H, W, C], found 'tensor<f32>'}}
  %dx = mpt.max_pool_grad %dy, %x {window = array<i64: 4, 4>, strides = array<i64: 4, 4>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @avg_pool_grad_dy(%dy: tensor<1x4x4x2xf32>) {
  // expected-error @+1 {{'mpt.avg_pool_grad' op expected dy of the shape of the pooled x, 1x4x4x3, found 1x4x4x2}}
  %dx = mpt.avg_pool_grad %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x4x4x2xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @cross_entropy_scalar(%x: tensor<f32>, %t: tensor<i32>) {
  // expected-error @+1 {{'mpt.cross_entropy' op expected an operand of rank 1 or more, found 'tensor<f32>'}}
  %l, %lse = mpt.cross_entropy %x, %t : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @cross_entropy_labels(%x: tensor<4x10xf32>, %t: tensor<4x10xi32>) {
  // expected-error @+1 {{'mpt.cross_entropy' op expected labels of the shape of x's rows, 4, found 4x10}}
  %l, %lse = mpt.cross_entropy %x, %t : (tensor<4x10xf32>, tensor<4x10xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

func.func @cross_entropy_float_labels(%x: tensor<4x10xf32>, %t: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.cross_entropy' op operand #1 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<4xf32>'}}
  %l, %lse = mpt.cross_entropy %x, %t : (tensor<4x10xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

func.func @cross_entropy_smoothing(%x: tensor<4x10xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.cross_entropy' op expected 'label_smoothing' in [0, 1], found 2}}
  %l, %lse = mpt.cross_entropy %x, %t {label_smoothing = 2.0 : f64} : (tensor<4x10xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

func.func @cross_entropy_reduction(%x: tensor<4x10xf32>, %t: tensor<4xi32>) {
  // expected-error @+2 {{expected ::mpt::LossReduction to be one of: mean, sum}}
  // expected-error @+1 {{failed to parse MPT_LossReduction parameter 'value' which is to be a `::mpt::LossReduction`}}
  %l, %lse = mpt.cross_entropy %x, %t {reduction = #mpt.loss_reduction<none>} : (tensor<4x10xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

func.func @cross_entropy_grad_scalar(%x: tensor<f32>, %t: tensor<i32>) {
  // expected-error @+1 {{'mpt.cross_entropy_grad' op expected an operand of rank 1 or more, found 'tensor<f32>'}}
  %dx = mpt.cross_entropy_grad %x, %x, %t, %x : (tensor<f32>, tensor<f32>, tensor<i32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_grad_dloss(%d: tensor<4xf32>, %x: tensor<4x10xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.cross_entropy_grad' op expected dloss to be a scalar (rank 0), found 'tensor<4xf32>'}}
  %dx = mpt.cross_entropy_grad %d, %x, %t, %d : (tensor<4xf32>, tensor<4x10xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x10xf32>
  return
}

// -----

func.func @cross_entropy_grad_labels(%d: tensor<f32>, %x: tensor<4x10xf32>, %t: tensor<10xi32>, %l: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.cross_entropy_grad' op expected labels of the shape of x's rows, 4, found 10}}
  %dx = mpt.cross_entropy_grad %d, %x, %t, %l : (tensor<f32>, tensor<4x10xf32>, tensor<10xi32>, tensor<4xf32>) -> tensor<4x10xf32>
  return
}

// -----

func.func @cross_entropy_grad_lse(%d: tensor<f32>, %x: tensor<4x10xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.cross_entropy_grad' op expected log_sum_exp of the shape of x's rows, 4, found scalar}}
  %dx = mpt.cross_entropy_grad %d, %x, %t, %d : (tensor<f32>, tensor<4x10xf32>, tensor<4xi32>, tensor<f32>) -> tensor<4x10xf32>
  return
}

// -----

func.func @cross_entropy_grad_smoothing(%d: tensor<f32>, %x: tensor<4x10xf32>, %t: tensor<4xi32>, %l: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.cross_entropy_grad' op expected 'label_smoothing' in [0, 1], found -0.1}}
  %dx = mpt.cross_entropy_grad %d, %x, %t, %l {label_smoothing = -0.1 : f64} : (tensor<f32>, tensor<4x10xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x10xf32>
  return
}

// -----

// A missing dimension of the target would otherwise broadcast to n x n.
func.func @mse_loss_target(%p: tensor<4x1xf32>, %t: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.mse_loss' op expected target of the shape of the prediction, 4x1, found 4}}
  %l = mpt.mse_loss %p, %t : (tensor<4x1xf32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @mse_loss_result(%p: tensor<4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<f32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'mpt.mse_loss' op failed to infer returned types}}
  %l = mpt.mse_loss %p, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @mse_loss_grad_dloss(%p: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.mse_loss_grad' op expected dloss to be a scalar (rank 0), found 'tensor<4xf32>'}}
  %d = mpt.mse_loss_grad %p, %p, %p : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @mse_loss_grad_target(%d: tensor<f32>, %p: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.mse_loss_grad' op expected target of the shape of the prediction, 4, found scalar}}
  %dp = mpt.mse_loss_grad %d, %p, %d : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
