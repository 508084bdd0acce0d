// One scale for each tensor: mpt.gemm_quantize makes both orientations of what is cast to 8 bits, and its amax.
// RUN: mpt-opt %s --mpt-legalize-for-gpu="chip=sm_90" --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-legalize-for-gpu="chip=sm_90 both-orientations=false" --split-input-file | FileCheck %s --check-prefix=APART
// RUN: mpt-opt %s --mpt-legalize-for-gpu="chip=sm_80" --split-input-file | FileCheck %s --check-prefix=OLD
// OLD-NOT: gemm_quantize

// A scale from before (recipe=delayed) and an argument, which autocast rounds. Its amax is that of tiles.
// CHECK-LABEL: @argument
// CHECK-SAME: %[[W:.*]]: tensor<144x272xf32>, %[[S:.*]]: tensor<f32>,
// CHECK-NOT: mpt.cast
// CHECK: %[[Q:.*]], %[[T:.*]], %[[TILES:.*]] = mpt.gemm_quantize %[[W]] factor(%[[S]]) {block = array<i64: 0, 0>, {{.*}}resultSegmentSizes = array<i32: 1, 0, 1, 0, 1>, scaling = #mpt.gemm_scaling<none>, via = bf16} : (tensor<144x272xf32>, tensor<f32>) -> (tensor<144x272xf8E4M3FN>, tensor<272x144xf8E4M3FN>, tensor<2x3xf32>)
// CHECK-NEXT: %[[AMAX:.*]] = mpt.reduce %[[TILES]] {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<max>} : (tensor<2x3xf32>) -> tensor<f32>
// CHECK-NOT: mpt.transpose
// CHECK: mpt.matmul %{{.*}}, %[[Q]] {{{.*}}transpose_rhs}
// CHECK: mpt.matmul %{{.*}}, %[[T]] {{{.*}}transpose_rhs}
// CHECK: return %{{.*}}, %{{.*}}, %[[AMAX]]
// With little memory the transpose is made where it is read.
// APART-LABEL: @argument
// APART: %[[Q:.*]], %{{.*}} = mpt.gemm_quantize %{{.*}} factor(%{{.*}}) {{.*}}resultSegmentSizes = array<i32: 1, 0, 0, 0, 1>
// APART: mpt.matmul %{{.*}}, %[[Q]] {{{.*}}transpose_rhs}
// APART: %[[T:.*]] = mpt.gemm_quantize %[[Q]] {{.*}}resultSegmentSizes = array<i32: 0, 0, 1, 0, 0>
// APART: mpt.matmul %{{.*}}, %[[T]] {{{.*}}transpose_rhs}
// OLD-LABEL: @argument
func.func @argument(%w: tensor<144x272xf32>, %s: tensor<f32>, %a: tensor<32x272xf8E4M3FN>, %b: tensor<32x144xf8E4M3FN>) -> (tensor<32x144xf32>, tensor<32x272xf32>, tensor<f32>) {
  %low = mpt.cast %w {autocast} : (tensor<144x272xf32>) -> tensor<144x272xbf16>
  %wide = mpt.cast %low : (tensor<144x272xbf16>) -> tensor<144x272xf32>
  %abs = mpt.abs %wide : (tensor<144x272xf32>) -> tensor<144x272xf32>
  %amax = mpt.reduce %abs {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<max>} : (tensor<144x272xf32>) -> tensor<f32>
  %most = mpt.constant dense<448.0> : tensor<f32>
  %least = mpt.constant dense<-448.0> : tensor<f32>
  %scaled = mpt.mul %wide, %s : (tensor<144x272xf32>, tensor<f32>) -> tensor<144x272xf32>
  %below = mpt.minimum %scaled, %most : (tensor<144x272xf32>, tensor<f32>) -> tensor<144x272xf32>
  %between = mpt.maximum %below, %least : (tensor<144x272xf32>, tensor<f32>) -> tensor<144x272xf32>
  %finite = mpt.is_finite %wide : (tensor<144x272xf32>) -> tensor<144x272xi1>
  %kept = mpt.where %finite, %between, %wide : (tensor<144x272xi1>, tensor<144x272xf32>, tensor<144x272xf32>) -> tensor<144x272xf32>
  %q = mpt.cast %kept : (tensor<144x272xf32>) -> tensor<144x272xf8E4M3FN>
  %y = mpt.matmul %a, %q {transpose_rhs} : (tensor<32x272xf8E4M3FN>, tensor<144x272xf8E4M3FN>) -> tensor<32x144xf32>
  %z = mpt.matmul %b, %q : (tensor<32x144xf8E4M3FN>, tensor<144x272xf8E4M3FN>) -> tensor<32x272xf32>
  return %y, %z, %amax : tensor<32x144xf32>, tensor<32x272xf32>, tensor<f32>
}

