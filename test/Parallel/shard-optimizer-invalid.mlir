// RUN: split-file %s %t
// RUN: not mpt-opt %t/model.mlir --mpt-autodiff --mpt-shard-optimizer 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not mpt-opt %t/model.mlir --mpt-shard-optimizer 2>&1 | FileCheck %s --check-prefix=FORWARD
// RUN: not mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-train-step --mpt-shard-optimizer 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer=stage=3 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer=groups=[ 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step --mpt-master-weights=kind=bf16-stochastic-rounding | FileCheck %s --check-prefix=RANDOM
// RUN: not mpt-opt %t/three.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=adam --mpt-optimizer-state="kind=block8 min-elements=0" 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=adam --mpt-optimizer-state="kind=bf16 min-elements=0" | FileCheck %s --check-prefix=BITS
// RUN: not mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=adam --mpt-optimizer-state="kind=bf16 rounding=nearest min-elements=0 groups=v=f32" 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer=groups=v --mpt-train-step=optimizer=adam --mpt-optimizer-state="kind=bf16 rounding=nearest min-elements=0 groups=v=f32" | FileCheck %s --check-prefix=CUT
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=adam --mpt-optimizer-state="kind=bf16 rounding=nearest" | FileCheck %s --check-prefix=SMALL
// RUN: mpt-opt %t/sizes.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=adam --mpt-optimizer-state="kind=bf16 rounding=nearest" | FileCheck %s --check-prefix=SIZES
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer=groups=v --mpt-train-step=optimizer=adam --mpt-optimizer-state="kind=bf16 rounding=nearest groups=v=f32" 2>&1 | FileCheck %s --check-prefix=MATCHED
// RUN: not mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=lr-groups=v=0.1 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer=groups=v --mpt-train-step=lr-groups=v=0.1 | FileCheck %s --check-prefix=APART
// RUN: not mpt-opt %t/model.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step --mpt-master-weights="groups=v=split16" 2>&1 | FileCheck %s --check-prefix=KINDS
// RUN: not mpt-opt %t/losses.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer 2>&1 | FileCheck %s --check-prefix=LOSSES
// RUN: not mpt-opt %t/name.mlir --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mpt-opt %t/axes.mlir --mpt-shard-parameters 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: mpt-opt %t/axes.mlir --mpt-shard-optimizer | FileCheck %s --check-prefix=APIECE
// RUN: mpt-opt %t/itself.mlir --mpt-shard-optimizer | FileCheck %s --check-prefix=ITSELF
// RUN: mpt-opt %t/itself.mlir --mpt-shard-optimizer=stage=1 | FileCheck %s --check-prefix=ITSELF
// RUN: mpt-opt %t/itself.mlir --mpt-shard-parameters | FileCheck %s --check-prefix=ITSELF
// RUN: mpt-opt %t/attributes.mlir --split-input-file --verify-diagnostics

