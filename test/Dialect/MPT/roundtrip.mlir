// RUN: mpt-opt %s --verify-roundtrip | FileCheck %s
// RUN: mpt-opt %s --emit-bytecode | mpt-opt | FileCheck %s
// RUN: mpt-opt %s --mlir-print-op-generic | mpt-opt | FileCheck %s
// The forms that the examples of the documentation leave out: optional operands
// and attributes, open sizes, narrow types, nothing where something may be.

// CHECK-LABEL: func.func @relu
func.func @relu(%x: tensor<4x?xbf16>) -> tensor<4x?xf32> {
  // CHECK: mpt.relu %{{.*}} : (tensor<4x?xbf16>) -> tensor<4x?xf32>
  %y = mpt.relu %x : (tensor<4x?xbf16>) -> tensor<4x?xf32>
  return %y : tensor<4x?xf32>
}

// CHECK-LABEL: func.func @defaults
func.func @defaults(%x: tensor<4xf32>, %m: tensor<2x3x3x2xf32>, %f: tensor<2x2x2x4xf32>) {
  // Attributes with their default value are not printed.
  // CHECK: mpt.gelu %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
  %a = mpt.gelu %x {approximate = #mpt.gelu<none>} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: mpt.conv2d %{{.*}}, %{{.*}} : (tensor<2x3x3x2xf32>, tensor<2x2x2x4xf32>) -> tensor<2x2x2x4xf32>
  %b = mpt.conv2d %m, %f {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, groups = 1 : i64, epilogue = #mpt.epilogue<none>} : (tensor<2x3x3x2xf32>, tensor<2x2x2x4xf32>) -> tensor<2x2x2x4xf32>
  // CHECK: mpt.conv2d %{{.*}}, %{{.*}} {oihw, padding = array<i64: 0, 1, 0, 1>} : (tensor<2x3x3x2xf32>, tensor<2x2x2x4xf32>) -> tensor<2x3x1x2xf32>
  %o = mpt.conv2d %m, %f {padding = array<i64: 0, 1, 0, 1>, oihw} : (tensor<2x3x3x2xf32>, tensor<2x2x2x4xf32>) -> tensor<2x3x1x2xf32>
  // CHECK: mpt.mse_loss %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %c = mpt.mse_loss %x, %x {reduction = #mpt.loss_reduction<mean>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @matmuls
func.func @matmuls(%x: tensor<?x4xf8E4M3FN>, %w: tensor<4x8xf8E5M2>, %b: tensor<8xf32>) {
  // CHECK: mpt.linear %{{.*}}, %{{.*}} : (tensor<?x4xf8E4M3FN>, tensor<4x8xf8E5M2>) -> tensor<?x8xf16>
  %y = mpt.linear %x, %w : (tensor<?x4xf8E4M3FN>, tensor<4x8xf8E5M2>) -> tensor<?x8xf16>
  // CHECK: mpt.linear %{{.*}}, %{{.*}}, %{{.*}} {acc_type = f64, epilogue = #mpt.epilogue<gelu_tanh>}
  %z = mpt.linear %x, %w, %b {acc_type = f64, epilogue = #mpt.epilogue<gelu_tanh>} : (tensor<?x4xf8E4M3FN>, tensor<4x8xf8E5M2>, tensor<8xf32>) -> tensor<?x8xbf16>
  // CHECK: mpt.matmul %{{.*}}, %{{.*}} {transpose_lhs, transpose_rhs} : (tensor<4x8xf8E5M2>, tensor<?x4xf8E4M3FN>) -> tensor<8x?xf32>
  %t = mpt.matmul %w, %x {transpose_lhs, transpose_rhs} : (tensor<4x8xf8E5M2>, tensor<?x4xf8E4M3FN>) -> tensor<8x?xf32>
  return
}

// CHECK-LABEL: func.func @optimizers
func.func @optimizers(%p: tensor<4xbf16>, %g: tensor<4xf32>, %lr: tensor<f32>, %ok: tensor<i1>, %t: tensor<i64>) {
  // CHECK: mpt.sgd param(%{{.*}}) grad(%{{.*}}) lr(%{{.*}}) : (tensor<4xbf16>, tensor<4xf32>, tensor<f32>) -> tensor<4xbf16>
  %a = mpt.sgd param(%p) grad(%g) lr(%lr) : (tensor<4xbf16>, tensor<4xf32>, tensor<f32>) -> tensor<4xbf16>
  // CHECK: mpt.sgd param(%{{.*}}) grad(%{{.*}}) lr(%{{.*}}) if(%{{.*}}) {weight_decay = 1.000000e-01 : f64} :
  %b = mpt.sgd param(%p) grad(%g) lr(%lr) if(%ok) {weight_decay = 0.1 : f64} : (tensor<4xbf16>, tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xbf16>
  // CHECK: mpt.sgd param(%{{.*}}) grad(%{{.*}}) lr(%{{.*}}) momentum(%{{.*}}) if(%{{.*}}) {momentum = 9.000000e-01 : f64, nesterov} :
  %c:2 = mpt.sgd param(%p) grad(%g) lr(%lr) momentum(%g) if(%ok) {momentum = 0.9 : f64, nesterov} : (tensor<4xbf16>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<i1>) -> (tensor<4xbf16>, tensor<4xf32>)
  // CHECK: mpt.adamw param(%{{.*}}) grad(%{{.*}}) lr(%{{.*}}) moments(%{{.*}}, %{{.*}}) step(%{{.*}}) if(%{{.*}}) :
  %d:3 = mpt.adamw param(%p) grad(%g) lr(%lr) moments(%g, %g) step(%t) if(%ok) : (tensor<4xbf16>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<i1>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// CHECK-LABEL: func.func @nothing
func.func @nothing() {
  // CHECK: mpt.gradients {names = []} : () -> ()
  mpt.gradients {names = []} : () -> ()
  // CHECK: mpt.all_finite : () -> tensor<i1>
  %f = mpt.all_finite : () -> tensor<i1>
  // CHECK: mpt.constant dense<> : tensor<0xf32>
  %c = mpt.constant dense<> : tensor<0xf32>
  // CHECK: mpt.checkpoint {
  // CHECK-NEXT: }
  mpt.checkpoint {
  }
  return
}

// CHECK-LABEL: func.func @scans
func.func @scans(%c: tensor<2xf32>, %x: tensor<6x2xf32>) {
  // CHECK: mpt.scan 6 carry(%{{.*}} : tensor<2xf32>) over(%{{.*}} : tensor<6x2xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<2xf32>, %{{.*}}: tensor<2xf32>):
  // CHECK: mpt.yield %{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xf32>
  // CHECK-NEXT: } : tensor<2xf32>, tensor<6x2xf32>
  %a:2 = mpt.scan 6 carry(%c : tensor<2xf32>) over(%x : tensor<6x2xf32>) {
  ^bb0(%h: tensor<2xf32>, %e: tensor<2xf32>):
    %n = mpt.mul %h, %e : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    mpt.yield %n, %h : tensor<2xf32>, tensor<2xf32>
  } : tensor<2xf32>, tensor<6x2xf32>
  // CHECK: mpt.scan 6 reverse over(%{{.*}} : tensor<6x2xf32>) {
  // CHECK: } {checkpoint_every = 3 : i64} : tensor<6x2xf32>
  %b = mpt.scan 6 reverse over(%x : tensor<6x2xf32>) {
  ^bb0(%e: tensor<2xf32>):
    mpt.yield %e : tensor<2xf32>
  } {checkpoint_every = 3 : i64} : tensor<6x2xf32>
  // CHECK: mpt.scan conditional 9 carry(%{{.*}}, %{{.*}} : tensor<i1>, tensor<2xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<i1>, %{{.*}}: tensor<2xf32>):
  %flag = mpt.constant dense<true> : tensor<i1>
  %d:2 = mpt.scan conditional 9 carry(%flag, %c : tensor<i1>, tensor<2xf32>) {
  ^bb0(%p: tensor<i1>, %v: tensor<2xf32>):
    mpt.yield %p, %v : tensor<i1>, tensor<2xf32>
  } : tensor<i1>, tensor<2xf32>
  // CHECK: mpt.scan 2 {
  // CHECK-NEXT: }
  mpt.scan 2 {
  }
  return
}

// CHECK-LABEL: func.func @attributes
//  CHECK-SAME: {mpt.init = {fan_in = 4 : i64, kind = "kaiming_uniform"}, mpt.name = "w", mpt.role = "parameter"}
//  CHECK-SAME: -> (tensor<4xf32> {mpt.name = "w", mpt.updates = "w"})
func.func @attributes(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 4}}) -> (tensor<4xf32> {mpt.name = "w", mpt.updates = "w"}) {
  return %w : tensor<4xf32>
}

// CHECK-LABEL: mpt_kernel.func <pointwise> @ramp domain [4] chunk_rows 1
//  CHECK-SAME: maps [] -> [#{{.*}}] : () -> tensor<4xi64> {
mpt_kernel.func <pointwise> @ramp domain [4] chunk_rows 1
    maps [] -> [affine_map<(d0) -> (d0)>] : () -> tensor<4xi64> {
  %i = mpt_kernel.index 0 : i64
  mpt_kernel.yield %i : i64
}

// CHECK-LABEL: mpt_program.program @p
mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  // CHECK: mpt_program.buffer <arena> 0 : memref<4xi64>
  %a = mpt_program.buffer <arena> 0 : memref<4xi64>
  // CHECK: mpt_program.buffer <constant> 0 {value = dense<1.000000e+00> : tensor<f32>} : memref<f32>
  %c = mpt_program.buffer <constant> 0 {value = dense<1.0> : tensor<f32>} : memref<f32>
  // CHECK: mpt_program.launch @ramp ins() outs(%{{.*}} : memref<4xi64>) tasks 1
  mpt_program.launch @ramp ins() outs(%a : memref<4xi64>) tasks 1
  // CHECK: mpt_program.fill outs(%{{.*}} : memref<4xi64>) {value = 0.000000e+00 : f64}
  mpt_program.fill outs(%a : memref<4xi64>) {value = 0.0 : f64}
}
