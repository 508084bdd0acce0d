// arith, math and tensor: registered dialects, by their rule tables. Nothing here
// is a contraction, so that one op is put on the allow list.
//
// RUN: mpt-opt %s --mpt-autocast="type=bf16 allow=math.fma" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-validate-precision="type=bf16 allow=math.fma" -o /dev/null
// RUN: mpt-opt %t.once.mlir --mpt-autocast="type=bf16 allow=math.fma" | diff %t.once.mlir -

!v = vector<8xf32>
!t = tensor<2x4xf32>

// CHECK-LABEL: func.func @vectors(
// CHECK-SAME: %[[X:.*]]: vector<8xf32>, %[[W:.*]]: vector<8xf32>) -> vector<8xf32>
// CHECK-DAG: %[[XL:.*]] = arith.truncf %[[X]] {mpt.autocast} : vector<8xf32> to vector<8xbf16>
// CHECK-DAG: %[[WL:.*]] = arith.truncf %[[W]] {mpt.autocast} : vector<8xf32> to vector<8xbf16>
// CHECK-DAG: %[[H:.*]] = arith.constant dense<5.000000e-01> : vector<8xbf16>
// CHECK: %[[A:.*]] = math.fma %[[XL]], %[[WL]], %[[XL]] : vector<8xbf16>
// CHECK: %[[B:.*]] = arith.mulf %[[A]], %[[H]] : vector<8xbf16>
// CHECK: arith.negf %[[B]] : vector<8xbf16>
// CHECK: arith.cmpf {{.*}} : vector<8xbf16>
// CHECK: %[[S:.*]] = arith.select {{.*}} : vector<8xi1>, vector<8xbf16>
// CHECK: %[[D:.*]] = math.fma %[[S]], %[[WL]], %[[XL]] : vector<8xbf16>
// CHECK: %[[R:.*]] = arith.extf %[[D]] {mpt.autocast} : vector<8xbf16> to vector<8xf32>
// CHECK: return %[[R]]
func.func @vectors(%x: !v, %w: !v) -> !v {
  %half = arith.constant dense<0.5> : !v
  %a = math.fma %x, %w, %x : !v
  %b = arith.mulf %a, %half : !v
  %n = arith.negf %b : !v
  %p = arith.cmpf olt, %n, %b : !v
  %s = arith.select %p, %n, %b : vector<8xi1>, !v
  %d = math.fma %s, %w, %x : !v
  return %d : !v
}

// exp is denied, and what comes of it is f32 up to the next op that is allowed.
// CHECK-LABEL: func.func @denied(
// CHECK: %[[A:.*]] = math.fma {{.*}} : tensor<2x4xbf16>
// CHECK: %[[U:.*]] = arith.extf %[[A]] {mpt.autocast}
// CHECK: %[[E:.*]] = math.exp %[[U]] : tensor<2x4xf32>
// CHECK: %[[B:.*]] = arith.addf %[[E]], %arg1 : tensor<2x4xf32>
// CHECK: %[[L:.*]] = arith.truncf %[[B]] {mpt.autocast}
// CHECK: math.fma %[[L]], {{.*}} : tensor<2x4xbf16>
func.func @denied(%x: !t, %w: !t) -> !t {
  %a = math.fma %x, %w, %x : !t
  %e = math.exp %a : !t
  %b = arith.addf %e, %w : !t
  %d = math.fma %b, %w, %x : !t
  return %d : !t
}

// Scalars keep their type.
// CHECK-LABEL: func.func @scalars(
// CHECK-NEXT: math.fma {{.*}} : f32
// CHECK-NEXT: arith.mulf {{.*}} : f32
// CHECK-NEXT: math.fma {{.*}} : f32
// CHECK-NEXT: return
func.func @scalars(%x: f32, %w: f32) -> f32 {
  %a = math.fma %x, %w, %x : f32
  %b = arith.mulf %a, %w : f32
  %d = math.fma %b, %w, %x : f32
  return %d : f32
}

