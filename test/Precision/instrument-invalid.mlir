// RUN: split-file %s %t
// RUN: not mpt-opt %t/good.mlir --mpt-instrument="type=f12" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mpt-opt %t/good.mlir --mpt-instrument="values=(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mpt-opt %t/good.mlir --mpt-instrument="values=nothing" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not mpt-opt %t/good.mlir --mpt-instrument="histogram-low=3 histogram-high=2" 2>&1 | FileCheck %s --check-prefix=EDGES
// RUN: not mpt-opt %t/good.mlir --mpt-instrument="function=g" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not mpt-opt %t/good.mlir --mpt-instrument --mpt-instrument 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpt-opt %t/dynamic.mlir --mpt-instrument 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// RUN: not mpt-opt %t/integers.mlir --mpt-instrument 2>&1 | FileCheck %s --check-prefix=INTEGERS
// RUN: not mpt-opt %t/two.mlir --mpt-instrument 2>&1 | FileCheck %s --check-prefix=TWO

// TYPE: error: mpt-instrument: unknown type 'f12'; expected f32, bf16, f16, f8E5M2, f8E4M3FN, or an 8-bit type in blocks of 2 to 4096, as f8E4M3FN/32
// REGEX: error: mpt-instrument: values: '(' is not a regular expression: {{.+}}
// NOTHING: good.mlir:1:{{.*}} error: mpt-instrument: no op with a floating-point result is chosen in @f; choose some with values=REGEX
// EDGES: error: mpt-instrument: expected histogram-step of at least 0 and -149 <= histogram-low <= histogram-high <= 127, found 4, 3 and 2
// FUNCTION: error: mpt-instrument: no function 'g' with a body
// FUNCTION: note: there is 'f'
// TWICE: error: mpt-instrument: @f holds records already; instrument it once
// DYNAMIC: dynamic.mlir:1:{{.*}} error: mpt-instrument: expected static shapes, found 'tensor<?xf32>'; run --mpt-specialize first
// INTEGERS: integers.mlir:1:{{.*}} error: mpt-instrument: @f computes no floating-point tensor to record
// TWO: error: mpt-instrument: expected one function with a body, found 2; name one with function=
// TWO: note: there is 'f'
// TWO: note: there is 'g'

//--- good.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = mpt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
//--- dynamic.mlir
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = mpt.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
//--- integers.mlir
func.func @f(%x: tensor<4xi32>) -> tensor<4xi32> {
  %y = mpt.add %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}
//--- two.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
