// What a loop adds to itself without a contraction stays f32; what contractions read and add to
// in turn may be low, and so may what a loop only compares or moves.
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16" | mpt-opt --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=f16 mixed-results=false" | FileCheck %s --check-prefix=SAME
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16 strategy=paint" | FileCheck %s --check-prefix=PAINT
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16 explain=mpt.add" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A leaky integrator between two contractions.
// WHY: 'mpt.add' stays f32: adds to itself round a loop
// CHECK-LABEL: @leaky
// CHECK: iter_args(%[[S:.*]] = %{{.*}}) -> (tensor<4x8xf32>)
// CHECK: mpt.matmul{{.*}}(tensor<4x8xbf16>, tensor<8x8xbf16>)
// CHECK: mpt.mul %[[S]], %{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: mpt.add {{.*}} -> tensor<4x8xf32>
// CHECK: mpt.matmul{{.*}}(tensor<4x8xbf16>, tensor<8x8xbf16>)
// SAME-LABEL: @leaky
// SAME: iter_args(%{{.*}} = %{{.*}}) -> (tensor<4x8xf32>)
// SAME: mpt.matmul{{.*}} -> tensor<4x8xf16>
// SAME: mpt.add {{.*}} -> tensor<4x8xf32>
// PAINT-LABEL: @leaky
// PAINT: mpt.add {{.*}} -> tensor<4x8xbf16>
func.func @leaky(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000 : index
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %decay = arith.constant dense<0.75> : tensor<4x8xf32>
  %h = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<4x8xf32>) {
    %p = mpt.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %m = mpt.mul %s, %decay : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %a = mpt.add %m, %p : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %a : tensor<4x8xf32>
  }
  %y = mpt.matmul %h, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A sum over two loops, in a dialect that is not registered.
// CHECK-LABEL: @nested
// CHECK: stablehlo.dot{{.*}}(tensor<8x8xbf16>, tensor<8x8xbf16>)
// CHECK: stablehlo.add{{.*}} -> tensor<8x8xf32>
func.func @nested(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %zero: tensor<8x8xf32>, %n: tensor<i32>) -> tensor<8x8xf32> {
  %outer:2 = "stablehlo.while"(%n, %zero) ({
  ^bb0(%i: tensor<i32>, %s: tensor<8x8xf32>):
    %t = "stablehlo.compare"(%i, %i) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %s: tensor<8x8xf32>):
    %inner:2 = "stablehlo.while"(%i, %s) ({
    ^bb0(%j: tensor<i32>, %r: tensor<8x8xf32>):
      %t = "stablehlo.compare"(%j, %j) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%t) : (tensor<i1>) -> ()
    }, {
    ^bb0(%j: tensor<i32>, %r: tensor<8x8xf32>):
      %p = "stablehlo.dot"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %a = "stablehlo.add"(%r, %p) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      "stablehlo.return"(%j, %a) : (tensor<i32>, tensor<8x8xf32>) -> ()
    }) : (tensor<i32>, tensor<8x8xf32>) -> (tensor<i32>, tensor<8x8xf32>)
    "stablehlo.return"(%i, %inner#1) : (tensor<i32>, tensor<8x8xf32>) -> ()
  }) : (tensor<i32>, tensor<8x8xf32>) -> (tensor<i32>, tensor<8x8xf32>)
  %y = "stablehlo.dot"(%outer#1, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// A residual stream through layers that a loop stands for: a contraction is in the cycle.
// SAME-LABEL: @residual
// SAME: iter_args(%{{.*}} = %{{.*}}) -> (tensor<4x8xf16>)
// SAME: mpt.add {{.*}} -> tensor<4x8xf16>
func.func @residual(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 12 : index
  %in = mpt.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h = scf.for %i = %c0 to %n step %c1 iter_args(%s = %in) -> (tensor<4x8xf32>) {
    %p = mpt.matmul %s, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %a = mpt.add %s, %p : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %a : tensor<4x8xf32>
  }
  %y = mpt.matmul %h, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// The greatest so far rounds nothing.
// SAME-LABEL: @running_max
// SAME: iter_args(%{{.*}} = %{{.*}}) -> (tensor<4x8xf16>)
// SAME: mpt.maximum {{.*}} -> tensor<4x8xf16>
func.func @running_max(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 12 : index
  %in = mpt.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h = scf.for %i = %c0 to %n step %c1 iter_args(%s = %in) -> (tensor<4x8xf32>) {
    %p = mpt.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %a = mpt.maximum %s, %p : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %a : tensor<4x8xf32>
  }
  %y = mpt.matmul %h, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Numbers beside 1: 0.999 is 1 in bf16 and 0.99902 in f16; 0.75 is itself. In a table it
// is a number among others.
// CHECK-LABEL: @near_one
// CHECK: mpt.mul {{.*}} -> tensor<8x8xf32>
// CHECK: mpt.mul {{.*}} -> tensor<8x8xbf16>
// CHECK: mpt.mul {{.*}} -> tensor<8x8xbf16>
// SAME-LABEL: @near_one
// SAME: mpt.mul {{.*}} -> tensor<8x8xf16>
// SAME: mpt.mul {{.*}} -> tensor<8x8xf16>
// SAME: mpt.mul {{.*}} -> tensor<8x8xf16>
func.func @near_one(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %near = arith.constant dense<0.999> : tensor<8x8xf32>
  %far = arith.constant dense<0.75> : tensor<8x8xf32>
  %table = arith.constant dense<[0.999, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]> : tensor<8xf32>
  %a = mpt.matmul %x, %w {transpose_rhs} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = mpt.mul %a, %near : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = mpt.matmul %b, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = mpt.mul %c, %far : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = mpt.matmul %d, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %f = mpt.mul %e, %table : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %g = mpt.matmul %f, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %g : tensor<8x8xf32>
}

// -----

// What is rounded to whole numbers is not rounded before.
// SAME-LABEL: @fake_quantization
// SAME: stablehlo.round_nearest_even{{.*}} -> tensor<8x8xf32>
// SAME: stablehlo.dot{{.*}}(tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
func.func @fake_quantization(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = "stablehlo.dot"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "stablehlo.round_nearest_even"(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = "stablehlo.dot"(%r, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}
