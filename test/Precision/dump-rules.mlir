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
//
// What MPT's own ops say by a trait is printed as rows too, and as a table it means
// the same: the function below keeps as much memory.
//
// RUN: mpt-opt %s --mpt-dump-rules="dialects=mpt" -o /dev/null 2> %t.mpt.yaml
// RUN: FileCheck %s --check-prefix=TRAITS --implicit-check-not='"accumulate"' --implicit-check-not='"broadcast"' < %t.mpt.yaml
// RUN: mpt-opt %s --mpt-memory-report="function=chain grain=ops" -o /dev/null 2> %t.plain
// RUN: mpt-opt %s --mpt-memory-report="function=chain grain=ops rules=%t.mpt.yaml" -o /dev/null 2> %t.ruled
// RUN: diff %t.plain %t.ruled
// RUN: sed 's/result: elementwise/result: own/' %t.mpt.yaml > %t.own.yaml
// RUN: mpt-opt %s --mpt-memory-report="function=chain grain=ops rules=%t.own.yaml" -o /dev/null 2> %t.owned
// RUN: not diff %t.plain %t.owned

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
// TRAITS: products:
// TRAITS: memory:
// TRAITS: - {ops: ["adam"], result: elementwise}
// TRAITS: - {ops: ["barrier"], result: view}
// TRAITS: - {ops: ["clip_by_global_norm"], result: elementwise}
// TRAITS: - {ops: ["dropout"], result: elementwise}
// TRAITS: - {ops: ["silu"], result: elementwise}
// TRAITS: - {ops: ["where"], result: elementwise}
// TF: keep-if:
// TF-NEXT: - {attribute: device, contains: "CPU:"}
// TF: - {ops: ["BiasAddGrad"], class: infer
// UNKNOWN: error: no built-in rule table of dialect 'nobody', nor is it registered; there are tables of arith,
// PRESENT: dialect: func
// PRESENT: - {ops: ["return"], class: fixed
func.func @f() {
  return
}
func.func private @chain(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = mpt.silu %x : (tensor<64xf32>) -> tensor<64xf32>
  %1 = mpt.exp %0 : (tensor<64xf32>) -> tensor<64xf32>
  %2 = mpt.mul %1, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
