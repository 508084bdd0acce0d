// RUN: mpt-opt %s -split-input-file -verify-diagnostics

func.func @constant_type() {
  // expected-error @+1 {{'mpt.constant' op result #0 must be ranked tensor of 64-bit float or 32-bit float}}
  %c = mpt.constant dense<1.0> : vector<4xf32>
  return
}

// -----

func.func @constant_mismatch() {
  // expected-error @+1 {{'mpt.constant' op failed to verify that all of {value, result} have same type}}
  %c = "mpt.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<5xf32>
  return
}

// -----

func.func @constant_value() {
  // expected-error @+1 {{custom op 'mpt.constant' invalid kind of attribute specified}}
  %c = mpt.constant 1.0 : f32
  return
}

// -----

func.func @iota_axis() {
  // expected-error @+1 {{'mpt.iota' op expected axis in [0, 2), found 2}}
  %i = mpt.iota {axis = 2 : i64} : () -> tensor<4x8xi32>
  return
}

// -----

func.func @iota_negative() {
  // expected-error @+1 {{'mpt.iota' op expected axis in [0, 1), found -1}}
  %i = mpt.iota {axis = -1 : i64} : () -> tensor<4xi32>
  return
}

// -----

func.func @iota_scalar() {
  // expected-error @+1 {{'mpt.iota' op expected axis in [0, 0), found 0}}
  %i = mpt.iota {axis = 0 : i64} : () -> tensor<i32>
  return
}

// -----

// 128 indices fit.
func.func @iota_width() {
  %i = mpt.iota {axis = 0 : i64} : () -> tensor<128xi8>
  // expected-error @+1 {{'mpt.iota' op expected an element type that holds indices up to 128, found 'i8'}}
  %j = mpt.iota {axis = 0 : i64} : () -> tensor<129xi8>
  return
}

// -----

func.func @iota_bool() {
  %i = mpt.iota {axis = 0 : i64} : () -> tensor<2xi1>
  // expected-error @+1 {{'mpt.iota' op expected an element type that holds indices up to 2, found 'i1'}}
  %j = mpt.iota {axis = 0 : i64} : () -> tensor<3xi1>
  return
}

// -----

func.func @cast_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.cast' op expected result of the shape of the operand, 4, found 5}}
  %y = mpt.cast %x : (tensor<4xf32>) -> tensor<5xf16>
  return
}

// -----

func.func @cast_rank(%x: tensor<1xf32>) {
  // expected-error @+1 {{'mpt.cast' op expected result of the shape of the operand, 1, found scalar}}
  %y = mpt.cast %x : (tensor<1xf32>) -> tensor<f16>
  return
}

// -----

func.func @cast_index(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.cast' op result #0 must be ranked tensor of 64-bit float}}
  %y = mpt.cast %x : (tensor<4xf32>) -> tensor<4xindex>
  return
}

// -----

func.func @reshape_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.reshape' op expected a result of the operand's element type 'f32', found 'bf16'; convert with mpt.cast}}
  %y = mpt.reshape %x : (tensor<4xf32>) -> tensor<2x2xbf16>
  return
}

// -----

func.func @reshape_count(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'mpt.reshape' op expected a shape of 12 elements, found 5x2 with 10}}
  %y = mpt.reshape %x : (tensor<4x3xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @reshape_empty(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{'mpt.reshape' op expected a shape of 0 elements, found scalar with 1}}
  %y = mpt.reshape %x : (tensor<4x0xf32>) -> tensor<f32>
  return
}

// -----

