// Kernels and calls as device functions: scf, vector and arith on addresses of the device's
// memory; then the LLVM dialect; then PTX in a gpu.binary; then the program's table.
// RUN: mpt-opt %s --mpt-convert-kernels-to-gpu=chip=sm_90 | FileCheck %s --check-prefixes=CHECK,CODE
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_90 format=llvm" | FileCheck %s --check-prefixes=CHECK,LLVM --implicit-check-not='{{(arith|scf|vector|cf)[.]}}'
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_80,sm_90 format=llvm" --mpt-serialize-kernels=format=isa -o %t.mlir
// RUN: FileCheck %s --check-prefixes=CHECK,BINARY --input-file=%t.mlir
// RUN: mpt-opt %t.mlir --mpt-convert-program-to-llvm | FileCheck %s --check-prefix=TABLE --implicit-check-not='{{mpt_program[.]|gpu[.]binary}}'

"mpt_kernel.func"() <{sym_name = "sum", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 64, 256>, chunk_rows = 16 : i64,
    function_type = (tensor<64x256xf16>) -> tensor<256xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>], result_maps = [affine_map<(i, j) -> (j)>]}> ({
^bb0(%a: f16):
  %w = arith.extf %a : f16 to f32
  %s = mpt_kernel.column_reduce <sum> %w : f32
  mpt_kernel.yield %s : f32
}) : () -> ()
mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 65536 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<64x256xf16>
  %y = mpt_program.buffer <arena> 32768 : memref<256xf32>
  %p = mpt_program.buffer <arena> 36864 : memref<4096xi8>
  %t = mpt_program.buffer <arena> 40960 : memref<10x8xf32>
  %i = mpt_program.buffer <arena> 45056 : memref<4xi32>
  %g = mpt_program.buffer <arena> 45312 : memref<4x8xf32>
  %b = mpt_program.buffer <arena> 49152 : memref<64x32xf16>
  %r = mpt_program.buffer <arena> 53248 : memref<f32>
  %m = mpt_program.buffer <arena> 57344 : memref<8x8xf32>
  %n = mpt_program.buffer <arena> 57600 : memref<0xf32>
  // Two stages of one kernel, on the same buffers.
  // CHECK: mpt_program.device_launch @mpt_kernels::@sum blocks [4, 1] threads 256 ins(%[[X:.*]] : {{.*}}) outs(%[[Y:.*]] : memref<256xf32>) workspace(%[[P:.*]] : memref<4096xi8>)
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@sum_combine blocks [2, 1] threads 128 ins(%[[X]] : {{.*}}) outs(%[[Y]] : {{.*}}) workspace(%[[P]] :
  mpt_program.launch @sum ins(%x : memref<64x256xf16>) outs(%y : memref<256xf32>) partials(%p : memref<4096xi8>) tasks 4
  // It checks its indices.
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_gather_0 {{.*}} {bound = 10 : i64}
  mpt_program.gather ins(%t, %i : memref<10x8xf32>, memref<4xi32>) outs(%g : memref<4x8xf32>)
  // CHECK-NEXT: mpt_program.device_launch @mpt_kernels::@mpt_reduce_1
  mpt_program.reduce ins(%b : memref<64x32xf16>) outs(%r : memref<f32>) {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>}
  // Nothing to do.
  mpt_program.fill outs(%n : memref<0xf32>) {value = 0.0 : f64}
  // cuBLASLt does it.
  // CHECK-NEXT: mpt_program.matmul
  // CHECK-NEXT: }
  mpt_program.matmul ins(%m, %m : memref<8x8xf32>, memref<8x8xf32>) outs(%m : memref<8x8xf32>)
}

// CODE: gpu.module @mpt_kernels [#nvvm.target<O = 3, chip = "sm_90">] {
// CODE: llvm.func @mpt_gather_0(%[[ROWS:.*]]: !llvm.ptr<1>, %[[INDICES:.*]]: !llvm.ptr<1>, %[[RESULT:.*]]: !llvm.ptr<1>, %[[FAULTS:.*]]: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 32>} {
// CODE: nvvm.read.ptx.sreg.ctaid.x
// CODE: scf.if
// CODE: %[[INDEX:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> i32
// CODE: %[[OUTSIDE:.*]] = arith.cmpi uge, %[[INDEX]],
// CODE-NEXT: scf.if %[[OUTSIDE]] {
// CODE: llvm.atomicrmw umax %[[FAULTS]]
// CODE: %[[ROW:.*]] = llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CODE: llvm.store %[[ROW]], {{.*}} {alignment = 16 : i64}
// CODE: llvm.func @mpt_reduce_1(
// CODE: llvm.func @sum(
// CODE: arith.extf {{.*}} : vector<8xf16> to vector<8xf32>
// CODE: nvvm.barrier
// CODE: llvm.func @sum_combine(
// CODE-NOT: mpt_kernel

// LLVM: gpu.module @mpt_kernels
// LLVM: llvm.func @mpt_gather_0(
// LLVM: llvm.cond_br
// LLVM: llvm.atomicrmw umax
// LLVM: llvm.func @sum(
// LLVM: llvm.fpext {{.*}} : vector<8xf16> to vector<8xf32>
// LLVM: llvm.fadd {{.*}} : vector<8xf32>

// BINARY: gpu.binary @mpt_kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_80">, {{(properties = {O = 3 : i32}, )?}}assembly = "{{.*}}.target sm_80{{.*}}.entry mpt_gather_0({{.*}}">, #gpu.object<#nvvm.target<O = 3, chip = "sm_90">, {{(properties = {O = 3 : i32}, )?}}assembly = "{{.*}}.target sm_90
// BINARY-NOT: gpu.module

// Name, grid and bound of each function, in the order in which they are launched.
// TABLE-DAG: @mpt_cuda_name_0("sum\00")
// TABLE-DAG: @mpt_cuda_name_1("sum_combine\00")
// TABLE-DAG: @mpt_cuda_name_2("mpt_gather_0\00")
// TABLE-DAG: @mpt_cuda_name_3("mpt_reduce_1\00")
// TABLE-DAG: @mpt_cuda_image_0("{{.*}}.target sm_80{{.*}}\00")
// TABLE: llvm.mlir.global internal @mpt_cuda_kernels() {{.*}}: !llvm.array<4 x struct<(ptr, i64, i64, i64, i64)>>
// TABLE: llvm.mlir.addressof @mpt_cuda_name_2
// TABLE: llvm.mlir.constant(1 : i64)
// TABLE: llvm.mlir.constant(1 : i64)
// TABLE: llvm.mlir.constant(32 : i64)
// TABLE: llvm.mlir.constant(10 : i64)
// TABLE: llvm.mlir.global internal @mpt_cuda_images() {{.*}}: !llvm.array<2 x struct<(i64, i64, ptr, i64, i64)>>
// TABLE: llvm.mlir.constant(80 : i64)
// TABLE: llvm.mlir.constant(90 : i64)
// TABLE: llvm.mlir.global internal constant @mpt_program_table("\04\00\00\00step\0A\00\00\00cuda sm_90
// TABLE: llvm.mlir.global external @mpt_program()
// TABLE: llvm.mlir.addressof @mpt_cuda_program
