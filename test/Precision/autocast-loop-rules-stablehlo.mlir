// The loop rules of TensorFlow's tests (tensorflow/python/grappler/
// auto_mixed_precision_test.py, test_simple_loop_*) on stablehlo.while. Each has ops before
// the loop, in its body and behind it: w is allowed, b denied, g infers, c is
// clear; what is expected low is in capitals. A loop's carry is one variable here,
// so that it is as the suite's Merge is.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16 strategy=paint mixed-results=false" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16 strategy=paint mixed-results=false" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=f16 strategy=paint mixed-results=false" | diff %t.once.mlir -

// W -> loop [C] -> C: clear ops next to a low op.
// CHECK-LABEL: func.func @rule_1(
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.while"
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.return"({{.*}} : (tensor<32x32xf16>, tensor<i32>)
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_1(%x: tensor<32x32xf32>, %n: tensor<i32>) -> tensor<32x32xf32> {
  %v1 = "stablehlo.dot"(%x, %x) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r:2 = "stablehlo.while"(%v1, %n) ({
  ^bb0(%p: tensor<32x32xf32>, %k: tensor<i32>):
    %t = "stablehlo.compare"(%k, %n) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<32x32xf32>, %j: tensor<i32>):
    %v2 = "stablehlo.reverse"(%c) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "stablehlo.return"(%v2, %j) : (tensor<32x32xf32>, tensor<i32>) -> ()
  }) : (tensor<32x32xf32>, tensor<i32>) -> (tensor<32x32xf32>, tensor<i32>)
  %v3 = "stablehlo.reverse"(%r#0) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v3 : tensor<32x32xf32>
}

// C -> loop [C] -> W: the same, up.
// CHECK-LABEL: func.func @rule_2(
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.while"
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.return"({{.*}} : (tensor<32x32xf16>, tensor<i32>)
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_2(%x: tensor<32x32xf32>, %n: tensor<i32>) -> tensor<32x32xf32> {
  %v1 = "stablehlo.reverse"(%x) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %r:2 = "stablehlo.while"(%v1, %n) ({
  ^bb0(%p: tensor<32x32xf32>, %k: tensor<i32>):
    %t = "stablehlo.compare"(%k, %n) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<32x32xf32>, %j: tensor<i32>):
    %v2 = "stablehlo.reverse"(%c) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "stablehlo.return"(%v2, %j) : (tensor<32x32xf32>, tensor<i32>) -> ()
  }) : (tensor<32x32xf32>, tensor<i32>) -> (tensor<32x32xf32>, tensor<i32>)
  %v3 = "stablehlo.dot"(%r#0, %r#0) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v3 : tensor<32x32xf32>
}

// W -> loop [G] -> W: G between two contractions, through the loop.
// CHECK-LABEL: func.func @rule_3(
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.while"
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.return"({{.*}} : (tensor<32x32xf16>, tensor<i32>)
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_3(%x: tensor<32x32xf32>, %n: tensor<i32>) -> tensor<32x32xf32> {
  %v1 = "stablehlo.dot"(%x, %x) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r:2 = "stablehlo.while"(%v1, %n) ({
  ^bb0(%p: tensor<32x32xf32>, %k: tensor<i32>):
    %t = "stablehlo.compare"(%k, %n) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<32x32xf32>, %j: tensor<i32>):
    %v2 = "stablehlo.tanh"(%c) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "stablehlo.return"(%v2, %j) : (tensor<32x32xf32>, tensor<i32>) -> ()
  }) : (tensor<32x32xf32>, tensor<i32>) -> (tensor<32x32xf32>, tensor<i32>)
  %v3 = "stablehlo.dot"(%r#0, %r#0) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v3 : tensor<32x32xf32>
}

// W -> loop [gbg] -> W: a denied op in the body keeps the carry.
// CHECK-LABEL: func.func @rule_4(
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.while"
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf32>, %{{.*}}: tensor<i32>):
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf32>, %{{.*}}: tensor<i32>):
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: "stablehlo.exponential"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: "stablehlo.return"({{.*}} : (tensor<32x32xf32>, tensor<i32>)
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_4(%x: tensor<32x32xf32>, %n: tensor<i32>) -> tensor<32x32xf32> {
  %v1 = "stablehlo.dot"(%x, %x) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r:2 = "stablehlo.while"(%v1, %n) ({
  ^bb0(%p: tensor<32x32xf32>, %k: tensor<i32>):
    %t = "stablehlo.compare"(%k, %n) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<32x32xf32>, %j: tensor<i32>):
    %v2 = "stablehlo.tanh"(%c) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = "stablehlo.exponential"(%v2) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = "stablehlo.tanh"(%v3) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "stablehlo.return"(%v4, %j) : (tensor<32x32xf32>, tensor<i32>) -> ()
  }) : (tensor<32x32xf32>, tensor<i32>) -> (tensor<32x32xf32>, tensor<i32>)
  %v5 = "stablehlo.dot"(%r#0, %r#0) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v5 : tensor<32x32xf32>
}

// b -> loop [gWC] -> c: the carry is in f32, with casts in the body.
// CHECK-LABEL: func.func @rule_5(
// CHECK: "stablehlo.exponential"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: "stablehlo.while"
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf32>, %{{.*}}: tensor<i32>):
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf32>, %{{.*}}: tensor<i32>):
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.return"({{.*}} : (tensor<32x32xf32>, tensor<i32>)
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: return
func.func @rule_5(%x: tensor<32x32xf32>, %n: tensor<i32>) -> tensor<32x32xf32> {
  %v1 = "stablehlo.exponential"(%x) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %r:2 = "stablehlo.while"(%v1, %n) ({
  ^bb0(%p: tensor<32x32xf32>, %k: tensor<i32>):
    %t = "stablehlo.compare"(%k, %n) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<32x32xf32>, %j: tensor<i32>):
    %v2 = "stablehlo.tanh"(%c) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = "stablehlo.dot"(%v2, %v2) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = "stablehlo.reverse"(%v3) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "stablehlo.return"(%v4, %j) : (tensor<32x32xf32>, tensor<i32>) -> ()
  }) : (tensor<32x32xf32>, tensor<i32>) -> (tensor<32x32xf32>, tensor<i32>)
  %v5 = "stablehlo.reverse"(%r#0) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v5 : tensor<32x32xf32>
}

