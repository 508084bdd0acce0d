// What torch.func.functionalize makes of views follows its neighbours as they do.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16" | FileCheck %s

// CHECK-LABEL: func @views
// CHECK: %[[P:.*]] = "torch.aten.mm"({{.*}} -> !torch.vtensor<[4,4],bf16>
// CHECK: %[[T:.*]] = "torch.aten.t_copy"(%[[P]]) : (!torch.vtensor<[4,4],bf16>) -> !torch.vtensor<[4,4],bf16>
// CHECK: %[[V:.*]] = "torch.aten.view_copy"(%[[T]], {{.*}} -> !torch.vtensor<[4,4],bf16>
// CHECK: "torch.aten.mm"(%[[V]], %[[P]])
func.func @views(%x: !torch.vtensor<[4,4],f32>, %y: !torch.vtensor<[4,4],f32>, %sizes: !torch.list<int>) -> !torch.vtensor<[4,4],f32> {
  %p = "torch.aten.mm"(%x, %y) : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  %t = "torch.aten.t_copy"(%p) : (!torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  %v = "torch.aten.view_copy"(%t, %sizes) : (!torch.vtensor<[4,4],f32>, !torch.list<int>) -> !torch.vtensor<[4,4],f32>
  %u = "torch.aten.mm"(%v, %p) : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  return %u : !torch.vtensor<[4,4],f32>
}

// Attention is low, but for the log-sum-exp that its gradient reads.
// CHECK-LABEL: func @attention
// CHECK: %[[Y:.*]]:2 = "torch.aten._scaled_dot_product_flash_attention_for_cpu"({{.*}} -> (!torch.vtensor<[1,2,8,16],bf16>, !torch.vtensor<[1,2,8],f32>)
// CHECK: "torch.aten._scaled_dot_product_flash_attention_for_cpu_backward"({{.*}}, %[[Y]]#0, %[[Y]]#1, {{.*}} -> (!torch.vtensor<[1,2,8,16],bf16>, !torch.vtensor<[1,2,8,16],bf16>, !torch.vtensor<[1,2,8,16],bf16>)
func.func @attention(%q: !torch.vtensor<[1,2,8,16],f32>, %dy: !torch.vtensor<[1,2,8,16],f32>) -> (!torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>) {
  %zero = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %none = "torch.constant.none"() : () -> !torch.none
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %y:2 = "torch.aten._scaled_dot_product_flash_attention_for_cpu"(%q, %q, %q, %zero, %true, %none, %none) : (!torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>, !torch.float, !torch.bool, !torch.none, !torch.none) -> (!torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8],f32>)
  %d:3 = "torch.aten._scaled_dot_product_flash_attention_for_cpu_backward"(%dy, %q, %q, %q, %y#0, %y#1, %zero, %true, %none, %none) : (!torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8],f32>, !torch.float, !torch.bool, !torch.none, !torch.none) -> (!torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>)
  return %y#0, %d#0 : !torch.vtensor<[1,2,8,16],f32>, !torch.vtensor<[1,2,8,16],f32>
}
