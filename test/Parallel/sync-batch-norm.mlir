// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=4 batch-norm=synchronized" --cse | FileCheck %s
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=4 batch-norm=own" --cse | FileCheck %s --check-prefix=OWN
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=4 batch-norm=synchronized" --mpt-train-step --mpt-autocast="type=bf16" --mpt-decompose --mpt-fuse-kernels --mpt-assign-buffers -o %t.mlir

// A rank's own statistics, and those of all: of the mean's variance, too.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[RM:[a-z0-9_]+]]: tensor<6xf32> {mpt.name = "rm"
// CHECK: %[[X:[0-9]+]] = mpt.matmul
// CHECK: %{{.*}}, %[[M:[a-z_]+]], %[[V:[a-z_]+]], %{{.*}}, %{{.*}} = mpt.batch_norm %[[X]], {{.*}} {momentum = 1.000000e+00 : f64
// CHECK: mpt.mul %[[V]], {{.*}}mpt.precision = "f32"
// CHECK: %[[ALL:[0-9]+]]:2 = mpt.all_gather %{{.*}}, %{{.*}} {axis = "data", mpt.precision = "f32"} : (tensor<1x6xf32>, tensor<1x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
// CHECK: %[[MEAN:[0-9]+]] = mpt.reduce %[[ALL]]#0 {{.*}}kind = #mpt.reduce_kind<mean>
// CHECK: mpt.sub %[[ALL]]#0, %[[MEAN]]
// CHECK: %[[VAR:[0-9]+]] = mpt.add
// CHECK: %[[RSTD:[0-9]+]] = mpt.rsqrt
// Updated once.
// CHECK: mpt.mul %[[RM]],
// CHECK-NOT: mpt.mul %[[RM]],
// CHECK: mpt.batch_norm_inference %[[X]], %{{.*}}, %{{.*}}, %[[MEAN]], %[[VAR]] :
// Backward, the sums of all rows.
// CHECK: %{{.*}}, %[[DG:[a-z]+]], %[[DB:[a-z]+]] = mpt.batch_norm_grad %{{.*}}, %[[X]], %{{.*}}, %[[MEAN]], %[[RSTD]]
// CHECK: mpt.all_reduce %[[DB]], %[[DG]] {axis = "data", kind = #mpt.collective_kind<mean>, mpt.precision = "f32"}
// CHECK: mpt.batch_norm_inference %[[X]], %{{.*}}, %{{.*}}, %[[MEAN]], %[[VAR]] {mpt.precision = "f32"}
// Gradients of gamma and beta are averaged as all others.
// CHECK: mpt.all_reduce {{.*}}%[[DG]]

// OWN-NOT: mpt.batch_norm_inference
// OWN: mpt.batch_norm
// OWN: mpt.batch_norm_grad
// OWN-NOT: mpt.batch_norm_inference
func.func @loss(
    %w: tensor<4x6xf32> {mpt.name = "w", mpt.role = "parameter"},
    %g: tensor<6xf32> {mpt.name = "g", mpt.role = "parameter"},
    %b: tensor<6xf32> {mpt.name = "b", mpt.role = "parameter"},
    %rm: tensor<6xf32> {mpt.name = "rm", mpt.role = "running_stat"},
    %rv: tensor<6xf32> {mpt.name = "rv", mpt.role = "running_stat"},
    %x: tensor<6x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<6xf32> {mpt.name = "rm", mpt.updates = "rm"},
        tensor<6xf32> {mpt.name = "rv", mpt.updates = "rv"}) {
  %0 = mpt.matmul %x, %w : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %1, %nm, %nv, %m, %r = mpt.batch_norm %0, %g, %b, %rm, %rv {momentum = 0.1 : f64}
      : (tensor<6x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
      -> (tensor<6x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  %2 = mpt.tanh %1 : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %l = mpt.reduce %2 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<6x6xf32>) -> tensor<f32>
  return %l, %nm, %nv : tensor<f32>, tensor<6xf32>, tensor<6xf32>
}
