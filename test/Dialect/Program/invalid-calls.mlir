// RUN: mpt-opt %s --split-input-file --verify-diagnostics

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<4xf32>
  // expected-error @+1 {{custom op 'mpt_program.sort' is unknown}}
  mpt_program.sort ins(%s : memref<4xf32>) outs(%s : memref<4xf32>)
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<4xf32>
  // expected-error @+1 {{expected ','}}
  mpt_program.gather ins(%s : memref<4xf32>) outs(%s : memref<4xf32>)
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<1x2x2x1xf32>
  // expected-error @+1 {{'mpt_program.max_pool' op attribute 'window' failed to satisfy constraint: i64 dense array attribute with exactly 2 elements}}
  mpt_program.max_pool ins(%s : memref<1x2x2x1xf32>) outs(%s : memref<1x2x2x1xf32>) {window = array<i64: 2>, strides = array<i64: 2, 2>}
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<4xf32>
  // expected-error @+1 {{'mpt_program.fill' op requires attribute 'value'}}
  mpt_program.fill outs(%s : memref<4xf32>)
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %s = mpt_program.buffer <arena> 0 : memref<4xf32>
  // expected-error @+1 {{'mpt_program.all_reduce' op requires attribute 'ranks'}}
  mpt_program.all_reduce ins(%s : memref<4xf32>) outs(%s : memref<4xf32>) {kind = #mpt.reduce_kind<sum>}
}
