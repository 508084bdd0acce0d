// What has no counterpart is one error with all ops, their number and their places.
//
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-convert-stablehlo --split-input-file 2>&1 | FileCheck %s

// CHECK: error: mpt-convert-stablehlo: 6 ops of @all have no counterpart in the mpt dialect:
// CHECK-NEXT: stablehlo.shift_left, 1 time: elements that are not integers of at least 8 bits
// CHECK-NEXT: at {{.*}}.mlir:[[#@LINE+13]]
// CHECK-NEXT: stablehlo.custom_call @my_kernel, 2 times
// CHECK-NEXT: at net.py:3
// CHECK-NEXT: at net.py:4
// CHECK-NEXT: stablehlo.all_reduce, 1 time: a step of several devices; lower it for one
// CHECK-NEXT: at {{.*}}
// CHECK-NEXT: stablehlo.xor, 1 time: the bits of floats
// CHECK-NEXT: at {{.*}}
// CHECK-NEXT: stablehlo.while, 1 time: a condition that is no truth value
// CHECK-NEXT: at {{.*}}
// CHECK-NEXT: `mpt-opt --mpt-stablehlo-ops` lists the ops that have one
"func.func"() <{function_type = (tensor<4xi1>, tensor<4xf32>) -> (tensor<4xi1>, tensor<4xf32>), sym_name = "all"}> ({
^bb0(%i: tensor<4xi1>, %x: tensor<4xf32>):
  %0 = "stablehlo.shift_left"(%i, %i) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // What follows is checked, too.
  %1 = "stablehlo.custom_call"(%x) <{call_target_name = "my_kernel"}> : (tensor<4xf32>) -> tensor<4xf32> loc("net.py":3:1)
  %2 = "stablehlo.custom_call"(%1) <{call_target_name = "my_kernel"}> : (tensor<4xf32>) -> tensor<4xf32> loc("net.py":4:1)
  %3 = "stablehlo.all_reduce"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "stablehlo.xor"(%3, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = "stablehlo.while"(%4) ({
  ^bb0(%a: tensor<4xf32>):
    %p = "stablehlo.is_finite"(%a) : (tensor<4xf32>) -> tensor<4xi1>
    "stablehlo.return"(%p) : (tensor<4xi1>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>):
    %b = "stablehlo.tanh"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%b) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%0, %5) : (tensor<4xi1>, tensor<4xf32>) -> ()
}) : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: argument 0 of @type: expected real numbers, found 'tensor<4xcomplex<f32>>'; pass the parts, which jax.lax.complex joins, and return jnp.real and jnp.imag
"func.func"() <{function_type = (tensor<4xcomplex<f32>>) -> tensor<4xf32>, sym_name = "type"}> ({
^bb0(%x: tensor<4xcomplex<f32>>):
  %0 = "stablehlo.real"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: expected a public function of StableHLO's ops, found none; print the graph in MLIR's generic form
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// CHECK: error: mpt-convert-stablehlo: expected StableHLO, found a portable artifact (vhlo); `python -m mpt.jax FILE` prints it in generic form, as does
"vhlo.func_v1"() ({}) : () -> ()

// -----

// Operands and attributes that are not what the op takes.
// CHECK: error: mpt-convert-stablehlo: 8 ops of @operands have no counterpart
// CHECK-NEXT: stablehlo.dot_general, 1 time: dimensions that do not fit
// CHECK: stablehlo.add, 1 time: operands whose shapes do not broadcast
// CHECK: stablehlo.transpose, 1 time: a permutation that leaves out a dimension
// CHECK: stablehlo.slice, 1 time: attribute limit_indices: expected 2 integers, found 1
// CHECK: stablehlo.tanh, 1 time: a broadcast to a shape that does not fit
// CHECK: stablehlo.reduce, 1 time: a body with other than elementwise ops
// CHECK: stablehlo.convolution, 1 time: attribute dimension_numbers: expected #stablehlo.conv<[..]x[..]->[..]>
// CHECK: test.use, 1 time
"func.func"() <{function_type = (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>, sym_name = "operands"}> ({
^bb0(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>):
  %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = "stablehlo.add"(%x, %y) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %2 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = "stablehlo.slice"(%x) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %4 = "stablehlo.tanh"(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %5 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %6 = "stablehlo.reduce"(%x, %5) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "test.body"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  %7 = "stablehlo.convolution"(%x, %y) <{dimension_numbers = 3 : i64}> : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  "test.use"(%0, %1, %2, %3, %4, %6, %7) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x3xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<2x4xf32>) -> ()
  "func.return"(%x) : (tensor<2x3xf32>) -> ()
}) : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: tf.aliasing_output: argument 0 is 'tensor<4xf32>' and result 0, its next value, is 'tensor<2xf32>'; expected equal types
"func.func"() <{arg_attrs = [{tf.aliasing_output = 0 : i32}], function_type = (tensor<4xf32>) -> tensor<2xf32>, sym_name = "state"}> ({
^bb0(%x: tensor<4xf32>):
  %0 = "stablehlo.slice"(%x) <{limit_indices = array<i64: 2>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<2xf32>
  "func.return"(%0) : (tensor<2xf32>) -> ()
}) : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: mhlo.input_output_alias: expected one of 1 arguments and 1 results, found argument 3 and result 0
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.input_output_alias = [{alias = {kind = "may_alias", parameter_index = array<i64>, parameter_number = 3 : i64}, output_index = array<i64: 0>}]} : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: mhlo.input_output_alias: expected arguments and results that are tensors, found {output_index = array<i64: 0, 1>}
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.input_output_alias = [{output_index = array<i64: 0, 1>}]} : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: @again is called recursively; expected calls that end
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "again"}> ({
^bb0(%x: tensor<4xf32>):
  %y = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = "func.call"(%y) <{callee = @again}> : (tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: 4 ops of @branches have no counterpart
// CHECK-NEXT: stablehlo.if, 1 time: expected a truth value and two branches
// CHECK: stablehlo.case, 1 time: expected an index of 32 bits
// CHECK: stablehlo.convert, 1 time: result 0: expected a tensor of known shape and type
// CHECK: test.use, 1 time
"func.func"() <{function_type = (tensor<4xf32>, tensor<i1>, tensor<f32>) -> tensor<4xf32>, sym_name = "branches"}> ({
^bb0(%x: tensor<4xf32>, %p: tensor<i1>, %i: tensor<f32>):
  %0 = "stablehlo.if"(%p) ({
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  %1 = "stablehlo.case"(%i) ({
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  }, {
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<f32>) -> tensor<4xf32>
  "stablehlo.convert"(%x) : (tensor<4xf32>) -> ()
  "test.use"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> ()
  "func.return"(%x) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// An op of a function whose place has no file is where that is called; and the whole error.
// CHECK: user.py:7:3: error: mpt-convert-stablehlo: 2 ops of @called have no counterpart in the mpt dialect:
// CHECK-NEXT: stablehlo.cholesky, 1 time: matrices that are not square
// CHECK-NEXT: at user.py:7{{$}}
// CHECK-NEXT: stablehlo.convolution, 1 time: a number of groups below 1
// CHECK-NEXT: at user.py:8{{$}}
"func.func"() <{function_type = (tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>, sym_name = "called"}> ({
^bb0(%x: tensor<1x4x4x1xf32>):
  %0 = "func.call"(%x) <{callee = @inner}> : (tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32> loc("jit(loss)"("user.py":7:3))
  %1 = "stablehlo.convolution"(%0, %x) <{batch_group_count = 1 : i64, feature_group_count = 0 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f]>}> : (tensor<1x4x4x1xf32>, tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32> loc("user.py":8:3)
  "func.return"(%1) : (tensor<1x4x4x1xf32>) -> ()
}) : () -> () loc(unknown)
"func.func"() <{function_type = (tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>, sym_name = "inner", sym_visibility = "private"}> ({
^bb0(%x: tensor<1x4x4x1xf32>):
  %0 = "stablehlo.cholesky"(%x) : (tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32> loc("cholesky")
  "func.return"(%0) : (tensor<1x4x4x1xf32>) -> ()
}) : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: argument 0 of @width: expected a tensor of known shape with elements of f64, f32, f16, bf16, f8E4M3FN, f8E5M2, or integers of 1, 8, 16, 32 or 64 bits, found 'tensor<4xi4>'
"func.func"() <{function_type = (tensor<4xi4>) -> tensor<4xf32>, sym_name = "width"}> ({
^bb0(%x: tensor<4xi4>):
  %0 = "stablehlo.convert"(%x) : (tensor<4xi4>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: 10 ops of @complex have no counterpart in the mpt dialect:
// CHECK-NEXT: stablehlo.fft, 1 time: attribute fft_type: expected FFT, IFFT, RFFT or IRFFT
// CHECK: stablehlo.fft, 1 time: attribute fft_length: expected a length for each dimension
// CHECK: stablehlo.fft, 1 time: a transform of other than 1 to 1048576 elements
// CHECK: stablehlo.tanh, 1 time: complex numbers; write it with jnp.real and jnp.imag
// CHECK: stablehlo.compare, 1 time: an order of complex numbers; compare jnp.real and jnp.imag
// CHECK: stablehlo.reduce, 1 time: complex numbers in a body other than add; write it with jnp.real and jnp.imag
// CHECK: stablehlo.reduce_window, 1 time: complex numbers in a body other than add;
// CHECK: stablehlo.scatter, 1 time: complex numbers in a body other than add;
"func.func"() <{function_type = (tensor<4xf32>, tensor<2097152xf32>) -> tensor<4xf32>, sym_name = "complex"}> ({
^bb0(%x: tensor<4xf32>, %long: tensor<2097152xf32>):
  %0 = "stablehlo.complex"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %1 = "stablehlo.fft"(%0) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type DCT>}> : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %2 = "stablehlo.fft"(%0) <{fft_length = array<i64: 4, 4>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %3 = "stablehlo.fft"(%long) <{fft_length = array<i64: 2097152>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<2097152xf32>) -> tensor<1048577xcomplex<f32>>
  %4 = "stablehlo.tanh"(%0) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %5 = "stablehlo.compare"(%0, %0) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  %one = "stablehlo.constant"() <{value = dense<(1.0, 0.0)> : tensor<complex<f32>>}> : () -> tensor<complex<f32>>
  %6 = "stablehlo.reduce"(%0, %one) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %9 = "stablehlo.subtract"(%a, %b) : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    "stablehlo.return"(%9) : (tensor<complex<f32>>) -> ()
  }) : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %7 = "stablehlo.reduce_window"(%0, %one) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %9 = "stablehlo.multiply"(%a, %b) : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    "stablehlo.return"(%9) : (tensor<complex<f32>>) -> ()
  }) : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
  %at = "stablehlo.constant"() <{value = dense<1> : tensor<1x1xi32>}> : () -> tensor<1x1xi32>
  %ones = "stablehlo.constant"() <{value = dense<(1.0, 0.0)> : tensor<1xcomplex<f32>>}> : () -> tensor<1xcomplex<f32>>
  %8 = "stablehlo.scatter"(%0, %at, %ones) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %9 = "stablehlo.multiply"(%a, %b) : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    "stablehlo.return"(%9) : (tensor<complex<f32>>) -> ()
  }) : (tensor<4xcomplex<f32>>, tensor<1x1xi32>, tensor<1xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  "test.use"(%5, %6, %7, %8) : (tensor<4xi1>, tensor<complex<f32>>, tensor<3xcomplex<f32>>, tensor<4xcomplex<f32>>) -> ()
  "test.use"(%1, %2, %3, %4) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<1048577xcomplex<f32>>, tensor<4xcomplex<f32>>) -> ()
  "func.return"(%x) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// What a checkpoint has inside is refused at its place, and what it yields has to be known.
// CHECK: error: mpt-convert-stablehlo: 3 ops of @checkpoint have no counterpart in the mpt dialect:
// CHECK-NEXT: stablehlo.uniform_dequantize, 1 time: quantized types
// CHECK-NEXT: at user.py:3{{$}}
// CHECK-NEXT: mpt.checkpoint, 1 time: expected results of known shape and type
// CHECK-NEXT: at user.py:4{{$}}
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "checkpoint"}> ({
^bb0(%x: tensor<3xf32>):
  %0 = "stablehlo.composite"(%x) <{decomposition = @again, name = "mpt.checkpoint"}> : (tensor<3xf32>) -> tensor<3xf32> loc("user.py":2:1)
  %1 = "stablehlo.composite"(%x) <{decomposition = @narrow, name = "mpt.checkpoint"}> : (tensor<3xf32>) -> tensor<3xi4> loc("user.py":4:1)
  "test.use"(%1) : (tensor<3xi4>) -> ()
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "again", sym_visibility = "private"}> ({
^bb0(%x: tensor<3xf32>):
  %0 = "stablehlo.uniform_dequantize"(%x) : (tensor<3xf32>) -> tensor<3xf32> loc("user.py":3:1)
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xi4>, sym_name = "narrow", sym_visibility = "private"}> ({
^bb0(%x: tensor<3xf32>):
  %0 = "stablehlo.convert"(%x) : (tensor<3xf32>) -> tensor<3xi4>
  "func.return"(%0) : (tensor<3xi4>) -> ()
}) : () -> ()

// -----

// Attributes of triangular_solve have no defaults, and singular vectors of what is no singular
// value are not made.
// CHECK: error: mpt-convert-stablehlo: 7 ops of @factors have no counterpart in the mpt dialect:
// CHECK-NEXT: stablehlo.triangular_solve, 1 time: attribute left_side: expected true or false
// CHECK: stablehlo.triangular_solve, 1 time: attribute unit_diagonal: expected true or false
// CHECK: stablehlo.triangular_solve, 1 time: attribute transpose_a: expected NO_TRANSPOSE, TRANSPOSE or ADJOINT
// CHECK: stablehlo.custom_call @lapack_sgesdd_ffi, 1 time: singular vectors of zeros; say full_matrices=False
// CHECK: stablehlo.custom_call @lapack_ssyevd_ffi, 1 time: mhlo.backend_config: expected uplo to be one of the letters LU
// CHECK: stablehlo.custom_call @lapack_sorgqr_ffi, 1 time: reflections that do not fit the matrix
"func.func"() <{function_type = (tensor<4x4xf32>, tensor<4x6xf32>, tensor<3xf32>) -> tensor<4x4xf32>, sym_name = "factors"}> ({
^bb0(%m: tensor<4x4xf32>, %x: tensor<4x6xf32>, %t: tensor<3xf32>):
  %0 = "stablehlo.triangular_solve"(%m, %m) <{lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.triangular_solve"(%m, %m) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "stablehlo.triangular_solve"(%m, %m) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3:5 = "stablehlo.custom_call"(%x) <{call_target_name = "lapack_sgesdd_ffi"}> {mhlo.backend_config = {mode = 65 : ui8}} : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<6x6xf32>, tensor<i32>)
  %4:3 = "stablehlo.custom_call"(%m) <{call_target_name = "lapack_ssyevd_ffi"}> {mhlo.backend_config = {mode = 86 : ui8}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<i32>)
  %5 = "stablehlo.custom_call"(%x, %t) <{call_target_name = "lapack_sorgqr_ffi"}> {mhlo.backend_config = {}} : (tensor<4x6xf32>, tensor<3xf32>) -> tensor<4x6xf32>
  "test.use"(%0, %1, %2, %3#3, %4#0, %5) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<6x6xf32>, tensor<4x4xf32>, tensor<4x6xf32>) -> ()
  "func.return"(%m) : (tensor<4x4xf32>) -> ()
}) : () -> ()

// -----

// CHECK: error: mpt-convert-stablehlo: 2 ops of @number have no counterpart in the mpt dialect:
// CHECK-NEXT: arith.constant, 1 time
"func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "number"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = "arith.constant"() <{value = 2.0 : f32}> : () -> f32
  %1 = "stablehlo.negate"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  "test.use"(%0) : (f32) -> ()
  "func.return"(%1) : (tensor<2xf32>) -> ()
}) : () -> ()
