// The cases of TensorFlow's suite for its paint, as far as they are about
// graphs (not devices or tensor lists), with these classes: allow matmul, deny
// exp, infer sqrt and log, clear relu.
//
// RUN: mpt-opt %s --mpt-autocast="type=f16 strategy=paint mixed-results=false" | FileCheck %s
// RUN: mpt-opt %s --mpt-autocast="type=f16 strategy=paint mixed-results=false" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-autocast="type=f16 strategy=paint mixed-results=false" | diff %t.once.mlir -

!m = tensor<32x32xf32>
!h = tensor<32x32xf16>

// Without an allowed op nothing changes.
// CHECK-LABEL: func.func @no_op
// CHECK-NOT: f16
// CHECK: return
func.func @no_op(%in: !m) -> !m {
  %d1 = mpt.exp %in : (!m) -> !m
  %c1 = mpt.relu %d1 : (!m) -> !m
  %i1 = mpt.sqrt %c1 : (!m) -> !m
  %c2 = mpt.relu %i1 : (!m) -> !m
  return %c2 : !m
}

// What is low already stays as it is.
// CHECK-LABEL: func.func @already_f16
// CHECK-NEXT: %[[C:.*]] = mpt.cast %arg0
// CHECK-NEXT: %[[A:.*]] = mpt.matmul %[[C]], %[[C]] : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: %[[R:.*]] = mpt.relu %[[A]] : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: %[[W:.*]] = mpt.cast %[[R]] : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: mpt.relu %[[W]] : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @already_f16(%in: !m) -> !m {
  %x = mpt.cast %in : (!m) -> !h
  %a1 = mpt.matmul %x, %x : (!h, !h) -> !h
  %c1 = mpt.relu %a1 : (!h) -> !h
  %y = mpt.cast %c1 : (!h) -> !m
  %c2 = mpt.relu %y : (!m) -> !m
  return %c2 : !m
}

// Low: c2, a1, c3. The denied op at the end keeps c4 and log in f32.
// CHECK-LABEL: func.func @simple
// CHECK-NEXT: mpt.exp {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: mpt.relu {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: %[[I1:.*]] = mpt.sqrt {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: %[[D:.*]] = mpt.cast %[[I1]] {{.*}}(tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: %[[C2:.*]] = mpt.relu %[[D]] {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.matmul %[[C2]], %[[C2]] {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: %[[C3:.*]] = mpt.relu {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: %[[U:.*]] = mpt.cast %[[C3]] {{.*}}(tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: mpt.log %[[U]] {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: mpt.relu {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: mpt.exp {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: mpt.relu {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @simple(%in: !m) -> !m {
  %d1 = mpt.exp %in : (!m) -> !m
  %c1 = mpt.relu %d1 : (!m) -> !m
  %i1 = mpt.sqrt %c1 : (!m) -> !m
  %c2 = mpt.relu %i1 : (!m) -> !m
  %a1 = mpt.matmul %c2, %c2 : (!m, !m) -> !m
  %c3 = mpt.relu %a1 : (!m) -> !m
  %i2 = mpt.log %c3 : (!m) -> !m
  %c4 = mpt.relu %i2 : (!m) -> !m
  %d2 = mpt.exp %c4 : (!m) -> !m
  %c5 = mpt.relu %d2 : (!m) -> !m
  return %c5 : !m
}

// Paint goes up c1, across the use of both, to c2 and down c4. The input is
// cast once.
// CHECK-LABEL: func.func @bidirectional_clear_chain
// CHECK-NEXT: %[[IN:.*]] = mpt.cast %arg0 {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: %[[C1:.*]] = mpt.relu %[[IN]] {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: %[[C2:.*]] = mpt.relu %[[IN]] {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.matmul %[[C1]], %[[C1]] {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.cast {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: mpt.concat %[[C1]], %[[C2]] {{.*}} -> tensor<64x32xf16>
// CHECK-NEXT: mpt.cast {{.*}} -> tensor<64x32xf32>
// CHECK-NEXT: mpt.relu %[[C2]] {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.cast {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @bidirectional_clear_chain(%in: !m) -> (!m, tensor<64x32xf32>, !m) {
  %c1 = mpt.relu %in : (!m) -> !m
  %c2 = mpt.relu %in : (!m) -> !m
  %a1 = mpt.matmul %c1, %c1 : (!m, !m) -> !m
  %c3 = mpt.concat %c1, %c2 {axis = 0 : i64} : (!m, !m) -> tensor<64x32xf32>
  %c4 = mpt.relu %c2 : (!m) -> !m
  return %a1, %c3, %c4 : !m, tensor<64x32xf32>, !m
}

// A conversion from bits or integers gives the low type at once.
// CHECK-LABEL: func.func @existing_cast
// CHECK-NEXT: %[[C:.*]] = mpt.cast %arg0 : (tensor<32x32xi1>) -> tensor<32x32xf16>
// CHECK-NEXT: mpt.matmul %[[C]], %[[C]] {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.cast
// CHECK-NEXT: return
func.func @existing_cast(%in: tensor<32x32xi1>) -> !m {
  %c = mpt.cast %in : (tensor<32x32xi1>) -> !m
  %a = mpt.matmul %c, %c : (!m, !m) -> !m
  return %a : !m
}

// But not if somebody reads it in f32.
// CHECK-LABEL: func.func @shared_cast
// CHECK-NEXT: mpt.cast %arg0 : (tensor<32x32xi1>) -> tensor<32x32xf32>
func.func @shared_cast(%in: tensor<32x32xi1>) -> (!m, !m) {
  %c = mpt.cast %in : (tensor<32x32xi1>) -> !m
  %a = mpt.matmul %c, %c : (!m, !m) -> !m
  %e = mpt.exp %c : (!m) -> !m
  return %a, %e : !m, !m
}

