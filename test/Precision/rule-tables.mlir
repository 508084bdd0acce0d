// Tables of the user's, and what is wrong with them.
//
// RUN: split-file %s %t
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/acme.yaml" | FileCheck %s
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/acme.yaml" -o %t/once.mlir
// RUN: mpt-opt %t/once.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/acme.yaml" | diff %t/once.mlir -
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-annotate-precision="type=f16 rules=%t/acme.yaml" | FileCheck %s --check-prefix=CLASS
// RUN: mpt-opt %t/clone.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/clone.yaml" | FileCheck %s --check-prefix=CLONE
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/key.yaml" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/class.yaml" 2>&1 | FileCheck %s --check-prefix=BADCLASS
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/extends.yaml" 2>&1 | FileCheck %s --check-prefix=EXTENDS
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/missing.yaml" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/nocast.yaml" 2>&1 | FileCheck %s --check-prefix=NOCAST
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="allow=stablehlo.dott" 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="deny=gelu" 2>&1 | FileCheck %s --check-prefix=BARE
// BARE: error: there is no op 'gelu' to put on the list 'deny' (option deny); did you mean 'mpt.gelu'?

// Values that are wrong are named by their key.
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/flag.yaml" 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/negative.yaml" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/huge.yaml" 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/nested.yaml" 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/empty.yaml" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/attributes.yaml" 2>&1 | FileCheck %s --check-prefix=ATTRIBUTES
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/castop.yaml" 2>&1 | FileCheck %s --check-prefix=CASTOP
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/pattern.yaml" 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/castpattern.yaml" 2>&1 | FileCheck %s --check-prefix=CASTPATTERN
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/dialect.yaml" 2>&1 | FileCheck %s --check-prefix=DIALECT
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/prefix.yaml" 2>&1 | FileCheck %s --check-prefix=PREFIX
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/alias.yaml" 2>&1 | FileCheck %s --check-prefix=ALIAS
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/directive.yaml" 2>&1 | FileCheck %s --check-prefix=DIRECTIVE
// RUN: not mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/macs.yaml" 2>&1 | FileCheck %s --check-prefix=MACS
// RUN: mpt-opt %t/in.mlir --allow-unregistered-dialect --mpt-autocast="rules=%t/policy.yaml" -o /dev/null 2>&1 | FileCheck %s --check-prefix=POLICY
// ATTRIBUTES: error: rule table: {{.*}}attributes.yaml: cast: attributes '{to = [1}' are not a dictionary such as {saturate = 1 : si64}: expected
// CASTOP: error: rule table: {{.*}}castop.yaml: cast: 'func.return' does not make one value of another
// PATTERN: pattern.yaml:3:{{[0-9]+}}: error: rule table: 'add*' is not an op; a row names each of its ops, patterns are for the lists of a policy
// CASTPATTERN: castpattern.yaml:2:{{[0-9]+}}: error: rule table: 'to*' is not an op; a row names each of its ops, patterns are for the lists of a policy
// DIALECT: dialect.yaml:1:{{[0-9]+}}: error: rule table: 'ac*' is not a dialect; a table is for one
// PREFIX: prefix.yaml:1:{{[0-9]+}}: error: rule table: 'acme.math[' is not a dialect; a table is for one
// ALIAS: alias.yaml:{{[0-9]+}}:{{[0-9]+}}: error: rule table: unknown node kind
// DIRECTIVE: directive.yaml:1:1: error: rule table: the text is no YAML that MPT reads; expected lines of 'key: value'
// MACS: macs.yaml:3:{{[0-9]+}}: error: rule table: macs 'r0 + q3': expected a number, o0, r0, all(..), einsum(..) or maps(..), found 'q3'
// POLICY: warning: rule table: {{.*}}policy.yaml: the table for the policy 'tf-fp61' is not used: that is neither in use nor built in; did you mean 'tf-fp16'?
// FLAG: flag.yaml:3:22: error: rule table: pure: expected true or false, found '3'
// NEGATIVE: negative.yaml:3:{{[0-9]+}}: error: rule table: f32-operands: expected a number from 0, found '-1'
// HUGE: huge.yaml:3:{{[0-9]+}}: error: rule table: f32-results: there is no index 99999999999
// NESTED: nested.yaml:3:{{[0-9]+}}: error: rule table: results: expected a single value
// EMPTY: error: rule table: {{.*}}empty.yaml: there is no table in it; one begins with 'dialect: NAME'
//
// Indices that no op of the row has are warned of, at the op that has most. Rows for
// ops of several arities, and rows that are inherited, are none.
// RUN: mpt-opt %t/index.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 rules=%t/index.yaml" -o /dev/null 2>&1 | FileCheck %s --check-prefix=INDEX --implicit-check-not=warning:
// RUN: mpt-opt %t/index.mlir --allow-unregistered-dialect --mpt-annotate-precision="type=bf16 rules=%t/index.yaml" -o /dev/null 2>&1 | FileCheck %s --check-prefix=INDEX --implicit-check-not=warning:
// INDEX: index.mlir:3:8: warning: mpt-{{.*}}index.yaml: f32-operands: 'acme.add' has no operand 2; it has 2, counted from 0
// INDEX: index.mlir:4:8: warning: mpt-{{.*}}index.yaml: f32-results: 'acme.mul' has no result 1; it has 1, counted from 0

