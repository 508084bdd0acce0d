// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters=unit-bytes=40000 -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters="unit-bytes=40000 prefetch=0" | FileCheck %s --check-prefix=LATE
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters="unit-bytes=40000 keep-bytes=-1" | FileCheck %s --check-prefix=KEEP
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters="unit-bytes=40000 prefetch=0 keep-bytes=65535" | FileCheck %s --check-prefix=AGAIN
// RUN: mpt-opt %s --mpt-autodiff --mpt-accumulate=steps=2 --mpt-data-parallel=size=2 --mpt-shard-parameters=unit-bytes=40000 | FileCheck %s --check-prefix=MICRO
// RUN: mpt-opt %t.mlir --mpt-train-step --mpt-autocast=type=bf16 --mpt-decompose | FileCheck %s --check-prefix=LOW
// RUN: mpt-opt %t.mlir --mpt-train-step --mpt-rematerialize=strategy=segments | FileCheck %s --check-prefix=REMAT
// RUN: mpt-opt %t.mlir --mpt-train-step --mpt-plan-step | FileCheck %s --check-prefix=PLAN
// RUN: mpt-opt %t.mlir --mpt-train-step --mpt-plan-step=order=least-peak | FileCheck %s --check-prefix=ORDER
// RUN: mpt-opt %t.mlir --mpt-train-step --mpt-plan-step=order=early-update | FileCheck %s --check-prefix=ORDER
// RUN: not mpt-opt %s --mpt-autodiff --mpt-shard-parameters 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=1 --mpt-shard-parameters 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not mpt-opt %t.mlir --mpt-shard-parameters 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpt-opt %t.mlir --mpt-shard-optimizer 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpt-opt %s --mpt-shard-parameters 2>&1 | FileCheck %s --check-prefix=FORWARD
// RUN: not mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-train-step --mpt-shard-parameters 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not mpt-opt %s --mpt-shard-parameters=unit-bytes=-1 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not mpt-opt %s --mpt-shard-parameters=prefetch=-1 2>&1 | FileCheck %s --check-prefix=PREFETCH
// RUN: not mpt-opt %s --mpt-shard-parameters=keep-bytes=-2 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not mpt-opt %s --mpt-shard-parameters=groups=[ 2>&1 | FileCheck %s --check-prefix=REGEX

// ALONE: mpt-shard-parameters: expected the gradient of "w0" to be averaged over ranks; run --mpt-data-parallel with a size of at least 2 first
// TWICE: expected whole parameters, found "shards.0", which is cut between ranks already; run one of --mpt-shard-optimizer and --mpt-shard-parameters, once
// FORWARD: mpt-shard-parameters: expected one mpt.gradients op, found 0; run --mpt-autodiff first
// STEP: mpt-shard-parameters: expected gradients that are only returned, found a use; run --mpt-shard-parameters before --mpt-train-step
// UNIT: mpt-shard-parameters: expected at least 0 for unit-bytes, found -1
// PREFETCH: mpt-shard-parameters: expected at least 0 for prefetch, found -1
// BYTES: mpt-shard-parameters: expected at least -1 for keep-bytes, found -2
// REGEX: mpt-shard-parameters: groups: '[' is not a regular expression:

// Weights that both ranks have two blocks of are shards by themselves; what one op reads first
// is a unit.
// CHECK: func.func @loss(%[[W0:arg[0-9]+]]: tensor<8192xf32>
// CHECK-SAME: %[[W1:arg[0-9]+]]: tensor<8192xf32>
// CHECK-SAME: %[[W2:arg[0-9]+]]: tensor<8192xf32>
// CHECK-SAME: %[[B0:arg[0-9]+]]: tensor<128xf32>

