// RUN: mpt-opt %s -split-input-file -verify-diagnostics

func.func @domain(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected values of at least 1 in 'domain', found 0}}
  "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4, 0>, chunk_rows = 4 : i64, operand_maps = [], result_maps = []}> ({
    mpt_kernel.yield
  }) : () -> ()
  return
}

// -----

func.func @domain_overflow() {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected a domain of fewer than 2^63 points, found 4294967296x4294967296}}
  "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4294967296, 4294967296>, chunk_rows = 4 : i64, operand_maps = [], result_maps = []}> ({
    mpt_kernel.yield
  }) : () -> ()
  return
}

// -----

func.func @chunk_rows() {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected values of at least 1 in 'chunk_rows', found -1}}
  "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = -1 : i64, operand_maps = [], result_maps = []}> ({
    mpt_kernel.yield
  }) : () -> ()
  return
}

// -----

func.func @map_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected a map for each of 1 operands and 0 results, found 0 and 0}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [], result_maps = []}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @open_size(%x: tensor<?xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected ranked tensors of static shape, found 'tensor<?xf32>'}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0)>], result_maps = []}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield
  }) : (tensor<?xf32>) -> ()
  return
}

// -----

func.func @map_rank(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected a map of 1 dimensions to 1 indices for operand 'tensor<4xf32>', found affine_map<(d0, d1) -> (d0)>}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0, d1) -> (d0)>], result_maps = []}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @map_symbol(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected a map of 1 dimensions to 1 indices for operand 'tensor<4xf32>', found affine_map<(d0)[s0] -> (d0)>}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0)[s0] -> (d0)>], result_maps = []}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @map_division(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected indices that are sums of dimensions times constants, found affine_map<(d0) -> (d0 floordiv 2)>}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 8>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0 floordiv 2)>], result_maps = []}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @map_range(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected index 0 of operand 'tensor<4xf32>' in [0, 4), found 1 to 4}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0 + 1)>], result_maps = []}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @map_negative(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected index 0 of operand 'tensor<4xf32>' in [0, 4), found -1 to 2}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (-d0 + 2)>], result_maps = []}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expected results of at most as many elements as the domain has points (1), found 'tensor<8xf32>'}}
  %y = "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 1>, chunk_rows = 1 : i64, operand_maps = [affine_map<(d0) -> (0)>], result_maps = [affine_map<(d0) -> (0)>]}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield %a : f32
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// 2^62 * 4 is 0 in 64 bits.
func.func @map_overflow(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected indices below 2^63, found affine_map<(d0) -> (d0 * 4611686018427387904)> over the domain 5}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 5>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0 * 4611686018427387904)>], result_maps = []}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @result_range(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected index 0 of result 'tensor<2xf32>' in [0, 2), found 0 to 3}}
  %y = "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0)>], result_maps = [affine_map<(d0) -> (d0)>]}> ({
  ^bb0(%a: f32):
    mpt_kernel.yield %a : f32
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @argument_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected a body argument for each of 1 operands, found 0}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0)>], result_maps = []}> ({
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @argument_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected body arguments of the operands' element types, found 'f16' for 'tensor<4xf32>'}}
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0)>], result_maps = []}> ({
  ^bb0(%a: f16):
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @empty_block() {
  // expected-error @+1 {{'mpt_kernel.kernel' op expects a non-empty block}}
  "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [], result_maps = []}> ({
  ^bb0:
  }) : () -> ()
  return
}

// -----

func.func @no_yield() {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected mpt_kernel.yield at the body's end, found 'mpt_kernel.index'}}
  "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [], result_maps = []}> ({
    %i = mpt_kernel.index 0 : i32
  }) : () -> ()
  return
}

// -----

func.func @yield_count() {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected mpt_kernel.yield of 0 values, found 1}}
  "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [], result_maps = []}> ({
    %i = mpt_kernel.index 0 : i32
    mpt_kernel.yield %i : i32
  }) : () -> ()
  return
}

// -----

func.func @yield_type() {
  // expected-error @+1 {{'mpt_kernel.kernel' op expected yielded values of the results' element types, found 'i32' for 'tensor<4xf32>'}}
  %y = "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [], result_maps = [affine_map<(d0) -> (d0)>]}> ({
    %i = mpt_kernel.index 0 : i32
    mpt_kernel.yield %i : i32
  }) : () -> tensor<4xf32>
  return
}

