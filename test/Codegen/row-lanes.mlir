// Kernels that reduce strided rows, of which neighbours lie next to each other: a vector has
// an element of 16 rows, and the loop walks over the columns.
// RUN: mpt-opt %s --mpt-convert-kernels-to-vector | FileCheck %s

#nchw = affine_map<(i, j, k) -> (i, k, j)>
#nhwc = affine_map<(i, j, k) -> (i, j, k)>
#row = affine_map<(i, j, k) -> (i, j)>
#column = affine_map<(i, j, k) -> (k)>

// CHECK-LABEL: func.func @sums(
// Rows of one image, those of the task; the column's number is one for all lanes.
// CHECK: %[[SIZE:.*]] = arith.constant 35 : i64
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[SUM:.*]] = scf.for {{.*}} -> (vector<16xf32>)
// CHECK: %[[W:.*]] = llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: vector.broadcast %[[W]] : f32 to vector<16xf32>
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<16xf32>
// Columns are added in four parts, as the lanes of rows that lie otherwise are.
// CHECK: llvm.store %[[SUM]], {{.*}} : vector<16xf32>
// No sum goes across lanes: the parts are folded by halves, and 16 rows are stored at once.
// CHECK-NOT: vector.extract
// CHECK: %[[EVEN:.*]] = arith.addf {{.*}} : vector<16xf32>
// CHECK: %[[ODD:.*]] = arith.addf {{.*}} : vector<16xf32>
// CHECK: %[[ALL:.*]] = arith.addf %[[EVEN]], %[[ODD]] : vector<16xf32>
// CHECK: llvm.store %[[ALL]], {{.*}} : vector<16xf32>
// The rest of an image.
// CHECK: scf.if
// CHECK: %[[MASK:.*]] = arith.cmpi slt, {{.*}} : vector<16xi64>
// CHECK: llvm.intr.masked.load {{.*}}, %[[MASK]]
// CHECK: llvm.intr.masked.store {{.*}}, %[[MASK]]
"mpt_kernel.func"() <{sym_name = "sums", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 2, 35, 3>, chunk_rows = 40 : i64,
    function_type = (tensor<2x3x35xf32>, tensor<3xf32>) -> tensor<2x35xf32>,
    operand_maps = [#nchw, #column], result_maps = [#row]}> ({
^bb0(%x: f32, %w: f32):
  %p = arith.mulf %x, %w : f32
  %s = mpt_kernel.row_reduce <sum> %p : f32
  mpt_kernel.yield %s : f32
}) : () -> ()

// Rows whose elements lie next to each other are walked along the columns.
// CHECK-LABEL: func.func @plain(
// CHECK: vector.extract
"mpt_kernel.func"() <{sym_name = "plain", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 2, 35, 3>, chunk_rows = 40 : i64,
    function_type = (tensor<2x35x3xf32>) -> tensor<2x35xf32>,
    operand_maps = [#nhwc], result_maps = [#row]}> ({
^bb0(%x: f32):
  %s = mpt_kernel.row_reduce <sum> %x : f32
  mpt_kernel.yield %s : f32
}) : () -> ()

// So are those whose columns are summed.
// CHECK-LABEL: func.func @columns(
// CHECK: vector.extract
"mpt_kernel.func"() <{sym_name = "columns", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 2, 35, 3>, chunk_rows = 40 : i64,
    function_type = (tensor<2x3x35xf32>) -> (tensor<2x35xf32>, tensor<3xf32>),
    operand_maps = [#nchw], result_maps = [#row, #column]}> ({
^bb0(%x: f32):
  %s = mpt_kernel.row_reduce <sum> %x : f32
  %c = mpt_kernel.column_reduce <sum> %x : f32
  mpt_kernel.yield %s, %c : f32, f32
}) : () -> ()
