// Rows for composites and custom calls by their names.
// RUN: split-file %s %t
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/acme.yaml" | FileCheck %s
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16" | FileCheck %s --check-prefix=GENERAL
// RUN: mpt-opt %t/composite.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/acme.yaml specialize-calls" | FileCheck %s --check-prefix=JOINED
// RUN: mpt-opt %t/composite.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/acme.yaml" | FileCheck %s --check-prefix=APART
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-dump-rules="rules=%t/acme.yaml" 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/word.yaml" 2>&1 | FileCheck %s --check-prefix=WORD

// A call that has a row of its own takes part; one that has none keeps f32.
// CHECK-LABEL: func.func @calls
// CHECK: "stablehlo.custom_call"(%{{.*}}) <{call_target_name = "acme_gelu"}> : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
// CHECK: "stablehlo.custom_call"(%{{.*}}) <{call_target_name = "other"}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
// GENERAL-LABEL: func.func @calls
// GENERAL: "acme_gelu"}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
// GENERAL: "other"}> : (tensor<16x16xf32>) -> tensor<16x16xf32>

// A composite has the types of its decomposition.
// JOINED: "stablehlo.composite"({{.*}}name = "acme.norm"}> : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
// JOINED: "stablehlo.composite"({{.*}}name = "acme.other"}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
// JOINED: func.func private @norm(%{{.*}}: tensor<16x16xbf16>) -> tensor<16x16xbf16>
// JOINED: func.func private @other(%{{.*}}: tensor<16x16xf32>) -> tensor<16x16xf32>
// APART: "stablehlo.composite"({{.*}}name = "acme.norm"}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
// APART: func.func private @norm(%{{.*}}: tensor<16x16xf32>) -> tensor<16x16xf32>

// DUMP: "composite:acme.norm"
// DUMP: custom_call:acme_gelu
// DUMP: memory:
// DUMP: custom_call:acme_gelu{{.*}}result: elementwise, fusion: single

// WORD: error: {{.*}}fusion

//--- acme.yaml
dialect: stablehlo
rules:
- ops: ["composite:acme.norm"]
  class: infer
  callees: [decomposition]
- ops: ["custom_call:acme_gelu"]
  class: infer
memory:
- {ops: ["custom_call:acme_gelu"], result: elementwise, fusion: single}

//--- word.yaml
dialect: stablehlo
memory:
- {ops: [add], fusion: always}

//--- in.mlir
func.func @calls(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %a = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = "stablehlo.custom_call"(%a) <{call_target_name = "acme_gelu"}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = "stablehlo.dot_general"(%b, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = "stablehlo.custom_call"(%c) <{call_target_name = "other"}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e = "stablehlo.dot_general"(%d, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %e : tensor<16x16xf32>
}

//--- composite.mlir
func.func @composites(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %a = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = "stablehlo.composite"(%a) <{composite_attributes = {}, decomposition = @norm, name = "acme.norm"}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = "stablehlo.dot_general"(%b, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = "stablehlo.composite"(%c) <{composite_attributes = {}, decomposition = @other, name = "acme.other"}> : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e = "stablehlo.dot_general"(%d, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %e : tensor<16x16xf32>
}
func.func private @norm(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %y = "stablehlo.add"(%x, %x) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}
func.func private @other(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %y = "stablehlo.add"(%x, %x) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}
