// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd lr=0.5" | FileCheck %s --check-prefixes=STEP,SGD
// RUN: mpt-opt %s -mpt-train-step="optimizer=momentum momentum=0.8" | FileCheck %s --check-prefixes=STEP,MOMENTUM
// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd momentum=0.8" | FileCheck %s --check-prefixes=STEP,MOMENTUM
// RUN: mpt-opt %s -mpt-train-step="optimizer=momentum nesterov=true" | FileCheck %s --check-prefix=NESTEROV
// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd momentum=0.9 nesterov=true" | FileCheck %s --check-prefix=NESTEROV
// RUN: mpt-opt %s -mpt-train-step="optimizer=adam beta1=0.8 beta2=0.75 eps=0.0625" | FileCheck %s --check-prefixes=STEP,ADAM
// RUN: mpt-opt %s -mpt-train-step="optimizer=adamw weight-decay=0.1" | FileCheck %s --check-prefixes=STEP,ADAMW
// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd weight-decay=0.1 decay=all" | FileCheck %s --check-prefix=DECAY-ALL
// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd clip-norm=1.5" | FileCheck %s --check-prefix=CLIP
// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd" | FileCheck %s --check-prefix=NO-CLIP
// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd grad-norm=true" | FileCheck %s --check-prefix=MEASURED
// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd grad-norm=true clip-norm=1.5" | FileCheck %s --check-prefix=CLIP
// RUN: mpt-opt %s -mpt-train-step | FileCheck %s --check-prefix=DEFAULT
// RUN: mpt-opt %s -mpt-train-step="function=half optimizer=adamw" | FileCheck %s --check-prefix=HALF
// RUN: mpt-opt %s -mpt-train-step="function=dropout optimizer=sgd" | FileCheck %s --check-prefix=DROPOUT

// What every optimizer's step has: the gradients are gone from the results,
// parameters are updated in place, steps and attempts are counted, the learning
// rate is an argument.

//   STEP-LABEL: func.func @loss
//    STEP-SAME:   (%[[W:[^:]*]]: tensor<4x3xf32> {mpt.init = {fan_in = 4 : i64, kind = "kaiming_uniform"}, mpt.name = "w", mpt.role = "parameter"}
//    STEP-SAME:   %[[B:[^:]*]]: tensor<3xf32> {mpt.name = "b", mpt.role = "parameter"}
//    STEP-SAME:   %[[E:[^:]*]]: tensor<4x3xf32> {mpt.decay = false, mpt.name = "e", mpt.role = "parameter"}
//    STEP-SAME:   %{{[^:]*}}: tensor<2x4xf32> {mpt.name = "x", mpt.role = "input"}
//    STEP-SAME:   %[[COUNT:[^:]*]]: tensor<i64> {mpt.init = {kind = "zeros"}, mpt.name = "step", mpt.role = "optimizer_state"}
//    STEP-SAME:   %[[ATTEMPT:[^:]*]]: tensor<i64> {mpt.init = {kind = "zeros"}, mpt.name = "attempt", mpt.role = "rng"}
//     SGD-SAME:   %[[LR:[^:]*]]: tensor<f32> {mpt.init = {kind = "constant", value = 5.000000e-01 : f64}, mpt.name = "lr", mpt.role = "schedule"})
// MOMENTUM-SAME:  %[[LR:[^:]*]]: tensor<f32> {mpt.init = {kind = "constant", value = 1.000000e-03 : f64}, mpt.name = "lr", mpt.role = "schedule"}
//    ADAM-SAME:   %[[LR:[^:]*]]: tensor<f32> {{{.*}}mpt.name = "lr"
//   ADAMW-SAME:   %[[LR:[^:]*]]: tensor<f32> {{{.*}}mpt.name = "lr"

// MOMENTUM-SAME:  %[[WB:[^:]*]]: tensor<4x3xf32> {mpt.init = {kind = "zeros"}, mpt.name = "w.momentum_buffer", mpt.role = "optimizer_state"}
// MOMENTUM-SAME:  %[[BB:[^:]*]]: tensor<3xf32> {mpt.init = {kind = "zeros"}, mpt.name = "b.momentum_buffer", mpt.role = "optimizer_state"}
//    ADAM-SAME:   %[[WM:[^:]*]]: tensor<4x3xf32> {mpt.init = {kind = "zeros"}, mpt.name = "w.exp_avg", mpt.role = "optimizer_state"}
//    ADAM-SAME:   %[[WV:[^:]*]]: tensor<4x3xf32> {mpt.init = {kind = "zeros"}, mpt.name = "w.exp_avg_sq", mpt.role = "optimizer_state"}
//    ADAM-SAME:   %[[BM:[^:]*]]: tensor<3xf32> {{{.*}}mpt.name = "b.exp_avg", mpt.role = "optimizer_state"}
//    ADAM-SAME:   %[[BV:[^:]*]]: tensor<3xf32> {{{.*}}mpt.name = "b.exp_avg_sq", mpt.role = "optimizer_state"}

