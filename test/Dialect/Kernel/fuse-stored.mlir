// Kernels that read or write f4E2M1FN or f8E8M0FNU keep their shapes: mpt.reshape takes neither.
// RUN: mpt-opt %s --mpt-plan-step --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_90'" --split-input-file | FileCheck %s

// CHECK-LABEL: mpt_program.program @narrow
// CHECK: mpt_kernel.func <pointwise> {{.*}} domain [2, 3, 8] {{.*}} : (tensor<2x3x8xf32>) -> tensor<2x3x8xf4E2M1FN>
func.func @narrow(%x: tensor<2x3x8xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<2x3x8xf4E2M1FN> {mpt.name = "y"}) {
  %y = mpt.cast %x : (tensor<2x3x8xf32>) -> tensor<2x3x8xf4E2M1FN>
  return %y : tensor<2x3x8xf4E2M1FN>
}

// -----

// CHECK-LABEL: mpt_program.program @widen
// CHECK: mpt_kernel.func <pointwise> {{.*}} : (tensor<6x8xf4E2M1FN>) -> tensor<6x8xf32>
func.func @widen(%x: tensor<6x8xf4E2M1FN> {mpt.name = "x", mpt.role = "input"}) -> (tensor<6x8xf32> {mpt.name = "y"}) {
  %y = mpt.cast %x : (tensor<6x8xf4E2M1FN>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// CHECK-LABEL: mpt_program.program @quantize
// CHECK: mpt_kernel.func <row> {{.*}} -> (tensor<8x32xf4E2M1FN>, tensor<8x1xf8E8M0FNU>)
func.func @quantize(%x: tensor<8x32xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<8x32xf4E2M1FN> {mpt.name = "q"}, tensor<8x1xf8E8M0FNU> {mpt.name = "s"}) {
  %q, %s = mpt.quantize %x {block = array<i64: 1, 32>, rule = #mpt.scale_rule<ocp_mx>} : (tensor<8x32xf32>) -> (tensor<8x32xf4E2M1FN>, tensor<8x1xf8E8M0FNU>)
  return %q, %s : tensor<8x32xf4E2M1FN>, tensor<8x1xf8E8M0FNU>
}

// -----

// CHECK-LABEL: mpt_program.program @dequantize
// CHECK: mpt_kernel.func <pointwise> {{.*}} : (tensor<8x1xf8E8M0FNU>, tensor<8x32xf4E2M1FN>) -> tensor<8x32xf32>
func.func @dequantize(%q: tensor<8x32xf4E2M1FN> {mpt.name = "q", mpt.role = "input"}, %s: tensor<8x1xf8E8M0FNU> {mpt.name = "s", mpt.role = "input"}) -> (tensor<8x32xf32> {mpt.name = "y"}) {
  %y = mpt.dequantize %q, %s {block = array<i64: 1, 32>} : (tensor<8x32xf4E2M1FN>, tensor<8x1xf8E8M0FNU>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Several blocks a row, which the block's scale is broadcast over.
// CHECK-LABEL: mpt_program.program @blocks
func.func @blocks(%x: tensor<8x40xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<8x40xf4E2M1FN> {mpt.name = "q"}, tensor<8x3xf8E8M0FNU> {mpt.name = "s"}) {
  %q, %s = mpt.quantize %x {block = array<i64: 1, 16>, rule = #mpt.scale_rule<ocp_mx>} : (tensor<8x40xf32>) -> (tensor<8x40xf4E2M1FN>, tensor<8x3xf8E8M0FNU>)
  return %q, %s : tensor<8x40xf4E2M1FN>, tensor<8x3xf8E8M0FNU>
}
