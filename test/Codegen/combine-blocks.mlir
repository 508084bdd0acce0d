// The second stage of column sums has a block for each 32 columns where tasks are many, also if
// it stores a scalar. Only where that may take the place of a scalar that all blocks read does
// one block do all. The warps of a block share the tasks: eight of them, and more where each has eight
// tasks or more, up to 32.
// RUN: mpt-opt %s --mpt-convert-kernels-to-gpu=chip=sm_90 | FileCheck %s

#point = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i, j) -> ()>
"mpt_kernel.func"() <{sym_name = "total", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 64, 1024>, chunk_rows = 1 : i64,
    function_type = (tensor<64x1024xf32>, tensor<64xf32>) -> (tensor<1024xf32>, tensor<f32>),
    operand_maps = [#point, #row], result_maps = [#column, #one]}> ({
^bb0(%a: f32, %b: f32):
  %p = arith.mulf %a, %b : f32
  %s = mpt_kernel.column_reduce <sum> %p : f32
  %r = mpt_kernel.row_reduce <sum> %p : f32
  %t = mpt_kernel.column_reduce <sum> %r : f32
  mpt_kernel.yield %s, %t : f32, f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "counted", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 64, 1024>, chunk_rows = 1 : i64,
    function_type = (tensor<64x1024xf32>, tensor<f32>) -> (tensor<1024xf32>, tensor<f32>),
    operand_maps = [#point, #one], result_maps = [#column, #one]}> ({
^bb0(%a: f32, %old: f32):
  %s = mpt_kernel.column_reduce <sum> %a : f32
  %r = mpt_kernel.row_reduce <sum> %a : f32
  %t = mpt_kernel.column_reduce <sum> %r : f32
  %new = arith.addf %t, %old : f32
  %scaled = arith.mulf %s, %old : f32
  mpt_kernel.yield %scaled, %new : f32, f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "sums7", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 7, 64>, chunk_rows = 1 : i64,
    function_type = (tensor<7x64xf32>) -> tensor<64xf32>,
    operand_maps = [#point], result_maps = [#column]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.column_reduce <sum> %a : f32
  mpt_kernel.yield %s : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "sums127", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 127, 64>, chunk_rows = 1 : i64,
    function_type = (tensor<127x64xf32>) -> tensor<64xf32>,
    operand_maps = [#point], result_maps = [#column]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.column_reduce <sum> %a : f32
  mpt_kernel.yield %s : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "sums128", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 128, 64>, chunk_rows = 1 : i64,
    function_type = (tensor<128x64xf32>) -> tensor<64xf32>,
    operand_maps = [#point], result_maps = [#column]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.column_reduce <sum> %a : f32
  mpt_kernel.yield %s : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "sums528", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 528, 64>, chunk_rows = 1 : i64,
    function_type = (tensor<528x64xf32>) -> tensor<64xf32>,
    operand_maps = [#point], result_maps = [#column]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.column_reduce <sum> %a : f32
  mpt_kernel.yield %s : f32
}) : () -> ()
mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 1048576 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<64x1024xf32>
  %b = mpt_program.buffer <arena> 262144 : memref<64xf32>
  %y = mpt_program.buffer <arena> 266240 : memref<1024xf32>
  %t = mpt_program.buffer <arena> 270336 : memref<f32>
  %p = mpt_program.buffer <arena> 524288 : memref<262400xi8>
  // CHECK: device_launch @mpt_kernels::@total_combine blocks [32, 1] threads 256
  mpt_program.launch @total ins(%x, %b : memref<64x1024xf32>, memref<64xf32>) outs(%y, %t : memref<1024xf32>, memref<f32>) partials(%p : memref<262400xi8>) tasks 64
  // CHECK: device_launch @mpt_kernels::@counted_combine blocks [1, 1] threads 256
  mpt_program.launch @counted ins(%x, %t : memref<64x1024xf32>, memref<f32>) outs(%y, %t : memref<1024xf32>, memref<f32>) partials(%p : memref<262400xi8>) tasks 64
  %n = mpt_program.buffer <arena> 0 : memref<64xf32>
  %q = mpt_program.buffer <arena> 524288 : memref<262400xi8>
  %x7 = mpt_program.buffer <arena> 1024 : memref<7x64xf32>
  // CHECK: device_launch @mpt_kernels::@sums7_combine blocks [1, 1] threads 64 
  mpt_program.launch @sums7 ins(%x7 : memref<7x64xf32>) outs(%n : memref<64xf32>) partials(%q : memref<262400xi8>) tasks 7
  %x127 = mpt_program.buffer <arena> 1024 : memref<127x64xf32>
  // CHECK: device_launch @mpt_kernels::@sums127_combine blocks [2, 1] threads 256 
  mpt_program.launch @sums127 ins(%x127 : memref<127x64xf32>) outs(%n : memref<64xf32>) partials(%q : memref<262400xi8>) tasks 127
  %x128 = mpt_program.buffer <arena> 1024 : memref<128x64xf32>
  // CHECK: device_launch @mpt_kernels::@sums128_combine blocks [2, 1] threads 512 
  mpt_program.launch @sums128 ins(%x128 : memref<128x64xf32>) outs(%n : memref<64xf32>) partials(%q : memref<262400xi8>) tasks 128
  %x528 = mpt_program.buffer <arena> 1024 : memref<528x64xf32>
  // CHECK: device_launch @mpt_kernels::@sums528_combine blocks [2, 1] threads 1024 
  mpt_program.launch @sums528 ins(%x528 : memref<528x64xf32>) outs(%n : memref<64xf32>) partials(%q : memref<262400xi8>) tasks 528
}
