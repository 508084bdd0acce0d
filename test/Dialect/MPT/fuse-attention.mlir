// The CPU's runtime carries out attention as a whole, from 256 x 256 scores on, from 192 x
// 192 on if all heads have 2^20, from 128 x 128 on if a causal mask hides whole blocks or
// heads are narrow, and up to 24 x 24; the rest is decomposed, and a remark says why.
// RUN: mpt-opt %s --mpt-fuse-attention --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-plan-step --split-input-file | FileCheck %s --check-prefix=PROGRAM
// RUN: mpt-opt %s --mpt-plan-step=fused-attention=false --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: mpt-opt %s --mpt-fuse-attention --split-input-file --remarks-filter=mpt.cpu -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// NONE-NOT: mpt_program.attention

// CHECK-LABEL: func.func @forward(
// CHECK: mpt.attention %{{.*}} {causal, fused, scale = 5.000000e-01 : f64} :
// PROGRAM-LABEL: mpt_program.program @forward
// PROGRAM-NOT: matmul
// PROGRAM: mpt_program.attention ins({{.*}} : memref<1x4x256x32xf32>, memref<1x2x256x32xf32>, memref<1x2x256x16xbf16>) outs({{.*}} : memref<1x4x256x16xbf16>, memref<1x4x256xf32>) workspace({{.*}}) {causal, scale = 5.000000e-01 : f64}
// PROGRAM-NOT: matmul
func.func @forward(%q: tensor<1x4x256x32xf32> {mpt.name = "q", mpt.role = "input"}, %k: tensor<1x2x256x32xf32> {mpt.name = "k", mpt.role = "input"}, %v: tensor<1x2x256x16xbf16> {mpt.name = "v", mpt.role = "input"}) -> (tensor<1x4x256x16xbf16> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<1x4x256x32xf32>, tensor<1x2x256x32xf32>, tensor<1x2x256x16xbf16>) -> (tensor<1x4x256x16xbf16>, tensor<1x4x256xf32>)
  return %y : tensor<1x4x256x16xbf16>
}

// -----

// A gradient of the bias that nothing reads is not computed.
// CHECK-LABEL: func.func @gradient(
// CHECK: mpt.attention_grad {{.*}} {fused} :
// PROGRAM-LABEL: mpt_program.program @gradient
// PROGRAM: mpt_program.attention_grad ins({{.*}}) mask({{.*}}) bias({{.*}}) outs({{.*}}) workspace({{.*}}) {scale = 0.17677669529663687 : f64}
func.func @gradient(%q: tensor<1x4x256x32xf32> {mpt.name = "q", mpt.role = "input"}, %l: tensor<1x4x256xf32> {mpt.name = "l", mpt.role = "input"}, %m: tensor<1x1x1x256xi1> {mpt.name = "m", mpt.role = "input"}, %b: tensor<1x4x256x256xf32> {mpt.name = "b", mpt.role = "input"}) -> (tensor<1x4x256x32xf32> {mpt.name = "dq"}, tensor<1x4x256x32xf32> {mpt.name = "dk"}) {
  %dq, %dk, %dv, %db = mpt.attention_grad %q, %q, %q, %q, %q, %l, %m bias(%b) : (tensor<1x4x256x32xf32>, tensor<1x4x256x32xf32>, tensor<1x4x256x32xf32>, tensor<1x4x256x32xf32>, tensor<1x4x256x32xf32>, tensor<1x4x256xf32>, tensor<1x1x1x256xi1>, tensor<1x4x256x256xf32>) -> (tensor<1x4x256x32xf32>, tensor<1x4x256x32xf32>, tensor<1x4x256x32xf32>, tensor<1x4x256x256xf32>)
  return %dq, %dk : tensor<1x4x256x32xf32>, tensor<1x4x256x32xf32>
}

// -----

// CHECK-LABEL: func.func @few(
// CHECK-NOT: fused
// PROGRAM-LABEL: mpt_program.program @few
// PROGRAM-NOT: mpt_program.attention
// REMARK: remark: [Missed] mpt.cpu.attention-decomposed {{.*}}a head has 256 x 255 scores; kernels are faster below 65536 scores
func.func @few(%q: tensor<1x4x256x32xf32> {mpt.name = "q", mpt.role = "input"}, %k: tensor<1x4x255x32xf32> {mpt.name = "k", mpt.role = "input"}) -> (tensor<1x4x256x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %k, %k : (tensor<1x4x256x32xf32>, tensor<1x4x255x32xf32>, tensor<1x4x255x32xf32>) -> (tensor<1x4x256x32xf32>, tensor<1x4x256xf32>)
  return %y : tensor<1x4x256x32xf32>
}

