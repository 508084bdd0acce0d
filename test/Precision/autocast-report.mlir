// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16 mixed-results=false explain=(multiply|exponential) summary=%t.txt" -o /dev/null 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=SUMMARY < %t.txt
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-autocast="explain=( " 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="explain=nothing" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-autocast="summary=/nowhere/at/all" 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-autocast="strategy=guess" 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf" 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16 type=bf16" 2>&1 | FileCheck %s --check-prefix=TYPE

// REGEX: error: mpt-autocast: explain: {{.+}}
// NONE: warning: mpt-autocast: explain: no op or location matches 'nothing'
// FILE: error: mpt-autocast: summary: {{.*}}/nowhere/at/all
// STRATEGY: error: mpt-autocast: unknown strategy 'guess'; expected mincut, paint, promote or none
// POLICY: error: unknown policy 'tf'; expected one of apex-O0, {{.*}} tf-bf16, tf-fp16
// TYPE: error: mpt-autocast: the policy 'tf-fp16' is for f16, not for bf16

// CHECK: remark: 'stablehlo.exponential' stays f32: on the deny list (deny by table) [mpt.autocast.denied]
// CHECK: note: 'stablehlo.exponential': allowing it removes 2 casts, 384 bytes, and 1 more op runs low
// CHECK: remark: 'stablehlo.multiply' stays f32: computed from a denied op (infer by table) [mpt.autocast.blocked-by]
// CHECK: note: because of 'stablehlo.exponential', on the deny list [mpt.autocast.denied]
// CHECK: note: 'stablehlo.exponential': allowing it removes 2 casts, 384 bytes, and 1 more op runs low

// SUMMARY: ops in f16: 2, in f32: 2
// SUMMARY: contractions in f16: 2, in f32: 0
// SUMMARY-NEXT: FLOPs of contractions in f16: 512, in f32: 0
// SUMMARY-NEXT: bytes of results in f16: 0.00 MB, in f32: 0.00 MB
// SUMMARY-NEXT: casts to f16: 3, to f32: 2, bytes read and written: 0.00 MB, proved minimum: 0.00 MB
// Four casts of 8x4 elements, one of 4x4: 6 bytes an element and 16384 for each.
// SUMMARY-NEXT: cost of casts: 82784, proved minimum: 82784
// SUMMARY: f32 because on the deny list: 1
// SUMMARY: f32 because computed from a denied op: 1
// SUMMARY: blocker: stablehlo.exponential at {{.*}} keeps 1 in f32
// SUMMARY: on no list: acme.mystery, 1
func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %a = "stablehlo.dot"(%x, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %e = "stablehlo.exponential"(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %m = "stablehlo.multiply"(%e, %x) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %b = "stablehlo.dot"(%m, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %r = "acme.mystery"(%b) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