// ALONE: mpt-shard-optimizer: expected the gradient of "w" to be averaged over ranks; run --mpt-data-parallel with a size of at least 2 first
// FORWARD: mpt-shard-optimizer: expected one mpt.gradients op, found 0; run --mpt-autodiff first
// LATE: mpt-shard-optimizer: expected gradients that are only returned, found a use; run --mpt-shard-optimizer before --mpt-train-step
// STAGE: mpt-shard-optimizer: expected stage 1 or 2, found 3; --mpt-shard-parameters is stage 3
// REGEX: mpt-shard-optimizer: groups: '[' is not a regular expression:
// Each rank draws for all parameters, from the streams that one process has, and takes its part.
// RANDOM: %[[W:.*]] = mpt.random_bits {{.*}}shape = array<i64: 16>, stream = 0
// RANDOM: %[[V:.*]] = mpt.random_bits {{.*}}shape = array<i64: 16>, stream = 1
// RANDOM: mpt.concat {{.*}} : (tensor<16xi16>, tensor<16xi16>) -> tensor<32xi16>
// RANDOM: mpt.gather {{.*}} : (tensor<2x16xi16>, tensor<1xi64>)
// RANDOM: mpt.stochastic_round {{.*}} : (tensor<16xf32>, tensor<16xi16>)
// STATE: mpt-optimizer-state: blocks of 256 elements would have some of 'u' and of what is cut together with it; use block-size=256 and min-elements of at least 4096
// BITS: mpt.random_bits {{.*}}stream = 1
// BITS: mpt.random_bits {{.*}}stream = 3
// BITS: mpt.stochastic_round %new_exp_avg_sq
// BITS: mpt.random_bits {{.*}}stream = 0
// BITS: mpt.random_bits {{.*}}stream = 2
// BITS: mpt.stochastic_round %new_exp_avg,
// MIXED: mpt-optimizer-state: 'w' and 'v' are cut together and need one kind; give the same expressions as groups to the pass that cuts them, --mpt-shard-optimizer or --mpt-shard-parameters, and min-elements=0 or 4096
// CUT-DAG: tensor<{{[0-9]+}}xbf16> {mpt.name = "shards.0.exp_avg"
// CUT-DAG: tensor<{{[0-9]+}}xf32> {mpt.name = "shards.1.exp_avg"
// SMALL-NOT: xbf16>
// SMALL: mpt.name = "shards.0.exp_avg"
// SMALL-NOT: xbf16>
// Parameters of fewer elements than a block are cut apart, and keep f32 as in one process.
// SIZES: tensor<{{[0-9]+}}xbf16> {mpt.name = "shards.0.exp_avg"
// SIZES: tensor<{{[0-9]+}}xf32> {{{.*}}mpt.name = "shards.1.exp_avg"
// An expression that matches small parameters matches.
// MATCHED-NOT: matches the name of no
// MATCHED: mpt.name = "shards.0"
// GROUPS: mpt-train-step: lr-groups: 'v' matches 'v' and not 'w', and both are cut together; give groups='v' to the pass that cuts them, --mpt-shard-optimizer or --mpt-shard-parameters
// KINDS: mpt-master-weights: groups: 'w' and 'v' are cut together and need one kind; give the same expressions as groups to the pass that cuts them, --mpt-shard-optimizer or --mpt-shard-parameters
// APART: mpt.name = "shards.1"
// LOSSES: mpt-shard-optimizer: expected one mpt.gradients op, found 2; the optimizer of several losses cannot be cut, add the losses first
// AXES: mpt-shard-parameters: expected all gradients to be averaged alike, found that of "v" with another axis, order or wire than that of "w"; use --mpt-shard-optimizer
// APIECE-DAG: mpt.reduce_scatter {{.*}}axis = "data"
// APIECE-DAG: mpt.reduce_scatter {{.*}}axis = "other"
// A parameter may be a gradient, too.
// ITSELF: func.func @loss(%[[SHARD:.*]]: tensor<16xf32>
// ITSELF: %[[ALL:.*]] = mpt.all_gather %[[SHARD]] {
// ITSELF: %[[W:.*]] = mpt.reshape %{{.*}} -> tensor<4x4xf32>
// ITSELF: %[[FLAT:.*]] = mpt.reshape %[[W]]
// ITSELF: %[[JOINED:.*]] = mpt.concat
// ITSELF: %[[PART:.*]] = mpt.reduce_scatter %[[JOINED]]
// ITSELF: mpt.gradients %[[PART]]
// NAME: mpt-shard-optimizer: an argument is called 'shards.0', as one that this pass adds; rename it

