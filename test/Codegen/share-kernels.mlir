// Kernels that differ in numbers alone become one function, and each launch gets its numbers.
// RUN: mpt-opt %s --split-input-file --mpt-convert-kernels-to-vector --mpt-share-kernels | FileCheck %s

#at = affine_map<(i, j) -> (i, j)>

// Of vectors one after another, the bounds differ, and no launch of its own has the
// function of another op.
// CHECK-LABEL: mpt_program.program @flat
// CHECK-DAG: %[[LARGE:.*]] = mpt_program.buffer <constant> 1 {value = dense<[800, 1600]> : tensor<2xi32>} : memref<2xi32>
// CHECK-DAG: %[[SMALL:.*]] = mpt_program.buffer <constant> 0 {value = dense<[400, 800]> : tensor<2xi32>} : memref<2xi32>
// CHECK: mpt_program.launch @small ins(%[[SMALL]], %[[X:.*]] : memref<2xi32>, memref<8x100xf32>) outs(%[[X]] : memref<8x100xf32>)
// CHECK: mpt_program.launch @small ins(%[[LARGE]], %[[Y:.*]] : memref<2xi32>, memref<8x200xf32>) outs(%[[Y]] : memref<8x200xf32>)
// CHECK: mpt_program.launch @other ins(%[[Y]] : memref<8x200xf32>)
mpt_program.program @flat attributes {
    target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 9600 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x100xf32>
  %y = mpt_program.buffer <arena> 3200 : memref<8x200xf32>
  mpt_program.launch @small ins(%x : memref<8x100xf32>) outs(%x : memref<8x100xf32>) tasks 2
  mpt_program.launch @large ins(%y : memref<8x200xf32>) outs(%y : memref<8x200xf32>) tasks 2
  mpt_program.launch @other ins(%y : memref<8x200xf32>) outs(%y : memref<8x200xf32>) tasks 2
}

