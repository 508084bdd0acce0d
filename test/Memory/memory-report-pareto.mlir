// Time against memory for a sweep of budgets: a table, and a page that loads nothing.
// RUN: mpt-opt %s --mpt-memory-report=pareto -o /dev/null 2>%t.csv
// RUN: FileCheck %s < %t.csv
// RUN: %python %S/Inputs/check_pareto.py %t.csv
// RUN: mpt-opt %s --mpt-memory-report="pareto grain=ops output=%t.ops.csv" -o /dev/null
// RUN: %python %S/Inputs/check_pareto.py %t.ops.csv
// RUN: mpt-opt %s --mpt-memory-report="pareto format=html output=%t.html" -o /dev/null
// RUN: FileCheck %s --check-prefix=HTML < %t.html
// What a function calls is known; one of several blocks is refused.
// RUN: split-file %S/Inputs/memory-calls.mlir %t.calls
// RUN: mpt-opt %t.calls/calls.mlir --mpt-memory-report=pareto -o /dev/null 2>&1 | FileCheck %s --check-prefix=CALLS --implicit-check-not=error
// CALLS: caller,alive,1.00,
// CALLS: callee,alive,1.00,
// RUN: not mpt-opt %t.calls/blocks.mlir --mpt-memory-report=pareto -o /dev/null 2>&1 | FileCheck %s --check-prefix=BLOCKS
// BLOCKS: blocks.mlir:1:1: error: mpt-rematerialize: expected a function of one block, found 2
// RUN: not mpt-opt %s --mpt-memory-report="pareto format=json" -o /dev/null 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: error: mpt-memory-report: pareto has format text (CSV) or html, and no compare
// The module stays as it is.
// RUN: mpt-opt %s --mpt-memory-report=pareto 2>/dev/null | FileCheck %s --check-prefix=SAME
// SAME-NOT: mpt.remat

// Five tensors of 65,536 bytes, and room for the 64 x 64 right side in blocks.
// CHECK: function,measure,budget_ratio,budget_bytes,status,bytes,overhead,lower_bound,gap_percent
// CHECK-NEXT: chain,arena,1.00,344064,met,344064,1.000000,1.000000,0.000
// CHECK: chain,arena,{{.*}},met,{{.*}},1.{{0*[1-9]}}
// CHECK: chain,arena,0.05,{{[0-9]+}},infeasible,,,,

// HTML: <h2>@chain</h2>
// HTML: >bytes, as a fraction of those without rematerialization</text>
// HTML: >time, as a multiple</text>
// HTML: <path class='line c1 dashed' d='M
// HTML: <path class='line c0' d='M
// HTML: <circle
// HTML: <td>infeasible</td>
// HTML-NOT: {{http|<script|src=}}

func.func @chain(%x: tensor<256x64xf32>, %w: tensor<64x64xf32>) -> tensor<256x64xf32> {
  %a = mpt.matmul %x, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %b = mpt.matmul %a, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %c = mpt.matmul %b, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %d = mpt.matmul %c, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %e = mpt.matmul %d, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %f = mpt.mul %e, %d : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %p = mpt.matmul %f, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %g = mpt.mul %p, %c : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %q = mpt.matmul %g, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %h = mpt.mul %q, %b : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %r = mpt.matmul %h, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %i = mpt.mul %r, %a : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  return %i : tensor<256x64xf32>
}
