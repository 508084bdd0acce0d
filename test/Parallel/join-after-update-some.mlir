// Of parameters that one exchange joins, those that are read in half precision stay cut, and are
// joined as before; the others become state.
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer=optimizer=@update --mpt-train-step=optimizer=@update --mpt-autocast=type=bf16 -o %t.mlir
// RUN: FileCheck %s --check-prefix=BEFORE --input-file=%t.mlir
// RUN: mpt-opt %t.mlir --mpt-join-after-update | FileCheck %s

// BEFORE: mpt.all_gather %{{.*}}, %{{.*}} {axis = "data", mpt.precision = "f32"} : (tensor<4096xf32>, tensor<4096xf32>)
// CHECK: func.func @loss(%[[A:arg[0-9]+]]: tensor<4096xf32> {mpt.name = "shards.0"
// CHECK-SAME: %[[B:arg[0-9]+]]: tensor<8192xf32> {mpt.name = "shards.1"
// CHECK: %[[LOW:.*]] = mpt.cast %[[A]] : (tensor<4096xf32>) -> tensor<4096xbf16>
// CHECK: mpt.all_gather %[[LOW]] {axis = "data"} : (tensor<4096xbf16>) -> tensor<8192xbf16>
// CHECK: mpt.reshape %[[B]]
// CHECK: mpt.all_gather %{{[^,]*}} {axis = "data"} : (tensor<4096xf32>) -> tensor<8192xf32>
// CHECK-NOT: mpt.all_gather
func.func @loss(%a: tensor<64x128xf32> {mpt.name = "a", mpt.role = "parameter"},
                %b: tensor<64x128xf32> {mpt.name = "b", mpt.role = "parameter"},
                %x: tensor<8x64xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.matmul %x, %a : (tensor<8x64xf32>, tensor<64x128xf32>) -> tensor<8x128xf32>
  %1 = mpt.matmul %x, %b {mpt.precision = "f32"} : (tensor<8x64xf32>, tensor<64x128xf32>) -> tensor<8x128xf32>
  %2 = mpt.mul %0, %1 : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
  %l = mpt.reduce %2 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x128xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

func.func private @update(
    %a: tensor<64x128xf32> {mpt.name = "a", mpt.role = "parameter"},
    %b: tensor<64x128xf32> {mpt.name = "b", mpt.role = "parameter"},
    %ga: tensor<64x128xf32> {mpt.name = "grad.a", mpt.role = "input"},
    %gb: tensor<64x128xf32> {mpt.name = "grad.b", mpt.role = "input"},
    %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule"})
    -> (tensor<64x128xf32> {mpt.updates = "a"}, tensor<64x128xf32> {mpt.updates = "b"}) {
  %a0 = mpt.mul %ga, %lr : (tensor<64x128xf32>, tensor<f32>) -> tensor<64x128xf32>
  %a1 = mpt.sub %a, %a0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %b0 = mpt.mul %gb, %gb : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %b1 = mpt.sub %b, %b0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  return %a1, %b1 : tensor<64x128xf32>, tensor<64x128xf32>
}
