// The loop rules of TensorFlow's tests (tensorflow/python/grappler/
// auto_mixed_precision_test.py, test_simple_loop_*) on scf.for. Each has ops before
// the loop, in its body and behind it: w is allowed, b denied, g infers, c is
// clear; what is expected low is in capitals. A loop's carry is one variable here,
// so that it is as the suite's Merge is.
//
// RUN: mpt-opt %s --mpt-autocast="type=f16 strategy=paint mixed-results=false" | FileCheck %s
// RUN: mpt-opt %s --mpt-autocast="type=f16 strategy=paint mixed-results=false" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-autocast="type=f16 strategy=paint mixed-results=false" | diff %t.once.mlir -

// W -> loop [C] -> C: clear ops next to a low op.
// CHECK-LABEL: func.func @rule_1(
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.for {{.*}} -> (tensor<32x32xf16>)
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.yield {{.*}} : tensor<32x32xf16>
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_1(%x: tensor<32x32xf32>, %lb: index, %ub: index, %st: index) -> tensor<32x32xf32> {
  %v1 = mpt.matmul %x, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = scf.for %i = %lb to %ub step %st iter_args(%c = %v1) -> (tensor<32x32xf32>) {
    %v2 = mpt.relu %c : (tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %v2 : tensor<32x32xf32>
  }
  %v3 = mpt.relu %r : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v3 : tensor<32x32xf32>
}

// C -> loop [C] -> W: the same, up.
// CHECK-LABEL: func.func @rule_2(
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.for {{.*}} -> (tensor<32x32xf16>)
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.yield {{.*}} : tensor<32x32xf16>
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_2(%x: tensor<32x32xf32>, %lb: index, %ub: index, %st: index) -> tensor<32x32xf32> {
  %v1 = mpt.relu %x : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = scf.for %i = %lb to %ub step %st iter_args(%c = %v1) -> (tensor<32x32xf32>) {
    %v2 = mpt.relu %c : (tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %v2 : tensor<32x32xf32>
  }
  %v3 = mpt.matmul %r, %r : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v3 : tensor<32x32xf32>
}

// W -> loop [G] -> W: G between two contractions, through the loop.
// CHECK-LABEL: func.func @rule_3(
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.for {{.*}} -> (tensor<32x32xf16>)
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.yield {{.*}} : tensor<32x32xf16>
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_3(%x: tensor<32x32xf32>, %lb: index, %ub: index, %st: index) -> tensor<32x32xf32> {
  %v1 = mpt.matmul %x, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = scf.for %i = %lb to %ub step %st iter_args(%c = %v1) -> (tensor<32x32xf32>) {
    %v2 = mpt.tanh %c : (tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %v2 : tensor<32x32xf32>
  }
  %v3 = mpt.matmul %r, %r : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v3 : tensor<32x32xf32>
}

// W -> loop [gbg] -> W: a denied op in the body keeps the carry.
// CHECK-LABEL: func.func @rule_4(
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.for {{.*}} -> (tensor<32x32xf32>)
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: mpt.exp {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: scf.yield {{.*}} : tensor<32x32xf32>
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_4(%x: tensor<32x32xf32>, %lb: index, %ub: index, %st: index) -> tensor<32x32xf32> {
  %v1 = mpt.matmul %x, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = scf.for %i = %lb to %ub step %st iter_args(%c = %v1) -> (tensor<32x32xf32>) {
    %v2 = mpt.tanh %c : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = mpt.exp %v2 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = mpt.tanh %v3 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %v4 : tensor<32x32xf32>
  }
  %v5 = mpt.matmul %r, %r : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v5 : tensor<32x32xf32>
}

// b -> loop [gWC] -> c: the carry is in f32, with casts in the body.
// CHECK-LABEL: func.func @rule_5(
// CHECK: mpt.exp {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: scf.for {{.*}} -> (tensor<32x32xf32>)
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.yield {{.*}} : tensor<32x32xf32>
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: return
func.func @rule_5(%x: tensor<32x32xf32>, %lb: index, %ub: index, %st: index) -> tensor<32x32xf32> {
  %v1 = mpt.exp %x : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = scf.for %i = %lb to %ub step %st iter_args(%c = %v1) -> (tensor<32x32xf32>) {
    %v2 = mpt.tanh %c : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = mpt.matmul %v2, %v2 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = mpt.relu %v3 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %v4 : tensor<32x32xf32>
  }
  %v5 = mpt.relu %r : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v5 : tensor<32x32xf32>
}

// b -> loop [CWCG] -> C: the carry is low after an entry in f32, since a contraction follows G the next time round.
// CHECK-LABEL: func.func @rule_6(
// CHECK: mpt.exp {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: scf.for {{.*}} -> (tensor<32x32xf16>)
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.yield {{.*}} : tensor<32x32xf16>
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_6(%x: tensor<32x32xf32>, %lb: index, %ub: index, %st: index) -> tensor<32x32xf32> {
  %v1 = mpt.exp %x : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = scf.for %i = %lb to %ub step %st iter_args(%c = %v1) -> (tensor<32x32xf32>) {
    %v2 = mpt.relu %c : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = mpt.matmul %v2, %v2 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = mpt.relu %v3 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v5 = mpt.tanh %v4 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %v5 : tensor<32x32xf32>
  }
  %v6 = mpt.relu %r : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v6 : tensor<32x32xf32>
}

// W -> loop [GWG] -> C: G follows a contraction, and a contraction follows it.
// CHECK-LABEL: func.func @rule_7(
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.for {{.*}} -> (tensor<32x32xf16>)
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.yield {{.*}} : tensor<32x32xf16>
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_7(%x: tensor<32x32xf32>, %lb: index, %ub: index, %st: index) -> tensor<32x32xf32> {
  %v1 = mpt.matmul %x, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = scf.for %i = %lb to %ub step %st iter_args(%c = %v1) -> (tensor<32x32xf32>) {
    %v2 = mpt.tanh %c : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = mpt.matmul %v2, %v2 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = mpt.tanh %v3 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %v4 : tensor<32x32xf32>
  }
  %v5 = mpt.relu %r : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v5 : tensor<32x32xf32>
}

// W -> loop [CgbgWC] -> g: the carry is low though what is in the middle is not.
// CHECK-LABEL: func.func @rule_8(
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.for {{.*}} -> (tensor<32x32xf16>)
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: mpt.exp {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: mpt.matmul {{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: mpt.relu {{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: scf.yield {{.*}} : tensor<32x32xf16>
// CHECK: mpt.tanh {{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: return
func.func @rule_8(%x: tensor<32x32xf32>, %lb: index, %ub: index, %st: index) -> tensor<32x32xf32> {
  %v1 = mpt.matmul %x, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = scf.for %i = %lb to %ub step %st iter_args(%c = %v1) -> (tensor<32x32xf32>) {
    %v2 = mpt.relu %c : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = mpt.tanh %v2 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = mpt.exp %v3 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v5 = mpt.tanh %v4 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v6 = mpt.matmul %v5, %v5 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %v7 = mpt.relu %v6 : (tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %v7 : tensor<32x32xf32>
  }
  %v8 = mpt.tanh %r : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v8 : tensor<32x32xf32>
}
