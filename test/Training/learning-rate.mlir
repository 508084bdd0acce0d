// RUN: split-file %s %t
// RUN: mpt-opt %t/step.mlir --mpt-learning-rate="lr-schedule=cosine total-steps=10 lr-final=0.25" | FileCheck %s --check-prefixes=COUNTED,COSINE
// RUN: mpt-opt %t/step.mlir --mpt-learning-rate="lr-schedule=linear total-steps=12 warmup=4" | FileCheck %s --check-prefix=LINEAR
// RUN: mpt-opt %t/step.mlir --mpt-learning-rate="lr-schedule=step lr-step=3" | FileCheck %s --check-prefix=STEP
// RUN: mpt-opt %t/uncounted.mlir --mpt-learning-rate="warmup=4" | FileCheck %s --check-prefix=UNCOUNTED
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="lr-schedule=linear total-steps=8 warmup=2" --mpt-loss-scale --mpt-autocast="type=f16 policy=tf-fp16" | FileCheck %s --check-prefix=TRAIN
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step | FileCheck %s --check-prefix=CONSTANT

// The schedule reads the state `step`; the optimizer reads the schedule; the argument
// keeps its type and its name.
// COUNTED: func.func @step(%{{.*}}: tensor<4xf32> {{.*}}, %[[TAKEN:.*]]: tensor<i64> {{.*}}, %[[LR:.*]]: tensor<f32> {{{.*}}mpt.name = "lr", mpt.role = "schedule"}
// COUNTED-NOT: lr.step
// COUNTED-SAME: tensor<f32> {mpt.name = "learning_rate"})
// COUNTED: mpt.cast %[[TAKEN]] {mpt.precision = "f32"} : (tensor<i64>) -> tensor<f64>
// COSINE: mpt.minimum
// COSINE: mpt.constant dense<3.14159265358979
// COSINE: %[[COSINE:.*]] = mpt.cos
// COUNTED: %[[WIDE:.*]] = mpt.mul %[[LR]], %{{.*}} {mpt.precision = "f32"} : (tensor<f32>, tensor<f64>) -> tensor<f64>
// COUNTED: %[[RATE:.*]] = mpt.cast %[[WIDE]] {mpt.precision = "f32"} : (tensor<f64>) -> tensor<f32>
// COUNTED: mpt.sgd {{.*}} lr(%[[RATE]])
// COUNTED: return {{.*}}, %[[RATE]] :

// LINEAR: mpt.minimum
// LINEAR-NOT: mpt.cos
// LINEAR: mpt.compare
// LINEAR: mpt.where

// STEP: mpt.floor
// STEP: mpt.pow
// STEP-NOT: mpt.where

// A step that counts nothing gets a counter of the steps that it takes.
// UNCOUNTED: %[[COUNT:[^:]*]]: tensor<i64> {mpt.init = {kind = "zeros"}, mpt.name = "lr.step", mpt.role = "schedule"}
// UNCOUNTED-SAME: tensor<i64> {mpt.name = "lr.step", mpt.updates = "lr.step"}, tensor<f32> {mpt.name = "learning_rate"}
// UNCOUNTED: mpt.cast %[[COUNT]]
// UNCOUNTED: %[[NEXT:.*]] = mpt.add %[[COUNT]]
// UNCOUNTED: mpt.select_state %[[OK:.*]], %[[NEXT]], %[[COUNT]]
// UNCOUNTED: return %{{.*}}, %[[OK]],

// In a step of the passes, `step` is under the one predicate, and no policy makes a
// schedule's number low.
// TRAIN: mpt.unscale
// TRAIN: mpt.cast %[[TAKEN:.*]] {mpt.precision = "f32"} : (tensor<i64>) -> tensor<f64>
// TRAIN: %[[RATE:.*]] = mpt.cast {{.*}} : (tensor<f64>) -> tensor<f32>
// TRAIN: mpt.adamw {{.*}} lr(%[[RATE]])
// TRAIN: mpt.select_state %{{.*}}, %{{.*}}, %[[TAKEN]] : (tensor<i1>, tensor<i64>, tensor<i64>)

// CONSTANT-NOT: learning_rate
// CONSTANT-NOT: mpt.precision

// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="lr-schedule=triangle" 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: mpt-learning-rate: unknown lr-schedule 'triangle'; expected constant, linear, cosine or step
// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="lr-schedule=cosine" 2>&1 | FileCheck %s --check-prefix=TOTAL
// TOTAL: error: mpt-learning-rate: lr-schedule=cosine needs total-steps=N, the steps until it ends
// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="lr-schedule=step" 2>&1 | FileCheck %s --check-prefix=EVERY
// EVERY: error: mpt-learning-rate: lr-schedule=step needs lr-step=N, the steps between two falls
// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="lr-schedule=cosine total-steps=9 lr-step=3" 2>&1 | FileCheck %s --check-prefix=NO-STEP
// NO-STEP: error: mpt-learning-rate: lr-step has no meaning with lr-schedule=cosine; remove it, or use lr-schedule=step
// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="lr-schedule=linear total-steps=9 lr-gamma=0.5" 2>&1 | FileCheck %s --check-prefix=NO-GAMMA
// NO-GAMMA: error: mpt-learning-rate: lr-gamma has no meaning with lr-schedule=linear; remove it, or use lr-schedule=step
// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="lr-schedule=step lr-step=3 lr-final=0.5" 2>&1 | FileCheck %s --check-prefix=NO-FINAL
// NO-FINAL: error: mpt-learning-rate: lr-final has no meaning with lr-schedule=step; remove it, or use lr-schedule=linear or cosine
// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="total-steps=9" 2>&1 | FileCheck %s --check-prefix=NO-TOTAL
// NO-TOTAL: error: mpt-learning-rate: total-steps has no meaning with lr-schedule=constant; remove it, or use lr-schedule=linear or cosine
// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="warmup=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: mpt-learning-rate: expected warmup of at least 0, found -1
// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="lr-final=nan" 2>&1 | FileCheck %s --check-prefix=FINAL
// FINAL: error: mpt-learning-rate: expected a finite lr-final of at least 0, found nan
// RUN: not mpt-opt %t/forward.mlir --mpt-learning-rate="warmup=2" 2>&1 | FileCheck %s --check-prefix=NO-RATE
// NO-RATE: error: mpt-learning-rate: expected a scalar argument named 'lr' of a float type; run --mpt-train-step first
// RUN: not mpt-opt %t/step.mlir --mpt-learning-rate="warmup=2" --mpt-learning-rate="warmup=2" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: mpt-learning-rate: the step has a schedule already: result 2 is 'learning_rate'
// RUN: not mpt-opt %t/taken.mlir --mpt-learning-rate="warmup=2" 2>&1 | FileCheck %s --check-prefix=COLLIDES
// COLLIDES: taken.mlir:6:3: error: mpt-learning-rate: result 0 is called 'learning_rate', as a result that this pass adds; rename it
// RUN: not mpt-opt %t/own.mlir --mpt-learning-rate="warmup=2" 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: error: mpt-learning-rate: the step has a schedule already: result 0 updates 'lr'
// RUN: not mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="lr-schedule=linear" 2>&1 | FileCheck %s --check-prefix=TRAIN-TOTAL
// TRAIN-TOTAL: error: mpt-train-step: lr-schedule=linear needs total-steps=N, the steps until it ends

//--- step.mlir
func.func @step(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %s: tensor<i64> {mpt.name = "step", mpt.role = "optimizer_state"},
                %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"},
                %g: tensor<4xf32> {mpt.name = "g", mpt.role = "input"})
    -> (tensor<4xf32> {mpt.name = "w", mpt.updates = "w"},
        tensor<i64> {mpt.name = "step", mpt.updates = "step"}) {
  %one = mpt.constant dense<1> : tensor<i64>
  %next = mpt.add %s, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %w1 = mpt.sgd param(%w) grad(%g) lr(%lr) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %w1, %next : tensor<4xf32>, tensor<i64>
}

//--- uncounted.mlir
func.func @step(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"},
                %g: tensor<4xf32> {mpt.name = "g", mpt.role = "input"})
    -> (tensor<4xf32> {mpt.name = "w", mpt.updates = "w"}, tensor<i1> {mpt.name = "did_step"}) {
  %ok = mpt.all_finite %g : (tensor<4xf32>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%g) lr(%lr) if(%ok) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
  return %w1, %ok : tensor<4xf32>, tensor<i1>
}

//--- own.mlir
func.func @step(%lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"})
    -> (tensor<f32> {mpt.name = "lr", mpt.updates = "lr"}) {
  %half = mpt.constant dense<0.5> : tensor<f32>
  %next = mpt.mul %lr, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %next : tensor<f32>
}

//--- taken.mlir
func.func @step(%lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"},
                %x: tensor<f32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "learning_rate"}, tensor<f32> {mpt.name = "y"}) {
  %a = mpt.exp %x : (tensor<f32>) -> tensor<f32>
  %y = mpt.mul %lr, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %a, %y : tensor<f32>, tensor<f32>
}

//--- forward.mlir
func.func @loss(%w: tensor<4x1xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"},
                %t: tensor<8x1xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.linear %x, %w : (tensor<8x4xf32>, tensor<4x1xf32>) -> tensor<8x1xf32>
  %l = mpt.mse_loss %y, %t : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
