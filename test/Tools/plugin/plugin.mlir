// The dialect and the passes run inside stock mlir-opt.
// Stock mlir-opt does not bring the sanitizers' runtime.
// UNSUPPORTED: sanitizer
// RUN: %llvm_tools_dir/mlir-opt %s --load-dialect-plugin=%mpt_lib_dir/MPTPlugin.so \
// RUN:   --pass-pipeline='builtin.module(mpt-autocast{type=bf16})' | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK: mpt.matmul {{.*}} : (tensor<4x8xbf16>, tensor<8x2xbf16>)
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = mpt.matmul %a, %b : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
