// On GPUs, too, a bucket of gradients is exchanged beside the rest of the backward pass. What adds
// its parts is a launch right before the next exchange.
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=2 bucket-bytes=50000" --mpt-train-step="optimizer=sgd" --mpt-plan-step="target=cuda function=loss" | grep -v mpt_program.buffer | FileCheck %s

// CHECK: mpt_program.program @loss
// CHECK: mpt_program.all_to_all ins(%[[SENT:.*]] : memref<20480xf32>) outs(%[[PARTS:.*]] : memref<20480xf32>) {async, ranks = 2 : i64}
// CHECK-NEXT: mpt_program.launch
// CHECK-NEXT: mpt_program.matmul {{.*}} outs(%{{.*}} : memref<128x160xf32>) {transpose_lhs}
// CHECK-NEXT: mpt_program.wait ins(%[[SENT]] : memref<20480xf32>) outs(%[[PARTS]] : memref<20480xf32>)
// CHECK-NEXT: mpt_program.launch @[[ADD:.*]] ins(%[[PARTS]], %[[PARTS]] : memref<20480xf32>, memref<20480xf32>)
// CHECK-NEXT: mpt_program.all_gather
// The last bucket's exchange has nothing beside it, but the join has the counters' kernels.
// CHECK-NEXT: mpt_program.all_to_all {{.*}} {ranks = 2 : i64}
// CHECK-NEXT: mpt_program.launch @[[ADD]]
// CHECK-NEXT: mpt_program.all_gather ins(%[[SUM:.*]] : memref<10240xf32>) {{.*}} {async, ranks = 2 : i64}
// CHECK: mpt_program.launch
// CHECK: mpt_program.wait ins(%[[SUM]] : memref<10240xf32>)
func.func @loss(%w: tensor<128x160xf32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<160x128xf32> {mpt.name = "v", mpt.role = "parameter"},
                %x: tensor<16x128xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.matmul %x, %w : (tensor<16x128xf32>, tensor<128x160xf32>) -> tensor<16x160xf32>
  %a = mpt.tanh %y : (tensor<16x160xf32>) -> tensor<16x160xf32>
  %z = mpt.matmul %a, %v : (tensor<16x160xf32>, tensor<160x128xf32>) -> tensor<16x128xf32>
  %q = mpt.mul %z, %z : (tensor<16x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32>
  %l = mpt.reduce %q {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<16x128xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
