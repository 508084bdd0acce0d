// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-stablehlo --split-input-file | FileCheck %s

// A maximum with 0 is mpt.relu, whose gradient at 0 is 0, only where JAX's relu made it.
// By the function's name, or the location of what was inlined from it.
// CHECK-LABEL: module @jit_main
// CHECK-COUNT-3: mpt.relu
// CHECK-NOT: mpt.relu
// CHECK: mpt.maximum
// CHECK-NOT: mpt.relu
// CHECK: mpt.maximum
// CHECK: mpt.relu
// CHECK-NOT: mpt.relu
// CHECK: mpt.maximum
// CHECK-NOT: in_relu
"builtin.module"() <{sym_name = "jit_main"}> ({
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %0 = "func.call"(%x) <{callee = @relu}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "func.call"(%0) <{callee = @relu_0}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "func.call"(%1) <{callee = @relu6}> : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "func.call"(%2) <{callee = @reluish}> : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "stablehlo.maximum"(%3, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = "stablehlo.maximum"(%zero, %4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("jit(main)/vmap(jit(relu))/max")
  %6 = "stablehlo.maximum"(%5, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("jit(main)/max")
  "func.return"(%6) : (tensor<4xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "relu", sym_visibility = "private"}> ({
^bb0(%x: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %0 = "stablehlo.maximum"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "relu_0", sym_visibility = "private"}> ({
^bb0(%x: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %0 = "stablehlo.maximum"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "relu6", sym_visibility = "private"}> ({
^bb0(%x: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %0 = "stablehlo.maximum"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "reluish", sym_visibility = "private"}> ({
^bb0(%x: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %0 = "stablehlo.maximum"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) : () -> ()
}) : () -> ()

// -----

// In a module that is not JAX's, by any relu, but not in softplus.
// CHECK-LABEL: func.func @plain(
// CHECK: mpt.relu
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "plain"}> ({
^bb0(%x: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %0 = "stablehlo.maximum"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// logaddexp(x, 0), with its choice for NaN.
// CHECK-LABEL: func.func @logaddexp(
// CHECK-NOT: mpt.relu
// CHECK: mpt.maximum
// CHECK-NOT: mpt.relu
// CHECK: return
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "logaddexp"}> ({
^bb0(%x: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %m = "stablehlo.maximum"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = "stablehlo.subtract"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %nan = "stablehlo.compare"(%d, %d) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %a = "stablehlo.abs"(%d) : (tensor<4xf32>) -> tensor<4xf32>
  %n = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %e = "stablehlo.exponential"(%n) : (tensor<4xf32>) -> tensor<4xf32>
  %l = "stablehlo.log_plus_one"(%e) : (tensor<4xf32>) -> tensor<4xf32>
  %s = "stablehlo.add"(%m, %l) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = "stablehlo.select"(%nan, %x, %s) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%r) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// A cross-entropy, written out, and of -x: max(-x, 0) + (1 - y) x + log(1 + exp(-|x|)).
// CHECK-LABEL: func.func @written(
// CHECK-NOT: mpt.relu
// CHECK: mpt.maximum
// CHECK-NOT: mpt.relu
// CHECK: return
"func.func"() <{function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, sym_name = "written"}> ({
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %m = "stablehlo.maximum"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %p = "stablehlo.multiply"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s = "stablehlo.subtract"(%m, %p) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a = "stablehlo.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %n = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %e = "stablehlo.exponential"(%n) : (tensor<4xf32>) -> tensor<4xf32>
  %l = "stablehlo.log_plus_one"(%e) : (tensor<4xf32>) -> tensor<4xf32>
  %r = "stablehlo.add"(%s, %l) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%r) : (tensor<4xf32>) -> ()
}) : () -> ()
// CHECK-LABEL: func.func @negated(
// CHECK-NOT: mpt.relu
// CHECK: mpt.maximum
// CHECK-NOT: mpt.relu
// CHECK: return
"func.func"() <{function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, sym_name = "negated"}> ({
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %nx = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %m = "stablehlo.maximum"(%zero, %nx) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %p = "stablehlo.multiply"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a = "stablehlo.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %n = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %e = "stablehlo.exponential"(%n) : (tensor<4xf32>) -> tensor<4xf32>
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %e1 = "stablehlo.add"(%one, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = "stablehlo.log"(%e1) : (tensor<4xf32>) -> tensor<4xf32>
  %s = "stablehlo.add"(%p, %l) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = "stablehlo.add"(%s, %m) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%r) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// Must stay: the logarithm is of another number, or another function of |x|.
// CHECK-LABEL: func.func @other(
// CHECK: mpt.relu
"func.func"() <{function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, sym_name = "other"}> ({
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %m = "stablehlo.maximum"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a = "stablehlo.abs"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %n = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %e = "stablehlo.exponential"(%n) : (tensor<4xf32>) -> tensor<4xf32>
  %l = "stablehlo.log_plus_one"(%e) : (tensor<4xf32>) -> tensor<4xf32>
  %r = "stablehlo.add"(%m, %l) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%r) : (tensor<4xf32>) -> ()
}) : () -> ()
// CHECK-LABEL: func.func @product(
// CHECK: mpt.relu
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "product"}> ({
^bb0(%x: tensor<4xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %m = "stablehlo.maximum"(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a = "stablehlo.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %n = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %e = "stablehlo.exponential"(%n) : (tensor<4xf32>) -> tensor<4xf32>
  %l = "stablehlo.log_plus_one"(%e) : (tensor<4xf32>) -> tensor<4xf32>
  %r = "stablehlo.multiply"(%m, %l) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%r) : (tensor<4xf32>) -> ()
}) : () -> ()