// -----

// The scores of all heads are 7.5 MB.
// CHECK-LABEL: func.func @many(
// CHECK: mpt.attention {{.*}} {fused} :
// PROGRAM-LABEL: mpt_program.program @many
// PROGRAM: mpt_program.attention ins
func.func @many(%q: tensor<4x12x197x32xf32> {mpt.name = "q", mpt.role = "input"}, %k: tensor<4x12x197x32xf32> {mpt.name = "k", mpt.role = "input"}) -> (tensor<4x12x197x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %k, %k : (tensor<4x12x197x32xf32>, tensor<4x12x197x32xf32>, tensor<4x12x197x32xf32>) -> (tensor<4x12x197x32xf32>, tensor<4x12x197xf32>)
  return %y : tensor<4x12x197x32xf32>
}

// -----

// Many rows of narrow heads: more than twice as many scores as there are other elements.
// CHECK-LABEL: func.func @narrow(
// CHECK: mpt.attention {{.*}} {fused} :
func.func @narrow(%q: tensor<1x8x180x16xf32> {mpt.name = "q", mpt.role = "input"}) -> (tensor<1x8x180x16xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q : (tensor<1x8x180x16xf32>, tensor<1x8x180x16xf32>, tensor<1x8x180x16xf32>) -> (tensor<1x8x180x16xf32>, tensor<1x8x180xf32>)
  return %y : tensor<1x8x180x16xf32>
}

// -----

// Rows of neither scores nor heads are whole vectors: half as many scores more is enough.
// CHECK-LABEL: func.func @parts(
// CHECK: mpt.attention {{.*}} {fused} :
func.func @parts(%q: tensor<2x4x150x24xf32> {mpt.name = "q", mpt.role = "input"}) -> (tensor<2x4x150x24xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q : (tensor<2x4x150x24xf32>, tensor<2x4x150x24xf32>, tensor<2x4x150x24xf32>) -> (tensor<2x4x150x24xf32>, tensor<2x4x150xf32>)
  return %y : tensor<2x4x150x24xf32>
}

// -----

// Not in bf16, of which kernels read more a line.
// CHECK-LABEL: func.func @parts_of_halves(
// CHECK-NOT: fused
func.func @parts_of_halves(%q: tensor<2x4x150x24xbf16> {mpt.name = "q", mpt.role = "input"}) -> (tensor<2x4x150x24xbf16> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q : (tensor<2x4x150x24xbf16>, tensor<2x4x150x24xbf16>, tensor<2x4x150x24xbf16>) -> (tensor<2x4x150x24xbf16>, tensor<2x4x150xf32>)
  return %y : tensor<2x4x150x24xbf16>
}

// -----

// Not of whole rows of scores, nor of whole rows of heads.
// CHECK-LABEL: func.func @whole_scores(
// CHECK-NOT: fused
func.func @whole_scores(%q: tensor<2x4x176x24xf32> {mpt.name = "q", mpt.role = "input"}) -> (tensor<2x4x176x24xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q : (tensor<2x4x176x24xf32>, tensor<2x4x176x24xf32>, tensor<2x4x176x24xf32>) -> (tensor<2x4x176x24xf32>, tensor<2x4x176xf32>)
  return %y : tensor<2x4x176x24xf32>
}

// -----

// The same.
// CHECK-LABEL: func.func @whole_heads(
// CHECK-NOT: fused
func.func @whole_heads(%q: tensor<2x4x197x32xf32> {mpt.name = "q", mpt.role = "input"}) -> (tensor<2x4x197x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q : (tensor<2x4x197x32xf32>, tensor<2x4x197x32xf32>, tensor<2x4x197x32xf32>) -> (tensor<2x4x197x32xf32>, tensor<2x4x197xf32>)
  return %y : tensor<2x4x197x32xf32>
}

// -----

// Fewer scores than half as many more.
// CHECK-LABEL: func.func @fewer_parts(
// CHECK-NOT: fused
func.func @fewer_parts(%q: tensor<2x4x140x24xf32> {mpt.name = "q", mpt.role = "input"}) -> (tensor<2x4x140x24xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q : (tensor<2x4x140x24xf32>, tensor<2x4x140x24xf32>, tensor<2x4x140x24xf32>) -> (tensor<2x4x140x24xf32>, tensor<2x4x140xf32>)
  return %y : tensor<2x4x140x24xf32>
}

