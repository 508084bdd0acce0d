// What ranks reduce is exchanged by NCCL and added in the order of the ranks.
// RUN: mpt-opt %s --mpt-reductions-to-gathers | FileCheck %s

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
  // Few bytes are sent to all ranks at once. Narrow values travel as they are, and are added in f32.
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

  // Many: each rank adds its part of them, and the parts are joined. What is small or has no part
  // for each rank is one tensor before, filled up; what is large lies where it is. The sums are made
  // late, so that the exchange runs beside other work.
  // CHECK-LABEL: @many
  // CHECK-DAG: %[[LARGE:.*]] = mpt.reshape %{{.*}} : (tensor<512x1024xf32>) -> tensor<524288xf32>
  // CHECK: %[[JOINED:.*]] = mpt.concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<1025xf32>, tensor<6xf32>) -> tensor<1031xf32>
  // CHECK: %[[FILLED:.*]] = mpt.pad %[[JOINED]] {high = array<i64: 1>, low = array<i64: 0>{{.*}} : (tensor<1031xf32>) -> tensor<1032xf32>
  // CHECK: %[[GOT:.*]]:2 = mpt.all_to_all %[[LARGE]], %[[FILLED]] {axis = "data"}
  // CHECK: mpt.all_gather %{{.*}} : (tensor<1xi64>) -> tensor<2xi64>
  // CHECK: %[[OTHER:.*]] = mpt.exp
  // CHECK: mpt.slice %[[GOT]]#0 {offsets = array<i64: 0>, sizes = array<i64: 262144>
  // CHECK: mpt.slice %[[GOT]]#0 {offsets = array<i64: 262144>
  // CHECK: %[[FIRST:.*]] = mpt.add {{.*}} tensor<262144xf32>
  // CHECK: %[[SECOND:.*]] = mpt.add {{.*}} tensor<516xf32>
  // CHECK: %[[SUMS:.*]]:2 = mpt.all_gather %[[FIRST]], %[[SECOND]] {axis = "data"} : (tensor<262144xf32>, tensor<516xf32>) -> (tensor<524288xf32>, tensor<1032xf32>)
  // CHECK-DAG: mpt.reshape %[[SUMS]]#0 : (tensor<524288xf32>) -> tensor<512x1024xf32>
  // CHECK-DAG: mpt.slice %[[SUMS]]#1 {offsets = array<i64: 0>, sizes = array<i64: 1025>
  // CHECK-DAG: mpt.slice %[[SUMS]]#1 {offsets = array<i64: 1025>, sizes = array<i64: 6>
  func.func @many(%a: tensor<512x1024xf32>, %b: tensor<1025xf32>, %c: tensor<2x3xf32>, %n: tensor<i64>, %x: tensor<4xf32>)
      -> (tensor<512x1024xf32>, tensor<1025xf32>, tensor<2x3xf32>, tensor<i64>, tensor<4xf32>) {
    %s:4 = mpt.all_reduce %a, %b, %c, %n {axis = "data"}
        : (tensor<512x1024xf32>, tensor<1025xf32>, tensor<2x3xf32>, tensor<i64>)
        -> (tensor<512x1024xf32>, tensor<1025xf32>, tensor<2x3xf32>, tensor<i64>)
    %y = mpt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    return %s#0, %s#1, %s#2, %s#3, %y
        : tensor<512x1024xf32>, tensor<1025xf32>, tensor<2x3xf32>, tensor<i64>, tensor<4xf32>
  }

  // Both ways in what travels.
  // CHECK-LABEL: @many_narrow
  // CHECK: mpt.all_to_all %{{.*}} : (tensor<4096xbf16>) -> tensor<4096xbf16>
  // CHECK: mpt.add {{.*}} tensor<2048xf32>
  // CHECK: mpt.all_gather %{{.*}} : (tensor<2048xbf16>) -> tensor<4096xbf16>
  // CHECK: mpt.cast %{{.*}} : (tensor<4096xbf16>) -> tensor<4096xf32>
  func.func @many_narrow(%x: tensor<4096xf32>) -> tensor<4096xf32> {
    %m = mpt.all_reduce %x {axis = "data", wire = bf16} : (tensor<4096xf32>) -> tensor<4096xf32>
    return %m : tensor<4096xf32>
  }

  // A maximum is no sum.
  // CHECK-LABEL: @most
  // CHECK-NOT: all_to_all
  // CHECK: mpt.all_gather
  func.func @most(%x: tensor<4096xf32>) -> tensor<4096xf32> {
    %m = mpt.all_reduce %x {axis = "data", kind = #mpt.collective_kind<max>} : (tensor<4096xf32>) -> tensor<4096xf32>
    return %m : tensor<4096xf32>
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

  // Each rank gets the parts that are its own, and adds them.
  // CHECK-LABEL: @scatter
  // CHECK: %[[PARTS:.*]] = mpt.all_to_all %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mpt.exp
  // CHECK: %[[A:.*]] = mpt.slice %[[PARTS]] {offsets = array<i64: 0>
  // CHECK: %[[B:.*]] = mpt.slice %[[PARTS]] {offsets = array<i64: 2>
  // CHECK: mpt.add %[[A]], %[[B]]
  func.func @scatter(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
    %p = mpt.reduce_scatter %x {axis = "data"} : (tensor<4xf32>) -> tensor<2xf32>
    %y = mpt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    return %p, %y : tensor<2xf32>, tensor<4xf32>
  }
}
