// RUN: mpt-opt %s --mpt-plan-step="max-threads=2" | FileCheck %s

// The new parameter is written over the old one. %h takes the place of %p, 2,048
// bytes, which dies there; its product with x, 1,024 bytes, lies behind it.
// CHECK-LABEL: mpt_program.program @step attributes {arena_bytes = 3072 : i64, max_threads = 2 : i64, output_bytes = 64 : i64, state_bytes = 1024 : i64
//   CHECK-DAG:   %[[X:.*]] = mpt_program.buffer <input> 0 {name = "x", role = #mpt.role<input>} : memref<32x16xf32>
//   CHECK-DAG:   %[[W:.*]] = mpt_program.buffer <state> 0 {{.*}}name = "w", role = #mpt.role<parameter>{{.*}} : memref<16x16xf32>
//   CHECK-DAG:   mpt_program.buffer <output> 0 {name = "loss"} : memref<f32>
//       CHECK:   mpt_program.matmul ins(%[[X]], %[[W]] :
//       CHECK:   mpt_program.launch
//       CHECK:   mpt_program.matmul {{.*}}transpose_lhs
//       CHECK:   %[[FLAT:.*]] = mpt_program.buffer <state> 0 : memref<256xf32>
//       CHECK:   mpt_program.launch {{.*}} ins(%[[FLAT]], {{.*}} outs(%[[FLAT]] : memref<256xf32>)
func.func @step(%w: tensor<16x16xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
                %x: tensor<32x16xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<16x16xf32> {mpt.name = "new_w", mpt.updates = "w"}) {
  %p = mpt.matmul %x, %w : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %h = mpt.tanh %p : (tensor<32x16xf32>) -> tensor<32x16xf32>
  %g = mpt.matmul %x, %h {transpose_lhs} : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  %n = mpt.sub %w, %g : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %l = mpt.reduce %h {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<32x16xf32>) -> tensor<f32>
  return %l, %n : tensor<f32>, tensor<16x16xf32>
}
