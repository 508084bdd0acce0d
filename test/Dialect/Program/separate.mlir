// Values of a small step for GPUs have memory of their own, so that what is independent may
// run at once; those that take the place of an operand stay there.
// RUN: mpt-opt %s --mpt-assign-buffers="function=small target='cuda sm_90' separate" | FileCheck %s --check-prefix=APART
// RUN: mpt-opt %s --mpt-assign-buffers="function=small target='cuda sm_90'" | FileCheck %s --check-prefix=SHARED
// RUN: mpt-opt %s --mpt-assign-buffers="function=large target='cuda sm_90' separate" | FileCheck %s --check-prefix=LARGE
// RUN: mpt-opt %s --mpt-assign-buffers="function=budget target='cuda sm_90' separate" | FileCheck %s --check-prefix=BUDGET

// Two chains of two values of 4,096 bytes, which otherwise need three places.
// APART: mpt_program.program @small attributes {arena_bytes = 16384 : i64
// SHARED: mpt_program.program @small attributes {arena_bytes = 12288 : i64
func.func @small(%x: tensor<32x32xf32> {mpt.name = "x", mpt.role = "input"},
    %w: tensor<32x32xf32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<32x32xf32> {mpt.name = "y"}) {
  %a = mpt.matmul %x, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %b = mpt.matmul %a, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c = mpt.matmul %w, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %d = mpt.matmul %c, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = mpt.matmul %b, %d : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
// Four times 4 MiB.
// LARGE: mpt_program.program @large attributes {arena_bytes = 12582912 : i64
func.func @large(%x: tensor<1024x1024xf32> {mpt.name = "x", mpt.role = "input"},
    %w: tensor<1024x1024xf32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<1024x1024xf32> {mpt.name = "y"}) {
  %a = mpt.matmul %x, %w : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b = mpt.matmul %a, %w : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %c = mpt.matmul %w, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %d = mpt.matmul %c, %w : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = mpt.matmul %b, %d : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %y : tensor<1024x1024xf32>
}
// BUDGET: mpt_program.program @budget attributes {arena_bytes = 12288 : i64
func.func @budget(%x: tensor<32x32xf32> {mpt.name = "x", mpt.role = "input"},
    %w: tensor<32x32xf32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<32x32xf32> {mpt.name = "y"}) attributes {mpt.memory_budget = "20000"} {
  %a = mpt.matmul %x, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %b = mpt.matmul %a, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c = mpt.matmul %w, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %d = mpt.matmul %c, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = mpt.matmul %b, %d : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
