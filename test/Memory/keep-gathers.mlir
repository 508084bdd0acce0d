// RUN: split-file %s %t
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters=unit-bytes=40000 --mpt-train-step -o %t.mlir
// RUN: mpt-opt %t.mlir --mpt-keep-gathers=budget=10MB | FileCheck %s --check-prefix=ALL
// RUN: mpt-opt %t.mlir --mpt-keep-gathers=budget=min | FileCheck %s --check-prefix=NONE
// RUN: mpt-opt %t.mlir --mpt-keep-gathers | FileCheck %s --check-prefix=NONE
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters="unit-bytes=40000 prefetch=0" --mpt-train-step -o %t.late.mlir
// RUN: mpt-opt %t.late.mlir --mpt-keep-gathers=budget=10MB | FileCheck %s --check-prefix=ALL
// RUN: mpt-opt %t.late.mlir --mpt-keep-gathers=budget=310000 | FileCheck %s --check-prefix=LAST
// RUN: mpt-opt %t.late.mlir --mpt-keep-gathers=budget=120% | FileCheck %s --check-prefix=LAST
// RUN: mpt-opt %t.late.mlir --mpt-keep-gathers=budget=min | FileCheck %s --check-prefix=LATE
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters=unit-bytes=40000 --mpt-train-step --mpt-autocast=type=bf16 --mpt-keep-gathers=budget=10MB --mpt-decompose | FileCheck %s --check-prefix=LOW
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-accumulate=steps=2 --mpt-data-parallel=size=2 --mpt-shard-parameters=unit-bytes=40000 --mpt-keep-gathers=budget=10MB | FileCheck %s --check-prefix=MICRO
// RUN: mpt-opt %t.mlir --mpt-plan-step=memory-budget=10MB | FileCheck %s --check-prefix=PLAN
// RUN: mpt-opt %t/gathers.mlir --mpt-keep-gathers=budget=min | FileCheck %s --check-prefix=OUTPUTS
// RUN: mpt-opt %t/gathers.mlir --mpt-keep-gathers=budget=1MB | FileCheck %s --check-prefix=ROOM
// RUN: not mpt-opt %t.mlir --mpt-keep-gathers=budget=much 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not mpt-opt %t/model.mlir --mpt-keep-gathers=budget=much 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: mpt-keep-gathers: expected a budget such as 4GiB, 512MB, 1000, 0.5x, 50% or min, found 'much'

// What was joined for the forward pass is read again; three units are joined once. The
// backward pass joins no biases, and needs none.
// ALL: mpt.all_gather %[[W0:.*]], %{{.*}} {
// ALL: %[[G1:.*]]:2 = mpt.all_gather %[[W1:.*]], %{{.*}} {
// ALL: %[[G2:.*]]:2 = mpt.all_gather %[[W2:.*]], %{{.*}} {
// ALL: %[[P2:.*]] = mpt.reshape %[[G2]]#0
// ALL-NOT: mpt.all_gather
// ALL: mpt.grad_seed
// ALL: mpt.matmul %{{.*}}, %{{.*}} {transpose_rhs}
// ALL: %[[P1:.*]] = mpt.reshape %[[G1]]#0
// ALL: mpt.matmul %{{.*}}, %[[P1]] {transpose_rhs}
// ALL-NOT: mpt.all_gather

// NONE-COUNT-4: mpt.all_gather
// NONE-NOT: mpt.all_gather
// LATE-COUNT-5: mpt.all_gather
// LATE-NOT: mpt.all_gather

// With room for one, the one that is needed again soonest.
// LAST-COUNT-3: mpt.all_gather
// LAST-NOT: mpt.all_gather %arg2
// LAST: mpt.all_gather %arg1
// LAST-NOT: mpt.all_gather

// LOW-COUNT-3: mpt.all_gather {{.*}} : (tensor<8192xbf16>, tensor<128xf32>)
// LOW-NOT: mpt.all_gather

// MICRO-COUNT-3: mpt.all_gather
// MICRO-NOT: mpt.all_gather

// Biases are joined by calls of their own.
// PLAN-COUNT-6: mpt_program.all_gather
// PLAN-NOT: mpt_program.all_gather

