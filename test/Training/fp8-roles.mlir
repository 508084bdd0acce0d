// Which layers keep their types: those that a loss reads, whatever the loss, and those whose results
// order or choose. What attention gives has scales that are powers of two in any case.
// RUN: mpt-opt %s --mpt-autodiff=function=head --mpt-train-step="function=head optimizer=sgd" --mpt-fp8="function=head recipe=mxfp8" --remarks-filter="mpt\.fp8" -o /dev/null 2>&1 | FileCheck %s --check-prefix=HEAD
// RUN: mpt-opt %s --mpt-autodiff=function=head --mpt-train-step="function=head optimizer=sgd" --mpt-fp8="function=head recipe=mxfp8 quantize-head" --remarks-filter="mpt\.fp8" -o /dev/null 2>&1 | FileCheck %s --check-prefix=TOLD --implicit-check-not=fp8.kept
// RUN: mpt-opt %s --mpt-autodiff=function=shared --mpt-train-step="function=shared optimizer=sgd" --mpt-fp8="function=shared recipe=deepseek" --remarks-filter="mpt\.fp8" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: mpt-opt %s --mpt-autodiff=function=routed --mpt-train-step="function=routed optimizer=sgd" --mpt-fp8="function=routed recipe=deepseek" --remarks-filter="mpt\.fp8" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROUTED
// RUN: mpt-opt %s --mpt-autodiff=function=routed --mpt-train-step="function=routed optimizer=sgd" --mpt-fp8="function=routed recipe=deepseek quantize-router" --remarks-filter="mpt\.fp8" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROUTER
// RUN: mpt-opt %s --mpt-autodiff=function=attends --mpt-train-step="function=attends optimizer=sgd" --mpt-fp8="function=attends recipe=deepseek scales=f32" | FileCheck %s --check-prefix=ATTENDS
// RUN: mpt-opt %s --mpt-autodiff=function=attends --mpt-train-step="function=attends optimizer=sgd" --mpt-fp8="function=attends recipe=deepseek scales=f32" --remarks-filter="mpt\.fp8" -o /dev/null 2>&1 | FileCheck %s --check-prefix=POWERS

// A loss that is written out. The last layer's sum with the stream reaches no other layer; the first
// layer's does.
// HEAD-DAG: :[[#@LINE+10]]:{{.*}}mpt.fp8.product
// HEAD-DAG: :[[#@LINE+11]]:{{.*}}mpt.fp8.kept{{.*}}"a loss reads its result; quantize-head lets it take part"
// HEAD-DAG: :[[#@LINE+10]]:{{.*}}mpt.fp8.kept{{.*}}"the layer whose gradient it computes keeps its types"
// HEAD-DAG: :[[#@LINE+9]]:{{.*}}mpt.fp8.kept{{.*}}"the layer whose gradient it computes keeps its types"
// TOLD-COUNT-5: mpt.fp8.product
func.func @head(
    %w: tensor<64x64xf32> {mpt.name = "w", mpt.role = "parameter"},
    %v: tensor<64x64xf32> {mpt.name = "v", mpt.role = "parameter"},
    %x: tensor<32x64xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<32x64xf32> {mpt.name = "y", mpt.role = "target"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.linear %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = mpt.add %x, %0 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = mpt.linear %1, %v : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %3 = mpt.add %1, %2 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %4 = mpt.sub %3, %y : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %5 = mpt.abs %4 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %6 = mpt.reduce %5 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<32x64xf32>) -> tensor<f32>
  return %6 : tensor<f32>
}

