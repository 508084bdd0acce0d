// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=2 bucket-bytes=16384" --mpt-train-step="optimizer=adamw" --mpt-plan-step -o plan.mlir
// RUN: mpt-opt plan.mlir --mpt-scale-report="ranks=1,2,8 link=1:50" -o same.mlir 2>&1 | FileCheck %s
// RUN: diff plan.mlir same.mlir
// RUN: mpt-opt plan.mlir --mpt-scale-report="ranks=2,8 link=1:50 format=json output=r.json" -o same.mlir && FileCheck %s --check-prefix=JSON < r.json
// RUN: mpt-opt plan.mlir --mpt-scale-report="ranks=2,8 link=1:50 format=html output=r.html" -o same.mlir && FileCheck %s --check-prefix=PAGE < r.html

// CHECK: scale of @loss: 3 exchanges; bytes that a rank sends in a step, and that it keeps
// CHECK-NEXT: ranks compute ms exchange ms exposed ms step ms efficiency sent/link sent/local data zero1 zero2 zero3
// CHECK-NEXT: 1 {{[0-9.]+}} 0.000 0.000 {{[0-9.]+}} 100.0 % 0 B 0 B
// Two gradients of 16,384 bytes and a loss of 4: 32,768 and 4 sent to one other rank.
// CHECK-NEXT: 2 {{.*}} 32.8 kB 0 B
// CHECK-NEXT: 8 {{.*}} 57.4 kB 0 B

// JSON: "name": "loss"
// JSON: "exchanges": 3
// JSON: "ranks": 2
// JSON: "link_bytes": 32772
// JSON: "local_bytes": 0
// 32,768 x 3 / 2 bytes of parameters.
// JSON: "zero3_bytes": 49152
// JSON: "ranks": 8

// PAGE: Steps on many ranks
// PAGE: @loss
// PAGE: efficiency

// RUN: not mpt-opt plan.mlir --mpt-scale-report 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: mpt-scale-report: expected numbers of ranks, as in ranks=8,64,1024
// RUN: not mpt-opt plan.mlir --mpt-scale-report="ranks=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: mpt-scale-report: ranks must be from 1 to 65536, got 0
// RUN: not mpt-opt plan.mlir --mpt-scale-report="ranks=2 link=fast" 2>&1 | FileCheck %s --check-prefix=LINK
// LINK: mpt-scale-report: link: expected 'GB/s:us' or 'GB/s:us:us' (bandwidth, latency and the cost of a message), as in '1:50', found 'fast'
// RUN: not mpt-opt plan.mlir --mpt-scale-report="ranks=2 local-link=1" 2>&1 | FileCheck %s --check-prefix=LOCAL
// LOCAL: mpt-scale-report: local-link: expected
// RUN: not mpt-opt plan.mlir --mpt-scale-report="ranks=2 ranks-per-machine=0" 2>&1 | FileCheck %s --check-prefix=MACHINE
// MACHINE: mpt-scale-report: ranks-per-machine must be at least 1, got 0
// RUN: not mpt-opt plan.mlir --mpt-scale-report="ranks=2 gflops=0" 2>&1 | FileCheck %s --check-prefix=FLOPS
// FLOPS: mpt-scale-report: gflops must be above 0, got 0
// RUN: not mpt-opt plan.mlir --mpt-scale-report="ranks=2 format=csv" 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: mpt-scale-report: format must be text, json or html, got 'csv'
// RUN: not mpt-opt plan.mlir --mpt-scale-report="ranks=2 profile=none.json" 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: mpt-scale-report: profile: {{.*}}none.json
// RUN: echo '{"instructions": [{"ms": 1}]}' > short.json
// RUN: not mpt-opt plan.mlir --mpt-scale-report="ranks=2 profile=short.json" 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: mpt-scale-report: profile has 1 instructions and this program {{[0-9]+}}; profile the same step, planned for as many threads
// RUN: echo '{"instructions": [{"ms": -1}]}' > bad.json
// RUN: not mpt-opt plan.mlir --mpt-scale-report="ranks=2 profile=bad.json" 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: mpt-scale-report: profile: bad.json is no profile of mpt-run: expected 'ms' of at least 0 of each instruction
// RUN: not mpt-opt %s --mpt-scale-report="ranks=2" 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: mpt-scale-report: expected a planned program, found none; run --mpt-plan-step first
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-plan-step -o one.mlir
// RUN: not mpt-opt one.mlir --mpt-scale-report="ranks=2" 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: mpt-scale-report: expected a step of several ranks, found no exchange; make it with --mpt-data-parallel=size=2 before it is planned
func.func @loss(%w: tensor<64x64xf32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<64x64xf32> {mpt.name = "v", mpt.role = "parameter"},
                %x: tensor<128x64xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.matmul %x, %w : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %a = mpt.tanh %y : (tensor<128x64xf32>) -> tensor<128x64xf32>
  %z = mpt.matmul %a, %v : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %b = mpt.tanh %z : (tensor<128x64xf32>) -> tensor<128x64xf32>
  %l = mpt.reduce %b {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<128x64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
