// Complex tensors are two real ones: no complex type is left.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch --split-input-file | FileCheck %s --implicit-check-not=complex

// Meta's rotary embedding. A complex argument is a real one with a last dimension of 2.
// Arithmetic is kept in f32, what moves elements is not.
// CHECK-LABEL: func.func @rotary(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x4x6xf32>, %[[F:[^:]*]]: tensor<4x3x2xf32> {mpt.name = "freqs_cis", mpt.role = "running_stat"})
// CHECK-DAG: %[[FR:.*]] = mpt.slice %[[F]] {offsets = array<i64: 0, 0, 0>
// CHECK-DAG: %[[C:.*]] = mpt.reshape %[[FR]] : (tensor<4x3x1xf32>) -> tensor<4x3xf32>
// CHECK-DAG: %[[FI:.*]] = mpt.slice %[[F]] {offsets = array<i64: 0, 0, 1>
// CHECK-DAG: %[[S:.*]] = mpt.reshape %[[FI]] : (tensor<4x3x1xf32>) -> tensor<4x3xf32>
// CHECK: %[[P:.*]] = mpt.reshape %[[X]] : (tensor<2x4x6xf32>) -> tensor<2x4x3x2xf32>
// CHECK-NEXT: %[[R2:.*]] = mpt.slice %[[P]] {offsets = array<i64: 0, 0, 0, 0>
// CHECK-NEXT: %[[R:.*]] = mpt.reshape %[[R2]] : (tensor<2x4x3x1xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %[[I2:.*]] = mpt.slice %[[P]] {offsets = array<i64: 0, 0, 0, 1>
// CHECK-NEXT: %[[I:.*]] = mpt.reshape %[[I2]] : (tensor<2x4x3x1xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %[[RC:.*]] = mpt.mul %[[R]], %[[C]] {mpt.precision = "f32"}
// CHECK-NEXT: %[[IS:.*]] = mpt.mul %[[I]], %[[S]] {mpt.precision = "f32"}
// CHECK-NEXT: %[[RE:.*]] = mpt.sub %[[RC]], %[[IS]] {mpt.precision = "f32"}
// CHECK-NEXT: %[[RS:.*]] = mpt.mul %[[R]], %[[S]] {mpt.precision = "f32"}
// CHECK-NEXT: %[[IC:.*]] = mpt.mul %[[I]], %[[C]] {mpt.precision = "f32"}
// CHECK-NEXT: %[[IM:.*]] = mpt.add %[[RS]], %[[IC]] {mpt.precision = "f32"}
// CHECK-NEXT: %[[RE1:.*]] = mpt.reshape %[[RE]] : (tensor<2x4x3xf32>) -> tensor<2x4x3x1xf32>
// CHECK-NEXT: %[[IM1:.*]] = mpt.reshape %[[IM]] : (tensor<2x4x3xf32>) -> tensor<2x4x3x1xf32>
// CHECK-NEXT: %[[Y:.*]] = mpt.concat %[[RE1]], %[[IM1]] {axis = 3 : i64}
// CHECK-NEXT: %[[Z:.*]] = mpt.reshape %[[Y]] : (tensor<2x4x3x2xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: return %[[Z]]
func.func @rotary(%x: !torch.vtensor<[2,4,6],f32>,
    %f: !torch.vtensor<[4,3],complex<f32>> {mpt.name = "freqs_cis", mpt.role = "running_stat"})
    -> !torch.vtensor<[2,4,6],f32> {
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %s = "torch.prim.ListConstruct"(%2) : (!torch.int) -> !torch.list<int>
  %p = "torch.aten.view"(%x, %s) : (!torch.vtensor<[2,4,6],f32>, !torch.list<int>) -> !torch.vtensor<[2,4,3,2],f32>
  %z = "torch.aten.view_as_complex"(%p) : (!torch.vtensor<[2,4,3,2],f32>) -> !torch.vtensor<[2,4,3],complex<f32>>
  %m = "torch.aten.mul.Tensor"(%z, %f) : (!torch.vtensor<[2,4,3],complex<f32>>, !torch.vtensor<[4,3],complex<f32>>) -> !torch.vtensor<[2,4,3],complex<f32>>
  %r = "torch.aten.view_as_real"(%m) : (!torch.vtensor<[2,4,3],complex<f32>>) -> !torch.vtensor<[2,4,3,2],f32>
  %y = "torch.aten.view"(%r, %s) : (!torch.vtensor<[2,4,3,2],f32>, !torch.list<int>) -> !torch.vtensor<[2,4,6],f32>
  return %y : !torch.vtensor<[2,4,6],f32>
}

// -----

