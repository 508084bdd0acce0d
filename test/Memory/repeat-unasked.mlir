// A step of which nothing is asked repeats what kernels of its backward pass compute for
// themselves, if it then needs less memory and about as much time.
// RUN: mpt-opt %s --mpt-autodiff="function=hardswish" --mpt-autodiff="function=functions" -o %t.mlir
// RUN: mpt-opt %t.mlir --mpt-plan-kernels="function=hardswish" | FileCheck %s --check-prefix=ONCE
// RUN: mpt-opt %t.mlir --mpt-plan-kernels="function=hardswish strategy=none" | FileCheck %s --check-prefix=KEPT
// For GPUs nothing is repeated without a budget.
// RUN: mpt-opt %t.mlir --mpt-plan-kernels="function=hardswish target=cuda" | FileCheck %s --check-prefix=KEPT
// RUN: mpt-opt %t.mlir --mpt-plan-kernels="function=hardswish" --mpt-assign-buffers="function=hardswish" | FileCheck %s --check-prefix=BYTES
// RUN: mpt-opt %t.mlir --mpt-plan-kernels="function=hardswish strategy=none" --mpt-assign-buffers="function=hardswish" | FileCheck %s --check-prefix=PLAIN
// The memory report says the same.
// RUN: mpt-opt %t.mlir --mpt-memory-report="function=hardswish" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT
// Where functions such as exp take most of the time they are kept, and a function without
// a backward pass has nothing to repeat.
// RUN: mpt-opt %t.mlir --mpt-plan-kernels --remarks-filter=mpt.remat -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS --implicit-check-not="Function=f"
// REMARKS: mpt.maximum is computed again where the backward pass reads it: 65536 bytes need not be kept for that