//--- model.mlir
func.func @loss(
    %w: tensor<4x4xf32> {mpt.name = "w", mpt.role = "parameter"},
    %v: tensor<4x4xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = mpt.matmul %0, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %l = mpt.reduce %1 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- three.mlir
func.func @loss(
    %w: tensor<4x4xf32> {mpt.name = "w", mpt.role = "parameter"},
    %v: tensor<4x4xf32> {mpt.name = "v", mpt.role = "parameter"},
    %u: tensor<4x4xf32> {mpt.name = "u", mpt.role = "parameter"},
    %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = mpt.matmul %0, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = mpt.matmul %1, %u : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %l = mpt.reduce %2 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- sizes.mlir
func.func @loss(
    %w: tensor<4x1024xf32> {mpt.name = "w", mpt.role = "parameter"},
    %v: tensor<1024x1xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.matmul %x, %w : (tensor<8x4xf32>, tensor<4x1024xf32>) -> tensor<8x1024xf32>
  %1 = mpt.matmul %0, %v : (tensor<8x1024xf32>, tensor<1024x1xf32>) -> tensor<8x1xf32>
  %l = mpt.reduce %1 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- losses.mlir
func.func @loss(
    %w: tensor<4x4xf32> {mpt.name = "w", mpt.role = "parameter"},
    %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "a", mpt.loss}, tensor<f32> {mpt.name = "b", mpt.loss}) {
  %0 = mpt.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %a = mpt.reduce %0 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  %b = mpt.mul %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}

//--- name.mlir
func.func @loss(
    %w: tensor<4x4xf32> {mpt.name = "w", mpt.role = "parameter"},
    %x: tensor<8x4xf32> {mpt.name = "shards.0", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %l = mpt.reduce %0 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- axes.mlir
module attributes {mpt.mesh = #mpt.mesh<data = 2, other = 4>} {
func.func @loss(
    %w: tensor<4x4xf32> {mpt.name = "w", mpt.role = "parameter"},
    %v: tensor<4x4xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<4x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<4x4xf32> {mpt.name = "grad.w"}, tensor<4x4xf32> {mpt.name = "grad.v"}) {
  %0 = mpt.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = mpt.matmul %0, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = mpt.all_reduce %0 {axis = "data", kind = #mpt.collective_kind<mean>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = mpt.all_reduce %1 {axis = "other", kind = #mpt.collective_kind<mean>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %g:2 = mpt.gradients %a, %b {names = ["w", "v"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return %g#0, %g#1 : tensor<4x4xf32>, tensor<4x4xf32>
}
}

//--- itself.mlir
module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @loss(%w: tensor<4x4xf32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<4x4xf32> {mpt.name = "grad.w"}) {
  %a = mpt.all_reduce %w {axis = "data", kind = #mpt.collective_kind<mean>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = mpt.gradients %a {names = ["w"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}
}

//--- attributes.mlir
// expected-error @+1 {{expected 'mpt.shards' to have axis, a string; ranks and blocks, i64; tensors, an array; and pieces, five i64 each; found {axis = "data"}}}
func.func private @keys(%w: tensor<4xf32> {mpt.shards = {axis = "data"}})

// -----

// expected-error @+1 {{expected 'mpt.shards' on an argument of one dimension, found 'tensor<2x2xf32>'}}
func.func private @type(%w: tensor<2x2xf32> {mpt.shards = {axis = "data", ranks = 1 : i64, blocks = 0 : i64, tensors = [], pieces = array<i64>}})

// -----

// expected-error @+1 {{expected a tensor of 'mpt.shards' to have name, a string; shape, array<i64>; and order, i64; found {name = "w"}}}
func.func private @tensor(%w: tensor<4xf32> {mpt.shards = {axis = "data", ranks = 1 : i64, blocks = 0 : i64, tensors = [{name = "w"}], pieces = array<i64>}})

// -----

// expected-error @+1 {{expected the pieces of 'mpt.shards' to cover 'w' in order, found an end at element 2 of 4}}
func.func private @cover(%w: tensor<2xf32> {mpt.shards = {axis = "data", ranks = 2 : i64, blocks = 0 : i64, tensors = [{name = "w", order = 0 : i64, shape = array<i64: 4>}], pieces = array<i64: 0, 0, 0, 2, 0>}})

// -----

// expected-error @+1 {{expected each piece of 'mpt.shards' to be a tensor, a rank, a range and its offset in the shard, found 0, 2, 0, 4, 0}}
func.func private @rank(%w: tensor<4xf32> {mpt.shards = {axis = "data", ranks = 2 : i64, blocks = 0 : i64, tensors = [{name = "w", order = 0 : i64, shape = array<i64: 4>}], pieces = array<i64: 0, 2, 0, 4, 0>}})

// -----

// expected-error @+1 {{expected pieces of 'mpt.shards' that do not overlap, found two at offset 1 of rank 0}}
func.func private @overlap(%w: tensor<4xf32> {mpt.shards = {axis = "data", ranks = 1 : i64, blocks = 0 : i64, tensors = [{name = "w", order = 0 : i64, shape = array<i64: 4>}], pieces = array<i64: 0, 0, 0, 2, 0, 0, 0, 2, 4, 1>}})

// -----

// expected-error @+1 {{expected the pieces of 'mpt.shards' in the order of its tensors, found one of tensor 0 at place 1}}
func.func private @order(%w: tensor<4xf32> {mpt.shards = {axis = "data", ranks = 1 : i64, blocks = 0 : i64, tensors = [{name = "w", order = 0 : i64, shape = array<i64: 2>}], pieces = array<i64: 0, 0, 0, 2, 0, 0, 0, 0, 2, 2>}})

// -----

// expected-error @+1 {{expected 'mpt.shards' with 'joined' on an argument of as many elements for each of 2 ranks, found 'tensor<5xf32>'}}
func.func private @joined(%w: tensor<5xf32> {mpt.shards = {axis = "data", joined, ranks = 2 : i64, blocks = 0 : i64, tensors = [{name = "w", order = 0 : i64, shape = array<i64: 4>}], pieces = array<i64: 0, 0, 0, 4, 0>}})
