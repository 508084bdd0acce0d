// RUN: mpt-opt %s --split-input-file --verify-diagnostics --mpt-validate-loss-scale

// As it should be; also through a loop that adds micro-batches under one scale, and
// with a scale for each of two losses.
func.func @right(%p: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %t: tensor<i64>, %lr: tensor<f32>,
                 %g: tensor<4xf32>, %s: tensor<f32>, %u: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %zero = mpt.constant dense<0.0> : tensor<4xf32>
  %from = arith.constant 0 : index
  %to = arith.constant 4 : index
  %one = arith.constant 1 : index
  %sum = scf.for %i = %from to %to step %one iter_args(%acc = %zero) -> tensor<4xf32> {
    %next = mpt.add %acc, %scaled : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  %other = mpt.scale_loss %g, %u : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %a, %b = mpt.gradients %sum, %other {names = ["a", "b"]} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %x, %ok = mpt.unscale %a, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %y, %fine = mpt.unscale %b, %u : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %c, %d, %norm = mpt.clip_by_global_norm %x, %y {max_norm = 1.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>)
  %p1, %m1, %v1 = mpt.adam param(%p) grad(%c) lr(%lr) moments(%m, %v) step(%t) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %p1, %d : tensor<4xf32>, tensor<4xf32>
}

// -----

// A barrier's results are scaled as its operands are, each for itself.
func.func @barrier(%p: tensor<4xf32>, %lr: tensor<f32>, %g: tensor<4xf32>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %w, %h = mpt.barrier %p, %scaled : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %product = mpt.mul %w, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %product, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %p1 = mpt.sgd param(%p) grad(%x) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{the optimizer reads a gradient that is still scaled; put mpt.unscale before it}}
  %p2 = mpt.sgd param(%p) grad(%h) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p1, %p2 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @twice(%g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %scaled, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %z = mpt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{gradient 0 is unscaled already; unscale each gradient once a step}}
  %y, %fine = mpt.unscale %z, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  return %y : tensor<4xf32>
}

// -----

func.func @clipped(%g: tensor<4xf32>, %h: tensor<2xf32>, %s: tensor<f32>) -> tensor<2xf32> {
  %scaled = mpt.scale_loss %h, %s : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  // expected-error @below {{gradient 1 is still scaled, so that the limit means another norm; put mpt.unscale before clipping}}
  %c, %d, %norm = mpt.clip_by_global_norm %g, %scaled {max_norm = 1.0 : f64} : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<f32>)
  return %d : tensor<2xf32>
}

// -----

func.func @scaled_gradient(%p: tensor<4xf32>, %lr: tensor<f32>, %g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{the optimizer reads a gradient that is still scaled; put mpt.unscale before it}}
  %p1 = mpt.sgd param(%p) grad(%scaled) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p1 : tensor<4xf32>
}

// -----

func.func @no_master(%p: tensor<4xf16> {mpt.name = "fc.weight"}, %lr: tensor<f32>, %g: tensor<4xf16>) -> tensor<4xf16> {
  // expected-error @below {{the parameter 'fc.weight' is stored in f16, which loses updates below half a unit in the last place; run --mpt-master-weights, or say mpt.master = "none" on it}}
  %p1 = mpt.sgd param(%p) grad(%g) lr(%lr) : (tensor<4xf16>, tensor<4xf16>, tensor<f32>) -> tensor<4xf16>
  return %p1 : tensor<4xf16>
}

// -----

// expected-note @below {{the scale that was used}}
func.func @scale_changed(%g: tensor<4xf32>, %s: tensor<f32>, %t: tensor<i32>, %ok: tensor<i1>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %new, %t1 = mpt.update_loss_scale %s, %t, %ok : (tensor<f32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>)
  // expected-error @below {{gradient 0 was scaled by another scale than this one; keep one scale from mpt.scale_loss to mpt.unscale}}
  %y, %fine = mpt.unscale %scaled, %new : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  return %y : tensor<4xf32>
}

