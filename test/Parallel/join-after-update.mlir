// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=adamw -o %t.mlir
// RUN: mpt-opt %t.mlir --mpt-join-after-update | FileCheck %s
// RUN: mpt-opt %t.mlir --mpt-join-after-update -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-join-after-update | diff %t.once.mlir -
// RUN: mpt-opt %t.mlir --mpt-join-after-update --mpt-plan-step | FileCheck %s --check-prefix=PROGRAM
// RUN: mpt-opt %t.mlir --mpt-autocast=type=bf16 --mpt-join-after-update | FileCheck %s --check-prefix=LOW
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-train-step --mpt-join-after-update -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE

// The parameter is the shards of both ranks: 17 blocks, one more that is empty, and zeros. Moments
// are the rank's own.
// CHECK: func.func @loss(%[[W:arg[0-9]+]]: tensor<73728xf32>
// CHECK-SAME: blocks = 9 : i64, joined,
// CHECK-SAME: tensor<36864xf32> {{.*}}mpt.name = "shards.0.exp_avg"
// CHECK-NOT: mpt.all_gather %[[W]]
// CHECK: mpt.slice %[[W]] {{.*}}sizes = array<i64: 69632>
// What is updated is this rank's part.
// CHECK: %[[RANK:.*]] = mpt.rank
// CHECK: mpt.gather {{.*}} : (tensor<2x36864xf32>, tensor<1xi64>) -> tensor<1x36864xf32>
// CHECK: mpt.adamw
// CHECK: mpt.all_gather {{.*}} : (tensor<36864xf32>) -> tensor<73728xf32>

// Matmuls read it where it lies, and the exchange at the end writes it there.
// PROGRAM: %[[W:.*]] = mpt_program.buffer <state> 0 {name = "shards.0"
// PROGRAM: %[[W0:.*]] = mpt_program.buffer <state> 0 : memref<272x256xf32>
// PROGRAM: mpt_program.matmul {{.*}}%[[W0]]
// PROGRAM-NOT: mpt_program.copy ins(%[[W0]]
// PROGRAM: mpt_program.all_gather {{.*}} outs(%[[W]] : memref<73728xf32>)

// What matmuls read in half precision stays cut; the bias does not.
// LOW: func.func @loss(%[[W:arg[0-9]+]]: tensor<36864xf32>
// LOW-NOT: joined
// LOW-SAME: %[[B:arg[0-9]+]]: tensor<512xf32>
// LOW-SAME: joined
// LOW: %[[LOW:.*]] = mpt.cast %[[W]] : (tensor<36864xf32>) -> tensor<36864xbf16>
// LOW: mpt.all_gather %[[LOW]]

// NONE: warning: mpt-join-after-update: found nothing to do: there is no parameter that is cut between ranks (--mpt-shard-optimizer) in this module
func.func @loss(
    %w: tensor<272x256xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %b: tensor<256xf32> {mpt.name = "b", mpt.role = "parameter", mpt.decay = true},
    %x: tensor<8x272xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<8xi32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.linear %x, %w, %b : (tensor<8x272xf32>, tensor<272x256xf32>, tensor<256xf32>) -> tensor<8x256xf32>
  %loss, %lse = mpt.cross_entropy %0, %t : (tensor<8x256xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  return %loss : tensor<f32>
}
