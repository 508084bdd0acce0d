// A scan becomes a loop whose iteration is planned once.
// RUN: mpt-opt %s --mpt-plan-step --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-plan-step=max-unrolled=1000000 --split-input-file | FileCheck %s --check-prefix=UNROLLED
// UNROLLED-NOT: mpt_program.loop
// RUN: mpt-opt %s --mpt-plan-step=max-unrolled=19 --split-input-file | FileCheck %s
// Slices of 24 bytes are copied for device code.
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_90'" --split-input-file | FileCheck %s --check-prefix=CUDA

// What is carried lies in its result and is updated in place. A slice moves backwards in a
// scan in reverse, in the input as in the output.
// CHECK-LABEL: mpt_program.program @carry
//   CHECK-DAG:   %[[H0:.*]] = mpt_program.buffer <input> 0 {name = "h0"
//   CHECK-DAG:   %[[W:.*]] = mpt_program.buffer <state> 0 {{.*}}name = "w"
//   CHECK-DAG:   %[[H:.*]] = mpt_program.buffer <output> 0 {name = "h"}
//       CHECK:   mpt_program.copy ins(%[[H0]] : memref<4x8xf32>) outs(%[[H]] : memref<4x8xf32>)
//   CHECK-DAG:   %[[M:.*]] = mpt_program.buffer <arena> [[AT:[0-9]+]] : memref<4x8xf32>
//   CHECK-DAG:   %[[FLAT:.*]] = mpt_program.buffer <arena> [[AT]] : memref<32xf32>
//   CHECK-DAG:   %[[X:.*]] = mpt_program.buffer <input> 1 start 2432 strides [-128] : memref<32xf32>
//   CHECK-DAG:   %[[NEXT:.*]] = mpt_program.buffer <output> 0 : memref<32xf32>
//   CHECK-DAG:   %[[HS:.*]] = mpt_program.buffer <output> 2560 strides [-128] : memref<32xf32>
//       CHECK:   mpt_program.loop 20 {
//  CHECK-NEXT:     mpt_program.matmul ins(%[[H]], %[[W]] : {{.*}}) outs(%[[M]]
//  CHECK-NEXT:     mpt_program.launch @{{.*}} ins(%[[FLAT]], %[[X]] : {{.*}}) outs(%[[NEXT]]
//  CHECK-NEXT:     mpt_program.copy ins(%[[NEXT]] : {{.*}}) outs(%[[HS]]
//  CHECK-NEXT: {{^ *[}]$}}
//  CHECK-NEXT: {{^ *[}]$}}
// CUDA-LABEL: mpt_program.program @carry
//       CUDA:   mpt_program.loop 20 {
//  CUDA-NEXT:     mpt_program.matmul
//  CUDA-NEXT:     mpt_program.launch
//  CUDA-NEXT:     mpt_program.copy
//  CUDA-NEXT: {{^ *[}]$}}
func.func @carry(%h0: tensor<4x8xf32> {mpt.name = "h0", mpt.role = "input"},
                %x: tensor<20x4x8xf32> {mpt.name = "x", mpt.role = "input"},
                %w: tensor<8x8xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<4x8xf32> {mpt.name = "h"}, tensor<20x4x8xf32> {mpt.name = "hs"}) {
  %a:2 = mpt.scan 20 reverse carry(%h0 : tensor<4x8xf32>) over(%x : tensor<20x4x8xf32>) {
  ^bb0(%h: tensor<4x8xf32>, %e: tensor<4x8xf32>):
    %m = mpt.matmul %h, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %n = mpt.add %m, %e : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = mpt.tanh %n : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpt.yield %t, %t : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32>, tensor<20x4x8xf32>
  return %a#0, %a#1 : tensor<4x8xf32>, tensor<20x4x8xf32>
}

// -----

// State that the scan carries is updated where it lies, without a copy. Zeros are filled in.
// CHECK-LABEL: mpt_program.program @state
//   CHECK-DAG:   %[[S:.*]] = mpt_program.buffer <state> 0 {{.*}}name = "s"
//   CHECK-DAG:   %[[SUM:.*]] = mpt_program.buffer <output> 0 {name = "sum"}
//       CHECK:   mpt_program.fill outs(%[[SUM]] : memref<8xf32>)
//   CHECK-NOT:   mpt_program.copy
//       CHECK:   mpt_program.loop 30 {
//  CHECK-NEXT:     mpt_program.launch @{{.*}} ins(%[[S]], %{{.*}}, %[[SUM]] : {{.*}}) outs(%[[S]], %[[SUM]] :
//  CHECK-NEXT: {{^ *[}]$}}
//   CHECK-NOT:   mpt_program.copy
func.func @state(%s: tensor<8xf32> {mpt.name = "s", mpt.role = "optimizer_state", mpt.init = {kind = "zeros"}},
                 %x: tensor<30x8xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<8xf32> {mpt.name = "new_s", mpt.updates = "s"}, tensor<8xf32> {mpt.name = "sum"}) {
  %zero = mpt.constant dense<0.0> : tensor<8xf32>
  %a:2 = mpt.scan 30 carry(%s, %zero : tensor<8xf32>, tensor<8xf32>) over(%x : tensor<30x8xf32>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>, %e: tensor<8xf32>):
    %n = mpt.add %c, %e : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %m = mpt.add %d, %n : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    mpt.yield %n, %m : tensor<8xf32>, tensor<8xf32>
  } : tensor<8xf32>, tensor<8xf32>
  return %a#0, %a#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A loop in a loop: slices of slices have two strides. Short loops inside are unrolled. The
// matmul's weight is the same in all.
// CHECK-LABEL: mpt_program.program @nested
//   CHECK-DAG:   mpt_program.buffer <input> 0 start {{[0-9]+}} strides [2400, -96] : memref<24xf32>
//   CHECK-DAG:   mpt_program.buffer <output> {{[0-9]+}} strides [2400, -96] : memref<24xf32>
//       CHECK:   mpt_program.loop 20 {
//       CHECK:     mpt_program.loop 25 {
//       CHECK: {{^ *[}]$}}
//       CHECK: {{^ *[}]$}}
func.func @nested(%x: tensor<20x25x3x8xf32> {mpt.name = "x", mpt.role = "input"},
                  %w: tensor<8x8xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<20x25x3x8xf32> {mpt.name = "y"}) {
  %zero = mpt.constant dense<0.0> : tensor<3x8xf32>
  %a:2 = mpt.scan 20 carry(%zero : tensor<3x8xf32>) over(%x : tensor<20x25x3x8xf32>) {
  ^bb0(%c: tensor<3x8xf32>, %e: tensor<25x3x8xf32>):
    %b:2 = mpt.scan 25 reverse carry(%c : tensor<3x8xf32>) over(%e : tensor<25x3x8xf32>) {
    ^bb0(%d: tensor<3x8xf32>, %f: tensor<3x8xf32>):
      %m = mpt.matmul %d, %w : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
      %n = mpt.add %m, %f : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
      mpt.yield %n, %n : tensor<3x8xf32>, tensor<3x8xf32>
    } : tensor<3x8xf32>, tensor<25x3x8xf32>
    mpt.yield %b#0, %b#1 : tensor<3x8xf32>, tensor<25x3x8xf32>
  } : tensor<3x8xf32>, tensor<20x25x3x8xf32>
  return %a#1 : tensor<20x25x3x8xf32>
}

// -----

// CHECK-LABEL: mpt_program.program @small_slices
//       CHECK:   mpt_program.loop 20 {
//  CHECK-NEXT:     mpt_program.launch
//  CHECK-NEXT: {{^ *[}]$}}
//  CUDA-LABEL: mpt_program.program @small_slices
//   CUDA-DAG:    %[[IN:.*]] = mpt_program.buffer <input> 0 strides [24] : memref<6xf32>
//   CUDA-DAG:    %[[OUT:.*]] = mpt_program.buffer <output> 0 strides [24] : memref<6xf32>
//       CUDA:   mpt_program.loop 20 {
//  CUDA-NEXT:     mpt_program.copy ins(%[[IN]] : memref<6xf32>) outs(%[[A:.*]] : memref<6xf32>)
//  CUDA-NEXT:     mpt_program.launch @{{.*}} ins(%[[A]] : memref<6xf32>) outs(%[[B:.*]] : memref<6xf32>)
//  CUDA-NEXT:     mpt_program.copy ins(%[[B]] : memref<6xf32>) outs(%[[OUT]] : memref<6xf32>)
//  CUDA-NEXT: {{^ *[}]$}}
func.func @small_slices(%x: tensor<20x6xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<20x6xf32> {mpt.name = "y"}) {
  %y = mpt.scan 20 over(%x : tensor<20x6xf32>) {
  ^bb0(%e: tensor<6xf32>):
    %n = mpt.sin %e : (tensor<6xf32>) -> tensor<6xf32>
    mpt.yield %n : tensor<6xf32>
  } : tensor<20x6xf32>
  return %y : tensor<20x6xf32>
}

// -----

// A stacked result takes the bytes of a stacked input that dies at the loop, if an iteration
// reads the slice before it writes the other, or a kernel at the same points.
// CHECK-LABEL: mpt_program.program @stack_in_place
//       CHECK:   %[[C:.*]] = mpt_program.buffer <arena> 2560 : memref<32xf32>
//       CHECK:   %[[E:.*]] = mpt_program.buffer <arena> 0 strides [128] : memref<32xf32>
//       CHECK:   mpt_program.loop 20 {
//  CHECK-NEXT:     mpt_program.launch @{{.*}} ins(%[[C]], %[[E]] : {{.*}}) outs(%[[C]], %[[E]] :
//  CHECK-NEXT: {{^ *[}]$}}
func.func @stack_in_place(%x: tensor<20x4x8xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<20x4x8xf32> {mpt.name = "y"}) {
  %g = mpt.tanh %x : (tensor<20x4x8xf32>) -> tensor<20x4x8xf32>
  %z = mpt.constant dense<0.0> : tensor<4x8xf32>
  %s:2 = mpt.scan 20 carry(%z : tensor<4x8xf32>) over(%g : tensor<20x4x8xf32>) {
  ^bb0(%c: tensor<4x8xf32>, %e: tensor<4x8xf32>):
    %n = mpt.add %c, %e : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = mpt.mul %n, %e : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mpt.yield %n, %t : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32>, tensor<20x4x8xf32>
  %y = mpt.sin %s#1 : (tensor<20x4x8xf32>) -> tensor<20x4x8xf32>
  return %y : tensor<20x4x8xf32>
}

// -----

// Not if the slice is read after that.
// CHECK-LABEL: mpt_program.program @stack_apart
//   CHECK-DAG:   %[[E:.*]] = mpt_program.buffer <arena> 0 strides [128] : memref<32xf32>
//   CHECK-DAG:   %[[T:.*]] = mpt_program.buffer <arena> 2560 strides [128] : memref<32xf32>
//       CHECK:   mpt_program.loop 20 {
//  CHECK-NEXT:     mpt_program.launch @{{.*}} ins(%[[E]] : {{.*}}) outs(%[[T]] :
//  CHECK-NEXT:     mpt_program.matmul
//  CHECK-NEXT: {{^ *[}]$}}
func.func @stack_apart(%x: tensor<20x4x8xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<20x4x8xf32> {mpt.name = "y"}) {
  %g = mpt.tanh %x : (tensor<20x4x8xf32>) -> tensor<20x4x8xf32>
  %s:2 = mpt.scan 20 over(%g : tensor<20x4x8xf32>) {
  ^bb0(%e: tensor<4x8xf32>):
    %t = mpt.exp %e : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %m = mpt.matmul %e, %t {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    mpt.yield %t, %m : tensor<4x8xf32>, tensor<4x4xf32>
  } : tensor<20x4x8xf32>, tensor<20x4x4xf32>
  %q = mpt.matmul %s#1, %s#0 : (tensor<20x4x4xf32>, tensor<20x4x8xf32>) -> tensor<20x4x8xf32>
  return %q : tensor<20x4x8xf32>
}
