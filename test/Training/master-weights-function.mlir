// Master weights of an optimizer that is a function: its ops, which have `mpt.optimizer`, read
// the master, and the model reads what is stored.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step=optimizer=@update -o %t.mlir
// RUN: mpt-opt %t.mlir --mpt-master-weights | FileCheck %s --check-prefix=F32
// RUN: mpt-opt %t.mlir --mpt-master-weights=kind=bf16-stochastic-rounding | FileCheck %s --check-prefix=SR
// RUN: mpt-opt %t.mlir --mpt-master-weights=kind=bf16-kahan | FileCheck %s --check-prefix=KAHAN
// RUN: mpt-opt %t.mlir --mpt-master-weights=kind=split16 | FileCheck %s --check-prefix=SPLIT
// RUN: mpt-opt %t.mlir --mpt-master-weights=kind=none | FileCheck %s --check-prefix=NONE
// RUN: mpt-opt %t.mlir --mpt-master-weights=kind=split16 --mpt-loss-scale | FileCheck %s --check-prefix=SCALED
// RUN: mpt-opt %t.mlir --mpt-loss-scale --mpt-master-weights=kind=split16 | FileCheck %s --check-prefix=SCALED

// Twice changes nothing.
// RUN: mpt-opt %t.mlir --mpt-master-weights=kind=bf16-stochastic-rounding -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-master-weights=kind=bf16-stochastic-rounding | diff %t.once.mlir -
// RUN: mpt-opt %t.mlir --mpt-master-weights=kind=split16 --mpt-loss-scale -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-master-weights=kind=split16 | diff %t.once.mlir -

// A step whose ops have no such mark has no optimizer that the pass knows.
// RUN: sed 's/mpt.optimizer, //' %t.mlir > %t.unmarked.mlir
// RUN: not mpt-opt %t.unmarked.mlir --mpt-master-weights 2>&1 | FileCheck %s --check-prefix=UNMARKED
// UNMARKED: error: mpt-master-weights: no optimizer updates parameter 0 of type 'tensor<4x3xbf16>'; run --mpt-train-step first

// F32:      func.func @loss(%[[W:.*]]: tensor<4x3xf32> {mpt.master = "f32", mpt.name = "w"
// F32-SAME: %[[V:[^:]*]]: tensor<3xf32> {mpt.name = "v"
// F32-SAME: tensor<4x3xf32> {mpt.name = "w", mpt.updates = "w"}
// F32:      %[[LOW:.*]] = mpt.cast %[[W]] {autocast} : (tensor<4x3xf32>) -> tensor<4x3xbf16>
// F32:      mpt.linear %{{.*}}, %[[LOW]], %[[V]]
// F32:      %[[NEW:.*]] = mpt.sub %[[W]], %{{.*}} {mpt.optimizer, mpt.precision = "f32"}
// F32:      return %{{.*}}, %[[NEW]],

// SR:      func.func @loss(%[[W:.*]]: tensor<4x3xbf16> {mpt.master = "bf16-stochastic-rounding", mpt.name = "w"
// SR-SAME: %[[V:[^:]*]]: tensor<3xbf16> {mpt.master = "bf16-stochastic-rounding", mpt.name = "v"
// SR:      mpt.linear %{{.*}}, %[[W]], %{{.*}}
// SR:      %[[WIDE:.*]] = mpt.cast %[[W]] {{.*}} : (tensor<4x3xbf16>) -> tensor<4x3xf32>
// SR:      %[[NEW:.*]] = mpt.sub %[[WIDE]], %{{.*}} {mpt.optimizer
// SR:      mpt.stochastic_round %[[NEW]], %{{.*}}

// KAHAN-DAG: %[[W:.*]] = mpt.add_compensation %[[HIGH:.*]], %{{.*}} : (tensor<4x3xbf16>, tensor<4x3xbf16>)
// KAHAN-DAG: %[[V:.*]] = mpt.add_compensation %[[LOW:.*]], %{{.*}} : (tensor<3xbf16>, tensor<3xbf16>)
// KAHAN:     mpt.linear %{{.*}}, %[[HIGH]], %{{.*}}
// KAHAN:     %[[NEW:.*]] = mpt.sub %[[W]], %{{.*}} {mpt.optimizer
// KAHAN:     mpt.rounding_error %[[NEW]]
// KAHAN:     mpt.sub %[[V]], %{{.*}} {mpt.optimizer

// SPLIT:      func.func @loss(%[[W:.*]]: tensor<4x3xbf16> {mpt.master = "split16"
// SPLIT-SAME: tensor<4x3xi16> {{{.*}}mpt.low_of = "w", mpt.name = "w.low"
// SPLIT:      %[[MASTER:.*]] = mpt.join_halves %[[W]], %{{.*}} : (tensor<4x3xbf16>, tensor<4x3xi16>)
// SPLIT:      %[[NEW:.*]] = mpt.sub %[[MASTER]], %{{.*}} {mpt.optimizer
// SPLIT-DAG:  mpt.high_half %[[NEW]]
// SPLIT-DAG:  mpt.low_half %[[NEW]]

// Kept as declared, it is widened, and rounded to nearest.
// NONE: func.func @loss(%[[W:.*]]: tensor<4x3xbf16> {mpt.master = "none"
// NONE: %[[WIDE:.*]] = mpt.cast %[[W]] {mpt.optimizer, mpt.precision = "f32"} : (tensor<4x3xbf16>) -> tensor<4x3xf32>
// NONE: %[[NEW:.*]] = mpt.sub %[[WIDE]],
// NONE: mpt.cast %[[NEW]] {mpt.optimizer, mpt.precision = "f32"} : (tensor<4x3xf32>) -> tensor<4x3xbf16>

// SCALED:     %[[NEW:.*]] = mpt.sub %{{.*}}, %{{.*}} {mpt.optimizer, mpt.precision = "f32"} : (tensor<4x3xf32>
// SCALED-DAG: %[[HIGH:.*]] = mpt.high_half %[[NEW]]
// SCALED-DAG: %[[LOW:.*]] = mpt.low_half %[[NEW]]
// SCALED-DAG: mpt.select_state %{{.*}}, %[[HIGH]], %{{.*}} : (tensor<i1>, tensor<4x3xbf16>, tensor<4x3xbf16>)
// SCALED-DAG: mpt.select_state %{{.*}}, %[[LOW]], %{{.*}} : (tensor<i1>, tensor<4x3xi16>, tensor<4x3xi16>)

func.func @loss(%w: tensor<4x3xbf16> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<3xf32> {mpt.name = "v", mpt.role = "parameter"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.linear %x, %w, %v : (tensor<8x4xf32>, tensor<4x3xbf16>, tensor<3xf32>) -> tensor<8x3xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @update(
    %w: tensor<4x3xf32> {mpt.name = "w", mpt.role = "parameter"},
    %gw: tensor<4x3xf32> {mpt.name = "grad.w", mpt.role = "input"},
    %v: tensor<3xf32> {mpt.name = "v", mpt.role = "parameter"},
    %gv: tensor<3xf32> {mpt.name = "grad.v", mpt.role = "input"},
    %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"})
    -> (tensor<4x3xf32> {mpt.updates = "w"}, tensor<3xf32> {mpt.updates = "v"}) {
  %dw = mpt.mul %gw, %lr : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %w1 = mpt.sub %w, %dw : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %dv = mpt.mul %gv, %lr : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %v1 = mpt.sub %v, %dv : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %w1, %v1 : tensor<4x3xf32>, tensor<3xf32>
}
