// RUN: mpt-opt %s -allow-unregistered-dialect -split-input-file -mpt-convert-to-stablehlo -mlir-print-debuginfo | FileCheck %s
// RUN: mpt-opt %s -allow-unregistered-dialect -split-input-file -mpt-convert-to-stablehlo=client=xla-gpu | FileCheck %s --check-prefix=GPU
// RUN: mpt-opt %s -allow-unregistered-dialect -split-input-file -mpt-convert-to-stablehlo=donate=false | FileCheck %s --check-prefix=KEPT

// The name of an argument is its location, that of a result jax.result_info.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<4x8xf32> {tf.aliasing_output = 1 : i32} loc("w"
// CHECK-SAME: jax.result_info = "loss"
// CHECK-NOT: mpt.
// KEPT-LABEL: func.func @main(
// KEPT-NOT: tf.aliasing_output
func.func @step(%w: tensor<4x8xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<2x4xbf16> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<4x8xf32> {mpt.name = "new_w", mpt.updates = "w"}) {
  // Narrow operands are widened, and the sum is converted once.
  // CHECK: %[[LOW:.*]] = "stablehlo.convert"(%{{.*}}) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  // CHECK: "stablehlo.convert"
  // CHECK: "stablehlo.convert"(%[[LOW]]) : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  // CHECK: "stablehlo.dot_general"
  // CHECK-SAME: dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>
  // CHECK-SAME: precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]
  // CHECK-SAME: (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  // GPU: "stablehlo.dot_general"
  // GPU-SAME: (tensor<2x4xbf16>, tensor<4x8xbf16>) -> tensor<2x8xf32>
  %low = mpt.cast %w : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %y = mpt.linear %x, %low {epilogue = #mpt.epilogue<relu>}
      : (tensor<2x4xbf16>, tensor<4x8xbf16>) -> tensor<2x8xbf16>
  // The activation reads the sum before it is rounded.
  // CHECK: "stablehlo.maximum"(%{{.*}}) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: "stablehlo.convert"(%{{.*}}) : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  // CHECK: "stablehlo.reduce"(
  // CHECK-SAME: dimensions = array<i64: 0, 1>
  // CHECK: "stablehlo.add"
  // CHECK: "stablehlo.return"
  %loss = mpt.reduce %y {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>}
      : (tensor<2x8xbf16>) -> tensor<f32>
  return %loss, %w : tensor<f32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @main(
func.func @moves(%x: tensor<2x6x6x3xf32>, %f: tensor<3x3x3x4xf32>,
                 %table: tensor<10x4xf32>, %rows: tensor<5xi32>)
    -> (tensor<2x3x3x4xf32>, tensor<5x4xf32>, tensor<10x4xf32>) {
  // CHECK: "stablehlo.convolution"
  // CHECK-SAME: dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>
  // CHECK-SAME{LITERAL}: padding = dense<1> : tensor<2x2xi64>
  %c = mpt.conv2d %x, %f {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<2x6x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x6x6x4xf32>
  // CHECK: "stablehlo.reduce_window"
  // CHECK-SAME: window_dimensions = array<i64: 1, 2, 2, 1>
  // CHECK: "stablehlo.maximum"
  %p = mpt.max_pool %c {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<2x6x6x4xf32>) -> tensor<2x3x3x4xf32>
  // CHECK: "stablehlo.gather"
  // CHECK-SAME: #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  %g = mpt.gather %table, %rows : (tensor<10x4xf32>, tensor<5xi32>) -> tensor<5x4xf32>
  // CHECK: [[ROWS:%.*]] = "stablehlo.scatter"
  // CHECK-SAME: #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  %z = mpt.scatter_add %rows, %g : (tensor<5xi32>, tensor<5x4xf32>) -> tensor<10x4xf32>
  // CHECK: "stablehlo.scatter"([[ROWS]],
  %a = mpt.scatter_add %rows, %g, %z : (tensor<5xi32>, tensor<5x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  // CHECK: [[LARGEST:%.*]] = "stablehlo.scatter"
  // CHECK: "stablehlo.maximum"
  // CHECK: "stablehlo.scatter"([[LARGEST]],
  // CHECK: "stablehlo.multiply"
  %m = mpt.scatter_reduce %rows, %g, %a {kind = #mpt.reduce_kind<max>} : (tensor<5xi32>, tensor<5x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  %s = mpt.scatter_reduce %rows, %g, %m {kind = #mpt.reduce_kind<prod>} : (tensor<5xi32>, tensor<5x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  return %p, %g, %s : tensor<2x3x3x4xf32>, tensor<5x4xf32>, tensor<10x4xf32>
}

// -----

// A loop stays a loop, and draws its own bits.
// CHECK-LABEL: func.func @main(
func.func @loop(%xs: tensor<3x4xf32>, %zero: tensor<4xf32>, %seed: tensor<i64>,
                %attempt: tensor<i64>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  // CHECK: "stablehlo.while"
  // CHECK: #stablehlo<comparison_direction LT>
  // CHECK: "stablehlo.subtract"
  // CHECK: "stablehlo.dynamic_slice"
  // CHECK: "stablehlo.shift_right_logical"
  // CHECK: "stablehlo.select"
  // CHECK: "stablehlo.dynamic_update_slice"
  %sum, %sums = mpt.scan 3 reverse carry(%zero : tensor<4xf32>) over(%xs : tensor<3x4xf32>) {
  ^bb0(%c: tensor<4xf32>, %x: tensor<4xf32>):
    %y, %mask = mpt.dropout %x, %seed, %attempt {rate = 0.5 : f64, stream = 3 : i64}
        : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> (tensor<4xf32>, tensor<4xi1>)
    %next = mpt.add %c, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %next, %next : tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>, tensor<3x4xf32>
  return %sum, %sums : tensor<4xf32>, tensor<3x4xf32>
}

// -----

// A conditional scan also ends where its first carried value is false.
// CHECK-LABEL: func.func @main(
// CHECK:      "stablehlo.while"
// CHECK-NEXT: ^bb0(%[[I:arg[0-9]+]]: tensor<i32> {{.*}}, %[[C:arg[0-9]+]]: tensor<i1>
// CHECK:        %[[L:.*]] = "stablehlo.compare"(%[[I]], %{{.*}})
// CHECK:        %[[A:.*]] = "stablehlo.and"(%[[L]], %[[C]])
// CHECK-NEXT:   "stablehlo.return"(%[[A]])
// CHECK:        "stablehlo.exponential"
func.func @conditional(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = mpt.scan conditional 4294967296 carry(%p, %x : tensor<i1>, tensor<4xf32>) {
  ^bb0(%c: tensor<i1>, %v: tensor<4xf32>):
    %e = mpt.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %c, %e : tensor<i1>, tensor<4xf32>
  } : tensor<i1>, tensor<4xf32>
  return %r#1 : tensor<4xf32>
}

// -----

// What a sum loses survives compilers that drop pairs of conversions.
// CHECK-LABEL: func.func @main(
// CHECK: "stablehlo.reduce_precision"(%{{.*}}) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}>
// CHECK: "chlo.erf"
func.func @bits(%x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %c = mpt.rounding_error %x : (tensor<4xf32>) -> tensor<4xbf16>
  %e = mpt.erf %x : (tensor<4xf32>) -> tensor<4xf32>
  return %c, %e : tensor<4xbf16>, tensor<4xf32>
}

// -----

// One conversion to f32 of what heads are made of: where it is read as it is, and behind the
// transpose that only a matmul reads. A transpose that is also returned stays narrow.
// CHECK-LABEL: func.func @main(
func.func @heads(%x: tensor<2x4x8x4xbf16>, %w: tensor<4x4xbf16>, %s: tensor<2x4x8x4xf32>)
    -> (tensor<2x8x4x4xbf16>, tensor<2x4x8x4xf32>, tensor<2x4x4x8xbf16>, tensor<2x4x4x8xf32>) {
  // CHECK: %[[WIDE:.*]] = "stablehlo.convert"(%arg0) : (tensor<2x4x8x4xbf16>) -> tensor<2x4x8x4xf32>
  // CHECK: %[[HEADS:.*]] = "stablehlo.transpose"(%[[WIDE]])
  // CHECK-SAME: (tensor<2x4x8x4xf32>) -> tensor<2x8x4x4xf32>
  // CHECK: "stablehlo.dot_general"(%[[HEADS]],
  %heads = mpt.transpose %x {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<2x4x8x4xbf16>) -> tensor<2x8x4x4xbf16>
  %y = mpt.matmul %heads, %w : (tensor<2x8x4x4xbf16>, tensor<4x4xbf16>) -> tensor<2x8x4x4xbf16>
  // CHECK: "stablehlo.multiply"(%[[WIDE]], %arg2)
  %z = mpt.mul %x, %s : (tensor<2x4x8x4xbf16>, tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  // CHECK: %[[NARROW:.*]] = "stablehlo.transpose"(%arg0)
  // CHECK-SAME: (tensor<2x4x8x4xbf16>) -> tensor<2x4x4x8xbf16>
  // CHECK: "stablehlo.convert"(%[[NARROW]])
  %t = mpt.transpose %x {permutation = array<i64: 0, 1, 3, 2>}
      : (tensor<2x4x8x4xbf16>) -> tensor<2x4x4x8xbf16>
  %c = mpt.cast %t : (tensor<2x4x4x8xbf16>) -> tensor<2x4x4x8xf32>
  return %y, %z, %t, %c : tensor<2x8x4x4xbf16>, tensor<2x4x8x4xf32>, tensor<2x4x4x8xbf16>,
      tensor<2x4x4x8xf32>
}

// -----

// The gradient of pooling names the winner of each window; where a window has more than 256
// elements, it stays one op.
// CHECK-LABEL: func.func @main(
func.func @pools(%dy: tensor<1x2x2x3xf32>, %x: tensor<1x5x5x3xf32>,
                 %dz: tensor<1x1x1x3xf32>, %v: tensor<1x17x17x3xf32>)
    -> (tensor<1x5x5x3xf32>, tensor<1x17x17x3xf32>) {
  // CHECK-NOT: select_and_scatter
  // CHECK-COUNT-9: "stablehlo.slice"
  // CHECK-COUNT-9: "stablehlo.pad"
  %p = mpt.max_pool_grad %dy, %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>}
      : (tensor<1x2x2x3xf32>, tensor<1x5x5x3xf32>) -> tensor<1x5x5x3xf32>
  // CHECK-NOT: "stablehlo.slice"
  // CHECK: "stablehlo.select_and_scatter"
  // CHECK-SAME: window_dimensions = array<i64: 1, 17, 17, 1>
  %q = mpt.max_pool_grad %dz, %v {window = array<i64: 17, 17>, strides = array<i64: 17, 17>}
      : (tensor<1x1x1x3xf32>, tensor<1x17x17x3xf32>) -> tensor<1x17x17x3xf32>
  return %p, %q : tensor<1x5x5x3xf32>, tensor<1x17x17x3xf32>
}
