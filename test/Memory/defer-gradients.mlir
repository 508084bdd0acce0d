// RUN: mpt-opt %s --mpt-defer-gradients --cse --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-defer-gradients --mpt-defer-gradients --cse --split-input-file | FileCheck %s

// The weight's gradient takes 1 MiB, and its factors 16 KiB. They are squared and added
// where they are made, and the gradient is computed for its update.

// CHECK-LABEL: func.func @matmul
// CHECK: [[X:%.*]] = mpt.relu
// CHECK: [[XX:%.*]] = mpt.reduce {{.*}} -> tensor<f32>
// CHECK: [[DY:%.*]] = mpt.neg
// CHECK: [[YY:%.*]] = mpt.reduce {{.*}} -> tensor<f32>
// CHECK: [[DB:%.*]] = mpt.reduce {{.*}} -> tensor<512xf32>
// CHECK-NOT: mpt.gradients
// CHECK: [[UB:%.*]], [[OK:%.*]] = mpt.unscale [[DB]], [[S:%.*]] : (tensor<512xf32>, tensor<f32>)
// CHECK: [[INVERSE:%.*]] = mpt.div {{.*}}, [[S]]
// CHECK: [[A:%.*]] = mpt.mul [[XX]], [[INVERSE]]
// CHECK: [[B:%.*]] = mpt.mul [[YY]], [[INVERSE]]
// CHECK: [[AB:%.*]] = mpt.mul [[A]], [[B]]
// CHECK: [[FOUR:%.*]] = mpt.constant dense<4.000000e+00>
// CHECK: [[BOUND:%.*]] = mpt.mul [[AB]], [[FOUR]]
// CHECK: [[ALL:%.*]] = mpt.add [[BOUND]],
// CHECK: [[FINE:%.*]] = mpt.all_finite [[ALL]]
// CHECK: [[TAKEN:%.*]] = mpt.and [[OK]], [[FINE]]
// CHECK: mpt.sgd {{.*}} grad([[UB]]) {{.*}} if([[TAKEN]])
// CHECK: [[DW:%.*]] = mpt.matmul [[X]], [[DY]] {transpose_lhs}
// CHECK: [[UW:%.*]], %{{.*}} = mpt.unscale [[DW]], [[S]]
// CHECK: mpt.sgd {{.*}} grad([[UW]]) {{.*}} if([[TAKEN]])
// CHECK: [[NORM:%.*]] = mpt.sqrt
// CHECK: return %{{.*}}, %{{.*}}, [[NORM]]
func.func @matmul(%w: tensor<512x512xf32>, %b: tensor<512xf32>, %x: tensor<8x512xf16>,
                  %dy: tensor<8x512xf16>, %scale: tensor<f32>, %lr: tensor<f32>)
    -> (tensor<512x512xf32>, tensor<512xf32>, tensor<f32>) {
  %x1 = mpt.relu %x : (tensor<8x512xf16>) -> tensor<8x512xf16>
  %dy1 = mpt.neg %dy : (tensor<8x512xf16>) -> tensor<8x512xf16>
  %dw = mpt.matmul %x1, %dy1 {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<512x512xf32>
  %wide = mpt.cast %dy1 : (tensor<8x512xf16>) -> tensor<8x512xf32>
  %db = mpt.reduce %wide {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<8x512xf32>) -> tensor<512xf32>
  %g:2 = mpt.gradients %dw, %db {names = ["w", "b"]} : (tensor<512x512xf32>, tensor<512xf32>) -> (tensor<512x512xf32>, tensor<512xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<512x512xf32>, tensor<512xf32>, tensor<f32>) -> (tensor<512x512xf32>, tensor<512xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x512xf32>, tensor<512xf32>) -> (tensor<512x512xf32>, tensor<512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %b1 = mpt.sgd param(%b) grad(%u#1) lr(%lr) if(%taken) : (tensor<512xf32>, tensor<512xf32>, tensor<f32>, tensor<i1>) -> tensor<512xf32>
  %w1 = mpt.sgd param(%w) grad(%u#0) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %w1, %b1, %norm : tensor<512x512xf32>, tensor<512xf32>, tensor<f32>
}

// -----

// Of two filters of 3x3 with the same input, the first reads all of it, so an infinity
// anywhere in it shows there: the second, with a stride of 4, can wait, too. The bound has
// their 9 taps. Nothing else is left to check.

// CHECK-LABEL: func.func @shared
// CHECK: mpt.unscale %{{.*}} : (tensor<f32>) -> tensor<i1>
// CHECK: mpt.constant dense<3.600000e+01>
// CHECK: mpt.all_finite
// CHECK: mpt.conv2d_filter_grad
// CHECK: mpt.sgd
// CHECK: mpt.conv2d_filter_grad {{.*}}strides = array<i64: 4, 4>
// CHECK: mpt.transpose
// CHECK: mpt.sgd
func.func @shared(%v: tensor<3x3x64x64xf32>, %w: tensor<3x3x64x64xf32>, %x: tensor<1x8x8x64xf16>,
                  %a: tensor<1x8x8x64xf16>, %b: tensor<1x2x2x64xf16>, %scale: tensor<f32>,
                  %lr: tensor<f32>) -> (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>) {
  %da = mpt.conv2d_filter_grad %x, %a {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x8x8x64xf16>, tensor<1x8x8x64xf16>) -> tensor<3x3x64x64xf32>
  %db = mpt.conv2d_filter_grad %x, %b {padding = array<i64: 0, 0, 0, 0>, strides = array<i64: 4, 4>} : (tensor<1x8x8x64xf16>, tensor<1x2x2x64xf16>) -> tensor<3x3x64x64xf32>
  %db1 = mpt.transpose %db {permutation = array<i64: 0, 1, 3, 2>} : (tensor<3x3x64x64xf32>) -> tensor<3x3x64x64xf32>
  %g:2 = mpt.gradients %da, %db1 {names = ["v", "w"]} : (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>) -> (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>, tensor<f32>) -> (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>) -> (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %v1 = mpt.sgd param(%v) grad(%u#0) lr(%lr) if(%taken) : (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>, tensor<f32>, tensor<i1>) -> tensor<3x3x64x64xf32>
  %w1 = mpt.sgd param(%w) grad(%u#1) lr(%lr) if(%taken) : (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>, tensor<f32>, tensor<i1>) -> tensor<3x3x64x64xf32>
  return %v1, %w1 : tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>
}

// -----

// The norm clips the gradient, so it is needed first.

// CHECK-LABEL: func.func @clipped
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @clipped(%w: tensor<512x512xf32>, %x: tensor<8x512xf16>, %dy: tensor<8x512xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x512xf32>) {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x512xf32>, tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 1.0 : f64} : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%c) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %w1 : tensor<512x512xf32>
}

// -----

// So it is where the norm decides about the step.

// CHECK-LABEL: func.func @spikes
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @spikes(%w: tensor<512x512xf32>, %x: tensor<8x512xf16>, %dy: tensor<8x512xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>) {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x512xf32>, tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %small = mpt.compare %norm, %lr {predicate = #mpt.predicate<lt>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %w1, %small : tensor<512x512xf32>, tensor<i1>
}

// -----

// Products of bf16 may overflow although the factors are finite.

// CHECK-LABEL: func.func @bf16
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @bf16(%w: tensor<512x512xf32>, %x: tensor<8x512xbf16>, %dy: tensor<8x512xbf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x512xf32>) {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xbf16>, tensor<8x512xbf16>) -> tensor<512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x512xf32>, tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %w1 : tensor<512x512xf32>
}

// -----

// So may those of f32.

// CHECK-LABEL: func.func @mixed
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @mixed(%w: tensor<512x512xf32>, %x: tensor<8x512xf16>, %dy: tensor<8x512xf32>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x512xf32>) {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf32>) -> tensor<512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x512xf32>, tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %w1 : tensor<512x512xf32>
}

// -----

// A gradient of 4 KiB saves less than its work costs, although arguments, as the factors are,
// take nothing.

// CHECK-LABEL: func.func @small
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @small(%w: tensor<32x32xf32>, %x: tensor<8x32xf16>, %dy: tensor<8x32xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<32x32xf32>) {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x32xf16>, tensor<8x32xf16>) -> tensor<32x32xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<32x32xf32>, tensor<f32>) -> (tensor<32x32xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<f32>, tensor<i1>) -> tensor<32x32xf32>
  return %w1 : tensor<32x32xf32>
}

// -----

// Something else reads the gradient.

// CHECK-LABEL: func.func @read
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @read(%w: tensor<512x512xf32>, %x: tensor<8x512xf16>, %dy: tensor<8x512xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x512xf32>, tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %w1, %dw : tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// Points that no tap reads may be infinite while the gradient is not.

// CHECK-LABEL: func.func @strided
// CHECK: mpt.conv2d_filter_grad
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.conv2d_filter_grad
// CHECK: return
func.func @strided(%w: tensor<1x1x512x512xf32>, %x: tensor<1x8x8x512xf16>, %dy: tensor<1x4x4x512xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<1x1x512x512xf32>) {
  %dw = mpt.conv2d_filter_grad %x, %dy {strides = array<i64: 2, 2>} : (tensor<1x8x8x512xf16>, tensor<1x4x4x512xf16>) -> tensor<1x1x512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<1x1x512x512xf32>) -> tensor<1x1x512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<1x1x512x512xf32>, tensor<f32>) -> (tensor<1x1x512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<1x1x512x512xf32>) -> (tensor<1x1x512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<1x1x512x512xf32>, tensor<1x1x512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<1x1x512x512xf32>
  return %w1 : tensor<1x1x512x512xf32>
}

// -----

// A gradient that meets nothing but padding is not in the filter's.

// CHECK-LABEL: func.func @padded
// CHECK: mpt.conv2d_filter_grad
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.conv2d_filter_grad
// CHECK: return
func.func @padded(%w: tensor<1x1x512x512xf32>, %x: tensor<1x4x4x512xf16>, %dy: tensor<1x6x6x512xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<1x1x512x512xf32>) {
  %dw = mpt.conv2d_filter_grad %x, %dy {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x4x4x512xf16>, tensor<1x6x6x512xf16>) -> tensor<1x1x512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<1x1x512x512xf32>) -> tensor<1x1x512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<1x1x512x512xf32>, tensor<f32>) -> (tensor<1x1x512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<1x1x512x512xf32>) -> (tensor<1x1x512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<1x1x512x512xf32>, tensor<1x1x512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<1x1x512x512xf32>
  return %w1 : tensor<1x1x512x512xf32>
}

// -----

// Sums of 2^22 products and more may round by as much as they are.

// CHECK-LABEL: func.func @many
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @many(%w: tensor<1024x1024xf32>, %x: tensor<4194304x1024xf16>, %dy: tensor<4194304x1024xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<1024x1024xf32>) {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<4194304x1024xf16>, tensor<4194304x1024xf16>) -> tensor<1024x1024xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<1024x1024xf32>, tensor<f32>) -> (tensor<1024x1024xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<f32>, tensor<i1>) -> tensor<1024x1024xf32>
  return %w1 : tensor<1024x1024xf32>
}

