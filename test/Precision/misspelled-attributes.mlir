// An attribute of MPT's with a slip in its prefix, on an op of another dialect, is reported
// by the passes that read such attributes there.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast=type=bf16 --verify-diagnostics -o /dev/null
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-annotate-precision=type=bf16 --verify-diagnostics -o /dev/null
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-rematerialize --verify-diagnostics -o /dev/null

func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-warning @below {{unknown attribute 'mtp.precision' on stablehlo.dot; did you mean 'mpt.precision'?}}
  %a = "stablehlo.dot"(%x, %x) {mtp.precision = "f32"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-warning @below {{unknown attribute 'mpt_.save' on stablehlo.tanh; did you mean 'mpt.save'?}}
  %b = "stablehlo.tanh"(%a) {mpt_.save = "never"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // Attributes of others.
  %c = "stablehlo.exponential"(%b) {mhlo.sharding = "f32", my.save = "never", save = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}