// -----

func.func @window(%g: tensor<4xf32>, %h: tensor<4xf32>, %s: tensor<f32>, %t: tensor<i32>, %ok: tensor<i1>) -> tensor<4xf32> {
  %first = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %new, %t1 = mpt.update_loss_scale %s, %t, %ok : (tensor<f32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>)
  %second = mpt.scale_loss %h, %new : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{combines gradients of different scales, or an unscaled one with one that is still scaled; keep one scale for all micro-batches of a step}}
  %sum = mpt.add %first, %second : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %sum : tensor<4xf32>
}

// -----

// A norm that nothing is clipped to is another one, too, under a scale: skip-spikes
// would read it.
func.func @norm(%g: tensor<4xf32>, %s: tensor<f32>) -> tensor<f32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{gradient 0 is still scaled, so that the limit means another norm}}
  %d, %norm = mpt.clip_by_global_norm %scaled {max_norm = 0x7FF0000000000000 : f64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  return %norm : tensor<f32>
}

// -----

// The gradients of two losses are added before they are unscaled.
func.func @losses(%p: tensor<4xf32>, %lr: tensor<f32>, %g: tensor<4xf32>, %h: tensor<4xf32>,
                  %s: tensor<f32> {mpt.name = "loss_scale.a"}, %u: tensor<f32> {mpt.name = "loss_scale.b"}) -> tensor<4xf32> {
  %a = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = mpt.scale_loss %h, %u : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{keep one scale for all micro-batches of a step, or unscale each before they meet}}
  %sum = mpt.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %sum, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %p1 = mpt.sgd param(%p) grad(%x) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p1 : tensor<4xf32>
}

// -----

// A moving average of scaled gradients, while the scale moves.
func.func @state(%g: tensor<4xf32>, %s: tensor<f32> {mpt.name = "loss_scale"},
                 %e: tensor<4xf32> {mpt.name = "g.ema"})
    -> (tensor<4xf32> {mpt.updates = "g.ema"}, tensor<f32> {mpt.updates = "loss_scale"}) {
  %half = mpt.constant dense<0.5> : tensor<f32>
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %sum = mpt.add %e, %scaled : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{the value}}
  %next = mpt.mul %sum, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %new = mpt.mul %s, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // expected-error @below {{the state "g.ema" keeps a value that is still scaled, and the scale may be another when it is read; put mpt.unscale before it}}
  return %next, %new : tensor<4xf32>, tensor<f32>
}

// -----

// The same under a scale that stays, and with unscaled gradients.
func.func @static(%g: tensor<4xf32>, %s: tensor<f32> {mpt.name = "loss_scale"},
                  %e: tensor<4xf32> {mpt.name = "g.ema"}, %f: tensor<4xf32> {mpt.name = "f"})
    -> (tensor<4xf32> {mpt.updates = "g.ema"}, tensor<4xf32> {mpt.updates = "f"}) {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %sum = mpt.add %e, %scaled : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %scaled, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %plain = mpt.add %f, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %sum, %plain : tensor<4xf32>, tensor<4xf32>
}

// -----

// The sum of micro-batches is unscaled behind each.
func.func @each_micro_batch(%g: tensor<4xf32>, %h: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %a = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = mpt.scale_loss %h, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %a, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  // expected-error @below {{combines gradients of different scales, or an unscaled one with one that is still scaled}}
  %sum = mpt.add %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y, %fine = mpt.unscale %sum, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  return %y : tensor<4xf32>
}

// -----