// -----

// No element of the gradient would tell of the factor.

// CHECK-LABEL: func.func @empty
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @empty(%w: tensor<512x0xf32>, %x: tensor<8x512xf16>, %dy: tensor<8x0xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x0xf32>) {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x0xf16>) -> tensor<512x0xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x0xf32>) -> tensor<512x0xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x0xf32>, tensor<f32>) -> (tensor<512x0xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x0xf32>) -> (tensor<512x0xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<512x0xf32>, tensor<512x0xf32>, tensor<f32>, tensor<i1>) -> tensor<512x0xf32>
  return %w1 : tensor<512x0xf32>
}

// -----

// The flag of mpt.unscale is also returned, by itself. It has to tell of all gradients.

// CHECK-LABEL: func.func @flag
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @flag(%w: tensor<512x512xf32>, %x: tensor<8x512xf16>, %dy: tensor<8x512xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>) {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x512xf32>, tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %w1, %ok : tensor<512x512xf32>, tensor<i1>
}

// -----

// How many bytes the factors take is not known.

// CHECK-LABEL: func.func @dynamic
// CHECK: mpt.matmul
// CHECK: mpt.gradients
// CHECK: mpt.unscale
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @dynamic(%w: tensor<512x512xf32>, %x: tensor<?x512xf16>, %dy: tensor<?x512xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> tensor<512x512xf32> {
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<?x512xf16>, tensor<?x512xf16>) -> tensor<512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x512xf32>, tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %w1 : tensor<512x512xf32>
}