// The numbers come before the buffers.
// CHECK-LABEL: func.func @small(
// CHECK-SAME: %[[BUFFERS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64,
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK: %[[NUMBERS:.*]] = llvm.load %[[SLOT]] invariant : !llvm.ptr -> !llvm.ptr
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[NUMBERS]][0] : (!llvm.ptr) -> !llvm.ptr, i32
// CHECK: llvm.load %[[AT]] invariant : !llvm.ptr -> i32
// CHECK: llvm.getelementptr %[[NUMBERS]][1]
// CHECK: llvm.getelementptr %[[BUFFERS]][1]
// CHECK: llvm.getelementptr %[[BUFFERS]][2]
// CHECK-NOT: func.func @large
// CHECK-LABEL: func.func @other(
// CHECK: llvm.getelementptr %{{.*}}[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK: arith.constant 1600 : i64
mpt_kernel.func <pointwise> @small domain [8, 100] chunk_rows 4 maps [#at] -> [#at]
    : (tensor<8x100xf32>) -> tensor<8x100xf32> {
^bb0(%e: f32):
  %s = arith.addf %e, %e : f32
  mpt_kernel.yield %s : f32
}
mpt_kernel.func <pointwise> @large domain [8, 200] chunk_rows 4 maps [#at] -> [#at]
    : (tensor<8x200xf32>) -> tensor<8x200xf32> {
^bb0(%e: f32):
  %s = arith.addf %e, %e : f32
  mpt_kernel.yield %s : f32
}
mpt_kernel.func <pointwise> @other domain [8, 200] chunk_rows 4 maps [#at] -> [#at]
    : (tensor<8x200xf32>) -> tensor<8x200xf32> {
^bb0(%e: f32):
  %s = arith.mulf %e, %e : f32
  mpt_kernel.yield %s : f32
}

// -----

#point = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// Sums of columns have two functions, which share a launch's numbers. What is allocated is
// as large as the largest kernel needs.
// CHECK-LABEL: mpt_program.program @columns
// CHECK: launch @sum256 ins({{.*}} : memref<3xi32>, memref<128x256xf32>)
// CHECK: launch @sum256 ins({{.*}} : memref<3xi32>, memref<160x512xf32>)
mpt_program.program @columns attributes {
    target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 462848 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<128x256xf32>
  %y = mpt_program.buffer <arena> 0 : memref<160x512xf32>
  %s = mpt_program.buffer <arena> 327680 : memref<256xf32>
  %t = mpt_program.buffer <arena> 327680 : memref<512xf32>
  %p = mpt_program.buffer <arena> 331776 : memref<131072xi8>
  mpt_program.launch @sum256 ins(%x : memref<128x256xf32>) outs(%s : memref<256xf32>)
      partials(%p : memref<131072xi8>) tasks 2
  mpt_program.launch @sum512 ins(%y : memref<160x512xf32>) outs(%t : memref<512xf32>)
      partials(%p : memref<131072xi8>) tasks 2
}

// CHECK-LABEL: func.func @sum256(
// CHECK: %[[MOST:.*]] = arith.constant 512 : i64
// CHECK: llvm.alloca %[[MOST]] x f32
// CHECK-LABEL: func.func @sum256_combine(
// CHECK: llvm.load {{.*}} invariant : !llvm.ptr -> !llvm.ptr
// The operand, the result, and the partial sums.
// CHECK: llvm.getelementptr %{{.*}}[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK: llvm.getelementptr %{{.*}}[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK: llvm.getelementptr %{{.*}}[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK-NOT: func.func
mpt_kernel.func <column> @sum256 domain [128, 256] chunk_rows 64 maps [#point] -> [#column]
    : (tensor<128x256xf32>) -> tensor<256xf32> {
^bb0(%e: f32):
  %s = mpt_kernel.column_reduce <sum> %e : f32
  mpt_kernel.yield %s : f32
}
mpt_kernel.func <column> @sum512 domain [160, 512] chunk_rows 80 maps [#point] -> [#column]
    : (tensor<160x512xf32>) -> tensor<512xf32> {
^bb0(%e: f32):
  %s = mpt_kernel.column_reduce <sum> %e : f32
  mpt_kernel.yield %s : f32
}

// -----

// Stay functions of their own: rows of few vectors, which LLVM unrolls; those with a tail; and
// those of which a buffer has a stride that is not the length of the row.
#point = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: mpt_program.program @rows
// CHECK: launch @sum32 ins(%{{.*}} : memref<8x32xf32>)
// CHECK: launch @sum64 ins(%{{.*}} : memref<8x64xf32>)
// CHECK: launch @sum256 ins(%{{.*}}, %{{.*}} : memref<1xi32>, memref<8x256xf32>)
// CHECK: launch @sum260 ins(%{{.*}} : memref<8x260xf32>)
// CHECK: launch @sum256 ins(%{{.*}}, %{{.*}} : memref<1xi32>, memref<8x512xf32>)
// CHECK: launch @half256 ins(%{{.*}} : memref<8x512xf32>)
mpt_program.program @rows attributes {
    target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 16448 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %a = mpt_program.buffer <arena> 0 : memref<8x32xf32>
  %b = mpt_program.buffer <arena> 0 : memref<8x64xf32>
  %c = mpt_program.buffer <arena> 0 : memref<8x256xf32>
  %d = mpt_program.buffer <arena> 0 : memref<8x260xf32>
  %e = mpt_program.buffer <arena> 0 : memref<8x512xf32>
  %s = mpt_program.buffer <arena> 16384 : memref<8xf32>
  mpt_program.launch @sum32 ins(%a : memref<8x32xf32>) outs(%s : memref<8xf32>) tasks 2
  mpt_program.launch @sum64 ins(%b : memref<8x64xf32>) outs(%s : memref<8xf32>) tasks 2
  mpt_program.launch @sum256 ins(%c : memref<8x256xf32>) outs(%s : memref<8xf32>) tasks 2
  mpt_program.launch @sum260 ins(%d : memref<8x260xf32>) outs(%s : memref<8xf32>) tasks 2
  mpt_program.launch @sum512 ins(%e : memref<8x512xf32>) outs(%s : memref<8xf32>) tasks 2
  mpt_program.launch @half256 ins(%e : memref<8x512xf32>) outs(%s : memref<8xf32>) tasks 2
}
// CHECK-COUNT-5: func.func
// CHECK-NOT: func.func
mpt_kernel.func <row> @sum32 domain [8, 32] chunk_rows 4 maps [#point] -> [#row]
    : (tensor<8x32xf32>) -> tensor<8xf32> {
^bb0(%x: f32):
  %s = mpt_kernel.row_reduce <sum> %x : f32
  mpt_kernel.yield %s : f32
}
mpt_kernel.func <row> @sum64 domain [8, 64] chunk_rows 4 maps [#point] -> [#row]
    : (tensor<8x64xf32>) -> tensor<8xf32> {
^bb0(%x: f32):
  %s = mpt_kernel.row_reduce <sum> %x : f32
  mpt_kernel.yield %s : f32
}
mpt_kernel.func <row> @sum256 domain [8, 256] chunk_rows 4 maps [#point] -> [#row]
    : (tensor<8x256xf32>) -> tensor<8xf32> {
^bb0(%x: f32):
  %s = mpt_kernel.row_reduce <sum> %x : f32
  mpt_kernel.yield %s : f32
}
mpt_kernel.func <row> @sum260 domain [8, 260] chunk_rows 4 maps [#point] -> [#row]
    : (tensor<8x260xf32>) -> tensor<8xf32> {
^bb0(%x: f32):
  %s = mpt_kernel.row_reduce <sum> %x : f32
  mpt_kernel.yield %s : f32
}
mpt_kernel.func <row> @sum512 domain [8, 512] chunk_rows 4 maps [#point] -> [#row]
    : (tensor<8x512xf32>) -> tensor<8xf32> {
^bb0(%x: f32):
  %s = mpt_kernel.row_reduce <sum> %x : f32
  mpt_kernel.yield %s : f32
}
mpt_kernel.func <row> @half256 domain [8, 256] chunk_rows 4 maps [#point] -> [#row]
    : (tensor<8x512xf32>) -> tensor<8xf32> {
^bb0(%x: f32):
  %s = mpt_kernel.row_reduce <sum> %x : f32
  mpt_kernel.yield %s : f32
}

// -----

// A row is found by divisions, which a constant makes multiplications.
#point = affine_map<(i, j, k) -> (i, j, k)>
#strided = affine_map<(i, j, k) -> (j, i, k)>

// CHECK-LABEL: mpt_program.program @divisions
// CHECK: launch @copy6
// CHECK: launch @copy10
mpt_program.program @divisions attributes {
    target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 81920 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<6x4x256xf32>
  %x0 = mpt_program.buffer <arena> 40960 : memref<4x6x256xf32>
  %y = mpt_program.buffer <arena> 0 : memref<10x4x256xf32>
  %y0 = mpt_program.buffer <arena> 40960 : memref<4x10x256xf32>
  mpt_program.launch @copy6 ins(%x : memref<6x4x256xf32>) outs(%x0 : memref<4x6x256xf32>) tasks 2
  mpt_program.launch @copy10 ins(%y : memref<10x4x256xf32>) outs(%y0 : memref<4x10x256xf32>) tasks 2
}
mpt_kernel.func <pointwise> @copy6 domain [4, 6, 256] chunk_rows 12 maps [#strided] -> [#point]
    : (tensor<6x4x256xf32>) -> tensor<4x6x256xf32> {
^bb0(%x: f32):
  mpt_kernel.yield %x : f32
}
mpt_kernel.func <pointwise> @copy10 domain [4, 10, 256] chunk_rows 20 maps [#strided] -> [#point]
    : (tensor<10x4x256xf32>) -> tensor<4x10x256xf32> {
^bb0(%x: f32):
  mpt_kernel.yield %x : f32
}

// -----

// A function of another kind is left alone, as are launches of it.
// CHECK-LABEL: mpt_program.program @foreign
// CHECK: launch @f ins() outs(
mpt_program.program @foreign attributes {
    target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 64 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<4xf32>
  mpt_program.launch @f ins() outs(%x : memref<4xf32>) tasks 1
}
// CHECK: func.func private @f()
func.func private @f()

// -----

// Each program has numbers of its own.
#at = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: mpt_program.program @one
// CHECK-DAG: mpt_program.buffer <constant> 0 {value = dense<[400, 800]> : tensor<2xi32>}
// CHECK-DAG: mpt_program.buffer <constant> 1 {value = dense<[800, 1600]> : tensor<2xi32>}
mpt_program.program @one attributes {
    target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 9600 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x100xf32>
  %y = mpt_program.buffer <arena> 3200 : memref<8x200xf32>
  mpt_program.launch @a ins(%x : memref<8x100xf32>) outs(%x : memref<8x100xf32>) tasks 2
  mpt_program.launch @b ins(%y : memref<8x200xf32>) outs(%y : memref<8x200xf32>) tasks 2
}
// CHECK-LABEL: mpt_program.program @two
// CHECK: %[[NUMBERS:.*]] = mpt_program.buffer <constant> 0 {value = dense<[800, 1600]> : tensor<2xi32>}
// CHECK: mpt_program.launch @a ins(%[[NUMBERS]],
mpt_program.program @two attributes {
    target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 6400 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %y = mpt_program.buffer <arena> 0 : memref<8x200xf32>
  mpt_program.launch @b ins(%y : memref<8x200xf32>) outs(%y : memref<8x200xf32>) tasks 2
}
mpt_kernel.func <pointwise> @a domain [8, 100] chunk_rows 4 maps [#at] -> [#at]
    : (tensor<8x100xf32>) -> tensor<8x100xf32> {
^bb0(%e: f32):
  %s = arith.addf %e, %e : f32
  mpt_kernel.yield %s : f32
}
mpt_kernel.func <pointwise> @b domain [8, 200] chunk_rows 4 maps [#at] -> [#at]
    : (tensor<8x200xf32>) -> tensor<8x200xf32> {
^bb0(%e: f32):
  %s = arith.addf %e, %e : f32
  mpt_kernel.yield %s : f32
}