// One tensor is kept, and not what the clamp makes of it too.
// ONCE-LABEL: func.func @hardswish
// ONCE: mpt_kernel.kernel <pointwise>(%[[A:[0-9]+]]) domain [4, 4096] chunk_rows 4 maps [#{{[a-z0-9]+}}] -> [#{{[a-z0-9]+}}] :
// ONCE: mpt_kernel.kernel <pointwise>(%[[A]], %{{[0-9]+}}) {{.*}} {mpt.remat = {{[0-9]+}} : i64}
// ONCE: arith.maximumf
// ONCE: return
// KEPT-LABEL: func.func @hardswish
// KEPT: mpt_kernel.kernel
// KEPT-NOT: mpt.remat
// KEPT: return
// Three tensors of 65536 bytes are alive at once, or six.
// BYTES: arena_bytes = 212992
// PLAIN: arena_bytes = 409600
// REPORT: arena                 212,992
func.func @hardswish(%x: tensor<256x64xf32> {mpt.name = "x", mpt.role = "input"},
                     %w: tensor<64x64xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
                     %v: tensor<64x64xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %three = mpt.constant dense<3.0> : tensor<f32>
  %six = mpt.constant dense<6.0> : tensor<f32>
  %a = mpt.matmul %x, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %b = mpt.add %a, %three : (tensor<256x64xf32>, tensor<f32>) -> tensor<256x64xf32>
  %c = mpt.maximum %b, %zero : (tensor<256x64xf32>, tensor<f32>) -> tensor<256x64xf32>
  %d = mpt.minimum %c, %six : (tensor<256x64xf32>, tensor<f32>) -> tensor<256x64xf32>
  %e = mpt.mul %a, %d : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %f = mpt.matmul %e, %v : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %g = mpt.mul %f, %f : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %l = mpt.reduce %g {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<256x64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// Most of the time goes into exp and sin.
func.func @functions(%x: tensor<256x64xf32> {mpt.name = "x", mpt.role = "input"},
                     %w: tensor<64xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
                     %v: tensor<64x16xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.mul %x, %w : (tensor<256x64xf32>, tensor<64xf32>) -> tensor<256x64xf32>
  %1 = mpt.tanh %0 : (tensor<256x64xf32>) -> tensor<256x64xf32>
  %a = mpt.sigmoid %1 : (tensor<256x64xf32>) -> tensor<256x64xf32>
  %b = mpt.exp %a : (tensor<256x64xf32>) -> tensor<256x64xf32>
  %c = mpt.sin %b : (tensor<256x64xf32>) -> tensor<256x64xf32>
  %d = mpt.exp %c : (tensor<256x64xf32>) -> tensor<256x64xf32>
  %f = mpt.matmul %d, %v : (tensor<256x64xf32>, tensor<64x16xf32>) -> tensor<256x16xf32>
  %l = mpt.reduce %f {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<256x16xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// What is repeated may cost more than a tenth of the step by that tenth of the part of the arena which it saves: it
// costs 0.114 of @wide and saves 0.196 of its arena, but 0.142 of @narrow, whose matmuls are smaller.
// RUN: mpt-opt %s --mpt-autodiff="function=wide" --mpt-plan-kernels="function=wide" --mpt-assign-buffers="function=wide" | FileCheck %s --check-prefix=WIDE
// WIDE: arena_bytes = 402432
// RUN: mpt-opt %s --mpt-autodiff="function=wide" --mpt-plan-kernels="function=wide strategy=none" --mpt-assign-buffers="function=wide" | FileCheck %s --check-prefix=WIDE-PLAIN
// WIDE-PLAIN: arena_bytes = 500736
// RUN: mpt-opt %s --mpt-autodiff="function=narrow" --mpt-plan-kernels="function=narrow" | FileCheck %s --check-prefix=NARROW
// NARROW-LABEL: func.func @narrow
// NARROW-NOT: mpt.remat
// NARROW: return
func.func @wide(%x: tensor<512x48xf32> {mpt.name = "x", mpt.role = "input"},
                %u: tensor<48x48xf32> {mpt.name = "u", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
                %v: tensor<48x48xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
                %w: tensor<48x48xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %a = mpt.matmul %x, %u : (tensor<512x48xf32>, tensor<48x48xf32>) -> tensor<512x48xf32>
  %b = mpt.silu %a : (tensor<512x48xf32>) -> tensor<512x48xf32>
  %c = mpt.matmul %b, %v : (tensor<512x48xf32>, tensor<48x48xf32>) -> tensor<512x48xf32>
  %d = mpt.silu %c : (tensor<512x48xf32>) -> tensor<512x48xf32>
  %e = mpt.matmul %d, %w : (tensor<512x48xf32>, tensor<48x48xf32>) -> tensor<512x48xf32>
  %g = mpt.mul %e, %e : (tensor<512x48xf32>, tensor<512x48xf32>) -> tensor<512x48xf32>
  %l = mpt.reduce %g {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<512x48xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

func.func @narrow(%x: tensor<512x32xf32> {mpt.name = "x", mpt.role = "input"},
                  %u: tensor<32x32xf32> {mpt.name = "u", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
                  %v: tensor<32x32xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
                  %w: tensor<32x32xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %a = mpt.matmul %x, %u : (tensor<512x32xf32>, tensor<32x32xf32>) -> tensor<512x32xf32>
  %b = mpt.silu %a : (tensor<512x32xf32>) -> tensor<512x32xf32>
  %c = mpt.matmul %b, %v : (tensor<512x32xf32>, tensor<32x32xf32>) -> tensor<512x32xf32>
  %d = mpt.silu %c : (tensor<512x32xf32>) -> tensor<512x32xf32>
  %e = mpt.matmul %d, %w : (tensor<512x32xf32>, tensor<32x32xf32>) -> tensor<512x32xf32>
  %g = mpt.mul %e, %e : (tensor<512x32xf32>, tensor<512x32xf32>) -> tensor<512x32xf32>
  %l = mpt.reduce %g {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<512x32xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// No gradient is asked for.
func.func @forward(%x: tensor<256x64xf32>, %v: tensor<64x64xf32>) -> tensor<256x64xf32> {
  %a = mpt.abs %x : (tensor<256x64xf32>) -> tensor<256x64xf32>
  %b = mpt.matmul %a, %v : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %c = mpt.add %a, %b : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  return %c : tensor<256x64xf32>
}
