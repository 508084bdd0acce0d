// Kernels as loops over vectors, the first stage for the CPU: tasks, rows of a task, 16
// lanes, and a masked tail.
// RUN: mpt-opt %s --mpt-convert-kernels-to-vector | FileCheck %s

// CHECK-LABEL: func.func @scale(
// CHECK-SAME: %[[BUFFERS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// The operands' pointers, and the result's.
// CHECK: %[[A0:.*]] = llvm.getelementptr %[[BUFFERS]][0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK-NEXT: %[[A:.*]] = llvm.load %[[A0]]
// CHECK: %[[B0:.*]] = llvm.getelementptr %[[BUFFERS]][1]
// CHECK-NEXT: %[[B:.*]] = llvm.load %[[B0]]
// CHECK: %[[R0:.*]] = llvm.getelementptr %[[BUFFERS]][2]
// CHECK-NEXT: %[[R:.*]] = llvm.load %[[R0]]
// CHECK: scf.for %[[TASK:.*]] = %[[BEGIN]] to %[[END]]
// Rows [2 task, min(2 task + 2, 4)).
// CHECK: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[TASK]], %[[TWO]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[FIRST]], %[[TWO]]
// CHECK-NEXT: %[[ROWS:.*]] = arith.constant 4 : i64
// CHECK-NEXT: %[[LAST:.*]] = arith.minsi %[[NEXT]], %[[ROWS]]
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK: scf.for
// CHECK: %[[BV:.*]] = llvm.load {{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[A]][
// CHECK-NEXT: %[[AV:.*]] = llvm.load %[[AT]] {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[AV]], %[[BV]] : vector<16xf32>
// CHECK: %[[RT:.*]] = llvm.getelementptr %[[R]][
// CHECK-NEXT: llvm.store %[[P]], %[[RT]] {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
// Rows of 20 have a tail of 4.
// CHECK: %[[MASK:.*]] = arith.constant dense<[true, true, true, true, false, {{.*}}]> : vector<16xi1>
// CHECK-COUNT-2: llvm.intr.masked.load {{.*}}, %[[MASK]],
// CHECK: %[[PRODUCTS:.*]] = arith.mulf {{.*}} : vector<16xf32>
// It is stored without a mask.
// CHECK: %[[BITS:.*]] = vector.bitcast %[[PRODUCTS]] : vector<16xf32> to vector<16xi32>
// CHECK-NEXT: %[[FOUR:.*]] = vector.extract_strided_slice %[[BITS]] {offsets = [0], sizes = [4]
// CHECK: llvm.store %[[FOUR]], {{.*}} : vector<4xi32>
// CHECK-NOT: masked.store
// CHECK: return
"mpt_kernel.func"() <{sym_name = "scale", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 4, 20>, chunk_rows = 2 : i64,
    function_type = (tensor<4x20xf32>, tensor<20xf32>) -> tensor<4x20xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32, %b: f32):
  %r = arith.mulf %a, %b : f32
  mpt_kernel.yield %r : f32
}) : () -> ()

// 16 partial sums, then a tree over the lanes: 8, 4, 2, 1.
// CHECK-LABEL: func.func @row(
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[ZERO]]) -> (vector<16xf32>)
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK-NEXT: %[[ADDED:.*]] = arith.addf %[[SUM]], %[[X]]
// CHECK-NEXT: scf.yield %[[ADDED]]
// CHECK: vector.extract_strided_slice %[[SUMS]] {offsets = [0], sizes = [8]
// CHECK-NEXT: vector.extract_strided_slice %[[SUMS]] {offsets = [8], sizes = [8]
// CHECK-NEXT: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: %[[ONE:.*]] = arith.addf {{.*}} : vector<1xf32>
// CHECK-NEXT: %[[TOTAL:.*]] = vector.extract %[[ONE]][0]
// CHECK: llvm.store %[[TOTAL]], {{.*}} : f32, !llvm.ptr
"mpt_kernel.func"() <{sym_name = "row", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 32>, chunk_rows = 2 : i64,
    function_type = (tensor<4x32xf32>) -> tensor<4xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i)>]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.row_reduce <sum> %a : f32
  mpt_kernel.yield %s : f32
}) : () -> ()

