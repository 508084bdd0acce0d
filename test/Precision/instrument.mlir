// RUN: mpt-opt %s --mpt-instrument="function=f histogram-step=0 values=mpt.matmul" | FileCheck %s
// Data and parameters, but not what only the update reads.
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=momentum" --mpt-instrument="function=loss" | FileCheck %s --check-prefix=INPUTS
// INPUTS-COUNT-9: id = "argument@{{[wxy]}}"
// INPUTS-NOT: argument@
// Attributes and edges by the options.
// RUN: mpt-opt %s --mpt-instrument="function=f type=bf16,f8E4M3FN histogram-step=8 histogram-low=-16 histogram-high=0 values=mpt.reshape,argument@b" | FileCheck %s --check-prefix=OPTIONS
// A step: no update of the state, gradients by their parameters, forward and backward.
// RUN: mpt-opt %s --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=momentum clip-norm=1" --mpt-loss-scale --mpt-autocast="type=f16" --mpt-instrument="function=loss" | FileCheck %s --check-prefix=STEP
// Autocast decides the same with records and without.
// RUN: mpt-opt %s --mpt-autocast="type=bf16 summary=%t.without" -o /dev/null && mpt-opt %s --mpt-instrument="function=loss" --mpt-autocast="type=bf16 summary=%t.with" -o /dev/null
// RUN: grep "casts to" %t.without > %t.casts && grep "casts to" %t.with | diff %t.casts -

// CHECK-LABEL: func.func @f
// CHECK-SAME: tensor<6x20xf16> {mpt.name = "y"},
// CHECK-SAME: tensor<1xf32> {mpt.name = "record.0.amax", mpt.record = {elements = 120 : i64, figure = "amax", id = "mpt.matmul@instrument.mlir:[[LINE:[0-9]+]]:8", location = "{{[^"]*}}instrument.mlir:[[LINE]]:8", op = "mpt.matmul", phase = "forward", result = 0 : i64, type = "f16"}},
// CHECK-SAME: tensor<1xf32> {mpt.name = "record.0.smallest", mpt.record = {elements = 120 : i64, figure = "smallest",
// CHECK-SAME: tensor<6xf64> {mpt.name = "record.0.counts", mpt.record = {elements = 120 : i64, figure = "counts",
// CHECK-SAME: attributes {mpt.records = {edges = array<i64>, types = ["f16"]}}
// CHECK: %[[Y:.+]] = mpt.matmul
// CHECK-NEXT: %[[WIDE:.+]] = mpt.cast %[[Y]] {mpt.record} : (tensor<6x20xf16>) -> tensor<6x20xf32>
// CHECK-NEXT: %[[ABS:.+]] = mpt.abs %[[WIDE]] {mpt.precision = "f32", mpt.record}
// CHECK: mpt.reduce {{.*}}#mpt.reduce_kind<max>, mpt.record} : (tensor<6x20xf32>) -> tensor<f32>
// CHECK: mpt.reduce {{.*}}#mpt.reduce_kind<min>, mpt.record} : (tensor<6x20xf32>) -> tensor<f32>
// Zero, the least f32, 2^-25 and a bit, 2^-14 - 2^-25, 65520, infinity.
// CHECK: %[[T:.+]] = mpt.constant {mpt.record} dense<{{\[\[}}0.000000e+00], [1.401300e-45], [2.98023259E-8], [6.10053539E-5], [6.552000e+04], [0x7F800000]]> : tensor<6x1xf32>
// CHECK: mpt.reshape %[[ABS]] {mpt.record} : (tensor<6x20xf32>) -> tensor<1x1x120xf32>
// CHECK: mpt.compare {{.*}}#mpt.predicate<ge>
// CHECK: mpt.reduce {{.*}} : (tensor<1x6x120xf32>) -> tensor<1x6xf32>
// CHECK: mpt.reduce {{.*}} : (tensor<1x6xf64>) -> tensor<6xf64>
// A move of the same numbers has no records, nor has what is no float.
// CHECK: mpt.reshape %[[Y]] :
// CHECK-NEXT: mpt.argmax
// CHECK-NEXT: return

// OPTIONS: id = "argument@b", location = "{{[^"]*}}instrument.mlir:{{[0-9]+}}:{{[0-9]+}}", op = "argument", phase = "input", result = 0
// OPTIONS-NOT: argument@a
// OPTIONS: op = "mpt.reshape"
// OPTIONS-NOT: mpt.matmul@
// OPTIONS: mpt.records = {edges = array<i64: -16, -8, 0>, types = ["bf16", "f8E4M3FN"]}

// STEP-LABEL: func.func @loss
// STEP-NOT: op = "mpt.sgd"
// STEP-NOT: op = "mpt.unscale"
// STEP-NOT: op = "mpt.gradients"
// STEP-NOT: op = "mpt.clip_by_global_norm"
// STEP-NOT: op = "mpt.scale_loss"
// STEP: id = "autocast@instrument.mlir:{{[0-9:#]+}}"
// STEP: op = "mpt.linear", phase = "forward"
// STEP: op = "mpt.matmul", parameter = "w", phase = "backward"
// STEP-NOT: op = "mpt.sgd"
func.func @f(%a: tensor<6x10xf16> {mpt.name = "a", mpt.role = "input"}, %b: tensor<10x20xf16> {mpt.name = "b", mpt.role = "input"})
    -> (tensor<6x20xf16> {mpt.name = "y"}, tensor<6xi32> {mpt.name = "i"}) {
  %y = mpt.matmul %a, %b : (tensor<6x10xf16>, tensor<10x20xf16>) -> tensor<6x20xf16>
  %r = mpt.reshape %y : (tensor<6x20xf16>) -> tensor<6x20xf16>
  %i = mpt.argmax %y : (tensor<6x20xf16>) -> tensor<6xi32>
  return %y, %i : tensor<6x20xf16>, tensor<6xi32>
}

func.func @loss(
    %w: tensor<2x1xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %x: tensor<8x2xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<8x1xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %p = mpt.linear %x, %w : (tensor<8x2xf32>, tensor<2x1xf32>) -> tensor<8x1xf32>
  %loss = mpt.mse_loss %p, %y : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