//    STEP-SAME:   -> (tensor<f32> {mpt.name = "loss"}, tensor<2x3xf32> {mpt.name = "prediction"}, tensor<4x3xf32> {mpt.name = "w", mpt.updates = "w"}
// MOMENTUM-SAME:  tensor<4x3xf32> {mpt.name = "w.momentum_buffer", mpt.updates = "w.momentum_buffer"}
//    ADAM-SAME:   tensor<4x3xf32> {mpt.name = "w.exp_avg", mpt.updates = "w.exp_avg"}, tensor<4x3xf32> {mpt.name = "w.exp_avg_sq", mpt.updates = "w.exp_avg_sq"}
//    STEP-SAME:   tensor<3xf32> {mpt.name = "b", mpt.updates = "b"}
//    STEP-SAME:   tensor<4x3xf32> {mpt.name = "e", mpt.updates = "e"}
//    STEP-SAME:   tensor<i64> {mpt.name = "step", mpt.updates = "step"}, tensor<i64> {mpt.name = "attempt", mpt.updates = "attempt"})
//     STEP-NOT:   grad.w

//         STEP:   %[[G:.*]]:3 = mpt.gradients {{.*}} {names = ["w", "b", "e"]}
//         STEP:   %[[ONE:.*]] = mpt.constant dense<1> : tensor<i64>
//         STEP:   %[[NEXT:.*]] = mpt.add %[[COUNT]], %[[ONE]]
//         STEP:   %[[TRIED:.*]] = mpt.add %[[ATTEMPT]], %[[ONE]]

//          SGD:   %[[W1:.*]] = mpt.sgd param(%[[W]]) grad(%[[G]]#0) lr(%[[LR]]) :
//          SGD:   %[[B1:.*]] = mpt.sgd param(%[[B]]) grad(%[[G]]#1) lr(%[[LR]]) :
//          SGD:   %[[E1:.*]] = mpt.sgd param(%[[E]]) grad(%[[G]]#2) lr(%[[LR]]) :
//          SGD:   return %{{.*}}, %{{.*}}, %[[W1]], %[[B1]], %[[E1]], %[[NEXT]], %[[TRIED]] :

//     MOMENTUM:   %[[W1:.*]], %[[WB1:.*]] = mpt.sgd param(%[[W]]) grad(%[[G]]#0) lr(%[[LR]]) momentum(%[[WB]]) {momentum = 8.000000e-01 : f64} :
//     MOMENTUM:   %[[B1:.*]], %[[BB1:.*]] = mpt.sgd param(%[[B]]) grad(%[[G]]#1) lr(%[[LR]]) momentum(%[[BB]]) {momentum = 8.000000e-01 : f64} :
//     MOMENTUM:   return %{{.*}}, %{{.*}}, %[[W1]], %[[WB1]], %[[B1]], %[[BB1]], %{{.*}}, %{{.*}}, %[[NEXT]], %[[TRIED]] :

//     NESTEROV:   mpt.sgd {{.*}} {momentum = 9.000000e-01 : f64, nesterov} :

// Adam's t is 1 in the first step.
//         ADAM:   %[[W1:.*]], %[[WM1:.*]], %[[WV1:.*]] = mpt.adam param(%[[W]]) grad(%[[G]]#0) lr(%[[LR]]) moments(%[[WM]], %[[WV]]) step(%[[NEXT]]) {beta1 = 8.000000e-01 : f64, beta2 = 7.500000e-01 : f64, eps = 6.250000e-02 : f64} :
//         ADAM:   %[[B1:.*]], %[[BM1:.*]], %[[BV1:.*]] = mpt.adam param(%[[B]]) grad(%[[G]]#1) lr(%[[LR]]) moments(%[[BM]], %[[BV]]) step(%[[NEXT]])
//         ADAM:   return %{{.*}}, %{{.*}}, %[[W1]], %[[WM1]], %[[WV1]], %[[B1]], %[[BM1]], %[[BV1]],

// Matrices decay, but for the one that says no.
//        ADAMW:   mpt.adamw param(%[[W]]) {{.*}} {weight_decay = 1.000000e-01 : f64} :
//        ADAMW:   mpt.adamw param(%[[B]]) {{[^{]*}} :
//    ADAMW-NOT:   weight_decay
//        ADAMW:   mpt.adamw param(%[[E]]) {{[^{]*}} :
//    ADAMW-NOT:   weight_decay
//        ADAMW:   return

