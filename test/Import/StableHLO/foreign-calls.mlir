// Calls within ops that MLIR cannot know are inlined while a module is read, whatever the
// passes are: JAX leaves them in the bodies of reductions.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @called_body
// CHECK: ^bb0(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>):
// CHECK-NEXT: %[[C:.*]] = "stablehlo.maximum"(%[[B]], %[[A]])
// CHECK-NEXT: %[[D:.*]] = "stablehlo.abs"(%[[C]])
// CHECK-NEXT: "stablehlo.return"(%[[D]])
// What is outside stays a call.
// CHECK: call @inner
"func.func"() <{function_type = (tensor<4xf32>, tensor<f32>) -> tensor<f32>, sym_name = "called_body"}> ({
^bb0(%x: tensor<4xf32>, %zero: tensor<f32>):
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "func.call"(%b, %a) <{callee = @outer}> : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %2 = "func.call"(%0) <{callee = @inner}> : (tensor<f32>) -> tensor<f32>
  "func.return"(%2) : (tensor<f32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<f32>, tensor<f32>) -> tensor<f32>, sym_name = "outer", sym_visibility = "private"}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %0 = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = "func.call"(%0) <{callee = @inner}> : (tensor<f32>) -> tensor<f32>
  "func.return"(%1) : (tensor<f32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "inner", sym_visibility = "private"}> ({
^bb0(%a: tensor<f32>):
  %0 = "stablehlo.abs"(%a) : (tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()

// -----

// A call that does not fit is MLIR's error, as it is elsewhere.
"func.func"() <{function_type = (tensor<4xf32>, tensor<f32>) -> tensor<f32>, sym_name = "misfit"}> ({
^bb0(%x: tensor<4xf32>, %zero: tensor<f32>):
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-note @below {{MLIR does not look for it}}
    // expected-error @below {{'func.call' op 'one' does not reference a valid function}}
    %1 = "func.call"(%b, %a) <{callee = @one}> : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "one", sym_visibility = "private"}> ({
^bb0(%a: tensor<f32>):
  "func.return"(%a) : (tensor<f32>) -> ()
}) : () -> ()

// -----

// So is one that never ends.
"func.func"() <{function_type = (tensor<4xf32>, tensor<f32>) -> tensor<f32>, sym_name = "endless"}> ({
^bb0(%x: tensor<4xf32>, %zero: tensor<f32>):
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "func.call"(%a) <{callee = @again}> : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "again", sym_visibility = "private"}> ({
^bb0(%a: tensor<f32>):
  // expected-note @below {{MLIR does not look for it}}
  // expected-error @below {{'func.call' op 'again' does not reference a valid function}}
  %0 = "func.call"(%a) <{callee = @again}> : (tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()

// -----

// Must stay: the function is one of the op's own, which MLIR cannot see. It is not the other of
// its name.
"func.func"() <{function_type = () -> tensor<f32>, sym_name = "own"}> ({
  %0 = "acme.module"() ({
    "func.func"() <{function_type = () -> tensor<f32>, sym_name = "zero", sym_visibility = "private"}> ({
    }) : () -> ()
    // expected-note @below {{MLIR does not look for it}}
    // expected-error @below {{'func.call' op 'zero' does not reference a valid function}}
    %1 = "func.call"() <{callee = @zero}> : () -> tensor<f32>
    "acme.return"(%1) : (tensor<f32>) -> ()
  }) : () -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()
"func.func"() <{function_type = () -> tensor<f32>, sym_name = "zero", sym_visibility = "private"}> ({
  %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()

// -----

// A function that calls itself within such an op stays as it is: each copy would hold another.
"func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "nested"}> ({
^bb0(%a: tensor<f32>):
  %0 = "x.reduce"(%a) ({
  ^bb0(%b: tensor<f32>):
    // expected-note @below {{MLIR does not look for it}}
    // expected-error @below {{'func.call' op 'nested' does not reference a valid function}}
    %1 = "func.call"(%b) <{callee = @nested}> : (tensor<f32>) -> tensor<f32>
    "x.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()

// -----

// So do two that call each other, twice each.
"func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "left"}> ({
^bb0(%a: tensor<f32>):
  %0 = "x.reduce"(%a) ({
  ^bb0(%b: tensor<f32>):
    // expected-note @below {{MLIR does not look for it}}
    // expected-error @below {{'func.call' op 'right' does not reference a valid function}}
    %1 = "func.call"(%b) <{callee = @right}> : (tensor<f32>) -> tensor<f32>
    %2 = "func.call"(%1) <{callee = @right}> : (tensor<f32>) -> tensor<f32>
    "x.return"(%2) : (tensor<f32>) -> ()
  }) : (tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "right", sym_visibility = "private"}> ({
^bb0(%a: tensor<f32>):
  %0 = "x.reduce"(%a) ({
  ^bb0(%b: tensor<f32>):
    %1 = "func.call"(%b) <{callee = @left}> : (tensor<f32>) -> tensor<f32>
    %2 = "func.call"(%1) <{callee = @left}> : (tensor<f32>) -> tensor<f32>
    "x.return"(%2) : (tensor<f32>) -> ()
  }) : (tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()
