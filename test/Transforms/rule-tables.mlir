// Tables of the user's, and what is wrong with them.
//
// RUN: split-file %s %t
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/acme.yaml" | FileCheck %s
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/acme.yaml" -o %t/once.mlir
// RUN: mpt-opt %t/once.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/acme.yaml" | diff %t/once.mlir -
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-annotate-precision="type=f16 rules=%t/acme.yaml" | FileCheck %s --check-prefix=CLASS
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/key.yaml" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/class.yaml" 2>&1 | FileCheck %s --check-prefix=BADCLASS
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/extends.yaml" 2>&1 | FileCheck %s --check-prefix=EXTENDS
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/missing.yaml" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/nocast.yaml" 2>&1 | FileCheck %s --check-prefix=NOCAST
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="allow=stablehlo.dott" 2>&1 | FileCheck %s --check-prefix=NEAR

// CHECK: %[[X:.*]] = "acme.to"(%arg0) {exact, mpt.autocast} : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK: %[[D:.*]] = "acme.dot"(%[[X]], %[[X]]) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
// CHECK: "acme.to"(%[[D]]) {exact, mpt.autocast} : (tensor<4xbf16>) -> tensor<4xf32>
// CLASS: "acme.dot"({{.*}}) {mpt.precision_class = "deny", mpt.precision_source = "table"}
// KEY: key.yaml:3:{{[0-9]+}}: error: rule table: unknown key 'clas'
// BADCLASS: class.yaml:3:{{[0-9]+}}: error: rule table: unknown class 'maybe'; expected one of allow, deny, infer, clear, stable, fixed
// EXTENDS: error: {{.*}}extends.yaml: extends 'nobody', which has no built-in rule table; there are {{.*}}stablehlo
// MISSING: error: rule table: {{.*}}missing.yaml
// NOCAST: error: no rule table says how 'acme' casts element types; add a table with 'dialect: acme' and 'cast: {op: ...}' by the option 'rules'
// NEAR: error: there is no op 'stablehlo.dott' to put on the list 'allow'; did you mean 'stablehlo.dot'?

//--- in.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %d = "acme.dot"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}

//--- acme.yaml
dialect: acme
cast: {op: to, attributes: "{exact}"}
rules:
- {ops: [dot], class: allow, class-f16: deny}

//--- key.yaml
dialect: acme
rules:
- {ops: [dot], clas: allow}

//--- class.yaml
dialect: acme
rules:
- {ops: [dot], class: maybe}

//--- extends.yaml
dialect: acme
extends: nobody

//--- nocast.yaml
dialect: acme
rules:
- {ops: [dot], class: allow}
