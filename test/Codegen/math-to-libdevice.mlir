// What mpt-approximate-math leaves is libdevice's, lane by lane; what LLVM has code for stays.
// RUN: mpt-opt %s --pass-pipeline='builtin.module(gpu.module(mpt-math-to-libdevice))' | FileCheck %s

// CHECK: gpu.module @device {
// CHECK-DAG: llvm.func @__nv_pow(f64, f64) -> f64
// CHECK-DAG: llvm.func @__nv_powf(f32, f32) -> f32
gpu.module @device {
  // CHECK-LABEL: llvm.func @kernel(
  // CHECK: llvm.call @__nv_pow(
  // CHECK-COUNT-2: llvm.call @__nv_powf(
  // CHECK-NOT: llvm.call
  // CHECK: math.sqrt
  // CHECK: math.absf
  llvm.func @kernel(%x: f64, %v: vector<2xf32>, %p: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %a = math.powf %x, %x : f64
    %b = math.powf %v, %v : vector<2xf32>
    %c = math.sqrt %x : f64
    %d = math.absf %x : f64
    llvm.store %a, %p : f64, !llvm.ptr<1>
    llvm.store %b, %p : vector<2xf32>, !llvm.ptr<1>
    llvm.store %c, %p : f64, !llvm.ptr<1>
    llvm.store %d, %p : f64, !llvm.ptr<1>
    llvm.return
  }
}
