// Where a processor has the registers of AVX-512, vectors that wait for their own results
// are computed four side by side, and those that are rounded to bf16 two.
// RUN: mpt-opt %s --mpt-convert-kernels-to-vector=avx512 | FileCheck %s
// RUN: mpt-opt %s --mpt-convert-kernels-to-vector | FileCheck %s --check-prefix=OTHERS --implicit-check-not='vector<{{32|64}}x'

// OTHERS-LABEL: func.func @exponential(
// OTHERS: math.exp {{.*}} : vector<16xf32>

// 117 columns: 64 lanes once, 32 once, a vector and a tail.
// CHECK-LABEL: func.func @exponential(
// CHECK: %[[FOUR:.*]] = arith.constant 64 : i64
// CHECK: scf.for {{.*}} to %[[FOUR]]
// CHECK: llvm.load {{.*}} -> vector<64xf32>
// CHECK: math.exp {{.*}} : vector<64xf32>
// CHECK: llvm.store {{.*}} : vector<64xf32>
// CHECK: %[[TWO:.*]] = arith.constant 96 : i64
// CHECK: scf.for {{.*}} = %[[FOUR]] to %[[TWO]]
// CHECK: math.exp {{.*}} : vector<32xf32>
// CHECK: %[[ONE:.*]] = arith.constant 112 : i64
// CHECK: scf.for {{.*}} = %[[TWO]] to %[[ONE]]
// CHECK: math.exp {{.*}} : vector<16xf32>
// CHECK: llvm.intr.masked.load
// CHECK: math.exp {{.*}} : vector<16xf32>
// CHECK: return
"mpt_kernel.func"() <{sym_name = "exponential", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 40, 117>, chunk_rows = 20 : i64,
    function_type = (tensor<40x117xf32>, tensor<117xf32>) -> tensor<40x117xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32, %b: f32):
  %x = arith.addf %a, %b : f32
  %y = math.exp %x : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// A task of a flat kernel has whole vectors of 64 and what is left.
// CHECK-LABEL: func.func @flat(
// CHECK: arith.remui
// CHECK: math.tanh {{.*}} : vector<64xf32>
// CHECK-NOT: vector<32xf32>
// CHECK: math.tanh {{.*}} : vector<16xf32>
// CHECK-NOT: vector<32xf32>
// CHECK: return
"mpt_kernel.func"() <{sym_name = "flat", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 4096>, chunk_rows = 1024 : i64,
    function_type = (tensor<4096xf32>) -> tensor<4096xf32>,
    operand_maps = [affine_map<(i) -> (i)>], result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%a: f32):
  %y = math.tanh %a : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// Reductions take the vectors one after the other, as they do without.
// CHECK-LABEL: func.func @softmax(
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xi1>)
// CHECK: llvm.load {{.*}} -> vector<64xf32>
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = {{.*}}) -> (vector<16xf32>)
// CHECK: %[[E:.*]] = math.exp {{.*}} : vector<64xf32>
// CHECK-NEXT: %[[P0:.*]] = vector.extract_strided_slice %[[E]] {offsets = [0], sizes = [16]
// CHECK-NEXT: %[[P1:.*]] = vector.extract_strided_slice %[[E]] {offsets = [16], sizes = [16]
// CHECK-NEXT: %[[P2:.*]] = vector.extract_strided_slice %[[E]] {offsets = [32], sizes = [16]
// CHECK-NEXT: %[[P3:.*]] = vector.extract_strided_slice %[[E]] {offsets = [48], sizes = [16]
// CHECK-NEXT: %[[S0:.*]] = arith.addf %[[SUM]], %[[P0]]
// CHECK-NEXT: %[[S1:.*]] = arith.addf %[[S0]], %[[P1]]
// CHECK-NEXT: %[[S2:.*]] = arith.addf %[[S1]], %[[P2]]
// CHECK-NEXT: %[[S3:.*]] = arith.addf %[[S2]], %[[P3]]
// CHECK: scf.yield %[[S3]]
// CHECK: return
"mpt_kernel.func"() <{sym_name = "softmax", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 80>, chunk_rows = 2 : i64,
    function_type = (tensor<4x80xf32>) -> tensor<4x80xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %m = mpt_kernel.row_reduce <max> %a : f32
  %d = arith.subf %a, %m : f32
  %e = math.exp %d : f32
  %s = mpt_kernel.row_reduce <sum> %e : f32
  %y = arith.divf %e, %s : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// What is rounded to bf16 is computed for two vectors before either is stored: 53 columns
// are such a pair, a vector and a tail.
// CHECK-LABEL: func.func @rounded(
// CHECK: arith.truncf {{.*}} : vector<32xf32> to vector<32xbf16>
// CHECK: llvm.store {{.*}} : vector<32xi16>
// CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: llvm.store {{.*}} : vector<16xi16>
// CHECK: llvm.store {{.*}} : vector<4xi16>
// CHECK: %[[REST:.*]] = vector.extract_strided_slice {{.*}} {offsets = [4], sizes = [1]
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %{{.*}}[4]
// CHECK: llvm.store %[[REST]], %[[PLACE]] {{.*}} : vector<1xi16>
"mpt_kernel.func"() <{sym_name = "rounded", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 4, 53>, chunk_rows = 2 : i64,
    function_type = (tensor<4x53xf32>) -> tensor<4x53xbf16>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %s = mpt_kernel.row_reduce <sum> %a : f32
  %d = arith.subf %a, %s : f32
  %y = arith.truncf %d : f32 to bf16
  mpt_kernel.yield %y : bf16
}) : () -> ()

