// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-memory-report="alignment=64" 2>&1 >/dev/null | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-memory-report="function=rules alignment=64 rules=%S/Inputs/memory-rules.yaml" 2>&1 >/dev/null | FileCheck %s --check-prefix=RULES

// a and b take 1,024 bytes each. tanh takes the place of the product, which dies; the
// second product needs both; the reshape renames, and the sum takes the place of
// its operand.
// CHECK-LABEL: memory of @mlp: 6 ops, order keep, sizes rounded up to 64 bytes
// CHECK-NEXT: state 0
// CHECK-NEXT: arguments 2,048
// CHECK-NEXT: constants 1,024
// CHECK-NEXT: results 0
// CHECK-NEXT: temporaries 2,048 at most, at op 2, stablehlo.dot_general at
// CHECK-NEXT: arena 2,048
// CHECK: temporaries over the 6 ops:
// CHECK-NEXT: 0 1,024 |
// CHECK-NEXT: 1 1,024 |
// CHECK-NEXT: 2 2,048 |{{.*}} peak
// CHECK-NEXT: 3 1,024 |
// CHECK-NEXT: 4 1,024 |
// CHECK-NEXT: 5 1,024 |
// CHECK-NEXT: 6 1,024 |
func.func @mlp(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<256xf32> {
  %a = "stablehlo.dot_general"(%x, %w) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = "stablehlo.tanh"(%a) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = "stablehlo.dot_general"(%b, %b) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = "stablehlo.reshape"(%c) : (tensor<16x16xf32>) -> tensor<256xf32>
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<256xf32>}> : () -> tensor<256xf32>
  %e = "stablehlo.add"(%d, %one) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  return %e : tensor<256xf32>
}

// What is read later keeps its memory: three at once.
// CHECK-LABEL: memory of @kept: 3 ops
// CHECK: temporaries 3,072
func.func @kept(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %a = "stablehlo.tanh"(%x) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = "stablehlo.tanh"(%a) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = "stablehlo.tanh"(%b) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %a, %b, %c : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}

// The next weights lie in the old ones; without the alias they are a result of
// their own. A donated argument dies at its last use.
// CHECK-LABEL: memory of @step:
// CHECK-NEXT: state 1,024
// CHECK-NEXT: arguments 1,024
// CHECK: temporaries 1,024
func.func @step(%w: tensor<16x16xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %g = "stablehlo.dot_general"(%x, %w) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %n = "stablehlo.subtract"(%w, %g) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %n : tensor<16x16xf32>
}
// CHECK-LABEL: memory of @late_reader:
// CHECK-NEXT: state 1,024
// CHECK: temporaries 2,048
func.func @late_reader(%w: tensor<16x16xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %n = "stablehlo.dot_general"(%w, %x) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %y = "stablehlo.dot_general"(%x, %w) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %n, %y : tensor<16x16xf32>, tensor<16x16xf32>
}
// CHECK-LABEL: memory of @donated:
// CHECK-NEXT: state 0
// CHECK: temporaries 1,024
func.func @donated(%x: tensor<16x16xf32> {jax.buffer_donor = true}) -> tensor<16x16xf32> {
  %a = "stablehlo.tanh"(%x) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = "stablehlo.tanh"(%a) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %b : tensor<16x16xf32>
}

// A loop: its variable in place of its first value (64 bytes of counter besides), and
// in the body the next value before the present one dies. The combiner of a
// reduction counts nothing.
// CHECK-LABEL: memory of @loop:
// CHECK: temporaries 2,176 at most, at op 2, stablehlo.while
func.func @loop(%x: tensor<16x16xf32>, %zero: tensor<i32>) -> tensor<f32> {
  %a = "stablehlo.dot_general"(%x, %x) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %i0 = "stablehlo.negate"(%zero) : (tensor<i32>) -> tensor<i32>
  %r:2 = "stablehlo.while"(%i0, %a) ({
  ^bb0(%i: tensor<i32>, %v: tensor<16x16xf32>):
    %p = "stablehlo.compare"(%i, %zero) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<16x16xf32>):
    %j = "stablehlo.add"(%i, %i) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %n = "stablehlo.dot_general"(%v, %x) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    "stablehlo.return"(%j, %n) : (tensor<i32>, tensor<16x16xf32>) -> ()
  }) : (tensor<i32>, tensor<16x16xf32>) -> (tensor<i32>, tensor<16x16xf32>)
  %s = "stablehlo.reduce"(%r#1, %x) ({
  ^bb0(%l: tensor<f32>, %m: tensor<f32>):
    %t = "stablehlo.add"(%l, %m) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%t) : (tensor<f32>) -> ()
  }) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// What a called function keeps for itself is its call's workspace; its result is the
// call's.
// CHECK-LABEL: memory of @caller:
// CHECK: temporaries 2,048 at most, at op 0, func.call
// CHECK-LABEL: memory of @callee:
// CHECK: temporaries 2,048
func.func @caller(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %y = call @callee(%x) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}
func.func private @callee(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %a = "stablehlo.dot_general"(%x, %x) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = "stablehlo.dot_general"(%a, %x) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %b : tensor<16x16xf32>
}

// Rows of the user's: acme.twice is elementwise, acme.rename a view.
// CHECK-LABEL: memory of @rules:
// CHECK: temporaries 2,048
// RULES: memory of @rules:
// RULES: temporaries 1,024
func.func @rules(%x: tensor<16x16xf32>) -> tensor<256xf32> {
  %a = "acme.make"() : () -> tensor<16x16xf32>
  %b = "acme.twice"(%a) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = "acme.rename"(%b) : (tensor<16x16xf32>) -> tensor<256xf32>
  "acme.use"(%b) : (tensor<16x16xf32>) -> ()
  %d = "acme.rename"(%c) : (tensor<256xf32>) -> tensor<256xf32>
  return %d : tensor<256xf32>
}