// CHECK: %[[X:.*]] = "acme.to"(%arg0) {exact, mpt.autocast} : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK: %[[D:.*]] = "acme.dot"(%[[X]], %[[X]]) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
// CHECK: "acme.to"(%[[D]]) {exact, mpt.autocast} : (tensor<4xbf16>) -> tensor<4xf32>
// CLASS: "acme.dot"({{.*}}) {mpt.precision_class = "deny", mpt.precision_source = "table"}
// KEY: key.yaml:3:{{[0-9]+}}: error: rule table: unknown key 'clas'
// BADCLASS: class.yaml:3:{{[0-9]+}}: error: rule table: unknown class 'maybe'; expected one of allow, deny, infer, clear, stable, fixed
// EXTENDS: error: {{.*}}extends.yaml: extends 'nobody', which has no built-in rule table; there are {{.*}}stablehlo
// MISSING: error: rule table: {{.*}}missing.yaml
// NOCAST: error: no rule table says how 'acme' casts element types; add a table with 'dialect: acme' and 'cast: {op: ...}' by the option 'rules'
// NEAR: error: there is no op 'stablehlo.dott' to put on the list 'allow' (option allow); did you mean 'stablehlo.dot'?

// What is pure is made once more from the low constant; what has effects stays one op.
// CLONE: "acme.spread"({{.*}}) : (tensor<1xbf16>) -> tensor<4xbf16>
// CLONE-COUNT-1: "acme.log"
// CLONE-NOT: acme.log

//--- clone.mlir
func.func @f() -> tensor<4xf32> {
  %c = "acme.const"() {value = dense<0.5> : tensor<1xf32>} : () -> tensor<1xf32>
  %s = "acme.spread"(%c) : (tensor<1xf32>) -> tensor<4xf32>
  %d = "acme.dot"(%s, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = "acme.log"(%c) : (tensor<1xf32>) -> tensor<4xf32>
  %e = "acme.dot"(%d, %l) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %e : tensor<4xf32>
}

//--- clone.yaml
dialect: acme
cast: {op: to}
constant: {op: const, value: value}
rules:
- {ops: [dot], class: allow}
- {ops: [spread], class: clear, clone: true}
- {ops: [log], class: clear, clone: true, pure: false}

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

//--- index.mlir
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %d = "acme.dot"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %a = "acme.add"(%d, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %m = "acme.mul"(%a, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %n = "acme.norm"(%m) : (tensor<4xf32>) -> tensor<4xf32>
  %o = "acme.norm"(%n, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %z = "bmce.BatchNormalization"(%o) : (tensor<4xf32>) -> tensor<4xf32>
  return %z, %m : tensor<4xf32>, tensor<4xf32>
}
//--- index.yaml
dialect: acme
cast: {op: to}
rules:
- {ops: [dot, add], class: allow, f32-operands: [1, 2]}
- {ops: [mul], class: infer, f32-results: [1]}
- {ops: [norm], class: stable, f32-operands: [1]}
---
dialect: bmce
extends: onnx
//--- flag.yaml
dialect: acme
rules:
- {ops: [dot], pure: 3}
//--- negative.yaml
dialect: acme
rules:
- {ops: [dot], f32-operands: [0, -1]}
//--- huge.yaml
dialect: acme
rules:
- {ops: [dot], f32-results: [99999999999]}
//--- nested.yaml
dialect: acme
rules:
- {ops: [dot], combiners: [{ops: [max], results: [same]}]}
//--- empty.yaml
# nothing
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
//--- attributes.yaml
dialect: acme
cast: {op: convert, attributes: "{to = [1}"}
rules:
- {ops: [dot], class: allow}
//--- castop.yaml
dialect: acme
cast: {op: func.return}
//--- pattern.yaml
dialect: acme
rules:
- {ops: ["add*"], class: allow}
//--- castpattern.yaml
dialect: acme
cast: {op: "to*"}
//--- dialect.yaml
dialect: "ac*"
cast: {op: to}
//--- prefix.yaml
dialect: acme.math[
cast: {op: to}
//--- alias.yaml
**
//--- directive.yaml
%dialect: acme
//--- macs.yaml
dialect: acme
products:
- {ops: [dot], macs: "r0 + q3"}
//--- policy.yaml
dialect: acme
policy: tf-fp61
rules:
- {ops: [dot], class: allow}
