// Of large attention without mask and bias a call of cuDNN, if all chips are sm_90 or newer.
// RUN: mpt-opt %s --mpt-convert-calls-to-gpu=cudnn-plain-attention --split-input-file | FileCheck %s

// CHECK-LABEL: mpt_program.program @large
// CHECK: mpt_program.alternatives {
// CHECK-NEXT: mpt_program.cudnn_attention ins(
// CHECK: mpt_program.alternatives {
// CHECK-NEXT: mpt_program.cudnn_attention_grad ins(
mpt_program.program @large attributes {target = #mpt.target<cuda, [sm_90, sm_100]>, max_threads = 1 : i64,
    arena_bytes = 20316160 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %q = mpt_program.buffer <arena> 0 : memref<1x4x2048x64xbf16>
  %k = mpt_program.buffer <arena> 1048576 : memref<1x4x2048x64xbf16>
  %v = mpt_program.buffer <arena> 2097152 : memref<1x4x2048x64xbf16>
  %y = mpt_program.buffer <arena> 3145728 : memref<1x4x2048x64xbf16>
  %lse = mpt_program.buffer <arena> 4194304 : memref<1x4x2048xf32>
  %dy = mpt_program.buffer <arena> 5242880 : memref<1x4x2048x64xbf16>
  %dq = mpt_program.buffer <arena> 6291456 : memref<1x4x2048x64xbf16>
  %dk = mpt_program.buffer <arena> 7340032 : memref<1x4x2048x64xbf16>
  %dv = mpt_program.buffer <arena> 8388608 : memref<1x4x2048x64xbf16>
  %w = mpt_program.buffer <arena> 9437184 : memref<32768xi8>
  mpt_program.attention ins(%q, %k, %v : memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>)
      outs(%y, %lse : memref<1x4x2048x64xbf16>, memref<1x4x2048xf32>) {scale = 0.125 : f64}
  mpt_program.attention_grad ins(%dy, %q, %k, %v, %y, %lse : memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>, memref<1x4x2048xf32>)
      outs(%dq, %dk, %dv : memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>) workspace(%w : memref<32768xi8>) {scale = 0.125 : f64}
}

// -----

// CHECK-LABEL: mpt_program.program @older_chip
// CHECK-NOT: alternatives
mpt_program.program @older_chip attributes {target = #mpt.target<cuda, [sm_80, sm_90]>, max_threads = 1 : i64,
    arena_bytes = 20316160 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %q = mpt_program.buffer <arena> 0 : memref<1x4x2048x64xbf16>
  %k = mpt_program.buffer <arena> 1048576 : memref<1x4x2048x64xbf16>
  %v = mpt_program.buffer <arena> 2097152 : memref<1x4x2048x64xbf16>
  %y = mpt_program.buffer <arena> 3145728 : memref<1x4x2048x64xbf16>
  %lse = mpt_program.buffer <arena> 4194304 : memref<1x4x2048xf32>
  mpt_program.attention ins(%q, %k, %v : memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>)
      outs(%y, %lse : memref<1x4x2048x64xbf16>, memref<1x4x2048xf32>) {scale = 0.125 : f64}
}

// -----

// One score less for each row.
// CHECK-LABEL: mpt_program.program @small
// CHECK-NOT: alternatives
mpt_program.program @small attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 20316160 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %q = mpt_program.buffer <arena> 0 : memref<1x4x2048x64xbf16>
  %k = mpt_program.buffer <arena> 1048576 : memref<1x4x2047x64xbf16>
  %v = mpt_program.buffer <arena> 2097152 : memref<1x4x2047x64xbf16>
  %y = mpt_program.buffer <arena> 3145728 : memref<1x4x2048x64xbf16>
  %lse = mpt_program.buffer <arena> 4194304 : memref<1x4x2048xf32>
  mpt_program.attention ins(%q, %k, %v : memref<1x4x2048x64xbf16>, memref<1x4x2047x64xbf16>, memref<1x4x2047x64xbf16>)
      outs(%y, %lse : memref<1x4x2048x64xbf16>, memref<1x4x2048xf32>) {scale = 0.125 : f64}
}

// -----

// cuDNN would have it as a bias in memory.
// CHECK-LABEL: mpt_program.program @masked
// CHECK-NOT: alternatives
mpt_program.program @masked attributes {target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
    arena_bytes = 20316160 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %q = mpt_program.buffer <arena> 0 : memref<1x4x2048x64xbf16>
  %k = mpt_program.buffer <arena> 1048576 : memref<1x4x2048x64xbf16>
  %v = mpt_program.buffer <arena> 2097152 : memref<1x4x2048x64xbf16>
  %y = mpt_program.buffer <arena> 3145728 : memref<1x4x2048x64xbf16>
  %lse = mpt_program.buffer <arena> 4194304 : memref<1x4x2048xf32>
  %mask = mpt_program.buffer <arena> 5242880 : memref<1x1x1x2048xi1>
  mpt_program.attention ins(%q, %k, %v : memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>, memref<1x4x2048x64xbf16>) mask(%mask : memref<1x1x1x2048xi1>)
      outs(%y, %lse : memref<1x4x2048x64xbf16>, memref<1x4x2048xf32>) {scale = 0.125 : f64}
}
