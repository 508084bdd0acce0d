// RUN: mpt-opt %s --mpt-join-after-update | FileCheck %s

// Joined along another axis than the one that it is cut along: what ranks of that axis have is
// no shard of this parameter.
// CHECK: func.func @step(%[[W:.*]]: tensor<8192xf32> {
// CHECK-NOT: joined
// CHECK: mpt.all_gather %[[W]] {axis = "model"}
module attributes {mpt.mesh = #mpt.mesh<data = 2, model = 2>} {
  func.func @step(
      %w: tensor<8192xf32> {mpt.name = "w", mpt.role = "parameter", mpt.shards = {axis = "data", tensors = [{name = "a", shape = array<i64: 16384>, order = 0 : i64}], ranks = 2 : i64, blocks = 2 : i64, pieces = array<i64: 0, 0, 0, 8192, 0, 0, 1, 8192, 16384, 0>}})
      -> (tensor<8192xf32> {mpt.name = "w.next", mpt.updates = "w"}) {
    %0 = mpt.all_gather %w {axis = "model"} : (tensor<8192xf32>) -> tensor<16384xf32>
    %1 = mpt.mul %0, %0 : (tensor<16384xf32>, tensor<16384xf32>) -> tensor<16384xf32>
    %2 = mpt.reduce_scatter %1 {axis = "model", kind = #mpt.collective_kind<sum>} : (tensor<16384xf32>) -> tensor<8192xf32>
    %3 = mpt.sub %w, %2 : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
    return %3 : tensor<8192xf32>
  }
}
