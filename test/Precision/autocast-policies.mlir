// Policies as files: moves, places, bases, what is printed is read again; every
// error and warning.
//
// RUN: split-file %s %t
// RUN: mpt-opt %t/in.mlir --mpt-annotate-precision="policy=%t/my.yaml" | FileCheck %s --check-prefix=CLASS
// RUN: mpt-opt %t/in.mlir --mpt-annotate-precision="policy=%t/my.yaml allow=mpt.tanh" | FileCheck %s --check-prefix=OPTION
// RUN: mpt-opt %t/in.mlir --mpt-annotate-precision="remove=mpt.tanh" | FileCheck %s --check-prefix=REMOVE
// RUN: mpt-opt %t/in.mlir --mpt-autocast="policy=%t/my.yaml" | FileCheck %s --check-prefix=CAST
//
// RUN: mpt-opt %t/in.mlir --mpt-dump-policy="policy=%t/my.yaml deny=mpt.sigmoid" -o /dev/null 2> %t/dump.yaml
// RUN: FileCheck %s --check-prefix=DUMP < %t/dump.yaml
// RUN: mpt-opt %t/in.mlir --mpt-dump-policy="policy=%t/dump.yaml" -o /dev/null 2> %t/again.yaml
// RUN: sed -n '/# class/,$p' %t/dump.yaml | cut -d' ' -f1-3 > %t/classes
// RUN: sed -n '/# class/,$p' %t/again.yaml | cut -d' ' -f1-3 | diff %t/classes -
//
// RUN: mpt-opt %t/in.mlir --mpt-dump-policy="type=bf16 reduction-limit=100" -o /dev/null 2> %t/limit.yaml
// RUN: mpt-opt %t/in.mlir --mpt-dump-policy="type=bf16 policy=%t/limit.yaml" -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: bf16-reduction-limit: 100
// A pattern of an option goes before a name of the file, also when read again.
// RUN: mpt-opt %t/in.mlir --mpt-dump-policy="policy=%t/my.yaml clear=mpt.ex*" -o /dev/null 2> %t/covered.yaml
// RUN: mpt-opt %t/in.mlir --mpt-annotate-precision="policy=%t/covered.yaml" | FileCheck %s --check-prefix=COVERED
// What extends another moves its ops once more, which is no conflict when read again.
// RUN: mpt-opt %t/in.mlir --mpt-dump-policy="policy=apex-O3" -o /dev/null 2> %t/o3.yaml
// RUN: mpt-opt %t/in.mlir --mpt-autocast="policy=%t/o3.yaml" -o /dev/null 2>&1 | count 0
//
// RUN: mpt-opt %t/in.mlir --mpt-autocast="deny=mpt.tanh stable=mpt.tanh" 2>&1 | FileCheck %s --check-prefix=CONFLICT
// RUN: mpt-opt %t/in.mlir --mpt-annotate-precision="allow=mpt.tanh deny=mpt.t*" 2>&1 | FileCheck %s --check-prefix=EXACT --implicit-check-not=warning
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=nobody" 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/none.yaml" 2>&1 | FileCheck %s --check-prefix=NOFILE
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/key.yaml" 2>&1 | FileCheck %s --check-prefix=KEY
// What a file names is wrong in that file.
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/lost-base.yaml" 2>&1 | FileCheck %s --check-prefix=BASE
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/target.yaml" 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/rules.yaml" 2>&1 | FileCheck %s --check-prefix=RULES
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/open.yaml" 2>&1 | FileCheck %s --check-prefix=OPEN --implicit-check-not="in 'types'"
// BASE: lost-base.yaml:1:1: error: unknown policy 'nobody'
// TARGET: target.yaml:1:1: error: unknown target 'sm_3'
// RULES: rules.yaml:1:1: error: {{.*}}missing-table.yaml
// OPEN: open.yaml:{{.*}} error:
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/types.yaml" 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: mpt-opt %t/in.mlir --mpt-autocast="keep=@f,@nobody" -o /dev/null 2>&1 | FileCheck %s --check-prefix=KEEP --implicit-check-not=@f
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/class.yaml" 2>&1 | FileCheck %s --check-prefix=NOCLASS
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/ops.yaml" 2>&1 | FileCheck %s --check-prefix=NOOPS --implicit-check-not="needs a"
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/name.yaml" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/place.yaml" 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/round.yaml" 2>&1 | FileCheck %s --check-prefix=ROUND
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/type.yaml" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: %python -c "open(r'%t/latin.yaml', 'wb').write(b'policy: a\\nkeep: [\\'\\xe4\\']\\n')"
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/latin.yaml" 2>&1 | FileCheck %s --check-prefix=LATIN
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=apex-O1 type=bf16" 2>&1 | FileCheck %s --check-prefix=ONLY
// RUN: not mpt-opt %t/attribute.mlir --mpt-autocast 2>&1 | FileCheck %s --check-prefix=ATTRIBUTE
// RUN: not mpt-opt %t/attribute.mlir --mpt-annotate-precision 2>&1 | FileCheck %s --check-prefix=ATTRIBUTE
// Values that are wrong are named by their key.
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/flag.yaml" 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/count.yaml" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/list.yaml" 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/single.yaml" 2>&1 | FileCheck %s --check-prefix=SINGLE
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/empty.yaml" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/keep-regex.yaml" 2>&1 | FileCheck %s --check-prefix=KEEPREGEX
// RUN: not mpt-opt %t/in.mlir --mpt-autocast="policy=%t/mixed.yaml" 2>&1 | FileCheck %s --check-prefix=MIXED
// MIXED: mixed.yaml:1:1: error: policy: unknown mixed-results 'maybe'; expected one of all, matmuls, none, true, false
// FLAG: flag.yaml:2:17: error: policy: fold-constants: expected true or false, found 'maybe'
// COUNT: count.yaml:2:22: error: policy: f16-reduction-limit: expected a number from 0, found '-3'
// LIST: list.yaml:2:7: error: policy: keep: expected a list: [...]
// SINGLE: single.yaml:3:12: error: policy: class: expected a single value
// EMPTY: error: {{.*}}empty.yaml: expected one policy, found 0; it begins with 'policy: NAME'
// KEEPREGEX: keep-regex.yaml:3:1: error: keep: '(' is not a regular expression: {{.+}}
//
// Patterns of a file that match nothing, unless the file says that they may. A place
// that holds none of the moved ops is one all the same.
// RUN: mpt-opt %t/in.mlir --mpt-autocast="policy=%t/unmatched.yaml" -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNMATCHED --implicit-check-not=warning:
// RUN: mpt-opt %t/in.mlir --mpt-annotate-precision="policy=%t/unmatched.yaml" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ANNOTATED --implicit-check-not=warning:
// RUN: cp %t/unmatched.yaml %t/ignored.yaml
// RUN: echo "unmatched: ignore" >> %t/ignored.yaml
// RUN: mpt-opt %t/in.mlir --mpt-autocast="policy=%t/ignored.yaml" -o /dev/null 2>&1 | count 0
// RUN: mpt-opt %t/in.mlir --mpt-dump-policy="policy=%t/ignored.yaml" -o /dev/null 2> %t/ignored-again.yaml
// RUN: mpt-opt %t/in.mlir --mpt-autocast="policy=%t/ignored-again.yaml" -o /dev/null 2>&1 | count 0
// UNMATCHED: unmatched.yaml:4:1: warning: mpt-autocast: keep: 'a\.b' matches no op; it is matched with an op's name, location (file:line, name) and function (@name). 'unmatched: ignore' in this file permits patterns that match nothing
// UNMATCHED: unmatched.yaml:7:1: warning: mpt-autocast: in: '@nobody' matches no op
// ANNOTATED: unmatched.yaml:4:1: warning: mpt-annotate-precision: keep: 'a\.b' matches no op
// ANNOTATED: unmatched.yaml:7:1: warning: mpt-annotate-precision: in: '@nobody' matches no op
//
// RUN: mpt-opt %t/over.mlir --mpt-autocast="type=bf16 keep=@f" | FileCheck %s --check-prefix=OVER

