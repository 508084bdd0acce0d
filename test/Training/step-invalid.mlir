// Passes of a step that are given something else.
// RUN: split-file %s %t
// RUN: mpt-opt %t/masters.mlir --mpt-master-weights --verify-diagnostics
// RUN: mpt-opt %t/seeds.mlir --mpt-loss-scale --verify-diagnostics
// RUN: mpt-opt %t/programs.mlir --mpt-convert-program-to-llvm --verify-diagnostics --split-input-file

//--- masters.mlir
// expected-error @below {{mpt-master-weights: no optimizer updates parameter 0 of type 'tensor<4xbf16>'; run --mpt-train-step first}}
func.func @loss(%w: tensor<4xbf16> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<4xbf16> {mpt.name = "y"}) {
  return %w : tensor<4xbf16>
}

//--- seeds.mlir
// expected-error @below {{mpt-loss-scale: expected one mpt.grad_seed and one mpt.gradients, found 0 and 1}}
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<4xf32> {mpt.name = "y"}) {
  %g = mpt.gradients %w {names = ["w"]} : (tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

//--- programs.mlir
// expected-error @below {{expected one mpt_program.program, found 0; plan a step with --mpt-plan-step first}}
module {
}
