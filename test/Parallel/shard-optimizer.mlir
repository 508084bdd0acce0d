// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer=stage=1 | FileCheck %s --check-prefix=STAGE1
// RUN: mpt-opt %t.mlir --mpt-train-step="optimizer=adamw weight-decay=0.1 clip-norm=1" | FileCheck %s --check-prefix=STEP
// RUN: mpt-opt %t.mlir --mpt-train-step --mpt-loss-scale | FileCheck %s --check-prefix=SCALE
// RUN: mpt-opt %t.mlir --mpt-train-step --mpt-autocast=type=bf16 --mpt-decompose | FileCheck %s --check-prefix=LOW

// Each group of parameters that are alike is an argument: a shard. w has a block on each rank and
// its last 1,408 elements on the first; the bias is on the first.
// CHECK: func.func @loss(%[[W:arg[0-9]+]]: tensor<5504xf32>
// CHECK-SAME: mpt.name = "shards.0", mpt.role = "parameter"
// CHECK-SAME: pieces = array<i64: 0, 0, 0, 4096, 0, 0, 1, 4096, 8192, 0, 0, 0, 8192, 9600, 4096>
// CHECK-SAME: tensors = [{init = #mpt.init<zeros>, name = "w", order = 0 : i64, shape = array<i64: 100, 96>}]
// CHECK-SAME: %[[B:arg[0-9]+]]: tensor<96xf32>
// CHECK-SAME: mpt.decay = true, mpt.name = "shards.1"
// CHECK-SAME: name = "b", order = 1 : i64, shape = array<i64: 96>
// CHECK-NOT: mpt.name = "w"
// CHECK-SAME: %[[X:arg[0-9]+]]: tensor<8x100xf32>

// What the model reads.
// CHECK: %[[ALL:.*]] = mpt.all_gather %[[W]] {{.*}} : (tensor<5504xf32>) -> tensor<11008xf32>
// CHECK: %[[P0:.*]] = mpt.slice %[[ALL]] {{.*}}offsets = array<i64: 0>, sizes = array<i64: 4096>
// CHECK: %[[P1:.*]] = mpt.slice %[[ALL]] {{.*}}offsets = array<i64: 5504>, sizes = array<i64: 4096>
// CHECK: %[[P2:.*]] = mpt.slice %[[ALL]] {{.*}}offsets = array<i64: 4096>, sizes = array<i64: 1408>
// CHECK: %[[FLAT:.*]] = mpt.concat %[[P0]], %[[P1]], %[[P2]]
// CHECK: %[[WHOLE:.*]] = mpt.reshape %[[FLAT]]
// CHECK: mpt.linear %[[X]], %[[WHOLE]], {{.*}}

// Gradients in the order of the shards, with zeros where a shard has no element.
// CHECK: %[[G:.*]] = mpt.concat {{.*}} : (tensor<4096xf32>, tensor<1408xf32>, tensor<4096xf32>, tensor<1408xf32>) -> tensor<11008xf32>
// CHECK: %[[R:.*]]:2 = mpt.reduce_scatter %[[G]], {{.*}}kind = #mpt.collective_kind<mean>
// CHECK-NOT: mpt.all_reduce {{.*}}tensor<100x96xf32>
// CHECK: mpt.gradients %[[R]]#0, %[[R]]#1 {names = ["shards.0", "shards.1"]}

// With stage 1 nothing is exchanged before the backward pass has ended.
// STAGE1: mpt.matmul {{.*}}transpose_lhs
// STAGE1: mpt.reduce {{.*}} -> tensor<96xf32>
// STAGE1: mpt.all_reduce {{.*}} : (tensor<f32>)
// STAGE1: mpt.reduce_scatter
// STAGE1-NEXT: mpt.gradients

// Weight decay is that of the parameters, and the norm of all of them: 2 blocks of w, one of its
// ends, one bias.
// STEP: mpt.all_gather {{.*}} : (tensor<1xf32>, tensor<1408xf32>, tensor<96xf32>) -> (tensor<2xf32>, tensor<2816xf32>, tensor<192xf32>)
// STEP: mpt.sqrt
// STEP: mpt.adamw {{.*}}weight_decay = 1.000000e-01{{.*}} : (tensor<5504xf32>
// STEP: mpt.adamw {{.*}}weight_decay = 1.000000e-01{{.*}} : (tensor<96xf32>

// All ranks skip the same steps.
// SCALE: %[[U:.*]]:2, %[[OK:.*]] = mpt.unscale
// SCALE: %[[BAD:.*]] = mpt.not %[[OK]]
// SCALE: %[[ANY:.*]] = mpt.all_reduce %[[BAD]] {{.*}}kind = #mpt.collective_kind<any>
// SCALE: mpt.not %[[ANY]]

// What matmuls alone read travels in half precision.
// LOW: %[[LOW:.*]] = mpt.cast %arg0 : (tensor<5504xf32>) -> tensor<5504xbf16>
// LOW: mpt.all_gather %[[LOW]] {{.*}} : (tensor<5504xbf16>) -> tensor<11008xbf16>
// LOW: mpt.all_gather %arg1 {{.*}} : (tensor<96xf32>) -> tensor<192xf32>
func.func @loss(
    %w: tensor<100x96xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %b: tensor<96xf32> {mpt.name = "b", mpt.role = "parameter", mpt.decay = true},
    %x: tensor<8x100xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<8xi32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.linear %x, %w, %b : (tensor<8x100xf32>, tensor<100x96xf32>, tensor<96xf32>) -> tensor<8x96xf32>
  %loss, %lse = mpt.cross_entropy %0, %t : (tensor<8x96xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  return %loss : tensor<f32>
}
