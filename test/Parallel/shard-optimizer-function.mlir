// Ranks that hold parts of parameters update them by a function that sees one element at a
// time: each shard as the function updates the first parameter in it.
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer=optimizer=@update --mpt-train-step=optimizer=@update | FileCheck %s
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-parameters=optimizer=@update --mpt-train-step=optimizer=@update | FileCheck %s --check-prefix=THREE
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer=optimizer=@update --mpt-train-step=optimizer=@update --mpt-join-after-update | FileCheck %s --check-prefix=AFTER

// @update does the same to "a" and "b", which are cut together. What it does to "c" has another
// constant, and to "d" another first value of its state; "e" has a scalar of its own.
// CHECK:      func.func @loss
// CHECK-SAME: %[[AB:arg[0-9]+]]: tensor<8192xf32> {mpt.name = "shards.0"
// CHECK-SAME: name = "a"
// CHECK-SAME: name = "b"
// CHECK-SAME: %[[C:arg[0-9]+]]: tensor<4096xf32> {mpt.name = "shards.1"
// CHECK-SAME: name = "c"
// CHECK-SAME: tensor<4096xf32> {mpt.name = "shards.2"
// CHECK-SAME: name = "d"
// CHECK-SAME: tensor<4096xf32> {mpt.name = "shards.3"
// CHECK-SAME: name = "e"
// CHECK-SAME: %[[LR:arg[0-9]+]]: tensor<f32> {{[^%]*}}mpt.name = "lr"
// CHECK-SAME: %[[SUM:arg[0-9]+]]: tensor<8192xf32> {mpt.init = {kind = "zeros"}, mpt.name = "shards.0.sum", mpt.role = "optimizer_state"}
// CHECK-SAME: tensor<4096xf32> {mpt.init = {kind = "zeros"}, mpt.name = "shards.1.sum"
// CHECK-SAME: tensor<4096xf32> {mpt.init = #mpt.init<constant {value = 1.000000e+00 : f64}>, mpt.name = "shards.2.sum"
// CHECK-SAME: %[[COUNT:arg[0-9]+]]: tensor<f32> {mpt.init = {kind = "zeros"}, mpt.name = "e.count", mpt.role = "optimizer_state"}
// CHECK-SAME: -> (tensor<f32> {mpt.name = "loss"}, tensor<8192xf32> {mpt.name = "shards.0", mpt.updates = "shards.0"}, tensor<8192xf32> {mpt.name = "shards.0.sum", mpt.updates = "shards.0.sum"}
// CHECK-SAME: tensor<f32> {mpt.name = "e.count", mpt.updates = "e.count"}
// Parts that differ in their updates alone are joined by one exchange.
// CHECK:      mpt.all_gather %[[AB]], %[[C]], %{{.*}}, %{{.*}} {
// CHECK:      mpt.all_gather %{{[^,]*}} {{.*}} : (tensor<1xf32>) -> tensor<2xf32>
// CHECK-NOT:  mpt.all_gather
// CHECK:      %[[TWO:.*]] = mpt.constant {{.*}}dense<2.000000e+00> : tensor<8192xf32>
// CHECK-NEXT: %[[DOUBLE:.*]] = mpt.mul %{{.*}}, %[[TWO]] {mpt.optimizer, mpt.precision = "f32"} : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
// CHECK-NEXT: %[[NEWSUM:.*]] = mpt.add %[[SUM]], %[[DOUBLE]]
// CHECK-NEXT: %[[D:.*]] = mpt.mul %[[NEWSUM]], %[[LR]] {mpt.optimizer, mpt.precision = "f32"} : (tensor<8192xf32>, tensor<f32>) -> tensor<8192xf32>
// CHECK-NEXT: mpt.sub %[[AB]], %[[D]]
// Nothing is done for "b" by itself.
// CHECK-NOT:  tensor<64x128xf32>{{.*}} -> tensor<64x128xf32>
// CHECK:      mpt.add %[[COUNT]], %{{.*}} {mpt.optimizer, mpt.precision = "f32"} : (tensor<f32>, tensor<f32>) -> tensor<f32>

// The state of "s", which is one number itself, becomes that of a shard: of `lr` and of a constant.
// CHECK:      %[[RATE:.*]] = mpt.broadcast %{{.*}} {mpt.optimizer, mpt.precision = "f32"} : (tensor<f32>) -> tensor<1xf32>
// CHECK:      %[[ONE:.*]] = mpt.broadcast %{{.*}} {mpt.optimizer, mpt.precision = "f32"} : (tensor<f32>) -> tensor<1xf32>

// AFTER-NOT:  mpt.all_gather
// AFTER:      mpt.reduce_scatter
// AFTER:      mpt.all_gather %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {axis = "data"} : (tensor<8192xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>)
// AFTER:      mpt.all_gather %{{[^,]*}} {axis = "data"} : (tensor<1xf32>) -> tensor<2xf32>
// AFTER-NOT:  mpt.all_gather

// THREE: tensor<f32> {mpt.name = "e.count", mpt.updates = "e.count"}
// THREE: mpt.mul %{{.*}}, %{{.*}} {mpt.optimizer, mpt.precision = "f32"} : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>

