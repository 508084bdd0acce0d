// What a step updates stays f32 also where a contraction follows: two steps in one function,
// steps in a loop. A function without a loss is no step.
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16 mixed-results=false" | FileCheck %s --check-prefixes=CHECK,SAME
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-autocast="type=bf16 explain=stablehlo.add" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// WHY: 'stablehlo.add' stays f32: updates what the step returns
// CHECK-LABEL: @two_steps
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<16x16xf32>
// CHECK: stablehlo.dot
// CHECK: stablehlo.multiply{{.*}} -> tensor<16x16xf32>
// CHECK: stablehlo.add"(%[[W]], %{{.*}} -> tensor<16x16xf32>
// CHECK: stablehlo.dot"{{.*}}(tensor<16x16xbf16>, tensor<16x16xbf16>)
// CHECK: stablehlo.multiply{{.*}} -> tensor<16x16xf32>
// CHECK: stablehlo.add{{.*}} -> tensor<16x16xf32>
func.func @two_steps(%w: tensor<16x16xf32>, %x: tensor<16x16xf32>, %lr: tensor<16x16xf32>, %loss: tensor<f32>) -> (tensor<16x16xf32>, tensor<f32>) {
  %g = "stablehlo.dot"(%x, %w) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %u = "stablehlo.multiply"(%lr, %g) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %w1 = "stablehlo.add"(%w, %u) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %g1 = "stablehlo.dot"(%x, %w1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %u1 = "stablehlo.multiply"(%lr, %g1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %w2 = "stablehlo.add"(%w1, %u1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %w2, %loss : tensor<16x16xf32>, tensor<f32>
}

// -----

// CHECK-LABEL: @loop
// CHECK: stablehlo.while
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[W:.*]]: tensor<16x16xf32>):
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[V:.*]]: tensor<16x16xf32>):
// CHECK: stablehlo.dot
// CHECK: stablehlo.add"(%[[V]], %{{.*}} -> tensor<16x16xf32>
func.func @loop(%w: tensor<16x16xf32>, %x: tensor<16x16xf32>, %n: tensor<i32>, %loss: tensor<f32>) -> (tensor<16x16xf32>, tensor<f32>) {
  %r:2 = "stablehlo.while"(%n, %w) ({
  ^bb0(%i: tensor<i32>, %v: tensor<16x16xf32>):
    %t = "stablehlo.compare"(%i, %i) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<16x16xf32>):
    %g = "stablehlo.dot"(%x, %v) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %v1 = "stablehlo.add"(%v, %g) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    "stablehlo.return"(%i, %v1) : (tensor<i32>, tensor<16x16xf32>) -> ()
  }) : (tensor<i32>, tensor<16x16xf32>) -> (tensor<i32>, tensor<16x16xf32>)
  return %r#1, %loss : tensor<16x16xf32>, tensor<f32>
}

// -----

// A residual block: no loss, and the sum between contractions may be low.
// SAME-LABEL: @block
// SAME: stablehlo.add{{.*}} -> tensor<16x16xbf16>
func.func @block(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %a = "stablehlo.dot"(%x, %w) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %h = "stablehlo.add"(%x, %a) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = "stablehlo.dot"(%h, %w) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %b : tensor<16x16xf32>
}

// -----

// The user's own rounding to another narrow type starts from f32.
// CHECK-LABEL: @other_type
// CHECK-NOT: (tensor<16x16xbf16>) -> tensor<16x16xf16>
// CHECK: stablehlo.convert{{.*}} : (tensor<16x16xf32>) -> tensor<16x16xf16>
func.func @other_type(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> (tensor<16x16xf16>, tensor<16x16xf32>) {
  %a = "stablehlo.dot"(%x, %w) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %h = "stablehlo.convert"(%a) : (tensor<16x16xf32>) -> tensor<16x16xf16>
  %b = "stablehlo.dot"(%a, %w) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %h, %b : tensor<16x16xf16>, tensor<16x16xf32>
}
