// RUN: mpt-opt %s -split-input-file -verify-diagnostics

func.func @grad_seed() {
  // expected-error @+1 {{'mpt.grad_seed' op expected seed to be a scalar (rank 0), found 'tensor<1xf32>'}}
  %s = mpt.grad_seed : () -> tensor<1xf32>
  return
}

// -----

func.func @gradients_count(%g: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.gradients' op expected a name for each of the 1 gradients, found 2}}
  %r = mpt.gradients %g {names = ["w", "b"]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @gradients_names(%g: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.gradients' op expected distinct names, found "w" twice}}
  %r:2 = mpt.gradients %g, %g {names = ["w", "w"]} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @gradients_results(%g: tensor<4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation}}
  // expected-error @+1 {{'mpt.gradients' op failed to infer returned types}}
  mpt.gradients %g {names = ["w"]} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @gradients_name_type(%g: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.gradients' op attribute 'names' failed to satisfy constraint: string array attribute}}
  %r = mpt.gradients %g {names = [1]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @scale_loss(%l: tensor<f32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{'mpt.scale_loss' op expected scale to be a scalar (rank 0), found 'tensor<1xf32>'}}
  %y = mpt.scale_loss %l, %s : (tensor<f32>, tensor<1xf32>) -> tensor<f32>
  return
}

// -----

func.func @unscale_narrow(%g: tensor<4xf16>, %s: tensor<f32>) {
  // expected-error @+1 {{'mpt.unscale' op expected unscaled gradients in f32 or f64, found 'tensor<4xf16>': a gradient that the loss scale kept from underflow would underflow here}}
  %u, %ok = mpt.unscale %g, %s : (tensor<4xf16>, tensor<f32>) -> (tensor<4xf16>, tensor<i1>)
  return
}

// -----

func.func @unscale_scale(%g: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.unscale' op expected scale to be a scalar (rank 0), found 'tensor<4xf32>'}}
  %u, %ok = mpt.unscale %g, %g : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>)
  return
}

// -----

func.func @unscale_results(%g: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>', 'tensor<i1>' are incompatible with return type(s) of operation 'tensor<i1>'}}
  // expected-error @+1 {{'mpt.unscale' op failed to infer returned types}}
  %ok = mpt.unscale %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<i1>
  return
}

// -----

func.func @all_finite(%g: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.all_finite' op result #0 must be 0D tensor of 1-bit signless integer values, but got 'tensor<4xi1>'}}
  %ok = mpt.all_finite %g : (tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @update_scale(%s: tensor<1xf32>, %t: tensor<i32>, %ok: tensor<i1>) {
  // expected-error @+1 {{'mpt.update_loss_scale' op expected scale to be a scalar (rank 0), found 'tensor<1xf32>'}}
  %r:2 = mpt.update_loss_scale %s, %t, %ok : (tensor<1xf32>, tensor<i32>, tensor<i1>) -> (tensor<1xf32>, tensor<i32>)
  return
}

// -----

func.func @update_growth(%s: tensor<f32>, %t: tensor<i32>, %ok: tensor<i1>) {
  // expected-error @+1 {{'mpt.update_loss_scale' op expected a finite 'growth_factor' above 1, found 1}}
  %r:2 = mpt.update_loss_scale %s, %t, %ok {growth_factor = 1.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>)
  return
}

// -----

func.func @update_backoff(%s: tensor<f32>, %t: tensor<i32>, %ok: tensor<i1>) {
  // expected-error @+1 {{'mpt.update_loss_scale' op expected 'backoff_factor' in (0, 1), found 0}}
  %r:2 = mpt.update_loss_scale %s, %t, %ok {backoff_factor = 0.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>)
  return
}

// -----

func.func @update_interval(%s: tensor<f32>, %t: tensor<i32>, %ok: tensor<i1>) {
  // expected-error @+1 {{'mpt.update_loss_scale' op expected values of at least 1 in 'growth_interval', found -5}}
  %r:2 = mpt.update_loss_scale %s, %t, %ok {growth_interval = -5 : i64} : (tensor<f32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>)
  return
}

// -----

func.func @clip_norm(%g: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.clip_by_global_norm' op expected 'max_norm' above 0, found 0}}
  %c, %n = mpt.clip_by_global_norm %g {max_norm = 0.0 : f64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  return
}

// -----

func.func @select_types(%ok: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf16>) {
  // expected-error @+1 {{'mpt.select_state' op expected updated state, old state and result of one type, found 'tensor<4xf32>', 'tensor<4xf16>' and 'tensor<4xf16>'}}
  %s = mpt.select_state %ok, %a, %b : (tensor<i1>, tensor<4xf32>, tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @select_result(%ok: tensor<i1>, %a: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.select_state' op expected updated state, old state and result of one type, found 'tensor<4xf32>', 'tensor<4xf32>' and 'tensor<4xf16>'}}
  %s = mpt.select_state %ok, %a, %a : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @sgd_gradient(%p: tensor<4xf32>, %g: tensor<5xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'mpt.sgd' op expected gradient of the shape of the parameter, 4, found 5}}
  %n = mpt.sgd param(%p) grad(%g) lr(%lr) : (tensor<4xf32>, tensor<5xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_lr(%p: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.sgd' op expected lr to be a scalar (rank 0), found 'tensor<4xf32>'}}
  %n = mpt.sgd param(%p) grad(%p) lr(%p) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_buffer_shape(%p: tensor<4xf32>, %b: tensor<f32>) {
  // expected-error @+1 {{'mpt.sgd' op expected momentum buffer of the shape of the parameter, 4, found scalar}}
  %n:2 = mpt.sgd param(%p) grad(%p) lr(%b) momentum(%b) {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  return
}

// -----

func.func @sgd_no_new_buffer(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>', 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'mpt.sgd' op failed to infer returned types}}
  %n = mpt.sgd param(%p) grad(%p) lr(%lr) momentum(%p) {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_no_buffer(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'mpt.sgd' op expected a momentum buffer with 'momentum' 0.9, found none}}
  %n = mpt.sgd param(%p) grad(%p) lr(%lr) {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_nesterov(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'mpt.sgd' op expected 'momentum' above 0 and 'dampening' 0 with 'nesterov', found 0.9 and 0.5}}
  %n:2 = mpt.sgd param(%p) grad(%p) lr(%lr) momentum(%p) {momentum = 0.9 : f64, dampening = 0.5 : f64, nesterov} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @sgd_momentum(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'mpt.sgd' op expected a finite 'momentum' of at least 0, found -0.9}}
  %n:2 = mpt.sgd param(%p) grad(%p) lr(%lr) momentum(%p) {momentum = -0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @sgd_dampening(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'mpt.sgd' op expected 'dampening' in [0, 1], found 2}}
  %n:2 = mpt.sgd param(%p) grad(%p) lr(%lr) momentum(%p) {momentum = 0.9 : f64, dampening = 2.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @sgd_decay(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'mpt.sgd' op expected a finite 'weight_decay' of at least 0, found -1}}
  %n = mpt.sgd param(%p) grad(%p) lr(%lr) {weight_decay = -1.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_types(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{custom op 'mpt.sgd' number of operands and types do not match: got 3 operands and 2 types}}
  %n = mpt.sgd param(%p) grad(%p) lr(%lr) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_predicate(%p: tensor<4xf32>, %lr: tensor<f32>, %ok: tensor<1xi1>) {
  // expected-error @+1 {{'mpt.sgd' op operand #3 must be 0D tensor of 1-bit signless integer values, but got 'tensor<1xi1>'}}
  %n = mpt.sgd param(%p) grad(%p) lr(%lr) if(%ok) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<1xi1>) -> tensor<4xf32>
  return
}

// -----

func.func @adam_beta1(%p: tensor<4xf32>, %lr: tensor<f32>, %t: tensor<i64>) {
  // expected-error @+1 {{'mpt.adam' op expected 'beta1' in [0, 1), found 1}}
  %n:3 = mpt.adam param(%p) grad(%p) lr(%lr) moments(%p, %p) step(%t) {beta1 = 1.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adam_beta2(%p: tensor<4xf32>, %lr: tensor<f32>, %t: tensor<i64>) {
  // expected-error @+1 {{'mpt.adam' op expected 'beta2' in [0, 1), found -0.5}}
  %n:3 = mpt.adam param(%p) grad(%p) lr(%lr) moments(%p, %p) step(%t) {beta2 = -0.5 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_eps(%p: tensor<4xf32>, %lr: tensor<f32>, %t: tensor<i64>) {
  // expected-error @+1 {{'mpt.adamw' op expected a finite 'eps' of at least 0, found -1}}
  %n:3 = mpt.adamw param(%p) grad(%p) lr(%lr) moments(%p, %p) step(%t) {eps = -1.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_moments(%p: tensor<4xf32>, %m: tensor<4x1xf32>, %lr: tensor<f32>, %t: tensor<i64>) {
  // expected-error @+1 {{'mpt.adamw' op expected exp_avg_sq of the shape of the parameter, 4, found 4x1}}
  %n:3 = mpt.adamw param(%p) grad(%p) lr(%lr) moments(%p, %m) step(%t) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4x1xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @adam_average(%p: tensor<4xf32>, %m: tensor<3xf32>, %lr: tensor<f32>, %t: tensor<i64>) {
  // expected-error @+1 {{'mpt.adam' op expected exp_avg of the shape of the parameter, 4, found 3}}
  %n:3 = mpt.adam param(%p) grad(%p) lr(%lr) moments(%m, %p) step(%t) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<3xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adam_step(%p: tensor<4xf32>, %lr: tensor<f32>, %t: tensor<i32>) {
  // expected-error @+1 {{'mpt.adam' op operand #5 must be 0D tensor of 64-bit signless integer values, but got 'tensor<i32>'}}
  %n:3 = mpt.adam param(%p) grad(%p) lr(%lr) moments(%p, %p) step(%t) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @barrier(%x: tensor<4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  // expected-error @+1 {{'mpt.barrier' op failed to infer returned types}}
  %y = mpt.barrier %x : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @checkpoint_yield(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.checkpoint' op expected mpt.yield of the results' types 'tensor<4xf32>', found values of 'tensor<4xf32>', 'tensor<4xf32>'}}
  %y = mpt.checkpoint {
    mpt.yield %x, %x : tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----

func.func @checkpoint_arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.checkpoint' op expected a body without arguments, found 1; values from above can be used}}
  %y = mpt.checkpoint {
  ^bb0(%a: tensor<4xf32>):
    mpt.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----

func.func @checkpoint_empty() {
  // expected-error @+1 {{'mpt.checkpoint' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
  "mpt.checkpoint"() ({
  }) : () -> ()
  return
}

// -----

func.func @yield_parent(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.yield' op expects parent op to be one of 'mpt.checkpoint, mpt.scan'}}
  mpt.yield %x : tensor<4xf32>
}

// -----

func.func @accumulate_shape(%s: tensor<4xf32>, %g: tensor<5xf16>) {
  // expected-error @+1 {{'mpt.accumulate' op expected gradient of the shape of the sum, 4, found 5}}
  %r = mpt.accumulate %s, %g : (tensor<4xf32>, tensor<5xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @accumulate_narrow(%s: tensor<4xf16>, %g: tensor<4xf16>) {
  // expected-error @+1 {{'mpt.accumulate' op operand #0 must be ranked tensor of 32-bit float or 64-bit float values, but got 'tensor<4xf16>'}}
  %r = mpt.accumulate %s, %g : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @accumulate_divisor(%s: tensor<4xf32>, %g: tensor<4xf16>) {
  // expected-error @+1 {{'mpt.accumulate' op expected values of at least 1 in 'divisor', found 0}}
  %r = mpt.accumulate %s, %g {divisor = 0 : i64} : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @join_halves_shape(%h: tensor<4xbf16>, %l: tensor<2x2xi16>) {
  // expected-error @+1 {{'mpt.join_halves' op expected low half of the shape of the high half, 4, found 2x2}}
  %x = mpt.join_halves %h, %l : (tensor<4xbf16>, tensor<2x2xi16>) -> tensor<4xf32>
  return
}

// -----

func.func @join_halves_type(%h: tensor<4xf16>, %l: tensor<4xi16>) {
  // expected-error @+1 {{'mpt.join_halves' op operand #0 must be ranked tensor of bfloat16 type values, but got 'tensor<4xf16>'}}
  %x = mpt.join_halves %h, %l : (tensor<4xf16>, tensor<4xi16>) -> tensor<4xf32>
  return
}

// -----

func.func @high_half_result(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.high_half' op result #0 must be ranked tensor of bfloat16 type values, but got 'tensor<4xf16>'}}
  %h = mpt.high_half %x : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @add_compensation_shape(%p: tensor<4xbf16>, %c: tensor<1xbf16>) {
  // expected-error @+1 {{'mpt.add_compensation' op expected compensation of the shape of the parameter, 4, found 1}}
  %x = mpt.add_compensation %p, %c : (tensor<4xbf16>, tensor<1xbf16>) -> tensor<4xf32>
  return
}

// -----

func.func @stochastic_round_shape(%x: tensor<4xf32>, %b: tensor<3xi16>) {
  // expected-error @+1 {{'mpt.stochastic_round' op expected bits of the shape of the numbers, 4, found 3}}
  %y = mpt.stochastic_round %x, %b : (tensor<4xf32>, tensor<3xi16>) -> tensor<4xbf16>
  return
}

// -----

func.func @random_bits_shape(%s: tensor<i64>) {
  // expected-error @+2 {{expected sizes of at least 0 in 'shape', found -1}}
  // expected-error @+1 {{'mpt.random_bits' op failed to infer returned types}}
  %b = mpt.random_bits %s, %s {stream = 0 : i64, shape = array<i64: 4, -1>} : (tensor<i64>, tensor<i64>) -> tensor<4x?xi16>
  return
}

// -----

// expected-error @+1 {{expected 'mpt.master' to be one of f32, bf16-stochastic-rounding, bf16-kahan, split16, none; found "bf16"}}
func.func @master_kind(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter", mpt.master = "bf16"}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.low_of' to be the name of a parameter, found 1}}
func.func @low_of(%w: tensor<4xi16> {mpt.name = "w.low", mpt.role = "optimizer_state", mpt.low_of = 1}) {
  return
}

// -----

func.func @dynamic_code_offset(%x: tensor<4xf32>, %o: tensor<3xf32>) {
  // expected-error @+1 {{'mpt.dynamic_code' op expected offset of the shape of x, 4, found 3}}
  %c = mpt.dynamic_code %x, %o : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xi8>
  return
}

// -----

func.func @quantize_blockwise_size(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.quantize_blockwise' op expected values of at least 1 in 'block_size', found 0}}
  %c, %a = mpt.quantize_blockwise %x {block_size = 0 : i64} : (tensor<4xf32>) -> (tensor<4xi8>, tensor<1xf32>)
  return
}

// -----

func.func @quantize_blockwise_bits(%x: tensor<4xf32>, %b: tensor<1xi16>) {
  // expected-error @+1 {{'mpt.quantize_blockwise' op expected bits of the shape of x, 4, found 1}}
  %c, %a = mpt.quantize_blockwise %x, %b {block_size = 4 : i64} : (tensor<4xf32>, tensor<1xi16>) -> (tensor<4xi8>, tensor<1xf32>)
  return
}

// -----

func.func @dequantize_blockwise_absmax(%c: tensor<10x30xi8>, %a: tensor<1xf32>) {
  // expected-error @+1 {{'mpt.dequantize_blockwise' op expected absmax to have one number for each block of 256 elements of 'tensor<10x30xi8>', 2, found 'tensor<1xf32>'}}
  %x = mpt.dequantize_blockwise %c, %a {block_size = 256 : i64} : (tensor<10x30xi8>, tensor<1xf32>) -> tensor<10x30xf32>
  return
}