// The file's moves replace those of its base, a place goes before everywhere.
// CLASS-LABEL: func @f
// CLASS: mpt.tanh {{.*}}"deny", mpt.precision_source = "list"
// CLASS: mpt.sigmoid {{.*}}"allow", mpt.precision_source = "list"
// CLASS: mpt.exp {{.*}}"infer", mpt.precision_source = "list"
// CLASS-LABEL: func @g
// CLASS: mpt.tanh {{.*}}"stable", mpt.precision_source = "list"
// An option goes before the file, but not before the file's places.
// OPTION-LABEL: func @f
// OPTION: mpt.tanh {{.*}}"allow"
// OPTION-LABEL: func @g
// OPTION: mpt.tanh {{.*}}"stable"
// REMOVE: mpt.tanh {{.*}}"fixed", mpt.precision_source = "list"
// CAST: mpt.sigmoid {{.*}}f16
// CAST-NOT: bf16

// DUMP: policy: 'mine'
// DUMP-NEXT: extends: mpt
// DUMP-NEXT: types: [f16]
// DUMP-NEXT: strategy: promote
// DUMP: probabilities: [{{.*}}'mpt.softmax'{{.*}}'mpt.sigmoid']
// DUMP: attention: ['mpt.attention'
// DUMP: - class: deny # {{.*}}base.yaml
// DUMP-NEXT: ops: ['mpt.tanh']
// DUMP: - class: stable # {{.*}}my.yaml
// DUMP-NEXT: in: '@g|''x'''
// DUMP: - class: deny # option deny
// DUMP-NEXT: ops: ['mpt.sigmoid']
// DUMP: # class, op, origin
// DUMP: # infer mpt.add op
// DUMP: # infer mpt.exp {{.*}}my.yaml
// DUMP: # deny mpt.sigmoid option deny
// DUMP: # stable mpt.tanh {{.*}}my.yaml, in '@g|'x''

