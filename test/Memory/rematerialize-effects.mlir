// Random numbers of a hidden state, collectives and foreign code are never repeated, in
// no dialect, whether the rule tables say `pure: false` or `repeatable: false`; what is
// beside them is.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-rematerialize="budget=min" -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=CLONES < %t.mlir

// CHECK-LABEL: func.func @f0(
// CHECK: "sdy.all_gather"
// CHECK-NOT: "sdy.all_gather"
// CHECK: return
// CLONES-LABEL: func.func @f0(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f0(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "sdy.all_gather"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f1(
// CHECK: "sdy.all_reduce"
// CHECK-NOT: "sdy.all_reduce"
// CHECK: return
// CLONES-LABEL: func.func @f1(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f1(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "sdy.all_reduce"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f2(
// CHECK: "sdy.all_to_all"
// CHECK-NOT: "sdy.all_to_all"
// CHECK: return
// CLONES-LABEL: func.func @f2(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f2(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "sdy.all_to_all"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f3(
// CHECK: "sdy.all_slice"
// CHECK-NOT: "sdy.all_slice"
// CHECK: return
// CLONES-LABEL: func.func @f3(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f3(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "sdy.all_slice"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f4(
// CHECK: "sdy.collective_permute"
// CHECK-NOT: "sdy.collective_permute"
// CHECK: return
// CLONES-LABEL: func.func @f4(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f4(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "sdy.collective_permute"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f5(
// CHECK: "sdy.reduce_scatter"
// CHECK-NOT: "sdy.reduce_scatter"
// CHECK: return
// CLONES-LABEL: func.func @f5(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f5(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "sdy.reduce_scatter"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f6(
// CHECK: "sdy.reshard"
// CHECK-NOT: "sdy.reshard"
// CHECK: return
// CLONES-LABEL: func.func @f6(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f6(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "sdy.reshard"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f7(
// CHECK: "stablehlo.all_gather"
// CHECK-NOT: "stablehlo.all_gather"
// CHECK: return
// CLONES-LABEL: func.func @f7(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f7(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "stablehlo.all_gather"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f8(
// CHECK: "stablehlo.rng"
// CHECK-NOT: "stablehlo.rng"
// CHECK: return
// CLONES-LABEL: func.func @f8(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f8(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "stablehlo.rng"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f9(
// CHECK: "stablehlo.custom_call"
// CHECK-NOT: "stablehlo.custom_call"
// CHECK: return
// CLONES-LABEL: func.func @f9(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f9(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "stablehlo.custom_call"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f10(
// CHECK: "mhlo.all_reduce"
// CHECK-NOT: "mhlo.all_reduce"
// CHECK: return
// CLONES-LABEL: func.func @f10(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f10(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "mhlo.all_reduce"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f11(
// CHECK: "torch.aten.dropout"
// CHECK-NOT: "torch.aten.dropout"
// CHECK: return
// CLONES-LABEL: func.func @f11(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f11(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "torch.aten.dropout"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f12(
// CHECK: "torch.aten.bernoulli"
// CHECK-NOT: "torch.aten.bernoulli"
// CHECK: return
// CLONES-LABEL: func.func @f12(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f12(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "torch.aten.bernoulli"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f13(
// CHECK: "tf.RandomUniform"
// CHECK-NOT: "tf.RandomUniform"
// CHECK: return
// CLONES-LABEL: func.func @f13(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f13(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "tf.RandomUniform"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f14(
// CHECK: "onnx.RandomNormalLike"
// CHECK-NOT: "onnx.RandomNormalLike"
// CHECK: return
// CLONES-LABEL: func.func @f14(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f14(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "onnx.RandomNormalLike"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f15(
// CHECK: "onnx.Dropout"
// CHECK-NOT: "onnx.Dropout"
// CHECK: return
// CLONES-LABEL: func.func @f15(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f15(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "onnx.Dropout"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}

// CHECK-LABEL: func.func @f16(
// CHECK: "other.unknown"
// CHECK-NOT: "other.unknown"
// CHECK: return
// CLONES-LABEL: func.func @f16(
// CLONES: "stablehlo.tanh"{{.*}}mpt.remat
func.func @f16(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = "other.unknown"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.sine"(%c) : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = "stablehlo.multiply"(%d, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%g, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}
