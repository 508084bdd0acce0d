// RUN: mpt-opt %s --verify-roundtrip | FileCheck %s
// RUN: mpt-opt %s --cse --canonicalize | FileCheck %s --check-prefix=KEPT

// CHECK: module attributes {mpt.mesh = #mpt.mesh<data = 2, model = 3>}
module attributes {mpt.mesh = #mpt.mesh<data = 2, model = 3>} {

// CHECK-LABEL: func.func @all
// CHECK: mpt.all_reduce %{{.*}}, %{{.*}} {axis = "data", kind = #mpt.collective_kind<mean>, order = #mpt.collective_order<library>, wire = bf16} : (tensor<4xf32>, tensor<f16>) -> (tensor<4xf32>, tensor<f32>)
// CHECK: mpt.all_reduce %{{.*}} {axis = "model", kind = #mpt.collective_kind<any>} : (tensor<i1>) -> tensor<i1>
// CHECK: mpt.all_reduce %{{.*}} {axis = "data"} : (tensor<?x4xi32>) -> tensor<?x4xi32>
// CHECK: mpt.reduce_scatter %{{.*}} {axis = "model"} : (tensor<6x2xbf16>) -> tensor<2x2xf32>
// CHECK: mpt.all_gather %{{.*}}, %{{.*}} {axis = "model"} : (tensor<2xi64>, tensor<?x2xf32>) -> (tensor<6xi64>, tensor<?x2xf32>)
// CHECK: mpt.all_to_all %{{.*}}, %{{.*}} {axis = "model"} : (tensor<6x2xbf16>, tensor<?x2xf32>) -> (tensor<6x2xbf16>, tensor<?x2xf32>)
// CHECK: mpt.broadcast_from %{{.*}} {axis = "data", root = 1 : i64} : (tensor<i64>) -> tensor<i64>
// CHECK: mpt.rank {axis = "data"} : () -> tensor<i64>
func.func @all(%a: tensor<4xf32>, %b: tensor<f16>, %c: tensor<i1>, %d: tensor<?x4xi32>,
               %e: tensor<6x2xbf16>, %f: tensor<2xi64>, %g: tensor<?x2xf32>, %h: tensor<i64>) {
  %0:2 = mpt.all_reduce %a, %b {axis = "data", kind = #mpt.collective_kind<mean>, order = #mpt.collective_order<library>, wire = bf16}
      : (tensor<4xf32>, tensor<f16>) -> (tensor<4xf32>, tensor<f32>)
  %1 = mpt.all_reduce %c {axis = "model", kind = #mpt.collective_kind<any>} : (tensor<i1>) -> tensor<i1>
  %2 = mpt.all_reduce %d {axis = "data"} : (tensor<?x4xi32>) -> tensor<?x4xi32>
  %3 = mpt.reduce_scatter %e {axis = "model"} : (tensor<6x2xbf16>) -> tensor<2x2xf32>
  %4:2 = mpt.all_gather %f, %g {axis = "model"} : (tensor<2xi64>, tensor<?x2xf32>) -> (tensor<6xi64>, tensor<?x2xf32>)
  %7:2 = mpt.all_to_all %e, %g {axis = "model"} : (tensor<6x2xbf16>, tensor<?x2xf32>) -> (tensor<6x2xbf16>, tensor<?x2xf32>)
  %5 = mpt.broadcast_from %h {axis = "data", root = 1 : i64} : (tensor<i64>) -> tensor<i64>
  %6 = mpt.rank {axis = "data"} : () -> tensor<i64>
  return
}

// Equal exchanges stay apart, and one that nothing reads stays. The rank is a number like
// others.
// KEPT-LABEL: func.func @exchanges
// KEPT: mpt.all_reduce
// KEPT: mpt.all_reduce
// KEPT: mpt.all_gather
// KEPT: mpt.broadcast_from
// KEPT: mpt.reduce_scatter
// KEPT: mpt.all_to_all
// KEPT: mpt.all_to_all
// KEPT-COUNT-1: mpt.rank
// KEPT-NOT: mpt.rank
// KEPT: return
func.func @exchanges(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<i64>) {
  %0 = mpt.all_reduce %x {axis = "data"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpt.all_reduce %x {axis = "data"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpt.all_gather %x {axis = "data"} : (tensor<4xf32>) -> tensor<8xf32>
  %3 = mpt.broadcast_from %x {axis = "data", root = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = mpt.reduce_scatter %x {axis = "data"} : (tensor<4xf32>) -> tensor<2xf32>
  %8 = mpt.all_to_all %x {axis = "data"} : (tensor<4xf32>) -> tensor<4xf32>
  %9 = mpt.all_to_all %x {axis = "data"} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = mpt.rank {axis = "data"} : () -> tensor<i64>
  %6 = mpt.rank {axis = "data"} : () -> tensor<i64>
  %7 = mpt.rank {axis = "model"} : () -> tensor<i64>
  return %0, %1, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<i64>
}

}
