// At a single point [1] and [] are one layout, so that a new value finds the old one's place: the
// update of a parameter of one element is not copied there afterwards.
// RUN: mpt-opt %s --mpt-fuse-kernels | FileCheck %s
// RUN: mpt-opt %s --mpt-plan-step | FileCheck %s --check-prefix=PLAN

// CHECK: #[[MAP:.*]] = affine_map<(d0) -> ()>
// CHECK: mpt_kernel.kernel <pointwise>{{.*}} domain [1] {{.*}} maps [#[[MAP]], #[[MAP]], #[[MAP]]] -> [#[[MAP]]]
// PLAN: mpt_program.launch
// PLAN-NOT: mpt_program.copy
func.func @step(%w: tensor<1xf32> {mpt.name = "w", mpt.role = "parameter"}, %g: tensor<1xf32> {mpt.name = "g", mpt.role = "input"}, %lr: tensor<f32> {mpt.name = "lr", mpt.role = "input"}) -> (tensor<1xf32> {mpt.name = "w2", mpt.updates = "w"}) {
  %scaled = mpt.mul %g, %lr : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %new = mpt.sub %w, %scaled : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %new : tensor<1xf32>
}
