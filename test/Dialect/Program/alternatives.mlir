// What a program for a GPU says about its device: grids, and what runs where a library
// refuses a call. Both come back from text and bytecode.
// RUN: mpt-opt %s --verify-roundtrip | FileCheck %s

gpu.module @mpt_kernels {
  llvm.func @krsc(%f: !llvm.ptr<1>, %t: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
  llvm.func @columns(%x: !llvm.ptr<1>, %m: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
  llvm.func @relu(%bias: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
  // The third is the record of indices that are out of bounds.
  llvm.func @rows(%i: !llvm.ptr<1>, %y: !llvm.ptr<1>, %faults: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}

// CHECK: mpt_program.program @step attributes {{{.*}}target = #mpt.target<cuda, [sm_80, sm_90]>, tuned_matmuls = {key = array<i64: 1, 2, 3, 4, 5, 6, 7, 8>}}
mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_80, "sm_90"]>, max_threads = 1 : i64,
    arena_bytes = 65536 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64,
    tuned_matmuls = {key = array<i64: 1, 2, 3, 4, 5, 6, 7, 8>}} {
  %x = mpt_program.buffer <arena> 0 : memref<2x4x4x8xf16>
  %f = mpt_program.buffer <arena> 4096 : memref<3x3x8x16xf16>
  %t = mpt_program.buffer <arena> 8192 : memref<3x3x8x16xf16>
  %m = mpt_program.buffer <arena> 12288 : memref<32x72xf16>
  %w = mpt_program.buffer <arena> 4096 : memref<72x16xf16>
  %b = mpt_program.buffer <arena> 20480 : memref<16xf16>
  %y = mpt_program.buffer <arena> 24576 : memref<2x4x4x16xf16>
  %r = mpt_program.buffer <arena> 24576 : memref<32x16xf16>
  %i = mpt_program.buffer <arena> 32768 : memref<32xi32>
  %s = mpt_program.buffer <arena> 36864 : memref<64xi8>

  // CHECK: mpt_program.device_launch @mpt_kernels::@rows blocks [2, 3] threads 64 ins(%{{.*}} : memref<32xi32>) outs(%{{.*}} : memref<32x16xf16>) {bound = 10 : i64}
  mpt_program.device_launch @mpt_kernels::@rows blocks [2, 3] threads 64 ins(%i : memref<32xi32>) outs(%r : memref<32x16xf16>) {bound = 10 : i64}
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@columns blocks [1, 1] threads 32 ins() outs(%{{.*}} : memref<32xi32>) workspace(%{{.*}} : memref<64xi8>)
  mpt_program.device_launch @mpt_kernels::@columns blocks [1, 1] threads 32 ins() outs(%i : memref<32xi32>) workspace(%s : memref<64xi8>)

  // CHECK: mpt_program.alternatives {
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@krsc
  // CHECK-NEXT: mpt_program.conv2d {{.*}} {cudnn
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@relu
  // CHECK-NEXT: } else {
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@columns
  // CHECK-NEXT: mpt_program.alternatives {
  // CHECK-NEXT: mpt_program.matmul {{.*}}bias({{.*}}epilogue = #mpt.epilogue<relu>
  // CHECK-NEXT: } else {
  // CHECK-NEXT: mpt_program.matmul ins(%{{[^)]*}}) outs(%{{[^)]*}}){{$}}
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@relu
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  mpt_program.alternatives {
    mpt_program.device_launch @mpt_kernels::@krsc blocks [4, 1] threads 256 ins(%f : memref<3x3x8x16xf16>) outs(%t : memref<3x3x8x16xf16>)
    mpt_program.conv2d ins(%x, %t : memref<2x4x4x8xf16>, memref<3x3x8x16xf16>) outs(%y : memref<2x4x4x16xf16>) {padding = array<i64: 1, 1, 1, 1>, cudnn}
    mpt_program.device_launch @mpt_kernels::@relu blocks [1, 1] threads 256 ins(%b : memref<16xf16>) outs(%y : memref<2x4x4x16xf16>)
  } else {
    mpt_program.device_launch @mpt_kernels::@columns blocks [9, 1] threads 256 ins(%x : memref<2x4x4x8xf16>) outs(%m : memref<32x72xf16>)
    mpt_program.alternatives {
      mpt_program.matmul ins(%m, %w : memref<32x72xf16>, memref<72x16xf16>) bias(%b : memref<16xf16>) outs(%r : memref<32x16xf16>) {epilogue = #mpt.epilogue<relu>}
    } else {
      mpt_program.matmul ins(%m, %w : memref<32x72xf16>, memref<72x16xf16>) outs(%r : memref<32x16xf16>)
      mpt_program.device_launch @mpt_kernels::@relu blocks [1, 1] threads 256 ins(%b : memref<16xf16>) outs(%r : memref<32x16xf16>)
    }
  }
}
