// What elementwise ops of one kernel make and read in half precision stays f32; what is
// stored, shifted, reduced, read by a later part of the step or cast is rounded.
//
// RUN: mpt-opt %s --mpt-widen-temporaries | FileCheck %s
// RUN: mpt-opt %s --mpt-widen-temporaries --mpt-widen-temporaries | FileCheck %s
// RUN: mpt-opt %s --mpt-widen-temporaries --mpt-fuse-kernels | FileCheck %s --check-prefix=FUSED
// RUN: mpt-opt %s --mpt-widen-temporaries --mpt-decompose --mpt-fuse-kernels | FileCheck %s --check-prefix=NORM
// RUN: mpt-opt %s --mpt-widen-temporaries --remarks-filter='mpt\.kernels' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: widen-temporaries.mlir:[[# @LINE + 11]]:8: remark: {{.*}}kept-wide{{.*}}mpt.mul is not rounded to bf16
// CHECK-LABEL: @chain
// CHECK:      mpt.mul %arg0, %arg1 : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK-NEXT: mpt.tanh {{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: mpt.add {{.*}} : (tensor<4x8xf32>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
// FUSED-LABEL: @chain
// FUSED-NOT:  arith.truncf
// FUSED:      arith.addf
// FUSED-NEXT: arith.truncf
// FUSED-NEXT: mpt_kernel.yield
func.func @chain(%a: tensor<4x8xbf16>, %b: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = mpt.mul %a, %b : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %1 = mpt.tanh %0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %2 = mpt.add %1, %a : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %2 : tensor<4x8xbf16>
}

// Several readers, if all are in the kernel.
// CHECK-LABEL: @fork
// CHECK: mpt.exp %arg0 : (tensor<8xf16>) -> tensor<8xf32>
// CHECK: mpt.neg {{.*}} -> tensor<8xf32>
// CHECK: mpt.mul {{.*}} -> tensor<8xf16>
func.func @fork(%a: tensor<8xf16>) -> tensor<8xf16> {
  %0 = mpt.exp %a : (tensor<8xf16>) -> tensor<8xf16>
  %1 = mpt.neg %0 : (tensor<8xf16>) -> tensor<8xf16>
  %2 = mpt.mul %0, %1 : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %2 : tensor<8xf16>
}

// CHECK-LABEL: @stored
// CHECK: mpt.exp %arg0 : (tensor<8xbf16>) -> tensor<8xbf16>
func.func @stored(%a: tensor<8xbf16>) -> (tensor<8xbf16>, tensor<8xbf16>) {
  %0 = mpt.exp %a : (tensor<8xbf16>) -> tensor<8xbf16>
  %1 = mpt.neg %0 : (tensor<8xbf16>) -> tensor<8xbf16>
  return %0, %1 : tensor<8xbf16>, tensor<8xbf16>
}

// Parts that pads set apart are written in place, and nothing is rounded.
// CHECK-LABEL: @parts
// CHECK-COUNT-2: mpt.add {{.*}} : (tensor<4x9xbf16>, tensor<4x9xbf16>) -> tensor<4x9xbf16>
func.func @parts(%a: tensor<4x3xbf16>, %b: tensor<4x3xbf16>, %c: tensor<4x3xbf16>) -> tensor<4x9xbf16> {
  %0 = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 6>} : (tensor<4x3xbf16>) -> tensor<4x9xbf16>
  %1 = mpt.pad %b {low = array<i64: 0, 3>, high = array<i64: 0, 3>} : (tensor<4x3xbf16>) -> tensor<4x9xbf16>
  %2 = mpt.pad %c {low = array<i64: 0, 6>, high = array<i64: 0, 0>} : (tensor<4x3xbf16>) -> tensor<4x9xbf16>
  %3 = mpt.add %0, %1 : (tensor<4x9xbf16>, tensor<4x9xbf16>) -> tensor<4x9xbf16>
  %4 = mpt.add %3, %2 : (tensor<4x9xbf16>, tensor<4x9xbf16>) -> tensor<4x9xbf16>
  return %4 : tensor<4x9xbf16>
}