// -----

// A scale of the tensor's own amax (recipe=current): x is stored narrow, and read again. Its rows have leading
// dimensions, and the product of both factors may be written in either order.
// CHECK-LABEL: @current
// CHECK: %[[X:.*]] = mpt.gelu
// CHECK: %[[FACTOR:.*]] = mpt.div
// CHECK: %[[ROWS:.*]] = mpt.reshape %[[X]] : (tensor<2x16x144xbf16>) -> tensor<32x144xbf16>
// CHECK: %[[Q:.*]], %[[T:.*]] = mpt.gemm_quantize %[[ROWS]] factor(%[[FACTOR]]) {block = array<i64: 0, 0>, {{.*}}resultSegmentSizes = array<i32: 1, 0, 1, 0, 0>, scaling = #mpt.gemm_scaling<none>} : (tensor<32x144xbf16>, tensor<f32>) -> (tensor<32x144xf8E5M2>, tensor<144x32xf8E5M2>)
// CHECK: %[[BACK:.*]] = mpt.reshape %[[Q]] : (tensor<32x144xf8E5M2>) -> tensor<2x16x144xf8E5M2>
// CHECK: mpt.matmul %[[BACK]]
// CHECK: mpt.matmul %[[T]], %{{.*}} {{{.*}}transpose_rhs}
func.func @current(%h: tensor<2x16x144xbf16>, %w: tensor<48x144xf8E4M3FN>, %d: tensor<48x32xf8E4M3FN>) -> (tensor<2x16x48xf32>, tensor<144x48xf32>) {
  %x = mpt.gelu %h : (tensor<2x16x144xbf16>) -> tensor<2x16x144xbf16>
  %wide = mpt.cast %x : (tensor<2x16x144xbf16>) -> tensor<2x16x144xf32>
  %abs = mpt.abs %wide : (tensor<2x16x144xf32>) -> tensor<2x16x144xf32>
  %amax = mpt.reduce %abs {axes = array<i64: 0, 1, 2>, kind = #mpt.reduce_kind<max>} : (tensor<2x16x144xf32>) -> tensor<f32>
  %most = mpt.constant dense<57344.0> : tensor<f32>
  %least = mpt.constant dense<-57344.0> : tensor<f32>
  %s = mpt.div %most, %amax : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %scaled = mpt.mul %s, %wide : (tensor<f32>, tensor<2x16x144xf32>) -> tensor<2x16x144xf32>
  %below = mpt.minimum %scaled, %most : (tensor<2x16x144xf32>, tensor<f32>) -> tensor<2x16x144xf32>
  %between = mpt.maximum %below, %least : (tensor<2x16x144xf32>, tensor<f32>) -> tensor<2x16x144xf32>
  %finite = mpt.is_finite %wide : (tensor<2x16x144xf32>) -> tensor<2x16x144xi1>
  %kept = mpt.where %finite, %between, %wide : (tensor<2x16x144xi1>, tensor<2x16x144xf32>, tensor<2x16x144xf32>) -> tensor<2x16x144xf32>
  %q = mpt.cast %kept : (tensor<2x16x144xf32>) -> tensor<2x16x144xf8E5M2>
  %y = mpt.matmul %q, %w {transpose_rhs} : (tensor<2x16x144xf8E5M2>, tensor<48x144xf8E4M3FN>) -> tensor<2x16x48xf32>
  %flat = mpt.reshape %q : (tensor<2x16x144xf8E5M2>) -> tensor<32x144xf8E5M2>
  %z = mpt.matmul %flat, %d {transpose_lhs, transpose_rhs} : (tensor<32x144xf8E5M2>, tensor<48x32xf8E4M3FN>) -> tensor<144x48xf32>
  return %y, %z : tensor<2x16x48xf32>, tensor<144x48xf32>
}

// -----

// A scale from before and a value that a kernel computes: the cast is that kernel's end, and its 8 bits are turned.
// CHECK-LABEL: @fused
// CHECK: %[[Q:.*]] = mpt.cast %{{.*}} : (tensor<32x144xf32>) -> tensor<32x144xf8E4M3FN>
// CHECK: %[[T:.*]] = mpt.gemm_quantize %[[Q]] {{.*}} : (tensor<32x144xf8E4M3FN>) -> tensor<144x32xf8E4M3FN>
// CHECK: mpt.matmul %[[T]]
func.func @fused(%h: tensor<32x144xf32>, %s: tensor<f32>, %d: tensor<48x32xf8E4M3FN>) -> (tensor<144x48xf32>, tensor<f32>) {
  %x = mpt.gelu %h : (tensor<32x144xf32>) -> tensor<32x144xf32>
  %abs = mpt.abs %x : (tensor<32x144xf32>) -> tensor<32x144xf32>
  %amax = mpt.reduce %abs {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<max>} : (tensor<32x144xf32>) -> tensor<f32>
  %most = mpt.constant dense<448.0> : tensor<f32>
  %least = mpt.constant dense<-448.0> : tensor<f32>
  %scaled = mpt.mul %x, %s : (tensor<32x144xf32>, tensor<f32>) -> tensor<32x144xf32>
  %below = mpt.minimum %scaled, %most : (tensor<32x144xf32>, tensor<f32>) -> tensor<32x144xf32>
  %between = mpt.maximum %below, %least : (tensor<32x144xf32>, tensor<f32>) -> tensor<32x144xf32>
  %finite = mpt.is_finite %x : (tensor<32x144xf32>) -> tensor<32x144xi1>
  %kept = mpt.where %finite, %between, %x : (tensor<32x144xi1>, tensor<32x144xf32>, tensor<32x144xf32>) -> tensor<32x144xf32>
  %q = mpt.cast %kept : (tensor<32x144xf32>) -> tensor<32x144xf8E4M3FN>
  %z = mpt.matmul %q, %d {transpose_lhs, transpose_rhs} : (tensor<32x144xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<144x48xf32>
  return %z, %amax : tensor<144x48xf32>, tensor<f32>
}

// -----

// Other casts stay: one that saturates elsewhere, one without a factor, and sizes that are no multiples of 16, which are
// also turned by copies.
// CHECK-LABEL: @others
// CHECK-NOT: gemm_quantize
// CHECK: return
func.func @others(%x: tensor<32x48xf32>, %odd: tensor<40x24xf32>, %s: tensor<f32>) -> (tensor<32x48xf8E4M3FN>, tensor<32x48xf8E4M3FN>, tensor<24x40xf8E4M3FN>) {
  %most = mpt.constant dense<240.0> : tensor<f32>
  %least = mpt.constant dense<-240.0> : tensor<f32>
  %scaled = mpt.mul %x, %s : (tensor<32x48xf32>, tensor<f32>) -> tensor<32x48xf32>
  %below = mpt.minimum %scaled, %most : (tensor<32x48xf32>, tensor<f32>) -> tensor<32x48xf32>
  %between = mpt.maximum %below, %least : (tensor<32x48xf32>, tensor<f32>) -> tensor<32x48xf32>
  %finite = mpt.is_finite %x : (tensor<32x48xf32>) -> tensor<32x48xi1>
  %kept = mpt.where %finite, %between, %x : (tensor<32x48xi1>, tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %q = mpt.cast %kept : (tensor<32x48xf32>) -> tensor<32x48xf8E4M3FN>
  %p = mpt.cast %x : (tensor<32x48xf32>) -> tensor<32x48xf8E4M3FN>
  %r = mpt.cast %odd : (tensor<40x24xf32>) -> tensor<40x24xf8E4M3FN>
  %t = mpt.transpose %r {permutation = array<i64: 1, 0>} : (tensor<40x24xf8E4M3FN>) -> tensor<24x40xf8E4M3FN>
  return %q, %p, %t : tensor<32x48xf8E4M3FN>, tensor<32x48xf8E4M3FN>, tensor<24x40xf8E4M3FN>
}

// -----

// Each function has a budget of its own.
// CHECK-LABEL: @roomy
// CHECK: %{{.*}}, %{{.*}} = mpt.gemm_quantize %{{.*}} factor
// CHECK-NOT: gemm_quantize
// CHECK-LABEL: @tight
// CHECK: %[[Q:.*]] = mpt.gemm_quantize %{{.*}} factor
// CHECK: %{{.*}} = mpt.gemm_quantize %[[Q]] {
func.func @roomy(%x: tensor<32x144xbf16>, %s: tensor<f32>, %w: tensor<48x144xf8E4M3FN>, %d: tensor<48x32xf8E4M3FN>) -> (tensor<32x48xf32>, tensor<144x48xf32>) {
  %wide = mpt.cast %x : (tensor<32x144xbf16>) -> tensor<32x144xf32>
  %most = mpt.constant dense<448.0> : tensor<f32>
  %least = mpt.constant dense<-448.0> : tensor<f32>
  %scaled = mpt.mul %wide, %s : (tensor<32x144xf32>, tensor<f32>) -> tensor<32x144xf32>
  %below = mpt.minimum %scaled, %most : (tensor<32x144xf32>, tensor<f32>) -> tensor<32x144xf32>
  %between = mpt.maximum %below, %least : (tensor<32x144xf32>, tensor<f32>) -> tensor<32x144xf32>
  %finite = mpt.is_finite %wide : (tensor<32x144xf32>) -> tensor<32x144xi1>
  %kept = mpt.where %finite, %between, %wide : (tensor<32x144xi1>, tensor<32x144xf32>, tensor<32x144xf32>) -> tensor<32x144xf32>
  %q = mpt.cast %kept : (tensor<32x144xf32>) -> tensor<32x144xf8E4M3FN>
  %y = mpt.matmul %q, %w {transpose_rhs} : (tensor<32x144xf8E4M3FN>, tensor<48x144xf8E4M3FN>) -> tensor<32x48xf32>
  %z = mpt.matmul %q, %d {transpose_lhs, transpose_rhs} : (tensor<32x144xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<144x48xf32>
  return %y, %z : tensor<32x48xf32>, tensor<144x48xf32>
}
func.func @tight(%x: tensor<32x144xbf16>, %s: tensor<f32>, %w: tensor<48x144xf8E4M3FN>, %d: tensor<48x32xf8E4M3FN>) -> (tensor<32x48xf32>, tensor<144x48xf32>) attributes {mpt.memory_budget = "0.5x"} {
  %wide = mpt.cast %x : (tensor<32x144xbf16>) -> tensor<32x144xf32>
  %most = mpt.constant dense<448.0> : tensor<f32>
  %least = mpt.constant dense<-448.0> : tensor<f32>
  %scaled = mpt.mul %wide, %s : (tensor<32x144xf32>, tensor<f32>) -> tensor<32x144xf32>
  %below = mpt.minimum %scaled, %most : (tensor<32x144xf32>, tensor<f32>) -> tensor<32x144xf32>
  %between = mpt.maximum %below, %least : (tensor<32x144xf32>, tensor<f32>) -> tensor<32x144xf32>
  %finite = mpt.is_finite %wide : (tensor<32x144xf32>) -> tensor<32x144xi1>
  %kept = mpt.where %finite, %between, %wide : (tensor<32x144xi1>, tensor<32x144xf32>, tensor<32x144xf32>) -> tensor<32x144xf32>
  %q = mpt.cast %kept : (tensor<32x144xf32>) -> tensor<32x144xf8E4M3FN>
  %y = mpt.matmul %q, %w {transpose_rhs} : (tensor<32x144xf8E4M3FN>, tensor<48x144xf8E4M3FN>) -> tensor<32x48xf32>
  %z = mpt.matmul %q, %d {transpose_lhs, transpose_rhs} : (tensor<32x144xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<144x48xf32>
  return %y, %z : tensor<32x48xf32>, tensor<144x48xf32>
}
