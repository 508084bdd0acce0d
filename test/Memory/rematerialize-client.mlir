// Rematerialization for compilers that fuse and schedule by themselves.
// RUN: split-file %s %t

// XLA's CPU compiler: each segment is repeated in a conditional, together with the backward ops
// that read it. Its predicate follows from the gradient that comes in.
// RUN: mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=0.7x client=xla-cpu" | FileCheck %s --check-prefix=CPU
// CPU-LABEL: func.func @layers
// CPU: %[[SLICE:.*]] = "stablehlo.slice"(%[[GRADIENT:.*]]) <{limit_indices = array<i64: 1, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}>
// CPU: %[[SCALAR:.*]] = "stablehlo.reshape"(%[[SLICE]])
// CPU: %[[BITS:.*]] = "stablehlo.bitcast_convert"(%[[SCALAR]]) : (tensor<f32>) -> tensor<i32>
// CPU: %[[ONES:.*]] = "stablehlo.popcnt"(%[[BITS]])
// CPU: %[[MOST:.*]] = "stablehlo.constant"() <{value = dense<32> : tensor<i32>}>
// CPU: %[[TRUE:.*]] = "stablehlo.compare"(%[[ONES]], %[[MOST]]) <{comparison_direction = #stablehlo<comparison_direction LE>}>
// CPU: "stablehlo.if"(%[[TRUE]]) ({
// CPU: "stablehlo.dot_general"{{.*}}mpt.remat
// CPU: "stablehlo.dot_general"({{.*}}, %[[GRADIENT]])
// CPU: "stablehlo.return"
// CPU: }, {
// CPU: "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<{{.*}}>}>
// CPU: "stablehlo.return"
// CPU-NOT: optimization_barrier

// XLA's CPU compiler runs gradients of convolutions in conditionals ten times slower, so these
// stay outside, and with them what can be computed from what is stored for them.
// RUN: sed s/dot_general/convolution/ %t/layers.mlir > %t/convolutions.mlir
// RUN: mpt-opt %t/convolutions.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=0.7x client=xla-cpu" | FileCheck %s --check-prefix=CONV
// CONV-LABEL: func.func @layers
// CONV: %[[IF:.*]]:4 = "stablehlo.if"
// CONV-NEXT: "stablehlo.convolution"({{.*}}mpt.remat = 0
// CONV: %[[LAST:.*]] = "stablehlo.convolution"({{.*}}mpt.remat = 6
// CONV-NOT: "stablehlo.tanh"
// CONV: "stablehlo.return"({{.*}}, %[[LAST]])
// CONV: "stablehlo.tanh"(%[[IF]]#3)
// CONV-NOT: "stablehlo.if"
// CONV: "stablehlo.convolution"(%[[IF]]#2,
// CONV: "stablehlo.convolution"(%[[IF]]#0,

// What a branch cannot return, here complex numbers that are read after a convolution, keeps its
// segment out of conditionals.
// RUN: %python %t/complex.py %t/layers.mlir > %t/complex.mlir
// RUN: mpt-opt %t/complex.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=0.7x client=xla-cpu" | FileCheck %s --check-prefix=COMPLEX --implicit-check-not=stablehlo.if
// COMPLEX: "stablehlo.complex"{{.*}}mpt.remat

// Others have barriers, one for each segment.
// RUN: mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=0.7x client=xla-gpu" | FileCheck %s --check-prefix=GPU --implicit-check-not=stablehlo.if
// RUN: mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=0.7x client=iree" | FileCheck %s --check-prefix=GPU --implicit-check-not=stablehlo.if
// RUN: mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=0.7x client=xla-cpu barrier=stablehlo.optimization_barrier" | FileCheck %s --check-prefix=GPU --implicit-check-not=stablehlo.if
// GPU: stablehlo.optimization_barrier
// GPU: mpt.remat

// Without a budget, or within one, nothing changes.
// RUN: mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize=client=xla-cpu | FileCheck %s --check-prefix=PLAIN
// RUN: mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=1x client=xla-cpu" | FileCheck %s --check-prefix=PLAIN
// PLAIN-NOT: mpt.remat

// No matmul runs again with mincut, as many matmuls as before.
// RUN: mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="strategy=mincut budget=min client=xla-cpu" -o %t/mincut.mlir
// RUN: grep -c "stablehlo.dot_general" %t/mincut.mlir | FileCheck %s --check-prefix=DOTS
// DOTS: {{^29$}}