// A unit arrives while the one before it is computed with. It is read where it arrives.
// CHECK: %[[G0:.*]]:2 = mpt.all_gather %[[W0]], %[[B0]] {{.*}} : (tensor<8192xf32>, tensor<128xf32>)
// CHECK-NEXT: %[[P0:.*]] = mpt.reshape %[[G0]]#0 {{.*}} -> tensor<128x128xf32>
// CHECK-NEXT: %[[Q0:.*]] = mpt.slice %[[G0]]#1 {{.*}} -> tensor<128xf32>
// CHECK-NEXT: %[[G1:.*]] = mpt.all_gather %[[W1]] {
// CHECK-NEXT: mpt.linear %{{.*}}, %[[P0]], %[[Q0]]
// CHECK: %[[P1:.*]] = mpt.reshape %[[G1]]
// CHECK-NEXT: %[[G2:.*]] = mpt.all_gather %[[W2]] {
// CHECK-NEXT: mpt.matmul %{{.*}}, %[[P1]]
// CHECK: %[[P2:.*]] = mpt.reshape %[[G2]]
// CHECK-NEXT: mpt.matmul %{{.*}}, %[[P2]]
// Once more in the backward pass, which does not read the first layer's parameters. The last
// layer's stay: they would arrive again before the forward pass has read them.
// CHECK: mpt.grad_seed
// CHECK-NOT: mpt.all_gather %[[W2]]
// CHECK: %[[A1:.*]] = mpt.all_gather %[[W1]] {
// CHECK-NEXT: mpt.matmul %{{.*}}, %[[P2]] {transpose_rhs}
// Gradients of a unit are cut as soon as they are there, as they lie.
// CHECK-NEXT: %[[D2:.*]] = mpt.matmul {{.*}}transpose_lhs
// CHECK-NEXT: %[[F2:.*]] = mpt.reshape %[[D2]]
// CHECK-NEXT: mpt.reduce_scatter %[[F2]] {{.*}}kind = #mpt.collective_kind<mean>{{.*}} : (tensor<16384xf32>) -> tensor<8192xf32>
// CHECK: %[[R1:.*]] = mpt.reshape %[[A1]]
// CHECK-NOT: mpt.all_gather
// CHECK: mpt.matmul %{{.*}}, %[[R1]] {transpose_rhs}
// CHECK: mpt.reduce_scatter {{.*}} : (tensor<16384xf32>) -> tensor<8192xf32>
// CHECK: mpt.reduce_scatter {{.*}} : (tensor<16384xf32>, tensor<256xf32>) -> (tensor<8192xf32>, tensor<128xf32>)
// CHECK-NOT: mpt.all_reduce {{.*}}128x128

// LATE: mpt.linear
// LATE: %[[G1:.*]] = mpt.all_gather
// LATE-NEXT: %[[P1:.*]] = mpt.reshape %[[G1]]
// LATE-NEXT: mpt.matmul %{{.*}}, %[[P1]]

// Kept, each is joined once. With a byte too few, none is.
// KEEP-COUNT-3: mpt.all_gather
// KEEP-NOT: mpt.all_gather
// AGAIN-COUNT-5: mpt.all_gather
// AGAIN-NOT: mpt.all_gather

// Each micro-batch has two passes, of which the last layer's parameters are joined for both;
// one exchange of gradients is for both micro-batches.
// MICRO-COUNT-8: mpt.all_gather
// MICRO-NOT: mpt.all_gather
// MICRO-COUNT-3: mpt.reduce_scatter
// MICRO-NOT: mpt.reduce_scatter

// What matmuls alone read travels in half precision, both times.
// LOW: mpt.all_gather {{.*}} : (tensor<8192xbf16>, tensor<128xf32>)
// LOW-COUNT-3: mpt.all_gather {{.*}} : (tensor<8192xbf16>) -> tensor<16384xbf16>

// Rematerialization repeats ops, but no exchange.
// REMAT-COUNT-4: mpt.all_gather
// REMAT: mpt.gelu {{.*}}mpt.remat
// REMAT-NOT: mpt.all_gather

// An exchange begins before what it overlaps with, and is waited for after that.
// PLAN: mpt_program.all_gather ins(%{{.*}}) outs(%[[B1:.*]] : memref<16384xf32>) {async
// PLAN: mpt_program.matmul
// PLAN: mpt_program.wait ins(%{{.*}}) outs(%[[B1]] :
// PLAN: mpt_program.matmul

// No order of ops has a unit arrive more than one ahead: two weights and the bias first.
// ORDER-COUNT-3: mpt_program.all_gather
// ORDER-NOT: mpt_program.all_gather
// ORDER: mpt_program.matmul
// ORDER: mpt_program.all_gather
// ORDER: mpt_program.matmul
// ORDER: mpt_program.all_gather

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