// The real part of a transform of a real tensor: one matmul. Roots at quarters of a turn
// are exact.
// CHECK-LABEL: func.func @real_part(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>
// CHECK-NEXT: %[[C:.*]] = mpt.constant dense<{{\[\[}}1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00], [1.000000e+00, 0.000000e+00, -1.000000e+00, 0.000000e+00], [1.000000e+00, -1.000000e+00, 1.000000e+00, -1.000000e+00], [1.000000e+00, 0.000000e+00, -1.000000e+00, 0.000000e+00]]>
// CHECK-NEXT: %[[Y:.*]] = mpt.matmul %[[X]], %[[C]] {mpt.precision = "f32"}
// CHECK-NEXT: return %[[Y]]
func.func @real_part(%x: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %last = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %z = "torch.aten.fft_fft"(%x, %none, %last, %none) : (!torch.vtensor<[3,4],f32>, !torch.none, !torch.int, !torch.none) -> !torch.vtensor<[3,4],complex<f32>>
  %y = "torch.aten.real"(%z) : (!torch.vtensor<[3,4],complex<f32>>) -> !torch.vtensor<[3,4],f32>
  return %y : !torch.vtensor<[3,4],f32>
}

// -----

// Under autocast transforms stay in f32, other matmuls do not.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch --split-input-file | mpt-opt --mpt-autocast="type=bf16" --split-input-file | FileCheck %s --check-prefix=LOW
// LOW-LABEL: func.func @precision(
// LOW: mpt.matmul {{.*}} : (tensor<3x4xbf16>, tensor<4x4xbf16>) -> tensor<3x4xf32>
// LOW: mpt.matmul {{.*}} : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
// LOW: mpt.mul {{.*}} -> tensor<3x4xf32>
func.func @precision(%x: !torch.vtensor<[3,4],f32>, %w: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[3,4],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %last = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %h = "torch.aten.mm"(%x, %w) : (!torch.vtensor<[3,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[3,4],f32>
  %z = "torch.aten.fft_fft"(%h, %none, %last, %none) : (!torch.vtensor<[3,4],f32>, !torch.none, !torch.int, !torch.none) -> !torch.vtensor<[3,4],complex<f32>>
  %y = "torch.aten.abs"(%z) : (!torch.vtensor<[3,4],complex<f32>>) -> !torch.vtensor<[3,4],f32>
  return %y : !torch.vtensor<[3,4],f32>
}

// -----

// 256 elements are 16 times 16: matmuls with matrices of 16 roots, and a multiplication by
// 256. Half of the sums are not computed. Both calls have the same constants.
// CHECK-LABEL: func.func @long(
// CHECK: mpt.constant dense<{{.*}}> : tensor<16x16xf32>
// CHECK: mpt.matmul {{.*}} {mpt.precision = "f32"} : (tensor<3x16x16xf32>, tensor<16x16xf32>) -> tensor<3x16x16xf32>
// CHECK: mpt.mul {{.*}} {mpt.precision = "f32"} : (tensor<3x16x16xf32>, tensor<16x16xf32>) -> tensor<3x16x16xf32>
// CHECK: mpt.matmul {{.*}} {mpt.precision = "f32"} : (tensor<3x16x16xf32>, tensor<16x9xf32>) -> tensor<3x16x9xf32>
// CHECK: mpt.slice {{.*}} -> tensor<3x129xf32>
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch --cse --split-input-file | FileCheck %s --check-prefix=SHARED
// SHARED-LABEL: func.func @long(
// SHARED-COUNT-6: mpt.constant dense<"0x
// SHARED-NOT: dense<"0x
// SHARED: return
func.func @long(%x: !torch.vtensor<[3,256],f32>, %y: !torch.vtensor<[3,256],f32>) -> !torch.vtensor<[3,129],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %a = "torch.aten.fft_rfft"(%x, %none, %one, %none) : (!torch.vtensor<[3,256],f32>, !torch.none, !torch.int, !torch.none) -> !torch.vtensor<[3,129],complex<f32>>
  %b = "torch.aten.fft_rfft"(%y, %none, %one, %none) : (!torch.vtensor<[3,256],f32>, !torch.none, !torch.int, !torch.none) -> !torch.vtensor<[3,129],complex<f32>>
  %c = "torch.aten.mul.Tensor"(%a, %b) : (!torch.vtensor<[3,129],complex<f32>>, !torch.vtensor<[3,129],complex<f32>>) -> !torch.vtensor<[3,129],complex<f32>>
  %d = "torch.aten.abs"(%c) : (!torch.vtensor<[3,129],complex<f32>>) -> !torch.vtensor<[3,129],f32>
  return %d : !torch.vtensor<[3,129],f32>
}

// -----

// 131 is a large prime: a convolution by transforms of 512.
// CHECK-LABEL: func.func @prime(
// CHECK: mpt.pad {{.*}} -> tensor<3x{{.*}}xf32>
// CHECK-NOT: tensor<131x131xf32>
// CHECK: return
func.func @prime(%x: !torch.vtensor<[3,131],f32>) -> !torch.vtensor<[3,131],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %a = "torch.aten.fft_fft"(%x, %none, %one, %none) : (!torch.vtensor<[3,131],f32>, !torch.none, !torch.int, !torch.none) -> !torch.vtensor<[3,131],complex<f32>>
  %d = "torch.aten.imag"(%a) : (!torch.vtensor<[3,131],complex<f32>>) -> !torch.vtensor<[3,131],f32>
  return %d : !torch.vtensor<[3,131],f32>
}

