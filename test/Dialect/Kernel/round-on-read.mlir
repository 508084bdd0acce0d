// Casts of parameters are left to the library calls that read them, and no buffer holds
// their results.
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels=round-on-read | FileCheck %s
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels=round-on-read --mpt-assign-buffers | FileCheck %s --check-prefix=PLAN
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels | FileCheck %s --check-prefix=PLAIN --implicit-check-not=mpt.cast
// RUN: not mpt-opt %s --split-input-file --mpt-assign-buffers 2>&1 | FileCheck %s --check-prefix=UNFUSED
// RUN: not mpt-opt %s --split-input-file --mpt-fuse-kernels=round-on-read --mpt-assign-buffers="target='cuda sm_90'" 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: error: 'mpt.cast' is neither in a kernel nor of a parameter or an input that all its readers, library calls of a CPU, can round; run --mpt-decompose and --mpt-fuse-kernels before planning
// UNFUSED: error: 'mpt.cast' is neither in a kernel nor of a parameter or an input that all its readers

// CHECK-LABEL: func @matmuls
// PLAIN-LABEL: func @matmuls
// PLAN-LABEL: program @matmuls
func.func @matmuls(%x: tensor<4x8xbf16>, %dy: tensor<4x6xbf16>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> (tensor<4x6xbf16>, tensor<4x8xf32>) {
  // CHECK: %[[LOW:.*]] = mpt.cast %{{.*}} : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  // CHECK-NOT: kernel
  // CHECK: mpt.linear %{{.*}}, %[[LOW]], %{{.*}}
  // CHECK: mpt.matmul %{{.*}}, %[[LOW]]
  // PLAIN: mpt_kernel.kernel <pointwise>(%{{.*}}) domain {{.*}}
  // PLAIN: arith.truncf
  // PLAN-NOT: mpt_program.launch
  // PLAN: mpt_program.matmul ins({{.*}} : memref<4x8xbf16>, memref<8x6xf32>) bias({{.*}}) outs({{.*}}) {rounding = #mpt_program.rounding<bf16>}
  // PLAN: mpt_program.matmul ins({{.*}} : memref<4x6xbf16>, memref<8x6xf32>) outs({{.*}}) {rounding = #mpt_program.rounding<bf16>, transpose_rhs}
  %low = mpt.cast %w : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  %y = mpt.linear %x, %low, %b : (tensor<4x8xbf16>, tensor<8x6xbf16>, tensor<6xf32>) -> tensor<4x6xbf16>
  %dx = mpt.matmul %dy, %low {transpose_rhs} : (tensor<4x6xbf16>, tensor<8x6xbf16>) -> tensor<4x8xf32>
  return %y, %dx : tensor<4x6xbf16>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func @convolutions
// PLAN-LABEL: program @convolutions
func.func @convolutions(%x: tensor<2x6x6x3xf16>, %dy: tensor<2x4x4x5xf16>, %w: tensor<135xf32>) -> (tensor<2x4x4x5xf16>, tensor<2x6x6x3xf16>) {
  // The parameter may have another shape.
  // CHECK: mpt.reshape
  // CHECK: mpt.cast %{{.*}} : (tensor<3x3x3x5xf32>) -> tensor<3x3x3x5xf16>
  // CHECK-NOT: kernel
  // PLAN: mpt_program.conv2d ins({{.*}} memref<3x3x3x5xf32>) outs({{.*}}) {{.*}}{rounding = #mpt_program.rounding<f16>}
  // PLAN: mpt_program.conv2d_input_grad ins({{.*}} memref<3x3x3x5xf32>) outs({{.*}}) {{.*}}{rounding = #mpt_program.rounding<f16>}
  %f = mpt.reshape %w : (tensor<135xf32>) -> tensor<3x3x3x5xf32>
  %low = mpt.cast %f : (tensor<3x3x3x5xf32>) -> tensor<3x3x3x5xf16>
  %y = mpt.conv2d %x, %low : (tensor<2x6x6x3xf16>, tensor<3x3x3x5xf16>) -> tensor<2x4x4x5xf16>
  %dx = mpt.conv2d_input_grad %dy, %low : (tensor<2x4x4x5xf16>, tensor<3x3x3x5xf16>) -> tensor<2x6x6x3xf16>
  return %y, %dx : tensor<2x4x4x5xf16>, tensor<2x6x6x3xf16>
}

// -----

// Reshaped after the cast, as imports do for matmuls. What is not read by matmuls alone stays a
// copy.
// CHECK-LABEL: func @renamed
// PLAN-LABEL: program @renamed
func.func @renamed(%x: tensor<4x8xbf16>, %dy: tensor<4x6xbf16>, %w: tensor<8x2x3xf32>, %v: tensor<8x2x3xf32>) -> (tensor<4x6xbf16>, tensor<4x8xf32>, tensor<4x6xbf16>, tensor<8x6xbf16>) {
  // CHECK: %[[NAME:.*]] = mpt.reshape %arg2 : (tensor<8x2x3xf32>) -> tensor<8x6xf32>
  // CHECK: %[[LOW:.*]] = mpt.cast %[[NAME]] : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  // CHECK-NOT: mpt_kernel.kernel
  // CHECK: mpt.matmul %{{.*}}, %[[LOW]]
  // CHECK: mpt.matmul %{{.*}}, %[[LOW]] {transpose_rhs}
  // CHECK: mpt_kernel.kernel
  // PLAN: mpt_program.matmul ins({{.*}} : memref<4x8xbf16>, memref<8x6xf32>) outs({{.*}}) {rounding = #mpt_program.rounding<bf16>}
  // PLAN: mpt_program.matmul ins({{.*}} : memref<4x6xbf16>, memref<8x6xf32>) outs({{.*}}) {rounding = #mpt_program.rounding<bf16>, transpose_rhs}
  // PLAN: mpt_program.matmul ins({{.*}} : memref<4x8xbf16>, memref<8x6xbf16>) outs
  %low = mpt.cast %w : (tensor<8x2x3xf32>) -> tensor<8x2x3xbf16>
  %0 = mpt.reshape %low : (tensor<8x2x3xbf16>) -> tensor<8x6xbf16>
  %y = mpt.matmul %x, %0 : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xbf16>
  %dx = mpt.matmul %dy, %0 {transpose_rhs} : (tensor<4x6xbf16>, tensor<8x6xbf16>) -> tensor<4x8xf32>
  %copy = mpt.cast %v : (tensor<8x2x3xf32>) -> tensor<8x2x3xbf16>
  %1 = mpt.reshape %copy : (tensor<8x2x3xbf16>) -> tensor<8x6xbf16>
  %z = mpt.matmul %x, %1 : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xbf16>
  return %y, %dx, %z, %1 : tensor<4x6xbf16>, tensor<4x8xf32>, tensor<4x6xbf16>, tensor<8x6xbf16>
}

// -----

// An input, on the left of a matmul and of its weight's gradient, with its dimensions joined, and
// the images of a convolution.
// CHECK-LABEL: func @inputs
// CHECK-NOT: kernel
// PLAN-LABEL: program @inputs
// PLAN: mpt_program.matmul ins({{.*}} : memref<8x8xf32>, memref<8x6xbf16>) outs({{.*}}) {lhs_rounding = #mpt_program.rounding<bf16>}
// PLAN: mpt_program.matmul ins({{.*}} : memref<8x8xf32>, memref<8x6xbf16>) outs({{.*}}) {lhs_rounding = #mpt_program.rounding<bf16>, transpose_lhs}
// PLAN: mpt_program.conv2d ins({{.*}} memref<2x6x6x3xf32>, memref<3x3x3x5xf32>) outs({{.*}}) {rounding = #mpt_program.rounding<f16>, x_rounding = #mpt_program.rounding<f16>}
// PLAN: mpt_program.conv2d_filter_grad ins({{.*}} memref<2x6x6x3xf32>, memref<2x4x4x5xf16>) outs({{.*}}) {x_rounding = #mpt_program.rounding<f16>}
func.func @inputs(%x: tensor<2x4x8xf32>, %w: tensor<8x6xbf16>, %dy: tensor<8x6xbf16>, %image: tensor<2x6x6x3xf32>, %f: tensor<3x3x3x5xf32>, %dz: tensor<2x4x4x5xf16>) -> (tensor<2x4x6xbf16>, tensor<8x6xf32>, tensor<2x4x4x5xf16>, tensor<3x3x3x5xf32>) {
  %low = mpt.cast %x : (tensor<2x4x8xf32>) -> tensor<2x4x8xbf16>
  %y = mpt.linear %low, %w : (tensor<2x4x8xbf16>, tensor<8x6xbf16>) -> tensor<2x4x6xbf16>
  %rows = mpt.reshape %low : (tensor<2x4x8xbf16>) -> tensor<8x8xbf16>
  %dw = mpt.matmul %rows, %dy {transpose_lhs} : (tensor<8x8xbf16>, tensor<8x6xbf16>) -> tensor<8x6xf32>
  %i = mpt.cast %image : (tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf16>
  %g = mpt.cast %f : (tensor<3x3x3x5xf32>) -> tensor<3x3x3x5xf16>
  %z = mpt.conv2d %i, %g : (tensor<2x6x6x3xf16>, tensor<3x3x3x5xf16>) -> tensor<2x4x4x5xf16>
  %df = mpt.conv2d_filter_grad %i, %dz : (tensor<2x6x6x3xf16>, tensor<2x4x4x5xf16>) -> tensor<3x3x3x5xf32>
  return %y, %dw, %z, %df : tensor<2x4x6xbf16>, tensor<8x6xf32>, tensor<2x4x4x5xf16>, tensor<3x3x3x5xf32>
}

// -----

// The left side of a result of many columns stays a copy, unless that would be as large.
// CHECK-LABEL: func @columns
// CHECK-NOT: mpt.cast %arg0
// CHECK: mpt.cast %arg1 : (tensor<4x129xf32>) -> tensor<4x129xbf16>
// CHECK-NOT: mpt.cast
// CHECK: mpt_kernel.kernel
// CHECK-NOT: mpt.cast
// CHECK: return
func.func @columns(%x: tensor<4x128xf32>, %z: tensor<4x129xf32>, %w: tensor<128x129xbf16>, %v: tensor<129x129xbf16>) -> (tensor<4x129xbf16>, tensor<4x129xbf16>) {
  %0 = mpt.cast %x : (tensor<4x128xf32>) -> tensor<4x128xbf16>
  %1 = mpt.linear %0, %w : (tensor<4x128xbf16>, tensor<128x129xbf16>) -> tensor<4x129xbf16>
  %2 = mpt.cast %z : (tensor<4x129xf32>) -> tensor<4x129xbf16>
  %3 = mpt.matmul %2, %v : (tensor<4x129xbf16>, tensor<129x129xbf16>) -> tensor<4x129xbf16>
  return %1, %3 : tensor<4x129xbf16>, tensor<4x129xbf16>
}

// -----

// These stay in kernels: readers that cannot round, values that the step computes, and
// other types.
// CHECK-LABEL: func @kept
// CHECK-NOT: mpt.cast
// CHECK: return
func.func @kept(%x: tensor<8x8xbf16>, %w: tensor<8x8xf32>, %v: tensor<8xf32>, %u: tensor<8x8xf32>, %t: tensor<8x8xf32>, %s: tensor<8x8xf16>, %r: tensor<8x8xf32>, %image: tensor<2x6x6x3xbf16>, %dy: tensor<2x4x4x5xf32>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<3x3x3x5xf32>) {
  // Also read by an addition.
  %0 = mpt.cast %w : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %1 = mpt.matmul %x, %0 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %2 = mpt.add %x, %0 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  // A bias, and the gradient of a result.
  %3 = mpt.cast %v : (tensor<8xf32>) -> tensor<8xbf16>
  %4 = mpt.linear %x, %x, %3 : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xbf16>) -> tensor<8x8xbf16>
  %14 = mpt.cast %dy : (tensor<2x4x4x5xf32>) -> tensor<2x4x4x5xbf16>
  %15 = mpt.conv2d_filter_grad %image, %14 : (tensor<2x6x6x3xbf16>, tensor<2x4x4x5xbf16>) -> tensor<3x3x3x5xf32>
  // Returned.
  %5 = mpt.cast %u : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %6 = mpt.matmul %x, %5 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  // Computed.
  %7 = mpt.exp %t : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %8 = mpt.cast %7 : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %9 = mpt.matmul %x, %8 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  // Widened, and rounded to 8 bits.
  %10 = mpt.cast %s : (tensor<8x8xf16>) -> tensor<8x8xf32>
  %11 = mpt.matmul %x, %10 : (tensor<8x8xbf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %12 = mpt.cast %r : (tensor<8x8xf32>) -> tensor<8x8xf8E4M3FN>
  %13 = mpt.matmul %x, %12 : (tensor<8x8xbf16>, tensor<8x8xf8E4M3FN>) -> tensor<8x8xf32>
  return %1, %2, %4, %5, %6, %9, %11, %13, %15 : tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<3x3x3x5xf32>
}
