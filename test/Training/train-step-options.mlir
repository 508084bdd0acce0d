// RUN: not mpt-opt %s -mpt-train-step="optimizer=lion" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// OPTIMIZER: error: mpt-train-step: unknown optimizer 'lion'; expected sgd, momentum, adam, adamw, or @NAME, a function of the module with one block
// RUN: not mpt-opt %s -mpt-train-step="optimizer=@lion" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: error: mpt-train-step: unknown optimizer '@lion'; expected sgd, momentum, adam, adamw, or @NAME, a function of the module with one block
// RUN: not mpt-opt %s -mpt-train-step="optimizer=@loss" 2>&1 | FileCheck %s --check-prefix=ITSELF
// ITSELF: error: mpt-train-step: unknown optimizer '@loss'

// RUN: not mpt-opt %s -mpt-train-step="decay=biases" 2>&1 | FileCheck %s --check-prefix=DECAY
// DECAY: error: mpt-train-step: unknown decay 'biases'; expected matrices or all

// RUN: not mpt-opt %s -mpt-train-step="lr=-0.1" 2>&1 | FileCheck %s --check-prefix=LR
// LR: error: mpt-train-step: expected a finite lr of at least 0, found -0.1

// RUN: not mpt-opt %s -mpt-train-step="lr=nan" 2>&1 | FileCheck %s --check-prefix=NAN
// NAN: error: mpt-train-step: expected a finite lr of at least 0, found nan

// RUN: not mpt-opt %s -mpt-train-step="optimizer=momentum momentum=-1" 2>&1 | FileCheck %s --check-prefix=MOMENTUM
// MOMENTUM: error: mpt-train-step: expected a finite momentum of at least 0, found -1
// RUN: not mpt-opt %s -mpt-train-step="optimizer=momentum momentum=nan" 2>&1 | FileCheck %s --check-prefix=MOMENTUM-NAN
// MOMENTUM-NAN: error: mpt-train-step: expected a finite momentum of at least 0, found nan

// RUN: not mpt-opt %s -mpt-train-step="eps=inf" 2>&1 | FileCheck %s --check-prefix=EPS
// EPS: error: mpt-train-step: expected a finite eps of at least 0, found inf

// RUN: not mpt-opt %s -mpt-train-step="weight-decay=-0.5" 2>&1 | FileCheck %s --check-prefix=WEIGHT-DECAY
// WEIGHT-DECAY: error: mpt-train-step: expected a finite weight-decay of at least 0, found -0.5

// RUN: not mpt-opt %s -mpt-train-step="clip-norm=-2" 2>&1 | FileCheck %s --check-prefix=CLIP
// CLIP: error: mpt-train-step: expected a finite clip-norm of at least 0, found -2

// RUN: not mpt-opt %s -mpt-train-step="beta1=1" 2>&1 | FileCheck %s --check-prefix=BETA1
// BETA1: error: mpt-train-step: expected beta1 in [0, 1), found 1

// RUN: not mpt-opt %s -mpt-train-step="beta2=-0.1" 2>&1 | FileCheck %s --check-prefix=BETA2
// BETA2: error: mpt-train-step: expected beta2 in [0, 1), found -0.1

// RUN: not mpt-opt %s -mpt-train-step="optimizer=sgd nesterov=true" 2>&1 | FileCheck %s --check-prefix=NESTEROV
// NESTEROV: error: mpt-train-step: nesterov needs a momentum above 0, found optimizer=sgd and momentum 0; give momentum=0.9

// RUN: not mpt-opt %s -mpt-train-step="optimizer=momentum momentum=0 nesterov=true" 2>&1 | FileCheck %s --check-prefix=NESTEROV-ZERO
// NESTEROV-ZERO: error: mpt-train-step: nesterov needs a momentum above 0, found optimizer=momentum and momentum 0; give momentum=0.9