// -----

func.func @row_reduce_pointwise(%x: tensor<4xf32>) {
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0)>], result_maps = []}> ({
  ^bb0(%a: f32):
    // expected-error @+1 {{'mpt_kernel.row_reduce' op expected in a kernel of kind 'column' or 'row', found 'pointwise'}}
    %s = mpt_kernel.row_reduce <sum> %a : f32
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @column_reduce_row(%x: tensor<4xf32>) {
  "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<row>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0)>], result_maps = []}> ({
  ^bb0(%a: f32):
    // expected-error @+1 {{'mpt_kernel.column_reduce' op expected in a kernel of kind 'column', found 'row'}}
    %s = mpt_kernel.column_reduce <sum> %a : f32
    mpt_kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @index_dim() {
  "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [], result_maps = []}> ({
    // expected-error @+1 {{'mpt_kernel.index' op expected a dimension in [0, 1), found 1}}
    %i = mpt_kernel.index 1 : i32
    mpt_kernel.yield
  }) : () -> ()
  return
}

// -----

func.func @index_negative() {
  "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [], result_maps = []}> ({
    // expected-error @+1 {{'mpt_kernel.index' op expected a dimension in [0, 1), found -1}}
    %i = mpt_kernel.index -1 : i32
    mpt_kernel.yield
  }) : () -> ()
  return
}

// -----

func.func @kernel_kind() {
  // expected-error @+2 {{expected ::mpt::kernel::KernelKind to be one of: pointwise, row, column}}
  // expected-error @+1 {{failed to parse Kernel_Kind parameter 'value' which is to be a `::mpt::kernel::KernelKind`}}
  "mpt_kernel.kernel"() <{kind = #mpt_kernel.kind<matrix>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [], result_maps = []}> ({
    mpt_kernel.yield
  }) : () -> ()
  return
}

// -----

func.func @reduce_parent(%x: f32) {
  // expected-error @+1 {{'mpt_kernel.row_reduce' op expects parent op to be one of 'mpt_kernel.kernel, mpt_kernel.func'}}
  %s = mpt_kernel.row_reduce <sum> %x : f32
  return
}

// -----

func.func @index_parent() {
  // expected-error @+1 {{'mpt_kernel.index' op expects parent op to be one of 'mpt_kernel.kernel, mpt_kernel.func'}}
  %i = mpt_kernel.index 0 : i64
  return
}

// -----

// expected-error @+1 {{'mpt_kernel.func' op expected ranked tensors of static shape, found 'memref<4xf32>'}}
"mpt_kernel.func"() <{sym_name = "k", function_type = (memref<4xf32>) -> (), kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0)>], result_maps = []}> ({
^bb0(%a: f32):
  mpt_kernel.yield
}) : () -> ()

// -----

// expected-error @+1 {{'mpt_program.program' op expected arena_bytes of at least 0, found -64}}
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = -64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
}

// -----

// expected-error @+1 {{'mpt_program.program' op expected state_bytes of at least 0, found -1}}
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 0 : i64, state_bytes = -1 : i64, output_bytes = 0 : i64} {
}

// -----

// expected-error @+1 {{'mpt_program.program' op expected output_bytes of at least 0, found -1}}
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = -1 : i64} {
}

// -----

// expected-error @+1 {{'mpt_program.program' op expected max_threads of at least 1, found -2}}
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = -2 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'arith.constant' op found in a mpt_program.program: expected only buffers, launches, calls and loops}}
  %c = arith.constant 1 : i64
}

// -----

