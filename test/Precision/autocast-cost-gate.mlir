// With a target a contraction whose casts cost more than it gains stays f32.
//
// RUN: mpt-opt %s --mpt-autocast="type=bf16 target=sm_90" | FileCheck %s --check-prefixes=CHECK,GATE
// RUN: mpt-opt %s --mpt-autocast="type=bf16 target=sm_90 cost-gate=false" | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: mpt-opt %s --mpt-autocast="type=bf16" | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: mpt-opt %s --mpt-autocast="type=bf16 target=sm_90" --mpt-autocast="type=bf16 target=sm_90" > %t
// RUN: mpt-opt %s --mpt-autocast="type=bf16 target=sm_90" | diff - %t
// RUN: mpt-opt %s --mpt-autocast="type=bf16 target=sm_90 explain=mpt.matmul summary=%t.txt" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: FileCheck %s --check-prefix=SUMMARY < %t.txt
// RUN: sed 's/^module {/module attributes {mpt.target = "sm_90"} {/' %s | mpt-opt --mpt-autocast="type=bf16" | FileCheck %s --check-prefixes=CHECK,GATE
// RUN: mpt-opt %s --mpt-autocast="type=bf16 target=sm_90 keep=@large,@behind,@dynamic" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: mpt-opt %s --mpt-autocast="type=bf16 target=sm_90" -o /dev/null 2>&1 | count 0

// NOTHING: warning: mpt-autocast: on sm_90 the casts of every contraction cost more than it gains, so nothing runs in 'bf16'; without a target, or with cost-gate=false, contractions do
// WHY: remark: {{.*}}its casts cost more than the target gains by it
// SUMMARY: f32 because its casts cost more than the target gains by it: 1
module {
// 64^3 multiply-adds take f32's units 8 ns; each cast starts a kernel.
// CHECK-LABEL: func @small
// GATE: mpt.matmul {{.*}}(tensor<64x64xf32>, tensor<64x64xf32>)
// NONE: mpt.matmul {{.*}}(tensor<64x64xbf16>, tensor<64x64xbf16>)
func.func @small(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = mpt.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// 4096^3 take them 2 ms.
// CHECK-LABEL: func @large
// CHECK: mpt.matmul {{.*}}(tensor<4096x4096xbf16>, tensor<4096x4096xbf16>)
func.func @large(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = mpt.matmul %a, %b : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// A small one that reads what is low anyway needs one cast less; here none.
// CHECK-LABEL: func @behind
// CHECK: mpt.matmul {{.*}} -> tensor<4096x4096xbf16>
// CHECK: mpt.matmul {{.*}}(tensor<4096x4096xbf16>, tensor<4096x4096xbf16>)
// CHECK: mpt.matmul {{.*}}(tensor<16x4096xbf16>, tensor<4096x16xbf16>)
func.func @behind(%a: tensor<4096x4096xf32>) -> tensor<16x16xf32> {
  %0 = mpt.matmul %a, %a : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %t = mpt.tanh %0 : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = mpt.matmul %t, %t : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %u = mpt.tanh %1 : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %x = mpt.slice %t {offsets = array<i64: 0, 0>, sizes = array<i64: 16, 4096>, strides = array<i64: 1, 1>} : (tensor<4096x4096xf32>) -> tensor<16x4096xf32>
  %y = mpt.slice %u {offsets = array<i64: 0, 0>, sizes = array<i64: 4096, 16>, strides = array<i64: 1, 1>} : (tensor<4096x4096xf32>) -> tensor<4096x16xf32>
  %2 = mpt.matmul %x, %y : (tensor<16x4096xf32>, tensor<4096x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// A contraction of unknown size is not left out for that.
// CHECK-LABEL: func @dynamic
// CHECK: mpt.matmul {{.*}}(tensor<?x64xbf16>, tensor<64x64xbf16>)
func.func @dynamic(%a: tensor<?x64xf32>, %b: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %0 = mpt.matmul %a, %b : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
}
