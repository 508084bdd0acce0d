// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters=unit-bytes=40000 --mpt-train-step -o %t.mlir
// RUN: mpt-opt %t.mlir --mpt-keep-gathers=budget=10MB | FileCheck %s --check-prefix=ALL
// RUN: mpt-opt %t.mlir --mpt-keep-gathers=budget=150000 | FileCheck %s --check-prefix=LAST
// RUN: mpt-opt %t.mlir --mpt-keep-gathers=budget=50% | FileCheck %s --check-prefix=LAST
// RUN: mpt-opt %t.mlir --mpt-keep-gathers=budget=min | FileCheck %s --check-prefix=LAST
// RUN: mpt-opt %t.mlir --mpt-keep-gathers | FileCheck %s --check-prefix=NONE
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters=unit-bytes=40000 --mpt-train-step --mpt-autocast=type=bf16 --mpt-keep-gathers=budget=10MB --mpt-decompose | FileCheck %s --check-prefix=LOW
// RUN: mpt-opt %s --mpt-autodiff --mpt-accumulate=steps=2 --mpt-data-parallel=size=2 --mpt-shard-parameters=unit-bytes=40000 --mpt-keep-gathers=budget=10MB | FileCheck %s --check-prefix=MICRO
// RUN: mpt-opt %t.mlir --mpt-plan-step=memory-budget=10MB | FileCheck %s --check-prefix=PLAN
// RUN: not mpt-opt %t.mlir --mpt-keep-gathers=budget=much 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: mpt-keep-gathers: expected a budget such as 4GiB, 512MB, 1000, 0.5x, 50% or min, found 'much'

// What was joined for the forward pass is read again; three units are joined once.
// ALL: mpt.all_gather %[[W0:.*]], %{{.*}} {
// ALL: %[[G1:.*]] = mpt.all_gather %[[W1:.*]] {
// ALL: %[[G2:.*]] = mpt.all_gather %[[W2:.*]] {
// ALL-NOT: mpt.all_gather
// ALL: mpt.grad_seed
// ALL: %[[P2:.*]] = mpt.reshape %[[G2]]
// ALL: mpt.matmul %{{.*}}, %[[P2]] {transpose_rhs}
// ALL: %[[P1:.*]] = mpt.reshape %[[G1]]
// ALL: mpt.matmul %{{.*}}, %[[P1]] {transpose_rhs}

// Without room for more, only the last layer's, which would arrive again before the forward
// pass has read it.
// LAST-COUNT-3: mpt.all_gather
// LAST-NOT: mpt.all_gather %arg2
// LAST: mpt.all_gather %arg1
// LAST-NOT: mpt.all_gather

// NONE-COUNT-5: mpt.all_gather
// NONE-NOT: mpt.all_gather

// LOW: mpt.all_gather {{.*}} : (tensor<8192xbf16>, tensor<128xf32>)
// LOW-COUNT-2: mpt.all_gather {{.*}} : (tensor<8192xbf16>)
// LOW-NOT: mpt.all_gather

// MICRO-COUNT-3: mpt.all_gather
// MICRO-NOT: mpt.all_gather

// The bias is joined by a call of its own.
// PLAN-COUNT-4: mpt_program.all_gather
// PLAN-NOT: mpt_program.all_gather

func.func @loss(
    %w0: tensor<128x128xf32> {mpt.name = "w0", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %b0: tensor<128xf32> {mpt.name = "b0", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %w1: tensor<128x128xf32> {mpt.name = "w1", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %w2: tensor<128x128xf32> {mpt.name = "w2", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<64x128xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<64x128xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.linear %x, %w0, %b0 : (tensor<64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  %1 = mpt.gelu %0 : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %2 = mpt.matmul %1, %w1 : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %3 = mpt.gelu %2 : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %4 = mpt.matmul %3, %w2 : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %l = mpt.mse_loss %4, %t : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
