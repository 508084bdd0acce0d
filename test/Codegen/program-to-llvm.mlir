// A program for the CPU in the LLVM dialect: kernels, then the table, which the runtime reads.
// RUN: mpt-opt %s --mpt-kernels-to-llvm -o %t.mlir
// RUN: FileCheck %s --check-prefix=LLVM --input-file=%t.mlir --implicit-check-not='{{(arith|scf|vector|cf|func|mpt_kernel)[.]}}'
// RUN: mpt-opt %t.mlir --mpt-convert-program-to-llvm | FileCheck %s --check-prefix=TABLE --implicit-check-not='mpt_program.'
// RUN: mpt-opt %s --mpt-program-to-llvm | FileCheck %s --check-prefix=TABLE --implicit-check-not='mpt_program.'
// Without kernels' code there is nothing to call.
// RUN: not mpt-opt %s --mpt-convert-program-to-llvm 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: kernel 'double' is not an LLVM function; lower kernels first

"mpt_kernel.func"() <{sym_name = "double", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 4, 16>, chunk_rows = 2 : i64,
    function_type = (tensor<4x16xf32>) -> tensor<4x16xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>], result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %r = arith.addf %a, %a : f32
  mpt_kernel.yield %r : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "sum", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 4, 16>, chunk_rows = 2 : i64,
    function_type = (tensor<4x16xf32>) -> tensor<16xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>], result_maps = [affine_map<(i, j) -> (j)>]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.column_reduce <sum> %a : f32
  mpt_kernel.yield %s : f32
}) : () -> ()
mpt_program.program @step attributes {target = #mpt.target<x86_64, [znver4]>, max_threads = 2 : i64,
    arena_bytes = 512 : i64, state_bytes = 0 : i64, output_bytes = 64 : i64} {
  %x = mpt_program.buffer <input> 0 {name = "x", role = #mpt.role<input>} : memref<4x16xf32>
  %a = mpt_program.buffer <arena> 0 : memref<4x16xf32>
  %p = mpt_program.buffer <arena> 256 : memref<128xi8>
  %y = mpt_program.buffer <output> 0 {name = "y"} : memref<16xf32>
  mpt_program.launch @double ins(%x : memref<4x16xf32>) outs(%a : memref<4x16xf32>) tasks 2
  mpt_program.launch @sum ins(%a : memref<4x16xf32>) outs(%y : memref<16xf32>) partials(%p : memref<128xi8>) tasks 2
}

// A flat kernel is one loop over its task's elements.
// LLVM-LABEL: llvm.func @double(
// LLVM-SAME: %[[BUFFERS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// LLVM: %[[TASK:.*]] = llvm.mlir.constant(32 : i64)
// LLVM: llvm.load %[[BUFFERS]] : !llvm.ptr -> !llvm.ptr
// LLVM: llvm.mul %[[BEGIN]], %[[TASK]]
// LLVM: llvm.cond_br
// LLVM: %[[V:.*]] = llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// LLVM-NEXT: %[[W:.*]] = llvm.fadd %[[V]], %[[V]] : vector<16xf32>
// LLVM: llvm.store %[[W]]
// LLVM-LABEL: llvm.func @sum(
// LLVM-LABEL: llvm.func @sum_combine(
// LLVM: mpt_program.launch @double

// TABLE: llvm.func @double(
// TABLE: llvm.mlir.global internal constant @mpt_program_table("\04\00\00\00step\0D\00\00\00x86_64 znver4
// TABLE: llvm.mlir.global internal @mpt_program_kernels() {{.*}}: !llvm.array<3 x ptr>
// TABLE: llvm.mlir.addressof @double
// TABLE: llvm.mlir.addressof @sum :
// TABLE: llvm.mlir.addressof @sum_combine
// TABLE: llvm.mlir.global external @mpt_program() {{.*}}: !llvm.struct<(i64, i64, ptr, i64, ptr, i64, ptr, ptr, i64)>
// TABLE: llvm.mlir.addressof @mpt_program_table
// TABLE: llvm.mlir.addressof @mpt_program_kernels
