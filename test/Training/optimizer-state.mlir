// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: mpt-opt step.mlir --mpt-autodiff --mpt-train-step="optimizer=adamw" -o trained.mlir
// RUN: mpt-opt trained.mlir --mpt-optimizer-state="kind=block8" | FileCheck step.mlir --check-prefix=BLOCK8
// RUN: mpt-opt trained.mlir --mpt-optimizer-state="kind=block8 rounding=stochastic block-size=2048" | FileCheck step.mlir --check-prefix=DRAWN
// RUN: mpt-opt trained.mlir --mpt-optimizer-state="kind=bf16" | FileCheck step.mlir --check-prefix=BF16
// RUN: mpt-opt trained.mlir --mpt-optimizer-state="kind=bf16 rounding=nearest" | FileCheck step.mlir --check-prefix=NEAREST

// f32, the default, changes nothing; nor does a second run; the loss scale and the masters
// may come before or after.
// RUN: bash twice.sh
// RUN: mpt-opt trained.mlir --mpt-optimizer-state="kind=block8" --mpt-loss-scale | FileCheck step.mlir --check-prefix=SCALED
// RUN: mpt-opt trained.mlir --mpt-loss-scale --mpt-optimizer-state="kind=block8" | FileCheck step.mlir --check-prefix=SCALED
// RUN: mpt-opt trained.mlir --mpt-master-weights="kind=split16" --mpt-optimizer-state="kind=block8" | FileCheck step.mlir --check-prefix=SPLIT
// RUN: mpt-opt trained.mlir --mpt-optimizer-state="kind=block8" --mpt-master-weights="kind=split16" | FileCheck step.mlir --check-prefix=SPLIT

// The first group that matches counts; min-elements holds for all of them.
// RUN: mpt-opt step.mlir --mpt-autodiff --mpt-train-step="optimizer=momentum" --mpt-optimizer-state="groups=^w=block8,w2=bf16,b=bf16" | FileCheck step.mlir --check-prefix=GROUPS
// RUN: mpt-opt step.mlir --mpt-autodiff --mpt-train-step="optimizer=momentum" --mpt-optimizer-state="kind=bf16 min-elements=0 rounding=nearest" | FileCheck step.mlir --check-prefix=ALL

// One kernel dequantizes, updates and quantizes: a block is a row.
// RUN: mpt-opt trained.mlir --mpt-optimizer-state="kind=block8" --mpt-loss-scale --mpt-plan-kernels | FileCheck step.mlir --check-prefix=KERNEL

