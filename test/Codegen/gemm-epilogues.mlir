// Gradients of activations and biases become epilogues of matmuls, where cuBLASLt has
// them and nothing else needs what would be lost.
// RUN: mpt-opt %s --mpt-fuse-gemm-epilogues="chip=sm_90" --remark-policy=all --remarks-filter='.*' --mlir-print-op-on-diagnostic=false -o %t.mlir 2> %t.txt
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: FileCheck %s --input-file=%t.txt --check-prefix=REMARK
// RUN: mpt-opt %s --mpt-fuse-gemm-epilogues="chip=sm_80,sm_90" --remark-policy=all --remarks-filter='.*' --mlir-print-op-on-diagnostic=false -o %t.mlir 2> %t.txt
// RUN: FileCheck %s --input-file=%t.mlir --check-prefix=AMPERE
// RUN: FileCheck %s --input-file=%t.txt --check-prefix=SLOW
// RUN: not mpt-opt %s --mpt-fuse-gemm-epilogues="chip=gfx90a" -o /dev/null 2>&1 | FileCheck %s --check-prefix=CHIP
// All that there are, whether they pay or not.
// RUN: mpt-opt %s --mpt-fuse-gemm-epilogues="chip=sm_90 always" -o - | FileCheck %s --check-prefix=ALWAYS
// CHIP: error: mpt-fuse-gemm-epilogues: unknown chip 'gfx90a'; expected one such as sm_90
// RUN: not mpt-opt %t.mlir --mpt-plan-step="function=relu" -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: 'mpt.gemm' op is done on GPUs only

// CHECK-LABEL: func @relu
// CHECK: %[[Y:.*]], %[[SAVED:.*]] = mpt.gemm %{{.*}}, %{{.*}} bias(%{{.*}}) {epilogue = #mpt.epilogue<relu>, {{.*}} : (tensor<16x24xf32>, tensor<24x40xf32>, tensor<40xf32>) -> (tensor<16x40xf32>, tensor<16x16xi8>)
// CHECK: %[[DZ:.*]], %[[DB:.*]] = mpt.gemm %{{.*}}, %{{.*}} aux(%[[SAVED]]) {epilogue = #mpt.epilogue<relu>, {{.*}}transpose_rhs} : (tensor<16x8xf32>, tensor<40x8xf32>, tensor<16x16xi8>) -> (tensor<16x40xf32>, tensor<40xf32>)
// CHECK-NOT: relu_grad
// CHECK: return %[[Y]], %[[DZ]], %[[DB]]
// AMPERE-LABEL: func @relu
// AMPERE: mpt.gemm
// AMPERE: mpt.gemm
// REMARK: gemm-epilogues.mlir:[[#@LINE+4]]:8: remark: {{.*}}mpt.cuda.epilogue{{.*}}RELU_AUX_BIAS
// REMARK: remark: {{.*}}mpt.cuda.epilogue{{.*}}DRELU_BGRAD
func.func @relu(%x: tensor<16x24xf32>, %w: tensor<24x40xf32>, %b: tensor<40xf32>,
    %dy: tensor<16x8xf32>, %v: tensor<40x8xf32>) -> (tensor<16x40xf32>, tensor<16x40xf32>, tensor<40xf32>) {
  %y = mpt.linear %x, %w, %b {epilogue = #mpt.epilogue<relu>} : (tensor<16x24xf32>, tensor<24x40xf32>, tensor<40xf32>) -> tensor<16x40xf32>
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<16x8xf32>, tensor<40x8xf32>) -> tensor<16x40xf32>
  %dz = mpt.relu_grad %p, %y : (tensor<16x40xf32>, tensor<16x40xf32>) -> tensor<16x40xf32>
  %db = mpt.reduce %dz {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<16x40xf32>) -> tensor<40xf32>
  return %y, %dz, %db : tensor<16x40xf32>, tensor<16x40xf32>, tensor<40xf32>
}