// expected-error @+1 {{'mpt_program.program' op requires attribute 'max_threads'}}
mpt_program.program @p attributes {target = #mpt.target<cpu>, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected to end within the 64 bytes of its space, found its end at 68}}
  %s = mpt_program.buffer <arena> 0 : memref<17xf32>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 0 : i64, state_bytes = 64 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected to end within the 64 bytes of its space, found its end at 68}}
  %s = mpt_program.buffer <state> 64 : memref<f32>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 1 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected to end within the 1 bytes of its space, found its end at 2}}
  %s = mpt_program.buffer <output> 0 : memref<f16>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 128 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected an offset that is a multiple of 64, found 32}}
  %s = mpt_program.buffer <arena> 32 : memref<f32>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 128 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected an offset of at least 0, found -64}}
  %s = mpt_program.buffer <arena> -64 : memref<f32>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 128 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected a buffer of static shape that is packed, or whose strides are above 0 and end in 1, found 'memref<?xf32>'}}
  %s = mpt_program.buffer <arena> 0 : memref<?xf32>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 128 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected a buffer of static shape that is packed, or whose strides are above 0 and end in 1, found 'memref<4xf32, strided<[2]>>'}}
  %s = mpt_program.buffer <arena> 0 : memref<4xf32, strided<[2]>>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected 'value' in the constant space, found none}}
  %s = mpt_program.buffer <constant> 0 : memref<4xf32>
}

// -----

// 2^62 floats are 2^64 bytes, which is not 0.
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected a buffer that ends below byte 2^63, found 'memref<4611686018427387904xf32>' at 0}}
  %s = mpt_program.buffer <arena> 0 : memref<4611686018427387904xf32>
}

// -----

func.func @slot_parent() {
  // expected-error @+1 {{'mpt_program.buffer' op expects parent op 'mpt_program.program'}}
  %s = mpt_program.buffer <arena> 0 : memref<f32>
  return
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+2 {{expected ::mpt::program::Space to be one of: arena, state, input, output, constant}}
  // expected-error @+1 {{failed to parse Program_Space parameter 'value' which is to be a `::mpt::program::Space`}}
  %s = mpt_program.buffer <heap> 0 : memref<f32>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<4xf32>
  // expected-error @+1 {{'mpt_program.launch' op expected an mpt_kernel.func named @k, found nothing of that name}}
  mpt_program.launch @k ins(%s : memref<4xf32>) outs(%s : memref<4xf32>) tasks 1
}

// -----

memref.global @k : memref<4xf32>
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<4xf32>
  // expected-error @+1 {{'mpt_program.launch' op expected @k to be an mpt_kernel.func, found 'memref.global'}}
  mpt_program.launch @k ins(%s : memref<4xf32>) outs(%s : memref<4xf32>) tasks 1
}

// -----

"mpt_kernel.func"() <{sym_name = "k", function_type = (tensor<4xf32>) -> tensor<4xf32>, kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0)>], result_maps = [affine_map<(d0) -> (d0)>]}> ({
^bb0(%a: f32):
  mpt_kernel.yield %a : f32
}) : () -> ()
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<2xf32>
  // expected-error @+1 {{'mpt_program.launch' op expected buffers as in '(tensor<4xf32>) -> tensor<4xf32>', found 'memref<2xf32>' and 'memref<2xf32>'}}
  mpt_program.launch @k ins(%s : memref<2xf32>) outs(%s : memref<2xf32>) tasks 1
}

// -----

"mpt_kernel.func"() <{sym_name = "k", function_type = (tensor<4x2xf32>) -> tensor<4x2xf32>, kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4, 2>, chunk_rows = 3 : i64, operand_maps = [affine_map<(d0, d1) -> (d0, d1)>], result_maps = [affine_map<(d0, d1) -> (d0, d1)>]}> ({
^bb0(%a: f32):
  mpt_kernel.yield %a : f32
}) : () -> ()
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<4x2xf32>
  mpt_program.launch @k ins(%s : memref<4x2xf32>) outs(%s : memref<4x2xf32>) tasks 2
  // expected-error @+1 {{'mpt_program.launch' op expected 2 tasks, found -1}}
  mpt_program.launch @k ins(%s : memref<4x2xf32>) outs(%s : memref<4x2xf32>) tasks -1
}

// -----

"mpt_kernel.func"() <{sym_name = "k", function_type = (tensor<4xf32>) -> tensor<4xf32>, kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0) -> (d0)>], result_maps = [affine_map<(d0) -> (d0)>]}> ({
^bb0(%a: f32):
  mpt_kernel.yield %a : f32
}) : () -> ()
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<4xf32>
  // expected-error @+1 {{'mpt_program.launch' op expected no partials for a kernel of kind 'pointwise', found some}}
  mpt_program.launch @k ins(%s : memref<4xf32>) outs(%s : memref<4xf32>) partials(%s : memref<4xf32>) tasks 1
}