// 2^64 elements are not 0 elements.
func.func @reshape_overflow(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{'mpt.reshape' op expected fewer than 2^63 elements, found 4294967296x4294967296}}
  %y = mpt.reshape %x : (tensor<4294967296x4294967296xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @transpose_count(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{expected a permutation of 2 dimensions, found 3}}
  // expected-error @+1 {{'mpt.transpose' op failed to infer returned types}}
  %y = mpt.transpose %x {permutation = array<i64: 0, 1, 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_twice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{expected each dimension once in the permutation, found 0 twice}}
  // expected-error @+1 {{'mpt.transpose' op failed to infer returned types}}
  %y = mpt.transpose %x {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{expected each dimension once in the permutation, found -1 (out of range)}}
  // expected-error @+1 {{'mpt.transpose' op failed to infer returned types}}
  %y = mpt.transpose %x {permutation = array<i64: 0, -1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_sizes(%x: tensor<3xf32>) {
  // expected-error @+1 {{'mpt.broadcast' op expected sizes that are equal to the result's or 1, aligned at the last dimension, found 3 for the result 3x4}}
  %y = mpt.broadcast %x : (tensor<3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast_smaller(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.broadcast' op expected sizes that are equal to the result's or 1, aligned at the last dimension, found 4 for the result 1}}
  %y = mpt.broadcast %x : (tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @broadcast_rank(%x: tensor<1x4xf32>) {
  // expected-error @+1 {{'mpt.broadcast' op expected sizes that are equal to the result's or 1, aligned at the last dimension, found 1x4 for the result 4}}
  %y = mpt.broadcast %x : (tensor<1x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.broadcast' op expected a result of the operand's element type 'f32', found 'f16'; convert with mpt.cast}}
  %y = mpt.broadcast %x : (tensor<4xf32>) -> tensor<2x4xf16>
  return
}

// -----

func.func @slice_counts(%x: tensor<4x4xf32>) {
  // expected-error @+2 {{expected 2 offsets, sizes and strides, found 2, 1 and 2}}
  // expected-error @+1 {{'mpt.slice' op failed to infer returned types}}
  %y = mpt.slice %x {offsets = array<i64: 0, 0>, sizes = array<i64: 4>, strides = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @slice_end(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected a slice within dimension 0 of 4, found offset 1, size 3, stride 2}}
  // expected-error @+1 {{'mpt.slice' op failed to infer returned types}}
  %y = mpt.slice %x {offsets = array<i64: 1>, sizes = array<i64: 3>, strides = array<i64: 2>} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @slice_negative(%x: tensor<?x4xf32>) {
  // expected-error @+2 {{expected a slice within dimension 0 of ?x4, found offset -1, size 3, stride 1}}
  // expected-error @+1 {{'mpt.slice' op failed to infer returned types}}
  %y = mpt.slice %x {offsets = array<i64: -1, 0>, sizes = array<i64: 3, 4>, strides = array<i64: 1, 1>} : (tensor<?x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected a slice within dimension 0 of 4, found offset 3, size 2, stride -1}}
  // expected-error @+1 {{'mpt.slice' op failed to infer returned types}}
  %y = mpt.slice %x {offsets = array<i64: 3>, sizes = array<i64: 2>, strides = array<i64: -1>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// -1 is the whole dimension only.
func.func @slice_rest(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected a slice within dimension 0 of 4, found offset 1, size -1, stride 1}}
  // expected-error @+1 {{'mpt.slice' op failed to infer returned types}}
  %y = mpt.slice %x {offsets = array<i64: 1>, sizes = array<i64: -1>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

// The end is 2^64 - 1.
func.func @slice_overflow(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected a slice within dimension 0 of 4, found offset 9223372036854775807, size 2, stride 9223372036854775807}}
  // expected-error @+1 {{'mpt.slice' op failed to infer returned types}}
  %y = mpt.slice %x {offsets = array<i64: 9223372036854775807>, sizes = array<i64: 2>, strides = array<i64: 9223372036854775807>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @concat_none() {
  // expected-error @+2 {{expected at least one operand, found none}}
  // expected-error @+1 {{'mpt.concat' op failed to infer returned types}}
  %y = mpt.concat {axis = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_axis(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected axis in [0, 1), found -1}}
  // expected-error @+1 {{'mpt.concat' op failed to infer returned types}}
  %y = mpt.concat %x, %x {axis = -1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_scalars(%x: tensor<f32>) {
  // expected-error @+2 {{expected axis in [0, 0), found 0}}
  // expected-error @+1 {{'mpt.concat' op failed to infer returned types}}
  %y = mpt.concat %x, %x {axis = 0 : i64} : (tensor<f32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @concat_sizes(%x: tensor<4x2xf32>, %y: tensor<3x2xf32>) {
  // expected-error @+2 {{expected operands that differ along axis 1 only, found 'tensor<4x2xf32>' and 'tensor<3x2xf32>'}}
  // expected-error @+1 {{'mpt.concat' op failed to infer returned types}}
  %z = mpt.concat %x, %y {axis = 1 : i64} : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @concat_ranks(%x: tensor<4x2xf32>, %y: tensor<2xf32>) {
  // expected-error @+2 {{expected operands that differ along axis 0 only, found 'tensor<4x2xf32>' and 'tensor<2xf32>'}}
  // expected-error @+1 {{'mpt.concat' op failed to infer returned types}}
  %z = mpt.concat %x, %y {axis = 0 : i64} : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @concat_types(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+2 {{expected operands of one integer type or of floats, found 'tensor<4xf32>' and 'tensor<4xi32>'}}
  // expected-error @+1 {{'mpt.concat' op failed to infer returned types}}
  %z = mpt.concat %x, %y {axis = 0 : i64} : (tensor<4xf32>, tensor<4xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_overflow(%x: tensor<9223372036854775807xi8>) {
  // expected-error @+2 {{expected a sum of sizes below 2^63 along axis 0, found more}}
  // expected-error @+1 {{'mpt.concat' op failed to infer returned types}}
  %z = mpt.concat %x, %x {axis = 0 : i64} : (tensor<9223372036854775807xi8>, tensor<9223372036854775807xi8>) -> tensor<?xi8>
  return
}

// -----

func.func @pad_counts(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected 1 values in 'low', 'high' and 'interior', found 1, 1 and 2}}
  // expected-error @+1 {{'mpt.pad' op failed to infer returned types}}
  %y = mpt.pad %x {low = array<i64: 0>, high = array<i64: 0>, interior = array<i64: 0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_negative(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected paddings of at least 0, found -2}}
  // expected-error @+1 {{'mpt.pad' op failed to infer returned types}}
  %y = mpt.pad %x {low = array<i64: 0>, high = array<i64: -2>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @pad_overflow(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected a padded size below 2^63 of dimension 0 of 4, found low 9223372036854775807, high 0, interior 0}}
  // expected-error @+1 {{'mpt.pad' op failed to infer returned types}}
  %y = mpt.pad %x {low = array<i64: 9223372036854775807>, high = array<i64: 0>} : (tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @pad_interior_overflow(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected a padded size below 2^63 of dimension 0 of 4, found low 0, high 0, interior 4611686018427387904}}
  // expected-error @+1 {{'mpt.pad' op failed to infer returned types}}
  %y = mpt.pad %x {low = array<i64: 0>, high = array<i64: 0>, interior = array<i64: 4611686018427387904>} : (tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @pad_integer(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.pad' op expected 'value' to be a value of the element type 'i32', found 0.5}}
  %y = mpt.pad %x {low = array<i64: 0>, high = array<i64: 1>, value = 0.5 : f64} : (tensor<4xi32>) -> tensor<5xi32>
  return
}

// -----

// 127 fits.
func.func @pad_range(%x: tensor<4xi8>) {
  %y = mpt.pad %x {low = array<i64: 0>, high = array<i64: 1>, value = 127.0 : f64} : (tensor<4xi8>) -> tensor<5xi8>
  // expected-error @+1 {{'mpt.pad' op expected 'value' to be a value of the element type 'i8', found 128}}
  %z = mpt.pad %x {low = array<i64: 0>, high = array<i64: 1>, value = 128.0 : f64} : (tensor<4xi8>) -> tensor<5xi8>
  return
}

// -----

func.func @gather_scalar(%t: tensor<f32>, %i: tensor<4xi32>) {
  // expected-error @+2 {{expected a table of rank 1 or more, found 'tensor<f32>'}}
  // expected-error @+1 {{'mpt.gather' op failed to infer returned types}}
  %y = mpt.gather %t, %i : (tensor<f32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @gather_indices(%t: tensor<8x2xf32>, %i: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.gather' op operand #1 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<4xf32>'}}
  %y = mpt.gather %t, %i : (tensor<8x2xf32>, tensor<4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @gather_type(%t: tensor<8x2xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.gather' op expected a result of the table's element type 'f32', found 'f16'; convert with mpt.cast}}
  %y = mpt.gather %t, %i : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf16>
  return
}

// -----

func.func @gather_result(%t: tensor<8x2xf32>, %i: tensor<4xi32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4x2xf32>' are incompatible with return type(s) of operation 'tensor<8x2xf32>'}}
  // expected-error @+1 {{'mpt.gather' op failed to infer returned types}}
  %y = mpt.gather %t, %i : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @scatter_scalar(%i: tensor<4xi32>, %u: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.scatter_add' op expected a table of rank 1 or more, found 'tensor<f32>'}}
  %y = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @scatter_updates(%i: tensor<4xi32>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{'mpt.scatter_add' op expected updates of the shape of indices and the table's rows, 4x2, found 4x3}}
  %y = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x3xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @scatter_init(%i: tensor<4xi32>, %u: tensor<4x3xbf16>, %t: tensor<8x3xbf16>) {
  // expected-error @+1 {{'mpt.scatter_add' op expected 'init' of the table's type 'tensor<8x3xf32>', found 'tensor<8x3xbf16>'}}
  %y = mpt.scatter_add %i, %u, %t : (tensor<4xi32>, tensor<4x3xbf16>, tensor<8x3xbf16>) -> tensor<8x3xf32>
  return
}

// -----

func.func @scatter_kind(%i: tensor<4xi32>, %u: tensor<4x3xf32>, %t: tensor<8x3xf32>) {
  // expected-error @+1 {{'mpt.scatter_reduce' op expected a kind of max, min or prod, found sum; mpt.scatter_add sums}}
  %y = mpt.scatter_reduce %i, %u, %t {kind = #mpt.reduce_kind<sum>} : (tensor<4xi32>, tensor<4x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @scatter_types(%i: tensor<4xi32>, %u: tensor<4x3xbf16>, %t: tensor<8x3xf32>) {
  // expected-error @+1 {{'mpt.scatter_reduce' op expected updates of the table's element type 'f32', found 'bf16'; convert with mpt.cast}}
  %y = mpt.scatter_reduce %i, %u, %t {kind = #mpt.reduce_kind<max>} : (tensor<4xi32>, tensor<4x3xbf16>, tensor<8x3xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @scatter_rows(%i: tensor<4xi32>, %u: tensor<4x3xf32>, %t: tensor<8x2xf32>) {
  // expected-error @+1 {{'mpt.scatter_reduce' op expected updates of the shape of indices and the table's rows, 4x2, found 4x3}}
  %y = mpt.scatter_reduce %i, %u, %t {kind = #mpt.reduce_kind<max>} : (tensor<4xi32>, tensor<4x3xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @check_indices_size(%i: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.check_indices' op expected values of at least 0 in 'size', found -1}}
  %y = mpt.check_indices %i {size = -1 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  return
}
