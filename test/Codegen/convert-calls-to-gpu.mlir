// Convolutions and attention as matmuls and launches, and what runs where a library refuses.
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu | FileCheck %s --implicit-check-not=cudnn
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu=cudnn | FileCheck %s --check-prefixes=CHECK,CUDNN
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu=f32-matmuls=tf32 | FileCheck %s --check-prefix=TF32
// RUN: not mpt-opt %s --mpt-convert-calls-to-gpu=f32-matmuls=f8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown f32-matmuls 'f8'; choose exact, tf32 or bf16x9

mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 65536 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<2x4x4x8xf16>
  %f = mpt_program.buffer <arena> 4096 : memref<3x3x8x16xf16>
  %b = mpt_program.buffer <arena> 8192 : memref<16xf16>
  %y = mpt_program.buffer <arena> 12288 : memref<2x4x4x16xf16>
  %w = mpt_program.buffer <arena> 16384 : memref<8192xi8>
  %a = mpt_program.buffer <arena> 24576 : memref<32x16xf16>
  %c = mpt_program.buffer <arena> 28672 : memref<16x16xf16>
  %d = mpt_program.buffer <arena> 32768 : memref<32x16xf16>
  %s = mpt_program.buffer <arena> 40960 : memref<1x1x16x32xf16>
  %l = mpt_program.buffer <arena> 45056 : memref<1x1x16xf32>
  // A convolution is im2col, and a matmul with its bias and ReLU. cuBLASLt may refuse the
  // epilogue: then the plain matmul runs, and a launch.
  // CHECK-DAG: %[[X:.*]] = mpt_program.buffer <arena> 0 : memref<2x4x4x8xf16>
  // CHECK-DAG: %[[F:.*]] = mpt_program.buffer <arena> 4096 : memref<3x3x8x16xf16>
  // CHECK-DAG: %[[B:.*]] = mpt_program.buffer <arena> 8192
  // CHECK-DAG: %[[Y:.*]] = mpt_program.buffer <arena> 12288 : memref<2x4x4x16xf16>
  // CHECK-DAG: %[[START:.*]] = mpt_program.buffer <constant> 0 {value = dense<0> : tensor<1xi64>}
  // CHECK-DAG: %[[FILTER:.*]] = mpt_program.buffer <arena> 4096 : memref<72x16xf16>
  // CHECK-DAG: %[[ROWS:.*]] = mpt_program.buffer <arena> 12288 : memref<32x16xf16>
  // CHECK-DAG: %[[COLUMNS:.*]] = mpt_program.buffer <arena> 16384 : memref<32x72xf16>
  // With cuDNN the filter is transposed for it, and bias and ReLU are a launch.
  // CUDNN-DAG: %[[KRSC:.*]] = mpt_program.buffer <arena> 16384 : memref<3x3x8x16xf16>
  // CUDNN: mpt_program.alternatives {
  // CUDNN-NEXT: mpt_program.device_launch @mpt_kernels::@[[TRANSPOSED:mpt_transposed_[0-9]+]] {{.*}} ins(%[[F]] : {{.*}}) outs(%[[KRSC]] :
  // CUDNN-NEXT: mpt_program.conv2d ins(%[[X]], %[[KRSC]] : {{.*}}) outs(%[[Y]] : {{.*}}) {cudnn, padding = array<i64: 1, 1, 1, 1>}
  // CUDNN-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_epilogue_{{.*}} ins(%[[B]] : {{.*}}) outs(%[[Y]] :
  // CUDNN-NEXT: } else {
  // CHECK: mpt_program.device_launch @mpt_kernels::@[[IM2COL:mpt_columns_[0-9]+]] blocks [2, 1] threads 256 ins(%[[X]], %[[START]] : {{.*}}) outs(%[[COLUMNS]] :
  // CHECK-NEXT: mpt_program.alternatives {
  // CHECK-NEXT: mpt_program.matmul ins(%[[COLUMNS]], %[[FILTER]] : {{.*}}) bias(%[[B]] : {{.*}}) outs(%[[ROWS]] : {{.*}}) {epilogue = #mpt.epilogue<relu>}
  // CHECK-NEXT: } else {
  // CHECK-NEXT: mpt_program.matmul ins(%[[COLUMNS]], %[[FILTER]] : memref<32x72xf16>, memref<72x16xf16>) outs(%[[ROWS]] : memref<32x16xf16>){{$}}
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_epilogue_{{.*}} ins(%[[B]] : {{.*}}) outs(%[[ROWS]] :
  // CHECK-NEXT: }
  // CUDNN-NEXT: }
  mpt_program.conv2d ins(%x, %f : memref<2x4x4x8xf16>, memref<3x3x8x16xf16>) bias(%b : memref<16xf16>) outs(%y : memref<2x4x4x16xf16>) workspace(%w : memref<8192xi8>) {padding = array<i64: 1, 1, 1, 1>, epilogue = #mpt.epilogue<relu>}
  // A bias alone is an epilogue, too.
  // CHECK-NEXT: mpt_program.alternatives {
  // CHECK-NEXT: mpt_program.matmul {{.*}} bias(%[[B]] :
  // CHECK-NEXT: } else {
  // CHECK-NEXT: mpt_program.matmul
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_epilogue_
  // CHECK-NEXT: }
  mpt_program.matmul ins(%a, %c : memref<32x16xf16>, memref<16x16xf16>) bias(%b : memref<16xf16>) outs(%d : memref<32x16xf16>)
  // No device refuses a plain one.
  // CHECK-NEXT: mpt_program.matmul
  mpt_program.matmul ins(%a, %c : memref<32x16xf16>, memref<16x16xf16>) outs(%d : memref<32x16xf16>)
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_attention_1 blocks [1, 1] threads 128
  mpt_program.attention ins(%s, %s, %s : memref<1x1x16x32xf16>, memref<1x1x16x32xf16>, memref<1x1x16x32xf16>) outs(%s, %l : memref<1x1x16x32xf16>, memref<1x1x16xf32>) {causal, scale = 1.0 : f64}
  // Only of f32.
  // TF32-COUNT-1: f32_matmuls = #mpt_program.f32_matmuls<tf32>
  // TF32-NOT: f32_matmuls
  %e = mpt_program.buffer <arena> 49152 : memref<8x8xf32>
  mpt_program.matmul ins(%e, %e : memref<8x8xf32>, memref<8x8xf32>) outs(%e : memref<8x8xf32>)
}

// CHECK: gpu.module @mpt_kernels {
// CHECK: llvm.func @mpt_attention_1({{.*}}nvvm.kernel, nvvm.maxntid = array<i32: 128>
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32
// CHECK: nvvm.mma.sync
// CUDNN: llvm.func @[[TRANSPOSED]](%{{[^,]*}}: !llvm.ptr<1>, %{{[^,]*}}: !llvm.ptr<1>)
// CHECK: llvm.func @[[IM2COL]](%{{[^,]*}}: !llvm.ptr<1>, %{{[^,]*}}: !llvm.ptr<1>, %{{[^,]*}}: !llvm.ptr<1>)
// CHECK-NOT: llvm.func private