// -----

"mpt_kernel.func"() <{sym_name = "k", function_type = (tensor<4x2xf32>) -> tensor<2xf32>, kind = #mpt_kernel.kind<column>, domain = array<i64: 4, 2>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0, d1) -> (d0, d1)>], result_maps = [affine_map<(d0, d1) -> (d1)>]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.column_reduce <sum> %a : f32
  mpt_kernel.yield %s : f32
}) : () -> ()
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 128 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<4x2xf32>
  %y = mpt_program.buffer <arena> 64 : memref<2xf32>
  // expected-error @+1 {{'mpt_program.launch' op expected partials for a kernel of kind 'column', found none}}
  mpt_program.launch @k ins(%x : memref<4x2xf32>) outs(%y : memref<2xf32>) tasks 1
}

// -----

// A kernel writes strides that its function says, and reads none.
"mpt_kernel.func"() <{sym_name = "k", function_type = (tensor<4x2xf32>) -> memref<4x2xf32, strided<[8, 1]>>, kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4, 2>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0, d1) -> (d0, d1)>], result_maps = [affine_map<(d0, d1) -> (d0, d1)>]}> ({
^bb0(%a: f32):
  mpt_kernel.yield %a : f32
}) : () -> ()
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1, arena_bytes = 4096, state_bytes = 0, output_bytes = 0} {
  %x = mpt_program.buffer <arena> 0 : memref<4x2xf32>
  // expected-error @+1 {{'mpt_program.launch' op expected buffers as in '(tensor<4x2xf32>) -> memref<4x2xf32, strided<[8, 1]>>', found 'memref<4x2xf32>' and 'memref<4x2xf32>'}}
  mpt_program.launch @k ins(%x : memref<4x2xf32>) outs(%x : memref<4x2xf32>) tasks 1
}

// -----

// expected-error @+1 {{expected ranked tensors of static shape, found 'memref<4x2xf32, strided<[8, 1]>>'}}
"mpt_kernel.func"() <{sym_name = "k", function_type = (memref<4x2xf32, strided<[8, 1]>>) -> tensor<4x2xf32>, kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4, 2>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0, d1) -> (d0, d1)>], result_maps = [affine_map<(d0, d1) -> (d0, d1)>]}> ({
^bb0(%a: f32):
  mpt_kernel.yield %a : f32
}) : () -> ()

// -----

// expected-error @+1 {{expected ranked tensors of static shape, found 'memref<4x2xf32, strided<[8, 1], offset: 4>>'}}
"mpt_kernel.func"() <{sym_name = "k", function_type = (tensor<4x2xf32>) -> memref<4x2xf32, strided<[8, 1], offset: 4>>, kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4, 2>, chunk_rows = 4 : i64, operand_maps = [affine_map<(d0, d1) -> (d0, d1)>], result_maps = [affine_map<(d0, d1) -> (d0, d1)>]}> ({
^bb0(%a: f32):
  mpt_kernel.yield %a : f32
}) : () -> ()

// -----

// Only attention reads buffers with strides.
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1, arena_bytes = 4096, state_bytes = 0, output_bytes = 0} {
  %x = mpt_program.buffer <arena> 0 : memref<2x4x8xf32, strided<[8, 16, 1]>>
  %y = mpt_program.buffer <arena> 1024 : memref<2x4x8xf32>
  // expected-error @+1 {{'mpt_program.copy' op expected packed buffers, found 'memref<2x4x8xf32, strided<[8, 16, 1]>>'}}
  mpt_program.copy ins(%x : memref<2x4x8xf32, strided<[8, 16, 1]>>) outs(%y : memref<2x4x8xf32>) {sizes = array<i64: 64>, src_offset = 0 : i64, src_strides = array<i64: 1>, dst_offset = 0 : i64, dst_strides = array<i64: 1>}
}

// -----

// Its last element counts.
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1, arena_bytes = 256, state_bytes = 0, output_bytes = 0} {
  // expected-error @+1 {{'mpt_program.buffer' op expected to end within the 256 bytes of its space, found its end at 304}}
  %x = mpt_program.buffer <arena> 0 : memref<2x4x8xf32, strided<[8, 20, 1]>>
}
