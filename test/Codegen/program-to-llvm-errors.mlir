// Programs that have no table yet.
// RUN: mpt-opt %s --mpt-convert-program-to-llvm --split-input-file --verify-diagnostics

// A kernel in a program for a GPU.

"mpt_kernel.func"() <{sym_name = "double", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 16>, chunk_rows = 1 : i64, function_type = (tensor<16xf32>) -> tensor<16xf32>,
    operand_maps = [affine_map<(i) -> (i)>], result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%a: f32):
  %r = arith.addf %a, %a : f32
  mpt_kernel.yield %r : f32
}) : () -> ()
mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<16xf32>
  // expected-error @+1 {{kernel 'double' is not compiled for a GPU; run --mpt-kernels-to-gpu first}}
  mpt_program.launch @double ins(%x : memref<16xf32>) outs(%x : memref<16xf32>) tasks 1
}

// -----

// A function that is no machine code yet.

gpu.module @k {
  llvm.func @f(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<16xf32>
  // expected-error @+1 {{kernel 'f' is not compiled for a GPU; run --mpt-serialize-kernels first}}
  mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%x : memref<16xf32>)
}

// -----

// One function, two grids.

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = "">]
mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<16xf32>
  // expected-note @+1 {{the first is here}}
  mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%x : memref<16xf32>)
  mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%x : memref<16xf32>)
  // expected-error @+1 {{'mpt_program.device_launch' op expected the function, the grid and the bound of all launches of @k::@f}}
  mpt_program.device_launch @k::@f blocks [2, 1] threads 32 ins() outs(%x : memref<16xf32>)
}

// -----

// A GPU's function in a program for the CPU.

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = "">]
mpt_program.program @step attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<16xf32>
  // expected-error @+1 {{'mpt_program.device_launch' op found in a program for #mpt.target<cpu>, expected one for cuda}}
  mpt_program.device_launch @k::@f blocks [1, 1] threads 32 ins() outs(%x : memref<16xf32>)
}

// -----

// The CPU's libraries refuse nothing.

mpt_program.program @step attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 256 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<8x8xf32>
  // expected-error @+1 {{'mpt_program.alternatives' op found in a program for #mpt.target<cpu>, expected one for cuda}}
  mpt_program.alternatives {
    mpt_program.matmul ins(%x, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%x : memref<8x8xf32>) {epilogue = #mpt.epilogue<relu>}
  } else {
    mpt_program.matmul ins(%x, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%x : memref<8x8xf32>)
    mpt_program.fill outs(%x : memref<8x8xf32>) {value = 0.0 : f64}
  }
}

// -----

// A call of cuDNN without what runs where there is none.

mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 8192 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<1x2x2x8xf16>
  %f = mpt_program.buffer <arena> 1024 : memref<3x3x8x8xf16>
  %y = mpt_program.buffer <arena> 4096 : memref<1x2x2x8xf16>
  // expected-error @+1 {{'mpt_program.conv2d' op is a call of cuDNN, which is expected in mpt_program.alternatives: they say what runs without cuDNN}}
  mpt_program.conv2d ins(%x, %f : memref<1x2x2x8xf16>, memref<3x3x8x8xf16>) outs(%y : memref<1x2x2x8xf16>) {padding = array<i64: 1, 1, 1, 1>, cudnn}
}

// -----

// Attention that no functions do yet.

mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<1x1x16x32xf16>
  %l = mpt_program.buffer <arena> 2048 : memref<1x1x16xf32>
  // expected-error @+1 {{'mpt_program.attention' op is not expanded to launches; run --mpt-convert-calls-to-gpu first}}
  mpt_program.attention ins(%s, %s, %s : memref<1x1x16x32xf16>, memref<1x1x16x32xf16>, memref<1x1x16x32xf16>) outs(%s, %l : memref<1x1x16x32xf16>, memref<1x1x16xf32>) {scale = 1.0 : f64}
}
