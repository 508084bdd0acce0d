// The collectives of mpt are never repeated; what is beside them is.
// RUN: mpt-opt %s --mpt-rematerialize="budget=min" -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=CLONES < %t.mlir

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {

// CHECK-LABEL: func.func @step(
// CHECK: mpt.all_reduce
// CHECK: mpt.all_gather
// CHECK: mpt.reduce_scatter
// CHECK: mpt.broadcast_from
// CHECK-NOT: mpt.{{all_reduce|all_gather|reduce_scatter|broadcast_from}}
// CHECK: return
// CLONES: mpt.tanh{{.*}}mpt.remat
func.func @step(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = mpt.all_reduce %x {axis = "data"} : (tensor<1024xf32>) -> tensor<1024xf32>
  %s = mpt.all_gather %r {axis = "data"} : (tensor<1024xf32>) -> tensor<2048xf32>
  %t = mpt.reduce_scatter %s {axis = "data"} : (tensor<2048xf32>) -> tensor<1024xf32>
  %u = mpt.broadcast_from %t {axis = "data", root = 1 : i64} : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = mpt.tanh %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = mpt.sin %a : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = mpt.cos %b : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = mpt.sin %c : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = mpt.mul %d, %b : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = mpt.mul %g, %a : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = mpt.mul %e, %u : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %h = mpt.add %f, %r : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %h : tensor<1024xf32>
}

}