// The user's casts stay, and what they read is rounded.
// CHECK-LABEL: @casts
// CHECK: mpt.exp {{.*}} -> tensor<8xbf16>
// CHECK: mpt.cast {{.*}} -> tensor<8xf32>
// CHECK: mpt.cast {{.*}} -> tensor<8xbf16>
// CHECK: mpt.add {{.*}} -> tensor<8xbf16>
func.func @casts(%a: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = mpt.exp %a : (tensor<8xbf16>) -> tensor<8xbf16>
  %1 = mpt.cast %0 : (tensor<8xbf16>) -> tensor<8xf32>
  %2 = mpt.cast %1 : (tensor<8xf32>) -> tensor<8xbf16>
  %3 = mpt.add %2, %a : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  return %3 : tensor<8xbf16>
}

// Slices read other elements, reductions all of them, and rows meet larger ones.
// CHECK-LABEL: @elsewhere
// CHECK: mpt.exp {{.*}} -> tensor<4x8xbf16>
// CHECK: mpt.log {{.*}} -> tensor<4x8xbf16>
// CHECK: mpt.sqrt {{.*}} -> tensor<4x1xbf16>
func.func @elsewhere(%a: tensor<4x8xbf16>, %row: tensor<4x1xbf16>)
    -> (tensor<4x7xbf16>, tensor<4xbf16>, tensor<4x8xbf16>) {
  %0 = mpt.exp %a : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %1 = mpt.slice %0 {offsets = array<i64: 0, 1>, sizes = array<i64: 4, 7>, strides = array<i64: 1, 1>}
      : (tensor<4x8xbf16>) -> tensor<4x7xbf16>
  %2 = mpt.log %a : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %3 = mpt.reduce %2 {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<4x8xbf16>) -> tensor<4xbf16>
  %4 = mpt.sqrt %row : (tensor<4x1xbf16>) -> tensor<4x1xbf16>
  %5 = mpt.add %a, %4 : (tensor<4x8xbf16>, tensor<4x1xbf16>) -> tensor<4x8xbf16>
  return %1, %3, %5 : tensor<4x7xbf16>, tensor<4xbf16>, tensor<4x8xbf16>
}

// A matmul stands between the op and one of its readers: the value is kept for it.
// CHECK-LABEL: @later
// CHECK: mpt.exp {{.*}} -> tensor<8x8xbf16>
func.func @later(%a: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %0 = mpt.exp %a : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = mpt.neg %0 : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %2 = mpt.matmul %1, %a : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %3 = mpt.mul %2, %0 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %3 : tensor<8x8xbf16>
}

// The same with the op repeated after the matmul: neither is widened, so that repeating
// changes no bit.
// CHECK-LABEL: @repeated
// CHECK-COUNT-2: mpt.exp {{.*}} -> tensor<8x8xbf16>
func.func @repeated(%a: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %0 = mpt.exp %a : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = mpt.neg %0 : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %2 = mpt.matmul %1, %a : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %again = mpt.barrier %a : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %3 = mpt.exp %again : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %4 = mpt.mul %2, %3 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %4 : tensor<8x8xbf16>
}

// A repeated chain is widened as the first is.
// CHECK-LABEL: @repeated_chain
// CHECK: mpt.exp {{.*}} -> tensor<8x8xf32>
// CHECK: mpt.neg {{.*}} -> tensor<8x8xbf16>
// CHECK: mpt.exp {{.*}} -> tensor<8x8xf32>
// CHECK: mpt.neg {{.*}} -> tensor<8x8xbf16>
func.func @repeated_chain(%a: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %0 = mpt.exp %a : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = mpt.neg %0 : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %2 = mpt.matmul %1, %a : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %again = mpt.barrier %a : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %3 = mpt.exp %again : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %4 = mpt.neg %3 : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %5 = mpt.mul %2, %4 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %5 : tensor<8x8xbf16>
}

