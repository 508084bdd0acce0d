// RUN: not mpt-opt %s -mpt-train-step="optimizer=lion" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// OPTIMIZER: error: mpt-train-step: unknown optimizer 'lion'; expected sgd, momentum, adam or adamw

// RUN: not mpt-opt %s -mpt-train-step="decay=biases" 2>&1 | FileCheck %s --check-prefix=DECAY
// DECAY: error: mpt-train-step: unknown decay 'biases'; expected matrices or all

// RUN: not mpt-opt %s -mpt-train-step="lr=-0.1" 2>&1 | FileCheck %s --check-prefix=LR
// LR: error: mpt-train-step: expected a finite lr of at least 0, found -0.1

// RUN: not mpt-opt %s -mpt-train-step="lr=nan" 2>&1 | FileCheck %s --check-prefix=NAN
// NAN: error: mpt-train-step: expected a finite lr of at least 0, found nan

// RUN: not mpt-opt %s -mpt-train-step="optimizer=momentum momentum=-1" 2>&1 | FileCheck %s --check-prefix=MOMENTUM
// MOMENTUM: error: mpt-train-step: expected a finite momentum of at least 0, found -1

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
// NESTEROV: error: mpt-train-step: expected optimizer=momentum with a momentum above 0 with nesterov, found optimizer=sgd and momentum 0.9

// RUN: not mpt-opt %s -mpt-train-step="optimizer=momentum momentum=0 nesterov=true" 2>&1 | FileCheck %s --check-prefix=NESTEROV-ZERO
// NESTEROV-ZERO: error: mpt-train-step: expected optimizer=momentum with a momentum above 0 with nesterov, found optimizer=momentum and momentum 0

// RUN: not mpt-opt %s -mpt-train-step="lr=fast" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: 'fast' value invalid for floating point argument

// RUN: not mpt-opt %s -mpt-train-step="rate=0.1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: no such option rate

func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