func.func @each_time(%g: tensor<4xf32>, %s: tensor<f32>, %n: index, %one: index) -> tensor<4xf32> {
  %a = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{combines gradients of different scales, or an unscaled one}}
  %r = scf.for %i = %one to %n step %one iter_args(%sum = %a) -> tensor<4xf32> {
    // expected-error @below {{gradient 0 is unscaled already on one way here and not on another}}
    %x, %ok = mpt.unscale %sum, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
    scf.yield %x : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// An f16 parameter that is updated in f32 and rounded; what no update names may be f16.
func.func @half(%p: tensor<4xf16> {mpt.name = "p", mpt.role = "parameter"}, %q: tensor<4xf16> {mpt.name = "q", mpt.role = "parameter"},
                %lr: tensor<f32>, %g: tensor<4xf32>)
    -> (tensor<4xf16> {mpt.updates = "p"}, tensor<4xf16> {mpt.updates = "q"}) {
  %wide = mpt.cast %p : (tensor<4xf16>) -> tensor<4xf32>
  %next = mpt.sgd param(%wide) grad(%g) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %low = mpt.cast %next : (tensor<4xf32>) -> tensor<4xf16>
  // expected-error @below {{the parameter "p" is stored in f16, which loses updates below half a unit in the last place; keep it in f32}}
  return %low, %q : tensor<4xf16>, tensor<4xf16>
}

// -----

// Scaled and unscaled by hand, by the state of role loss_scale: as it should be, and
// what comes of a scale and a constant is the next scale.
func.func @by_hand(%p: tensor<4xf32>, %lr: tensor<f32>, %g: tensor<4xf32>,
                   %s: tensor<f32> {mpt.name = "loss_scale", mpt.role = "loss_scale"})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<f32> {mpt.updates = "loss_scale"}) {
  %one = mpt.constant dense<1.0> : tensor<f32>
  %two = mpt.constant dense<2.0> : tensor<f32>
  %scaled = mpt.mul %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %inverse = mpt.div %one, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %x = mpt.mul %inverse, %scaled : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %y = mpt.div %scaled, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %p1 = mpt.sgd param(%p) grad(%x) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %p2 = mpt.sgd param(%p) grad(%y) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %s1 = mpt.mul %s, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %p1, %p2, %s1 : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// -----

func.func @by_hand_forgotten(%p: tensor<4xf32>, %lr: tensor<f32>, %g: tensor<4xf32>,
                             %s: tensor<f32> {mpt.name = "loss_scale", mpt.role = "loss_scale"}) -> tensor<4xf32> {
  %scaled = mpt.mul %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{the optimizer reads a gradient that is still scaled; put mpt.unscale before it}}
  %p1 = mpt.sgd param(%p) grad(%scaled) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p1 : tensor<4xf32>
}

// -----

func.func @by_hand_twice(%g: tensor<4xf32>,
                         %s: tensor<f32> {mpt.name = "loss_scale", mpt.role = "loss_scale"}) -> tensor<4xf32> {
  %scaled = mpt.mul %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %scaled, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %inverse = mpt.reciprocal %s : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{operand 0 is unscaled already; unscale each gradient once a step}}
  %y = mpt.mul %x, %inverse : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Any other number is no loss scale.
func.func @other_factor(%p: tensor<4xf32>, %lr: tensor<f32>, %g: tensor<4xf32>,
                        %s: tensor<f32> {mpt.name = "s", mpt.role = "schedule"}) -> tensor<4xf32> {
  %scaled = mpt.mul %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %p1 = mpt.sgd param(%p) grad(%scaled) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p1 : tensor<4xf32>
}

// -----

// Clipping by hand, of what is still scaled: the scale cancels, and is divided out again.
func.func @clip_by_hand(%g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %square = mpt.mul %scaled, %scaled : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %sum = mpt.reduce %square {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %inverse = mpt.rsqrt %sum : (tensor<f32>) -> tensor<f32>
  %c = mpt.mul %scaled, %inverse : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{gradient 0 is unscaled already}}
  %x, %ok = mpt.unscale %c, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  return %x : tensor<4xf32>
}

// -----

