// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=3 shared=mask" | FileCheck %s
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=1" | FileCheck %s --check-prefix=ONE
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=3 shared=mask bucket-bytes=24" | FileCheck %s --check-prefix=SMALL
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=3 shared=mask bucket-bytes=23" | FileCheck %s --check-prefix=SPLIT
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=3 axis=rows shared=mask order=library wire=bf16" | FileCheck %s --check-prefix=OPTIONS
// RUN: mpt-opt %s --mpt-autodiff --mpt-accumulate="steps=2 shared=mask" --mpt-data-parallel="size=3 shared=mask" | FileCheck %s --check-prefix=WINDOW
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=3 shared=mask" --mpt-train-step --mpt-master-weights --mpt-loss-scale --mpt-validate-loss-scale --mpt-autocast="type=f16" --cse --canonicalize | FileCheck %s --check-prefix=STEP

// One rank exchanges nothing.
// ONE-NOT: mpt.mesh
// ONE-NOT: mpt.all_
// ONE-NOT: mpt.rank

// Random numbers of rank r are draw attempt * 3 + r.
// CHECK: module attributes {mpt.mesh = #mpt.mesh<data = 3>}
// CHECK: func.func @loss(
// CHECK-SAME: %[[S:[^:]*]]: tensor<f32> {mpt.name = "seen"
// CHECK-SAME: %[[ATTEMPT:[^:]*]]: tensor<i64> {mpt.name = "attempt"
// CHECK-SAME: tensor<8x4xf16> {mpt.name = "x"
// CHECK-SAME: -> (tensor<f32> {mpt.name = "loss"}, tensor<f32> {mpt.name = "seen", mpt.updates = "seen"}, tensor<i32> {mpt.name = "count"}, tensor<24x2xf32> {mpt.name = "rows"}, tensor<i1> {mpt.name = "large"}, tensor<f32> {mpt.name = "norm"}, tensor<4x2xf32> {mpt.name = "grad.w"}, tensor<2xf32> {mpt.name = "grad.b"})
// CHECK-DAG: %[[THREE:.*]] = mpt.constant dense<3> : tensor<i64>
// CHECK-DAG: %[[FIRST:.*]] = mpt.mul %[[ATTEMPT]], %[[THREE]]
// CHECK-DAG: %[[RANK:.*]] = mpt.rank {axis = "data"}
// CHECK: %[[DRAW:.*]] = mpt.add %[[FIRST]], %[[RANK]]
// CHECK: mpt.dropout %{{.*}}, %{{.*}}, %[[DRAW]]
// CHECK: %[[NORM:.*]] = mpt.reduce %{{.*}} {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<2xf32>) -> tensor<f32>
// Both gradients, as soon as the second is there.
// CHECK: %[[DW:.*]] = mpt.matmul {{.*}} -> tensor<4x2xf16>
// CHECK-NEXT: %[[G:.*]]:2 = mpt.all_reduce %{{.*}}, %[[DW]] {axis = "data", kind = #mpt.collective_kind<mean>} : (tensor<2xf32>, tensor<4x2xf16>) -> (tensor<2xf32>, tensor<4x2xf32>)
// CHECK: %[[LOSS:.*]] = mpt.all_reduce %[[L:.*]] {axis = "data", kind = #mpt.collective_kind<mean>} : (tensor<f32>) -> tensor<f32>
// CHECK: %[[COUNT:.*]] = mpt.all_reduce %{{.*}} {axis = "data"} : (tensor<i32>) -> tensor<i32>
// CHECK: %[[LARGE:.*]] = mpt.all_reduce %{{.*}} {axis = "data", kind = #mpt.collective_kind<any>} : (tensor<i1>) -> tensor<i1>
// Rows of the result are joined, and so is what each rank adds to the state, in f32.
// CHECK: %[[ROWS:.*]] = mpt.all_gather %{{.*}} {axis = "data"} : (tensor<8x2xf32>) -> tensor<24x2xf32>
// CHECK: %[[ADDED:.*]] = mpt.reshape %[[L]] : (tensor<f32>) -> tensor<1xf32>
// CHECK: %[[ALL:.*]] = mpt.all_gather %[[ADDED]] {axis = "data", mpt.precision = "f32"} : (tensor<1xf32>) -> tensor<3xf32>
// CHECK: %[[SLICE0:.*]] = mpt.slice %[[ALL]] {offsets = array<i64: 0>
// CHECK: %[[L0:.*]] = mpt.reshape %[[SLICE0]]
// CHECK: %[[S1:.*]] = mpt.add %[[S]], %[[L0]]
// CHECK: %[[SLICE1:.*]] = mpt.slice %[[ALL]] {offsets = array<i64: 1>
// CHECK: %[[L1:.*]] = mpt.reshape %[[SLICE1]]
// CHECK: %[[S2:.*]] = mpt.add %[[S1]], %[[L1]]
// CHECK: %[[SLICE2:.*]] = mpt.slice %[[ALL]] {offsets = array<i64: 2>
// CHECK: %[[L2:.*]] = mpt.reshape %[[SLICE2]]
// CHECK: %[[S3:.*]] = mpt.add %[[S2]], %[[L2]]
// CHECK: %[[M:.*]]:2 = mpt.gradients %[[G]]#1, %[[G]]#0 {names = ["w", "b"]}
// What no data reaches is the same on all ranks.
// CHECK: return %[[LOSS]], %[[S3]], %[[COUNT]], %[[ROWS]], %[[LARGE]], %[[NORM]], %[[M]]#0, %[[M]]#1

