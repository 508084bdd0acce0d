// RUN: mpt-opt %s --split-input-file --mpt-autodiff --mpt-data-parallel="size=2" | FileCheck %s

// Each rank gives 0.1 of its own statistics, with running ones of zero; every rank adds
// both in the order of the ranks. The input is normalized with the rank's own.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[RM:[^:]*]]: tensor<3xf32> {mpt.name = "mean"
// CHECK-SAME: %[[RV:[^:]*]]: tensor<3xf32> {mpt.name = "var"
// CHECK: %[[NONE:.*]] = mpt.constant dense<-0.000000e+00> : tensor<3xf32>
// CHECK: mpt.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %[[NONE]], %{{.*}} :
// CHECK: %[[ALL:.*]]:2 = mpt.all_gather %{{.*}}, %{{.*}} {axis = "data", mpt.precision = "f32"} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<6xf32>, tensor<6xf32>)
// CHECK-DAG: %[[M0:.*]] = mpt.slice %[[ALL]]#{{.}} {offsets = array<i64: 0>, sizes = array<i64: 3>
// CHECK-DAG: %[[KEPT0:.*]] = mpt.mul %[[RM]], %{{.*}} : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-DAG: %[[RM1:.*]] = mpt.add %[[KEPT0]], %{{.*}}
// CHECK-DAG: mpt.slice %[[ALL]]#{{.}} {offsets = array<i64: 3>, sizes = array<i64: 3>
// CHECK-DAG: %[[KEPT1:.*]] = mpt.mul %[[RM1]]
// CHECK-DAG: %[[RM2:.*]] = mpt.add %[[KEPT1]]
// CHECK: mpt.gradients
// CHECK: return %{{.*}}, %[[RM2]],
func.func @loss(%w: tensor<3xf32> {mpt.name = "w", mpt.role = "parameter"},
                %b: tensor<3xf32> {mpt.name = "b", mpt.role = "parameter"},
                %rm: tensor<3xf32> {mpt.name = "mean", mpt.role = "running_stat"},
                %rv: tensor<3xf32> {mpt.name = "var", mpt.role = "running_stat"},
                %x: tensor<8x3xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<3xf32> {mpt.name = "mean", mpt.updates = "mean"},
        tensor<3xf32> {mpt.name = "var", mpt.updates = "var"}) {
  %y, %nm, %nv, %m, %r = mpt.batch_norm %x, %w, %b, %rm, %rv {momentum = 0.1 : f64}
      : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %t = mpt.tanh %y : (tensor<8x3xf32>) -> tensor<8x3xf32>
  %l = mpt.reduce %t {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  return %l, %nm, %nv : tensor<f32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// A count of micro-batches needs no exchange; what only data gives is the last rank's; an
// argument that is handed on stays.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[N:[^:]*]]: tensor<i64> {mpt.name = "n"
// CHECK-SAME: %[[KEEP:[^:]*]]: tensor<f32> {mpt.name = "keep"
// CHECK: %[[ALL:.*]] = mpt.all_gather %{{.*}} {axis = "data", mpt.precision = "f32"} : (tensor<1xf32>) -> tensor<2xf32>
// CHECK: mpt.slice %[[ALL]] {offsets = array<i64: 0>
// CHECK: %[[N1:.*]] = mpt.add %[[N]], %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK: %[[LAST:.*]] = mpt.slice %[[ALL]] {offsets = array<i64: 1>
// CHECK: %[[SCALAR:.*]] = mpt.reshape %[[LAST]]
// CHECK: %[[N2:.*]] = mpt.add %[[N1]], %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK: return %{{.*}}, %[[N2]], %[[SCALAR]], %[[KEEP]], %{{.*}}
func.func @loss(%w: tensor<3xf32> {mpt.name = "w", mpt.role = "parameter"},
                %n: tensor<i64> {mpt.name = "n", mpt.role = "running_stat"},
                %last: tensor<f32> {mpt.name = "last", mpt.role = "running_stat"},
                %keep: tensor<f32> {mpt.name = "keep", mpt.role = "running_stat"},
                %x: tensor<8x3xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<i64> {mpt.name = "n", mpt.updates = "n"},
        tensor<f32> {mpt.name = "last", mpt.updates = "last"},
        tensor<f32> {mpt.name = "keep", mpt.updates = "keep"}) {
  %one = mpt.constant dense<1> : tensor<i64>
  %n1 = mpt.add %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %y = mpt.mul %x, %w : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  return %l, %n1, %l, %keep : tensor<f32>, tensor<i64>, tensor<f32>, tensor<f32>
}
