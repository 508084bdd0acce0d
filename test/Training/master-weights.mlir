// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: mpt-opt step.mlir --mpt-autodiff --mpt-train-step="optimizer=adamw" -o trained.mlir
// RUN: mpt-opt trained.mlir --mpt-master-weights | FileCheck step.mlir --check-prefix=F32
// RUN: mpt-opt trained.mlir --mpt-master-weights="kind=bf16-stochastic-rounding" | FileCheck step.mlir --check-prefix=SR
// RUN: mpt-opt trained.mlir --mpt-master-weights="kind=bf16-kahan" | FileCheck step.mlir --check-prefix=KAHAN
// RUN: mpt-opt trained.mlir --mpt-master-weights="kind=split16" | FileCheck step.mlir --check-prefix=SPLIT

// Every kind twice changes nothing, and the loss scale may come before or after.
// RUN: bash twice.sh
// RUN: mpt-opt trained.mlir --mpt-master-weights="kind=split16" --mpt-loss-scale | FileCheck step.mlir --check-prefix=SCALED
// RUN: mpt-opt trained.mlir --mpt-loss-scale --mpt-master-weights="kind=split16" | FileCheck step.mlir --check-prefix=SCALED

// The attribute comes before groups, and the first group that matches counts.
// RUN: mpt-opt groups.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-master-weights="kind=split16 groups=^e=bf16-kahan,embed=none,bias=none" | FileCheck groups.mlir

// RUN: not mpt-opt trained.mlir --mpt-master-weights="kind=bf16" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not mpt-opt trained.mlir --mpt-master-weights="groups=(=f32" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mpt-opt trained.mlir --mpt-master-weights="groups=b=f31" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not mpt-opt step.mlir --mpt-autodiff --mpt-master-weights 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: mpt-opt step.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-master-weights="groups=nobody=split16,w=f32" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOBODY --implicit-check-not=warning:
// NOBODY: warning: mpt-master-weights: groups: 'nobody' matches the name of no parameter
// KIND: mpt-master-weights: unknown kind '{{bf16|f31}}'; expected f32, bf16-stochastic-rounding, bf16-kahan, split16 or none
// REGEX: mpt-master-weights: expected REGEX=KIND in groups, found '(=f32': {{.*}}paren
// ORDER: mpt-master-weights: no optimizer updates parameter 0 of type 'tensor<4x1xbf16>'; run --mpt-train-step first

//--- twice.sh
set -e
for kind in f32 bf16-stochastic-rounding bf16-kahan split16 none; do
  mpt-opt trained.mlir --mpt-master-weights="kind=$kind" -o once.mlir
  mpt-opt once.mlir --mpt-master-weights="kind=$kind" -o twice.mlir
  cmp once.mlir twice.mlir
done

//--- step.mlir
// A parameter stored in bf16 becomes f32 state with one copy in bf16 that the
// network reads; the optimizer reads and writes the master. One stored in f32
// is its own master.
// F32: func.func @loss(%[[W:.*]]: tensor<4x1xf32> {mpt.master = "f32", mpt.name = "w"
// F32-SAME: %[[B:.*]]: tensor<1xf32> {mpt.name = "b"
// F32-SAME: tensor<4x1xf32> {mpt.name = "w", mpt.updates = "w"}
// F32: %[[LOW:.*]] = mpt.cast %[[W]] {{.*}}: (tensor<4x1xf32>) -> tensor<4x1xbf16>
// F32-NOT: mpt.cast
// F32: mpt.linear %{{.*}}, %[[LOW]], %[[B]]
// F32: mpt.adamw param(%[[W]]) {{.*}} : (tensor<4x1xf32>, tensor<4x1xbf16>
// F32-SAME: -> (tensor<4x1xf32>
// F32: mpt.adamw param(%[[B]])

// Both are bf16 state. What the model declares as f32 it reads widened. The
// optimizer's f32 result is rounded with bits of a stream of its own.
// SR: func.func @loss(%[[W:.*]]: tensor<4x1xbf16> {mpt.master = "bf16-stochastic-rounding", mpt.name = "w"
// SR-SAME: %[[B:[^:]*]]: tensor<1xbf16> {mpt.master = "bf16-stochastic-rounding", mpt.name = "b"
// SR-SAME: %[[ATTEMPT:[^:]*]]: tensor<i64> {mpt.init = {kind = "zeros"}, mpt.name = "attempt", mpt.role = "rng"}
// SR-SAME: %[[SEED:[^:]*]]: tensor<i64> {mpt.init = {kind = "zeros"}, mpt.name = "seed", mpt.role = "rng"}
// SR-SAME: tensor<4x1xbf16> {mpt.name = "w", mpt.updates = "w"}
// SR: %[[WIDE:.*]] = mpt.cast %[[B]] {{.*}}: (tensor<1xbf16>) -> tensor<1xf32>
// SR: mpt.linear %{{.*}}, %[[W]], %[[WIDE]]
// SR: %[[NEW:.*]], %{{.*}}, %{{.*}} = mpt.adamw param(%[[W]]) {{.*}} -> (tensor<4x1xf32>
// SR: %[[BITS:.*]] = mpt.random_bits %[[SEED]], %[[ATTEMPT]] {shape = array<i64: 4, 1>, stream = 0 : i64}
// SR: mpt.stochastic_round %[[NEW]], %[[BITS]]
// SR: mpt.adamw param(%[[B]])
// SR: mpt.random_bits %[[SEED]], %[[ATTEMPT]] {shape = array<i64: 1>, stream = 1 : i64}