// 8 and 16 bytes fit in one bucket of 24, but not in one of 23.
// SMALL: mpt.all_reduce {{.*}} : (tensor<2xf32>, tensor<4x2xf16>)
// SPLIT: %[[DB:.*]] = mpt.reduce {{.*}} -> tensor<2xf32>
// SPLIT-NEXT: mpt.all_reduce %[[DB]] {{.*}} : (tensor<2xf32>) -> tensor<2xf32>
// SPLIT: %[[DW:.*]] = mpt.matmul
// SPLIT-NEXT: mpt.all_reduce %[[DW]] {{.*}} : (tensor<4x2xf16>) -> tensor<4x2xf32>

// OPTIONS: mpt.mesh = #mpt.mesh<rows = 3>
// OPTIONS: mpt.all_reduce {{.*}} {axis = "rows", kind = #mpt.collective_kind<mean>, order = #mpt.collective_order<library>, wire = bf16} : (tensor<2xf32>, tensor<4x2xf16>)
// Losses and counts travel as they are.
// OPTIONS: mpt.all_reduce {{.*}} {axis = "rows", kind = #mpt.collective_kind<mean>, order = #mpt.collective_order<library>} : (tensor<f32>)

// One exchange for a window of two micro-batches, whose draws are those of 3 x 2.
// WINDOW: %[[FIRST:.*]] = mpt.mul %{{.*}}, %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i64>
// WINDOW: %[[DRAW:.*]] = mpt.add %[[FIRST]], %{{.*}}
// WINDOW: mpt.mul %[[DRAW]]
// WINDOW-NOT: mpt.all_reduce
// WINDOW: mpt.accumulate
// WINDOW-COUNT-1: mpt.all_reduce {{.*}} : (tensor<4x2xf32>, tensor<2xf32>)
// WINDOW-NOT: mpt.all_reduce {{.*}}tensor<4x2xf32>
// WINDOW: mpt.all_gather {{.*}} : (tensor<16x2xf32>) -> tensor<48x2xf32>
// WINDOW: mpt.all_gather {{.*}} : (tensor<1xf32>, tensor<1xf32>) -> (tensor<3xf32>, tensor<3xf32>)

// Whatever else the step does comes after, on averages; sums stay f32.
// STEP: mpt.scale_loss
// STEP: mpt.all_reduce {{.*}} : (tensor<2xf32>, tensor<4x2xf16>) -> (tensor<2xf32>, tensor<4x2xf32>)
// STEP-NOT: mpt.adamw
// STEP: mpt.all_gather
// STEP: mpt.unscale
// STEP: mpt.adamw
// STEP-NOT: mpt.all_
func.func @loss(%w: tensor<4x2xf16> {mpt.name = "w", mpt.role = "parameter"},
                %b: tensor<2xf32> {mpt.name = "b", mpt.role = "parameter"},
                %s: tensor<f32> {mpt.name = "seen", mpt.role = "running_stat"},
                %seed: tensor<i64> {mpt.name = "seed", mpt.role = "rng"},
                %attempt: tensor<i64> {mpt.name = "attempt", mpt.role = "rng"},
                %x: tensor<8x4xf16> {mpt.name = "x", mpt.role = "input"},
                %mask: tensor<8x1xf32> {mpt.name = "mask", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<f32> {mpt.name = "seen", mpt.updates = "seen"},
        tensor<i32> {mpt.name = "count"}, tensor<8x2xf32> {mpt.name = "rows"},
        tensor<i1> {mpt.name = "large"}, tensor<f32> {mpt.name = "norm"}) {
  %d, %kept = mpt.dropout %x, %seed, %attempt {rate = 0.5 : f64, stream = 1 : i64} : (tensor<8x4xf16>, tensor<i64>, tensor<i64>) -> (tensor<8x4xf16>, tensor<8x4xi1>)
  %y = mpt.matmul %d, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf32>
  %u = mpt.add %y, %b : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  %z = mpt.mul %u, %mask : (tensor<8x2xf32>, tensor<8x1xf32>) -> tensor<8x2xf32>
  %l = mpt.reduce %z {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  %s1 = mpt.add %s, %l : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %c = mpt.cast %l : (tensor<f32>) -> tensor<i32>
  %one = mpt.constant dense<1.0> : tensor<f32>
  %large = mpt.compare %l, %one {predicate = #mpt.predicate<gt>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %norm = mpt.reduce %b {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %l, %s1, %c, %z, %large, %norm : tensor<f32>, tensor<f32>, tensor<i32>, tensor<8x2xf32>, tensor<i1>, tensor<f32>
}
