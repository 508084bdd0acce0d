// Apex's table of properties, level by level and property by property.
//
// RUN: mpt-opt %s --mpt-apex="level=O0 train-step={optimizer=sgd}" | FileCheck %s --check-prefixes=STATIC,F32,NO-HALF
// RUN: mpt-opt %s --mpt-apex="train-step={optimizer=sgd}" | FileCheck %s --check-prefixes=DYNAMIC,F32,O1
// RUN: mpt-opt %s --mpt-apex="level=O2 train-step={optimizer=sgd}" | FileCheck %s --check-prefixes=DYNAMIC,MASTERS,O2
// RUN: mpt-opt %s --mpt-apex="level=O3 train-step={optimizer=sgd}" | FileCheck %s --check-prefixes=STATIC,O3

// One property after the other.
// RUN: mpt-opt %s --mpt-apex="level=O1 patch-torch-functions=false" | FileCheck %s --check-prefixes=DYNAMIC,NO-HALF
// RUN: mpt-opt %s --mpt-apex="level=O2 cast-model-type=f32" | FileCheck %s --check-prefixes=DYNAMIC,NO-HALF
// RUN: mpt-opt %s --mpt-apex="level=O2 keep-batchnorm-fp32=false train-step={optimizer=sgd}" | FileCheck %s --check-prefix=BATCH-NORM
// RUN: mpt-opt %s --mpt-apex="level=O3 keep-batchnorm-fp32=true train-step={optimizer=sgd}" | FileCheck %s --check-prefix=KEPT
// RUN: mpt-opt %s --mpt-apex="level=O2 master-weights=false train-step={optimizer=sgd}" | FileCheck %s --check-prefixes=DYNAMIC,NO-MASTER
// RUN: mpt-opt %s --mpt-apex="level=O2 loss-scale=128" | FileCheck %s --check-prefix=SCALE
// RUN: mpt-opt %s --mpt-apex="level=O3 loss-scale=dynamic min-loss-scale=8 max-loss-scale=0" | FileCheck %s --check-prefix=BOUNDS
// RUN: mpt-opt %s --mpt-apex="level=O2 masters={kind=split16} accumulate={steps=2} train-step={optimizer=sgd}" | FileCheck %s --check-prefixes=DYNAMIC,HALVES
// RUN: mpt-opt %s --mpt-apex="level=O1 masters={kind=bf16-kahan groups=v=f32} train-step={optimizer=sgd}" | FileCheck %s --check-prefix=KAHAN
// RUN: mpt-opt %s --mpt-apex="level=O0 cast-model-type=f16" | FileCheck %s --check-prefixes=STATIC,O3

// What Apex refuses, and what is no value.
// RUN: not mpt-opt %s --mpt-apex="level=O4" 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: mpt-apex: unknown level 'O4'; expected O0, O1, O2 or O3
// RUN: not mpt-opt %s --mpt-apex="level=O1 cast-model-type=f16" 2>&1 | FileCheck %s --check-prefix=CAST
// CAST: mpt-apex: level=O1 casts around functions, and the model's parameters stay f32: cast-model-type=f16 needs level=O2 or O3
// RUN: not mpt-opt %s --mpt-apex="level=O2 patch-torch-functions=true" 2>&1 | FileCheck %s --check-prefix=PATCH
// PATCH: mpt-apex: patch-torch-functions=true is what level=O1 does; choose that level, or leave the option out
// RUN: not mpt-opt %s --mpt-apex="keep-batchnorm-fp32=true" 2>&1 | FileCheck %s --check-prefix=KEEP
// KEEP: mpt-apex: at level=O1 batch norm's parameters and statistics are f32 in any case: leave keep-batchnorm-fp32 out, or choose level=O2 or O3
// RUN: not mpt-opt %s --mpt-apex="master-weights=false" 2>&1 | FileCheck %s --check-prefix=MASTER
// MASTER: mpt-apex: at level=O1 parameters are f32, their own masters: leave master-weights out, or choose level=O2 or O3
// RUN: not mpt-opt %s --mpt-apex="loss-scale=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: mpt-apex: expected loss-scale to be dynamic or a finite number above 0, found '0'
// RUN: not mpt-opt %s --mpt-apex="level=O2 cast-model-type=bf16" 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: mpt-apex: expected cast-model-type to be f32, f16 or none, found 'bf16'
// RUN: not mpt-opt %s --mpt-apex="level=O2 master-weights=yes" 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: mpt-apex: expected master-weights to be true, false or none, found 'yes'
// RUN: not mpt-opt %s --mpt-apex="train-step={speed=1}" 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: no such option speed
// RUN: not mpt-opt %s --mpt-apex="masters={kind=thin}" 2>&1 | FileCheck %s --check-prefix=THIN
// THIN: mpt-master-weights: unknown kind 'thin'
// RUN: not mpt-opt %s --mpt-apex="level=O3 masters={kind=split16}" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: mpt-apex: masters is for parameters that have masters, and those of level=O3 have none: give master-weights=true, or choose level=O1 or O2
// RUN: mpt-opt %s --mpt-apex="level=O1 keep-batchnorm-fp32=none cast-model-type=f32" | FileCheck %s --check-prefixes=DYNAMIC,O1

