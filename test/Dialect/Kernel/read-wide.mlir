// With `arguments`, library calls read f32 arguments as they are where rounding them would save a
// CPU no time: those to be rounded to f16, and right sides of matmuls of at most 16 rows to be
// rounded to bf16.
//
// RUN: mpt-opt %s --mpt-widen-temporaries=arguments | FileCheck %s
// RUN: mpt-opt %s --mpt-widen-temporaries | FileCheck %s --check-prefix=OFF
// RUN: mpt-opt %s --mpt-widen-temporaries=arguments --mpt-plan-step=function=halves | FileCheck %s --check-prefix=CPU
// RUN: mpt-opt %s --mpt-plan-step=function=halves | FileCheck %s --check-prefix=PLAIN
// RUN: mpt-opt %s --mpt-widen-temporaries=arguments --remarks-filter='mpt\.kernels' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// OFF-COUNT-9: mpt.cast

// REMARK: read-wide.mlir:[[# @LINE + 10]]:{{[0-9]+}}: remark: {{.*}}read-wide{{.*}}CPUs multiply f16 as f32
// CHECK-LABEL: @halves
// CHECK-NOT: mpt.cast
// CHECK: mpt.linear %arg0, %arg2 : (tensor<64x8xf16>, tensor<8x6xf32>) -> tensor<64x6xf16>
// CHECK: mpt.matmul %arg1, %arg2 {transpose_rhs} : (tensor<64x6xf16>, tensor<8x6xf32>) -> tensor<64x8xf32>
// CPU: mpt_program.matmul ins({{.*}} : memref<64x8xf16>, memref<8x6xf32>) outs({{.*}} : memref<64x6xf16>)
// CPU-NOT: rounding
// By itself planning changes no bit: parameters that are stored in another way have the same.
// PLAIN: mpt_program.matmul ins({{.*}} : memref<64x8xf16>, memref<8x6xf32>) {{.*}}rounding = #mpt_program.rounding<f16>
func.func @halves(%x: tensor<64x8xf16>, %dy: tensor<64x6xf16>, %w: tensor<8x6xf32>) -> (tensor<64x6xf16>, tensor<64x8xf32>) {
  %low = mpt.cast %w {autocast} : (tensor<8x6xf32>) -> tensor<8x6xf16>
  %y = mpt.linear %x, %low : (tensor<64x8xf16>, tensor<8x6xf16>) -> tensor<64x6xf16>
  %dx = mpt.matmul %dy, %low {transpose_rhs} : (tensor<64x6xf16>, tensor<8x6xf16>) -> tensor<64x8xf32>
  return %y, %dx : tensor<64x6xf16>, tensor<64x8xf32>
}