// An op of the infer list between two allowed ones is low.
// CHECK-LABEL: func.func @between
// CHECK-COUNT-2: mpt.cast {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.matmul {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.sigmoid {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.softmax {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.matmul {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.cast {{.*}} -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @between(%in: !m, %w: !m) -> !m {
  %a1 = mpt.matmul %in, %w : (!m, !m) -> !m
  %s = mpt.sigmoid %a1 : (!m) -> !m
  %p = mpt.softmax %s : (!m) -> !m
  %a2 = mpt.matmul %p, %w : (!m, !m) -> !m
  return %a2 : !m
}

// Infer follows allow without another allowed op behind it.
// CHECK-LABEL: func.func @follows
// CHECK: mpt.linear {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.add {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.relu {{.*}} -> tensor<32x32xf16>
func.func @follows(%in: !m, %w: !m, %b: tensor<32xf32>) -> !m {
  %a = mpt.linear %in, %w : (!m, !m) -> !m
  %i = mpt.add %a, %b : (!m, tensor<32xf32>) -> !m
  %c = mpt.relu %i : (!m) -> !m
  return %c : !m
}

// But not if another operand of it is denied.
// CHECK-LABEL: func.func @follows_denied
// CHECK-NOT: f16
// CHECK: return
func.func @follows_denied(%x: !m, %y: !m) -> !m {
  %p = mpt.pow %x, %y : (!m, !m) -> !m
  %b = mpt.add %p, %y : (!m, !m) -> !m
  %r = mpt.relu %b : (!m) -> !m
  return %r : !m
}

// One value read by an allowed and a denied op: the denied one reads f32.
// CHECK-LABEL: func.func @mixed_fanout
// CHECK: %[[A1:.*]] = mpt.matmul {{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: %[[W:.*]] = mpt.cast %[[A1]]
// CHECK-NEXT: mpt.matmul %[[A1]], %{{.*}} -> tensor<32x32xf16>
// CHECK-NEXT: mpt.cast
// CHECK-NEXT: %[[E:.*]] = mpt.exp %[[W]] : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: mpt.add %[[E]], %{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
func.func @mixed_fanout(%in1: !m, %in2: !m) -> !m {
  %a1 = mpt.matmul %in1, %in2 : (!m, !m) -> !m
  %a2 = mpt.matmul %a1, %in2 : (!m, !m) -> !m
  %e = mpt.exp %a1 : (!m) -> !m
  %i = mpt.add %e, %a2 : (!m, !m) -> !m
  return %i : !m
}

// Statistics and their parameters stay f32 around a norm in low precision.
// CHECK-LABEL: func.func @norm_between
// CHECK: mpt.layer_norm %{{.*}}, %arg2, %arg3 {{.*}}: (tensor<32x32xf16>, tensor<32xf32>, tensor<32xf32>) -> (tensor<32x32xf16>, tensor<32xf32>, tensor<32xf32>)
func.func @norm_between(%x: !m, %w: !m, %g: tensor<32xf32>, %b: tensor<32xf32>) -> (!m, tensor<32xf32>) {
  %a1 = mpt.matmul %x, %w : (!m, !m) -> !m
  %n, %mean, %rstd = mpt.layer_norm %a1, %g, %b : (!m, tensor<32xf32>, tensor<32xf32>) -> (!m, tensor<32xf32>, tensor<32xf32>)
  %a2 = mpt.matmul %n, %w : (!m, !m) -> !m
  return %a2, %mean : !m, tensor<32xf32>
}

// A constant is converted at compile time.
// CHECK-LABEL: func.func @constant
// CHECK-NOT: mpt.cast
// CHECK: mpt.constant dense<5.000000e-01> : tensor<32x32xf16>
func.func @constant(%x: !h) -> !h {
  %c = mpt.constant dense<0.5> : !m
  %w = mpt.cast %x : (!h) -> !m
  %a = mpt.matmul %c, %w : (!m, !m) -> !m
  %y = mpt.cast %a : (!m) -> !h
  return %y : !h
}

// Unless it would become infinite, or zero: then what reads it stays f32, also
// behind an op that only renames.
// CHECK-LABEL: func.func @large_constant
// CHECK: mpt.constant dense<1.000000e+05> : tensor<f32>
// CHECK: mpt.add {{.*}} : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
func.func @large_constant(%x: !m, %w: !m) -> !m {
  %c = mpt.constant dense<100000.0> : tensor<f32>
  %a = mpt.matmul %x, %w : (!m, !m) -> !m
  %y = mpt.add %a, %c : (!m, tensor<f32>) -> !m
  return %y : !m
}

// CHECK-LABEL: func.func @small_constant_reshaped
// CHECK: mpt.constant dense<9.99999993E-9> : tensor<1x32xf32>
// CHECK: mpt.reshape %{{.*}} : (tensor<1x32xf32>) -> tensor<32xf32>
// CHECK: mpt.add {{.*}} : (tensor<32x32xf32>, tensor<32xf32>) -> tensor<32x32xf32>
func.func @small_constant_reshaped(%x: !m, %w: !m) -> !m {
  %c = mpt.constant dense<1.0e-8> : tensor<1x32xf32>
  %a = mpt.matmul %x, %w : (!m, !m) -> !m
  %r = mpt.reshape %c : (tensor<1x32xf32>) -> tensor<32xf32>
  %y = mpt.add %a, %r : (!m, tensor<32xf32>) -> !m
  %z = mpt.matmul %y, %w : (!m, !m) -> !m
  return %z : !m
}
