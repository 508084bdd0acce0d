// Small launches of different kernels become one, where nothing in between prevents it.
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_90 format=llvm" | FileCheck %s
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_90 format=isa" | %python %S/Inputs/extract_ptx.py | FileCheck %s --check-prefix=PTX

#id = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>
"mpt_kernel.func"() <{sym_name = "negate", function_type = (tensor<10xf32>) -> tensor<10xf32>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 10>, chunk_rows = 1 : i64,
    operand_maps = [#id], result_maps = [#id]}> ({
^bb0(%a: f32):
  %n = arith.negf %a : f32
  mpt_kernel.yield %n : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "square", function_type = (tensor<10xf32>) -> tensor<10xf32>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 10>, chunk_rows = 1 : i64,
    operand_maps = [#id], result_maps = [#id]}> ({
^bb0(%a: f32):
  %p = arith.mulf %a, %a : f32
  mpt_kernel.yield %p : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "count", function_type = (tensor<i64>) -> tensor<i64>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 1>, chunk_rows = 1 : i64,
    operand_maps = [#one], result_maps = [#one]}> ({
^bb0(%a: i64):
  %1 = arith.constant 1 : i64
  %n = arith.addi %a, %1 : i64
  mpt_kernel.yield %n : i64
}) : () -> ()
// 528 blocks of 256 vectors of 4, as many as run at once, and one more.
"mpt_kernel.func"() <{sym_name = "long", function_type = (tensor<540676xf32>) -> tensor<540676xf32>,
    kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 540676>, chunk_rows = 1 : i64,
    operand_maps = [#id], result_maps = [#id]}> ({
^bb0(%a: f32):
  %p = arith.addf %a, %a : f32
  mpt_kernel.yield %p : f32
}) : () -> ()

// CHECK-LABEL: mpt_program.program @mixed
mpt_program.program @mixed attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 256 : i64,
    state_bytes = 64 : i64, output_bytes = 0 : i64} {
  %n = mpt_program.buffer <state> 0 {name = "n", role = #mpt.role<parameter>} : memref<i64>
  %x = mpt_program.buffer <input> 0 {name = "x", role = #mpt.role<input>} : memref<10xf32>
  %u = mpt_program.buffer <arena> 0 : memref<10xf32>
  %v = mpt_program.buffer <arena> 64 : memref<10xf32>
  // A single number, an input, and what a call in between does not touch.
  // CHECK: %[[X:.*]] = mpt_program.buffer <input> 0 {
  // CHECK: mpt_program.device_launch @mpt_kernels::@count_group0 blocks [3, 1] threads 256 ins(%[[X]] : memref<10xf32>) outs(%{{.*}}, %{{.*}} : memref<64xi8>, memref<256xi8>)
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_copy_0
  // CHECK-NEXT: }
  mpt_program.launch @count ins(%n : memref<i64>) outs(%n : memref<i64>) tasks 1
  mpt_program.launch @negate ins(%x : memref<10xf32>) outs(%u : memref<10xf32>) tasks 1
  %w = mpt_program.buffer <arena> 128 : memref<10xf32>
  mpt_program.copy ins(%x : memref<10xf32>) outs(%w : memref<10xf32>) {sizes = array<i64: 2, 5>, src_offset = 0 : i64, src_strides = array<i64: 5, 1>, dst_offset = 0 : i64, dst_strides = array<i64: 1, 2>}
  mpt_program.launch @square ins(%x : memref<10xf32>) outs(%v : memref<10xf32>) tasks 1
}

// One that cannot move up to another, which then moves down to it.
// CHECK-LABEL: mpt_program.program @down
mpt_program.program @down attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 256 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %u = mpt_program.buffer <arena> 0 : memref<10xf32>
  %v = mpt_program.buffer <arena> 64 : memref<10xf32>
  %w = mpt_program.buffer <arena> 128 : memref<10xf32>
  // CHECK: device_launch @mpt_kernels::@mpt_copy_0
  // CHECK-NEXT: device_launch @mpt_kernels::@negate_group1 blocks [2, 1]
  // CHECK-NEXT: }
  mpt_program.launch @negate ins(%u : memref<10xf32>) outs(%u : memref<10xf32>) tasks 1
  mpt_program.copy ins(%w : memref<10xf32>) outs(%v : memref<10xf32>) {sizes = array<i64: 2, 5>, src_offset = 0 : i64, src_strides = array<i64: 5, 1>, dst_offset = 0 : i64, dst_strides = array<i64: 1, 2>}
  mpt_program.launch @square ins(%v : memref<10xf32>) outs(%w : memref<10xf32>) tasks 1
}

// One that reads what the other writes.
// CHECK-LABEL: mpt_program.program @dependent
mpt_program.program @dependent attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 256 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %u = mpt_program.buffer <arena> 0 : memref<10xf32>
  %v = mpt_program.buffer <arena> 64 : memref<10xf32>
  %w = mpt_program.buffer <arena> 128 : memref<10xf32>
  // CHECK: device_launch @mpt_kernels::@negate blocks
  // CHECK-NEXT: device_launch @mpt_kernels::@square blocks
  mpt_program.launch @negate ins(%u : memref<10xf32>) outs(%v : memref<10xf32>) tasks 1
  mpt_program.launch @square ins(%v : memref<10xf32>) outs(%w : memref<10xf32>) tasks 1
}

// A call reads what the first writes and writes what the second reads.
// CHECK-LABEL: mpt_program.program @between
mpt_program.program @between attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 256 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %u = mpt_program.buffer <arena> 0 : memref<10xf32>
  %v = mpt_program.buffer <arena> 64 : memref<10xf32>
  %w = mpt_program.buffer <arena> 128 : memref<10xf32>
  // CHECK: device_launch @mpt_kernels::@negate blocks
  // CHECK-NEXT: device_launch @mpt_kernels::@mpt_copy__{{[0-9]+}}
  // CHECK-NEXT: device_launch @mpt_kernels::@square blocks
  mpt_program.launch @negate ins(%u : memref<10xf32>) outs(%u : memref<10xf32>) tasks 1
  mpt_program.copy ins(%u : memref<10xf32>) outs(%v : memref<10xf32>) {sizes = array<i64: 10>, src_offset = 0 : i64, src_strides = array<i64: 1>, dst_offset = 0 : i64, dst_strides = array<i64: 1>}
  mpt_program.launch @square ins(%v : memref<10xf32>) outs(%w : memref<10xf32>) tasks 1
}