// The first stage: each task adds its rows into its own partial sums, which it clears.
// CHECK-LABEL: func.func @column(
// CHECK: %[[P0:.*]] = llvm.getelementptr %{{.*}}[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK-NEXT: %[[P:.*]] = llvm.load %[[P0]]
// CHECK: scf.for %[[TASK:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[CLEARED:.*]] = llvm.getelementptr %[[P]][
// CHECK: llvm.store %{{.*}}, %[[CLEARED]] : f32, !llvm.ptr
// CHECK: llvm.load {{.*}} -> vector<16xi16>
// CHECK: %[[WIDE:.*]] = arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[P]][
// CHECK-NEXT: %[[OLD:.*]] = llvm.load %[[PLACE]]
// CHECK-NEXT: %[[NEW:.*]] = arith.addf %[[OLD]], %[[WIDE]]
// CHECK-NEXT: llvm.store %[[NEW]], %[[PLACE]]
// The second: the sums of both tasks, in their order.
// CHECK-LABEL: func.func @column_combine(
// CHECK: scf.for
// CHECK: %[[TASKS:.*]] = arith.constant 2 : i64
// CHECK: %[[ALL:.*]] = scf.for %{{.*}} = %{{.*}} to %[[TASKS]] step {{.*}} iter_args
// CHECK: arith.addf
// CHECK: llvm.store %[[ALL]]
// CHECK-NOT: mpt_kernel
"mpt_kernel.func"() <{sym_name = "column", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 4, 16>, chunk_rows = 2 : i64,
    function_type = (tensor<4x16xbf16>) -> tensor<16xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (j)>]}> ({
^bb0(%a: bf16):
  %w = arith.extf %a : bf16 to f32
  %s = mpt_kernel.column_reduce <sum> %w : f32
  mpt_kernel.yield %s : f32
}) : () -> ()

// Sums over many rows grow by blocks of 32 rows, whose sums are then added to the task's.
// Maxima need none.
// CHECK-LABEL: func.func @column_blocks(
// CHECK: %[[BLOCK:.*]] = llvm.alloca %{{.*}} x f32 {alignment = 64 : i64}
// CHECK-NOT: llvm.alloca
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %[[LAST:.*]] step %c32_
// CHECK: llvm.store %{{.*}} : vector<16xf32>
// CHECK: %[[END:.*]] = arith.addi %[[ROW]], %{{.*}} : i64
// CHECK: %[[TO:.*]] = arith.minsi %[[END]], %[[LAST]]
// CHECK: scf.for %{{.*}} = %[[ROW]] to %[[TO]] step
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[BLOCK]][
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: llvm.store %[[SUM]]
// CHECK-LABEL: func.func @column_blocks_combine(
"mpt_kernel.func"() <{sym_name = "column_blocks", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 128, 16>, chunk_rows = 64 : i64,
    function_type = (tensor<128x16xf32>) -> (tensor<16xf32>, tensor<16xf32>),
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.column_reduce <sum> %a : f32
  %m = mpt_kernel.column_reduce <max> %a : f32
  mpt_kernel.yield %s, %m : f32, f32
}) : () -> ()

