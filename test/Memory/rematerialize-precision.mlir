// Plans are made of the bytes that there really are. In f32 the cheaper of two values of
// one size is made again. With that one in bf16 (as behind mpt-autocast, where the sum
// stays f32) it frees too little, and the best plan is the other.
// RUN: mpt-opt %s --mpt-rematerialize="strategy=optimal budget=0.75x" --remarks-filter=mpt.remat 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t.remarks
// REMARKS: mpt.remat.summary {{.*}}'f32': {{.*}}, optimal
// REMARKS: mpt.remat.summary {{.*}}'bf16': {{.*}}, optimal

// CHECK-LABEL: func.func @f32
// CHECK-NOT: mpt.add {{.*}}mpt.remat
// CHECK: mpt.sqrt {{.*}}mpt.remat
// CHECK-NOT: mpt.add {{.*}}mpt.remat
// CHECK: return
func.func @f32(%x: tensor<4096xf32>, %k: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %p = mpt.sqrt %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %q = mpt.add %x, %k : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %t = mpt.tanh %k : (tensor<4096xf32>) -> tensor<4096xf32>
  %u = mpt.exp %t : (tensor<4096xf32>) -> tensor<4096xf32>
  %m = mpt.reduce %u {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4096xf32>) -> tensor<f32>
  %r = mpt.mul %q, %m : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %s = mpt.mul %p, %m : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r, %s : tensor<4096xf32>, tensor<4096xf32>
}

// CHECK-LABEL: func.func @bf16
// CHECK-NOT: mpt.sqrt {{.*}}mpt.remat
// CHECK: mpt.add {{.*}}mpt.remat
// CHECK-NOT: mpt.sqrt {{.*}}mpt.remat
// CHECK: return
func.func @bf16(%x: tensor<4096xf32>, %k: tensor<4096xf32>, %y: tensor<4096xbf16>) -> (tensor<4096xf32>, tensor<4096xbf16>) {
  %p = mpt.sqrt %y : (tensor<4096xbf16>) -> tensor<4096xbf16>
  %q = mpt.add %x, %k : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %t = mpt.tanh %k : (tensor<4096xf32>) -> tensor<4096xf32>
  %u = mpt.exp %t : (tensor<4096xf32>) -> tensor<4096xf32>
  %m = mpt.reduce %u {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4096xf32>) -> tensor<f32>
  %r = mpt.mul %q, %m : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %n = mpt.cast %m : (tensor<f32>) -> tensor<bf16>
  %s = mpt.mul %p, %n : (tensor<4096xbf16>, tensor<bf16>) -> tensor<4096xbf16>
  return %r, %s : tensor<4096xf32>, tensor<4096xbf16>
}