// The second loop computes again what the first one stacked, from what the iterations began with.
// RUN: mpt-opt %t/scan.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=min client=xla-cpu" | FileCheck %s --check-prefix=ALL
// ALL: %[[INIT:.*]] = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<4x16x16xf32>}>
// ALL: %[[F:.*]]:4 = "stablehlo.while"(%arg1, %{{[^,]*}}, %arg0, %[[INIT]]) ({
// ALL: ^bb0(%{{.*}}, %{{.*}}, %[[H:.*]]: tensor<16x16xf32>, %[[STACK:.*]]: tensor<4x16x16xf32>):
// ALL: ^bb0(%{{.*}}, %[[I:.*]]: tensor<i32>, %[[H:.*]]: tensor<16x16xf32>, %[[STACK:.*]]: tensor<4x16x16xf32>):
// ALL: %[[ROW:.*]] = "stablehlo.reshape"(%[[H]]) : (tensor<16x16xf32>) -> tensor<1x16x16xf32>
// ALL: "stablehlo.dynamic_update_slice"(%[[STACK]], %[[ROW]], %[[I]],
// ALL: "stablehlo.while"({{.*}}, %arg1, %[[F]]#3) ({
// ALL: "stablehlo.dot_general"{{.*}}mpt.remat
// ALL: "stablehlo.tanh"{{.*}}mpt.remat

// Bytes are estimates, so a budget that is not met is a warning.
// RUN: mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=1000 client=xla-cpu" -o /dev/null 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: warning: mpt-rematerialize: 'layers' takes {{[0-9]+}} bytes, by estimate, and 1000 were asked for; no plan of whole segments takes fewer
// RUN: mpt-opt %t/two.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=1000 client=xla-cpu" 2>&1 | FileCheck %s --check-prefix=STAYS --implicit-check-not=mpt.remat
// STAYS: warning: mpt-rematerialize: 'two' takes {{[0-9]+}} bytes, by estimate, and 1000 were asked for; no plan of whole segments takes a fifth less, so it stays as it is

// RUN: mpt-opt %t/calls.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=1000 client=xla-cpu" -o /dev/null 2>&1 | FileCheck %s --check-prefix=CALLS
// CALLS: warning: mpt-rematerialize: 'main' takes {{[0-9]+}} bytes, by estimate, and 1000 were asked for; no plan of whole segments takes a fifth less, so it stays as it is; what it calls is not planned with it: inline the calls first (of StableHLO: python -m mpt.jax --inline FILE)

// RUN: not mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=0.5x client=tpu" 2>&1 | FileCheck %s --check-prefix=CLIENT
// CLIENT: error: mpt-rematerialize: unknown client 'tpu'; expected one of generic, iree, torch-mlir, xla-cpu, xla-gpu
// RUN: not mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=0.5x client=generic" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: mpt-rematerialize: nothing is known that keeps the client 'generic' from undoing it; name an op in barrier
// RUN: not mpt-opt %t/layers.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=0.5x client=iree strategy=optimal" 2>&1 | FileCheck %s --check-prefix=STRATEGY
// STRATEGY: error: mpt-rematerialize: strategy=optimal plans single ops, whose order a client does not keep; use auto, segments or mincut with client=iree
// RUN: not mpt-opt %t/kernel.mlir --mpt-decompose --mpt-fuse-kernels --mpt-rematerialize="budget=0.5x client=xla-cpu" 2>&1 | FileCheck %s --check-prefix=KERNELS
// KERNELS: error: mpt-rematerialize: 'kernel' has kernels, which MPT runs; leave out client=xla-cpu

//--- kernel.mlir
func.func @kernel(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %t = mpt.tanh %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %t : tensor<16x16xf32>
}

//--- two.mlir
func.func @two(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = "stablehlo.dot_general"(%a, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %b : tensor<64x64xf32>
}

//--- complex.py
import re
import sys

text = open(sys.argv[1]).read()
text = re.sub(r'dot_general"\(%t(\d), %m', r'convolution"(%t\1, %m', text)
text = re.sub(r'%t(\d) = "stablehlo.tanh"\(%d(\d)\) : .*',
              r'%c\1 = "stablehlo.complex"(%d\1, %d\1) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xcomplex<f32>>'
              "\n"
              r'  %t\1 = "stablehlo.real"(%c\1) : (tensor<512x64xcomplex<f32>>) -> tensor<512x64xf32>', text)
text = re.sub(r'(  %m([0-8]) = )',
              r'  %e\2 = "stablehlo.imag"(%c\2) : (tensor<512x64xcomplex<f32>>) -> tensor<512x64xf32>' "\n" r'\1', text)
text = re.sub(r'%n([0-8]) = "stablehlo.subtract"\(%w(\d), %g(\d)\) : \((.*)\) ->',
              r'%n\1 = "acme.use"(%w\1, %g\1, %c\1, %e\1) : (\4, tensor<512x64xcomplex<f32>>, tensor<512x64xf32>) ->', text)
print(text)

//--- calls.mlir
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = call @two(%a) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %b : tensor<64x64xf32>
}
func.func private @two(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  return %x : tensor<64x64xf32>
}