// One parameter in two layers, of which the second is the head: its three matmuls keep their types,
// and those of the first do not.
// SHARED-DAG: :[[#@LINE+9]]:{{.*}}mpt.fp8.product{{.*}}"f8E4M3FN in blocks of 1x128 by f8E4M3FN in blocks of 128x128"
// SHARED-DAG: :[[#@LINE+8]]:{{.*}}mpt.fp8.product{{.*}}"f8E4M3FN in blocks of 128x1{{.*}} by
// SHARED-DAG: :[[#@LINE+9]]:{{.*}}mpt.fp8.kept{{.*}}"a loss reads its result; quantize-head lets it take part"
// SHARED-DAG: :[[#@LINE+8]]:{{.*}}mpt.fp8.kept{{.*}}"the layer whose gradient it computes keeps its types"
// SHARED-DAG: :[[#@LINE+7]]:{{.*}}mpt.fp8.kept{{.*}}"the layer whose gradient it computes keeps its types"
func.func @shared(
    %w: tensor<64x64xf32> {mpt.name = "w", mpt.role = "parameter"},
    %x: tensor<32x64xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<32x64xf32> {mpt.name = "y", mpt.role = "target"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.linear %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = mpt.tanh %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = mpt.linear %1, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %3 = mpt.mse_loss %2, %y : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// The router shares its input with another layer, whose gradient takes part.
// ROUTED-DAG: :[[#@LINE+14]]:{{.*}}mpt.fp8.kept{{.*}}"its result orders or chooses, as a router's does; quantize-router lets it take part"
// ROUTED-DAG: :[[#@LINE+13]]:{{.*}}mpt.fp8.kept{{.*}}"the layer whose gradient it computes keeps its types"
// ROUTED-DAG: :[[#@LINE+19]]:{{.*}}mpt.fp8.product{{.*}}"f8E4M3FN in blocks of 1x128 by f8E4M3FN in blocks of 128x128"
// ROUTED-DAG: :[[#@LINE+18]]:{{.*}}mpt.fp8.product{{.*}}"f8E4M3FN in blocks of 128x1{{.*}} by
// ROUTER-DAG: :[[#@LINE+10]]:{{.*}}mpt.fp8.product{{.*}}"f8E4M3FN in blocks of 1x128 by f8E4M3FN in blocks of 128x128"
// ROUTER-DAG: :[[#@LINE+9]]:{{.*}}mpt.fp8.product{{.*}}"f8E4M3FN in blocks of 128x1{{.*}} by
func.func @routed(
    %r: tensor<64x16xf32> {mpt.name = "r", mpt.role = "parameter"},
    %w: tensor<64x64xf32> {mpt.name = "w", mpt.role = "parameter"},
    %h: tensor<64x16xf32> {mpt.name = "h", mpt.role = "parameter"},
    %x: tensor<32x64xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<32x16xf32> {mpt.name = "y", mpt.role = "target"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %zeros = mpt.constant dense<0.0> : tensor<32x16xf32>
  %ids = mpt.iota {axis = 1 : i64} : () -> tensor<32x16xi64>
  %0 = mpt.linear %x, %r : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %1 = mpt.softmax %0 : (tensor<32x16xf32>) -> tensor<32x16xf32>
  %2 = mpt.argmax %1 : (tensor<32x16xf32>) -> tensor<32xi64>
  %3 = mpt.reshape %2 : (tensor<32xi64>) -> tensor<32x1xi64>
  %4 = mpt.compare %ids, %3 {predicate = #mpt.predicate<eq>} : (tensor<32x16xi64>, tensor<32x1xi64>) -> tensor<32x16xi1>
  %5 = mpt.where %4, %1, %zeros : (tensor<32x16xi1>, tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
  %6 = mpt.reduce %5 {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>, keep_dims} : (tensor<32x16xf32>) -> tensor<32x1xf32>
  %7 = mpt.linear %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %8 = mpt.mul %7, %6 : (tensor<32x64xf32>, tensor<32x1xf32>) -> tensor<32x64xf32>
  %9 = mpt.linear %8, %h : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %10 = mpt.mse_loss %9, %y : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<f32>
  return %10 : tensor<f32>
}

// ATTENDS-LABEL: func.func @attends
// ATTENDS: %[[A:.+]], %{{.+}} = mpt.attention
// ATTENDS-NOT: power_of_two
// ATTENDS: mpt.quantize %{{.+}} {block = array<i64: 1, 128>, rule = #mpt.scale_rule<power_of_two>} : (tensor<64x32xf32>)
// ATTENDS-NOT: power_of_two
// ATTENDS: mpt.quantize %{{.+}} {block = array<i64: 128, 1>, rule = #mpt.scale_rule<power_of_two>} : (tensor<64x32xf32>)
// ATTENDS-NOT: power_of_two
// POWERS: "f8E4M3FN in blocks of 1x128, scaled by powers of two by f8E4M3FN in blocks of 128x128"
func.func @attends(
    %w: tensor<32x32xf32> {mpt.name = "w", mpt.role = "parameter"},
    %o: tensor<32x32xf32> {mpt.name = "o", mpt.role = "parameter"},
    %h: tensor<32x16xf32> {mpt.name = "h", mpt.role = "parameter"},
    %x: tensor<2x32x32xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<2x32x16xf32> {mpt.name = "y", mpt.role = "target"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.linear %x, %w : (tensor<2x32x32xf32>, tensor<32x32xf32>) -> tensor<2x32x32xf32>
  %1 = mpt.reshape %0 : (tensor<2x32x32xf32>) -> tensor<2x1x32x32xf32>
  %a, %lse = mpt.attention %1, %1, %1 : (tensor<2x1x32x32xf32>, tensor<2x1x32x32xf32>, tensor<2x1x32x32xf32>) -> (tensor<2x1x32x32xf32>, tensor<2x1x32xf32>)
  %2 = mpt.reshape %a : (tensor<2x1x32x32xf32>) -> tensor<2x32x32xf32>
  %3 = mpt.linear %2, %o : (tensor<2x32x32xf32>, tensor<32x32xf32>) -> tensor<2x32x32xf32>
  %4 = mpt.linear %3, %h : (tensor<2x32x32xf32>, tensor<32x16xf32>) -> tensor<2x32x16xf32>
  %5 = mpt.mse_loss %4, %y : (tensor<2x32x16xf32>, tensor<2x32x16xf32>) -> tensor<f32>
  return %5 : tensor<f32>
}
