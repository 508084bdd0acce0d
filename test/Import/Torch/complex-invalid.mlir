// What complex tensors are refused for, and what to write instead.
//
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch --split-input-file 2>&1 | FileCheck %s

// CHECK: error: mpt-convert-torch: result 0 of @result: expected a real tensor, found '!torch.vtensor<[4],complex<f32>>'; return torch.view_as_real() of it, and leave complex state as it is
func.func @result(%x: !torch.vtensor<[4],complex<f32>>) -> !torch.vtensor<[4],complex<f32>> {
  return %x : !torch.vtensor<[4],complex<f32>>
}

// -----

// CHECK: error: mpt-convert-torch: 9 ops of @ops have no counterpart in the mpt dialect:
// CHECK-NEXT: aten.tanh, 1 time: complex numbers; write it with the real and the imaginary part, as torch.view_as_real gives them
// CHECK: aten.view_as_complex, 1 time: a last dimension of another size than 2
// CHECK: aten.pow.Tensor_Scalar, 1 time: a power of complex numbers other than -4 to 4, without 0
// CHECK: aten.fft_fft, 1 time: a transform of other than 1 to 1048576 elements
// CHECK: aten.fft_fft, 1 time: a transform of an open or empty dimension
// CHECK: aten.fft_ifft, 1 time: an unknown norm
// CHECK: aten.view_as_real, 1 time: expected complex numbers
// CHECK: aten.index.Tensor, 1 time: a complex operand where a real one is expected
// CHECK: aten.zero_, 1 time: it changes a complex argument in place
func.func @ops(%z: !torch.vtensor<[4],complex<f32>>, %x: !torch.vtensor<[4],f32>, %open: !torch.vtensor<[?],f32>, %i: !torch.vtensor<[2],si64>) -> !torch.vtensor<[4],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %half = "torch.constant.float"() {value = 0.5 : f64} : () -> !torch.float
  %many = "torch.constant.int"() {value = 1048577 : i64} : () -> !torch.int
  %norm = "torch.constant.str"() {value = "other"} : () -> !torch.str
  %1 = "torch.aten.tanh"(%z) : (!torch.vtensor<[4],complex<f32>>) -> !torch.vtensor<[4],complex<f32>>
  %2 = "torch.aten.view_as_complex"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[],complex<f32>>
  %3 = "torch.aten.pow.Tensor_Scalar"(%z, %half) : (!torch.vtensor<[4],complex<f32>>, !torch.float) -> !torch.vtensor<[4],complex<f32>>
  %4 = "torch.aten.fft_fft"(%z, %many, %0, %none) : (!torch.vtensor<[4],complex<f32>>, !torch.int, !torch.int, !torch.none) -> !torch.vtensor<[1048577],complex<f32>>
  %5 = "torch.aten.fft_fft"(%open, %none, %0, %none) : (!torch.vtensor<[?],f32>, !torch.none, !torch.int, !torch.none) -> !torch.vtensor<[?],complex<f32>>
  %6 = "torch.aten.fft_ifft"(%z, %none, %0, %norm) : (!torch.vtensor<[4],complex<f32>>, !torch.none, !torch.int, !torch.str) -> !torch.vtensor<[4],complex<f32>>
  %7 = "torch.aten.view_as_real"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4,2],f32>
  %list = "torch.prim.ListConstruct"(%z) : (!torch.vtensor<[4],complex<f32>>) -> !torch.list<vtensor>
  %8 = "torch.aten.index.Tensor"(%z, %list) : (!torch.vtensor<[4],complex<f32>>, !torch.list<vtensor>) -> !torch.vtensor<[4],complex<f32>>
  %9 = "torch.aten.zero_"(%z) : (!torch.vtensor<[4],complex<f32>>) -> !torch.vtensor<[4],complex<f32>>
  return %x : !torch.vtensor<[4],f32>
}

// -----

// CHECK: error: mpt-convert-torch: 2 ops of @stft have no counterpart in the mpt dialect:
// CHECK-NEXT: aten.stft, 1 time: windows longer than the signal, or of no elements
// CHECK: aten.istft, 1 time: a number of frequencies that does not fit n_fft
func.func @stft(%x: !torch.vtensor<[20],f32>, %z: !torch.vtensor<[4,5],complex<f32>>) -> !torch.vtensor<[20],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %yes = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %4 = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %40 = "torch.constant.int"() {value = 40 : i64} : () -> !torch.int
  %3 = "torch.aten.stft"(%x, %40, %2, %none, %none, %no, %yes, %yes, %none) : (!torch.vtensor<[20],f32>, !torch.int, !torch.int, !torch.none, !torch.none, !torch.bool, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[21,1],complex<f32>>
  %5 = "torch.aten.istft"(%z, %4, %2, %none, %none, %yes, %no, %yes, %none, %no) : (!torch.vtensor<[4,5],complex<f32>>, !torch.int, !torch.int, !torch.none, !torch.none, !torch.bool, !torch.bool, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[8],f32>
  return %x : !torch.vtensor<[20],f32>
}