// As it should be: the limit is scaled as the gradients are.
func.func @clip_by_scaled_limit(%g: tensor<4xf32>, %s: tensor<f32> {mpt.name = "loss_scale", mpt.role = "loss_scale"}) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %square = mpt.mul %scaled, %scaled : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %sum = mpt.reduce %square {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %norm = mpt.sqrt %sum : (tensor<f32>) -> tensor<f32>
  %one = mpt.constant dense<1.0> : tensor<f32>
  %limit = mpt.mul %one, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %factor = mpt.div %limit, %norm : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %least = mpt.minimum %factor, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %c = mpt.mul %scaled, %least : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %c, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  return %x : tensor<4xf32>
}

// -----

func.func @squares(%g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %square = mpt.mul %scaled, %scaled : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{gradient 0 holds the scale to the power 2, not 1; unscale gradients before their squares, norms or quotients are used}}
  %x, %ok = mpt.unscale %square, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  return %x : tensor<4xf32>
}

// -----

func.func @scaled_twice(%g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{what is scaled here is scaled already; scale once, where the backward pass begins}}
  %again = mpt.scale_loss %scaled, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %again : tensor<4xf32>
}

// -----

func.func @never_scaled(%x: tensor<4xf32> {mpt.name = "x", mpt.role = "input"}, %s: tensor<f32>) -> tensor<4xf32> {
  %g = mpt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %zero = mpt.constant dense<0.0> : tensor<4xf32>
  // expected-error @below {{gradient 1 is not scaled; put mpt.scale_loss before its backward pass, or leave mpt.unscale out}}
  %z, %u, %ok = mpt.unscale %zero, %g, %s : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i1>)
  return %u : tensor<4xf32>
}

// -----

// Weight decay before the gradient is unscaled.
func.func @decay(%p: tensor<4xf32> {mpt.name = "p", mpt.role = "parameter"}, %lr: tensor<f32>, %g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{operand 0 is scaled and the other is not; put mpt.unscale before what is added to gradients, such as weight decay}}
  %sum = mpt.add %scaled, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %sum, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %p1 = mpt.sgd param(%p) grad(%x) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p1 : tensor<4xf32>
}

// -----

