// An optimizer that is a function of the module becomes part of the step.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=@update lr-groups=^v$=0.5 clip-norm=1 ema-decay=0.9" | FileCheck %s
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step=optimizer=@update --mpt-loss-scale | FileCheck %s --check-prefix=SCALED

// Ranks that hold parts of parameters cannot carry it out, since it sees whole ones
// (test/Parallel/shard-optimizer-function.mlir has one that does not).
// RUN: not mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=@update 2>&1 | FileCheck %s --check-prefix=SHARDS
// SHARDS: :[[#]]:{{.*}}: error: mpt-train-step: ranks hold parts of "w", but the optimizer '@update' does not update it element by element: 'mpt.matmul' reads more; leave out --mpt-shard-optimizer and --mpt-shard-parameters

// Options of other optimizers are errors.
// RUN: not mpt-opt %s --mpt-train-step="optimizer=@update weight-decay=0.1" 2>&1 | FileCheck %s --check-prefix=UNREAD
// UNREAD: error: mpt-train-step: weight-decay has no meaning with optimizer=@update, which says itself how parameters are updated; remove it
// RUN: not mpt-opt %s --mpt-train-step="optimizer=@update beta1=0.8" 2>&1 | FileCheck %s --check-prefix=BETA1
// BETA1: error: mpt-train-step: beta1 has no meaning with optimizer=@update

func.func @loss(%w: tensor<4x3xf32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<3xf32> {mpt.name = "v", mpt.role = "parameter"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.linear %x, %w, %v : (tensor<8x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// CHECK-NOT: @update
// CHECK:      func.func @loss(%[[W:.*]]: tensor<4x3xf32> {mpt.name = "w", mpt.role = "parameter"}
// CHECK-SAME: %[[STEP:arg[0-9]+]]: tensor<i64> {mpt.init = {kind = "zeros"}, mpt.name = "step"
// CHECK-SAME: %[[LR:arg[0-9]+]]: tensor<f32> {mpt.init = {kind = "constant", value = 1.000000e-03 : f64}, mpt.name = "lr", mpt.role = "schedule"}
// CHECK-SAME: tensor<f32> {mpt.init = {kind = "constant", value = 5.000000e-01 : f64}, mpt.name = "lr.group0", mpt.role = "schedule"}
// CHECK-SAME: %[[SUM:arg[0-9]+]]: tensor<4x3xf32> {mpt.init = #mpt.init<constant {value = 1.000000e-01 : f64}>, mpt.name = "w.sum", mpt.role = "optimizer_state"}
// CHECK-SAME: tensor<3xf32> {mpt.init = {kind = "zeros"}, mpt.name = "v.sum", mpt.role = "optimizer_state"}
// CHECK-SAME: tensor<4x3xf32> {mpt.init = {kind = "zeros"}, mpt.name = "w.ema", mpt.role = "optimizer_state"}
// CHECK-SAME: tensor<4x3xf32> {mpt.name = "w", mpt.updates = "w"}, tensor<4x3xf32> {mpt.name = "w.sum", mpt.updates = "w.sum"}, tensor<3xf32> {mpt.name = "v", mpt.updates = "v"}
// CHECK:      %[[CLIPPED:.*]]:2, %{{.*}} = mpt.clip_by_global_norm
// CHECK:      %[[COUNT:.*]] = mpt.add %[[STEP]], %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK:      %[[SQUARE:.*]] = mpt.mul %[[CLIPPED]]#0, %[[CLIPPED]]#0 {mpt.optimizer, mpt.precision = "f32"}
// CHECK-NEXT: %[[NEWSUM:.*]] = mpt.add %[[SUM]], %[[SQUARE]] {mpt.optimizer, mpt.precision = "f32"}
// What the function says of precision stays.
// CHECK-NEXT: mpt.matmul %[[CLIPPED]]#0, %[[CLIPPED]]#0 {mpt.optimizer, mpt.precision = "low", transpose_rhs}
// CHECK:      mpt.mul %{{.*}}, %[[LR]] {mpt.optimizer, mpt.precision = "f32"}
// CHECK-NEXT: %[[NEW:.*]] = mpt.sub %[[W]], %{{.*}} {mpt.optimizer, mpt.precision = "f32"}
// CHECK-NEXT: mpt.cast %[[COUNT]] {mpt.optimizer, mpt.precision = "f32"} : (tensor<i64>) -> tensor<f32>
// The average is one of the new value.
// CHECK:      mpt.sub %[[NEW]], %{{.*}} {mpt.precision = "f32"}
// CHECK:      return %{{.*}}, %{{.*}}, %[[NEW]], %[[NEWSUM]],

// A step with a gradient that is not finite changes neither parameters nor state.
// SCALED: mpt.sub %[[W:.*]], %{{.*}} {mpt.optimizer, mpt.precision = "f32"} : (tensor<4x3xf32>
// SCALED: mpt.select_state %{{.*}}, %{{.*}}, %{{.*}} : (tensor<i1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
func.func private @update(
    %w: tensor<4x3xf32> {mpt.name = "w", mpt.role = "parameter"},
    %gw: tensor<4x3xf32> {mpt.name = "grad.w", mpt.role = "input"},
    %sw: tensor<4x3xf32> {mpt.name = "w.sum", mpt.role = "optimizer_state", mpt.init = {kind = "constant", value = 0.1}},
    %v: tensor<3xf32> {mpt.name = "v", mpt.role = "parameter"},
    %gv: tensor<3xf32> {mpt.name = "grad.v", mpt.role = "input"},
    %sv: tensor<3xf32> {mpt.name = "v.sum", mpt.role = "optimizer_state"},
    %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"},
    %step: tensor<i64> {mpt.name = "step", mpt.role = "schedule"})
    -> (tensor<4x3xf32> {mpt.updates = "w"}, tensor<4x3xf32> {mpt.updates = "w.sum"},
        tensor<3xf32> {mpt.updates = "v"}, tensor<3xf32> {mpt.updates = "v.sum"}) {
  %square = mpt.mul %gw, %gw : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %sw1 = mpt.add %sw, %square : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %gram = mpt.matmul %gw, %gw {mpt.precision = "low", transpose_rhs} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  %turned = mpt.matmul %gram, %gw : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %dw = mpt.mul %turned, %lr : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %w1 = mpt.sub %w, %dw : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %count = mpt.cast %step : (tensor<i64>) -> tensor<f32>
  %dv = mpt.div %gv, %count : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %v1 = mpt.sub %v, %dv : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %sv1 = mpt.add %sv, %gv : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %w1, %sw1, %v1, %sv1 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
}
