// What ranks reduce is joined by NCCL and added in the order of the ranks.
// RUN: mpt-opt %s --mpt-reductions-to-gathers | FileCheck %s

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
  // Narrow values travel as they are, and are added in f32.
  // CHECK-LABEL: @mean
  // CHECK: %[[ALL:.*]] = mpt.all_gather %{{.*}} : (tensor<4x3xf16>) -> tensor<8x3xf16>
  // CHECK: %[[A:.*]] = mpt.slice %[[ALL]] {offsets = array<i64: 0, 0>
  // CHECK: %[[X:.*]] = mpt.cast %[[A]] : (tensor<4x3xf16>) -> tensor<4x3xf32>
  // CHECK: %[[B:.*]] = mpt.slice %[[ALL]] {offsets = array<i64: 4, 0>
  // CHECK: %[[Y:.*]] = mpt.cast %[[B]] : (tensor<4x3xf16>) -> tensor<4x3xf32>
  // CHECK: %[[SUM:.*]] = mpt.add %[[X]], %[[Y]]
  // CHECK: %[[N:.*]] = mpt.constant dense<2.0
  // CHECK: mpt.div %[[SUM]], %[[N]]
  func.func @mean(%a: tensor<4x3xf16>) -> tensor<4x3xf32> {
    %m = mpt.all_reduce %a {axis = "data", kind = #mpt.collective_kind<mean>} : (tensor<4x3xf16>) -> tensor<4x3xf32>
    return %m : tensor<4x3xf32>
  }

  // The sum is rounded to what travels, too.
  // CHECK-LABEL: @wire
  // CHECK: mpt.all_gather %{{.*}} : (tensor<1xbf16>) -> tensor<2xbf16>
  // CHECK: %[[SUM:.*]] = mpt.add
  // CHECK: mpt.cast %[[SUM]] : (tensor<1xf32>) -> tensor<1xbf16>
  func.func @wire(%s: tensor<f32>) -> tensor<f32> {
    %t = mpt.all_reduce %s {axis = "data", wire = bf16} : (tensor<f32>) -> tensor<f32>
    return %t : tensor<f32>
  }

  // CHECK-LABEL: @flag
  // CHECK: mpt.all_gather %{{.*}} : (tensor<1xi1>) -> tensor<2xi1>
  // CHECK: mpt.or
  func.func @flag(%n: tensor<i1>) -> tensor<i1> {
    %o = mpt.all_reduce %n {axis = "data", kind = #mpt.collective_kind<any>} : (tensor<i1>) -> tensor<i1>
    return %o : tensor<i1>
  }

  // Sums of f32 in any order are NCCL's own; a mean is divided after.
  // CHECK-LABEL: @library
  // CHECK-NOT: all_gather
  // CHECK: %[[SUM:.*]] = mpt.all_reduce %{{.*}} {axis = "data", order = #mpt.collective_order<library>}
  // CHECK: mpt.div %[[SUM]]
  func.func @library(%x: tensor<4xf32>) -> tensor<4xf32> {
    %l = mpt.all_reduce %x {axis = "data", kind = #mpt.collective_kind<mean>, order = #mpt.collective_order<library>} : (tensor<4xf32>) -> tensor<4xf32>
    return %l : tensor<4xf32>
  }

  // Each rank adds the parts that are its own.
  // CHECK-LABEL: @scatter
  // CHECK: %[[ALL:.*]] = mpt.all_gather
  // CHECK: %[[ROWS:.*]] = mpt.reshape %[[ALL]] : (tensor<8xf32>) -> tensor<4x2xf32>
  // CHECK: %[[RANK:.*]] = mpt.rank
  // CHECK: %[[PLACES:.*]] = mpt.add %{{.*}}, %[[RANK]]
  // CHECK: mpt.gather %[[ROWS]], %[[PLACES]]
  // CHECK: mpt.add
  func.func @scatter(%x: tensor<4xf32>) -> tensor<2xf32> {
    %p = mpt.reduce_scatter %x {axis = "data"} : (tensor<4xf32>) -> tensor<2xf32>
    return %p : tensor<2xf32>
  }
}