// RUN: not mpt-opt %s -mpt-train-step="optimizer=adamw nesterov=true" 2>&1 | FileCheck %s --check-prefix=NESTEROV-ADAM
// NESTEROV-ADAM: error: mpt-train-step: nesterov has no meaning with optimizer=adamw; remove it, or use optimizer=momentum

// RUN: not mpt-opt %s -mpt-train-step="optimizer=adam momentum=0.9" 2>&1 | FileCheck %s --check-prefix=MOMENTUM-ADAM
// MOMENTUM-ADAM: error: mpt-train-step: momentum has no meaning with optimizer=adam; remove it, or use optimizer=momentum

// RUN: not mpt-opt %s -mpt-train-step="optimizer=sgd momentum=inf" 2>&1 | FileCheck %s --check-prefix=MOMENTUM-INF
// MOMENTUM-INF: error: mpt-train-step: expected a finite momentum of at least 0, found inf

// RUN: not mpt-opt %s -mpt-train-step="optimizer=sgd beta1=0.5" 2>&1 | FileCheck %s --check-prefix=BETA1-SGD
// BETA1-SGD: error: mpt-train-step: beta1 has no meaning with optimizer=sgd; remove it, or use optimizer=adam or adamw

// RUN: not mpt-opt %s -mpt-train-step="optimizer=momentum beta2=0.5" 2>&1 | FileCheck %s --check-prefix=BETA2-SGD
// BETA2-SGD: error: mpt-train-step: beta2 has no meaning with optimizer=momentum; remove it, or use optimizer=adam or adamw

// RUN: not mpt-opt %s -mpt-train-step="optimizer=sgd eps=0.5" 2>&1 | FileCheck %s --check-prefix=EPS-SGD
// EPS-SGD: error: mpt-train-step: eps has no meaning with optimizer=sgd; remove it, or use optimizer=adam or adamw

// RUN: not mpt-opt %s -mpt-train-step="decay=all" 2>&1 | FileCheck %s --check-prefix=DECAY-NONE
// DECAY-NONE: error: mpt-train-step: decay=all has no effect without weight-decay; give weight-decay=X, or remove decay
// RUN: mpt-opt %s -mpt-train-step="decay=all weight-decay=0"

// RUN: not mpt-opt %s -mpt-train-step="spike-patience=3" 2>&1 | FileCheck %s --check-prefix=PATIENCE
// PATIENCE: error: mpt-train-step: spike-patience has no effect without skip-spikes; give skip-spikes=X, the deviations above the mean that make a spike, or remove spike-patience

// RUN: not mpt-opt %s -mpt-train-step="spike-alpha=0.5" 2>&1 | FileCheck %s --check-prefix=ALPHA
// ALPHA: error: mpt-train-step: spike-alpha has no effect without skip-spikes;

// RUN: not mpt-opt %s -mpt-train-step="spike-warmup=5" 2>&1 | FileCheck %s --check-prefix=SPIKE-WARMUP
// SPIKE-WARMUP: error: mpt-train-step: spike-warmup has no effect without skip-spikes;

// RUN: not mpt-opt %s -mpt-train-step="lr-step=3" 2>&1 | FileCheck %s --check-prefix=LR-STEP
// LR-STEP: error: mpt-train-step: lr-step has no meaning with lr-schedule=constant; remove it, or use lr-schedule=step

// What a printed pipeline says, with all options and their defaults, is taken again.
// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd" --dump-pass-pipeline 2>&1 >/dev/null | FileCheck %s --check-prefix=PRINTED
// PRINTED: mpt-train-step{beta1={{.*}} momentum=-INF
// RUN: mpt-opt %s -mpt-train-step="optimizer=sgd beta1=9.000000e-01 eps=1.000000e-08 lr-gamma=1.000000e-01 momentum=-INF spike-patience=10"

// RUN: not mpt-opt %s -mpt-train-step="lr=fast" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: 'fast' value invalid for floating point argument

// RUN: not mpt-opt %s -mpt-train-step="rate=0.1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: no such option rate

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