// Magnitudes of gradients of two losses, side by side.
func.func @history(%a: tensor<1xf32>, %b: tensor<1xf32>, %s: tensor<f32>, %u: tensor<f32>) -> tensor<2xf32> {
  %x = mpt.scale_loss %a, %s : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %y = mpt.scale_loss %b, %u : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %both = mpt.concat %x, %y {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %both : tensor<2xf32>
}

// -----

// Somebody wants it so.
func.func @no_master_wanted(%p: tensor<4xf16> {mpt.name = "p", mpt.role = "parameter", mpt.master = "none"}, %lr: tensor<f32>, %g: tensor<4xf16>)
    -> (tensor<4xf16> {mpt.updates = "p"}) {
  %p1 = mpt.sgd param(%p) grad(%g) lr(%lr) : (tensor<4xf16>, tensor<4xf16>, tensor<f32>) -> tensor<4xf16>
  return %p1 : tensor<4xf16>
}

// -----

// A choice of what is finite, as quantization makes it.
func.func @finite_choice(%p: tensor<4xf32>, %lr: tensor<f32>, %g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %scaled, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %finite = mpt.is_finite %scaled : (tensor<4xf32>) -> tensor<4xi1>
  %y = mpt.where %finite, %x, %scaled : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %p1 = mpt.sgd param(%p) grad(%y) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p1 : tensor<4xf32>
}

// -----

// Clipping by value: what is above 1 depends on the scale.
func.func @clip_by_value(%g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %one = mpt.constant dense<1.0> : tensor<f32>
  // expected-error @below {{operand 0 is scaled and operand 1 is not, so that the result depends on the scale; put mpt.unscale before what clips gradients or compares them with a limit}}
  %c = mpt.minimum %scaled, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %c, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  return %x : tensor<4xf32>
}

// -----

func.func @compared(%g: tensor<4xf32>, %s: tensor<f32>, %w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<4xi1> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %size = mpt.abs %w : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{operand 1 is scaled and operand 0 is not}}
  %more = mpt.compare %size, %scaled {predicate = #mpt.predicate<gt>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %more : tensor<4xi1>
}

// -----

func.func @chosen(%g: tensor<4xf32>, %s: tensor<f32>, %m: tensor<4xi1>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %little = mpt.constant dense<0.1> : tensor<4xf32>
  // expected-error @below {{operand 2 is scaled and operand 1 is not}}
  %c = mpt.where %m, %little, %scaled : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

// A norm that a small number keeps from 0.
func.func @little_added(%g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %size = mpt.abs %scaled : (tensor<4xf32>) -> tensor<4xf32>
  %little = mpt.constant dense<1.0e-6> : tensor<f32>
  // expected-error @below {{operand 0 is scaled and the other is not}}
  %sum = mpt.add %size, %little : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = mpt.div %scaled, %sum : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

func.func @curve(%g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{operand 0 is scaled, and the op is not linear, so that the scale cannot be divided out of its result; put mpt.unscale before it}}
  %c = mpt.tanh %scaled : (tensor<4xf32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %c, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  return %x : tensor<4xf32>
}

// -----

// As it should be at any scale: zeros and what is infinite or the largest number, two scaled
// values, signs, norms by powers, and unscaled gradients.
func.func @any_scale(%p: tensor<4xf32>, %lr: tensor<f32>, %g: tensor<4xf32>, %s: tensor<f32>, %m: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>) {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %zero = mpt.constant dense<0.0> : tensor<1xf32>
  %wide = mpt.broadcast %zero : (tensor<1xf32>) -> tensor<4xf32>
  %largest = mpt.constant dense<0x7F7FFFFF> : tensor<f32>
  %endless = mpt.constant dense<0x7F800000> : tensor<f32>
  %two = mpt.constant dense<2.0> : tensor<f32>
  %half = mpt.constant dense<0.5> : tensor<f32>
  %a = mpt.maximum %scaled, %wide : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.minimum %a, %largest : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = mpt.where %m, %b, %zero : (tensor<4xi1>, tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %d = mpt.maximum %c, %scaled : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %finite = mpt.compare %d, %endless {predicate = #mpt.predicate<lt>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %square = mpt.pow %d, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %sum = mpt.reduce %square {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %norm = mpt.pow %sum, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %sign = mpt.sign %d : (tensor<4xf32>) -> tensor<4xf32>
  %e = mpt.mul %sign, %norm : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %x, %ok = mpt.unscale %e, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %clipped = mpt.minimum %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %curve = mpt.tanh %clipped : (tensor<4xf32>) -> tensor<4xf32>
  %p1 = mpt.sgd param(%p) grad(%curve) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p1, %finite : tensor<4xf32>, tensor<4xi1>
}

// -----

// The next scale is no gradient.
func.func @next_scale(%ok: tensor<i1>, %s: tensor<f32> {mpt.name = "loss_scale", mpt.role = "loss_scale"})
    -> (tensor<f32> {mpt.updates = "loss_scale"}) {
  %two = mpt.constant dense<2.0> : tensor<f32>
  %half = mpt.constant dense<0.5> : tensor<f32>
  %most = mpt.constant dense<65536.0> : tensor<f32>
  %more = mpt.mul %s, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %up = mpt.minimum %more, %most : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %less = mpt.mul %s, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %down = mpt.maximum %less, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %next = mpt.where %ok, %up, %down : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return %next : tensor<f32>
}

// -----

// Inside of a scan: what it carries, the slices that it reads, and what it uses from above.
func.func @scan_clips(%g: tensor<4xf32>, %xs: tensor<9x4xf32> {mpt.name = "xs", mpt.role = "input"}, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %one = mpt.constant dense<1.0> : tensor<f32>
  %c = mpt.scan 9 reverse carry(%scaled : tensor<4xf32>) over(%xs : tensor<9x4xf32>) {
  ^bb0(%carried: tensor<4xf32>, %x: tensor<4xf32>):
    %product = mpt.mul %carried, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{operand 0 is scaled and operand 1 is not, so that the result depends on the scale; put mpt.unscale before what clips}}
    %clipped = mpt.minimum %product, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    mpt.yield %clipped : tensor<4xf32>
  } : tensor<4xf32>
  %x, %ok = mpt.unscale %c, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  return %x : tensor<4xf32>
}

// -----

func.func @scan_bends(%g: tensor<9x4xf32>, %zero: tensor<4xf32> {mpt.name = "zero", mpt.role = "input"}, %s: tensor<f32>) -> tensor<9x4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<9x4xf32>, tensor<f32>) -> tensor<9x4xf32>
  %last, %c = mpt.scan 9 carry(%zero : tensor<4xf32>) over(%scaled : tensor<9x4xf32>) {
  ^bb0(%carried: tensor<4xf32>, %x: tensor<4xf32>):
    // expected-error @below {{operand 0 is scaled, and the op is not linear}}
    %curve = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %carried, %curve : tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>, tensor<9x4xf32>
  // A result of the scan that no gradient flows into has no scale.
  %free = mpt.tanh %last : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<9x4xf32>
}

// -----

func.func @scan_squares(%g: tensor<9x4xf32>, %s: tensor<f32>) -> tensor<9x4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<9x4xf32>, tensor<f32>) -> tensor<9x4xf32>
  %c = mpt.scan 9 over(%scaled : tensor<9x4xf32>) {
  ^bb0(%x: tensor<4xf32>):
    %square = mpt.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %square : tensor<4xf32>
  } : tensor<9x4xf32>
  // expected-error @below {{gradient 0 holds the scale to the power 2, not 1}}
  %x, %ok = mpt.unscale %c, %s : (tensor<9x4xf32>, tensor<f32>) -> (tensor<9x4xf32>, tensor<i1>)
  return %x : tensor<9x4xf32>
}

// -----

// The backward pass of a loop as it should be: gradients begin at 0, are multiplied by data,
// added, chosen by a mask; an optimizer's loop reads what is unscaled.
func.func @scan_backward(%p: tensor<4xf32>, %lr: tensor<f32>, %g: tensor<4xf32>, %xs: tensor<9x4xf32> {mpt.name = "xs", mpt.role = "input"},
                         %s: tensor<f32> {mpt.name = "loss_scale", mpt.role = "loss_scale"}, %m: tensor<4xi1>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %zero = mpt.constant dense<0.0> : tensor<4xf32>
  %half = mpt.constant dense<0.5> : tensor<f32>
  %c, %sum, %all = mpt.scan 9 reverse carry(%scaled, %zero : tensor<4xf32>, tensor<4xf32>) over(%xs : tensor<9x4xf32>) {
  ^bb0(%carried: tensor<4xf32>, %added: tensor<4xf32>, %x: tensor<4xf32>):
    %curve = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
    %product = mpt.mul %carried, %curve : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %chosen = mpt.where %m, %product, %zero : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = mpt.add %added, %chosen : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %chosen, %next, %product : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>, tensor<4xf32>, tensor<9x4xf32>
  %x, %ok = mpt.unscale %sum, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
  %u = mpt.scan 5 carry(%x : tensor<4xf32>) {
  ^bb0(%y: tensor<4xf32>):
    %clipped = mpt.minimum %y, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %z = mpt.tanh %clipped : (tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %z : tensor<4xf32>
  } : tensor<4xf32>
  %p1 = mpt.sgd param(%p) grad(%u) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p1 : tensor<4xf32>
}

// -----

// What a scan carries is scaled on one way and unscaled on another.
func.func @scan_unscales(%g: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %scaled = mpt.scale_loss %g, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{combines gradients of different scales, or an unscaled one}}
  %c = mpt.scan 9 carry(%scaled : tensor<4xf32>) {
  ^bb0(%carried: tensor<4xf32>):
    // expected-error @below {{gradient 0 is unscaled already on one way here and not on another}}
    %x, %ok = mpt.unscale %carried, %s : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<i1>)
    mpt.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  return %c : tensor<4xf32>
}
