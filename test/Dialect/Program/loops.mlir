// Loops and buffers that move in them come back from text and bytecode.
// RUN: mpt-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: mpt_program.program @p
//       CHECK:   %[[ROW:.*]] = mpt_program.buffer <input> 0 start 32 strides [-16, 4] : memref<f32>
//       CHECK:   %[[OUT:.*]] = mpt_program.buffer <output> 4 strides [0, 4] : memref<f32>
//       CHECK:   mpt_program.loop 3 {
//  CHECK-NEXT:     mpt_program.loop 4 {
//  CHECK-NEXT:       mpt_program.copy ins(%[[ROW]] : memref<f32>) outs(%[[OUT]] : memref<f32>)
//       CHECK:   mpt_program.loop 5 while %{{.*}} : memref<i1> {
//  CHECK-NEXT:     mpt_program.copy
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 64 : i64} {
  %x = mpt_program.buffer <input> 0 {name = "x", role = #mpt.role<input>} : memref<3x4xf32>
  %y = mpt_program.buffer <output> 0 {name = "y"} : memref<5xf32>
  %row = mpt_program.buffer <input> 0 start 32 strides [-16, 4] : memref<f32>
  %out = mpt_program.buffer <output> 4 strides [0, 4] : memref<f32>
  mpt_program.loop 3 {
    mpt_program.loop 4 {
      mpt_program.copy ins(%row : memref<f32>) outs(%out : memref<f32>) {sizes = array<i64>, src_strides = array<i64>, dst_strides = array<i64>}
    }
  }
  %c = mpt_program.buffer <input> 1 {name = "c", role = #mpt.role<input>} : memref<i1>
  // Of loops with conditions any number is in others.
  mpt_program.loop 4294967296 {
    mpt_program.loop 5 while %c : memref<i1> {
      mpt_program.copy ins(%y : memref<5xf32>) outs(%y : memref<5xf32>) {sizes = array<i64>, src_strides = array<i64>, dst_strides = array<i64>}
    }
  }
}