// A ReLU after a widened matmul keeps its signs through the cast; rows are those of
// all batches. The bias's gradient is f32 and the result bf16, so it goes to the
// matmul that makes the weight's.
// CHECK-LABEL: func @batches
// CHECK: %{{.*}}, %[[SAVED:.*]] = mpt.gemm {{.*}} -> (tensor<32x128xf32>, tensor<32x16xi8>)
// CHECK: %[[DZ:.*]] = mpt.gemm {{.*}} aux(%[[SAVED]]) {{.*}} -> tensor<32x128xbf16>
// CHECK: mpt.gemm %{{.*}}, %{{.*}}transpose_lhs} : (tensor<32x24xbf16>, tensor<32x128xbf16>) -> (tensor<24x128xf32>, tensor<128xf32>)
// CHECK-NOT: mpt.reduce
// CHECK: return
// REMARK: remark: {{.*}}BGRADA
func.func @batches(%x: tensor<2x16x24xbf16>, %w: tensor<24x128xbf16>, %b: tensor<128xf32>,
    %dy: tensor<2x16x8xbf16>, %v: tensor<128x8xbf16>)
    -> (tensor<2x16x128xbf16>, tensor<24x128xf32>, tensor<128xf32>) {
  %wide = mpt.linear %x, %w, %b {epilogue = #mpt.epilogue<relu>} : (tensor<2x16x24xbf16>, tensor<24x128xbf16>, tensor<128xf32>) -> tensor<2x16x128xf32>
  %y = mpt.cast %wide : (tensor<2x16x128xf32>) -> tensor<2x16x128xbf16>
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<2x16x8xbf16>, tensor<128x8xbf16>) -> tensor<2x16x128xbf16>
  %dz = mpt.relu_grad %p, %y : (tensor<2x16x128xbf16>, tensor<2x16x128xbf16>) -> tensor<2x16x128xbf16>
  %x2 = mpt.reshape %x : (tensor<2x16x24xbf16>) -> tensor<32x24xbf16>
  %dz2 = mpt.reshape %dz : (tensor<2x16x128xbf16>) -> tensor<32x128xbf16>
  %dw = mpt.matmul %x2, %dz2 {transpose_lhs} : (tensor<32x24xbf16>, tensor<32x128xbf16>) -> tensor<24x128xf32>
  %dzw = mpt.cast %dz : (tensor<2x16x128xbf16>) -> tensor<2x16x128xf32>
  %db = mpt.reduce %dzw {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<2x16x128xf32>) -> tensor<128xf32>
  return %y, %dw, %db : tensor<2x16x128xbf16>, tensor<24x128xf32>, tensor<128xf32>
}