// -----

// The first filter's gradient reads all of x, but has no element, so an infinity in x
// shows in none of its elements. The second one, with a stride of 4, reads a part of x.

// CHECK-LABEL: func.func @empty_filter
// CHECK-COUNT-2: mpt.conv2d_filter_grad
// CHECK: mpt.gradients
// CHECK-NOT: mpt.conv2d_filter_grad
// CHECK: return
func.func @empty_filter(%w: tensor<1x1x64x256xf32>, %x: tensor<1x8x8x64xf16>, %a: tensor<1x8x8x0xf16>,
                        %b: tensor<1x2x2x256xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> tensor<1x1x64x256xf32> {
  %da = mpt.conv2d_filter_grad %x, %a {padding = array<i64: 0, 0, 0, 0>} : (tensor<1x8x8x64xf16>, tensor<1x8x8x0xf16>) -> tensor<1x1x64x0xf32>
  %db = mpt.conv2d_filter_grad %x, %b {padding = array<i64: 0, 0, 0, 0>, strides = array<i64: 4, 4>} : (tensor<1x8x8x64xf16>, tensor<1x2x2x256xf16>) -> tensor<1x1x64x256xf32>
  %g:2 = mpt.gradients %da, %db {names = ["v", "w"]} : (tensor<1x1x64x0xf32>, tensor<1x1x64x256xf32>) -> (tensor<1x1x64x0xf32>, tensor<1x1x64x256xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<1x1x64x0xf32>, tensor<1x1x64x256xf32>, tensor<f32>) -> (tensor<1x1x64x0xf32>, tensor<1x1x64x256xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<1x1x64x0xf32>, tensor<1x1x64x256xf32>) -> (tensor<1x1x64x0xf32>, tensor<1x1x64x256xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u#1) lr(%lr) if(%taken) : (tensor<1x1x64x256xf32>, tensor<1x1x64x256xf32>, tensor<f32>, tensor<i1>) -> tensor<1x1x64x256xf32>
  return %w1 : tensor<1x1x64x256xf32>
}

// -----

// Rows of a table get sums of products of f16 tensors: these are checked in its place.
// (a1 + ... + a16)^2 is at most 16 times the sum of the squares.

// CHECK-LABEL: func.func @table
// CHECK: [[DY:%.*]] = mpt.matmul {{.*}} -> tensor<16x32xf32>
// CHECK: [[YY:%.*]] = mpt.reduce {{.*}} -> tensor<f32>
// CHECK-NOT: mpt.scatter_add
// CHECK: [[INVERSE:%.*]] = mpt.div
// CHECK: [[A:%.*]] = mpt.mul [[YY]], [[INVERSE]]
// CHECK: [[B:%.*]] = mpt.mul [[A]], [[INVERSE]]
// CHECK: mpt.constant dense<6.400000e+01>
// CHECK: mpt.all_finite
// CHECK: [[DW:%.*]] = mpt.scatter_add %{{.*}}, [[DY]]
// CHECK: [[UW:%.*]], %{{.*}} = mpt.unscale [[DW]]
// CHECK: mpt.sgd {{.*}} grad([[UW]])
func.func @table(%w: tensor<9000x32xf32>, %i: tensor<16xi64>, %dz: tensor<16x8xf16>, %v: tensor<8x32xf16>,
                 %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<9000x32xf32>, tensor<f32>) {
  %dy = mpt.matmul %dz, %v : (tensor<16x8xf16>, tensor<8x32xf16>) -> tensor<16x32xf32>
  %dw = mpt.scatter_add %i, %dy : (tensor<16xi64>, tensor<16x32xf32>) -> tensor<9000x32xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<9000x32xf32>) -> tensor<9000x32xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<9000x32xf32>, tensor<f32>) -> (tensor<9000x32xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<9000x32xf32>) -> (tensor<9000x32xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<9000x32xf32>, tensor<9000x32xf32>, tensor<f32>, tensor<i1>) -> tensor<9000x32xf32>
  return %w1, %norm : tensor<9000x32xf32>, tensor<f32>
}

