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
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3xf32>, %[[Y:[^:]*]]: tensor<2x3xf32>
// CHECK-DAG: %[[XT:.*]] = mpt.transpose %[[X]]
// CHECK-DAG: %[[YT:.*]] = mpt.transpose %[[Y]]
// CHECK-COUNT-4: mpt.matmul
// CHECK-NOT: mpt.matmul
// CHECK: return
"func.func"() <{function_type = (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>), sym_name = "moves"}> ({
^bb0(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>):
  %0 = "stablehlo.complex"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
  %1 = "stablehlo.transpose"(%0) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
  %2 = "stablehlo.dot"(%0, %1) : (tensor<2x3xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %3 = "stablehlo.real"(%2) : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  %4 = "stablehlo.imag"(%2) : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  "func.return"(%3, %4) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
}) : () -> ()
