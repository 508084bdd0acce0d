// Whole training steps come out as kernels, library calls, renamings and
// constants, and nothing else; and what is left can be planned.
//
// RUN: split-file %s %t
// RUN: mpt-opt %t/gpt.mlir --mpt-autodiff --mpt-train-step="optimizer=adamw clip-norm=1.0" --mpt-fuse-epilogues --mpt-decompose --mpt-fuse-kernels -o %t/gpt.fused.mlir
// RUN: FileCheck %s --check-prefix=GPT --input-file=%t/gpt.fused.mlir --implicit-check-not='= mpt.add ' --implicit-check-not='= mpt.mul ' --implicit-check-not='= mpt.reduce ' --implicit-check-not='= mpt.broadcast ' --implicit-check-not='= mpt.where '
// RUN: mpt-opt %t/gpt.fused.mlir --mpt-assign-buffers
// RUN: mpt-opt %t/cnn.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-fuse-epilogues --mpt-decompose --mpt-fuse-kernels -o %t/cnn.fused.mlir
// RUN: mpt-opt %t/cnn.fused.mlir --mpt-assign-buffers | FileCheck %s --check-prefix=CNN

// GPT-LABEL: func.func @loss
// GPT: mpt_kernel.kernel <
// GPT: return

// CNN: mpt_program.program
// CNN: mpt_program.launch

