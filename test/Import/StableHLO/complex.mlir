// Complex tensors are two real ones: no complex type is left.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-stablehlo | FileCheck %s --implicit-check-not=complex

// A product of spectra, back in time: matmuls with constants in f32, of the first half of the
// frequencies. Constants of complex numbers are two.
// CHECK-LABEL: func.func @spectrum(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x8xf32>
// CHECK-DAG: %[[RE:.*]] = mpt.constant dense<2.000000e+00> : tensor<3x5xf32>
// CHECK-DAG: %[[IM:.*]] = mpt.constant dense<-1.000000e+00> : tensor<3x5xf32>
// CHECK-DAG: %[[A:.*]] = mpt.matmul %[[X]], %{{.*}} {mpt.precision = "f32"} : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
// CHECK-DAG: %[[B:.*]] = mpt.matmul %[[X]], %{{.*}} {mpt.precision = "f32"} : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
// CHECK: mpt.mul {{.*}} {mpt.precision = "f32"}
// CHECK-COUNT-2: mpt.matmul {{.*}} {mpt.precision = "f32"} : (tensor<3x5xf32>, tensor<5x8xf32>) -> tensor<3x8xf32>
// CHECK-NOT: mpt.matmul
// CHECK: mpt.constant dense<1.250000e-01>
// CHECK: return
"func.func"() <{function_type = (tensor<3x8xf32>) -> tensor<3x8xf32>, sym_name = "spectrum"}> ({
^bb0(%x: tensor<3x8xf32>):
  %0 = "stablehlo.constant"() <{value = dense<(2.0, -1.0)> : tensor<3x5xcomplex<f32>>}> : () -> tensor<3x5xcomplex<f32>>
  %1 = "stablehlo.fft"(%x) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>>
  %2 = "stablehlo.multiply"(%1, %0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> tensor<3x5xcomplex<f32>>
  %3 = "stablehlo.fft"(%2) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type IRFFT>}> : (tensor<3x5xcomplex<f32>>) -> tensor<3x8xf32>
  "func.return"(%3) : (tensor<3x8xf32>) -> ()
}) : () -> ()

// What moves elements does so with each part; a matmul of complex matrices is four.
// CHECK-LABEL: func.func @moves(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3xf32>{{.*}}, %[[Y:[^:]*]]: tensor<2x3xf32>
// CHECK: mpt.slice %[[X]]
// CHECK: mpt.slice %[[Y]]
// CHECK-COUNT-4: mpt.matmul
// CHECK-NOT: mpt.matmul
// CHECK: return
"func.func"() <{function_type = (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>), sym_name = "moves"}> ({
^bb0(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>):
  %0 = "stablehlo.complex"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
  %1 = "stablehlo.slice"(%0) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x3xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %2 = "stablehlo.dot"(%1, %1) : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %3 = "stablehlo.real"(%2) : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  %4 = "stablehlo.imag"(%2) : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  "func.return"(%3, %4) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
}) : () -> ()

// A loop carries two tensors for a complex one, and reads and writes slices of both. What
// it carries that is real stays one, as does a branch's.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x2xf32>{{.*}}, %[[Y:[^:]*]]: tensor<3x2xf32>{{.*}}, %[[C:[^:]*]]: tensor<i1>
// CHECK: %[[SCAN:.*]]:4 = mpt.scan 3 carry({{.*}}) over(%[[X]], %[[Y]] :
// CHECK-COUNT-4: mpt.mul {{.*}} {mpt.precision = "f32"} : (tensor<2xf32>, tensor<2xf32>)
// CHECK: mpt.yield {{.*}} : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
// CHECK: mpt.where %[[C]], %[[SCAN]]#0,
// CHECK: mpt.where %[[C]], %[[SCAN]]#1,
// CHECK: return
"func.func"() <{function_type = (tensor<3x2xf32>, tensor<3x2xf32>, tensor<i1>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>), sym_name = "loop"}> ({
^bb0(%x: tensor<3x2xf32>, %y: tensor<3x2xf32>, %c: tensor<i1>):
  %n = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %start = "stablehlo.constant"() <{value = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
  %rows = "stablehlo.constant"() <{value = dense<(0.0, 0.0)> : tensor<3x2xcomplex<f32>>}> : () -> tensor<3x2xcomplex<f32>>
  %z = "stablehlo.complex"(%x, %y) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xcomplex<f32>>
  %0:4 = "stablehlo.while"(%zero, %start, %rows, %z) ({
  ^bb0(%i: tensor<i32>, %s: tensor<2xcomplex<f32>>, %r: tensor<3x2xcomplex<f32>>, %w: tensor<3x2xcomplex<f32>>):
    %1 = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%1) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %s: tensor<2xcomplex<f32>>, %r: tensor<3x2xcomplex<f32>>, %w: tensor<3x2xcomplex<f32>>):
    %1 = "stablehlo.dynamic_slice"(%w, %i, %zero) <{slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<1x2xcomplex<f32>>
    %2 = "stablehlo.reshape"(%1) : (tensor<1x2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %3 = "stablehlo.multiply"(%s, %2) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %4 = "stablehlo.reshape"(%3) : (tensor<2xcomplex<f32>>) -> tensor<1x2xcomplex<f32>>
    %5 = "stablehlo.dynamic_update_slice"(%r, %4, %i, %zero) : (tensor<3x2xcomplex<f32>>, tensor<1x2xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<3x2xcomplex<f32>>
    %6 = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%6, %3, %5, %w) : (tensor<i32>, tensor<2xcomplex<f32>>, tensor<3x2xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> ()
  }) : (tensor<i32>, tensor<2xcomplex<f32>>, tensor<3x2xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> (tensor<i32>, tensor<2xcomplex<f32>>, tensor<3x2xcomplex<f32>>, tensor<3x2xcomplex<f32>>)
  %7 = "stablehlo.if"(%c) ({
    "stablehlo.return"(%0#1) : (tensor<2xcomplex<f32>>) -> ()
  }, {
    "stablehlo.return"(%start) : (tensor<2xcomplex<f32>>) -> ()
  }) : (tensor<i1>) -> tensor<2xcomplex<f32>>
  %8 = "stablehlo.real"(%7) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %9 = "stablehlo.imag"(%7) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %10 = "stablehlo.imag"(%0#2) : (tensor<3x2xcomplex<f32>>) -> tensor<3x2xf32>
  "func.return"(%8, %9, %10) : (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) -> ()
}) : () -> ()
