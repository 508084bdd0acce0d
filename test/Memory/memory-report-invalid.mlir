// RUN: split-file %s %t
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="format=xml" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="grain=bytes" 2>&1 | FileCheck %s --check-prefix=GRAIN
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="order=random" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not mpt-opt %t/ok.mlir --mpt-plan-step="order=random" 2>&1 | FileCheck %s --check-prefix=PLANORDER
// RUN: not mpt-opt %t/ok.mlir --mpt-assign-buffers="order=random" 2>&1 | FileCheck %s --check-prefix=SLOTORDER
// RUN: not mpt-opt %t/order.mlir --mpt-memory-report 2>&1 | FileCheck %s --check-prefix=OWNORDER
// RUN: not mpt-opt %t/order.mlir --mpt-plan-step 2>&1 | FileCheck %s --check-prefix=OWNORDER
// RUN: not mpt-opt %t/ordernumber.mlir --mpt-assign-buffers 2>&1 | FileCheck %s --check-prefix=ORDERNUMBER
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="max-threads=0" 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="max-threads=4097" 2>&1 | FileCheck %s --check-prefix=MANY-THREADS
// RUN: not mpt-opt %t/ok.mlir --mpt-plan-kernels="max-threads=9223372036854775807" 2>&1 | FileCheck %s --check-prefix=PLAN-THREADS
// RUN: not mpt-opt %t/ok.mlir --mpt-rematerialize="budget=min max-threads=4097" 2>&1 | FileCheck %s --check-prefix=REMAT-THREADS
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="alignment=0" 2>&1 | FileCheck %s --check-prefix=ALIGNMENT
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="top=-1" 2>&1 | FileCheck %s --check-prefix=TOP
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="function=other" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="output=%t/none/x.txt" 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="compare=%t/none.json" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="compare=%t/bad.json" 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: %python -c "print('{\"a\":' * 200000)" > %t/deep.json
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="compare=%t/deep.json" 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="compare=%t/newer.json" 2>&1 | FileCheck %s --check-prefix=NEWER
// RUN: not mpt-opt %t/ok.mlir --mpt-memory-report="compare=%t/part.json" 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not mpt-opt %t/arith.mlir --mpt-memory-report="grain=kernels" 2>&1 | FileCheck %s --check-prefix=KERNELS
// RUN: not mpt-opt %t/element.mlir --mpt-memory-report 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not mpt-opt %t/wide.mlir --mpt-memory-report 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not mpt-opt %t/dynamic.mlir --mpt-memory-report="grain=ops" 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// RUN: not mpt-opt %t/enormous.mlir --mpt-memory-report="grain=ops" 2>&1 | FileCheck %s --check-prefix=ENORMOUS
// RUN: not mpt-opt %t/enormous.mlir --mpt-rematerialize="budget=1GiB" 2>&1 | FileCheck %s --check-prefix=ENORMOUS
// RUN: not mpt-opt %t/blocks.mlir --mpt-memory-report 2>&1 | FileCheck %s --check-prefix=BLOCKS

// FORMAT: error: mpt-memory-report: format must be text, json or html, got 'xml'
// GRAIN: error: mpt-memory-report: grain must be auto, kernels or ops, got 'bytes'
// ORDER: error: mpt-memory-report: order must be best, keep, early-update, least-peak or depth-first, got 'random'
// PLANORDER: error: mpt-plan-kernels: order must be best, keep, early-update, least-peak or depth-first, got 'random'
// SLOTORDER: error: mpt-assign-buffers: order must be best, keep, early-update, least-peak or depth-first, got 'random'
// OWNORDER: error: expected 'mpt.memory_order' to be a string: best, keep, early-update, least-peak or depth-first; found "any"
// ORDERNUMBER: error: expected 'mpt.memory_order' to be a string: best, keep, early-update, least-peak or depth-first; found 3
// THREADS: error: mpt-memory-report: max-threads must be 1 to 4096, got 0
// MANY-THREADS: error: mpt-memory-report: max-threads must be 1 to 4096, got 4097
// PLAN-THREADS: error: mpt-plan-kernels: effort must be at least 0 and max-threads 1 to 4096
// REMAT-THREADS: error: mpt-rematerialize: effort must be at least 0 and max-threads 1 to 4096
// ALIGNMENT: error: mpt-memory-report: alignment must be from 1 to 2^30, got 0
// TOP: error: mpt-memory-report: top must not be negative, got -1
// FUNCTION: error: mpt-memory-report: no function 'other' with a body
// OUTPUT: error: mpt-memory-report: output: {{.*}}: cannot write: 
// MISSING: error: mpt-memory-report: compare: cannot open input file
// BAD: error: mpt-memory-report: compare: {{.*}}bad.json is not a memory report:
// DEEP: error: mpt-memory-report: compare: {{.*}}deep.json is not a memory report: nested too deeply
// NEWER: error: mpt-memory-report: compare: {{.*}}newer.json is not a memory report: the report has version 2, but this program reads version 1
// PART: error: mpt-memory-report: compare: {{.*}}part.json is not a memory report: {{.*}}grain
// KERNELS: arith.mlir:1:1: error: mpt-memory-report: grain=kernels is for functions of the mpt dialect alone; use grain=ops
// ELEMENT: element.mlir:1:33: error: planning needs tensors of f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64, i32, i16, i8 or i1, but argument 1 is 'tensor<4xindex>'; cast it to one of them first
// WIDE: wide.mlir:1:14: error: a value of more than 2^50 elements or 2^53 bytes cannot be planned: 'tensor<562949953421312xi16777215>'
// DYNAMIC: dynamic.mlir:1:14: error: planning memory needs static shapes, but this value is 'tensor<?xf32>'; give dynamic dimensions a size first (--mpt-specialize)
// ENORMOUS: enormous.mlir:{{.*}}: error: a value of more than 2^50 elements or 2^53 bytes cannot be planned: 'tensor<9223372036854775807x4xf32>'
// BLOCKS: blocks.mlir:1:1: error: memory cannot be planned through control flow between blocks

//--- enormous.mlir
func.func @f(%x: tensor<9223372036854775807x4xf32>) -> tensor<9223372036854775807x4xf32> {
  %y = arith.negf %x : tensor<9223372036854775807x4xf32>
  return %y : tensor<9223372036854775807x4xf32>
}
//--- element.mlir
func.func @f(%x: tensor<4xf32>, %i: tensor<4xindex>) -> tensor<4xf32> {
  %y = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
//--- wide.mlir
func.func @f(%x: tensor<562949953421312xi16777215>) -> tensor<562949953421312xi16777215> {
  return %x : tensor<562949953421312xi16777215>
}
//--- ok.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
//--- order.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mpt.memory_order = "any"} {
  %y = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
//--- ordernumber.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mpt.memory_order = 3} {
  %y = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
//--- arith.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.negf %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
//--- dynamic.mlir
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
//--- blocks.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1(%x : tensor<4xf32>)
^bb1(%y: tensor<4xf32>):
  return %y : tensor<4xf32>
}
//--- bad.json
{"version": 1, "functions": [
//--- newer.json
{"version": 2}
//--- part.json
{"version": 1, "functions": [{"function": "f"}]}