// RUN: not mpt-opt trained.mlir --mpt-optimizer-state="kind=int8" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not mpt-opt trained.mlir --mpt-optimizer-state="groups=b=f31" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not mpt-opt trained.mlir --mpt-optimizer-state="groups=(=f32" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mpt-opt trained.mlir --mpt-optimizer-state="kind=block8 rounding=up" 2>&1 | FileCheck %s --check-prefix=ROUNDING
// RUN: not mpt-opt trained.mlir --mpt-optimizer-state="kind=block8 block-size=100" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not mpt-opt trained.mlir --mpt-optimizer-state="kind=block8 min-elements=-1" 2>&1 | FileCheck %s --check-prefix=MIN
// RUN: not mpt-opt trained.mlir --mpt-optimizer-state="kind=bf16 block-size=512" 2>&1 | FileCheck %s --check-prefix=NOBLOCKS
// RUN: not mpt-opt trained.mlir --mpt-optimizer-state="rounding=nearest" 2>&1 | FileCheck %s --check-prefix=NOROUNDING
// RUN: not mpt-opt trained.mlir --mpt-optimizer-state="min-elements=1" 2>&1 | FileCheck %s --check-prefix=NOMIN
// RUN: not mpt-opt dynamic.mlir --mpt-optimizer-state="kind=block8" 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// RUN: not mpt-opt other.mlir --mpt-optimizer-state="kind=block8" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not mpt-opt no-attempt.mlir --mpt-optimizer-state="kind=bf16 min-elements=0" 2>&1 | FileCheck %s --check-prefix=ATTEMPT
// RUN: mpt-opt trained.mlir --mpt-optimizer-state="groups=nobody=bf16,w=f32" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOBODY --implicit-check-not=warning:
// RUN: mpt-opt trained.mlir --mpt-optimizer-state="groups=w=f32,w2=bf16,^b=f32" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SHADOWED --implicit-check-not=warning:
// RUN: mpt-opt step.mlir --mpt-autodiff --mpt-optimizer-state="kind=block8" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: mpt-opt step.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-optimizer-state="groups=w=block8" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SGD --implicit-check-not=warning:
// RUN: mpt-opt step.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-optimizer-state -o /dev/null 2>&1 | count 0
// KIND: mpt-optimizer-state: unknown kind '{{int8|f31}}'; expected f32, bf16 or block8
// REGEX: mpt-optimizer-state: expected REGEX=KIND in groups, found '(=f32': {{.*}}paren
// ROUNDING: mpt-optimizer-state: unknown rounding 'up'; expected auto, nearest or stochastic
// SIZE: mpt-optimizer-state: expected a block-size of 256, 512, 1024 or 2048, found 100
// MIN: mpt-optimizer-state: expected min-elements of at least 0, found -1
// NOBLOCKS: mpt-optimizer-state: block-size has no effect without block8; give kind=block8, or remove block-size
// NOROUNDING: mpt-optimizer-state: rounding has no effect with f32; give kind=bf16 or kind=block8, or remove rounding
// NOMIN: mpt-optimizer-state: min-elements has no effect with f32; give kind=bf16 or kind=block8, or remove min-elements
// DYNAMIC: dynamic.mlir:2:{{.*}}: error: mpt-optimizer-state: expected moments of static shapes, found 'tensor<?xf32>'; run --mpt-specialize first
// OTHER: other.mlir:2:{{.*}}: error: mpt-optimizer-state: expected the optimizer at {{.*}} to give the next value of its own moment, argument 3; run this pass after --mpt-train-step
// ATTEMPT: mpt-optimizer-state: stochastic rounding needs an argument named 'attempt' of type 'tensor<i64>', found none; run --mpt-train-step first
// NOBODY: warning: mpt-optimizer-state: groups: 'nobody' matches the name of no parameter with moments
// SHADOWED: warning: mpt-optimizer-state: groups: 'w2' matches no parameter with moments that an expression before it does not match; put it first
// NOTHING: warning: mpt-optimizer-state: {{.*}}no optimizer that keeps moments; run --mpt-train-step first
// SGD: step.mlir:{{.*}}: warning: mpt-optimizer-state: found nothing to do: SGD without momentum keeps no state; use momentum, adam or adamw, or keep the state f32

//--- twice.sh
set -e
mpt-opt trained.mlir -o plain.mlir
mpt-opt trained.mlir --mpt-optimizer-state -o f32.mlir
cmp plain.mlir f32.mlir
for kind in bf16 block8; do
  mpt-opt trained.mlir --mpt-optimizer-state="kind=$kind" -o once.mlir
  mpt-opt once.mlir --mpt-optimizer-state="kind=$kind" -o twice.mlir
  cmp once.mlir twice.mlir
done

