// The pass alone: vectors become instructions as numbers do; f64 and f16 stay, and with exact
// all but maxima.
// RUN: mpt-opt %s --mpt-math-to-instructions | FileCheck %s --check-prefixes=BOTH,FAST
// RUN: mpt-opt %s --mpt-math-to-instructions=math=exact | FileCheck %s --check-prefixes=BOTH,EXACT

gpu.module @kernels {
  // BOTH-LABEL: func.func @maxima
  // BOTH: llvm.intr.maximum({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // BOTH: llvm.intr.minnum({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // BOTH: arith.maximumf {{.*}} : f64
  func.func @maxima(%x: vector<4xf32>, %y: vector<4xf32>, %m: f64, %n: f64) -> (vector<4xf32>, vector<4xf32>, f64) {
    %a = arith.maximumf %x, %y : vector<4xf32>
    %b = arith.minnumf %x, %y : vector<4xf32>
    %c = arith.maximumf %m, %n : f64
    return %a, %b, %c : vector<4xf32>, vector<4xf32>, f64
  }

  // y - x y is an FMA of -x; f64 stays.
  // BOTH-LABEL: func.func @products
  // BOTH-SAME: (%[[X:.*]]: vector<4xf32>, %[[Y:.*]]: vector<4xf32>, %[[M:.*]]: f64)
  // FAST: %[[N:.*]] = arith.negf %[[X]] : vector<4xf32>
  // FAST: math.fma %[[N]], %[[Y]], %[[Y]] : vector<4xf32>
  // EXACT: %[[P:.*]] = arith.mulf %[[X]], %[[Y]] : vector<4xf32>
  // EXACT: arith.subf %[[Y]], %[[P]] : vector<4xf32>
  // BOTH: %[[Q:.*]] = arith.mulf %[[M]], %[[M]] : f64
  // BOTH: arith.subf %[[Q]], %[[M]] : f64
  func.func @products(%x: vector<4xf32>, %y: vector<4xf32>, %m: f64) -> (vector<4xf32>, f64) {
    %p = arith.mulf %x, %y : vector<4xf32>
    %a = arith.subf %y, %p : vector<4xf32>
    %q = arith.mulf %m, %m : f64
    %b = arith.subf %q, %m : f64
    return %a, %b : vector<4xf32>, f64
  }

  // BOTH-LABEL: func.func @exponentials
  // FAST-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"({{.*}}) : (f32) -> f32
  // FAST: vector.from_elements
  // EXACT: math.exp {{.*}} : vector<2xf32>
  // BOTH: math.exp {{.*}} : f16
  func.func @exponentials(%x: vector<2xf32>, %h: f16) -> (vector<2xf32>, f16) {
    %a = math.exp %x : vector<2xf32>
    %b = math.exp %h : f16
    return %a, %b : vector<2xf32>, f16
  }
}