// -----

// What moves elements does so with each part: of a list, a real tensor's imaginary part is
// zero, and so is that of a number.
// CHECK-LABEL: func.func @moves(
// CHECK-SAME: %[[Z:[^:]*]]: tensor<2x3x2xf32>, %[[X:[^:]*]]: tensor<2x3xf32>
// CHECK-DAG: %[[R:.*]] = mpt.reshape %{{.*}} : (tensor<2x3x1xf32>) -> tensor<2x3xf32>
// CHECK: %[[RE:.*]] = mpt.concat %{{.*}}, %[[X]] {axis = 0 : i64}
// CHECK: %[[ZERO:.*]] = mpt.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK: %[[IM:.*]] = mpt.concat %{{.*}}, %[[ZERO]] {axis = 0 : i64}
// CHECK: mpt.pad %[[RE]] {{.*}}value = 5.0
// CHECK: mpt.pad %[[IM]] {high = array<i64: 0, 1>, low = array<i64: 0, 0>} :
func.func @moves(%z: !torch.vtensor<[2,3],complex<f32>>, %x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[4,4,2],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %5 = "torch.constant.float"() {value = 5.0 : f64} : () -> !torch.float
  %l = "torch.prim.ListConstruct"(%z, %x) : (!torch.vtensor<[2,3],complex<f32>>, !torch.vtensor<[2,3],f32>) -> !torch.list<vtensor>
  %c = "torch.aten.cat"(%l, %0) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[4,3],complex<f32>>
  %by = "torch.prim.ListConstruct"(%0, %1) : (!torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.aten.constant_pad_nd"(%c, %by, %5) : (!torch.vtensor<[4,3],complex<f32>>, !torch.list<int>, !torch.float) -> !torch.vtensor<[4,4],complex<f32>>
  %r = "torch.aten.view_as_real"(%p) : (!torch.vtensor<[4,4],complex<f32>>) -> !torch.vtensor<[4,4,2],f32>
  return %r : !torch.vtensor<[4,4,2],f32>
}

// -----

// A product with a real matrix is two matmuls, one of complex ones four. A region of
// torch.utils.checkpoint yields both parts.
// CHECK-LABEL: func.func @products(
// CHECK: mpt.checkpoint
// CHECK-COUNT-2: mpt.matmul
// CHECK-NOT: mpt.matmul
// CHECK: mpt.yield %{{.*}}, %{{.*}} : tensor<2x2xf32>, tensor<2x2xf32>
// CHECK-COUNT-4: mpt.matmul
// CHECK-NOT: mpt.matmul
// CHECK: return
func.func @products(%z: !torch.vtensor<[2,3],complex<f32>>, %x: !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[2,2,2],f32> {
  %a = "torch.checkpoint"() ({
    %w = "torch.aten.to.dtype"(%x) : (!torch.vtensor<[3,2],f32>) -> !torch.vtensor<[3,2],f32>
    %y = "torch.aten.mm"(%z, %w) : (!torch.vtensor<[2,3],complex<f32>>, !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[2,2],complex<f32>>
    "torch.checkpoint.yield"(%y) : (!torch.vtensor<[2,2],complex<f32>>) -> ()
  }) : () -> !torch.vtensor<[2,2],complex<f32>>
  %b = "torch.aten.mm"(%a, %a) : (!torch.vtensor<[2,2],complex<f32>>, !torch.vtensor<[2,2],complex<f32>>) -> !torch.vtensor<[2,2],complex<f32>>
  %r = "torch.aten.view_as_real"(%b) : (!torch.vtensor<[2,2],complex<f32>>) -> !torch.vtensor<[2,2,2],f32>
  return %r : !torch.vtensor<[2,2,2],f32>
}
