// RUN: mpt-opt %s --mpt-raise-activations | FileCheck %s

// transformers' gelu_new: 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
// CHECK-LABEL: func.func @gelu_new
//  CHECK-NEXT:   %[[Y:.*]] = mpt.gelu %arg0 {approximate = #mpt.gelu<tanh>} : (tensor<4xf32>) -> tensor<4xf32>
//  CHECK-NEXT:   return %[[Y]]
func.func @gelu_new(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = mpt.constant dense<0.5> : tensor<f32>
  %one = mpt.constant dense<1.0> : tensor<f32>
  %root = mpt.constant dense<0.797884583> : tensor<f32>
  %cubic = mpt.constant dense<4.471500e-02> : tensor<f32>
  %0 = mpt.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = mpt.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = mpt.mul %1, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mpt.mul %2, %cubic : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = mpt.add %x, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = mpt.mul %4, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = mpt.tanh %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = mpt.add %6, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %8 = mpt.mul %0, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}

// transformers' gelu_fast: 0.5 * x * (1 + tanh(x * 0.79788456 * (1 + 0.044715 * x * x))), of
// an x that is a product itself, with a power and numbers of x's shape.
// CHECK-LABEL: func.func @gelu_fast
//       CHECK:   %[[X:.*]] = mpt.mul %arg0, %arg1
//       CHECK:   mpt.gelu %[[X]] {approximate = #mpt.gelu<tanh>} : (tensor<4xf32>) -> tensor<4xf32>
func.func @gelu_fast(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %half = mpt.constant dense<0.5> : tensor<4xf32>
  %one = mpt.constant dense<1.0> : tensor<4xf32>
  %two = mpt.constant dense<2.0> : tensor<f32>
  %root = mpt.constant dense<0.797884583> : tensor<f32>
  %cubic = mpt.constant dense<4.471500e-02> : tensor<f32>
  %x = mpt.mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = mpt.mul %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = mpt.pow %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = mpt.mul %cubic, %1 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mpt.add %one, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = mpt.mul %0, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = mpt.tanh %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = mpt.add %one, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = mpt.mul %half, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = mpt.mul %x, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}