// CHECK-LABEL: func @gelu
// CHECK: %[[Y:.*]], %[[Z:.*]] = mpt.gemm {{.*}} bias(%{{.*}}) {epilogue = #mpt.epilogue<gelu_tanh>, {{.*}} -> (tensor<16x40xbf16>, tensor<16x40xbf16>)
// CHECK: %[[DZ:.*]], %[[DB:.*]] = mpt.gemm {{.*}} aux(%[[Z]]) {{.*}} -> (tensor<16x40xbf16>, tensor<40xbf16>)
// CHECK: return %[[Y]], %[[DZ]], %[[DB]]
// Before sm_90 it is no faster.
// AMPERE-LABEL: func @gelu
// AMPERE: mpt.linear
// AMPERE: mpt.gelu
// AMPERE: mpt.gelu_grad
// SLOW: remark: {{.*}}mpt.cuda.epilogue-slow{{.*}}cuBLASLt does GELU in a kernel of its own, except on sm_90 and sm_100
func.func @gelu(%x: tensor<16x24xbf16>, %w: tensor<24x40xbf16>, %b: tensor<40xbf16>,
    %dy: tensor<16x8xbf16>, %v: tensor<40x8xbf16>) -> (tensor<16x40xbf16>, tensor<16x40xbf16>, tensor<40xbf16>) {
  %z = mpt.linear %x, %w, %b : (tensor<16x24xbf16>, tensor<24x40xbf16>, tensor<40xbf16>) -> tensor<16x40xbf16>
  %y = mpt.gelu %z {approximate = #mpt.gelu<tanh>} : (tensor<16x40xbf16>) -> tensor<16x40xbf16>
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<16x8xbf16>, tensor<40x8xbf16>) -> tensor<16x40xbf16>
  %dz = mpt.gelu_grad %p, %z {approximate = #mpt.gelu<tanh>} : (tensor<16x40xbf16>, tensor<16x40xbf16>) -> tensor<16x40xbf16>
  %db = mpt.reduce %dz {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<16x40xbf16>) -> tensor<40xbf16>
  return %y, %dz, %db : tensor<16x40xbf16>, tensor<16x40xbf16>, tensor<40xbf16>
}

// What must stay as it is, each for one reason.
// CHECK-LABEL: func @shared
// CHECK-NOT: mpt.gemm
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue-shared
func.func @shared(%x: tensor<16x24xf32>, %w: tensor<24x40xf32>, %dy: tensor<16x8xf32>,
    %v: tensor<40x8xf32>) -> (tensor<16x40xf32>, tensor<16x40xf32>) {
  %y = mpt.linear %x, %w {epilogue = #mpt.epilogue<relu>} : (tensor<16x24xf32>, tensor<24x40xf32>) -> tensor<16x40xf32>
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<16x8xf32>, tensor<40x8xf32>) -> tensor<16x40xf32>
  %dz = mpt.relu_grad %p, %y : (tensor<16x40xf32>, tensor<16x40xf32>) -> tensor<16x40xf32>
  return %p, %dz : tensor<16x40xf32>, tensor<16x40xf32>
}
// CHECK-LABEL: func @rounded
// CHECK-NOT: mpt.gemm
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue-cast
func.func @rounded(%x: tensor<16x24xf32>, %w: tensor<24x40xf32>, %dy: tensor<16x8xbf16>,
    %v: tensor<40x8xbf16>) -> tensor<16x40xf32> {
  %y = mpt.linear %x, %w {epilogue = #mpt.epilogue<relu>} : (tensor<16x24xf32>, tensor<24x40xf32>) -> tensor<16x40xf32>
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<16x8xbf16>, tensor<40x8xbf16>) -> tensor<16x40xbf16>
  %q = mpt.cast %p : (tensor<16x40xbf16>) -> tensor<16x40xf32>
  %dz = mpt.relu_grad %q, %y : (tensor<16x40xf32>, tensor<16x40xf32>) -> tensor<16x40xf32>
  return %dz : tensor<16x40xf32>
}
// CHECK-LABEL: func @erf
// CHECK-NOT: mpt.gemm
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue-erf{{.*}}approximate = #mpt.gelu<tanh>
func.func @erf(%z: tensor<16x40xf32>, %dy: tensor<16x8xf32>, %v: tensor<40x8xf32>) -> tensor<16x40xf32> {
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<16x8xf32>, tensor<40x8xf32>) -> tensor<16x40xf32>
  %dz = mpt.gelu_grad %p, %z : (tensor<16x40xf32>, tensor<16x40xf32>) -> tensor<16x40xf32>
  return %dz : tensor<16x40xf32>
}
// CHECK-LABEL: func @elsewhere
// CHECK-NOT: mpt.gemm
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue-source
func.func @elsewhere(%x: tensor<16x40xf32>, %dy: tensor<16x8xf32>, %v: tensor<40x8xf32>) -> tensor<16x40xf32> {
  %y = mpt.relu %x : (tensor<16x40xf32>) -> tensor<16x40xf32>
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<16x8xf32>, tensor<40x8xf32>) -> tensor<16x40xf32>
  %dz = mpt.relu_grad %p, %y : (tensor<16x40xf32>, tensor<16x40xf32>) -> tensor<16x40xf32>
  return %dz : tensor<16x40xf32>
}
// GELU's second matrix must come in rows of multiples of eight.
// CHECK-LABEL: func @odd
// CHECK-NOT: mpt.gemm
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue-refused{{.*}}leading dimension is a multiple of 8 and at least 41, found 41
func.func @odd(%z: tensor<16x41xf32>, %dy: tensor<16x8xf32>, %v: tensor<41x8xf32>) -> tensor<16x41xf32> {
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<16x8xf32>, tensor<41x8xf32>) -> tensor<16x41xf32>
  %dz = mpt.gelu_grad %p, %z {approximate = #mpt.gelu<tanh>} : (tensor<16x41xf32>, tensor<16x41xf32>) -> tensor<16x41xf32>
  return %dz : tensor<16x41xf32>
}
// CHECK-LABEL: func @batched
// CHECK-NOT: mpt.gemm
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue-refused{{.*}}its second matrix is for one matmul, not for a batch
func.func @batched(%z: tensor<2x16x40xf32>, %dy: tensor<2x16x8xf32>, %v: tensor<2x40x8xf32>) -> tensor<2x16x40xf32> {
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<2x16x8xf32>, tensor<2x40x8xf32>) -> tensor<2x16x40xf32>
  %dz = mpt.gelu_grad %p, %z {approximate = #mpt.gelu<tanh>} : (tensor<2x16x40xf32>, tensor<2x16x40xf32>) -> tensor<2x16x40xf32>
  return %dz : tensor<2x16x40xf32>
}
// A kernel makes this gradient, and sums it on the way; nobody reads what came into
// this GELU.
// CHECK-LABEL: func @kernels
// CHECK-NOT: mpt.gemm
// CHECK: return
func.func @kernels(%x: tensor<16x24xbf16>, %g: tensor<16x40xbf16>, %h: tensor<16x40xbf16>, %w: tensor<24x40xbf16>)
    -> (tensor<24x40xf32>, tensor<40xf32>, tensor<16x40xbf16>) {
  %dz = mpt.mul %g, %h : (tensor<16x40xbf16>, tensor<16x40xbf16>) -> tensor<16x40xbf16>
  %dw = mpt.matmul %x, %dz {transpose_lhs} : (tensor<16x24xbf16>, tensor<16x40xbf16>) -> tensor<24x40xf32>
  %db = mpt.reduce %dz {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<16x40xbf16>) -> tensor<40xf32>
  %z = mpt.linear %x, %w : (tensor<16x24xbf16>, tensor<24x40xbf16>) -> tensor<16x40xbf16>
  %y = mpt.gelu %z {approximate = #mpt.gelu<tanh>} : (tensor<16x40xbf16>) -> tensor<16x40xbf16>
  return %dw, %db, %y : tensor<24x40xf32>, tensor<40xf32>, tensor<16x40xbf16>
}
// The bias made the matmul f32.
// CHECK-LABEL: func @wide
// CHECK-NOT: mpt.gemm
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue-bias{{.*}}--low-biases rounds it to the matmul's type
func.func @wide(%x: tensor<16x24xbf16>, %w: tensor<24x40xbf16>, %b: tensor<40xf32>) -> tensor<16x40xbf16> {
  %z = mpt.linear %x, %w, %b : (tensor<16x24xbf16>, tensor<24x40xbf16>, tensor<40xf32>) -> tensor<16x40xf32>
  %y = mpt.cast %z : (tensor<16x40xf32>) -> tensor<16x40xbf16>
  return %y : tensor<16x40xbf16>
}

// Micro-batches: each matmul but the first adds to the sum before it, with the bias's
// gradient where that is an epilogue, too; the last divides.
// CHECK-LABEL: func @micro_batches
// CHECK-SAME: %[[X:[^:]*]]: tensor<16x24xbf16>, %[[DY:[^:]*]]: tensor<16x40xbf16>
// CHECK: %[[FIRST:.*]] = mpt.matmul %[[X]], %[[DY]] {transpose_lhs}
// CHECK: %[[SECOND:.*]] = mpt.gemm %[[X]], %{{.*}} add(%[[FIRST]]) {{{.*}}transpose_lhs} : {{.*}} -> tensor<24x40xf32>
// CHECK: %[[THIRD:.*]], %[[DB:.*]] = mpt.gemm %[[X]], %{{.*}} add(%[[SECOND]]) {{{.*}}transpose_lhs} : {{.*}} -> (tensor<24x40xf32>, tensor<40xf32>)
// CHECK: %[[COUNT:.*]] = mpt.constant dense<3.000000e+00> : tensor<f32>
// CHECK: %[[MEAN:.*]] = mpt.div %[[THIRD]], %[[COUNT]]
// CHECK-NOT: mpt.accumulate
// CHECK: return %[[MEAN]], %[[DB]]
// REMARK: remark: {{.*}}mpt.cuda.epilogue{{.*}}beta = 1
func.func @micro_batches(%x: tensor<16x24xbf16>, %dy: tensor<16x40xbf16>, %dy2: tensor<16x40xbf16>,
    %dy3: tensor<16x40xbf16>) -> (tensor<24x40xf32>, tensor<40xf32>) {
  %a = mpt.matmul %x, %dy {transpose_lhs} : (tensor<16x24xbf16>, tensor<16x40xbf16>) -> tensor<24x40xf32>
  %b = mpt.matmul %x, %dy2 {transpose_lhs} : (tensor<16x24xbf16>, tensor<16x40xbf16>) -> tensor<24x40xf32>
  %ab = mpt.accumulate %a, %b : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %c = mpt.matmul %x, %dy3 {transpose_lhs} : (tensor<16x24xbf16>, tensor<16x40xbf16>) -> tensor<24x40xf32>
  %wide = mpt.cast %dy3 : (tensor<16x40xbf16>) -> tensor<16x40xf32>
  %db = mpt.reduce %wide {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<16x40xf32>) -> tensor<40xf32>
  %abc = mpt.accumulate %ab, %c {divisor = 3 : i64} : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  return %abc, %db : tensor<24x40xf32>, tensor<40xf32>
}
// A matmul that somebody else reads, one that is not f32, one that comes before the sum.
// CHECK-LABEL: func @no_micro_batches
// CHECK-NOT: mpt.gemm
// CHECK: return
func.func @no_micro_batches(%x: tensor<16x24xbf16>, %dy: tensor<16x40xbf16>, %sum: tensor<24x40xf32>)
    -> (tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>) {
  %a = mpt.matmul %x, %dy {transpose_lhs} : (tensor<16x24xbf16>, tensor<16x40xbf16>) -> tensor<24x40xf32>
  %sa = mpt.accumulate %sum, %a : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %b = mpt.matmul %x, %dy {transpose_lhs} : (tensor<16x24xbf16>, tensor<16x40xbf16>) -> tensor<24x40xbf16>
  %sb = mpt.accumulate %sum, %b : (tensor<24x40xf32>, tensor<24x40xbf16>) -> tensor<24x40xf32>
  %c = mpt.matmul %x, %dy {transpose_lhs} : (tensor<16x24xbf16>, tensor<16x40xbf16>) -> tensor<24x40xf32>
  %later = mpt.relu %sum : (tensor<24x40xf32>) -> tensor<24x40xf32>
  %sc = mpt.accumulate %later, %c : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  return %a, %sa, %sb, %sc : tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>, tensor<24x40xf32>
}
// A bias's gradient in bf16 is summed beside the weight's, in f32: what widens it reads it as it
// is, and what does not gets it rounded. The gradient comes from attention, whose heads are
// not moved.
// CHECK-LABEL: func @low_bias
// CHECK: %[[DW:.*]], %[[DB:.*]] = mpt.gemm {{.*}}transpose_lhs} : (tensor<32x24xbf16>, tensor<32x64xbf16>) -> (tensor<24x64xf32>, tensor<64xf32>)
// CHECK: %[[LOW:.*]] = mpt.cast %[[DB]] : (tensor<64xf32>) -> tensor<64xbf16>
// CHECK-NOT: mpt.reduce
// CHECK: return %[[DW]], %[[DB]], %[[LOW]]
// REMARK: remark: {{.*}}mpt.cuda.epilogue{{.*}}BGRADA
func.func @low_bias(%x: tensor<32x24xbf16>, %d: tensor<1x2x32x32xbf16>, %q: tensor<1x2x32x32xbf16>,
    %lse: tensor<1x2x32xf32>) -> (tensor<24x64xf32>, tensor<64xf32>, tensor<64xbf16>) {
  %dq, %dk, %dv = mpt.attention_grad %d, %q, %q, %q, %q, %lse {fused} : (tensor<1x2x32x32xbf16>, tensor<1x2x32x32xbf16>, tensor<1x2x32x32xbf16>, tensor<1x2x32x32xbf16>, tensor<1x2x32x32xbf16>, tensor<1x2x32xf32>) -> (tensor<1x2x32x32xbf16>, tensor<1x2x32x32xbf16>, tensor<1x2x32x32xbf16>)
  %t = mpt.transpose %dq {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x32x32xbf16>) -> tensor<1x32x2x32xbf16>
  %dz = mpt.reshape %t : (tensor<1x32x2x32xbf16>) -> tensor<32x64xbf16>
  %dw = mpt.matmul %x, %dz {transpose_lhs} : (tensor<32x24xbf16>, tensor<32x64xbf16>) -> tensor<24x64xf32>
  %db = mpt.reduce %dz {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<32x64xbf16>) -> tensor<64xbf16>
  %wide = mpt.cast %db : (tensor<64xbf16>) -> tensor<64xf32>
  return %dw, %wide, %db : tensor<24x64xf32>, tensor<64xf32>, tensor<64xbf16>
}
// No kernel sums the columns of such long rows on the way.
// CHECK-LABEL: func @long_rows
// CHECK: mpt.gemm {{.*}} -> (tensor<16x32768xf32>, tensor<32768xf32>)
// CHECK-NOT: mpt.reduce
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue{{.*}}BGRADA
func.func @long_rows(%x: tensor<32x16xbf16>, %g: tensor<32x32768xbf16>, %h: tensor<32x32768xbf16>)
    -> (tensor<16x32768xf32>, tensor<32768xf32>) {
  %dz = mpt.mul %g, %h : (tensor<32x32768xbf16>, tensor<32x32768xbf16>) -> tensor<32x32768xbf16>
  %dw = mpt.matmul %x, %dz {transpose_lhs} : (tensor<32x16xbf16>, tensor<32x32768xbf16>) -> tensor<16x32768xf32>
  %db = mpt.reduce %dz {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<32x32768xbf16>) -> tensor<32768xf32>
  return %dw, %db : tensor<16x32768xf32>, tensor<32768xf32>
}

// Of a large matrix GELU's gradient, and a bias's, take longer in a matmul than as launches; what
// GELU saves does not. Small ones save launches (above).
// CHECK-LABEL: func @large
// CHECK-SAME: %[[X:[^:]*]]: tensor<65536x768xbf16>
// CHECK: %{{.*}}, %[[Z:.*]] = mpt.gemm {{.*}} -> (tensor<65536x3072xbf16>, tensor<65536x3072xbf16>)
// CHECK: %[[P:.*]] = mpt.matmul
// CHECK: %[[DZ:.*]] = mpt.gelu_grad %[[P]], %[[Z]]
// CHECK: %[[DB:.*]] = mpt.reduce %[[DZ]]
// CHECK: mpt.matmul %[[X]], %[[DZ]] {transpose_lhs}
// CHECK-NOT: mpt.gemm
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue-slow{{.*}}sm_90: DGELU_BGRAD would add 1322.{{.}} us to the matmul, launches take 4{{..\..}} us
// ALWAYS-LABEL: func @large
// ALWAYS: mpt.gemm {{.*}} -> (tensor<65536x3072xbf16>, tensor<65536x3072xbf16>)
// ALWAYS: mpt.gemm {{.*}} aux({{.*}} -> (tensor<65536x3072xbf16>, tensor<3072xbf16>)
// ALWAYS-NOT: mpt.gelu_grad
// ALWAYS: return
func.func @large(%x: tensor<65536x768xbf16>, %w: tensor<768x3072xbf16>, %b: tensor<3072xbf16>,
    %dy: tensor<65536x768xbf16>, %v: tensor<3072x768xbf16>)
    -> (tensor<65536x3072xbf16>, tensor<3072xbf16>, tensor<768x3072xf32>) {
  %z = mpt.linear %x, %w, %b : (tensor<65536x768xbf16>, tensor<768x3072xbf16>, tensor<3072xbf16>) -> tensor<65536x3072xbf16>
  %y = mpt.gelu %z {approximate = #mpt.gelu<tanh>} : (tensor<65536x3072xbf16>) -> tensor<65536x3072xbf16>
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<65536x768xbf16>, tensor<3072x768xbf16>) -> tensor<65536x3072xbf16>
  %dz = mpt.gelu_grad %p, %z {approximate = #mpt.gelu<tanh>} : (tensor<65536x3072xbf16>, tensor<65536x3072xbf16>) -> tensor<65536x3072xbf16>
  %db = mpt.reduce %dz {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<65536x3072xbf16>) -> tensor<3072xbf16>
  %dw = mpt.matmul %x, %dz {transpose_lhs} : (tensor<65536x768xbf16>, tensor<65536x3072xbf16>) -> tensor<768x3072xf32>
  return %y, %db, %dw : tensor<65536x3072xbf16>, tensor<3072xbf16>, tensor<768x3072xf32>
}
// Of a ReLU nothing was measured: it stays.
// CHECK-LABEL: func @large_relu
// CHECK: mpt.gemm {{.*}} -> (tensor<65536x3072xbf16>, tensor<65536x384xi8>)
// CHECK: mpt.gemm {{.*}} aux({{.*}} -> (tensor<65536x3072xbf16>, tensor<3072xbf16>)
// CHECK: return
func.func @large_relu(%x: tensor<65536x768xbf16>, %w: tensor<768x3072xbf16>, %b: tensor<3072xbf16>,
    %dy: tensor<65536x768xbf16>, %v: tensor<3072x768xbf16>)
    -> (tensor<65536x3072xbf16>, tensor<65536x3072xbf16>, tensor<3072xbf16>) {
  %y = mpt.linear %x, %w, %b {epilogue = #mpt.epilogue<relu>} : (tensor<65536x768xbf16>, tensor<768x3072xbf16>, tensor<3072xbf16>) -> tensor<65536x3072xbf16>
  %p = mpt.matmul %dy, %v {transpose_rhs} : (tensor<65536x768xbf16>, tensor<3072x768xbf16>) -> tensor<65536x3072xbf16>
  %dz = mpt.relu_grad %p, %y : (tensor<65536x3072xbf16>, tensor<65536x3072xbf16>) -> tensor<65536x3072xbf16>
  %db = mpt.reduce %dz {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<65536x3072xbf16>) -> tensor<3072xbf16>
  return %y, %dz, %db : tensor<65536x3072xbf16>, tensor<65536x3072xbf16>, tensor<3072xbf16>
}
// A gradient that no kernel makes: summed by its matmul only where that is shorter than a launch.
// CHECK-LABEL: func @large_bias
// CHECK-NOT: mpt.gemm
// CHECK: return
// REMARK: remark: {{.*}}mpt.cuda.epilogue-slow{{.*}}sm_90: BGRADA would add
// ALWAYS-LABEL: func @large_bias
// ALWAYS: mpt.gemm {{.*}} -> (tensor<768x2304xf32>, tensor<2304xf32>)
func.func @large_bias(%x: tensor<65536x768xbf16>, %dz: tensor<65536x2304xbf16>)
    -> (tensor<768x2304xf32>, tensor<2304xf32>) {
  %dw = mpt.matmul %x, %dz {transpose_lhs} : (tensor<65536x768xbf16>, tensor<65536x2304xbf16>) -> tensor<768x2304xf32>
  %wide = mpt.cast %dz : (tensor<65536x2304xbf16>) -> tensor<65536x2304xf32>
  %db = mpt.reduce %wide {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<65536x2304xf32>) -> tensor<2304xf32>
  return %dw, %db : tensor<768x2304xf32>, tensor<2304xf32>
}
