// RUN: mpt-opt %s --mpt-memory-report="function=step" 2>&1 >/dev/null | FileCheck %s
// RUN: mpt-opt %s --mpt-memory-report="function=step" 2>/dev/null | FileCheck %s --check-prefix=SAME
// RUN: mpt-opt %s --mpt-memory-report="function=step format=json output=%t.json"
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// RUN: mpt-opt %s --mpt-memory-report="function=step grain=ops" 2>&1 >/dev/null | FileCheck %s --check-prefix=OPS
// RUN: mpt-opt %s --mpt-memory-report="function=step grain=ops compare=%t.json" 2>&1 >/dev/null | FileCheck %s --check-prefix=COMPARE
// RUN: mpt-opt %s --mpt-memory-report="function=step format=json grain=ops compare=%t.json" 2>&1 >/dev/null | FileCheck %s --check-prefix=JSONBEFORE
// RUN: mpt-opt %s --mpt-memory-report="function=step format=html compare=%t.json output=%t.html"
// RUN: FileCheck %s --check-prefix=HTML --input-file=%t.html

// The module is not changed, and the fused copy is gone.
// SAME-NOT: mpt_kernel.kernel
// SAME: mpt.tanh
// SAME-NOT: mpt_kernel.kernel

// As mpt-plan-step (assign-buffers.mlir): x^T @ w, 2,048 bytes, becomes h in place (with 64
// bytes of partial sums for its mean); their product with x, 1,024 bytes, lies behind
// it.
// CHECK: memory of @step: 4 kernels and calls, order keep, sizes rounded up to 64 bytes
// CHECK-NEXT: state 1,024
// CHECK-NEXT: arguments 2,048
// CHECK-NEXT: constants 0
// CHECK-NEXT: results 64
// CHECK-NEXT: temporaries 3,072 at most, at op 2, mpt.matmul at {{.*}}memory-report.mlir:[[#G:]]
// CHECK-NEXT: arena 3,072 planned, 0.0 % above the bound
// CHECK-NEXT: order keep arena 3,072, at most alive 3,072
// CHECK-NEXT: order early-update arena 3,072, at most alive 3,072
// CHECK-NEXT: order least-peak arena
// CHECK-NEXT: order depth-first arena
// CHECK-NEXT: temporaries over the 4 ops:
// CHECK-NEXT: 0 2,048 |###########################             |
// CHECK-NEXT: 1 2,112 |
// CHECK-NEXT: 2 3,072 |########################################| peak
// CHECK: alive at the peak: 2 buffers; 100.0 % of the bytes:
// CHECK-NEXT: bytes ops made by
// CHECK-NEXT: 2,048 1- 2 mpt_kernel.kernel tensor<32x16xf32> at {{.*}}memory-report.mlir:{{.*}}, in place
// CHECK-NEXT: 1,024 2- 3 mpt.matmul tensor<16x16xf32> at {{.*}}memory-report.mlir:[[#G]]

// JSON: "version": 1,
// JSON: "function": "step",
// JSON-NEXT: "grain": "kernels",
// JSON-NEXT: "order": "keep",
// JSON-NEXT: "alignment": 64,
// JSON-NEXT: "state": 1024,
// JSON-NEXT: "arguments": 2048,
// JSON-NEXT: "constants": 0,
// JSON-NEXT: "results": 64,
// JSON-NEXT: "peak": 3072,
// JSON-NEXT: "peak_op": 2,
// JSON-NEXT: "arena": 3072,
// JSON: "trials": [
// JSON: "order": "depth-first"
// JSON: "ops": [
// JSON: "op": "mpt.matmul",
// JSON-NEXT: "location": "{{.*}}memory-report.mlir:
// JSON-NEXT: "bytes": 2048,
// JSON-NEXT: "workspace": 0
// JSON: "buffers": [
// JSON: "what": "mpt_kernel.kernel",
// JSON-NEXT: "type": "tensor<32x16xf32>",
// JSON-NEXT: "location":
// JSON-NEXT: "bytes": 2048,
// JSON-NEXT: "first": 1,
// JSON-NEXT: "last": 2,
// JSON-NEXT: "offset": 0,
// JSON-NEXT: "in_place": true

// Op by op, in steps of 256 bytes. p, 2,048 bytes, becomes h in place; g and then, in
// the place of w, n; at the end the loss is there with n, which is in the state.
// OPS: memory of @step: 5 ops, order keep, sizes rounded up to 256 bytes
// OPS-NEXT: state 1,024
// OPS-NEXT: arguments 2,048
// OPS-NEXT: constants 0
// OPS-NEXT: results 0
// OPS-NEXT: temporaries 3,072 at most, at op 2, mpt.matmul at
// OPS-NEXT: arena 3,072 planned
// OPS-NOT: order keep arena

