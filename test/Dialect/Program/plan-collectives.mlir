// RUN: mpt-opt %s --split-input-file --mpt-plan-kernels --mpt-assign-buffers | FileCheck %s

module attributes {mpt.mesh = #mpt.mesh<data = 4>} {

// A bucket is one call for each pair of element types. Each tensor of the others is a call.
// Calls keep the order of the exchanges.
// CHECK-LABEL: mpt_program.program @all
// CHECK: mpt_program.all_reduce ins(%{{.*}}, %{{.*}} : memref<8x4xf32>, memref<4xf32>) outs(%{{.*}}, %{{.*}} : memref<8x4xf32>, memref<4xf32>) workspace(%{{.*}}) {kind = #mpt.reduce_kind<mean>, ranks = 4 : i64}
// CHECK: mpt_program.all_reduce ins(%{{.*}} : memref<4xbf16>) outs(%{{.*}} : memref<4xf32>) workspace(%{{.*}}) {kind = #mpt.reduce_kind<mean>, ranks = 4 : i64}
// CHECK: mpt_program.all_reduce ins(%{{.*}} : memref<i1>) outs(%{{.*}} : memref<i1>) workspace(%{{.*}}) {kind = #mpt.reduce_kind<max>, ranks = 4 : i64}
// CHECK: mpt_program.reduce_scatter ins(%{{.*}} : memref<8x4xf32>) outs(%{{.*}} : memref<2x4xf32>) workspace(%{{.*}}) {kind = #mpt.reduce_kind<sum>, order = #mpt_program.sum_order<library>, ranks = 4 : i64, rounding = #mpt_program.rounding<bf16>}
// CHECK: mpt_program.all_gather ins(%{{.*}} : memref<2x4xf32>) outs(%{{.*}} : memref<8x4xf32>) {ranks = 4 : i64}
// CHECK: mpt_program.all_gather ins(%{{.*}} : memref<3xi32>) outs(%{{.*}} : memref<12xi32>) {ranks = 4 : i64}
// CHECK: mpt_program.all_to_all ins(%{{.*}} : memref<4xf32>) outs(%{{.*}} : memref<4xf32>) {ranks = 4 : i64}
// CHECK: mpt_program.broadcast ins(%{{.*}} : memref<4xf32>) outs(%{{.*}} : memref<4xf32>) {ranks = 4 : i64, root = 2 : i64}
// CHECK: mpt_program.rank outs(%{{.*}} : memref<i64>) {ranks = 4 : i64}
func.func @all(%x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"},
               %b: tensor<4xbf16> {mpt.name = "b", mpt.role = "input"},
               %c: tensor<4xf32> {mpt.name = "c", mpt.role = "input"},
               %f: tensor<i1> {mpt.name = "f", mpt.role = "input"},
               %i: tensor<3xi32> {mpt.name = "i", mpt.role = "input"})
    -> (tensor<8x4xf32> {mpt.name = "mx"}, tensor<4xf32> {mpt.name = "mb"},
        tensor<4xf32> {mpt.name = "mc"}, tensor<i1> {mpt.name = "mf"},
        tensor<8x4xf32> {mpt.name = "gx"}, tensor<12xi32> {mpt.name = "gi"},
        tensor<4xf32> {mpt.name = "bc"}, tensor<i64> {mpt.name = "r"}) {
  %0:3 = mpt.all_reduce %x, %b, %c {axis = "data", kind = #mpt.collective_kind<mean>}
      : (tensor<8x4xf32>, tensor<4xbf16>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %1 = mpt.all_reduce %f {axis = "data", kind = #mpt.collective_kind<any>} : (tensor<i1>) -> tensor<i1>
  %2 = mpt.reduce_scatter %x {axis = "data", order = #mpt.collective_order<library>, wire = bf16} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %3:2 = mpt.all_gather %2, %i {axis = "data"} : (tensor<2x4xf32>, tensor<3xi32>) -> (tensor<8x4xf32>, tensor<12xi32>)
  %6 = mpt.all_to_all %c {axis = "data"} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = mpt.broadcast_from %6 {axis = "data", root = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = mpt.rank {axis = "data"} : () -> tensor<i64>
  return %0#0, %0#1, %0#2, %1, %3#0, %3#1, %4, %5
      : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i1>, tensor<8x4xf32>, tensor<12xi32>, tensor<4xf32>, tensor<i64>
}

}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 4>} {

// Reduced where it is.
// CHECK-LABEL: mpt_program.program @in_place
// CHECK: %[[A:.*]] = mpt_program.buffer <arena> 0 : memref<1024xf32>
// CHECK: mpt_program.all_reduce ins(%[[A]] : memref<1024xf32>) outs(%[[A]] : memref<1024xf32>)
func.func @in_place(%x: tensor<1024xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<1024xf32> {mpt.name = "y"}) {
  %0 = mpt.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %1 = mpt.all_reduce %0 {axis = "data"} : (tensor<1024xf32>) -> tensor<1024xf32>
  %2 = mpt.tanh %1 : (tensor<1024xf32>) -> tensor<1024xf32>
  return %2 : tensor<1024xf32>
}

}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 4>} {

// Not what is read again, is reduced twice or has another type.
// CHECK-LABEL: mpt_program.program @not_in_place
// CHECK: mpt_program.all_reduce ins(%[[A:.*]] : memref<1024xf32>) outs(%[[B:.*]] : memref<1024xf32>) workspace
// CHECK: mpt_program.launch {{.*}}ins({{.*}}%[[A]]{{.*}})
// CHECK: mpt_program.all_reduce ins(%[[C:.*]], %[[C]] : memref<1024xf32>, memref<1024xf32>) outs(%[[D:.*]], %[[E:.*]] : memref<1024xf32>, memref<1024xf32>)
// CHECK-NOT: outs(%[[C]]
func.func @not_in_place(%x: tensor<1024xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<1024xf32> {mpt.name = "y"}) {
  %0 = mpt.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %1 = mpt.all_reduce %0 {axis = "data"} : (tensor<1024xf32>) -> tensor<1024xf32>
  %2 = mpt.mul %1, %0 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %3:2 = mpt.all_reduce %2, %2 {axis = "data"} : (tensor<1024xf32>, tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>)
  %4 = mpt.mul %3#0, %3#1 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %4 : tensor<1024xf32>
}

}
