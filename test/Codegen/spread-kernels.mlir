// RUN: mpt-opt %s --mpt-spread-kernels | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// 528 blocks, three of them side by side: 176 tasks of 47 rows.
// CHECK-LABEL: @columns
// CHECK: chunk_rows 47
func.func @columns(%x: tensor<8192x768xbf16>) -> tensor<768xf32> {
  %0 = "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<column>, domain = array<i64: 8192, 768>,
      chunk_rows = 128 : i64, operand_maps = [#id], result_maps = [#column]}> ({
  ^bb0(%a: bf16):
    %w = arith.extf %a : bf16 to f32
    %s = mpt_kernel.column_reduce <sum> %w : f32
    mpt_kernel.yield %s : f32
  }) : (tensor<8192x768xbf16>) -> tensor<768xf32>
  return %0 : tensor<768xf32>
}

// Few rows: two for each of a block's eight groups.
// CHECK-LABEL: @small
// CHECK: chunk_rows 16
func.func @small(%x: tensor<512x64xf32>) -> tensor<64xf32> {
  %0 = "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<column>, domain = array<i64: 512, 64>,
      chunk_rows = 512 : i64, operand_maps = [#id], result_maps = [#column]}> ({
  ^bb0(%a: f32):
    %s = mpt_kernel.column_reduce <sum> %a : f32
    mpt_kernel.yield %s : f32
  }) : (tensor<512x64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Rows do not depend on tasks, and a cut that is finer than that becomes coarser.
// CHECK-LABEL: @others
// CHECK: chunk_rows 40
// CHECK: chunk_rows 16 maps
func.func @others(%x: tensor<512x64xf32>) -> (tensor<512xf32>, tensor<64xf32>) {
  %0 = "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<row>, domain = array<i64: 512, 64>,
      chunk_rows = 40 : i64, operand_maps = [#id], result_maps = [affine_map<(d0, d1) -> (d0)>]}> ({
  ^bb0(%a: f32):
    %s = mpt_kernel.row_reduce <sum> %a : f32
    mpt_kernel.yield %s : f32
  }) : (tensor<512x64xf32>) -> tensor<512xf32>
  %1 = "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<column>, domain = array<i64: 512, 64>,
      chunk_rows = 4 : i64, operand_maps = [#id], result_maps = [#column]}> ({
  ^bb0(%a: f32):
    %s = mpt_kernel.column_reduce <sum> %a : f32
    mpt_kernel.yield %s : f32
  }) : (tensor<512x64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<512xf32>, tensor<64xf32>
}
