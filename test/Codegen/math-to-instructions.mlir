// Maxima of f32 are one instruction, whatever the arithmetic. With fast, the default, sums of
// products are FMAs and exp is ex2.approx; f64 and products that are read again stay.
// DEFINE: %{math} = fast
// DEFINE: %{ptx} = mpt-opt %s --mpt-kernels-to-gpu="chip=sm_80 format=isa math=%{math}" | sed 's/\\0A/\n/g; s/\\09/ /g'
// RUN: %{ptx} | FileCheck %s --check-prefixes=BOTH,FAST
// RUN: mpt-opt %s --mpt-kernels-to-gpu="chip=sm_80 format=isa" | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s --check-prefixes=BOTH,FAST
// REDEFINE: %{math} = exact
// RUN: %{ptx} | FileCheck %s --check-prefixes=BOTH,EXACT --implicit-check-not=ex2
// RUN: not mpt-opt %s --mpt-kernels-to-gpu="chip=sm_80 format=isa math=quick" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown math 'quick'; choose exact or fast

// BOTH-LABEL: .entry maxima(
// BOTH-NOT: {{setp.*f32|selp}}
// BOTH: max.NaN.f32
// BOTH: max.f32
// BOTH: min.NaN.f32
// BOTH: ret;
"mpt_kernel.func"() <{sym_name = "maxima", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 32>, chunk_rows = 1 : i64,
    function_type = (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>,
    operand_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%x: f32, %y: f32):
  %a = arith.maximumf %x, %y : f32
  %b = arith.maxnumf %a, %y : f32
  %c = arith.minimumf %b, %x : f32
  mpt_kernel.yield %c : f32
}) : () -> ()

// BOTH-LABEL: .entry products(
// FAST: fma.rn.f32
// EXACT-NOT: fma
// EXACT: mul.rn.f32
// EXACT: add.rn.f32
// BOTH: ret;
"mpt_kernel.func"() <{sym_name = "products", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 32>, chunk_rows = 1 : i64,
    function_type = (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>,
    operand_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%x: f32, %y: f32):
  %a = arith.mulf %x, %y : f32
  %b = arith.addf %a, %y : f32
  mpt_kernel.yield %b : f32
}) : () -> ()

// BOTH-LABEL: .entry shared(
// BOTH-NOT: fma
// BOTH: ret;
"mpt_kernel.func"() <{sym_name = "shared", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 32>, chunk_rows = 1 : i64,
    function_type = (tensor<32xf32>, tensor<32xf64>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf64>),
    operand_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    result_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}> ({
^bb0(%x: f32, %y: f64):
  %a = arith.mulf %x, %x : f32
  %b = arith.addf %a, %x : f32
  %c = arith.mulf %y, %y : f64
  %d = arith.subf %c, %y : f64
  mpt_kernel.yield %a, %b, %d : f32, f32, f64
}) : () -> ()

// BOTH-LABEL: .entry exponentials(
// FAST: ex2.approx.ftz.f32
// EXACT: fma.rn.f32
// BOTH: ret;
"mpt_kernel.func"() <{sym_name = "exponentials", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 32>, chunk_rows = 1 : i64,
    function_type = (tensor<32xf32>) -> tensor<32xf32>,
    operand_maps = [affine_map<(i) -> (i)>], result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%x: f32):
  %a = math.exp %x : f32
  mpt_kernel.yield %a : f32
}) : () -> ()

// Both halves of tanh, and no division.
// BOTH-LABEL: .entry tangents(
// FAST-NOT: div
// FAST: ex2.approx.ftz.f32
// FAST: rcp.approx.ftz.f32
// FAST: selp.f32
// EXACT: div.rn.f32
// BOTH: ret;
"mpt_kernel.func"() <{sym_name = "tangents", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 32>, chunk_rows = 1 : i64,
    function_type = (tensor<32xf32>) -> tensor<32xf32>,
    operand_maps = [affine_map<(i) -> (i)>], result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%x: f32):
  %a = math.tanh %x : f32
  mpt_kernel.yield %a : f32
}) : () -> ()

// Both halves of erf, and no division.
// BOTH-LABEL: .entry errors(
// FAST-NOT: div
// FAST: ex2.approx.ftz.f32
// FAST: selp.f32
// EXACT: div.rn.f32
// BOTH: ret;
"mpt_kernel.func"() <{sym_name = "errors", kind = #mpt_kernel.kind<pointwise>,
    domain = array<i64: 32>, chunk_rows = 1 : i64,
    function_type = (tensor<32xf32>) -> tensor<32xf32>,
    operand_maps = [affine_map<(i) -> (i)>], result_maps = [affine_map<(i) -> (i)>]}> ({
^bb0(%x: f32):
  %a = math.erf %x : f32
  mpt_kernel.yield %a : f32
}) : () -> ()
