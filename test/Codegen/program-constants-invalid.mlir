// RUN: mpt-opt %s --mpt-convert-program-to-llvm --split-input-file --verify-diagnostics

// The list of constants is as long as the largest number.
mpt_program.program @step attributes {target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 64 : i64} {
  // expected-error @below {{expected constants to be numbered from 0, found 1000000000000000}}
  %c = mpt_program.buffer <constant> 1000000000000000 {value = dense<1.0> : tensor<4xf32>} : memref<4xf32>
  %y = mpt_program.buffer <output> 0 {name = "y"} : memref<4xf32>
}

// -----

mpt_program.program @step attributes {target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 64 : i64} {
  // expected-error @below {{expected a 'value' of 8 elements of 'f32', found 'tensor<4xf32>'}}
  %c = mpt_program.buffer <constant> 0 {value = dense<1.0> : tensor<4xf32>} : memref<8xf32>
  %y = mpt_program.buffer <output> 0 {name = "y"} : memref<4xf32>
}

// -----

mpt_program.program @step attributes {target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 64 : i64} {
  // expected-error @below {{expected a 'value' of 4 elements of 'f32', found 'tensor<4xi32>'}}
  %c = mpt_program.buffer <constant> 0 {value = dense<1> : tensor<4xi32>} : memref<4xf32>
  %y = mpt_program.buffer <output> 0 {name = "y"} : memref<4xf32>
}