// Copies and fills are launches like others: of different kernels, of one kernel in other
// places, and without any kernel of the program. One that turns a matrix stays a call.
// CHECK-LABEL: mpt_program.program @moves
mpt_program.program @moves attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 512 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %u = mpt_program.buffer <arena> 0 : memref<10xf32>
  %v = mpt_program.buffer <arena> 64 : memref<10xf32>
  %w = mpt_program.buffer <arena> 128 : memref<10xf32>
  %x = mpt_program.buffer <arena> 192 : memref<10xf32>
  %y = mpt_program.buffer <arena> 256 : memref<10xf32>
  %z = mpt_program.buffer <arena> 320 : memref<10xf32>
  // CHECK: device_launch @mpt_kernels::@square_group{{[0-9]}} blocks [4, 1]
  // CHECK-NEXT: device_launch @mpt_kernels::@mpt_copy_{{[0-9]}} blocks
  // CHECK-NEXT: device_launch @mpt_kernels::@moves_group{{[0-9]}} blocks [2, 1]
  // CHECK-NEXT: }
  mpt_program.fill outs(%u : memref<10xf32>) {value = 1.0 : f64}
  mpt_program.launch @square ins(%v : memref<10xf32>) outs(%v : memref<10xf32>) tasks 1
  mpt_program.copy ins(%w : memref<10xf32>) outs(%x : memref<10xf32>) {sizes = array<i64: 10>, src_offset = 0 : i64, src_strides = array<i64: 1>, dst_offset = 0 : i64, dst_strides = array<i64: 1>}
  mpt_program.fill outs(%y : memref<10xf32>) {value = 1.0 : f64}
  mpt_program.copy ins(%v : memref<10xf32>) outs(%z : memref<10xf32>) {sizes = array<i64: 2, 5>, src_offset = 0 : i64, src_strides = array<i64: 5, 1>, dst_offset = 0 : i64, dst_strides = array<i64: 1, 2>}
  mpt_program.fill outs(%v : memref<10xf32>) {value = 2.0 : f64}
  mpt_program.copy ins(%z : memref<10xf32>) outs(%w : memref<10xf32>) {sizes = array<i64: 10>, src_offset = 0 : i64, src_strides = array<i64: 1>, dst_offset = 0 : i64, dst_strides = array<i64: 1>}
}

// More blocks than run at once would have the registers of the other kernel for nothing.
// CHECK-LABEL: mpt_program.program @large
mpt_program.program @large attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4325632 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %u = mpt_program.buffer <arena> 0 : memref<10xf32>
  %v = mpt_program.buffer <arena> 64 : memref<540676xf32>
  // CHECK: device_launch @mpt_kernels::@negate blocks
  // CHECK-NEXT: device_launch @mpt_kernels::@long blocks [529, 1]
  mpt_program.launch @negate ins(%u : memref<10xf32>) outs(%u : memref<10xf32>) tasks 1
  mpt_program.launch @long ins(%v : memref<540676xf32>) outs(%v : memref<540676xf32>) tasks 1
}

// A second program's launches may begin with the same kernel: their function is another.
// CHECK-LABEL: mpt_program.program @again
mpt_program.program @again attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 256 : i64,
    state_bytes = 64 : i64, output_bytes = 0 : i64} {
  %n = mpt_program.buffer <state> 0 {name = "n", role = #mpt.role<parameter>} : memref<i64>
  %u = mpt_program.buffer <arena> 64 : memref<10xf32>
  // CHECK: device_launch @mpt_kernels::@count_group4 blocks [2, 1]
  mpt_program.launch @count ins(%n : memref<i64>) outs(%n : memref<i64>) tasks 1
  mpt_program.launch @square ins(%u : memref<10xf32>) outs(%u : memref<10xf32>) tasks 1
}

// Each member's part, and where its buffers begin.
// CHECK: @count_group0_table(dense<[0, 1, 0, 0, 0, 1, 10, 0, 0, 1, 2, 10, 0, 64, 2]>

// CHECK: llvm.func @count_group0(
// CHECK: llvm.func @count_group4(

// PTX-LABEL: .entry count_group0(
// PTX: ld.const
// PTX: neg.f32
// PTX: mul