// KAHAN: func.func @loss(%[[W:.*]]: tensor<4x1xbf16> {mpt.master = "bf16-kahan", mpt.name = "w"
// KAHAN-SAME: %[[C:[^:]*]]: tensor<4x1xbf16> {mpt.init = {kind = "zeros"}, mpt.name = "w.compensation", mpt.role = "optimizer_state"}
// KAHAN-SAME: tensor<4x1xbf16> {mpt.name = "w.compensation", mpt.updates = "w.compensation"}
// KAHAN: %[[SUM:.*]] = mpt.add_compensation %[[W]], %[[C]]
// KAHAN: mpt.linear %{{.*}}, %[[W]]
// KAHAN: %[[NEW:.*]], %{{.*}}, %{{.*}} = mpt.adamw param(%[[SUM]])
// KAHAN-NEXT: mpt.cast %[[NEW]] : (tensor<4x1xf32>) -> tensor<4x1xbf16>
// KAHAN-NEXT: mpt.rounding_error %[[NEW]]

// The copy that the model reads is made of both halves, once.
// SPLIT: func.func @loss(%[[W:.*]]: tensor<4x1xbf16> {mpt.master = "split16", mpt.name = "w"
// SPLIT-SAME: %[[L:[^:]*]]: tensor<4x1xi16> {mpt.init = {kind = "zeros"}, mpt.low_of = "w", mpt.name = "w.low", mpt.role = "optimizer_state"}
// SPLIT-SAME: tensor<4x1xi16> {mpt.name = "w.low", mpt.updates = "w.low"}
// SPLIT: %[[SUM:.*]] = mpt.join_halves %[[W]], %[[L]]
// SPLIT: %[[COPY:.*]] = mpt.cast %[[SUM]]
// SPLIT-NOT: mpt.cast
// SPLIT: mpt.linear %{{.*}}, %[[COPY]]
// SPLIT: %[[NEW:.*]], %{{.*}}, %{{.*}} = mpt.adamw param(%[[SUM]])
// SPLIT-NEXT: mpt.high_half %[[NEW]]
// SPLIT-NEXT: mpt.low_half %[[NEW]]

// SCALED: func.func @loss(%[[W:.*]]: tensor<4x1xbf16> {mpt.master = "split16"
// SCALED-SAME: %[[L:[^:]*]]: tensor<4x1xi16> {{[^%]*}}mpt.low_of = "w"
// SCALED: mpt.unscale
// SCALED-DAG: %[[HIGH:.*]] = mpt.high_half
// SCALED-DAG: %[[LOW:.*]] = mpt.low_half
// SCALED-DAG: mpt.select_state %{{.*}}, %[[HIGH]], %[[W]]
// SCALED-DAG: mpt.select_state %{{.*}}, %[[LOW]], %[[L]]
func.func @loss(%w: tensor<4x1xbf16> {mpt.name = "w", mpt.role = "parameter"},
                %b: tensor<1xf32> {mpt.name = "b", mpt.role = "parameter"},
                %x: tensor<8x4xbf16> {mpt.name = "x", mpt.role = "input"},
                %t: tensor<8x1xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.linear %x, %w, %b : (tensor<8x4xbf16>, tensor<4x1xbf16>, tensor<1xf32>) -> tensor<8x1xf32>
  %l = mpt.mse_loss %y, %t : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- groups.mlir
// CHECK: func.func @loss(%{{[^:]*}}: tensor<4x4xbf16> {mpt.master = "bf16-kahan", mpt.name = "embed"
// CHECK-SAME: %{{[^:]*}}: tensor<4x1xbf16> {mpt.master = "split16", mpt.name = "head"
// CHECK-SAME: %{{[^:]*}}: tensor<4x1xbf16> {mpt.master = "bf16-stochastic-rounding", mpt.name = "embed2"
// CHECK-SAME: %{{[^:]*}}: tensor<1xf32> {mpt.name = "bias"
func.func @loss(%e: tensor<4x4xf32> {mpt.name = "embed", mpt.role = "parameter"},
                %h: tensor<4x1xf16> {mpt.name = "head", mpt.role = "parameter"},
                %f: tensor<4x1xf32> {mpt.name = "embed2", mpt.role = "parameter", mpt.master = "bf16-stochastic-rounding"},
                %b: tensor<1xf32> {mpt.name = "bias", mpt.role = "parameter"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.matmul %x, %e : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf16>
  %z = mpt.linear %y, %h, %b : (tensor<8x4xf16>, tensor<4x1xf16>, tensor<1xf32>) -> tensor<8x1xf32>
  %u = mpt.matmul %x, %f : (tensor<8x4xf32>, tensor<4x1xf32>) -> tensor<8x1xf32>
  %l = mpt.mse_loss %z, %u : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