// -----

// Of f32 numbers, too: if their squares overflow the step is skipped, and else no sum of them does.

// CHECK-LABEL: func.func @table_of_f32
// CHECK: [[DY:%.*]] = mpt.matmul {{.*}} -> tensor<16x32xf32>
// CHECK: [[YY:%.*]] = mpt.reduce {{.*}} -> tensor<f32>
// CHECK-NOT: mpt.scatter_add
// CHECK: [[INVERSE:%.*]] = mpt.div
// CHECK: [[A:%.*]] = mpt.mul [[YY]], [[INVERSE]]
// CHECK: mpt.all_finite
// CHECK: mpt.scatter_add %{{.*}}, [[DY]]
func.func @table_of_f32(%w: tensor<9000x32xf32>, %i: tensor<16xi64>, %dz: tensor<16x8xf32>, %v: tensor<8x32xf16>,
                        %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<9000x32xf32>, tensor<f32>) {
  %dy = mpt.matmul %dz, %v : (tensor<16x8xf32>, tensor<8x32xf16>) -> tensor<16x32xf32>
  %dw = mpt.scatter_add %i, %dy : (tensor<16xi64>, tensor<16x32xf32>) -> tensor<9000x32xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<9000x32xf32>) -> tensor<9000x32xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<9000x32xf32>, tensor<f32>) -> (tensor<9000x32xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<9000x32xf32>) -> (tensor<9000x32xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<9000x32xf32>, tensor<9000x32xf32>, tensor<f32>, tensor<i1>) -> tensor<9000x32xf32>
  return %w1, %norm : tensor<9000x32xf32>, tensor<f32>
}

// -----

// Numbers that are added to a table which is there already are not all of it.

// CHECK-LABEL: func.func @table_with_init
// CHECK: mpt.scatter_add
// CHECK: mpt.unscale
// CHECK: mpt.all_finite
// CHECK-NOT: mpt.scatter_add
func.func @table_with_init(%w: tensor<9000x32xf32>, %i: tensor<16xi64>, %dy: tensor<16x32xf32>, %init: tensor<9000x32xf32>,
                           %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<9000x32xf32>, tensor<f32>) {
  %dw = mpt.scatter_add %i, %dy, %init : (tensor<16xi64>, tensor<16x32xf32>, tensor<9000x32xf32>) -> tensor<9000x32xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<9000x32xf32>) -> tensor<9000x32xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<9000x32xf32>, tensor<f32>) -> (tensor<9000x32xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<9000x32xf32>) -> (tensor<9000x32xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<9000x32xf32>, tensor<9000x32xf32>, tensor<f32>, tensor<i1>) -> tensor<9000x32xf32>
  return %w1, %norm : tensor<9000x32xf32>, tensor<f32>
}

// -----

// Blocks of products are added to matrices of which each block has one, as for experts. The products wait, too. The
// square of a sum of 12 is at most 12 times those of the factors.

// CHECK-LABEL: func.func @experts
// CHECK-NOT: mpt.matmul
// CHECK: mpt.constant dense<4.800000e+01>
// CHECK: mpt.all_finite
// CHECK: [[BLOCKS:%.*]] = mpt.matmul {{.*}} -> tensor<12x64x128xf32>
// CHECK: [[DW:%.*]] = mpt.scatter_add %{{.*}}, [[BLOCKS]]
// CHECK: [[UW:%.*]], %{{.*}} = mpt.unscale [[DW]]
// CHECK: mpt.sgd {{.*}} grad([[UW]])
func.func @experts(%w: tensor<4x64x128xf32>, %i: tensor<12xi64>, %x: tensor<12x8x64xf16>, %dy: tensor<12x8x128xf16>,
                   %scale: tensor<f32>, %lr: tensor<f32>) -> tensor<4x64x128xf32> {
  %blocks = mpt.matmul %x, %dy {transpose_lhs} : (tensor<12x8x64xf16>, tensor<12x8x128xf16>) -> tensor<12x64x128xf32>
  %dw = mpt.scatter_add %i, %blocks : (tensor<12xi64>, tensor<12x64x128xf32>) -> tensor<4x64x128xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<4x64x128xf32>) -> tensor<4x64x128xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<4x64x128xf32>, tensor<f32>) -> (tensor<4x64x128xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<4x64x128xf32>) -> (tensor<4x64x128xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<4x64x128xf32>, tensor<4x64x128xf32>, tensor<f32>, tensor<i1>) -> tensor<4x64x128xf32>
  return %w1 : tensor<4x64x128xf32>
}