//--- layers.mlir
func.func @layers(%x: tensor<512x64xf32>, %w0: tensor<64x64xf32>, %w1: tensor<64x64xf32>, %w2: tensor<64x64xf32>, %w3: tensor<64x64xf32>, %w4: tensor<64x64xf32>, %w5: tensor<64x64xf32>, %w6: tensor<64x64xf32>, %w7: tensor<64x64xf32>, %w8: tensor<64x64xf32>, %w9: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %d0 = "stablehlo.dot_general"(%x, %w0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t0 = "stablehlo.tanh"(%d0) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %d1 = "stablehlo.dot_general"(%t0, %w1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t1 = "stablehlo.tanh"(%d1) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %d2 = "stablehlo.dot_general"(%t1, %w2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t2 = "stablehlo.tanh"(%d2) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %d3 = "stablehlo.dot_general"(%t2, %w3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t3 = "stablehlo.tanh"(%d3) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %d4 = "stablehlo.dot_general"(%t3, %w4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t4 = "stablehlo.tanh"(%d4) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %d5 = "stablehlo.dot_general"(%t4, %w5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t5 = "stablehlo.tanh"(%d5) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %d6 = "stablehlo.dot_general"(%t5, %w6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t6 = "stablehlo.tanh"(%d6) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %d7 = "stablehlo.dot_general"(%t6, %w7) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t7 = "stablehlo.tanh"(%d7) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %d8 = "stablehlo.dot_general"(%t7, %w8) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t8 = "stablehlo.tanh"(%d8) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %d9 = "stablehlo.dot_general"(%t8, %w9) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %t9 = "stablehlo.tanh"(%d9) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %s = "stablehlo.negate"(%t9) : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %q9 = "stablehlo.multiply"(%t9, %t9) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m9 = "stablehlo.multiply"(%s, %q9) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g9 = "stablehlo.dot_general"(%t8, %m9) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n9 = "stablehlo.subtract"(%w9, %g9) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r9 = "stablehlo.dot_general"(%m9, %w9) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %q8 = "stablehlo.multiply"(%t8, %t8) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m8 = "stablehlo.multiply"(%r9, %q8) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g8 = "stablehlo.dot_general"(%t7, %m8) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n8 = "stablehlo.subtract"(%w8, %g8) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r8 = "stablehlo.dot_general"(%m8, %w8) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %q7 = "stablehlo.multiply"(%t7, %t7) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m7 = "stablehlo.multiply"(%r8, %q7) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g7 = "stablehlo.dot_general"(%t6, %m7) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n7 = "stablehlo.subtract"(%w7, %g7) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r7 = "stablehlo.dot_general"(%m7, %w7) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %q6 = "stablehlo.multiply"(%t6, %t6) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m6 = "stablehlo.multiply"(%r7, %q6) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g6 = "stablehlo.dot_general"(%t5, %m6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n6 = "stablehlo.subtract"(%w6, %g6) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r6 = "stablehlo.dot_general"(%m6, %w6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %q5 = "stablehlo.multiply"(%t5, %t5) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m5 = "stablehlo.multiply"(%r6, %q5) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g5 = "stablehlo.dot_general"(%t4, %m5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n5 = "stablehlo.subtract"(%w5, %g5) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r5 = "stablehlo.dot_general"(%m5, %w5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %q4 = "stablehlo.multiply"(%t4, %t4) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m4 = "stablehlo.multiply"(%r5, %q4) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g4 = "stablehlo.dot_general"(%t3, %m4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n4 = "stablehlo.subtract"(%w4, %g4) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r4 = "stablehlo.dot_general"(%m4, %w4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %q3 = "stablehlo.multiply"(%t3, %t3) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m3 = "stablehlo.multiply"(%r4, %q3) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g3 = "stablehlo.dot_general"(%t2, %m3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n3 = "stablehlo.subtract"(%w3, %g3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r3 = "stablehlo.dot_general"(%m3, %w3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %q2 = "stablehlo.multiply"(%t2, %t2) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m2 = "stablehlo.multiply"(%r3, %q2) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g2 = "stablehlo.dot_general"(%t1, %m2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n2 = "stablehlo.subtract"(%w2, %g2) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r2 = "stablehlo.dot_general"(%m2, %w2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %q1 = "stablehlo.multiply"(%t1, %t1) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m1 = "stablehlo.multiply"(%r2, %q1) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g1 = "stablehlo.dot_general"(%t0, %m1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n1 = "stablehlo.subtract"(%w1, %g1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r1 = "stablehlo.dot_general"(%m1, %w1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %q0 = "stablehlo.multiply"(%t0, %t0) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %m0 = "stablehlo.multiply"(%r1, %q0) : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %g0 = "stablehlo.dot_general"(%x, %m0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %n0 = "stablehlo.subtract"(%w0, %g0) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7, %n8, %n9 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

//--- scan.mlir
func.func @scan(%x: tensor<16x16xf32>, %w: tensor<4x16x16xf32>) -> (tensor<16x16xf32>, tensor<4x16x16xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %none = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %stack = "stablehlo.broadcast_in_dim"(%none) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16x16xf32>
  %f:6 = "stablehlo.while"(%w, %zero, %x, %stack, %stack, %stack) ({
  ^bb0(%fw: tensor<4x16x16xf32>, %i: tensor<i32>, %h: tensor<16x16xf32>, %sd: tensor<4x16x16xf32>, %st: tensor<4x16x16xf32>, %sw: tensor<4x16x16xf32>):
    %four = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %more = "stablehlo.compare"(%i, %four) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%fw: tensor<4x16x16xf32>, %i: tensor<i32>, %h: tensor<16x16xf32>, %sd: tensor<4x16x16xf32>, %st: tensor<4x16x16xf32>, %sw: tensor<4x16x16xf32>):
    %o = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %row = "stablehlo.dynamic_slice"(%fw, %i, %o, %o) <{slice_sizes = array<i64: 1, 16, 16>}> : (tensor<4x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %wi = "stablehlo.reshape"(%row) : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %d = "stablehlo.dot_general"(%h, %wi) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %t = "stablehlo.tanh"(%d) : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %d1 = "stablehlo.reshape"(%d) : (tensor<16x16xf32>) -> tensor<1x16x16xf32>
    %sd1 = "stablehlo.dynamic_update_slice"(%sd, %d1, %i, %o, %o) : (tensor<4x16x16xf32>, tensor<1x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x16xf32>
    %t1 = "stablehlo.reshape"(%t) : (tensor<16x16xf32>) -> tensor<1x16x16xf32>
    %st1 = "stablehlo.dynamic_update_slice"(%st, %t1, %i, %o, %o) : (tensor<4x16x16xf32>, tensor<1x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x16xf32>
    %w1 = "stablehlo.reshape"(%wi) : (tensor<16x16xf32>) -> tensor<1x16x16xf32>
    %sw1 = "stablehlo.dynamic_update_slice"(%sw, %w1, %i, %o, %o) : (tensor<4x16x16xf32>, tensor<1x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x16xf32>
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%fw, %next, %t, %sd1, %st1, %sw1) : (tensor<4x16x16xf32>, tensor<i32>, tensor<16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> ()
  }) : (tensor<4x16x16xf32>, tensor<i32>, tensor<16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> (tensor<4x16x16xf32>, tensor<i32>, tensor<16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>)
  %b:6 = "stablehlo.while"(%zero, %f#2, %f#3, %f#4, %f#5, %stack) ({
  ^bb0(%j: tensor<i32>, %g: tensor<16x16xf32>, %rd: tensor<4x16x16xf32>, %rt: tensor<4x16x16xf32>, %rw: tensor<4x16x16xf32>, %dw: tensor<4x16x16xf32>):
    %four = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %more = "stablehlo.compare"(%j, %four) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%j: tensor<i32>, %g: tensor<16x16xf32>, %rd: tensor<4x16x16xf32>, %rt: tensor<4x16x16xf32>, %rw: tensor<4x16x16xf32>, %dw: tensor<4x16x16xf32>):
    %o = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %three = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %k = "stablehlo.subtract"(%three, %j) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %rd1 = "stablehlo.dynamic_slice"(%rd, %k, %o, %o) <{slice_sizes = array<i64: 1, 16, 16>}> : (tensor<4x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %d = "stablehlo.reshape"(%rd1) : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %rt1 = "stablehlo.dynamic_slice"(%rt, %k, %o, %o) <{slice_sizes = array<i64: 1, 16, 16>}> : (tensor<4x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %t = "stablehlo.reshape"(%rt1) : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %rw1 = "stablehlo.dynamic_slice"(%rw, %k, %o, %o) <{slice_sizes = array<i64: 1, 16, 16>}> : (tensor<4x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %wi = "stablehlo.reshape"(%rw1) : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %m = "stablehlo.multiply"(%g, %t) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %a = "stablehlo.dot_general"(%d, %m) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %a1 = "stablehlo.reshape"(%a) : (tensor<16x16xf32>) -> tensor<1x16x16xf32>
    %dw1 = "stablehlo.dynamic_update_slice"(%dw, %a1, %k, %o, %o) : (tensor<4x16x16xf32>, tensor<1x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x16xf32>
    %g1 = "stablehlo.dot_general"(%m, %wi) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %next = "stablehlo.add"(%j, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%next, %g1, %rd, %rt, %rw, %dw1) : (tensor<i32>, tensor<16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> ()
  }) : (tensor<i32>, tensor<16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> (tensor<i32>, tensor<16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>)
  return %b#1, %b#5 : tensor<16x16xf32>, tensor<4x16x16xf32>
}
