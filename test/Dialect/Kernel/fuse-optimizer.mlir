// RUN: mpt-opt %s --mpt-decompose --canonicalize --cse --mpt-fuse-kernels --canonicalize --cse | FileCheck %s

// What follows the backward pass reads each gradient twice and stores none: once to
// check and to measure it, once to update its parameter. Both unscale what they read.
// CHECK: %[[G:.*]] = mpt.reshape %arg3
// CHECK: mpt_kernel.kernel <column>(%[[G]], %[[INVERSE:[0-9a-z_]+]])
// CHECK-SAME: : (tensor<18x4096xf32>, tensor<f32>) -> (tensor<i1>, tensor<18xf32>)
// CHECK-NOT: <column>
// CHECK: mpt_kernel.kernel <pointwise>(%[[G]], %[[INVERSE]], {{.*}}) domain [18, 4096]
// CHECK-SAME: -> (tensor<18x4096xf32>, tensor<18x4096xf32>, tensor<18x4096xf32>)
func.func @step(%w: tensor<768x96xf32> {mpt.name = "w", mpt.role = "parameter"}, %m: tensor<768x96xf32> {mpt.name = "m", mpt.role = "optimizer_state"}, %v: tensor<768x96xf32> {mpt.name = "v", mpt.role = "optimizer_state"},
  %g: tensor<768x96xf32> {mpt.name = "g", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"}, %s: tensor<f32> {mpt.name = "s", mpt.role = "loss_scale"}, %t: tensor<i64> {mpt.name = "t", mpt.role = "optimizer_state"})
  -> (tensor<768x96xf32> {mpt.name = "w", mpt.updates = "w"}, tensor<768x96xf32> {mpt.name = "m", mpt.updates = "m"}, tensor<768x96xf32> {mpt.name = "v", mpt.updates = "v"}, tensor<f32> {mpt.name = "norm"}) {
  %u, %ok = mpt.unscale %g, %s : (tensor<768x96xf32>, tensor<f32>) -> (tensor<768x96xf32>, tensor<i1>)
  %c, %n = mpt.clip_by_global_norm %u {max_norm = 1.0 : f64} : (tensor<768x96xf32>) -> (tensor<768x96xf32>, tensor<f32>)
  %nw, %nm, %nv = mpt.adamw param(%w) grad(%c) lr(%lr) moments(%m, %v) step(%t) if(%ok) {weight_decay = 0.1 : f64} : (tensor<768x96xf32>, tensor<768x96xf32>, tensor<f32>, tensor<768x96xf32>, tensor<768x96xf32>, tensor<i64>, tensor<i1>) -> (tensor<768x96xf32>, tensor<768x96xf32>, tensor<768x96xf32>)
  return %nw, %nm, %nv, %n : tensor<768x96xf32>, tensor<768x96xf32>, tensor<768x96xf32>, tensor<f32>
}

// A step that nothing is clipped in: its norm costs no pass of its own over the gradient.
// RUN: mpt-opt %s --mpt-decompose --canonicalize --cse --mpt-fuse-kernels --canonicalize --cse | FileCheck %s --check-prefix=NORM
// NORM-LABEL: @measured
// NORM: %[[G:.*]] = mpt.reshape %arg1
// NORM: mpt_kernel.kernel <column>(%[[G]], %{{[0-9a-z_]+}})
// NORM-SAME: : (tensor<18x4096xf32>, tensor<f32>) -> (tensor<i1>, tensor<18xf32>)
// The sums of squares of the blocks are added in a kernel of their own.
// NORM: mpt_kernel.kernel <row>({{.*}}) domain [18]
// NORM-NOT: <column>
// NORM: mpt_kernel.kernel <pointwise>({{.*}}) domain [18, 4096]
// NORM-SAME: -> tensor<18x4096xf32>
// NORM-NOT: domain [18, 4096]
func.func @measured(%w: tensor<768x96xf32> {mpt.name = "w", mpt.role = "parameter"},
  %g: tensor<768x96xf32> {mpt.name = "g", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"}, %s: tensor<f32> {mpt.name = "s", mpt.role = "loss_scale"})
  -> (tensor<768x96xf32> {mpt.name = "w", mpt.updates = "w"}, tensor<f32> {mpt.name = "grad_norm"}) {
  %u, %ok = mpt.unscale %g, %s : (tensor<768x96xf32>, tensor<f32>) -> (tensor<768x96xf32>, tensor<i1>)
  %c, %n = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<768x96xf32>) -> (tensor<768x96xf32>, tensor<f32>)
  %nw = mpt.sgd param(%w) grad(%u) lr(%lr) if(%ok) : (tensor<768x96xf32>, tensor<768x96xf32>, tensor<f32>, tensor<i1>) -> tensor<768x96xf32>
  return %nw, %n : tensor<768x96xf32>, tensor<f32>
}

// Rows of 16, which blocks are no multiple of: whole blocks of 4,096 are read where they
// are, checked and measured in one pass, and only what is left is copied.
// RUN: mpt-opt %s --mpt-decompose --canonicalize --cse --mpt-fuse-kernels --canonicalize --cse | FileCheck %s --check-prefix=PARTS
// PARTS-LABEL: @parts
// PARTS: %[[G:.*]] = mpt.scatter_add
// PARTS: %[[FLAT:.*]] = mpt.reshape %[[G]] : (tensor<20011x16xf32>) -> tensor<320176xf32>
// PARTS: %[[WHOLE:.*]] = mpt.slice %[[FLAT]] {offsets = array<i64: 0>, sizes = array<i64: 319488>
// PARTS: %[[ROWS:.*]] = mpt.reshape %[[WHOLE]] : (tensor<319488xf32>) -> tensor<78x4096xf32>
// PARTS: mpt_kernel.kernel <pointwise>(%[[FLAT]], %[[INVERSE:[0-9a-z_]+]]) domain [688]
// PARTS: mpt_kernel.kernel <column>(%[[ROWS]], %[[INVERSE]], {{.*}}) domain [78, 4096]
// PARTS-SAME: -> (tensor<i1>, tensor<78xf32>)
// PARTS-NOT: domain [320176]
// PARTS: mpt_kernel.kernel <pointwise>(%[[FLAT]], %[[INVERSE]], {{.*}}) domain [320176]
// PARTS-SAME: -> tensor<320176xf32>
// PARTS-NOT: domain [320176]
func.func @parts(%w: tensor<20011x16xf32> {mpt.name = "w", mpt.role = "parameter"}, %i: tensor<64xi64> {mpt.name = "i", mpt.role = "input"}, %dy: tensor<64x16xf32> {mpt.name = "dy", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"}, %s: tensor<f32> {mpt.name = "s", mpt.role = "loss_scale"})
  -> (tensor<20011x16xf32> {mpt.name = "w", mpt.updates = "w"}, tensor<f32> {mpt.name = "grad_norm"}) {
  %g = mpt.scatter_add %i, %dy : (tensor<64xi64>, tensor<64x16xf32>) -> tensor<20011x16xf32>
  %u, %ok = mpt.unscale %g, %s : (tensor<20011x16xf32>, tensor<f32>) -> (tensor<20011x16xf32>, tensor<i1>)
  %c, %n = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<20011x16xf32>) -> (tensor<20011x16xf32>, tensor<f32>)
  %nw = mpt.sgd param(%w) grad(%u) lr(%lr) if(%ok) : (tensor<20011x16xf32>, tensor<20011x16xf32>, tensor<f32>, tensor<i1>) -> tensor<20011x16xf32>
  return %nw, %n : tensor<20011x16xf32>, tensor<f32>
}

// Blocks from the middle are no such part: what is scaled is stored, since all read it.
// PARTS-LABEL: @no_part
// PARTS: mpt_kernel.kernel <pointwise>({{.*}}) domain [20, 4096]
// PARTS-SAME: -> tensor<20x4096xf32>
// PARTS: mpt_kernel.kernel <pointwise>({{.*}}) domain [4096]
func.func @no_part(%g: tensor<64x4096xf32>, %i: tensor<64xi64>, %s: tensor<f32>) -> (tensor<20x4096xf32>, tensor<4096xf32>) {
  %a = mpt.scatter_add %i, %g : (tensor<64xi64>, tensor<64x4096xf32>) -> tensor<20x4096xf32>
  %u = mpt.mul %a, %s : (tensor<20x4096xf32>, tensor<f32>) -> tensor<20x4096xf32>
  %f = mpt.reshape %u : (tensor<20x4096xf32>) -> tensor<81920xf32>
  %p = mpt.slice %f {offsets = array<i64: 4096>, sizes = array<i64: 4096>, strides = array<i64: 1>} : (tensor<81920xf32>) -> tensor<4096xf32>
  return %u, %p : tensor<20x4096xf32>, tensor<4096xf32>
}

// The norm alone reads parts, of a gradient that a matmul makes: they come after it.
// PARTS-LABEL: @parts_of_matmul
// PARTS: %[[G:.*]] = mpt.matmul
// PARTS: %[[FLAT:.*]] = mpt.reshape %[[G]] : (tensor<500x500xf32>) -> tensor<250000xf32>
// PARTS: %[[WHOLE:.*]] = mpt.slice %[[FLAT]] {offsets = array<i64: 0>, sizes = array<i64: 249856>
// PARTS: %[[ROWS:.*]] = mpt.reshape %[[WHOLE]] : (tensor<249856xf32>) -> tensor<61x4096xf32>
// PARTS: mpt_kernel.kernel <{{.*}}>(%[[ROWS]], %arg2) domain [61, 4096]
func.func @parts_of_matmul(%x: tensor<132x500xf16>, %dy: tensor<132x500xf16>, %s: tensor<f32>) -> (tensor<500x500xf32>, tensor<f32>) {
  %g = mpt.matmul %x, %dy {transpose_lhs} : (tensor<132x500xf16>, tensor<132x500xf16>) -> tensor<500x500xf32>
  %u = mpt.mul %g, %s : (tensor<500x500xf32>, tensor<f32>) -> tensor<500x500xf32>
  %c, %n = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<500x500xf32>) -> (tensor<500x500xf32>, tensor<f32>)
  return %u, %n : tensor<500x500xf32>, tensor<f32>
}
