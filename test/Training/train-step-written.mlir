// RUN: mpt-opt %s -mpt-train-step="optimizer=adamw weight-decay=0.1 ema-decay=0.5" | FileCheck %s --check-prefixes=STEP,ADAMW
// RUN: mpt-opt %s -mpt-train-step="optimizer=@half" | FileCheck %s --check-prefixes=STEP,HALF

// The forward pass changes the parameter "w": the optimizer updates what it has made of it, and
// the step has one next value for it. The gradient is that of the function, and statistics, which
// have none, are what the function says.

//  STEP-LABEL: func.func @loss
//   STEP-SAME:   (%[[W:[^:]*]]: tensor<3xf32> {mpt.name = "w", mpt.role = "parameter"}, %[[V:[^:]*]]: tensor<3xf32> {mpt.name = "v", mpt.role = "parameter"}, %[[M:[^:]*]]: tensor<3xf32> {mpt.name = "mean"
//   STEP-SAME:   -> (tensor<f32> {mpt.name = "loss"}, tensor<3xf32> {mpt.name = "mean.next", mpt.updates = "mean"}, tensor<3xf32> {mpt.name = "w", mpt.updates = "w"}
//    STEP-NOT:   w.next
//        STEP:   %[[N:.*]] = mpt.neg %[[W]]
//        STEP:   %[[G:.*]]:2 = mpt.gradients
//       ADAMW:   %[[W1:.*]], %{{.*}}, %{{.*}} = mpt.adamw param(%[[N]]) grad(%[[G]]#0)
//       ADAMW:   %[[V1:.*]], %{{.*}}, %{{.*}} = mpt.adamw param(%[[V]]) grad(%[[G]]#1)
//        HALF:   %[[W1:.*]] = mpt.sub %[[N]], %[[G]]#0
//        HALF:   %[[V1:.*]] = mpt.sub %[[V]], %[[G]]#1
//        STEP:   return %{{[^,]*}}, %[[M]], %[[W1]],{{.*}} %[[V1]],
func.func @loss(%w: tensor<3xf32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<3xf32> {mpt.name = "v", mpt.role = "parameter"},
                %m: tensor<3xf32> {mpt.name = "mean", mpt.role = "running_stat"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<3xf32> {mpt.name = "w.next", mpt.updates = "w"},
        tensor<3xf32> {mpt.name = "mean.next", mpt.updates = "mean"}) {
  %n = mpt.neg %w : (tensor<3xf32>) -> tensor<3xf32>
  %l = mpt.reduce %w {axes = array<i64: 0>, kind = #mpt.reduce_kind<mean>} : (tensor<3xf32>) -> tensor<f32>
  %g:2 = mpt.gradients %n, %v {names = ["w", "v"]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %l, %n, %m : tensor<f32>, tensor<3xf32>, tensor<3xf32>
}

func.func private @half(%w: tensor<3xf32> {mpt.name = "w", mpt.role = "parameter"},
                        %gw: tensor<3xf32> {mpt.name = "grad.w", mpt.role = "input"},
                        %v: tensor<3xf32> {mpt.name = "v", mpt.role = "parameter"},
                        %gv: tensor<3xf32> {mpt.name = "grad.v", mpt.role = "input"})
    -> (tensor<3xf32> {mpt.updates = "w"}, tensor<3xf32> {mpt.updates = "v"}) {
  %a = mpt.sub %w, %gw : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %b = mpt.sub %v, %gv : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %a, %b : tensor<3xf32>, tensor<3xf32>
}
