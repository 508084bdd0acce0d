// Batch normalization with running statistics that an earlier call of the graph has moved: they
// have no gradient, as PyTorch's buffers have none. Those of an argument stay as they are.
// RUN: mpt-opt %s --allow-unregistered-dialect --split-input-file --mpt-convert-torch --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @moved
// CHECK: mpt.batch_norm %
// CHECK-DAG: %[[MEAN:.*]] = mpt.stop_gradient %new_mean
// CHECK-DAG: %[[VAR:.*]] = mpt.stop_gradient %new_var
// CHECK: mpt.batch_norm_inference %{{.*}}, %{{.*}}, %{{.*}}, %[[MEAN]], %[[VAR]]
func.func @moved(%x: !torch.vtensor<[4,3],f32>, %g: !torch.vtensor<[3],f32>, %b: !torch.vtensor<[3],f32>,
                 %mean: !torch.vtensor<[3],f32>, %var: !torch.vtensor<[3],f32>) -> !torch.vtensor<[4,3],f32> {
  %true = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  %false = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %f = "torch.constant.float"() <{value = 1.0e-01 : f64}> : () -> !torch.float
  %n:5 = "torch.aten._native_batch_norm_legit_functional"(%x, %g, %b, %mean, %var, %true, %f, %f) : (!torch.vtensor<[4,3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.bool, !torch.float, !torch.float) -> (!torch.vtensor<[4,3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>)
  %m:5 = "torch.aten._native_batch_norm_legit_functional"(%n#0, %g, %b, %n#3, %n#4, %false, %f, %f) : (!torch.vtensor<[4,3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.bool, !torch.float, !torch.float) -> (!torch.vtensor<[4,3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>)
  return %m#0 : !torch.vtensor<[4,3],f32>
}

// -----

// CHECK-LABEL: func.func @given
// CHECK-NOT: mpt.stop_gradient
// CHECK: mpt.batch_norm_inference %arg0, %arg1, %arg2, %arg3, %arg4
// CHECK-NOT: mpt.stop_gradient
func.func @given(%x: !torch.vtensor<[4,3],f32>, %g: !torch.vtensor<[3],f32>, %b: !torch.vtensor<[3],f32>,
                 %mean: !torch.vtensor<[3],f32>, %var: !torch.vtensor<[3],f32>) -> !torch.vtensor<[4,3],f32> {
  %false = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %f = "torch.constant.float"() <{value = 1.0e-01 : f64}> : () -> !torch.float
  %m:5 = "torch.aten._native_batch_norm_legit_functional"(%x, %g, %b, %mean, %var, %false, %f, %f) : (!torch.vtensor<[4,3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.bool, !torch.float, !torch.float) -> (!torch.vtensor<[4,3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>)
  return %m#0 : !torch.vtensor<[4,3],f32>
}