// x * (1 + erf(x / sqrt(2))) / 2 in bf16, whose numbers have eight bits.
// CHECK-LABEL: func.func @gelu_erf
//  CHECK-NEXT:   mpt.gelu %arg0 : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
func.func @gelu_erf(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %one = mpt.constant dense<1.0> : tensor<bf16>
  %two = mpt.constant dense<2.0> : tensor<bf16>
  %root = mpt.constant dense<1.414> : tensor<bf16>
  %0 = mpt.div %x, %root : (tensor<2x4xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %1 = mpt.erf %0 : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
  %2 = mpt.add %1, %one : (tensor<2x4xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %3 = mpt.mul %x, %2 : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<2x4xbf16>
  %4 = mpt.div %3, %two : (tensor<2x4xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  return %4 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @silu
//  CHECK-NEXT:   mpt.silu %arg0 : (tensor<4xf32>) -> tensor<4xf32>
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpt.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpt.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// x / 2 erfc(-x / sqrt(2)), as the import of jax.nn.gelu spells it.
// CHECK-LABEL: func.func @gelu_erfc
//  CHECK-NEXT:   mpt.gelu %arg0 : (tensor<4xf32>) -> tensor<4xf32>
func.func @gelu_erfc(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = mpt.constant dense<1.0> : tensor<f32>
  %half = mpt.constant dense<0.5> : tensor<f32>
  %root = mpt.constant dense<0.707106769> : tensor<f32>
  %xh = mpt.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %neg = mpt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %z = mpt.mul %neg, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %size = mpt.abs %z : (tensor<4xf32>) -> tensor<4xf32>
  %a = mpt.mul %size, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = mpt.add %a, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %t = mpt.reciprocal %b : (tensor<4xf32>) -> tensor<4xf32>
  %c0 = mpt.constant dense<0.17087277> : tensor<f32>
  %c1 = mpt.constant dense<-0.82215223> : tensor<f32>
  %m1 = mpt.mul %c0, %t : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %s1 = mpt.add %m1, %c1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c2 = mpt.constant dense<1.48851587> : tensor<f32>
  %m2 = mpt.mul %s1, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s2 = mpt.add %m2, %c2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c3 = mpt.constant dense<-1.13520398> : tensor<f32>
  %m3 = mpt.mul %s2, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s3 = mpt.add %m3, %c3 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c4 = mpt.constant dense<0.27886807> : tensor<f32>
  %m4 = mpt.mul %s3, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s4 = mpt.add %m4, %c4 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c5 = mpt.constant dense<-0.18628806> : tensor<f32>
  %m5 = mpt.mul %s4, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s5 = mpt.add %m5, %c5 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c6 = mpt.constant dense<0.09678418> : tensor<f32>
  %m6 = mpt.mul %s5, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s6 = mpt.add %m6, %c6 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c7 = mpt.constant dense<0.37409196> : tensor<f32>
  %m7 = mpt.mul %s6, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s7 = mpt.add %m7, %c7 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c8 = mpt.constant dense<1.00002368> : tensor<f32>
  %m8 = mpt.mul %s7, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s8 = mpt.add %m8, %c8 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c9 = mpt.constant dense<-1.26551223> : tensor<f32>
  %m9 = mpt.mul %s8, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s9 = mpt.add %m9, %c9 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %square = mpt.mul %size, %size : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %exponent = mpt.sub %s9, %square : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %exp = mpt.exp %exponent : (tensor<4xf32>) -> tensor<4xf32>
  %tail = mpt.mul %t, %exp : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %erf = mpt.erf %z : (tensor<4xf32>) -> tensor<4xf32>
  %near = mpt.sub %one, %erf : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %far = mpt.compare %z, %half {predicate = #mpt.predicate<gt>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %erfc = mpt.where %far, %tail, %near : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = mpt.mul %xh, %erfc : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// Another coefficient.
// CHECK-LABEL: func.func @kept_erfc
//   CHECK-NOT:   mpt.gelu
//       CHECK:   return
func.func @kept_erfc(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = mpt.constant dense<1.0> : tensor<f32>
  %half = mpt.constant dense<0.5> : tensor<f32>
  %root = mpt.constant dense<0.707106769> : tensor<f32>
  %xh = mpt.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %neg = mpt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %z = mpt.mul %neg, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %size = mpt.abs %z : (tensor<4xf32>) -> tensor<4xf32>
  %a = mpt.mul %size, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = mpt.add %a, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %t = mpt.reciprocal %b : (tensor<4xf32>) -> tensor<4xf32>
  %c0 = mpt.constant dense<0.17087277> : tensor<f32>
  %c1 = mpt.constant dense<-0.82215223> : tensor<f32>
  %m1 = mpt.mul %c0, %t : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %s1 = mpt.add %m1, %c1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c2 = mpt.constant dense<1.48851587> : tensor<f32>
  %m2 = mpt.mul %s1, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s2 = mpt.add %m2, %c2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c3 = mpt.constant dense<-1.13520398> : tensor<f32>
  %m3 = mpt.mul %s2, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s3 = mpt.add %m3, %c3 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c4 = mpt.constant dense<0.3> : tensor<f32>
  %m4 = mpt.mul %s3, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s4 = mpt.add %m4, %c4 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c5 = mpt.constant dense<-0.18628806> : tensor<f32>
  %m5 = mpt.mul %s4, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s5 = mpt.add %m5, %c5 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c6 = mpt.constant dense<0.09678418> : tensor<f32>
  %m6 = mpt.mul %s5, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s6 = mpt.add %m6, %c6 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c7 = mpt.constant dense<0.37409196> : tensor<f32>
  %m7 = mpt.mul %s6, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s7 = mpt.add %m7, %c7 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c8 = mpt.constant dense<1.00002368> : tensor<f32>
  %m8 = mpt.mul %s7, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s8 = mpt.add %m8, %c8 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c9 = mpt.constant dense<-1.26551223> : tensor<f32>
  %m9 = mpt.mul %s8, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s9 = mpt.add %m9, %c9 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %square = mpt.mul %size, %size : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %exponent = mpt.sub %s9, %square : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %exp = mpt.exp %exponent : (tensor<4xf32>) -> tensor<4xf32>
  %tail = mpt.mul %t, %exp : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %erf = mpt.erf %z : (tensor<4xf32>) -> tensor<4xf32>
  %near = mpt.sub %one, %erf : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %far = mpt.compare %z, %half {predicate = #mpt.predicate<gt>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %erfc = mpt.where %far, %tail, %near : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = mpt.mul %xh, %erfc : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// 1 / (1 + e^-x), and its reciprocal.
// CHECK-LABEL: func.func @sigmoid
//       CHECK:   %[[Y:.*]] = mpt.sigmoid %arg0 : (tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   %[[Z:.*]] = mpt.div
//  CHECK-NEXT:   return %[[Y]], %[[Z]]
func.func @sigmoid(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = mpt.constant dense<1.0> : tensor<f32>
  %0 = mpt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpt.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpt.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = mpt.div %one, %2 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = mpt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %5 = mpt.add %4, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = mpt.div %one, %5 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %3, %6 : tensor<4xf32>, tensor<4xf32>
}

// Not: another number in the argument, without the half, of another x, a gate of another
// value, a swish with a number, an x that is repeated.
// CHECK-LABEL: func.func @kept
//   CHECK-NOT:   mpt.gelu
//   CHECK-NOT:   mpt.silu
//       CHECK:   return
func.func @kept(%x: tensor<4xf32>, %z: tensor<4xf32>, %s: tensor<1xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %half = mpt.constant dense<0.5> : tensor<f32>
  %one = mpt.constant dense<1.0> : tensor<f32>
  %near = mpt.constant dense<0.7072> : tensor<f32>
  %root = mpt.constant dense<0.707106781> : tensor<f32>
  %0 = mpt.mul %x, %near : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = mpt.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpt.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = mpt.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = mpt.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = mpt.mul %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = mpt.erf %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = mpt.add %6, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %8 = mpt.mul %x, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = mpt.mul %z, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %10 = mpt.mul %9, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %11 = mpt.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %12 = mpt.mul %z, %11 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %13 = mpt.mul %5, %11 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %14 = mpt.sigmoid %s : (tensor<1xf32>) -> tensor<1xf32>
  %15 = mpt.broadcast %14 : (tensor<1xf32>) -> tensor<4xf32>
  %16 = mpt.mul %s, %15 : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4, %8, %10, %12, %13, %16
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
