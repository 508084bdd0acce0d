// Device code of the three kinds of kernels. The output holds PTX as one string;
// sed breaks it into lines.

// DEFINE: %{chip} = sm_90
// DEFINE: %{ptx} = mpt-opt %s --mpt-kernels-to-gpu="chip=%{chip} format=isa math=exact" | sed 's/\\0A/\n/g; s/\\09/ /g'
// RUN: %{ptx} | FileCheck %s --implicit-check-not=.local --implicit-check-not=fma --implicit-check-not=approx
// REDEFINE: %{chip} = sm_80
// RUN: %{ptx} | FileCheck %s --implicit-check-not=.local --implicit-check-not=fma --implicit-check-not=approx
// REDEFINE: %{chip} = sm_100
// RUN: %{ptx} | FileCheck %s --implicit-check-not=.local --implicit-check-not=fma --implicit-check-not=approx

// One launch's threads are fixed, 16 bytes are read and written at once, bf16 and
// f16 are converted in pairs.
// CHECK-LABEL: .entry chain_bf16(
// CHECK: .maxntid 256
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-NOT: cvt.rn.bf16.f32
// CHECK-COUNT-4: cvt.rn.bf16x2.f32
// CHECK: st.global.v4.b32
"mpt_kernel.func"() <{sym_name = "chain_bf16", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 64, 128>, chunk_rows = 8 : i64,
    function_type = (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>,
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: bf16, %b: bf16):
  %x = arith.extf %a : bf16 to f32
  %y = arith.extf %b : bf16 to f32
  %z = arith.addf %x, %y : f32
  %w = arith.mulf %z, %y : f32
  %r = arith.truncf %w : f32 to bf16
  mpt_kernel.yield %r : bf16
}) : () -> ()

// 8 elements of f32 are two accesses. The tail of 1000 = 125 vectors needs none.
// CHECK-LABEL: .entry cast_f16(
// CHECK-COUNT-2: ld.global.v{{2.b64|4.b32}}
// CHECK-COUNT-4: cvt.rn.f16x2.f32
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global
"mpt_kernel.func"() <{sym_name = "cast_f16", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 1000>, chunk_rows = 1 : i64,
    function_type = (tensor<1000xf32>) -> tensor<1000xf16>,
    operand_maps = [affine_map<(i) -> (i)>], result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%a: f32):
  %r = arith.truncf %a : f32 to f16
  mpt_kernel.yield %r : f16
}) : () -> ()

// A row of 768 is a warp's; a thread reads its three vectors once, though two
// reductions need them.
// CHECK-LABEL: .entry normalize(
// CHECK: .maxntid 128
// CHECK-COUNT-3: ld.global.v4.b32
// CHECK-NOT: ld.global.v4
// CHECK-COUNT-10: shfl.sync.bfly.b32
// CHECK-NOT: shfl.sync
// CHECK-COUNT-3: st.global.v4.b32
"mpt_kernel.func"() <{sym_name = "normalize", kind = #mpt_kernel.kind<row>,
    domain = array<i64: 64, 768>, chunk_rows = 8 : i64,
    function_type = (tensor<64x768xbf16>) -> tensor<64x768xbf16>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: bf16):
  %x = arith.extf %a : bf16 to f32
  %mean = mpt_kernel.row_reduce <mean> %x : f32
  %c = arith.subf %x, %mean : f32
  %s = arith.mulf %c, %c : f32
  %var = mpt_kernel.row_reduce <mean> %s : f32
  %d = math.sqrt %var : f32
  %n = arith.divf %c, %d : f32
  %r = arith.truncf %n : f32 to bf16
  mpt_kernel.yield %r : bf16
}) : () -> ()

// Column sums: registers along the rows of a task, then shared memory, then one
// store; and a second function that adds the tasks.
// CHECK-LABEL: .entry bias_grad(
// CHECK: ld.global.v4.b32
// CHECK: st.shared.v{{2.b64|4.b32}}
// CHECK: bar{{.*}}.sync
// CHECK: ld.shared.v{{2.b64|4.b32}}
// CHECK: st.global.v{{2.b64|4.b32}}
// CHECK-LABEL: .entry bias_grad_combine(
// CHECK: add.rn.f32
// CHECK: st.global.b32
"mpt_kernel.func"() <{sym_name = "bias_grad", kind = #mpt_kernel.kind<column>,
    domain = array<i64: 4096, 768>, chunk_rows = 64 : i64,
    function_type = (tensor<4096x768xbf16>) -> tensor<768xf32>,
    operand_maps = [affine_map<(i, j) -> (i, j)>],
    result_maps = [affine_map<(i, j) -> (j)>]}> ({
^bb0(%a: bf16):
  %x = arith.extf %a : bf16 to f32
  %s = mpt_kernel.column_reduce <sum> %x : f32
  mpt_kernel.yield %s : f32
}) : () -> ()

// A thread takes eight rows, 16 apart, of a tile of 128: what they share is loaded before
// the loop, and mean * gamma computed there.
// CHECK-LABEL: .entry shared_by_rows(
// CHECK: .maxntid 256
// CHECK-COUNT-4: ld.global.v{{2.b64|4.b32}}
// CHECK-NOT: ld.global
// CHECK: mul.rn.f32
// CHECK: [[LOOP:\$L__BB[0-9_]+]]:
// CHECK-NEXT: ld.global.v4.b32
// CHECK-NOT: {{ld.global|mul.rn.f32}}
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: add.s64 {{.*}}, 16;
// CHECK: add.s64 {{.*}}, 4096;
// CHECK: bra [[LOOP]];
"mpt_kernel.func"() <{sym_name = "shared_by_rows", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 401400, 128>, chunk_rows = 64 : i64,
    function_type = (tensor<401400x128xbf16>, tensor<128xf32>, tensor<128xf32>) -> tensor<401400x128xbf16>,
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: bf16, %mean: f32, %gamma: f32):
  %x = arith.extf %a : bf16 to f32
  %s = arith.mulf %mean, %gamma : f32
  %y = arith.addf %x, %s : f32
  %r = arith.truncf %y : f32 to bf16
  mpt_kernel.yield %r : bf16
}) : () -> ()

// Too few rows to fill a chip with threads of several.
// CHECK-LABEL: .entry few_rows(
// CHECK: bra [[END:\$L__BB[0-9_]+]];
// CHECK-NOT: bra
// CHECK: st.global.v4.b32
// CHECK-NEXT: [[END]]:
// CHECK-NEXT: ret;
"mpt_kernel.func"() <{sym_name = "few_rows", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 16800, 128>, chunk_rows = 64 : i64,
    function_type = (tensor<16800x128xbf16>, tensor<128xf32>) -> tensor<16800x128xbf16>,
    operand_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
    result_maps = [affine_map<(i, j) -> (i, j)>]}> ({
^bb0(%a: bf16, %mean: f32):
  %x = arith.extf %a : bf16 to f32
  %y = arith.addf %x, %mean : f32
  %r = arith.truncf %y : f32 to bf16
  mpt_kernel.yield %r : bf16
}) : () -> ()
