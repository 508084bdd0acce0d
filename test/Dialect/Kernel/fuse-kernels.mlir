// RUN: mpt-opt %s --mpt-fuse-kernels | FileCheck %s
// RUN: mpt-opt %s --mpt-fuse-kernels -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-fuse-kernels -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir

// A rounded value in between stays rounded.
// CHECK-LABEL: func.func @chain
// CHECK: mpt_kernel.kernel <pointwise>(%arg0, %arg1) domain [4, 8] chunk_rows 4
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK: %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK: %[[N:.*]] = arith.truncf %[[S]] : f32 to bf16
// CHECK: %[[W:.*]] = arith.extf %[[N]] : bf16 to f32
// CHECK: %[[M:.*]] = arith.maximumf %[[W]], %{{.*}} : f32
// CHECK: %[[R:.*]] = arith.truncf %[[M]] : f32 to bf16
// CHECK: mpt_kernel.yield %[[R]] : bf16
// CHECK-NOT: mpt_kernel.kernel <
func.func @chain(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xbf16> {
  %s = mpt.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xbf16>
  %r = mpt.relu %s : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}

// Splat constants are scalars inside; others are read.
// CHECK-LABEL: func.func @constants
// CHECK: %[[C:.*]] = mpt.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: mpt_kernel.kernel {{<[a-z]+>}}(%arg0, %[[C]])
// CHECK: arith.constant 3.000000e+00 : f32
// CHECK-NOT: mpt_kernel.kernel <
func.func @constants(%a: tensor<2xf32>) -> tensor<2xf32> {
  %three = mpt.constant dense<3.0> : tensor<f32>
  %c = mpt.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = mpt.mul %a, %three : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %r = mpt.add %s, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// Any number of reductions along a row, and a result with a number per row.
// CHECK-LABEL: func.func @row
// CHECK: mpt_kernel.kernel <row>(%arg0)
// CHECK-SAME: (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
// CHECK: mpt_kernel.row_reduce <max>
// CHECK: mpt_kernel.row_reduce <sum>
// CHECK-NOT: mpt_kernel.kernel <
func.func @row(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>) {
  %m = mpt.reduce %x {kind = #mpt.reduce_kind<max>, axes = array<i64: 1>, keep_dims} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %c = mpt.sub %x, %m : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %e = mpt.exp %c : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = mpt.reduce %e {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>, keep_dims} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %y = mpt.div %e, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y, %s : tensor<4x8xf32>, tensor<4x1xf32>
}

// The bias gradient is summed where the activation's gradient is made, although
// a product comes between, since it is small.
// CHECK-LABEL: func.func @bias_gradient
// CHECK: %[[K:.*]]:2 = mpt_kernel.kernel <column>(%arg0, %arg1)
// CHECK: mpt_kernel.column_reduce <sum>
// CHECK: mpt.matmul %[[K]]#0
// CHECK-NOT: mpt_kernel.kernel <
func.func @bias_gradient(%dy: tensor<16x8xf32>, %y: tensor<16x8xf32>, %w: tensor<4x8xf32>) -> (tensor<16x4xf32>, tensor<8xf32>) {
  %d = mpt.relu_grad %dy, %y : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %dx = mpt.matmul %d, %w {transpose_rhs} : (tensor<16x8xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
  %db = mpt.reduce %d {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<16x8xf32>) -> tensor<8xf32>
  return %dx, %db : tensor<16x4xf32>, tensor<8xf32>
}

// Autocast widens gradients of f16 before their sums: the sum still joins the kernel of
// what it adds, before the matmul.
// CHECK-LABEL: func.func @bias_gradient_of_halves
// CHECK: %[[K:.*]]:2 = mpt_kernel.kernel <column>
// CHECK: arith.truncf
// CHECK: mpt_kernel.column_reduce <sum> %{{.*}} : f32
// CHECK: mpt.matmul %[[K]]#0
// CHECK-NOT: mpt_kernel.kernel
// CHECK: return
func.func @bias_gradient_of_halves(%dy: tensor<16x8xf16>, %y: tensor<16x8xf16>, %w: tensor<4x8xf16>) -> (tensor<16x4xf16>, tensor<8xf32>) {
  %d = mpt.mul %dy, %y : (tensor<16x8xf16>, tensor<16x8xf16>) -> tensor<16x8xf16>
  %dx = mpt.matmul %d, %w {transpose_rhs} : (tensor<16x8xf16>, tensor<4x8xf16>) -> tensor<16x4xf16>
  %wide = mpt.cast %d : (tensor<16x8xf16>) -> tensor<16x8xf32>
  %db = mpt.reduce %wide {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<16x8xf32>) -> tensor<8xf32>
  return %dx, %db : tensor<16x4xf16>, tensor<8xf32>
}

// What is widened after the matmul for more than a sum is not stored before it.
// CHECK-LABEL: func.func @widened_after_a_matmul
// CHECK: mpt_kernel.kernel <pointwise>
// CHECK: mpt.matmul
// CHECK: mpt_kernel.kernel <column>
// CHECK: arith.mulf
// CHECK: mpt_kernel.column_reduce <sum>
// CHECK: return
func.func @widened_after_a_matmul(%dy: tensor<16x8xf16>, %y: tensor<16x8xf16>, %w: tensor<4x8xf16>) -> (tensor<16x4xf16>, tensor<8xf32>) {
  %d = mpt.mul %dy, %y : (tensor<16x8xf16>, tensor<16x8xf16>) -> tensor<16x8xf16>
  %dx = mpt.matmul %d, %w {transpose_rhs} : (tensor<16x8xf16>, tensor<4x8xf16>) -> tensor<16x4xf16>
  %wide = mpt.cast %d : (tensor<16x8xf16>) -> tensor<16x8xf32>
  %square = mpt.mul %wide, %wide : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %db = mpt.reduce %square {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<16x8xf32>) -> tensor<8xf32>
  return %dx, %db : tensor<16x4xf16>, tensor<8xf32>
}

// A sum with the rows kept as size 1.
// CHECK-LABEL: func.func @column_keep_dims
// CHECK: mpt_kernel.kernel <column>
// CHECK-NOT: mpt.reduce %
func.func @column_keep_dims(%x: tensor<16x8xf32>) -> tensor<1x8xf32> {
  %s = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>, keep_dims} : (tensor<16x8xf32>) -> tensor<1x8xf32>
  return %s : tensor<1x8xf32>
}

// All elements: along rows, then over them.
// CHECK-LABEL: func.func @full
// CHECK: mpt_kernel.kernel <column>(%arg0)
// CHECK: %[[R:.*]] = mpt_kernel.row_reduce <sum>
// CHECK: %[[C:.*]] = mpt_kernel.column_reduce <sum> %[[R]]
// CHECK: arith.mulf %[[C]]
// CHECK-NOT: mpt_kernel.kernel <
func.func @full(%x: tensor<16x8xf32>) -> tensor<f32> {
  %h = mpt.constant dense<0.5> : tensor<f32>
  %s = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<16x8xf32>) -> tensor<f32>
  %y = mpt.mul %s, %h : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// What depends on a column reduction needs another pass over the rows, also if
// it meets a value of the first kernel later on.
// CHECK-LABEL: func.func @after_columns
// CHECK: %[[K:.*]]:2 = mpt_kernel.kernel <column>(%arg0)
// CHECK: mpt_kernel.kernel <pointwise>(%[[K]]#0, %[[K]]#1)
// CHECK-NOT: mpt_kernel.kernel <
func.func @after_columns(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %x = mpt.relu %a : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %m = mpt.reduce %x {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>} : (tensor<16x8xf32>) -> tensor<8xf32>
  %c = mpt.sub %x, %m : (tensor<16x8xf32>, tensor<8xf32>) -> tensor<16x8xf32>
  %y = mpt.add %x, %c : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %y : tensor<16x8xf32>
}

// A transposed reader needs other points of its operand: two kernels.
// CHECK-LABEL: func.func @transposed_reader
// CHECK: %[[K:.*]] = mpt_kernel.kernel {{<[a-z]+>}}(%{{.*}})
// CHECK: %[[R:.*]] = mpt.reshape %[[K]]
// CHECK: %[[S:.*]] = mpt.reshape %[[K]]
// CHECK: mpt_kernel.kernel {{<[a-z]+>}}(%[[R]], %[[S]]) domain [4, 4, 8]
// CHECK-SAME: maps [#{{.*}}, #{{.*}}] ->
// CHECK-NOT: mpt_kernel.kernel <
func.func @transposed_reader(%a: tensor<4x4x8xf32>) -> tensor<4x4x8xf32> {
  %x = mpt.relu %a : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %t = mpt.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %y = mpt.add %x, %t : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  return %y : tensor<4x4x8xf32>
}

// So does one that reads through another shape.
// CHECK-LABEL: func.func @renamed
// CHECK: %[[K:.*]] = mpt_kernel.kernel {{<[a-z]+>}}(%{{.*}})
// CHECK: mpt_kernel.kernel {{<[a-z]+>}}(%[[K]], %[[K]]) domain [8, 8]
// CHECK-NOT: mpt_kernel.kernel <
func.func @renamed(%a: tensor<8x1xf32>) -> tensor<8x8xf32> {
  %x = mpt.relu %a : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %r = mpt.reshape %x : (tensor<8x1xf32>) -> tensor<1x8xf32>
  %y = mpt.add %x, %r : (tensor<8x1xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// A sum of rows of a square tensor, without keep_dims, lies along the columns
// when it broadcasts.
// CHECK-LABEL: func.func @square
// CHECK: %[[K:.*]] = mpt_kernel.kernel <row>(%arg0)
// CHECK: mpt_kernel.kernel <pointwise>(%arg0, %[[K]])
func.func @square(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
  %y = mpt.add %x, %s : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// A kernel cannot wait for a product of its own result.
// CHECK-LABEL: func.func @around_a_product
// CHECK: %[[K:.*]] = mpt_kernel.kernel {{<[a-z]+>}}(%{{.*}})
// CHECK: %[[A:.*]] = mpt.reshape %[[K]]
// CHECK: %[[M:.*]] = mpt.matmul %[[A]]
// CHECK: %[[R:.*]] = mpt.reshape %[[M]]
// CHECK: mpt_kernel.kernel {{<[a-z]+>}}(%[[K]], %[[R]])
func.func @around_a_product(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = mpt.relu %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = mpt.matmul %a, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = mpt.add %a, %m : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// Whole tensors are not computed ahead of a product: %e would be stored across
// it, as would all that a backward pass recomputes.
// CHECK-LABEL: func.func @no_hoisting
// CHECK: %[[K:.*]]:2 = mpt_kernel.kernel <row>(%arg0)
// CHECK: mpt.matmul
// CHECK: mpt_kernel.kernel <pointwise>(%[[K]]#0, %{{.*}}, %{{.*}})
// CHECK: math.exp
func.func @no_hoisting(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = mpt.neg %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = mpt.reduce %a {kind = #mpt.reduce_kind<max>, axes = array<i64: 1>, keep_dims} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %p = mpt.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = mpt.sub %a, %m : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %e = mpt.exp %c : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = mpt.add %e, %p : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// Moves whose elements stay adjacent are loads.
// CHECK-LABEL: func.func @loads
// CHECK: mpt_kernel.kernel {{<[a-z]+>}}(%arg0, %arg1) domain [4, 2, 8]
// CHECK-NOT: mpt.transpose
// CHECK-NOT: mpt.slice
// CHECK-NOT: mpt_kernel.kernel <
func.func @loads(%a: tensor<2x4x8xf32>, %b: tensor<9x2x12xf32>) -> tensor<4x2x8xf32> {
  %t = mpt.transpose %a {permutation = array<i64: 1, 0, 2>} : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
  %s = mpt.slice %b {offsets = array<i64: 1, 0, 4>, sizes = array<i64: 4, 2, 8>, strides = array<i64: 2, 1, 1>} : (tensor<9x2x12xf32>) -> tensor<4x2x8xf32>
  %y = mpt.add %t, %s : (tensor<4x2x8xf32>, tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
  return %y : tensor<4x2x8xf32>
}

// Moves that would make loads strided stay copies.
// CHECK-LABEL: func.func @copies
// CHECK-DAG: mpt.transpose
// CHECK-DAG: mpt.slice
// CHECK: mpt_kernel.kernel <
func.func @copies(%a: tensor<8x4xf32>, %b: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %t = mpt.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %s = mpt.slice %b {offsets = array<i64: 0, 0>, sizes = array<i64: 4, 8>, strides = array<i64: 1, 2>} : (tensor<4x16xf32>) -> tensor<4x8xf32>
  %y = mpt.add %t, %s : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Index tensors are never stored.
// CHECK-LABEL: func.func @indices
// CHECK: mpt_kernel.kernel {{<[a-z]+>}}(%{{.*}}, %arg0)
// CHECK: %[[I:.*]] = mpt_kernel.index 1 : i32
// CHECK: arith.cmpi eq, %[[I]]
// CHECK: arith.select
// CHECK-NOT: mpt_kernel.kernel <
func.func @indices(%x: tensor<4x8xf32>, %label: tensor<4x1xi32>) -> tensor<4x8xf32> {
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %i = mpt.iota {axis = 1 : i64} : () -> tensor<4x8xi32>
  %c = mpt.compare %i, %label {predicate = #mpt.predicate<eq>} : (tensor<4x8xi32>, tensor<4x1xi32>) -> tensor<4x8xi1>
  %y = mpt.where %c, %x, %zero : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// A widened value is widened again by each reader rather than stored.
// CHECK-LABEL: func.func @widened
// CHECK-NOT: -> tensor<8x8xf32>
// CHECK: mpt_kernel.kernel <
// CHECK-NEXT: ^bb0(%{{.*}}: bf16):
// CHECK: mpt.matmul
// CHECK: mpt_kernel.kernel <
// CHECK-NEXT: ^bb0(%{{.*}}: bf16, %{{.*}}: bf16):
func.func @widened(%x: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %w = mpt.cast %x : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %a = mpt.exp %w : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %p = mpt.matmul %a, %a : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %y = mpt.mul %w, %p : (tensor<8x8xf32>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %y : tensor<8x8xbf16>
}

// Values of rows come in from kernels of their own shape.
// CHECK-LABEL: func.func @row_values
// CHECK: mpt_kernel.kernel <row>(%{{.*}}, %arg0)
// CHECK-NOT: mpt_kernel.kernel <
func.func @row_values(%x: tensor<4x8xf32>, %s: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %r = mpt.reciprocal %s : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %m = mpt.reduce %x {kind = #mpt.reduce_kind<max>, axes = array<i64: 1>, keep_dims} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %f = mpt.mul %m, %r : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %y = mpt.mul %x, %f : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @scalars
// CHECK: mpt_kernel.kernel {{<[a-z]+>}}(%arg1, %arg0) domain [1]
// CHECK-SAME: (tensor<i64>, tensor<f32>) -> tensor<f32>
// CHECK-NOT: mpt_kernel.kernel <
func.func @scalars(%a: tensor<f32>, %t: tensor<i64>) -> tensor<f32> {
  %w = mpt.cast %t : (tensor<i64>) -> tensor<f32>
  %y = mpt.mul %a, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Dimensions join and flat memory gets rows of a good length.
// CHECK-LABEL: func.func @long_rows
// CHECK: mpt.reshape %arg0 : (tensor<20000x1xf32>) -> tensor<5x4000xf32>
// CHECK: domain [5, 4000]
// CHECK: mpt.reshape %{{.*}} : (tensor<5x4000xf32>) -> tensor<20000x1xf32>
func.func @long_rows(%a: tensor<20000x1xf32>, %b: tensor<1xf32>) -> tensor<20000x1xf32> {
  %y = mpt.add %a, %b : (tensor<20000x1xf32>, tensor<1xf32>) -> tensor<20000x1xf32>
  return %y : tensor<20000x1xf32>
}

// Too large for a task: about 32 Ki points each; partial sums for at most 64.
// CHECK-LABEL: func.func @tasks
// CHECK: <row>({{.*}}domain [1048576, 32] chunk_rows 1024
// CHECK: <column>({{.*}}domain [1048576, 32] chunk_rows 16384
func.func @tasks(%a: tensor<1048576x32xf32>, %b: tensor<1048576x32xf32>) -> (tensor<1048576xf32>, tensor<32xf32>) {
  %r = mpt.reduce %a {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>} : (tensor<1048576x32xf32>) -> tensor<1048576xf32>
  %c = mpt.reduce %b {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<1048576x32xf32>) -> tensor<32xf32>
  return %r, %c : tensor<1048576xf32>, tensor<32xf32>
}

// What no kernel can do stays a call.
// CHECK-LABEL: func.func @calls
// CHECK: mpt.reduce %arg0
// CHECK: mpt.reduce %arg1
// CHECK-NOT: mpt_kernel.kernel <
func.func @calls(%x: tensor<4x8x2xf32>, %i: tensor<4x8xi32>) -> (tensor<4x2xf32>, tensor<4xi32>) {
  %a = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>} : (tensor<4x8x2xf32>) -> tensor<4x2xf32>
  %b = mpt.reduce %i {kind = #mpt.reduce_kind<max>, axes = array<i64: 1>} : (tensor<4x8xi32>) -> tensor<4xi32>
  return %a, %b : tensor<4x2xf32>, tensor<4xi32>
}

// Tensors without elements have no points to run over.
// CHECK-LABEL: func.func @empty
// CHECK-NOT: mpt_kernel.kernel <
// CHECK: return
func.func @empty(%x: tensor<0x8xf32>) -> tensor<0x8xf32> {
  %y = mpt.relu %x : (tensor<0x8xf32>) -> tensor<0x8xf32>
  return %y : tensor<0x8xf32>
}

// What is broadcast from a scalar does not join the kernel of another that reads it.
// CHECK-LABEL: func.func @scalar_and_tensor
// CHECK: domain [1]
// CHECK-NOT: -> (tensor<f32>, tensor<32x64xf32>)
// CHECK: domain [{{32, 64|1, 2048|2048}}]
// CHECK: return
func.func @scalar_and_tensor(%k: tensor<f32>, %a: tensor<32x64xf32>) -> (tensor<f32>, tensor<32x64xf32>) {
  %c = mpt.constant dense<3.7> : tensor<f32>
  %n = mpt.mul %k, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s = mpt.mul %a, %k : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  return %n, %s : tensor<f32>, tensor<32x64xf32>
}

// A barrier of several tensors (`jax.checkpoint`) is one barrier for each: the kernel that
// reads the first result computes the second operand.
// CHECK-LABEL: func.func @barrier_of_two
// CHECK: %[[X:.*]] = mpt.barrier %arg0
// CHECK: %[[K:.*]]:2 = mpt_kernel.kernel <pointwise>
// CHECK: mpt.barrier %[[K]]#
func.func @barrier_of_two(%x: tensor<8xf32>, %p: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %m = mpt.mul %p, %p : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b:2 = mpt.barrier %x, %m : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %s = mpt.sin %b#0 : (tensor<8xf32>) -> tensor<8xf32>
  %t = mpt.add %m, %s : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %t, %b#1 : tensor<8xf32>, tensor<8xf32>
}

// Arguments that are joined for two loops are joined for each; a barrier keeps the copies
// apart. What one loop reads is joined once.
// CHECK-LABEL: func.func @joins
// CHECK: %[[B:.*]] = mpt.barrier %arg0
// CHECK: %[[A:.*]] = mpt.concat %arg0, %arg1 {axis = 0
// CHECK: %[[V:.*]] = mpt.concat %arg1, %arg1 {axis = 1
// CHECK: mpt.scan 2 carry(%{{.*}}, %[[A]], %[[V]] :
// CHECK: %[[C:.*]] = mpt.concat %[[B]], %arg1 {axis = 0
// CHECK-NOT: mpt.concat
// CHECK: mpt.scan 2 carry(%{{.*}}, %[[C]] :
// CHECK-NOT: mpt.concat
// CHECK: return
func.func @joins(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x3xf32>) {
  %w = mpt.concat %a, %b {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %v = mpt.concat %b, %b {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %f = mpt.scan 2 carry(%x : tensor<4x6xf32>) {
  ^bb0(%c: tensor<4x6xf32>):
    %y = mpt.matmul %w, %w {transpose_rhs} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
    %z = mpt.matmul %y, %c : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %u = mpt.matmul %z, %v {transpose_rhs} : (tensor<4x6xf32>, tensor<2x6xf32>) -> tensor<4x2xf32>
    %t = mpt.matmul %u, %v : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    mpt.yield %t : tensor<4x6xf32>
  } : tensor<4x6xf32>
  %s = mpt.slice %x {offsets = array<i64: 0, 0>, sizes = array<i64: 4, 3>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %g = mpt.scan 2 carry(%s : tensor<4x3xf32>) {
  ^bb0(%c: tensor<4x3xf32>):
    %y = mpt.matmul %w, %w {transpose_rhs} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
    %z = mpt.matmul %y, %c : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    mpt.yield %z : tensor<4x3xf32>
  } : tensor<4x3xf32>
  return %f, %g : tensor<4x6xf32>, tensor<4x3xf32>
}

// What reads a kernel waits for what else an op of it reads.
// CHECK-LABEL: func.func @delayed
// CHECK: mpt_kernel.kernel <row>{{.*}} domain [4]
// CHECK: %[[Z:.*]] = mpt_kernel.kernel <row>{{.*}} domain [5]
// CHECK: %[[K:.*]]:2 = mpt_kernel.kernel <pointwise>(%{{.*}}, %[[Z]]) domain [128]
// CHECK: math.exp
// CHECK-NEXT: arith.mulf
// CHECK-NOT: mpt_kernel.kernel <
// CHECK: mpt.transpose
func.func @delayed(%x: tensor<8x16xf32>, %s: tensor<4xf32>, %q: tensor<5xf32>) -> (tensor<16x8xf32>, tensor<8x16xf32>) {
  %a = mpt.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %t = mpt.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %u = mpt.reduce %s {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %y = mpt.mul %q, %u : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  %z = mpt.reduce %y {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<5xf32>) -> tensor<f32>
  %b = mpt.mul %a, %z : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  return %t, %b : tensor<16x8xf32>, tensor<8x16xf32>
}

// It cannot if that comes of it.
// CHECK-LABEL: func.func @around
// CHECK: mpt_kernel.kernel <pointwise>{{.*}} domain [128]
// CHECK: mpt_kernel.kernel <row>{{.*}} domain [16, 8]
// CHECK: mpt_kernel.kernel <pointwise>{{.*}} domain [8, 16]
// CHECK-NOT: mpt_kernel.kernel <
func.func @around(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %a = mpt.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %t = mpt.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %y = mpt.reduce %t {kind = #mpt.reduce_kind<max>, axes = array<i64: 1>} : (tensor<16x8xf32>) -> tensor<16xf32>
  %b = mpt.mul %a, %y : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  return %b : tensor<8x16xf32>
}
