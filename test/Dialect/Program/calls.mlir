// Every library call prints as it is written, and its record says what it reads and writes.
// RUN: mpt-opt %s --verify-roundtrip | FileCheck %s

mpt_program.program @calls attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 65536 : i64,
    state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %a = mpt_program.buffer <arena> 0 : memref<4x8xf32>
  %b = mpt_program.buffer <arena> 256 : memref<8x16xf32>
  %c = mpt_program.buffer <arena> 1024 : memref<4x16xf32>
  %bias = mpt_program.buffer <arena> 2048 : memref<16xf32>
  %bits = mpt_program.buffer <arena> 3072 : memref<4x16xi8>
  %w = mpt_program.buffer <arena> 4096 : memref<64xi8>
  %x = mpt_program.buffer <arena> 8192 : memref<2x8x8x3xf32>
  %f = mpt_program.buffer <arena> 16384 : memref<3x3x3x16xf32>
  %y = mpt_program.buffer <arena> 32768 : memref<2x8x8x16xf32>
  %z = mpt_program.buffer <arena> 49152 : memref<2x6x7x3xf32>
  %i = mpt_program.buffer <arena> 5120 : memref<i64>
  // Attributes with their defaults are not printed.
  // CHECK: mpt_program.matmul ins(%{{.*}}, %{{.*}} : memref<4x8xf32>, memref<8x16xf32>) outs(%{{.*}} : memref<4x16xf32>) workspace(%{{.*}} : memref<64xi8>){{$}}
  mpt_program.matmul ins(%a, %b : memref<4x8xf32>, memref<8x16xf32>) outs(%c : memref<4x16xf32>) workspace(%w : memref<64xi8>) {epilogue = #mpt.epilogue<none>, f32_matmuls = #mpt_program.f32_matmuls<exact>}
  // CHECK: mpt_program.matmul ins({{.*}}) bias(%{{.*}} : memref<16xf32>) outs({{.*}}) saved(%{{.*}} : memref<4x16xi8>) {epilogue = #mpt.epilogue<relu>, f32_matmuls = #mpt_program.f32_matmuls<tf32>}
  mpt_program.matmul ins(%a, %b : memref<4x8xf32>, memref<8x16xf32>) bias(%bias : memref<16xf32>) outs(%c : memref<4x16xf32>) saved(%bits : memref<4x16xi8>) {epilogue = #mpt.epilogue<relu>, f32_matmuls = #mpt_program.f32_matmuls<tf32>}
  // CHECK: mpt_program.matmul ins({{.*}}) aux(%{{.*}} : memref<4x16xi8>) outs({{.*}}) bias_grad(%{{.*}} : memref<16xf32>) {accumulate, epilogue = #mpt.epilogue<relu>, transpose_rhs}
  mpt_program.matmul ins(%a, %b : memref<4x8xf32>, memref<8x16xf32>) aux(%bits : memref<4x16xi8>) outs(%c : memref<4x16xf32>) bias_grad(%bias : memref<16xf32>) {accumulate, epilogue = #mpt.epilogue<relu>, transpose_rhs}
  // CHECK: mpt_program.conv2d ins({{.*}}) bias(%{{.*}} : memref<16xf32>) outs({{.*}}) {padding = array<i64: 1, 1, 1, 1>}
  mpt_program.conv2d ins(%x, %f : memref<2x8x8x3xf32>, memref<3x3x3x16xf32>) bias(%bias : memref<16xf32>) outs(%y : memref<2x8x8x16xf32>) {padding = array<i64: 1, 1, 1, 1>}
  // CHECK: mpt_program.conv2d ins({{.*}}) outs({{.*}}) {oihw, padding = array<i64: 0, 0, 7, 7>}
  mpt_program.conv2d ins(%x, %f : memref<2x8x8x3xf32>, memref<3x3x3x16xf32>) outs(%z : memref<2x6x7x3xf32>) {padding = array<i64: 0, 0, 7, 7>, oihw}
  // CHECK: mpt_program.matmul ins({{.*}}) outs({{.*}}) {rounding = #mpt_program.rounding<bf16>}
  mpt_program.matmul ins(%a, %b : memref<4x8xf32>, memref<8x16xf32>) outs(%c : memref<4x16xf32>) {rounding = #mpt_program.rounding<bf16>}
  // CHECK: mpt_program.conv2d ins({{.*}}) outs({{.*}}) {padding = array<i64: 1, 1, 1, 1>, rounding = #mpt_program.rounding<f16>}
  mpt_program.conv2d ins(%x, %f : memref<2x8x8x3xf32>, memref<3x3x3x16xf32>) outs(%y : memref<2x8x8x16xf32>) {padding = array<i64: 1, 1, 1, 1>, rounding = #mpt_program.rounding<f16>}
  // CHECK: mpt_program.fill outs(%{{.*}} : memref<16xf32>) {value = 2.500000e+00 : f64}
  mpt_program.fill outs(%bias : memref<16xf32>) {value = 2.5 : f64}
  // CHECK: mpt_program.random_mask ins(%{{.*}}, %{{.*}} : memref<i64>, memref<i64>) outs(%{{.*}} : memref<4x16xi8>) {rate = 1.000000e-01 : f64, stream = 3 : i64}
  mpt_program.random_mask ins(%i, %i : memref<i64>, memref<i64>) outs(%bits : memref<4x16xi8>) {rate = 0.1 : f64, stream = 3 : i64}
  %q = mpt_program.buffer <arena> 0 : memref<1x2x4x8xf32>
  %l = mpt_program.buffer <arena> 6144 : memref<1x2x4xf32>
  %m = mpt_program.buffer <arena> 6400 : memref<1x1x4x4xi1>
  // CHECK: mpt_program.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>) outs(%{{.*}}, %{{.*}} : memref<1x2x4x8xf32>, memref<1x2x4xf32>) {causal, scale = 5.000000e-01 : f64}
  mpt_program.attention ins(%q, %q, %q : memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>) outs(%q, %l : memref<1x2x4x8xf32>, memref<1x2x4xf32>) {causal, dropout = 0.0 : f64, scale = 0.5 : f64, stream = 0 : i64}
  %p = mpt_program.buffer <arena> 6656 : memref<1x2x4x4xf32>
  // CHECK: mpt_program.attention_grad ins({{.*}}) mask(%{{.*}} : memref<1x1x4x4xi1>) bias(%{{.*}} : memref<1x2x4x4xf32>) seed(%{{.*}} : memref<i64>) attempt(%{{.*}} : memref<i64>) outs(%{{.*}}, %{{.*}}, %{{.*}} : memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>) dbias(%{{.*}} : memref<1x2x4x4xf32>) workspace(%{{.*}} : memref<64xi8>) {dropout = 1.000000e-01 : f64, scale = 5.000000e-01 : f64, stream = 2 : i64}
  mpt_program.attention_grad ins(%q, %q, %q, %q, %q, %l : memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4xf32>) mask(%m : memref<1x1x4x4xi1>) bias(%p : memref<1x2x4x4xf32>) seed(%i : memref<i64>) attempt(%i : memref<i64>) outs(%q, %q, %q : memref<1x2x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>) dbias(%p : memref<1x2x4x4xf32>) workspace(%w : memref<64xi8>) {dropout = 0.1 : f64, scale = 0.5 : f64, stream = 2 : i64}
  %r = mpt_program.buffer <arena> 7168 : memref<i32>
  // CHECK: mpt_program.all_reduce ins(%{{.*}}, %{{.*}} : memref<4x8xf32>, memref<16xf32>) outs(%{{.*}}, %{{.*}} : memref<4x8xf32>, memref<16xf32>) workspace(%{{.*}} : memref<64xi8>) {kind = #mpt.reduce_kind<mean>, ranks = 4 : i64}
  mpt_program.all_reduce ins(%a, %bias : memref<4x8xf32>, memref<16xf32>) outs(%a, %bias : memref<4x8xf32>, memref<16xf32>) workspace(%w : memref<64xi8>) {kind = #mpt.reduce_kind<mean>, order = #mpt_program.sum_order<rank>, ranks = 4 : i64}
  // CHECK: mpt_program.all_reduce ins(%{{.*}} : memref<16xf32>) outs(%{{.*}} : memref<16xf32>) {kind = #mpt.reduce_kind<sum>, order = #mpt_program.sum_order<library>, ranks = 4 : i64, rounding = #mpt_program.rounding<bf16>}
  mpt_program.all_reduce ins(%bias : memref<16xf32>) outs(%bias : memref<16xf32>) {kind = #mpt.reduce_kind<sum>, order = #mpt_program.sum_order<library>, ranks = 4 : i64, rounding = #mpt_program.rounding<bf16>}
  // CHECK: mpt_program.reduce_scatter ins(%{{.*}} : memref<4x16xf32>) outs(%{{.*}} : memref<16xf32>) {kind = #mpt.reduce_kind<sum>, ranks = 4 : i64}
  mpt_program.reduce_scatter ins(%c : memref<4x16xf32>) outs(%bias : memref<16xf32>) {kind = #mpt.reduce_kind<sum>, ranks = 4 : i64}
  // CHECK: mpt_program.all_gather ins(%{{.*}} : memref<16xf32>) outs(%{{.*}} : memref<4x16xf32>) {ranks = 4 : i64}
  mpt_program.all_gather ins(%bias : memref<16xf32>) outs(%c : memref<4x16xf32>) {ranks = 4 : i64}
  // CHECK: mpt_program.broadcast ins(%{{.*}} : memref<4x16xf32>) outs(%{{.*}} : memref<4x16xf32>) {ranks = 4 : i64, root = 3 : i64}
  mpt_program.broadcast ins(%c : memref<4x16xf32>) outs(%c : memref<4x16xf32>) {ranks = 4 : i64, root = 3 : i64}
  // CHECK: mpt_program.rank outs(%{{.*}} : memref<i32>) {ranks = 4 : i64}
  mpt_program.rank outs(%r : memref<i32>) {ranks = 4 : i64}
}