// What the walk for the sum computes is kept for the walk that stores: one exponential for
// each element.
// CHECK-LABEL: func.func @kept(
// CHECK: %[[ROW:.*]] = llvm.alloca {{.*}} x f32
// CHECK: scf.for %[[AT:.*]] = %{{.*}} iter_args
// CHECK: %[[EXP:.*]] = math.exp %{{.*}} : vector<16xf32>
// CHECK: %[[TO:.*]] = llvm.getelementptr %[[ROW]][%[[AT]]]
// CHECK: llvm.store %[[EXP]], %[[TO]]
// CHECK: scf.yield
// The tail is kept as a whole vector, too: a load of one would wait for a store of fewer lanes.
// CHECK: %[[LAST:.*]] = math.exp %{{.*}} : vector<16xf32>
// CHECK: llvm.store %[[LAST]]
// CHECK-NOT: math.exp
// CHECK: scf.for %[[AGAIN:.*]] = %{{.*}}
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[ROW]][%[[AGAIN]]]
// CHECK: llvm.load %[[FROM]] {{.*}} -> vector<16xf32>
// CHECK: arith.divf
// CHECK-NOT: math.exp
// CHECK: %[[FROM_LAST:.*]] = llvm.getelementptr %[[ROW]][
// CHECK: llvm.load %[[FROM_LAST]] {{.*}} -> vector<16xf32>
// CHECK: arith.divf
// CHECK: llvm.store {{.*}} : vector<8xi32>
"mpt_kernel.func"() <{sym_name = "kept", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 40>, chunk_rows = 2 : i64,
    function_type = (tensor<4x40xf32>) -> tensor<4x40xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %e = math.exp %a : f32
  %s = mpt_kernel.row_reduce <sum> %e : f32
  %y = arith.divf %e, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// A product costs less than a store and a load.
// CHECK-LABEL: func.func @cheap(
// CHECK-NOT: llvm.alloca
// CHECK: return
"mpt_kernel.func"() <{sym_name = "cheap", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 32>, chunk_rows = 2 : i64,
    function_type = (tensor<4x32xf32>) -> tensor<4x32xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %e = arith.mulf %a, %a : f32
  %s = mpt_kernel.row_reduce <sum> %e : f32
  %y = arith.divf %e, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()
// A row that leaves the first-level cache: an exponential costs more than that, a quotient
// does not.
// CHECK-LABEL: func.func @long(
// CHECK: llvm.alloca {{.*}} x f32
// CHECK-NOT: llvm.alloca
// CHECK-COUNT-1: math.exp
// CHECK-NOT: math.exp
// CHECK: return
"mpt_kernel.func"() <{sym_name = "long", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 4112>, chunk_rows = 2 : i64,
    function_type = (tensor<4x4112xf32>) -> tensor<4x4112xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %e = math.exp %a : f32
  %s = mpt_kernel.row_reduce <sum> %e : f32
  %y = arith.divf %e, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// CHECK-LABEL: func.func @quotient(
// CHECK-NOT: llvm.alloca
// CHECK: return
"mpt_kernel.func"() <{sym_name = "quotient", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 4112>, chunk_rows = 2 : i64,
    function_type = (tensor<4x4112xf32>) -> tensor<4x4112xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %d = arith.divf %a, %a : f32
  %b = arith.addf %d, %a : f32
  %e = arith.addf %b, %a : f32
  %s = mpt_kernel.row_reduce <sum> %e : f32
  %y = arith.divf %e, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// CHECK-LABEL: func.func @short_quotient(
// CHECK: llvm.alloca {{.*}} x f32
// CHECK: return
"mpt_kernel.func"() <{sym_name = "short_quotient", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 512>, chunk_rows = 2 : i64,
    function_type = (tensor<4x512xf32>) -> tensor<4x512xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %d = arith.divf %a, %a : f32
  %b = arith.addf %d, %a : f32
  %e = arith.addf %b, %a : f32
  %s = mpt_kernel.row_reduce <sum> %e : f32
  %y = arith.divf %e, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// 256 KiB are the most.
// CHECK-LABEL: func.func @longest(
// CHECK-NOT: llvm.alloca
// CHECK: return
"mpt_kernel.func"() <{sym_name = "longest", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 65552>, chunk_rows = 2 : i64,
    function_type = (tensor<4x65552xf32>) -> tensor<4x65552xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %e = math.exp %a : f32
  %s = mpt_kernel.row_reduce <sum> %e : f32
  %y = arith.divf %e, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// The largest magnitude is that of the largest bits, also if it is NaN.
// CHECK-LABEL: func.func @magnitude(
// Of no elements it is minus infinity, as of other maxima.
// CHECK: %[[NONE:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK: %[[START:.*]] = arith.bitcast %[[NONE]] : vector<16xf32> to vector<16xi32>
// CHECK: scf.for {{.*}} = %[[START]]) -> (vector<16xi32>)
// CHECK: %[[ABS:.*]] = math.absf
// CHECK: %[[BITS:.*]] = arith.bitcast %[[ABS]] : vector<16xf32> to vector<16xi32>
// CHECK: arith.maxsi %{{.*}}, %[[BITS]] : vector<16xi32>
// CHECK: %[[MOST:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: llvm.store %[[MOST]]
"mpt_kernel.func"() <{sym_name = "magnitude", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 32>, chunk_rows = 2 : i64,
    function_type = (tensor<4x32xf32>) -> tensor<4xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i)>]}> ({
^bb0(%a: f32):
  %m = math.absf %a : f32
  %s = mpt_kernel.row_reduce <max> %m : f32
  mpt_kernel.yield %s : f32
}) : () -> ()

// While the last sum of a row of more than 16 KiB is taken the next row is fetched, once
// for each operand that lies in memory in the order of the walk. Numbers of columns are
// carried.
// CHECK-LABEL: func.func @next_row(
// CHECK: scf.for {{.*}} iter_args(
// CHECK-NOT: llvm.intr.prefetch
// CHECK: scf.yield
// CHECK: %[[STEPS:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi32>
// CHECK: %[[LANES:.*]] = arith.constant dense<16> : vector<16xi32>
// CHECK: scf.for {{.*}} iter_args(%{{[^ ]+}} = %{{[^ ]+}}, %[[COLUMNS:.*]] = %[[STEPS]]) -> (vector<16xf32>, vector<16xi32>)
// CHECK: arith.sitofp %[[COLUMNS]] : vector<16xi32> to vector<16xf32>
// CHECK: arith.subf
// CHECK: arith.muli
// CHECK-NEXT: arith.addi
// CHECK-NEXT: arith.addi
// CHECK-NEXT: %[[HERE:.*]] = llvm.getelementptr
// CHECK-NEXT: %[[ROW:.*]] = arith.constant 16384 : i64
// CHECK-NEXT: %[[NEXT:.*]] = llvm.getelementptr %[[HERE]][%[[ROW]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT: "llvm.intr.prefetch"(%[[NEXT]]) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// CHECK-NEXT: arith.addi %[[COLUMNS]], %[[LANES]] : vector<16xi32>
// CHECK-NOT: llvm.intr.prefetch
// CHECK: return
"mpt_kernel.func"() <{sym_name = "next_row", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 16384>, chunk_rows = 2 : i64,
    function_type = (tensor<4x16384xf32>, tensor<16384xf32>, tensor<16384x4xf32>) -> tensor<4x16384xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j, i)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32, %b: f32, %c: f32):
  %m = mpt_kernel.row_reduce <max> %a : f32
  %d = arith.subf %a, %m : f32
  %i = mpt_kernel.index 1 : i32
  %x = arith.sitofp %i : i32 to f32
  %e = arith.mulf %d, %x : f32
  %f = arith.addf %e, %b : f32
  %g = arith.addf %f, %c : f32
  %s = mpt_kernel.row_reduce <sum> %g : f32
  %y = arith.divf %g, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// A row of 16 KiB is fetched by the processor itself, two of more than 256 KiB do not fit
// the cache, and what one walk reads is read in order.
// CHECK-LABEL: func.func @short_rows(
// CHECK-NOT: llvm.intr.prefetch
"mpt_kernel.func"() <{sym_name = "short_rows", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 4095>, chunk_rows = 2 : i64,
    function_type = (tensor<4x4095xf32>) -> tensor<4x4095xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %m = mpt_kernel.row_reduce <max> %a : f32
  %d = arith.subf %a, %m : f32
  %s = mpt_kernel.row_reduce <sum> %d : f32
  %y = arith.divf %d, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()
// CHECK: func.func @long_rows(
// CHECK-NOT: llvm.intr.prefetch
"mpt_kernel.func"() <{sym_name = "long_rows", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 65552>, chunk_rows = 2 : i64,
    function_type = (tensor<4x65552xf32>) -> tensor<4x65552xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %m = mpt_kernel.row_reduce <max> %a : f32
  %d = arith.subf %a, %m : f32
  %s = mpt_kernel.row_reduce <sum> %d : f32
  %y = arith.divf %d, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()
// CHECK: func.func @one_walk(
// CHECK-NOT: llvm.intr.prefetch
// CHECK: return
"mpt_kernel.func"() <{sym_name = "one_walk", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 16384>, chunk_rows = 2 : i64,
    function_type = (tensor<4x16384xf32>) -> tensor<4xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i)>]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.row_reduce <sum> %a : f32
  mpt_kernel.yield %s : f32
}) : () -> ()

// Extremes of halves as they lie in memory are those of integers: 32 lanes, and the
// number of NaNs of one sign is taken away, or added, so that a NaN wins.
// CHECK-LABEL: func.func @half_extremes(
// CHECK: scf.for {{.*}} -> (vector<32xi16>, vector<32xi16>)
// CHECK: llvm.load {{.*}} -> vector<32xi16>
// CHECK-NOT: arith.extf
// CHECK: arith.shrsi
// CHECK: arith.xori
// CHECK: arith.constant dense<-127> : vector<32xi16>
// CHECK: arith.maxsi {{.*}} : vector<32xi16>
// CHECK: arith.constant dense<127> : vector<32xi16>
// CHECK: arith.minsi {{.*}} : vector<32xi16>
// CHECK: scf.yield
// The number, or a NaN, of the best.
// CHECK: arith.cmpi sgt
// CHECK: arith.select
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: arith.cmpi slt
// CHECK: arith.select
// CHECK: arith.extf {{.*}} : bf16 to f32
"mpt_kernel.func"() <{sym_name = "half_extremes", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 70>, chunk_rows = 2 : i64,
    function_type = (tensor<4x70xbf16>) -> (tensor<4xf32>, tensor<4xf32>),
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]}> ({
^bb0(%a: bf16):
  %x = arith.extf %a : bf16 to f32
  %m = mpt_kernel.row_reduce <max> %x : f32
  %n = mpt_kernel.row_reduce <min> %x : f32
  mpt_kernel.yield %m, %n : f32, f32
}) : () -> ()

// Those of what is computed are of f32.
// CHECK-LABEL: func.func @computed_extremes(
// CHECK-NOT: arith.maxsi
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xi1>)
// CHECK-NOT: arith.maxsi
// CHECK: return
"mpt_kernel.func"() <{sym_name = "computed_extremes", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 70>, chunk_rows = 2 : i64,
    function_type = (tensor<4x70xbf16>) -> tensor<4xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i)>]}> ({
^bb0(%a: bf16):
  %x = arith.extf %a : bf16 to f32
  %d = arith.addf %x, %x : f32
  %m = mpt_kernel.row_reduce <max> %d : f32
  mpt_kernel.yield %m : f32
}) : () -> ()