// One op after another that a processor overlaps by itself; f64, of which a register has
// half as many; calls of the C library, lane by lane; and what is not side by side.
// CHECK-LABEL: func.func @short(
// CHECK-NOT: vector<{{32|64}}x
// CHECK: func.func @doubles(
// CHECK-NOT: vector<{{32|64}}x
// CHECK: func.func @calls(
// CHECK-NOT: vector<{{32|64}}x
// CHECK: func.func @strided(
// CHECK-NOT: vector<{{32|64}}x
// CHECK: return
"mpt_kernel.func"() <{sym_name = "short", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 40, 112>, chunk_rows = 20 : i64,
    function_type = (tensor<40x112xf32>, tensor<112xf32>) -> tensor<40x112xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32, %b: f32):
  %x = arith.addf %a, %b : f32
  %y = arith.mulf %x, %x : f32
  mpt_kernel.yield %y : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "doubles", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 4096>, chunk_rows = 1024 : i64,
    function_type = (tensor<4096xf64>) -> tensor<4096xf32>,
    operand_maps = [affine_map<(i) -> (i)>], result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%a: f64):
  %x = arith.truncf %a : f64 to f32
  %y = math.exp %x : f32
  mpt_kernel.yield %y : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "calls", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 4096>, chunk_rows = 1024 : i64,
    function_type = (tensor<4096xf32>) -> tensor<4096xf32>,
    operand_maps = [affine_map<(i) -> (i)>], result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%a: f32):
  %x = math.atan %a : f32
  %y = math.exp %x : f32
  mpt_kernel.yield %y : f32
}) : () -> ()
"mpt_kernel.func"() <{sym_name = "strided", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 40, 112>, chunk_rows = 20 : i64,
    function_type = (tensor<112x40xf32>) -> tensor<40x112xf32>,
    operand_maps = [affine_map<(i, j) -> (j, i)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: f32):
  %y = math.exp %a : f32
  mpt_kernel.yield %y : f32
}) : () -> ()

// Where lanes of 16 bits have no masks, the tail of 11 is loaded in whole vectors.
// CHECK-LABEL: func.func @tail_of_halves(
// CHECK-COUNT-2: llvm.intr.masked.load
// CHECK-NOT: vector.insert_strided_slice
// CHECK: return
// OTHERS-LABEL: func.func @tail_of_halves(
// OTHERS: llvm.intr.masked.load {{.*}} -> vector<16xf32>
// OTHERS: %[[ZEROS:.*]] = arith.constant dense<0> : vector<16xi16>
// OTHERS: %[[EIGHT:.*]] = llvm.load {{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<8xi16>
// OTHERS: %[[A:.*]] = vector.insert_strided_slice %[[EIGHT]], %[[ZEROS]] {offsets = [0]
// OTHERS: llvm.getelementptr {{.*}}[8]
// OTHERS: %[[TWO:.*]] = llvm.load {{.*}} -> vector<2xi16>
// OTHERS: %[[B:.*]] = vector.insert_strided_slice %[[TWO]], %[[A]] {offsets = [8]
// OTHERS: llvm.getelementptr {{.*}}[10]
// OTHERS: %[[ONE:.*]] = llvm.load {{.*}} -> vector<1xi16>
// OTHERS: vector.insert_strided_slice %[[ONE]], %[[B]] {offsets = [10]
// OTHERS: return
"mpt_kernel.func"() <{sym_name = "tail_of_halves", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 40, 11>, chunk_rows = 20 : i64,
    function_type = (tensor<40x12xbf16>, tensor<40x12xf32>) -> tensor<40x11xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: bf16, %b: f32):
  %x = arith.extf %a : bf16 to f32
  %y = arith.addf %x, %b : f32
  mpt_kernel.yield %y : f32
}) : () -> ()
