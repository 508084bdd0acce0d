// What is planned on copies of a function knows the mesh.
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=2" --mpt-train-step -o %t.mlir
// RUN: mpt-opt %t.mlir --mpt-plan-kernels="budget=min" --mpt-assign-buffers | FileCheck %s
// RUN: mpt-opt %t.mlir --mpt-memory-report -o %t.report.mlir 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: mpt-opt %t.mlir --mpt-memory-report=pareto -o %t.report.mlir 2>&1 | FileCheck %s --check-prefix=CURVE

// CHECK: mpt_program.program @loss
// CHECK-COUNT-2: mpt_program.all_reduce
// CHECK-NOT: mpt_program.all_reduce

// REPORT-NOT: error
// REPORT: loss
// CURVE: function,measure
// CURVE-NEXT: loss,arena,1.00,{{[0-9]+}},met
func.func @loss(%w: tensor<64x64xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<128x64xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.matmul %x, %w : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %a = mpt.tanh %y : (tensor<128x64xf32>) -> tensor<128x64xf32>
  %z = mpt.matmul %a, %w : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %b = mpt.tanh %z : (tensor<128x64xf32>) -> tensor<128x64xf32>
  %l = mpt.reduce %b {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<128x64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