// -----

// Products of bf16 may overflow, and f32 blocks take more than what they are added to: nothing waits.

// CHECK-LABEL: func.func @experts_bf16
// CHECK: mpt.scatter_add
// CHECK: mpt.all_finite
// CHECK-NOT: mpt.matmul
// CHECK-NOT: mpt.scatter_add
func.func @experts_bf16(%w: tensor<4x64x128xf32>, %i: tensor<12xi64>, %x: tensor<12x8x64xbf16>, %dy: tensor<12x8x128xbf16>,
                        %scale: tensor<f32>, %lr: tensor<f32>) -> tensor<4x64x128xf32> {
  %blocks = mpt.matmul %x, %dy {transpose_lhs} : (tensor<12x8x64xbf16>, tensor<12x8x128xbf16>) -> tensor<12x64x128xf32>
  %dw = mpt.scatter_add %i, %blocks : (tensor<12xi64>, tensor<12x64x128xf32>) -> tensor<4x64x128xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<4x64x128xf32>) -> tensor<4x64x128xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<4x64x128xf32>, tensor<f32>) -> (tensor<4x64x128xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<4x64x128xf32>) -> (tensor<4x64x128xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<4x64x128xf32>, tensor<4x64x128xf32>, tensor<f32>, tensor<i1>) -> tensor<4x64x128xf32>
  return %w1 : tensor<4x64x128xf32>
}

// -----

// A table that is also the output head has both gradients. All factors are checked: a sum of two has at most four
// times the larger square.

// CHECK-LABEL: func.func @tied
// CHECK: [[DX:%.*]] = mpt.neg
// CHECK-NOT: mpt.matmul
// CHECK-NOT: mpt.scatter_add
// CHECK: mpt.constant dense<1.600000e+01>
// CHECK: mpt.constant dense<2.560000e+02>
// CHECK: mpt.all_finite
// CHECK: [[DH:%.*]] = mpt.matmul {{.*}} -> tensor<9000x32xf32>
// CHECK: [[DT:%.*]] = mpt.scatter_add %{{.*}}, [[DX]]
// CHECK: [[DW:%.*]] = mpt.add [[DH]], [[DT]]
// CHECK: [[UW:%.*]], %{{.*}} = mpt.unscale [[DW]]
// CHECK: mpt.sgd {{.*}} grad([[UW]])
func.func @tied(%w: tensor<9000x32xf32>, %i: tensor<16xi64>, %x: tensor<16x32xf16>, %dy: tensor<16x9000xf16>, %dz: tensor<16x32xf32>,
                %scale: tensor<f32>, %lr: tensor<f32>) -> tensor<9000x32xf32> {
  %dx = mpt.neg %dz : (tensor<16x32xf32>) -> tensor<16x32xf32>
  %dh = mpt.matmul %dy, %x {transpose_lhs} : (tensor<16x9000xf16>, tensor<16x32xf16>) -> tensor<9000x32xf32>
  %dt = mpt.scatter_add %i, %dx : (tensor<16xi64>, tensor<16x32xf32>) -> tensor<9000x32xf32>
  %dw = mpt.add %dh, %dt : (tensor<9000x32xf32>, tensor<9000x32xf32>) -> tensor<9000x32xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<9000x32xf32>) -> tensor<9000x32xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<9000x32xf32>, tensor<f32>) -> (tensor<9000x32xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<9000x32xf32>) -> (tensor<9000x32xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<9000x32xf32>, tensor<9000x32xf32>, tensor<f32>, tensor<i1>) -> tensor<9000x32xf32>
  return %w1 : tensor<9000x32xf32>
}

// -----

// Two products of a weight that is used twice would be there at one time: their sum is kept.

// CHECK-LABEL: func.func @used_twice
// CHECK-COUNT-2: mpt.matmul
// CHECK: mpt.gradients
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @used_twice(%w: tensor<512x512xf32>, %x: tensor<8x512xf16>, %dy: tensor<8x512xf16>, %z: tensor<8x512xf16>,
                      %scale: tensor<f32>, %lr: tensor<f32>) -> tensor<512x512xf32> {
  %da = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<512x512xf32>
  %db = mpt.matmul %z, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<512x512xf32>
  %dw = mpt.add %da, %db : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x512xf32>, tensor<f32>) -> (tensor<512x512xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %w1 : tensor<512x512xf32>
}

// -----

// The largest is updated last: the factors of the other are no longer needed then.