func.func @loss(%a: tensor<64x128xf32> {mpt.name = "a", mpt.role = "parameter"},
                %b: tensor<64x128xf32> {mpt.name = "b", mpt.role = "parameter"},
                %c: tensor<64x128xf32> {mpt.name = "c", mpt.role = "parameter"},
                %d: tensor<64x128xf32> {mpt.name = "d", mpt.role = "parameter"},
                %e: tensor<64x128xf32> {mpt.name = "e", mpt.role = "parameter"},
                %s: tensor<f32> {mpt.name = "s", mpt.role = "parameter"},
                %x: tensor<8x64xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %ab = mpt.add %a, %b : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %cd = mpt.add %c, %d : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %cde = mpt.add %cd, %e : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %all = mpt.add %ab, %cde : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %xs = mpt.mul %x, %s : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %y = mpt.matmul %xs, %all : (tensor<8x64xf32>, tensor<64x128xf32>) -> tensor<8x128xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x128xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

func.func private @update(
    %a: tensor<64x128xf32> {mpt.name = "a", mpt.role = "parameter"},
    %b: tensor<64x128xf32> {mpt.name = "b", mpt.role = "parameter"},
    %c: tensor<64x128xf32> {mpt.name = "c", mpt.role = "parameter"},
    %d: tensor<64x128xf32> {mpt.name = "d", mpt.role = "parameter"},
    %e: tensor<64x128xf32> {mpt.name = "e", mpt.role = "parameter"},
    %ga: tensor<64x128xf32> {mpt.name = "grad.a", mpt.role = "input"},
    %gb: tensor<64x128xf32> {mpt.name = "grad.b", mpt.role = "input"},
    %gc: tensor<64x128xf32> {mpt.name = "grad.c", mpt.role = "input"},
    %gd: tensor<64x128xf32> {mpt.name = "grad.d", mpt.role = "input"},
    %ge: tensor<64x128xf32> {mpt.name = "grad.e", mpt.role = "input"},
    %sa: tensor<64x128xf32> {mpt.name = "a.sum", mpt.role = "optimizer_state"},
    %sb: tensor<64x128xf32> {mpt.name = "b.sum", mpt.role = "optimizer_state"},
    %sc: tensor<64x128xf32> {mpt.name = "c.sum", mpt.role = "optimizer_state"},
    %sd: tensor<64x128xf32> {mpt.name = "d.sum", mpt.role = "optimizer_state", mpt.init = {kind = "constant", value = 1.0}},
    %s: tensor<f32> {mpt.name = "s", mpt.role = "parameter"},
    %gs: tensor<f32> {mpt.name = "grad.s", mpt.role = "input"},
    %rate: tensor<f32> {mpt.name = "s.rate", mpt.role = "optimizer_state"},
    %began: tensor<f32> {mpt.name = "s.began", mpt.role = "optimizer_state"},
    %count: tensor<f32> {mpt.name = "e.count", mpt.role = "optimizer_state"},
    %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"})
    -> (tensor<64x128xf32> {mpt.updates = "a"}, tensor<64x128xf32> {mpt.updates = "a.sum"},
        tensor<64x128xf32> {mpt.updates = "b"}, tensor<64x128xf32> {mpt.updates = "b.sum"},
        tensor<64x128xf32> {mpt.updates = "c"}, tensor<64x128xf32> {mpt.updates = "c.sum"},
        tensor<64x128xf32> {mpt.updates = "d"}, tensor<64x128xf32> {mpt.updates = "d.sum"},
        tensor<64x128xf32> {mpt.updates = "e"}, tensor<f32> {mpt.updates = "e.count"},
        tensor<f32> {mpt.updates = "s"}, tensor<f32> {mpt.updates = "s.rate"}, tensor<f32> {mpt.updates = "s.began"}) {
  %one = mpt.constant dense<1.0> : tensor<f32>
  %two0 = mpt.constant dense<2.0> : tensor<f32>
  %two = mpt.constant dense<2.0> : tensor<64x128xf32>
  %three = mpt.constant dense<3.0> : tensor<64x128xf32>
  %a0 = mpt.mul %ga, %two : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %a1 = mpt.add %sa, %a0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %a2 = mpt.mul %a1, %lr : (tensor<64x128xf32>, tensor<f32>) -> tensor<64x128xf32>
  %a3 = mpt.sub %a, %a2 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %b0 = mpt.mul %gb, %two : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %b1 = mpt.add %sb, %b0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %b2 = mpt.mul %b1, %lr : (tensor<64x128xf32>, tensor<f32>) -> tensor<64x128xf32>
  %b3 = mpt.sub %b, %b2 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %c0 = mpt.mul %gc, %three : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %c1 = mpt.add %sc, %c0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %c2 = mpt.mul %c1, %lr : (tensor<64x128xf32>, tensor<f32>) -> tensor<64x128xf32>
  %c3 = mpt.sub %c, %c2 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %d0 = mpt.mul %gd, %two : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %d1 = mpt.add %sd, %d0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %d2 = mpt.mul %d1, %lr : (tensor<64x128xf32>, tensor<f32>) -> tensor<64x128xf32>
  %d3 = mpt.sub %d, %d2 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %next = mpt.add %count, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %e0 = mpt.div %ge, %next : (tensor<64x128xf32>, tensor<f32>) -> tensor<64x128xf32>
  %e1 = mpt.sub %e, %e0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %half = mpt.mul %lr, %two0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s0 = mpt.mul %gs, %rate : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s1 = mpt.sub %s, %s0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %a3, %a1, %b3, %b1, %c3, %c1, %d3, %d1, %e1, %next, %s1, %half, %one : tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