// The repetition is dropped where the first results are read behind it, which takes no room
// with any budget. One of them that is not read for so long takes room, and with it a budget.
// OUTPUTS-LABEL: func.func @both
// OUTPUTS-COUNT-1: mpt.all_gather
// OUTPUTS-NOT: mpt.all_gather
// OUTPUTS-LABEL: func.func @one
// OUTPUTS-COUNT-2: mpt.all_gather
// OUTPUTS-LABEL: func.func @apart
// OUTPUTS-COUNT-2: mpt.all_gather
// OUTPUTS-NOT: mpt.all_gather
// OUTPUTS-LABEL: func.func @more
// ROOM-LABEL: func.func @one
// ROOM-COUNT-1: mpt.all_gather
// ROOM-NOT: mpt.all_gather
// Results of several gathers take the place of one; a gather that joins more stays.
// ROOM-LABEL: func.func @apart
// ROOM: %[[A:.*]] = mpt.all_gather %[[W:.*]] {
// ROOM: %[[B:.*]] = mpt.all_gather %[[V:.*]] {
// ROOM-NOT: mpt.all_gather
// ROOM: return %[[A]], %[[B]], %[[B]], %[[A]]
// ROOM-LABEL: func.func @more
// ROOM-COUNT-2: mpt.all_gather
// Each is replaced by the first, not by another that is dropped.
// ROOM-LABEL: func.func @thrice
// ROOM: %[[A:.*]] = mpt.all_gather
// ROOM-NOT: mpt.all_gather
// ROOM: return %[[A]], %[[A]], %[[A]]

//--- model.mlir
func.func @loss(
    %w0: tensor<128x128xf32> {mpt.name = "w0", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %b0: tensor<128xf32> {mpt.name = "b0", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %w1: tensor<128x128xf32> {mpt.name = "w1", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %b1: tensor<128xf32> {mpt.name = "b1", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %w2: tensor<128x128xf32> {mpt.name = "w2", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %b2: tensor<128xf32> {mpt.name = "b2", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<64x128xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<64x128xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.linear %x, %w0, %b0 : (tensor<64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  %1 = mpt.gelu %0 : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %2 = mpt.linear %1, %w1, %b1 : (tensor<64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  %3 = mpt.gelu %2 : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %4 = mpt.linear %3, %w2, %b2 : (tensor<64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  %l = mpt.mse_loss %4, %t : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- gathers.mlir
module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @both(%w: tensor<64xf32>, %v: tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>) {
  %a:2 = mpt.all_gather %w, %v {axis = "data"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>)
  %b:2 = mpt.all_gather %w, %v {axis = "data"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>)
  %0 = mpt.mul %a#0, %b#0 : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  %1 = mpt.mul %a#1, %b#1 : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  return %0, %1 : tensor<128xf32>, tensor<128xf32>
}

func.func @one(%w: tensor<64xf32>, %v: tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>) {
  %a:2 = mpt.all_gather %w, %v {axis = "data"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>)
  %0 = mpt.exp %a#0 : (tensor<128xf32>) -> tensor<128xf32>
  %1 = mpt.tanh %0 : (tensor<128xf32>) -> tensor<128xf32>
  %b:2 = mpt.all_gather %w, %v {axis = "data"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>)
  %2 = mpt.mul %1, %b#0 : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  %3 = mpt.mul %a#1, %b#1 : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  return %2, %3 : tensor<128xf32>, tensor<128xf32>
}

func.func @apart(%w: tensor<64xf32>, %v: tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) {
  %a = mpt.all_gather %w {axis = "data"} : (tensor<64xf32>) -> tensor<128xf32>
  %b = mpt.all_gather %v {axis = "data"} : (tensor<64xf32>) -> tensor<128xf32>
  %c:2 = mpt.all_gather %v, %w {axis = "data"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>)
  return %a, %b, %c#0, %c#1 : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>
}

func.func @more(%w: tensor<64xf32>, %v: tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) {
  %a = mpt.all_gather %w {axis = "data"} : (tensor<64xf32>) -> tensor<128xf32>
  %b:2 = mpt.all_gather %w, %v {axis = "data"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>)
  return %a, %b#0, %b#1 : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>
}

func.func @thrice(%w: tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) {
  %a = mpt.all_gather %w {axis = "data"} : (tensor<64xf32>) -> tensor<128xf32>
  %b = mpt.all_gather %w {axis = "data"} : (tensor<64xf32>) -> tensor<128xf32>
  %c = mpt.all_gather %w {axis = "data"} : (tensor<64xf32>) -> tensor<128xf32>
  return %a, %b, %c : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>
}
}