// CHECK-LABEL: func.func @largest_last
// CHECK: mpt.all_finite
// CHECK: mpt.matmul {{.*}} -> tensor<512x512xf32>
// CHECK: mpt.sgd param(%arg1)
// CHECK: mpt.matmul {{.*}} -> tensor<512x1024xf32>
// CHECK: [[V:%.*]] = mpt.sgd param(%arg0)
// CHECK: return [[V]]
func.func @largest_last(%v: tensor<512x1024xf32>, %w: tensor<512x512xf32>, %x: tensor<8x512xf16>, %dy: tensor<8x512xf16>,
                        %dz: tensor<8x1024xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x1024xf32>, tensor<512x512xf32>) {
  %dv = mpt.matmul %x, %dz {transpose_lhs} : (tensor<8x512xf16>, tensor<8x1024xf16>) -> tensor<512x1024xf32>
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<512x512xf32>
  %g:2 = mpt.gradients %dv, %dw {names = ["v", "w"]} : (tensor<512x1024xf32>, tensor<512x512xf32>) -> (tensor<512x1024xf32>, tensor<512x512xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<512x1024xf32>, tensor<512x512xf32>, tensor<f32>) -> (tensor<512x1024xf32>, tensor<512x512xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x1024xf32>, tensor<512x512xf32>) -> (tensor<512x1024xf32>, tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %v1 = mpt.sgd param(%v) grad(%u#0) lr(%lr) if(%taken) : (tensor<512x1024xf32>, tensor<512x1024xf32>, tensor<f32>, tensor<i1>) -> tensor<512x1024xf32>
  %w1 = mpt.sgd param(%w) grad(%u#1) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %v1, %w1 : tensor<512x1024xf32>, tensor<512x512xf32>
}

// -----

// Where something else reads an updated parameter, its update stays where it is.

// CHECK-LABEL: func.func @read_update
// CHECK: mpt.all_finite
// CHECK: [[V:%.*]] = mpt.sgd param(%arg0)
// CHECK: mpt.neg [[V]]
// CHECK: mpt.sgd param(%arg1)
// CHECK: return
func.func @read_update(%v: tensor<512x1024xf32>, %w: tensor<512x512xf32>, %x: tensor<8x512xf16>, %dy: tensor<8x512xf16>,
                       %dz: tensor<8x1024xf16>, %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x1024xf32>, tensor<512x512xf32>) {
  %dv = mpt.matmul %x, %dz {transpose_lhs} : (tensor<8x512xf16>, tensor<8x1024xf16>) -> tensor<512x1024xf32>
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x512xf16>, tensor<8x512xf16>) -> tensor<512x512xf32>
  %g:2 = mpt.gradients %dv, %dw {names = ["v", "w"]} : (tensor<512x1024xf32>, tensor<512x512xf32>) -> (tensor<512x1024xf32>, tensor<512x512xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<512x1024xf32>, tensor<512x512xf32>, tensor<f32>) -> (tensor<512x1024xf32>, tensor<512x512xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x1024xf32>, tensor<512x512xf32>) -> (tensor<512x1024xf32>, tensor<512x512xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %v1 = mpt.sgd param(%v) grad(%u#0) lr(%lr) if(%taken) : (tensor<512x1024xf32>, tensor<512x1024xf32>, tensor<f32>, tensor<i1>) -> tensor<512x1024xf32>
  %n = mpt.neg %v1 : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %w1 = mpt.sgd param(%w) grad(%u#1) lr(%lr) if(%taken) : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<f32>, tensor<i1>) -> tensor<512x512xf32>
  return %n, %w1 : tensor<512x1024xf32>, tensor<512x512xf32>
}

// -----

// A noisy layer's second weight has the first's gradient times what is made of inputs. Both are
// checked where they are made, and made again for their updates, the first one once.

// CHECK-LABEL: func.func @noisy
// CHECK: [[DW:%.*]] = mpt.matmul
// CHECK: [[DV:%.*]] = mpt.mul [[DW]],
// CHECK: [[G:%.*]]:2 = mpt.gradients [[DW]], [[DV]]
// CHECK: [[U:%.*]]:2, {{.*}} = mpt.unscale [[G]]#0, [[G]]#1, [[S:%.*]] :
// CHECK: mpt.clip_by_global_norm [[U]]#0, [[U]]#1
// CHECK: [[DWAGAIN:%.*]] = mpt.matmul %arg2, %arg3 {mpt.remat = 0 : i64, transpose_lhs}
// CHECK: [[W:%.*]], %{{.*}} = mpt.unscale [[DWAGAIN]], [[S]]
// CHECK: mpt.sgd {{.*}} grad([[W]])
// CHECK: [[COLUMN:%.*]] = mpt.reshape {{.*}} {mpt.remat = 1 : i64}
// CHECK: [[OUTER:%.*]] = mpt.mul [[COLUMN]], {{.*}} {mpt.remat = 2 : i64}
// CHECK: [[AGAIN:%.*]] = mpt.mul [[DWAGAIN]], [[OUTER]] {mpt.remat = 3 : i64}
// CHECK: [[V:%.*]], %{{.*}} = mpt.unscale [[AGAIN]], [[S]]
// CHECK: mpt.sgd {{.*}} grad([[V]])
func.func @noisy(%w: tensor<128x128xf32> {mpt.name = "w", mpt.role = "parameter"}, %v: tensor<128x128xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<8x128xf16> {mpt.name = "x", mpt.role = "input"}, %dy: tensor<8x128xf16> {mpt.name = "dy", mpt.role = "input"},
    %noise: tensor<128xf32> {mpt.name = "noise", mpt.role = "input"}, %scale: tensor<f32> {mpt.name = "scale", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "input"})
    -> (tensor<128x128xf32> {mpt.name = "w1"}, tensor<128x128xf32> {mpt.name = "v1"}, tensor<f32> {mpt.name = "norm"}) {
  %column = mpt.reshape %noise : (tensor<128xf32>) -> tensor<128x1xf32>
  %outer = mpt.mul %column, %noise : (tensor<128x1xf32>, tensor<128xf32>) -> tensor<128x128xf32>
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x128xf16>, tensor<8x128xf16>) -> tensor<128x128xf32>
  %dv = mpt.mul %dw, %outer : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %g:2 = mpt.gradients %dw, %dv {names = ["w", "v"]} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u#0) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  %v1 = mpt.sgd param(%v) grad(%u#1) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  return %w1, %v1, %norm : tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>
}

// -----

// Factors that take as much as the first one, and noise that the forward pass reads: it is
// not kept for the check.

// CHECK-LABEL: func.func @noisy_long
// CHECK: [[OUTER:%.*]] = mpt.mul {{.*}} -> tensor<128x128xf32>
// CHECK: mpt.mul %arg1, [[OUTER]]
// CHECK: [[DW:%.*]] = mpt.matmul {{.*}}transpose_lhs
// CHECK: mpt.reshape {{.*}} {mpt.remat = 3 : i64}
// CHECK: [[OTHER:%.*]] = mpt.mul {{.*}} {mpt.remat = 4 : i64}
// CHECK: [[DV:%.*]] = mpt.mul [[DW]], [[OTHER]] :
// CHECK: [[G:%.*]]:2 = mpt.gradients [[DW]], [[DV]]
// CHECK: [[U:%.*]]:2, {{.*}} = mpt.unscale [[G]]#0, [[G]]#1
// CHECK: mpt.sgd {{.*}} grad([[U]]#0)
// CHECK: mpt.mul [[DW]], {{.*}} {mpt.remat = 2 : i64}
func.func @noisy_long(%w: tensor<128x128xf32> {mpt.name = "w", mpt.role = "parameter"}, %v: tensor<128x128xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<128x128xf16> {mpt.name = "x", mpt.role = "input"}, %dy: tensor<128x128xf16> {mpt.name = "dy", mpt.role = "input"},
    %noise: tensor<128xf32> {mpt.name = "noise", mpt.role = "input"}, %scale: tensor<f32> {mpt.name = "scale", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "input"})
    -> (tensor<128x128xf32> {mpt.name = "w1"}, tensor<128x128xf32> {mpt.name = "v1"}, tensor<f32> {mpt.name = "norm"}) {
  %column = mpt.reshape %noise : (tensor<128xf32>) -> tensor<128x1xf32>
  %outer = mpt.mul %column, %noise : (tensor<128x1xf32>, tensor<128xf32>) -> tensor<128x128xf32>
  %forward = mpt.mul %v, %outer : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf16>
  %y = mpt.matmul %x, %forward : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
  %dz = mpt.mul %y, %dy : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
  %dw = mpt.matmul %y, %dz {transpose_lhs} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf32>
  %dv = mpt.mul %dw, %outer : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %g:2 = mpt.gradients %dw, %dv {names = ["w", "v"]} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u#0) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  %v1 = mpt.sgd param(%v) grad(%u#1) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  return %w1, %v1, %norm : tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>
}

// -----

// What is made of a parameter would be read after its update.

// CHECK-LABEL: func.func @of_parameter
// CHECK-NOT: mpt.remat
// CHECK: return
func.func @of_parameter(%w: tensor<128x128xf32> {mpt.name = "w", mpt.role = "parameter"}, %v: tensor<128x128xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<8x128xf16> {mpt.name = "x", mpt.role = "input"}, %dy: tensor<8x128xf16> {mpt.name = "dy", mpt.role = "input"},
    %noise: tensor<128xf32> {mpt.name = "noise", mpt.role = "input"}, %scale: tensor<f32> {mpt.name = "scale", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "input"})
    -> (tensor<128x128xf32> {mpt.name = "w1"}, tensor<128x128xf32> {mpt.name = "v1"}, tensor<f32> {mpt.name = "norm"}) {
  %column = mpt.reshape %noise : (tensor<128xf32>) -> tensor<128x1xf32>
  %outer = mpt.mul %column, %noise : (tensor<128x1xf32>, tensor<128xf32>) -> tensor<128x128xf32>
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x128xf16>, tensor<8x128xf16>) -> tensor<128x128xf32>
  %dv = mpt.mul %dw, %w : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %g:2 = mpt.gradients %dw, %dv {names = ["w", "v"]} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u#0) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  %v1 = mpt.sgd param(%v) grad(%u#1) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  return %w1, %v1, %norm : tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>
}

// -----

// A matmul that is no gradient itself would be kept for it.

// CHECK-LABEL: func.func @no_gradient
// CHECK-NOT: mpt.remat
// CHECK: return
func.func @no_gradient(%w: tensor<128x128xf32> {mpt.name = "w", mpt.role = "parameter"}, %v: tensor<128x128xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<8x128xf16> {mpt.name = "x", mpt.role = "input"}, %dy: tensor<8x128xf16> {mpt.name = "dy", mpt.role = "input"},
    %noise: tensor<128xf32> {mpt.name = "noise", mpt.role = "input"}, %scale: tensor<f32> {mpt.name = "scale", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "input"})
    -> (tensor<128x128xf32> {mpt.name = "w1"}, tensor<128x128xf32> {mpt.name = "v1"}, tensor<f32> {mpt.name = "norm"}) {
  %column = mpt.reshape %noise : (tensor<128xf32>) -> tensor<128x1xf32>
  %outer = mpt.mul %column, %noise : (tensor<128x1xf32>, tensor<128xf32>) -> tensor<128x128xf32>
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x128xf16>, tensor<8x128xf16>) -> tensor<128x128xf32>
  %other = mpt.matmul %dy, %x {transpose_lhs} : (tensor<8x128xf16>, tensor<8x128xf16>) -> tensor<128x128xf32>
  %dv = mpt.mul %other, %outer : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %g:2 = mpt.gradients %dw, %dv {names = ["w", "v"]} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u#0) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  %v1 = mpt.sgd param(%v) grad(%u#1) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  return %w1, %v1, %norm : tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>
}

// -----

// Something else reads the gradient.

// CHECK-LABEL: func.func @read_twice
// CHECK-NOT: mpt.remat
// CHECK: return
func.func @read_twice(%w: tensor<128x128xf32> {mpt.name = "w", mpt.role = "parameter"}, %v: tensor<128x128xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<8x128xf16> {mpt.name = "x", mpt.role = "input"}, %dy: tensor<8x128xf16> {mpt.name = "dy", mpt.role = "input"},
    %noise: tensor<128xf32> {mpt.name = "noise", mpt.role = "input"}, %scale: tensor<f32> {mpt.name = "scale", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "input"})
    -> (tensor<128x128xf32> {mpt.name = "w1"}, tensor<128x128xf32> {mpt.name = "v1"}, tensor<f32> {mpt.name = "norm"}) {
  %column = mpt.reshape %noise : (tensor<128xf32>) -> tensor<128x1xf32>
  %outer = mpt.mul %column, %noise : (tensor<128x1xf32>, tensor<128xf32>) -> tensor<128x128xf32>
  %dw = mpt.matmul %x, %dy {transpose_lhs} : (tensor<8x128xf16>, tensor<8x128xf16>) -> tensor<128x128xf32>
  %first = mpt.mul %dw, %outer : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %more = mpt.neg %first : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %dv = mpt.add %first, %more : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %g:2 = mpt.gradients %dw, %dv {names = ["w", "v"]} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>)
  %u:2, %ok = mpt.unscale %g#0, %g#1, %scale : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<i1>)
  %c:2, %norm = mpt.clip_by_global_norm %u#0, %u#1 {max_norm = 0x7FF0000000000000 : f64} : (tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u#0) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  %v1 = mpt.sgd param(%v) grad(%u#1) lr(%lr) if(%taken) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>, tensor<i1>) -> tensor<128x128xf32>
  return %w1, %v1, %norm : tensor<128x128xf32>, tensor<128x128xf32>, tensor<f32>
}

// -----

// An input that library calls round as they read it is rounded again for its check, and so
// takes no memory until its gradient's update.
// CHECK-LABEL: func.func @rounded_input
// CHECK: [[X:%.*]] = mpt.cast %arg1 : (tensor<2048x512xf32>) -> tensor<2048x512xf16>
// CHECK: [[AGAIN:%.*]] = mpt.cast %arg1 {mpt.remat = 0 : i64}
// CHECK: mpt.reshape [[AGAIN]]
// CHECK: mpt.all_finite
// CHECK: mpt.matmul [[X]], {{.*}} {transpose_lhs}
// CHECK: mpt.sgd
func.func @rounded_input(%w: tensor<512x64xf32>, %x: tensor<2048x512xf32>, %dy: tensor<2048x64xf16>,
                         %scale: tensor<f32>, %lr: tensor<f32>) -> (tensor<512x64xf32>) {
  %x1 = mpt.cast %x : (tensor<2048x512xf32>) -> tensor<2048x512xf16>
  %dw = mpt.matmul %x1, %dy {transpose_lhs} : (tensor<2048x512xf16>, tensor<2048x64xf16>) -> tensor<512x64xf32>
  %g = mpt.gradients %dw {names = ["w"]} : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %u, %ok = mpt.unscale %g, %scale : (tensor<512x64xf32>, tensor<f32>) -> (tensor<512x64xf32>, tensor<i1>)
  %c, %norm = mpt.clip_by_global_norm %u {max_norm = 0x7FF0000000000000 : f64} : (tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<f32>)
  %fine = mpt.all_finite %norm : (tensor<f32>) -> tensor<i1>
  %taken = mpt.and %ok, %fine : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %w1 = mpt.sgd param(%w) grad(%u) lr(%lr) if(%taken) : (tensor<512x64xf32>, tensor<512x64xf32>, tensor<f32>, tensor<i1>) -> tensor<512x64xf32>
  return %w1 : tensor<512x64xf32>
}