// COMPARE: before: temporaries 3,072, now 100.0 % of that
// COMPARE-NEXT: before: arena 3,072, now 100.0 % of that

// JSONBEFORE: "before": {
// JSONBEFORE-NEXT: "peak": 3072,
// JSONBEFORE-NEXT: "arena": 3072

// HTML: <!DOCTYPE html>
// HTML-NOT: <script
// HTML-NOT: http
// HTML: <h2>Memory of @step</h2>
// HTML: <th class='n'>before</th><th class='n'>bytes</th>
// HTML: <tr><td>arena, planned</td><td class='n'>3072</td><td class='n'>3072</td>
// HTML: <h3>Temporaries over the ops <small>peak at op {{[0-9]+}}, mpt{{[^ ]+}} at {{.*}}memory-report.mlir:
// HTML: >kernels and calls, in order</text>
// HTML: >bytes of temporaries</text>
// HTML: <path class='line muted' d='M
// HTML: <path class='line c0' d='M
// HTML: >offset in the arena</text>
// HTML: <rect class='area edged c{{[0-5]}}' x=
// HTML: Alive at the peak
// HTML: <td>mpt_kernel.kernel (in place)</td><td>tensor&lt;32x16xf32&gt;</td><td>{{.*}}memory-report.mlir:
func.func @step(%w: tensor<16x16xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
                %x: tensor<16x32xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<16x16xf32> {mpt.name = "new_w", mpt.updates = "w"}) {
  %p = mpt.matmul %x, %w {transpose_lhs} : (tensor<16x32xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %h = mpt.tanh %p : (tensor<32x16xf32>) -> tensor<32x16xf32>
  %g = mpt.matmul %h, %x {transpose_lhs, transpose_rhs} : (tensor<32x16xf32>, tensor<16x32xf32>) -> tensor<16x16xf32>
  %n = mpt.sub %w, %g : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %l = mpt.reduce %h {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<32x16xf32>) -> tensor<f32>
  return %l, %n : tensor<f32>, tensor<16x16xf32>
}

// An order that needs less than the program's: two wide layers of 65,536 bytes, and 64
// bytes for the partial sums of each long product.
// RUN: mpt-opt %s --mpt-memory-report="function=two" 2>&1 >/dev/null | FileCheck %s --check-prefix=ORDER
// RUN: mpt-opt %s --mpt-memory-report="function=two order=keep" 2>&1 >/dev/null | FileCheck %s --check-prefix=KEEP
// RUN: mpt-opt %s --mpt-plan-step="function=two" | FileCheck %s --check-prefix=PLAN
// RUN: mpt-opt %s --mpt-plan-step="function=two order=keep" | FileCheck %s --check-prefix=PLANKEEP
// A function's own word goes first.
// RUN: sed 's/{mpt.name = "z"})/& attributes {mpt.memory_order = "keep"}/' %s > %t.keep.mlir
// RUN: mpt-opt %t.keep.mlir --mpt-memory-report="function=two order=best" 2>&1 >/dev/null | FileCheck %s --check-prefix=KEEP
// RUN: mpt-opt %t.keep.mlir --mpt-plan-step="function=two order=best" | FileCheck %s --check-prefix=PLANKEEP
// ORDER: memory of @two: 4 kernels and calls, order early-update
// ORDER: arena 65,600
// ORDER: order keep arena 131,136
// KEEP: order keep,
// KEEP: arena 131,136
// PLAN: mpt_program.program @two attributes {arena_bytes = 65600 : i64
// PLANKEEP: mpt_program.program @two attributes {arena_bytes = 131136 : i64
func.func @two(%x: tensor<64x4xf32> {mpt.name = "x", mpt.role = "input"},
               %u: tensor<64x4xf32> {mpt.name = "u", mpt.role = "input"},
               %a: tensor<64x4096xf32> {mpt.name = "a", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
               %b: tensor<4096x4xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<4x4xf32> {mpt.name = "y"}, tensor<4x4xf32> {mpt.name = "z"}) {
  %p = mpt.matmul %x, %a {transpose_lhs} : (tensor<64x4xf32>, tensor<64x4096xf32>) -> tensor<4x4096xf32>
  %q = mpt.matmul %u, %a {transpose_lhs} : (tensor<64x4xf32>, tensor<64x4096xf32>) -> tensor<4x4096xf32>
  %y = mpt.matmul %b, %p {transpose_lhs, transpose_rhs} : (tensor<4096x4xf32>, tensor<4x4096xf32>) -> tensor<4x4xf32>
  %z = mpt.matmul %b, %q {transpose_lhs, transpose_rhs} : (tensor<4096x4xf32>, tensor<4x4096xf32>) -> tensor<4x4xf32>
  return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
}