// b -> loop [CWCG] -> C: the carry is low after an entry in f32, since a contraction follows G the next time round.
// CHECK-LABEL: func.func @rule_6(
// CHECK: "stablehlo.exponential"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: "stablehlo.while"
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.return"({{.*}} : (tensor<32x32xf16>, tensor<i32>)
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_6(%x: tensor<32x32xf32>, %n: tensor<i32>) -> tensor<32x32xf32> {
  %v1 = "stablehlo.exponential"(%x) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %r:2 = "stablehlo.while"(%v1, %n) ({
  ^bb0(%p: tensor<32x32xf32>, %k: tensor<i32>):
    %t = "stablehlo.compare"(%k, %n) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<32x32xf32>, %j: tensor<i32>):
    %v2 = "stablehlo.reverse"(%c) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = "stablehlo.dot"(%v2, %v2) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = "stablehlo.reverse"(%v3) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v5 = "stablehlo.tanh"(%v4) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "stablehlo.return"(%v5, %j) : (tensor<32x32xf32>, tensor<i32>) -> ()
  }) : (tensor<32x32xf32>, tensor<i32>) -> (tensor<32x32xf32>, tensor<i32>)
  %v6 = "stablehlo.reverse"(%r#0) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v6 : tensor<32x32xf32>
}

// W -> loop [GWG] -> C: G follows a contraction, and a contraction follows it.
// CHECK-LABEL: func.func @rule_7(
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.while"
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.return"({{.*}} : (tensor<32x32xf16>, tensor<i32>)
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: return
func.func @rule_7(%x: tensor<32x32xf32>, %n: tensor<i32>) -> tensor<32x32xf32> {
  %v1 = "stablehlo.dot"(%x, %x) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r:2 = "stablehlo.while"(%v1, %n) ({
  ^bb0(%p: tensor<32x32xf32>, %k: tensor<i32>):
    %t = "stablehlo.compare"(%k, %n) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<32x32xf32>, %j: tensor<i32>):
    %v2 = "stablehlo.tanh"(%c) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = "stablehlo.dot"(%v2, %v2) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = "stablehlo.tanh"(%v3) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "stablehlo.return"(%v4, %j) : (tensor<32x32xf32>, tensor<i32>) -> ()
  }) : (tensor<32x32xf32>, tensor<i32>) -> (tensor<32x32xf32>, tensor<i32>)
  %v5 = "stablehlo.reverse"(%r#0) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v5 : tensor<32x32xf32>
}

// W -> loop [CgbgWC] -> g: the carry is low though what is in the middle is not.
// CHECK-LABEL: func.func @rule_8(
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.while"
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: ^bb0(%{{.*}}: tensor<32x32xf16>, %{{.*}}: tensor<i32>):
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: "stablehlo.exponential"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: "stablehlo.dot"({{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.reverse"({{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK: "stablehlo.return"({{.*}} : (tensor<32x32xf16>, tensor<i32>)
// CHECK: "stablehlo.tanh"({{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: return
func.func @rule_8(%x: tensor<32x32xf32>, %n: tensor<i32>) -> tensor<32x32xf32> {
  %v1 = "stablehlo.dot"(%x, %x) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r:2 = "stablehlo.while"(%v1, %n) ({
  ^bb0(%p: tensor<32x32xf32>, %k: tensor<i32>):
    %t = "stablehlo.compare"(%k, %n) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<32x32xf32>, %j: tensor<i32>):
    %v2 = "stablehlo.reverse"(%c) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v3 = "stablehlo.tanh"(%v2) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v4 = "stablehlo.exponential"(%v3) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v5 = "stablehlo.tanh"(%v4) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %v6 = "stablehlo.dot"(%v5, %v5) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %v7 = "stablehlo.reverse"(%v6) {dimensions = array<i64: 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "stablehlo.return"(%v7, %j) : (tensor<32x32xf32>, tensor<i32>) -> ()
  }) : (tensor<32x32xf32>, tensor<i32>) -> (tensor<32x32xf32>, tensor<i32>)
  %v8 = "stablehlo.tanh"(%r#0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %v8 : tensor<32x32xf32>
}