// Signatures: what is stored in which type, and the scale.
// F32: func.func @loss(%[[W:[^:]*]]: tensor<8x16xf32> {mpt.name = "w", mpt.role = "parameter"}
// F32-SAME: tensor<16xf32> {mpt.name = "gamma", mpt.role = "parameter"}
// F32-SAME: tensor<16xf32> {mpt.name = "mean", mpt.role = "running_stat"}
// MASTERS: func.func @loss(%[[W:[^:]*]]: tensor<8x16xf32> {mpt.master = "f32", mpt.name = "w", mpt.role = "parameter"}
// MASTERS-SAME: tensor<16xf32> {mpt.master = "f32", mpt.name = "gamma", mpt.role = "parameter"}
// MASTERS-SAME: tensor<16xf32> {mpt.name = "mean", mpt.role = "running_stat"}
// O3: func.func @loss(%[[W:[^:]*]]: tensor<8x16xf16> {mpt.master = "none", mpt.name = "w", mpt.role = "parameter"}
// O3-SAME: tensor<16xf16> {mpt.master = "none", mpt.name = "gamma", mpt.role = "parameter"}
// O3-SAME: tensor<16xf16> {mpt.name = "mean", mpt.role = "running_stat"}
// BATCH-NORM: func.func @loss(%{{[^:]*}}: tensor<8x16xf32> {mpt.master = "f32", mpt.name = "w", mpt.role = "parameter"}
// The master of gamma is f32; statistics have none.
// BATCH-NORM-SAME: tensor<16xf32> {mpt.master = "f32", mpt.name = "gamma", mpt.role = "parameter"}
// BATCH-NORM-SAME: tensor<16xf16> {mpt.name = "mean", mpt.role = "running_stat"}
// HALVES: func.func @loss(%{{[^:]*}}: tensor<8x16xbf16> {mpt.master = "split16", mpt.name = "w", mpt.role = "parameter"}
// HALVES-SAME: tensor<16xf32> {mpt.master = "f32", mpt.name = "gamma", mpt.role = "parameter"}
// HALVES-SAME: tensor<64x8xf32> {mpt.name = "x"
// HALVES-SAME: tensor<8x16xi16> {{{[^}]*}}}, {{[^}]*}}mpt.name = "w.low"
// KAHAN: func.func @loss(%{{[^:]*}}: tensor<8x16xbf16> {mpt.master = "bf16-kahan", mpt.name = "w", mpt.role = "parameter"}
// KAHAN-SAME: tensor<16x4xf32> {mpt.name = "v", mpt.role = "parameter"}
// KAHAN-SAME: tensor<8x16xbf16> {{{[^}]*}}}, {{[^}]*}}mpt.name = "w.compensation"
// KEPT: func.func @loss(%{{[^:]*}}: tensor<8x16xf16> {mpt.master = "none", mpt.name = "w", mpt.role = "parameter"}
// KEPT-SAME: tensor<16xf32> {mpt.master = "f32", mpt.name = "gamma", mpt.role = "parameter"}
// KEPT-SAME: tensor<16xf32> {mpt.name = "mean", mpt.role = "running_stat"}
// NO-MASTER: tensor<8x16xf16> {mpt.master = "none", mpt.name = "w", mpt.role = "parameter"}
// NO-MASTER-SAME: tensor<16xf32> {mpt.master = "f32", mpt.name = "gamma", mpt.role = "parameter"}
// STATIC: value = 1.000000e+00 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"
// STATIC-NOT: growth_tracker
// DYNAMIC: value = 6.553600e+04 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"
// DYNAMIC-SAME: mpt.name = "loss_scale.growth_tracker"
// DYNAMIC-SAME: mpt.name = "loss_scale.at_max"
// SCALE: value = 1.280000e+02 : f64}, mpt.name = "loss_scale"
// SCALE-NOT: growth_tracker
// BOUNDS: mpt.name = "loss_scale.growth_tracker"
// BOUNDS-SAME: mpt.name = "loss_scale.at_min"
// BOUNDS-NOT: at_max

