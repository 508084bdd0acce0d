// What is printed is a table again, and means the same.
//
// RUN: mpt-opt %s --mpt-dump-rules="dialects=stablehlo,tf,torch,tosa" -o /dev/null 2> %t.yaml
// RUN: FileCheck %s < %t.yaml
// RUN: mpt-opt %s --mpt-dump-rules="rules=%t.yaml dialects=stablehlo,tf,torch,tosa" -o /dev/null 2> %t.again.yaml
// RUN: sed 's/ #.*//' %t.yaml > %t.1
// RUN: sed 's/ #.*//' %t.again.yaml | diff %t.1 -
// Names that YAML has other uses for read back as they were, too.
// RUN: echo '"acme.x"() : () -> ()' > %t.mlir
// RUN: mpt-opt %t.mlir --allow-unregistered-dialect --mpt-dump-rules="rules=%S/Inputs/odd-names.yaml" -o /dev/null 2> %t.yaml
// RUN: FileCheck %s --check-prefix=ODD < %t.yaml
// ODD: cast: {op: "acme.my cast", attributes: "{mode = \"x\"}"}
// ODD: - {attribute: "a b", contains: "\""}
// ODD: - {ops: ["a\"b"], class: deny, {{.*}}, element-attributes: ["g: h"], callees: ["e f"]}
// ODD: - {ops: ["c\\d"], class: deny
// RUN: mpt-opt %t.mlir --allow-unregistered-dialect --mpt-dump-rules="rules=%t.yaml" -o /dev/null 2> %t.again.yaml
// RUN: sed 's/ #.*//' %t.yaml > %t.1
// RUN: sed 's/ #.*//' %t.again.yaml | diff %t.1 -
// RUN: mpt-opt %s --mpt-dump-rules="dialects=tf policy=tf-fp16" -o /dev/null 2>&1 | FileCheck %s --check-prefix=TF
// RUN: not mpt-opt %s --mpt-dump-rules="dialects=nobody" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: mpt-opt %s --mpt-dump-rules -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRESENT --implicit-check-not=stablehlo

// CHECK: dialect: stablehlo
// CHECK-NEXT: cast: {op: stablehlo.convert}
// CHECK-NEXT: constant: {op: stablehlo.constant, value: value}
// CHECK: - {ops: ["dot_general"], class: allow, results: wide, reads: same, contraction: true} # stablehlo.yaml
// CHECK: - {ops: ["reduce"], class: deny, results: f32, reads: any, region: combiner, combiners: [{ops: ["maximum",
// CHECK: dialect: tf
// CHECK-NEXT: cast: {op: tf.Cast, attributes: "{Truncate = false}"}
// CHECK: - {ops: ["BiasAddGrad"], class: stable
// CHECK: - {ops: ["FusedBatchNorm"], class: infer, {{.*}}low-name: tf.FusedBatchNormV2
// CHECK: - {ops: ["Mean"], class-f16: deny, class-bf16: infer
// CHECK: cast: {op: torch.aten.to.dtype, form: torch}
// CHECK: - {ops: ["aten.softmax.int"], class: stable, results: same, reads: same, absent-operands: [2]
// CHECK: - {ops: ["clamp"], class: clear, results: same, reads: same, element-attributes: [min_val, max_val]
// TF: keep-if:
// TF-NEXT: - {attribute: device, contains: "CPU:"}
// TF: - {ops: ["BiasAddGrad"], class: infer
// UNKNOWN: error: no built-in rule table of dialect 'nobody', nor is it registered; there are tables of arith,
// PRESENT: dialect: func
// PRESENT: - {ops: ["return"], class: fixed
func.func @f() {
  return
}
