// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-print-precision-plan="type=f16 mixed-results=false" -o %t.mlir 2>&1 | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect | diff - %t.mlir
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-print-precision-plan="type=f16 strategy=paint mixed-results=false" -o /dev/null 2>&1 | FileCheck %s --check-prefix=PAINT
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-print-precision-plan="type=f16 deny=stablehlo.tanh" -o /dev/null 2>&1 | FileCheck %s --check-prefix=DENY
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-print-precision-plan="strategy=guess" 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-print-precision-plan="type=f16" --mlir-disable-threading -o /dev/null 2> %t.1
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-print-precision-plan="type=f16" -o /dev/null 2> %t.2
// RUN: diff %t.1 %t.2

// STRATEGY: error: mpt-print-precision-plan: unknown strategy 'guess'; expected mincut, paint, promote or none

// CHECK:      @f
// CHECK-NEXT:   0: stablehlo.dot low allowed, allow by table, {{.*}}print-precision-plan.mlir:[[#@LINE+23]]:8
// CHECK-NEXT:   1: stablehlo.tanh low between via 2, infer by table, step/tanh
// CHECK-NEXT:   2: stablehlo.dot low allowed, allow by table
// CHECK-NEXT:   3: stablehlo.tanh f32 not-between, infer by table
// CHECK-NEXT: @g
// CHECK-NEXT:   5: scf.for (join) low
// CHECK-NEXT:   4: stablehlo.dot low allowed, allow by table
// CHECK-NEXT: cast down: argument 0, for stablehlo.dot (0), 192 bytes
// CHECK-NEXT: cast down: argument 1, for stablehlo.dot (0), 96 bytes
// CHECK-NEXT: cast up: result 0 of stablehlo.dot (2), for stablehlo.tanh (3), 192 bytes
// CHECK-NEXT: cast up: result 0 of scf.for (5), for func.return, 192 bytes
// CHECK-NEXT: cast down: argument 1, for stablehlo.dot (4), 96 bytes
// CHECK-NEXT: cast down: argument 0, for scf.for (5), 192 bytes
// CHECK-NOT: {{.}}

// Paint goes on after the last contraction.
// PAINT: 3: stablehlo.tanh low follows via 2

// DENY: 1: stablehlo.tanh f32 denied, deny by list
// DENY: 3: stablehlo.tanh f32 denied, deny by list

func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  // Where the first line of the plan points to.
  %a = "stablehlo.dot"(%x, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %t = "stablehlo.tanh"(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("step/tanh")
  %b = "stablehlo.dot"(%t, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %u = "stablehlo.tanh"(%b) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %u : tensor<8x4xf32>
}

func.func @g(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %n: index) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> tensor<8x4xf32> {
    %a = "stablehlo.dot"(%h, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    scf.yield %a : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}