// Broadcasts take the type of what they read.
// CHECK-LABEL: @broadcast
// CHECK: mpt.exp {{.*}} -> tensor<1x8xbf16>
func.func @broadcast(%a: tensor<1x8xbf16>) -> tensor<1x8xbf16> {
  %0 = mpt.exp %a : (tensor<1x8xbf16>) -> tensor<1x8xbf16>
  %1 = mpt.broadcast %0 : (tensor<1x8xbf16>) -> tensor<1x8xbf16>
  return %1 : tensor<1x8xbf16>
}

// The result of a norm that elementwise ops alone read, also after the matmul: each makes it of
// what was normalized.
// CHECK-LABEL: @norm
// CHECK: mpt.batch_norm {{.*}} -> (tensor<64x8xf32>,
// CHECK: mpt.silu {{.*}} : (tensor<64x8xf32>) -> tensor<64x8xbf16>
// CHECK: mpt.silu_grad {{.*}} : (tensor<64x8xbf16>, tensor<64x8xf32>) -> tensor<64x8xbf16>
// NORM-LABEL: @norm
// NORM: mpt_kernel.kernel <column>(%arg0
// NORM: mpt_kernel.kernel <pointwise>(%arg0, {{.*}}) -> tensor<64x8xbf16> {
// NORM-NOT: arith.truncf
// NORM: math.exp
// NORM: %[[DY:.*]] = mpt.matmul
// NORM: mpt_kernel.kernel <pointwise>({{.*}}%arg0{{.*}}) -> tensor<64x8xbf16> {
// NORM-NOT: arith.truncf
// NORM: math.exp
func.func @norm(%x: tensor<64x8xbf16>, %w: tensor<8x8xbf16>, %g: tensor<8xf32>, %b: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<64x8xbf16> {
  %y, %new_mean, %new_var, %mean, %rstd = mpt.batch_norm %x, %g, %b, %m, %v : (tensor<64x8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<64x8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %0 = mpt.silu %y : (tensor<64x8xbf16>) -> tensor<64x8xbf16>
  %1 = mpt.matmul %0, %w : (tensor<64x8xbf16>, tensor<8x8xbf16>) -> tensor<64x8xbf16>
  %2 = mpt.silu_grad %1, %y : (tensor<64x8xbf16>, tensor<64x8xbf16>) -> tensor<64x8xbf16>
  return %2 : tensor<64x8xbf16>
}

// One that a matmul reads is stored, so it is rounded; one of f32 has no narrower source.
// CHECK-LABEL: @stored_norm
// CHECK: mpt.layer_norm {{.*}} -> (tensor<64x8xbf16>,
// CHECK: mpt.rms_norm {{.*}} : (tensor<64x8xf32>, tensor<8xf32>) -> (tensor<64x8xbf16>,
func.func @stored_norm(%x: tensor<64x8xbf16>, %z: tensor<64x8xf32>, %w: tensor<8x8xbf16>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<64x8xbf16>, tensor<64x8xbf16>, tensor<64x8xbf16>) {
  %y, %mean, %rstd = mpt.layer_norm %x, %g, %b : (tensor<64x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<64x8xbf16>, tensor<64xf32>, tensor<64xf32>)
  %0 = mpt.silu %y : (tensor<64x8xbf16>) -> tensor<64x8xbf16>
  %1 = mpt.matmul %y, %w : (tensor<64x8xbf16>, tensor<8x8xbf16>) -> tensor<64x8xbf16>
  %2, %rstd2 = mpt.rms_norm %z, %g : (tensor<64x8xf32>, tensor<8xf32>) -> (tensor<64x8xbf16>, tensor<64xf32>)
  %3 = mpt.silu %2 : (tensor<64x8xbf16>) -> tensor<64x8xbf16>
  return %0, %1, %3 : tensor<64x8xbf16>, tensor<64x8xbf16>, tensor<64x8xbf16>
}
