// Loops and moving buffers that are refused.
// RUN: mpt-opt %s --split-input-file --verify-diagnostics

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %y = mpt_program.buffer <arena> 0 : memref<8xf32>
  // expected-error @+1 {{attribute 'count' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  mpt_program.loop 0 {
    mpt_program.fill outs(%y : memref<8xf32>) {value = 0.0 : f64}
  }
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.loop' op expected launches, calls or loops in its body, found none}}
  mpt_program.loop 2 {
  }
}

// -----

// Buffers are declared once.
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  mpt_program.loop 2 {
    // expected-error @+1 {{'mpt_program.buffer' op found in a mpt_program.loop: expected launches, calls and loops; buffers are declared outside}}
    %y = mpt_program.buffer <arena> 0 : memref<8xf32>
    mpt_program.fill outs(%y : memref<8xf32>) {value = 0.0 : f64}
  }
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %y = mpt_program.buffer <arena> 0 : memref<8xf32>
  mpt_program.loop 65537 {
    // expected-error @+1 {{'mpt_program.loop' op expected at most 2^32 iterations with the loops around it, found 4295032832}}
    mpt_program.loop 65536 {
      mpt_program.fill outs(%y : memref<8xf32>) {value = 0.0 : f64}
    }
  }
}

// -----

// A buffer that moves in more loops than it is used in.
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 4096 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %y = mpt_program.buffer <arena> 0 strides [32, 4] : memref<8xf32>
  mpt_program.loop 2 {
    // expected-error @+1 {{'mpt_program.fill' op expected to be in as many loops as its buffers have strides, found 1 loops and 2 strides}}
    mpt_program.fill outs(%y : memref<8xf32>) {value = 0.0 : f64}
  }
}

// -----

// The last row lies after the arena.
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %y = mpt_program.buffer <arena> 0 strides [32] : memref<8xf32>
  mpt_program.loop 3 {
    // expected-error @+1 {{'mpt_program.fill' op expected its buffers to stay within their space of 64 bytes, found one that moves from byte 0 to 96}}
    mpt_program.fill outs(%y : memref<8xf32>) {value = 0.0 : f64}
  }
}

// -----

// The last row lies before it.
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %y = mpt_program.buffer <arena> 32 strides [-32] : memref<8xf32>
  mpt_program.loop 3 {
    // expected-error @+1 {{'mpt_program.fill' op expected its buffers to stay within their space of 64 bytes, found one that moves from byte -32 to 64}}
    mpt_program.fill outs(%y : memref<8xf32>) {value = 0.0 : f64}
  }
}

// -----

// An input is as large as the buffer that has its name.
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <input> 0 {name = "x", role = #mpt.role<input>} : memref<4x8xf32>
  %y = mpt_program.buffer <arena> 0 : memref<8xf32>
  %row = mpt_program.buffer <input> 0 start 32 strides [32] : memref<8xf32>
  mpt_program.loop 4 {
    // expected-error @+1 {{'mpt_program.copy' op expected its buffers to stay within their space of 128 bytes, found one that moves from byte 32 to 160}}
    mpt_program.copy ins(%row : memref<8xf32>) outs(%y : memref<8xf32>) {sizes = array<i64: 8>, src_strides = array<i64: 1>, dst_strides = array<i64: 1>}
  }
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %y = mpt_program.buffer <arena> 0 strides [-9223372036854775808] : memref<8xf32>
  mpt_program.loop 3 {
    // expected-error @+1 {{'mpt_program.fill' op expected a buffer that moves within 2^63 bytes, found 'memref<8xf32>'}}
    mpt_program.fill outs(%y : memref<8xf32>) {value = 0.0 : f64}
  }
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected places and strides that are multiples of the element's 4 bytes, found 6}}
  %y = mpt_program.buffer <arena> 0 strides [6] : memref<8xf32>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected a start of at least 0 for inputs and constants, and of 0 for other buffers, found 4}}
  %y = mpt_program.buffer <arena> 0 start 4 : memref<8xf32>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // expected-error @+1 {{'mpt_program.buffer' op expected a named buffer to begin its space and not to move, found a start or strides}}
  %y = mpt_program.buffer <input> 0 strides [4] {name = "x", role = #mpt.role<input>} : memref<8xf32>
}

// -----

mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %y = mpt_program.buffer <arena> 0 : memref<8xf32>
  %c = mpt_program.buffer <arena> 0 : memref<2xi1>
  // expected-error @+1 {{'mpt_program.loop' op expected a condition of one element, found 'memref<2xi1>'}}
  mpt_program.loop 3 while %c : memref<2xi1> {
    mpt_program.fill outs(%y : memref<8xf32>) {value = 0.0 : f64}
  }
}

// -----

// A condition moves with the loops around its own.
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %y = mpt_program.buffer <arena> 0 : memref<8xf32>
  %c = mpt_program.buffer <arena> 0 strides [1] : memref<i1>
  // expected-error @+1 {{'mpt_program.loop' op expected to be in as many loops as its buffers have strides, found 0 loops and 1 strides}}
  mpt_program.loop 3 while %c : memref<i1> {
    mpt_program.fill outs(%y : memref<8xf32>) {value = 0.0 : f64}
  }
}