// -----

// Heads so small that each matmul of kernels takes its time to begin.
// CHECK-LABEL: func.func @small(
// CHECK: mpt.attention {{.*}} {fused} :
func.func @small(%q: tensor<64x4x24x8xf32> {mpt.name = "q", mpt.role = "input"}) -> (tensor<64x4x24x8xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %q, %q : (tensor<64x4x24x8xf32>, tensor<64x4x24x8xf32>, tensor<64x4x24x8xf32>) -> (tensor<64x4x24x8xf32>, tensor<64x4x24xf32>)
  return %y : tensor<64x4x24x8xf32>
}

// -----

// CHECK-LABEL: func.func @few_heads(
// CHECK-NOT: fused
// REMARK: a head has 197 x 197 scores; kernels are faster below 65536 scores
func.func @few_heads(%q: tensor<1x12x197x32xf32> {mpt.name = "q", mpt.role = "input"}, %k: tensor<1x12x197x32xf32> {mpt.name = "k", mpt.role = "input"}) -> (tensor<1x12x197x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %k, %k : (tensor<1x12x197x32xf32>, tensor<1x12x197x32xf32>, tensor<1x12x197x32xf32>) -> (tensor<1x12x197x32xf32>, tensor<1x12x197xf32>)
  return %y : tensor<1x12x197x32xf32>
}

// -----

// CHECK-LABEL: func.func @few_of_many(
// CHECK-NOT: fused
// REMARK: a head has 192 x 191 scores; kernels are faster below 36864 scores
func.func @few_of_many(%q: tensor<4x12x192x32xf32> {mpt.name = "q", mpt.role = "input"}, %k: tensor<4x12x191x32xf32> {mpt.name = "k", mpt.role = "input"}) -> (tensor<4x12x192x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %k, %k : (tensor<4x12x192x32xf32>, tensor<4x12x191x32xf32>, tensor<4x12x191x32xf32>) -> (tensor<4x12x192x32xf32>, tensor<4x12x192xf32>)
  return %y : tensor<4x12x192x32xf32>
}

// -----

// A fourth of the blocks is hidden.
// CHECK-LABEL: func.func @hidden(
// CHECK: mpt.attention {{.*}} {causal, fused} :
// PROGRAM-LABEL: mpt_program.program @hidden
// PROGRAM: mpt_program.attention ins
func.func @hidden(%q: tensor<1x4x128x32xf32> {mpt.name = "q", mpt.role = "input"}, %k: tensor<1x4x128x32xf32> {mpt.name = "k", mpt.role = "input"}) -> (tensor<1x4x128x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %k, %k {causal} : (tensor<1x4x128x32xf32>, tensor<1x4x128x32xf32>, tensor<1x4x128x32xf32>) -> (tensor<1x4x128x32xf32>, tensor<1x4x128xf32>)
  return %y : tensor<1x4x128x32xf32>
}

// -----

// CHECK-LABEL: func.func @few_hidden(
// CHECK-NOT: fused
// REMARK: a head has 127 x 127 scores; kernels are faster below 16384 scores
func.func @few_hidden(%q: tensor<1x4x127x32xf32> {mpt.name = "q", mpt.role = "input"}, %k: tensor<1x4x127x32xf32> {mpt.name = "k", mpt.role = "input"}) -> (tensor<1x4x127x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %k, %k {causal} : (tensor<1x4x127x32xf32>, tensor<1x4x127x32xf32>, tensor<1x4x127x32xf32>) -> (tensor<1x4x127x32xf32>, tensor<1x4x127xf32>)
  return %y : tensor<1x4x127x32xf32>
}

// -----

// All queries are in one block: none of the keys is hidden from all of them.
// CHECK-LABEL: func.func @seen(
// CHECK-NOT: fused
// REMARK: a head has 64 x 1000 scores; kernels are faster below 65536 scores
func.func @seen(%q: tensor<1x4x64x32xf32> {mpt.name = "q", mpt.role = "input"}, %k: tensor<1x4x1000x32xf32> {mpt.name = "k", mpt.role = "input"}) -> (tensor<1x4x64x32xf32> {mpt.name = "y"}) {
  %y, %lse = mpt.attention %q, %k, %k {causal} : (tensor<1x4x64x32xf32>, tensor<1x4x1000x32xf32>, tensor<1x4x1000x32xf32>) -> (tensor<1x4x64x32xf32>, tensor<1x4x64xf32>)
  return %y : tensor<1x4x64x32xf32>
}
