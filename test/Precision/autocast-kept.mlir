// What the backward pass reads again is kept until then. In f16 a sum is f32, and the plan with
// the fewest bytes of casts has the norm before it in f32, with what it reads. Bytes that are
// kept count as well, so that a norm reads f16 and keeps it.
// RUN: mpt-opt %s --mpt-autodiff --mpt-autocast="type=f16 summary=%t" | FileCheck %s
// RUN: FileCheck %s --check-prefix=SUMMARY < %t
// A second run changes nothing.
// RUN: mpt-opt %s --mpt-autodiff --mpt-autocast="type=f16" --mpt-autocast="type=f16" | FileCheck %s

// What is paid is what is proved to be the least.
// SUMMARY: cost of casts: [[COST:[0-9]+]], proved minimum: [[COST]]

// CHECK-LABEL: func @loss
// CHECK: %[[X:.*]] = mpt.linear {{.*}} -> tensor<256x128xf16>
// CHECK: %[[R:.*]] = mpt.reshape %[[X]] : (tensor<256x128xf16>) -> tensor<128x256xf16>
// CHECK: mpt.layer_norm %[[R]], {{.*}} -> (tensor<128x256xf16>, tensor<128xf32>, tensor<128xf32>)
// CHECK: mpt.grad_seed
// CHECK: mpt.layer_norm_grad %{{.*}}, %[[R]], {{.*}} -> (tensor<128x256xf16>
func.func @loss(%a: tensor<256x64xf32> {mpt.name = "a", mpt.role = "input"},
                %w: tensor<64x128xf32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<128x64xf32> {mpt.name = "v", mpt.role = "parameter"},
                %b: tensor<128xf32> {mpt.name = "b", mpt.role = "parameter"},
                %gamma: tensor<128xf32> {mpt.name = "gamma", mpt.role = "parameter"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %one = mpt.constant dense<1.0> : tensor<256xf32>
  %zero = mpt.constant dense<0.0> : tensor<256xf32>
  %x = mpt.linear %a, %w, %b : (tensor<256x64xf32>, tensor<64x128xf32>, tensor<128xf32>) -> tensor<256x128xf32>
  %r = mpt.reshape %x : (tensor<256x128xf32>) -> tensor<128x256xf32>
  %n, %mean, %rstd = mpt.layer_norm %r, %one, %zero : (tensor<128x256xf32>, tensor<256xf32>, tensor<256xf32>) -> (tensor<128x256xf32>, tensor<128xf32>, tensor<128xf32>)
  %m = mpt.reshape %n : (tensor<128x256xf32>) -> tensor<256x128xf32>
  %s = mpt.mul %m, %gamma : (tensor<256x128xf32>, tensor<128xf32>) -> tensor<256x128xf32>
  %t = mpt.silu %s : (tensor<256x128xf32>) -> tensor<256x128xf32>
  %z = mpt.matmul %t, %v : (tensor<256x128xf32>, tensor<128x64xf32>) -> tensor<256x64xf32>
  %q = mpt.mul %z, %z : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %loss = mpt.reduce %q {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<mean>} : (tensor<256x64xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// No backward pass reads this norm's input.
// CHECK-LABEL: func @sum
// CHECK: mpt.linear {{.*}} -> tensor<256x128xf32>
// CHECK: mpt.layer_norm {{.*}} -> (tensor<256x128xf32>, tensor<256xf32>, tensor<256xf32>)
func.func @sum(%a: tensor<256x64xf32>, %w: tensor<64x128xf32>, %b: tensor<128xf32>) -> tensor<f32> {
  %x = mpt.linear %a, %w, %b : (tensor<256x64xf32>, tensor<64x128xf32>, tensor<128xf32>) -> tensor<256x128xf32>
  %n, %mean, %rstd = mpt.layer_norm %x, %b, %b : (tensor<256x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<256x128xf32>, tensor<256xf32>, tensor<256xf32>)
  %s = mpt.reduce %n {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<256x128xf32>) -> tensor<f32>
  return %s : tensor<f32>
}
