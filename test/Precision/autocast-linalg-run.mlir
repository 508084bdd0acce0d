// What comes out of autocast computes the same. All numbers are integers up to 256,
// which bf16 holds exactly, so that the result is that of f32 bit for bit.
//
// DEFINE: %{lower} = mlir-opt --convert-elementwise-to-linalg \
// DEFINE:   --linalg-generalize-named-ops --one-shot-bufferize="bufferize-function-boundaries" \
// DEFINE:   --convert-linalg-to-loops --math-extend-to-supported-types \
// DEFINE:   --arith-emulate-unsupported-floats="source-types=bf16 target-type=f32" \
// DEFINE:   --arith-expand="include-bf16" --convert-scf-to-cf \
// DEFINE:   --expand-strided-metadata --lower-affine --convert-to-llvm --reconcile-unrealized-casts
// DEFINE: %{run} = mlir-runner -e main --entry-point-result=f32
//
// RUN: mpt-opt %s --mpt-autocast="type=bf16" | FileCheck %s
// RUN: %{lower} %s | %{run} > %t.f32
// RUN: mpt-opt %s --mpt-autocast="type=bf16" | %{lower} | %{run} | diff %t.f32 -
// RUN: mpt-opt %s --mpt-autocast="type=bf16 mixed-results=false" | %{lower} | %{run} | diff %t.f32 -
// RUN: FileCheck --check-prefix=VALUE %s < %t.f32
// The value is that of the formula in exact integers.
// VALUE: 4.440000e+02

!x = tensor<4x4xf32>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#col = affine_map<(d0, d1) -> (d0)>

// CHECK-COUNT-4: bf16
func.func @step(%x: !x, %w: !x, %b: tensor<4xf32>) -> (!x, tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -100.0 : f32
  %e = tensor.empty() : !x
  %z = linalg.fill ins(%zero : f32) outs(%e : !x) -> !x
  %m = linalg.matmul ins(%x, %w : !x, !x) outs(%z : !x) -> !x
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %b : !x, tensor<4xf32>) outs(%e : !x) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.maximumf %s, %zero : f32
    %u = arith.addf %t, %s : f32
    linalg.yield %u : f32
  } -> !x
  %a = linalg.abs ins(%r : !x) outs(%e : !x) -> !x
  %t = linalg.transpose ins(%a : !x) outs(%e : !x) permutation = [1, 0]
  %n = linalg.sub ins(%r, %t : !x, !x) outs(%e : !x) -> !x
  %p = tensor.pad %n low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : !x to tensor<6x4xf32>
  %k = tensor.extract_slice %p[2, 0] [4, 4] [1, 1] : tensor<6x4xf32> to !x
  %y = linalg.matmul ins(%k, %w : !x, !x) outs(%z : !x) -> !x
  %v = tensor.empty() : tensor<4xf32>
  %zv = linalg.fill ins(%zero : f32) outs(%v : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["parallel", "reduction"]}
      ins(%n : !x) outs(%zv : tensor<4xf32>) {
  ^bb0(%q: f32, %o: f32):
    %s = arith.addf %q, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %lv = linalg.fill ins(%least : f32) outs(%v : tensor<4xf32>) -> tensor<4xf32>
  %top = linalg.reduce { arith.maximumf } ins(%n : !x) outs(%lv : tensor<4xf32>) dimensions = [1]
  %d = linalg.matvec ins(%w, %top : !x, tensor<4xf32>) outs(%zv : tensor<4xf32>) -> tensor<4xf32>
  return %y, %sum, %d : !x, tensor<4xf32>, tensor<4xf32>
}

// Each result counts with its place.
func.func @main() -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %x = arith.constant dense<[[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 1.0, 3.0], [2.0, 2.0, 0.0, 1.0], [1.0, 3.0, 1.0, 0.0]]> : !x
  %w = arith.constant dense<[[1.0, -1.0, 0.0, 2.0], [0.0, 1.0, -2.0, 1.0], [1.0, 0.0, 1.0, -1.0], [-1.0, 2.0, 1.0, 0.0]]> : !x
  %b = arith.constant dense<[1.0, -2.0, 3.0, 0.0]> : tensor<4xf32>
  %y, %s, %d = func.call @step(%x, %w, %b) : (!x, !x, tensor<4xf32>) -> (!x, tensor<4xf32>, tensor<4xf32>)
  %r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %zero, %n = %zero) -> (f32, f32) {
    %one = arith.constant 1.0 : f32
    %e = tensor.extract %s[%i] : tensor<4xf32>
    %f = tensor.extract %d[%i] : tensor<4xf32>
    %n1 = arith.addf %n, %one : f32
    %eb = arith.mulf %e, %n1 : f32
    %n2 = arith.addf %n1, %one : f32
    %fb = arith.mulf %f, %n2 : f32
    %t1 = arith.addf %t, %eb : f32
    %t2 = arith.addf %t1, %fb : f32
    %q:2 = scf.for %j = %c0 to %c4 step %c1 iter_args(%t3 = %t2, %n3 = %n2) -> (f32, f32) {
      %g = tensor.extract %y[%i, %j] : !x
      %n4 = arith.addf %n3, %one : f32
      %gb = arith.mulf %g, %n4 : f32
      %t4 = arith.addf %t3, %gb : f32
      scf.yield %t4, %n4 : f32, f32
    }
    scf.yield %q#0, %q#1 : f32, f32
  }
  return %r#0 : f32
}