// At O0 no value of the step is f16.
// NO-HALF-NOT: f16

// At O1 matmuls are f16; the loss is f32; parameters are read
// by the optimizer as they are.
// O1: mpt.linear {{.*}}f16>, {{.*}}f16>{{.*}} -> tensor<32x16x
// O1: mpt.batch_norm {{.*}} -> (tensor<32x16x
// O1: mpt.mse_loss {{.*}} : (tensor<32x4xf32>, tensor<32x4xf32>)
// O1: mpt.gradients {{.*}} : (tensor<8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x4xf32>)

// At O2 there is one f16 copy of each master; the model in f16, batch norm's parameters and the
// loss in f32; the optimizer works on the masters.
// O2: mpt.cast %[[W]] {autocast} : (tensor<8x16xf32>) -> tensor<8x16xf16>
// O2: mpt.linear {{.*}} : (tensor<32x8xf16>, tensor<8x16xf16>) -> tensor<32x16xf16>
// O2: mpt.batch_norm {{.*}} : (tensor<32x16xf16>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<32x16xf16>, tensor<16xf32>
// O2: mpt.mse_loss {{.*}} : (tensor<32x4xf32>, tensor<32x4xf32>)
// O2: mpt.gradients {{.*}} : (tensor<8x16xf16>, tensor<16xf32>, tensor<16xf32>, tensor<16x4xf16>)
// O2: mpt.sgd param(%[[W]]) {{.*}} -> tensor<8x16xf32>

// At O3 the parameters are f16, and updated in f16.
// O3: mpt.linear {{.*}} : (tensor<32x8xf16>, tensor<8x16xf16>) -> tensor<32x16xf16>
// O3: mpt.mse_loss {{.*}} : (tensor<32x4xf32>, tensor<32x4xf32>)
// O3: mpt.{{sgd|adamw}} param(%[[W]]) {{.*}} -> {{\(?}}tensor<8x16xf16>

// KEPT: mpt.sgd {{.*}} -> tensor<8x16xf16>
// KEPT: mpt.sgd {{.*}} -> tensor<16xf32>
// NO-MASTER: mpt.sgd {{.*}} -> tensor<8x16xf16>
func.func @loss(
    %w: tensor<8x16xf32> {mpt.name = "w", mpt.role = "parameter"},
    %gamma: tensor<16xf32> {mpt.name = "gamma", mpt.role = "parameter"},
    %beta: tensor<16xf32> {mpt.name = "beta", mpt.role = "parameter"},
    %mean: tensor<16xf32> {mpt.name = "mean", mpt.role = "running_stat"},
    %var: tensor<16xf32> {mpt.name = "var", mpt.role = "running_stat"},
    %v: tensor<16x4xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<32x8xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<32x4xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<16xf32> {mpt.name = "mean", mpt.updates = "mean"},
        tensor<16xf32> {mpt.name = "var", mpt.updates = "var"}) {
  %h = mpt.linear %x, %w : (tensor<32x8xf32>, tensor<8x16xf32>) -> tensor<32x16xf32>
  %n, %m1, %v1, %bm, %br = mpt.batch_norm %h, %gamma, %beta, %mean, %var : (tensor<32x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<32x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %a = mpt.relu %n : (tensor<32x16xf32>) -> tensor<32x16xf32>
  %y = mpt.linear %a, %v : (tensor<32x16xf32>, tensor<16x4xf32>) -> tensor<32x4xf32>
  %l = mpt.mse_loss %y, %t : (tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<f32>
  return %l, %m1, %v1 : tensor<f32>, tensor<16xf32>, tensor<16xf32>
}
