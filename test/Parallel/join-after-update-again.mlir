// What a step joins more than once is dropped in between, and stays cut: the second of three layers
// at stage 3.
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters="prefetch=0 unit-bytes=1" --mpt-train-step=optimizer=adamw --mpt-join-after-update | FileCheck %s

// CHECK: func.func @loss(
// CHECK-SAME: %[[W1:arg[0-9]+]]: tensor<2048xf32> {mpt.name = "shards.1", mpt.role = "parameter", mpt.shards = {axis = "data", blocks = 0 : i64, pieces =
// CHECK-COUNT-2: mpt.all_gather %[[W1]] {
func.func @loss(
    %w0: tensor<32x64xf32> {mpt.name = "w0", mpt.role = "parameter"},
    %w1: tensor<64x32xf32> {mpt.name = "w1", mpt.role = "parameter"},
    %w2: tensor<32x64xf32> {mpt.name = "w2", mpt.role = "parameter"},
    %x: tensor<8x32xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<8xi32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.matmul %x, %w0 : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
  %1 = mpt.tanh %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = mpt.matmul %1, %w1 : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %3 = mpt.tanh %2 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %4 = mpt.matmul %3, %w2 : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
  %loss, %lse = mpt.cross_entropy %4, %t : (tensor<8x64xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  return %loss : tensor<f32>
}