// COVERED: mpt.exp {{.*}}"clear", mpt.precision_source = "list"
// CONFLICT: warning: 'mpt.tanh' is on the list 'deny' (option deny) and on 'stable' (option stable); the latter counts
// A name goes before a pattern, which is no conflict.
// EXACT: mpt.tanh {{.*}}"allow"
// TYPES: types.yaml:1:1: error: policy: expected f16, bf16 or both in 'types'
// KEEP: warning: mpt-autocast: keep: '@nobody' matches no op; it is matched with an op's name, location (file:line, name) and function (@name)
// NOBODY: error: unknown policy 'nobody'; expected one of apex-O0, apex-O1, apex-O2, apex-O3, mpt, tf-bf16, tf-fp16, torch-cpu, torch-cuda, or a file (*.yaml)
// NOFILE: error: policy: {{.*}}none.yaml
// KEY: key.yaml:2:1: error: policy: unknown key 'colour'
// NOCLASS: class.yaml:3:{{.*}}: error: policy: a move needs a 'class'
// NOOPS: ops.yaml:3:{{.*}}: error: policy: missing required key 'ops'
// NAME: name.yaml:3:1: error: there is no op 'mpt.tanhh' to put on the list 'deny' ({{.*}}name.yaml); did you mean 'mpt.tanh'?
// PLACE: place.yaml:3:1: error: {{.*}}place.yaml: in: '(' is not a regular expression
// ROUND: error: policy '{{.*}}round.yaml' extends itself, or through more than 8 others
// TYPE: type.yaml:1:1: error: policy: unknown type 'f17'; expected f16 or bf16
// LATIN: latin.yaml:2:1: error: policy: the text is not UTF-8; save it in that encoding
// ONLY: error: mpt-autocast: the policy 'apex-O1' is for f16, not for bf16
// ATTRIBUTE: attribute.mlir:2:8: error: expected 'mpt.precision' to be "f32" or "low", found "half"
// The op's own attribute goes before a place.
// OVER: mpt.matmul {{.*}}bf16

//--- in.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.sigmoid %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = mpt.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %d = mpt.add %c, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
//--- attribute.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = mpt.tanh %x {mpt.precision = "half"} : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
//--- over.mlir
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = mpt.matmul %x, %x {mpt.precision = "low"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a : tensor<4x4xf32>
}
//--- base.yaml
policy: base
types: [f16]
strategy: promote
moves:
- {class: deny, dialect: mpt, ops: [tanh, exp]}
//--- my.yaml
policy: mine
extends: base.yaml
probabilities: [mpt.sigmoid]
moves:
- {class: infer, ops: [mpt.exp]}
- {class: allow, ops: ["mpt.sig*oid"]}
- {class: stable, in: "@g|'x'", ops: [mpt.tanh]}
//--- lost-base.yaml
policy: mine
extends: nobody
//--- target.yaml
policy: mine
target: sm_3
//--- rules.yaml
policy: mine
rules: [missing-table.yaml]
//--- open.yaml
policy: [
//--- types.yaml
policy: mine
types: []
//--- key.yaml
policy: p
colour: red
//--- class.yaml
policy: p
moves:
- {ops: [mpt.exp]}
//--- ops.yaml
policy: p
moves:
- {class: deny}
//--- mixed.yaml
policy: p
mixed-results: maybe
//--- flag.yaml
policy: p
fold-constants: maybe
//--- count.yaml
policy: p
f16-reduction-limit: -3
//--- list.yaml
policy: p
keep: abc
//--- single.yaml
policy: p
moves:
- {class: [deny], ops: [mpt.exp]}
//--- empty.yaml
# nothing
//--- keep-regex.yaml
policy: p
keep: [
"("]
//--- unmatched.yaml
policy: p
keep:
- "@f"
- "a\\.b"
moves:
- {class: deny, in: "@f", ops: [mpt.matmul]}
- {class: deny, in: "@nobody", ops: [mpt.tanh]}
- {class: deny, in: "@nobody", ops: [mpt.exp]}
//--- name.yaml
policy: p
moves:
- {class: deny, ops: [mpt.tanhh]}
//--- place.yaml
policy: p
moves:
- {class: deny, in: "(", ops: [mpt.tanh]}
//--- round.yaml
policy: p
extends: round.yaml
//--- type.yaml
policy: p
types: [f17]