// DECAY-ALL-LABEL: func.func @loss
//    DECAY-ALL:   mpt.sgd {{.*}} {weight_decay = 1.000000e-01 : f64} : (tensor<4x3xf32>
//    DECAY-ALL:   mpt.sgd {{.*}} {weight_decay = 1.000000e-01 : f64} : (tensor<3xf32>
//    DECAY-ALL:   mpt.sgd {{[^{]*}} : (tensor<4x3xf32>

// The norm is that before clipping.
//   CLIP-LABEL: func.func @loss
//    CLIP-SAME:   tensor<f32> {mpt.name = "grad_norm"}
//         CLIP:   %[[G:.*]]:3 = mpt.gradients
//         CLIP:   %[[C:.*]]:3, %[[N:.*]] = mpt.clip_by_global_norm %[[G]]#0, %[[G]]#1, %[[G]]#2 {max_norm = 1.500000e+00 : f64}
//         CLIP:   mpt.sgd param(%{{.*}}) grad(%[[C]]#0)
//         CLIP:   mpt.sgd param(%{{.*}}) grad(%[[C]]#1)
//         CLIP:   mpt.sgd param(%{{.*}}) grad(%[[C]]#2)
//         CLIP:   return %{{.*}}, %{{.*}}, %[[N]],

// The norm alone: nothing is clipped to it.
//   MEASURED-LABEL: func.func @loss
//    MEASURED-SAME:   tensor<f32> {mpt.name = "grad_norm"}
//         MEASURED:   %[[G:.*]]:3 = mpt.gradients
//         MEASURED:   mpt.clip_by_global_norm %[[G]]#0, %[[G]]#1, %[[G]]#2 {max_norm = 0x7FF0000000000000 : f64}
//         MEASURED:   mpt.sgd param(%{{.*}}) grad(%[[G]]#0)

// NO-CLIP-LABEL: func.func @loss
//   NO-CLIP-NOT:   grad_norm
//   NO-CLIP-NOT:   mpt.clip_by_global_norm

//      DEFAULT:   mpt.adamw

func.func @loss(%w: tensor<4x3xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 4}},
                %b: tensor<3xf32> {mpt.name = "b", mpt.role = "parameter"},
                %e: tensor<4x3xf32> {mpt.name = "e", mpt.role = "parameter", mpt.decay = false},
                %x: tensor<2x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<4x3xf32> {mpt.name = "grad.w"},
        tensor<3xf32> {mpt.name = "grad.b"}, tensor<4x3xf32> {mpt.name = "grad.e"},
        tensor<2x3xf32> {mpt.name = "prediction"}) {
  %p = mpt.linear %x, %w, %b : (tensor<2x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %l = mpt.reduce %p {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %g:3 = mpt.gradients %w, %b, %e {names = ["w", "b", "e"]} : (tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>)
  return %l, %g#0, %g#1, %g#2, %p : tensor<f32>, tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<2x3xf32>
}

// The state of a parameter stored in half precision is f32.
// HALF-LABEL: func.func @half
//  HALF-SAME:   tensor<4xf32> {{{[^}]*}}}, mpt.name = "w.exp_avg", mpt.role = "optimizer_state"}
//  HALF-SAME:   tensor<4xf32> {{{[^}]*}}}, mpt.name = "w.exp_avg_sq", mpt.role = "optimizer_state"}
//  HALF-SAME:   -> (tensor<f32>, tensor<4xbf16> {mpt.name = "w", mpt.updates = "w"}
//       HALF:   mpt.adamw {{.*}} : (tensor<4xbf16>, tensor<4xbf16>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>)
func.func @half(%w: tensor<4xbf16> {mpt.name = "w", mpt.role = "parameter"}, %l: tensor<f32>)
    -> (tensor<f32>, tensor<4xbf16> {mpt.name = "grad.w"}) {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<4xbf16>) -> tensor<4xbf16>
  return %l, %g : tensor<f32>, tensor<4xbf16>
}

// A counter of attempts that dropout uses already is the one that advances.
// DROPOUT-LABEL: func.func @dropout
//  DROPOUT-SAME:   %[[A:[^:]*]]: tensor<i64> {mpt.name = "attempt", mpt.role = "rng"}
//   DROPOUT-NOT:   "attempt", mpt.role
//       DROPOUT:   %[[NEXT:.*]] = mpt.add %[[A]],
//       DROPOUT:   return {{.*}}, %[[NEXT]] :
func.func @dropout(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                   %a: tensor<i64> {mpt.name = "attempt", mpt.role = "rng"}, %l: tensor<f32>)
    -> (tensor<f32>, tensor<4xf32> {mpt.name = "grad.w"}) {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<4xf32>) -> tensor<4xf32>
  return %l, %g : tensor<f32>, tensor<4xf32>
}