// Casts that the user wrote stay. Those that narrow need their f32; those from
// integers make the low type themselves, those to integers read it.
// CHECK-LABEL: func.func @users_casts(
// CHECK: %[[A:.*]] = math.fma {{.*}} : tensor<2x4xbf16>
// CHECK: %[[U:.*]] = arith.extf %[[A]] {mpt.autocast} : tensor<2x4xbf16> to tensor<2x4xf32>
// CHECK: %[[L:.*]] = arith.truncf %[[U]] : tensor<2x4xf32> to tensor<2x4xbf16>
// CHECK: arith.truncf %[[U]] : tensor<2x4xf32> to tensor<2x4xf16>
// CHECK: arith.extf %[[U]] : tensor<2x4xf32> to tensor<2x4xf64>
// CHECK: arith.fptosi %[[A]] : tensor<2x4xbf16> to tensor<2x4xi32>
// CHECK: %[[F:.*]] = arith.sitofp %arg2 : tensor<2x4xi32> to tensor<2x4xbf16>
// CHECK: math.fma %[[A]], %[[F]], %[[L]] : tensor<2x4xbf16>
func.func @users_casts(%x: !t, %w: !t, %i: tensor<2x4xi32>)
    -> (tensor<2x4xbf16>, tensor<2x4xf16>, tensor<2x4xf64>, tensor<2x4xi32>, !t) {
  %a = math.fma %x, %w, %x : !t
  %low = arith.truncf %a : !t to tensor<2x4xbf16>
  %half = arith.truncf %a : !t to tensor<2x4xf16>
  %wide = arith.extf %a : !t to tensor<2x4xf64>
  %int = arith.fptosi %a : !t to tensor<2x4xi32>
  %f = arith.sitofp %i : tensor<2x4xi32> to !t
  %u = arith.extf %low : tensor<2x4xbf16> to !t
  %d = math.fma %a, %f, %u : !t
  %e = math.fma %d, %f, %w : !t
  return %low, %half, %wide, %int, %e : tensor<2x4xbf16>, tensor<2x4xf16>, tensor<2x4xf64>, tensor<2x4xi32>, !t
}

// Shapes follow; what makes a scalar of a tensor reads f32.
// CHECK-LABEL: func.func @shapes(
// CHECK: tensor.collapse_shape {{.*}} : tensor<2x4xbf16> into tensor<8xbf16>
// CHECK: tensor.cast {{.*}} : tensor<8xbf16> to tensor<?xbf16>
// CHECK: %[[E:.*]] = tensor.empty(%arg2) : tensor<?xbf16>
// CHECK: tensor.insert_slice %{{.*}} into %[[E]]{{.*}} : tensor<?xbf16> into tensor<?xbf16>
// CHECK: tensor.extract_slice {{.*}} : tensor<?xbf16> to tensor<?xbf16>
// CHECK: %[[M:.*]] = math.fma {{.*}} : tensor<?xbf16>
// CHECK: %[[U:.*]] = arith.extf %[[M]] {mpt.autocast} : tensor<?xbf16> to tensor<?xf32>
// CHECK: tensor.extract %[[U]][%arg2] : tensor<?xf32>
func.func @shapes(%x: !t, %w: !t, %n: index) -> (tensor<?xf32>, f32) {
  %a = math.fma %x, %w, %x : !t
  %c = tensor.collapse_shape %a [[0, 1]] : !t into tensor<8xf32>
  %d = tensor.cast %c : tensor<8xf32> to tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %i = tensor.insert_slice %d into %e[0] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %s = tensor.extract_slice %i[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %m = math.fma %s, %s, %s : tensor<?xf32>
  %z = tensor.extract %m[%n] : tensor<?xf32>
  return %m, %z : tensor<?xf32>, f32
}

// Elements around a tensor are of its type.
// CHECK-LABEL: func.func @pad(
// CHECK: tensor.pad
// CHECK: %[[L:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK: tensor.yield %[[L]] : bf16
// CHECK: } : tensor<2x4xbf16> to tensor<4x6xbf16>
func.func @pad(%x: !t, %w: !t) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %a = math.fma %x, %w, %x : !t
  %p = tensor.pad %a low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : !t to tensor<4x6xf32>
  %m = math.fma %p, %p, %p : tensor<4x6xf32>
  return %m : tensor<4x6xf32>
}

// No contraction, no casts.
// CHECK-LABEL: func.func @nothing_allowed(
// CHECK-NOT: truncf
func.func @nothing_allowed(%x: !t, %w: !t) -> !t {
  %a = arith.mulf %x, %w : !t
  %b = math.tanh %a : !t
  return %b : !t
}