//--- step.mlir
// Codes, and scales of 64 * 64 / 256 blocks. The second moment is not negative. The bias
// has less than 4,096 elements.
// BLOCK8: func.func @loss(
// BLOCK8-SAME: %[[M:[^:]*]]: tensor<64x64xi8> {mpt.init = {kind = "zeros"}, mpt.name = "w1.exp_avg", mpt.role = "optimizer_state"}
// BLOCK8-SAME: %[[V:[^:]*]]: tensor<64x64xi8> {mpt.init = {kind = "zeros"}, mpt.name = "w1.exp_avg_sq"
// BLOCK8-SAME: tensor<64xf32> {mpt.init = {kind = "zeros"}, mpt.name = "b1.exp_avg"
// BLOCK8-SAME: %[[MS:[^:]*]]: tensor<16xf32> {mpt.init = {kind = "zeros"}, mpt.name = "w1.exp_avg.absmax", mpt.role = "optimizer_state"}
// BLOCK8-SAME: %[[VS:[^:]*]]: tensor<16xf32> {mpt.init = {kind = "zeros"}, mpt.name = "w1.exp_avg_sq.absmax"
// BLOCK8-NOT: mpt.name = "seed"
// BLOCK8-SAME: tensor<64x64xi8> {mpt.name = "w1.exp_avg", mpt.updates = "w1.exp_avg"}
// BLOCK8-SAME: tensor<16xf32> {mpt.name = "w1.exp_avg.absmax", mpt.updates = "w1.exp_avg.absmax"}
// BLOCK8-DAG: %[[OLD:.*]] = mpt.dequantize_blockwise %[[M]], %[[MS]] {block_size = 256 : i64} : (tensor<64x64xi8>, tensor<16xf32>) -> tensor<64x64xf32>
// BLOCK8-DAG: %[[OLDSQ:.*]] = mpt.dequantize_blockwise %[[V]], %[[VS]] {block_size = 256 : i64, nonnegative}
// BLOCK8: %{{.*}}, %[[NEW:.*]], %[[NEWSQ:.*]] = mpt.adamw param({{.*}}) grad({{.*}}) lr({{.*}}) moments(%[[OLD]], %[[OLDSQ]])
// BLOCK8-DAG: mpt.quantize_blockwise %[[NEW]] {block_size = 256 : i64} : (tensor<64x64xf32>) -> (tensor<64x64xi8>, tensor<16xf32>)
// BLOCK8-DAG: mpt.quantize_blockwise %[[NEWSQ]] {block_size = 256 : i64, nonnegative}

// DRAWN: tensor<2xf32> {mpt.init = {kind = "zeros"}, mpt.name = "w1.exp_avg.absmax"
// DRAWN: mpt.adamw
// DRAWN: %[[BITS:.*]] = mpt.random_bits {{.*}}shape = array<i64: 64, 64>
// DRAWN: mpt.quantize_blockwise %{{.*}}, %[[BITS]] {block_size = 2048 : i64

// BF16: tensor<64x64xbf16> {mpt.init = {kind = "zeros"}, mpt.name = "w1.exp_avg"
// BF16-SAME: mpt.name = "seed", mpt.role = "rng"
// BF16: %{{.*}}, %[[M:.*]], %[[V:.*]] = mpt.adamw {{.*}} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>, tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<i64>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>)
// BF16-DAG: mpt.stochastic_round %[[M]], %{{.*}} : (tensor<64x64xf32>, tensor<64x64xi16>) -> tensor<64x64xbf16>
// BF16-DAG: mpt.stochastic_round %[[V]],

// NEAREST-NOT: mpt.name = "seed"
// NEAREST: mpt.adamw {{.*}} -> (tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16>)
// NEAREST-NOT: mpt.stochastic_round

// A step that is not taken keeps codes and scales.
// SCALED: %[[OK:.*]] = mpt.all_finite
// SCALED: mpt.adamw {{.*}} if(
// SCALED: %[[C:.*]], %[[S:.*]] = mpt.quantize_blockwise
// SCALED-DAG: mpt.select_state %{{.*}}, %[[C]], %{{.*}} : (tensor<i1>, tensor<64x64xi8>, tensor<64x64xi8>)
// SCALED-DAG: mpt.select_state %{{.*}}, %[[S]], %{{.*}} : (tensor<i1>, tensor<16xf32>, tensor<16xf32>)

// SPLIT: func.func @loss(%{{.*}}: tensor<64x64xbf16> {mpt.master = "split16"
// SPLIT: mpt.dequantize_blockwise
// SPLIT: mpt.adamw
// SPLIT-DAG: mpt.low_half
// SPLIT-DAG: mpt.quantize_blockwise