// Filters and images, reshaped weights.
// CHECK-LABEL: @convolution
// CHECK: mpt.conv2d %arg0, %arg1 : (tensor<2x6x6x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x4x4x5xf16>
// CHECK: mpt.conv2d_filter_grad %arg0, %arg2 : (tensor<2x6x6x3xf32>, tensor<2x4x4x5xf16>)
// CHECK: %[[NAME:.*]] = mpt.reshape %arg3 : (tensor<8x2x3xf32>) -> tensor<8x6xf32>
// CHECK: mpt.matmul %arg4, %[[NAME]] : (tensor<64x8xf16>, tensor<8x6xf32>) -> tensor<64x6xf16>
func.func @convolution(%x: tensor<2x6x6x3xf32>, %w: tensor<3x3x3x5xf32>, %dy: tensor<2x4x4x5xf16>, %v: tensor<8x2x3xf32>, %z: tensor<64x8xf16>) -> (tensor<2x4x4x5xf16>, tensor<3x3x3x5xf32>, tensor<64x6xf16>) {
  %image = mpt.cast %x {autocast} : (tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf16>
  %filter = mpt.cast %w {autocast} : (tensor<3x3x3x5xf32>) -> tensor<3x3x3x5xf16>
  %0 = mpt.conv2d %image, %filter : (tensor<2x6x6x3xf16>, tensor<3x3x3x5xf16>) -> tensor<2x4x4x5xf16>
  %1 = mpt.conv2d_filter_grad %image, %dy : (tensor<2x6x6x3xf16>, tensor<2x4x4x5xf16>) -> tensor<3x3x3x5xf32>
  %low = mpt.cast %v {autocast} : (tensor<8x2x3xf32>) -> tensor<8x2x3xf16>
  %2 = mpt.reshape %low : (tensor<8x2x3xf16>) -> tensor<8x6xf16>
  %3 = mpt.matmul %z, %2 : (tensor<64x8xf16>, tensor<8x6xf16>) -> tensor<64x6xf16>
  return %0, %1, %3 : tensor<2x4x4x5xf16>, tensor<3x3x3x5xf32>, tensor<64x6xf16>
}

// bf16: few rows, in any shape; not if one reader has more, and no left side.
// REMARK: read-wide.mlir:[[# @LINE + 7]]:{{[0-9]+}}: remark: {{.*}}read-wide{{.*}}its matmuls have few rows; not rounded to bf16
// CHECK-LABEL: @rows
// CHECK: mpt.matmul %arg0, %arg2 : (tensor<2x8x8xbf16>, tensor<8x6xf32>) -> tensor<2x8x6xbf16>
// CHECK: mpt.cast %arg3
// CHECK: mpt.cast %arg4
// CHECK: mpt.cast %arg5
func.func @rows(%x: tensor<2x8x8xbf16>, %z: tensor<3x6x8xbf16>, %w: tensor<8x6xf32>, %v: tensor<8x6xf32>, %u: tensor<8x6xf32>, %left: tensor<4x8xf32>, %right: tensor<8x6xbf16>) -> (tensor<2x8x6xbf16>, tensor<3x6x6xbf16>, tensor<2x8x6xbf16>, tensor<3x6x6xbf16>, tensor<4x6xbf16>) {
  %0 = mpt.cast %w {autocast} : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  %few = mpt.matmul %x, %0 : (tensor<2x8x8xbf16>, tensor<8x6xbf16>) -> tensor<2x8x6xbf16>
  %1 = mpt.cast %v {autocast} : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  %many = mpt.matmul %z, %1 : (tensor<3x6x8xbf16>, tensor<8x6xbf16>) -> tensor<3x6x6xbf16>
  %2 = mpt.cast %u {autocast} : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  %some = mpt.matmul %x, %2 : (tensor<2x8x8xbf16>, tensor<8x6xbf16>) -> tensor<2x8x6xbf16>
  %more = mpt.matmul %z, %2 : (tensor<3x6x8xbf16>, tensor<8x6xbf16>) -> tensor<3x6x6xbf16>
  %3 = mpt.cast %left {autocast} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %of_left = mpt.matmul %3, %right : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xbf16>
  return %few, %many, %some, %more, %of_left : tensor<2x8x6xbf16>, tensor<3x6x6xbf16>, tensor<2x8x6xbf16>, tensor<3x6x6xbf16>, tensor<4x6xbf16>
}

// The user's own casts stay, and what elementwise ops read, too.
// CHECK-LABEL: @users
// CHECK-COUNT-2: mpt.cast
func.func @users(%x: tensor<64x8xf16>, %w: tensor<8x6xf32>, %v: tensor<8x6xf32>) -> (tensor<64x6xf16>, tensor<64x6xf16>, tensor<8x6xf16>) {
  %0 = mpt.cast %w : (tensor<8x6xf32>) -> tensor<8x6xf16>
  %y = mpt.matmul %x, %0 : (tensor<64x8xf16>, tensor<8x6xf16>) -> tensor<64x6xf16>
  %1 = mpt.cast %v {autocast} : (tensor<8x6xf32>) -> tensor<8x6xf16>
  %z = mpt.matmul %x, %1 : (tensor<64x8xf16>, tensor<8x6xf16>) -> tensor<64x6xf16>
  %2 = mpt.neg %1 : (tensor<8x6xf16>) -> tensor<8x6xf16>
  return %y, %z, %2 : tensor<64x6xf16>, tensor<64x6xf16>, tensor<8x6xf16>
}
