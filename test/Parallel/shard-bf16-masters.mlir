// Ranks join parameters that are stored in bf16 as they are stored. What is read is widened after
// that, so that autocast sees the bf16 values that it sees without shards.
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=sgd --mpt-master-weights=kind=bf16-kahan -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: mpt-opt %t.mlir --mpt-autocast=type=bf16 | FileCheck %s --check-prefix=LOW
// Those of f32, and halves of f32, are joined in f32.
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=sgd --mpt-master-weights=kind=f32 | FileCheck %s --check-prefix=WIDE
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel=size=2 --mpt-shard-optimizer --mpt-train-step=optimizer=sgd --mpt-master-weights=kind=split16 | FileCheck %s --check-prefix=WIDE

// CHECK-LABEL: func.func @loss
// CHECK:     %[[W:.*]] = mpt.all_gather %arg{{[0-9]+}} {{.*}} : (tensor<32xbf16>) -> tensor<64xbf16>
// CHECK:     mpt.slice %[[W]] {{.*}} : (tensor<64xbf16>) -> tensor<32xbf16>
// CHECK:     mpt.reshape %{{.*}} : (tensor<32xbf16>) -> tensor<4x8xbf16>
// CHECK:     mpt.cast %{{.*}} {autocast} : (tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK:     mpt.all_gather %arg{{[0-9]+}} {{.*}} : (tensor<1xbf16>) -> tensor<2xbf16>
// CHECK:     %[[S:.*]] = mpt.slice %{{.*}} : (tensor<2xbf16>) -> tensor<1xbf16>
// CHECK:     %[[WS:.*]] = mpt.cast %[[S]] {autocast} : (tensor<1xbf16>) -> tensor<1xf32>
// CHECK:     mpt.mul %{{.*}}, %[[WS]] : (tensor<6x8xf32>, tensor<1xf32>) -> tensor<6x8xf32>
// LOW:       mpt.mul %{{.*}} : (tensor<6x8xbf16>, tensor<1xbf16>) -> tensor<6x8xbf16>
// WIDE-COUNT-2: mpt.all_gather {{.*}}xf32>{{$}}
// WIDE-NOT:  mpt.all_gather

func.func @loss(%w1: tensor<4x8xf32> {mpt.name = "w1", mpt.role = "parameter"},
                %s: tensor<1xf32> {mpt.name = "s", mpt.role = "parameter"},
                %w2: tensor<8x1xf32> {mpt.name = "w2", mpt.role = "parameter"},
                %x: tensor<6x4xf32> {mpt.name = "x", mpt.role = "input"},
                %y: tensor<6x1xf32> {mpt.name = "y", mpt.role = "target"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.matmul %x, %w1 : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %a = mpt.tanh %h : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %as = mpt.mul %a, %s : (tensor<6x8xf32>, tensor<1xf32>) -> tensor<6x8xf32>
  %p = mpt.matmul %as, %w2 : (tensor<6x8xf32>, tensor<8x1xf32>) -> tensor<6x1xf32>
  %l = mpt.mse_loss %p, %y : (tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