//--- gpt.mlir
func.func @loss(
    %wte: tensor<65x32xf32> {mpt.name = "wte", mpt.role = "parameter"},
    %wpe: tensor<16x32xf32> {mpt.name = "wpe", mpt.role = "parameter"},
    %g1: tensor<32xf32> {mpt.name = "g1", mpt.role = "parameter"},
    %b1: tensor<32xf32> {mpt.name = "b1", mpt.role = "parameter"},
    %wqkv: tensor<32x96xf32> {mpt.name = "wqkv", mpt.role = "parameter"},
    %bqkv: tensor<96xf32> {mpt.name = "bqkv", mpt.role = "parameter"},
    %wo: tensor<32x32xf32> {mpt.name = "wo", mpt.role = "parameter"},
    %bo: tensor<32xf32> {mpt.name = "bo", mpt.role = "parameter"},
    %g2: tensor<32xf32> {mpt.name = "g2", mpt.role = "parameter"},
    %w1: tensor<32x128xf32> {mpt.name = "w1", mpt.role = "parameter"},
    %c1: tensor<128xf32> {mpt.name = "c1", mpt.role = "parameter"},
    %w2: tensor<128x32xf32> {mpt.name = "w2", mpt.role = "parameter"},
    %c2: tensor<32xf32> {mpt.name = "c2", mpt.role = "parameter"},
    %ids: tensor<4x16xi32> {mpt.name = "ids", mpt.role = "input"},
    %seed: tensor<i64> {mpt.name = "seed", mpt.role = "rng"},
    %labels: tensor<4x16xi32> {mpt.name = "labels", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %tok = mpt.gather %wte, %ids : (tensor<65x32xf32>, tensor<4x16xi32>) -> tensor<4x16x32xf32>
  %x0 = mpt.add %tok, %wpe : (tensor<4x16x32xf32>, tensor<16x32xf32>) -> tensor<4x16x32xf32>
  %n1, %m1, %r1 = mpt.layer_norm %x0, %g1, %b1 : (tensor<4x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<4x16x32xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
  %qkv = mpt.linear %n1, %wqkv, %bqkv : (tensor<4x16x32xf32>, tensor<32x96xf32>, tensor<96xf32>) -> tensor<4x16x96xf32>
  %qs = mpt.slice %qkv {offsets = array<i64: 0, 0, 0>, sizes = array<i64: 4, 16, 32>, strides = array<i64: 1, 1, 1>} : (tensor<4x16x96xf32>) -> tensor<4x16x32xf32>
  %ks = mpt.slice %qkv {offsets = array<i64: 0, 0, 32>, sizes = array<i64: 4, 16, 32>, strides = array<i64: 1, 1, 1>} : (tensor<4x16x96xf32>) -> tensor<4x16x32xf32>
  %vs = mpt.slice %qkv {offsets = array<i64: 0, 0, 64>, sizes = array<i64: 4, 16, 32>, strides = array<i64: 1, 1, 1>} : (tensor<4x16x96xf32>) -> tensor<4x16x32xf32>
  %qr = mpt.reshape %qs : (tensor<4x16x32xf32>) -> tensor<4x16x4x8xf32>
  %kr = mpt.reshape %ks : (tensor<4x16x32xf32>) -> tensor<4x16x4x8xf32>
  %vr = mpt.reshape %vs : (tensor<4x16x32xf32>) -> tensor<4x16x4x8xf32>
  %q = mpt.transpose %qr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x16x4x8xf32>) -> tensor<4x4x16x8xf32>
  %k = mpt.transpose %kr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x16x4x8xf32>) -> tensor<4x4x16x8xf32>
  %v = mpt.transpose %vr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x16x4x8xf32>) -> tensor<4x4x16x8xf32>
  %a, %lse = mpt.attention %q, %k, %v {causal} : (tensor<4x4x16x8xf32>, tensor<4x4x16x8xf32>, tensor<4x4x16x8xf32>) -> (tensor<4x4x16x8xf32>, tensor<4x4x16xf32>)
  %at = mpt.transpose %a {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x4x16x8xf32>) -> tensor<4x16x4x8xf32>
  %ar = mpt.reshape %at : (tensor<4x16x4x8xf32>) -> tensor<4x16x32xf32>
  %o = mpt.linear %ar, %wo, %bo : (tensor<4x16x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<4x16x32xf32>
  %od, %mask = mpt.dropout %o, %seed, %seed {rate = 0.1 : f64, stream = 1 : i64} : (tensor<4x16x32xf32>, tensor<i64>, tensor<i64>) -> (tensor<4x16x32xf32>, tensor<4x16x32xi1>)
  %x1 = mpt.add %x0, %od : (tensor<4x16x32xf32>, tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  %n2, %r2 = mpt.rms_norm %x1, %g2 : (tensor<4x16x32xf32>, tensor<32xf32>) -> (tensor<4x16x32xf32>, tensor<4x16xf32>)
  %h = mpt.linear %n2, %w1, %c1 : (tensor<4x16x32xf32>, tensor<32x128xf32>, tensor<128xf32>) -> tensor<4x16x128xf32>
  %hg = mpt.gelu %h {approximate = #mpt.gelu<tanh>} : (tensor<4x16x128xf32>) -> tensor<4x16x128xf32>
  %p = mpt.linear %hg, %w2, %c2 : (tensor<4x16x128xf32>, tensor<128x32xf32>, tensor<32xf32>) -> tensor<4x16x32xf32>
  %x2 = mpt.add %x1, %p : (tensor<4x16x32xf32>, tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  %logits = mpt.matmul %x2, %wte {transpose_rhs} : (tensor<4x16x32xf32>, tensor<65x32xf32>) -> tensor<4x16x65xf32>
  %loss, %l = mpt.cross_entropy %logits, %labels {ignore_index = -1 : i64} : (tensor<4x16x65xf32>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16xf32>)
  return %loss : tensor<f32>
}

//--- cnn.mlir
func.func @loss(
    %f: tensor<3x3x1x16xf32> {mpt.name = "f", mpt.role = "parameter"},
    %g: tensor<16xf32> {mpt.name = "g", mpt.role = "parameter"},
    %b: tensor<16xf32> {mpt.name = "b", mpt.role = "parameter"},
    %rm: tensor<16xf32> {mpt.name = "rm", mpt.role = "running_stat"},
    %rv: tensor<16xf32> {mpt.name = "rv", mpt.role = "running_stat"},
    %w: tensor<256x10xf32> {mpt.name = "w", mpt.role = "parameter"},
    %c: tensor<10xf32> {mpt.name = "c", mpt.role = "parameter"},
    %x: tensor<64x8x8x1xf32> {mpt.name = "x", mpt.role = "input"},
    %labels: tensor<64xi32> {mpt.name = "labels", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<16xf32> {mpt.name = "new_rm", mpt.updates = "rm"},
        tensor<16xf32> {mpt.name = "new_rv", mpt.updates = "rv"}) {
  %y = mpt.conv2d %x, %f {padding = array<i64: 1, 1, 1, 1>} : (tensor<64x8x8x1xf32>, tensor<3x3x1x16xf32>) -> tensor<64x8x8x16xf32>
  %n, %nm, %nv, %m, %r = mpt.batch_norm %y, %g, %b, %rm, %rv : (tensor<64x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<64x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %a = mpt.relu %n : (tensor<64x8x8x16xf32>) -> tensor<64x8x8x16xf32>
  %p = mpt.max_pool %a {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<64x8x8x16xf32>) -> tensor<64x4x4x16xf32>
  %flat = mpt.reshape %p : (tensor<64x4x4x16xf32>) -> tensor<64x256xf32>
  %logits = mpt.linear %flat, %w, %c : (tensor<64x256xf32>, tensor<256x10xf32>, tensor<10xf32>) -> tensor<64x10xf32>
  %loss, %l = mpt.cross_entropy %logits, %labels : (tensor<64x10xf32>, tensor<64xi32>) -> (tensor<f32>, tensor<64xf32>)
  return %loss, %nm, %nv : tensor<f32>, tensor<16xf32>, tensor<16xf32>
}