// GROUPS: tensor<64x64xi8> {mpt.init = {kind = "zeros"}, mpt.name = "w1.momentum_buffer"
// GROUPS-SAME: tensor<64xf32> {mpt.init = {kind = "zeros"}, mpt.name = "b1.momentum_buffer"
// GROUPS-SAME: tensor<64x64xi8> {mpt.init = {kind = "zeros"}, mpt.name = "w2.momentum_buffer"
// GROUPS: mpt.sgd {{.*}}momentum(

// ALL: tensor<64x64xbf16> {mpt.init = {kind = "zeros"}, mpt.name = "w1.momentum_buffer"
// ALL-SAME: tensor<64xbf16> {mpt.init = {kind = "zeros"}, mpt.name = "b1.momentum_buffer"

// KERNEL: mpt_kernel.kernel <row>({{.*}}) domain [16, 256]
// KERNEL: mpt_kernel.row_reduce <max>
// KERNEL: mpt_kernel.yield {{.*}} : {{.*}}i8
func.func @loss(%w1: tensor<64x64xf32> {mpt.name = "w1", mpt.role = "parameter"},
                %b1: tensor<64xf32> {mpt.name = "b1", mpt.role = "parameter"},
                %w2: tensor<64x64xf32> {mpt.name = "w2", mpt.role = "parameter"},
                %x: tensor<8x64xf32> {mpt.name = "x", mpt.role = "input"},
                %y: tensor<8x64xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.linear %x, %w1, %b1 : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  %a = mpt.tanh %h : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %p = mpt.linear %a, %w2 : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %l = mpt.mse_loss %p, %y : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- dynamic.mlir
func.func @step(%p: tensor<?xf32> {mpt.name = "p", mpt.role = "parameter"}, %g: tensor<?xf32> {mpt.name = "g", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"},
    %b: tensor<?xf32> {mpt.name = "b", mpt.role = "optimizer_state"})
    -> (tensor<?xf32> {mpt.name = "p", mpt.updates = "p"}, tensor<?xf32> {mpt.name = "b", mpt.updates = "b"}) {
  %q, %c = mpt.sgd param(%p) grad(%g) lr(%lr) momentum(%b) {momentum = 0.9 : f64} : (tensor<?xf32>, tensor<?xf32>, tensor<f32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  return %q, %c : tensor<?xf32>, tensor<?xf32>
}

//--- other.mlir
func.func @step(%p: tensor<4096xf32> {mpt.name = "p", mpt.role = "parameter"}, %g: tensor<4096xf32> {mpt.name = "g", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"},
    %b: tensor<4096xf32> {mpt.name = "b", mpt.role = "optimizer_state"})
    -> (tensor<4096xf32> {mpt.name = "p", mpt.updates = "p"}, tensor<4096xf32> {mpt.name = "b", mpt.updates = "b"}) {
  %q, %c = mpt.sgd param(%p) grad(%g) lr(%lr) momentum(%b) {momentum = 0.9 : f64} : (tensor<4096xf32>, tensor<4096xf32>, tensor<f32>, tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>)
  return %q, %g : tensor<4096xf32>, tensor<4096xf32>
}

//--- no-attempt.mlir
func.func @step(%p: tensor<4xf32> {mpt.name = "p", mpt.role = "parameter"}, %g: tensor<4xf32> {mpt.name = "g", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"},
    %b: tensor<4xf32> {mpt.name = "b", mpt.role = "optimizer_state"})
    -> (tensor<4xf32> {mpt.name = "p", mpt.updates = "p"}, tensor<4xf32> {mpt.name = "b", mpt.updates = "b"}) {
  %q, %c = mpt.sgd param(%p) grad(%g) lr(%lr) momentum(%b) {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %q, %c : tensor<4xf32>, tensor<4xf32>
}