// A sum of what is zero but in the column that the row names is one load; no walk. A column
// that the row does not have gives zero.
// CHECK-LABEL: func.func @one_of_a_row(
// CHECK: %[[NAMED:.*]] = llvm.load {{.*}} -> i32
// CHECK: %[[COUNT:.*]] = arith.constant 40 : i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[NAMED]], %[[COUNT]]
// CHECK: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK: %[[PLACE:.*]] = arith.select %[[EXISTS]], %[[NAMED]], %[[NONE]]
// CHECK: %[[COLUMN:.*]] = arith.extui %[[PLACE]] : i32 to i64
// CHECK-NOT: scf.for
// CHECK: llvm.load {{.*}} -> vector<1xf32>
// CHECK: %[[VALUE:.*]] = vector.extract
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: arith.select %[[EXISTS]], %[[VALUE]], %[[ZERO]]
// CHECK-NOT: scf.for
// CHECK: return
"mpt_kernel.func"() <{sym_name = "one_of_a_row", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 40>, chunk_rows = 2 : i64,
    function_type = (tensor<4x40xf32>, tensor<4xi32>) -> tensor<4xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    result_maps = [affine_map<(i, j) -> (i)>]}> ({
^bb0(%a: f32, %t: i32):
  %i = mpt_kernel.index 1 : i32
  %is = arith.cmpi eq, %i, %t : i32
  %zero = arith.constant 0.0 : f32
  %x = arith.select %is, %a, %zero : f32
  %s = mpt_kernel.row_reduce <sum> %x : f32
  mpt_kernel.yield %s : f32
}) : () -> ()

// What is one elsewhere, and what all but one column add, is added up.
// CHECK-LABEL: func.func @all_but_one(
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>
// CHECK: return
"mpt_kernel.func"() <{sym_name = "all_but_one", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 40>, chunk_rows = 2 : i64,
    function_type = (tensor<4x40xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>),
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    result_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]}> ({
^bb0(%a: f32, %t: i32):
  %i = mpt_kernel.index 1 : i32
  %is = arith.cmpi eq, %i, %t : i32
  %isnot = arith.cmpi ne, %i, %t : i32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %x = arith.select %is, %a, %one : f32
  %y = arith.select %isnot, %a, %zero : f32
  %s = mpt_kernel.row_reduce <sum> %x : f32
  %r = mpt_kernel.row_reduce <sum> %y : f32
  mpt_kernel.yield %s, %r : f32, f32
}) : () -> ()
