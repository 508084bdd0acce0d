// Structured ops: named or not, they are what their iterators and regions say.
//
// RUN: mpt-opt %s --mpt-autocast="type=f16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-validate-precision="type=f16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --mpt-autocast="type=f16" | diff %t.once.mlir -
// RUN: mpt-opt %s --mpt-autocast="type=f16 mixed-results=false" -o %t.same.mlir
// RUN: FileCheck --check-prefix=SAME %s < %t.same.mlir
// RUN: mpt-opt %t.same.mlir --mpt-autocast="type=f16 mixed-results=false" | diff %t.same.mlir -

!x = tensor<4x4xf32>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#col = affine_map<(d0, d1) -> (d0)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Contractions read low operands and add to f32. What lies between them computes in
// f32 inside, reads f32 and stores low: no cast is needed around it, unless
// mixed forms are turned off.
// CHECK-LABEL: func.func @mlp(
// CHECK-DAG: %[[XL:.*]] = arith.truncf %arg0 {mpt.autocast} : tensor<4x4xf32> to tensor<4x4xf16>
// CHECK-DAG: %[[WL:.*]] = arith.truncf %arg1 {mpt.autocast} : tensor<4x4xf32> to tensor<4x4xf16>
// CHECK-DAG: %[[Z:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-DAG: %[[E:.*]] = tensor.empty() : tensor<4x4xf16>
// CHECK: %[[M:.*]] = linalg.matmul ins(%[[XL]], %[[WL]] : tensor<4x4xf16>, tensor<4x4xf16>) outs(%[[Z]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[R:.*]] = linalg.generic {{.*}} ins(%[[M]], %arg2 : tensor<4x4xf32>, tensor<4xf32>) outs(%[[E]] : tensor<4x4xf16>)
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, %[[Q:.*]]: f32, %{{.*}}: f16):
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[P]], %[[Q]] : f32
// CHECK-NEXT: %[[T:.*]] = arith.mulf %[[S]], %[[S]] : f32
// CHECK-NEXT: %[[L:.*]] = arith.truncf %[[T]] : f32 to f16
// CHECK-NEXT: linalg.yield %[[L]] : f16
// CHECK: %[[N:.*]] = linalg.abs ins(%[[R]] : tensor<4x4xf16>) outs(%[[E]] : tensor<4x4xf16>)
// CHECK: %[[V:.*]] = linalg.add ins(%[[R]], %[[N]] : tensor<4x4xf16>, tensor<4x4xf16>) outs(%[[E]] : tensor<4x4xf16>)
// CHECK: linalg.matmul ins(%[[R]], %[[V]] : tensor<4x4xf16>, tensor<4x4xf16>) outs(%[[Z]] : tensor<4x4xf32>)
// SAME-LABEL: func.func @mlp(
// SAME: %[[M:.*]] = linalg.matmul
// SAME: %[[R:.*]] = linalg.generic {{.*}} ins(%[[M]], %arg2 : tensor<4x4xf32>, tensor<4xf32>) outs(%{{.*}} : tensor<4x4xf32>)
// SAME: arith.truncf %[[R]] {mpt.autocast}
func.func @mlp(%x: !x, %w: !x, %b: tensor<4xf32>) -> !x {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : !x
  %z = linalg.fill ins(%zero : f32) outs(%e : !x) -> !x
  %m = linalg.matmul ins(%x, %w : !x, !x) outs(%z : !x) -> !x
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %b : !x, tensor<4xf32>) outs(%e : !x) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.mulf %s, %s : f32
    linalg.yield %t : f32
  } -> !x
  %n = linalg.abs ins(%r : !x) outs(%e : !x) -> !x
  %v = linalg.add ins(%r, %n : !x, !x) outs(%e : !x) -> !x
  %u = linalg.matmul ins(%r, %v : !x, !x) outs(%z : !x) -> !x
  return %u : !x
}

// A weight's update is not between contractions: reading f32 is no reason to store low.
// CHECK-LABEL: func.func @update(
// CHECK: %[[G:.*]] = linalg.matmul {{.*}} outs(%arg3 : tensor<4x4xf32>)
// CHECK-NOT: f16
// CHECK: return
func.func @update(%x: !x, %w: !x, %dy: !x, %acc: !x) -> !x {
  %lr = arith.constant 0.1 : f32
  %e = tensor.empty() : !x
  %g = linalg.matmul ins(%x, %dy : !x, !x) outs(%acc : !x) -> !x
  %t = linalg.transpose ins(%g : !x) outs(%e : !x) permutation = [1, 0]
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%t : !x) outs(%e : !x) {
  ^bb0(%p: f32, %o: f32):
    %a = arith.mulf %p, %lr : f32
    linalg.yield %a : f32
  } -> !x
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %s : !x, !x) outs(%e : !x) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %a = arith.subf %p, %q : f32
    linalg.yield %a : f32
  } -> !x
  return %n : !x
}

// CHECK-LABEL: func.func @contraction(
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x4xf16>, tensor<4x4xf16>) outs(%arg2 : tensor<4x4xf32>)
// CHECK-NEXT: ^bb0(%[[P:.*]]: f16, %[[Q:.*]]: f16, %[[O:.*]]: f32):
// CHECK-NEXT: %[[A:.*]] = arith.extf %[[P]] : f16 to f32
// CHECK-NEXT: %[[B:.*]] = arith.extf %[[Q]] : f16 to f32
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[O]], %[[S]] : f32
// CHECK-NEXT: linalg.yield %[[T]] : f32
func.func @contraction(%x: !x, %w: !x, %acc: !x) -> !x {
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : !x, !x) outs(%acc : !x) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  } -> !x
  return %m : !x
}

// A sum reads what is there and stays f32, so does exp; a maximum is low.
// CHECK-LABEL: func.func @reductions(
// CHECK: %[[N:.*]] = linalg.negf ins(%{{.*}} : tensor<4x4xf16>) outs(%{{.*}} : tensor<4x4xf16>)
// CHECK: linalg.generic {{.*}} ins(%[[N]] : tensor<4x4xf16>) outs(%arg3 : tensor<4xf32>)
// CHECK-NEXT: ^bb0(%[[P:.*]]: f16, %[[O:.*]]: f32):
// CHECK-NEXT: %[[U:.*]] = arith.extf %[[P]] : f16 to f32
// CHECK-NEXT: arith.addf %[[U]], %[[O]] : f32
// CHECK: %[[I:.*]] = linalg.fill ins(%{{.*}} : f16) outs(%{{.*}} : tensor<4xf16>) -> tensor<4xf16>
// CHECK: %[[M:.*]] = linalg.reduce ins(%[[N]] : tensor<4x4xf16>) outs(%[[I]] : tensor<4xf16>) dimensions = [1]
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.generic {{.*}} ins(%[[N]] : tensor<4x4xf16>) outs(%{{.*}} : tensor<4x4xf32>)
// CHECK-NEXT: ^bb0(%[[P:.*]]: f16, %{{.*}}: f32):
// CHECK-NEXT: %[[U:.*]] = arith.extf %[[P]] : f16 to f32
// CHECK-NEXT: math.exp %[[U]] : f32
func.func @reductions(%x: !x, %w: !x, %acc: !x, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, !x, !x) {
  %inf = arith.constant 0xFF800000 : f32
  %m = linalg.matmul ins(%x, %w : !x, !x) outs(%acc : !x) -> !x
  %e = tensor.empty() : !x
  %n = linalg.negf ins(%m : !x) outs(%e : !x) -> !x
  %y = linalg.matmul ins(%n, %w : !x, !x) outs(%acc : !x) -> !x
  %s = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["parallel", "reduction"]}
      ins(%n : !x) outs(%v : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %f = tensor.empty() : tensor<4xf32>
  %g = linalg.fill ins(%inf : f32) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  %x0 = linalg.reduce { arith.maximumf } ins(%n : !x) outs(%g : tensor<4xf32>) dimensions = [1]
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%n : !x) outs(%e : !x) {
  ^bb0(%p: f32, %o: f32):
    %t = math.exp %p : f32
    linalg.yield %t : f32
  } -> !x
  %k = linalg.matvec ins(%w, %x0 : !x, tensor<4xf32>) outs(%v : tensor<4xf32>) -> tensor<4xf32>
  return %s, %k, %y, %h : tensor<4xf32>, tensor<4xf32>, !x, !x
}

// Named elementwise ops; exp is denied.
// CHECK-LABEL: func.func @named(
// CHECK: %[[M:.*]] = linalg.matmul
// CHECK: %[[L:.*]] = arith.truncf %[[M]] {mpt.autocast} : tensor<4x4xf32> to tensor<4x4xf16>
// CHECK: %[[N:.*]] = linalg.mul ins(%[[L]], %[[L]] : tensor<4x4xf16>, tensor<4x4xf16>) outs(%{{.*}} : tensor<4x4xf16>)
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[N]] : tensor<4x4xf16>) outs(%{{.*}} : tensor<4x4xf16>)
// CHECK: linalg.map ins(%[[T]], %[[N]] : tensor<4x4xf16>, tensor<4x4xf16>) outs(%{{.*}} : tensor<4x4xf16>)
// CHECK: %[[E:.*]] = linalg.exp ins(%{{.*}} : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xf32>)
// CHECK: arith.truncf %[[E]] {mpt.autocast}
func.func @named(%x: !x, %w: !x, %acc: !x) -> !x {
  %e = tensor.empty() : !x
  %m = linalg.matmul ins(%x, %w : !x, !x) outs(%acc : !x) -> !x
  %n = linalg.mul ins(%m, %m : !x, !x) outs(%e : !x) -> !x
  %t = linalg.transpose ins(%n : !x) outs(%e : !x) permutation = [1, 0]
  %k = linalg.map { arith.addf } ins(%t, %n : !x, !x) outs(%e : !x)
  %l = linalg.matmul ins(%k, %n : !x, !x) outs(%acc : !x) -> !x
  %p = linalg.exp ins(%l : !x) outs(%e : !x) -> !x
  %q = linalg.matmul ins(%p, %w : !x, !x) outs(%acc : !x) -> !x
  return %q : !x
}

// A convolution is a contraction; a pooling moves or adds.
// CHECK-LABEL: func.func @windows(
// CHECK: %[[C:.*]] = linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x8x8x4xf16>, tensor<3x3x4x4xf16>) outs(%arg2 : tensor<1x6x6x4xf32>)
// CHECK: %[[M:.*]] = linalg.pooling_nhwc_max {{.*}} ins(%[[C]], %{{.*}} : tensor<1x6x6x4xf32>, tensor<2x2xf16>) outs(%{{.*}} : tensor<1x3x3x4xf16>)
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%[[M]], %{{.*}} : tensor<1x3x3x4xf16>, tensor<3x3x4x4xf16>)
// CHECK: linalg.pooling_nhwc_sum {{.*}} outs(%arg4 : tensor<1x3x3x4xf32>)
func.func @windows(%x: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x4xf32>, %acc: tensor<1x6x6x4xf32>,
                   %k2: tensor<3x3x4x4xf32>, %a2: tensor<1x3x3x4xf32>, %a3: tensor<1x1x1x4xf32>) -> (tensor<1x1x1x4xf32>, tensor<1x3x3x4xf32>) {
  %inf = arith.constant 0xFF800000 : f32
  %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %k : tensor<1x8x8x4xf32>, tensor<3x3x4x4xf32>) outs(%acc : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  %win = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<1x3x3x4xf32>
  %f = linalg.fill ins(%inf : f32) outs(%e : tensor<1x3x3x4xf32>) -> tensor<1x3x3x4xf32>
  %m = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%c, %win : tensor<1x6x6x4xf32>, tensor<2x2xf32>) outs(%f : tensor<1x3x3x4xf32>) -> tensor<1x3x3x4xf32>
  %d = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%m, %k2 : tensor<1x3x3x4xf32>, tensor<3x3x4x4xf32>) outs(%a3 : tensor<1x1x1x4xf32>) -> tensor<1x1x1x4xf32>
  %s = linalg.pooling_nhwc_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%c, %win : tensor<1x6x6x4xf32>, tensor<2x2xf32>) outs(%a2 : tensor<1x3x3x4xf32>) -> tensor<1x3x3x4xf32>
  return %d, %s : tensor<1x1x1x4xf32>, tensor<1x3x3x4xf32>
}

// A mask that f16 would make infinite keeps what reads it in f32.
// CHECK-LABEL: func.func @mask(
// CHECK: linalg.select ins(%arg3, %{{.*}}, %{{.*}} : tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xf32>)
func.func @mask(%x: !x, %w: !x, %acc: !x, %p: tensor<4x4xi1>) -> !x {
  %big = arith.constant -3.4e38 : f32
  %e = tensor.empty() : !x
  %f = linalg.fill ins(%big : f32) outs(%e : !x) -> !x
  %m = linalg.matmul ins(%x, %w : !x, !x) outs(%acc : !x) -> !x
  %s = linalg.select ins(%p, %m, %f : tensor<4x4xi1>, !x, !x) outs(%e : !x) -> !x
  %y = linalg.matmul ins(%s, %w : !x, !x) outs(%acc : !x) -> !x
  return %y : !x
}

// What a region captures keeps its type.
// CHECK-LABEL: func.func @captured(
// CHECK: %[[N:.*]] = linalg.negf ins(%{{.*}} : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[N]] : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xf16>)
// CHECK: tensor.extract %[[N]][%{{.*}}, %{{.*}}] : tensor<4x4xf32>
func.func @captured(%x: !x, %w: !x, %acc: !x) -> !x {
  %e = tensor.empty() : !x
  %m = linalg.matmul ins(%x, %w : !x, !x) outs(%acc : !x) -> !x
  %n = linalg.negf ins(%m : !x) outs(%e : !x) -> !x
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%n : !x) outs(%e : !x) {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = tensor.extract %n[%j, %i] : !x
    %t = arith.mulf %p, %c : f32
    linalg.yield %t : f32
  } -> !x
  %y = linalg.matmul ins(%g, %w : !x, !x) outs(%acc : !x) -> !x
  return %y : !x
}

// What the user says of an op counts more than what its region holds.
// CHECK-LABEL: func.func @told(
// CHECK: %[[M:.*]] = linalg.matmul
// CHECK: %[[L:.*]] = arith.truncf %[[M]] {mpt.autocast} : tensor<4x4xf32> to tensor<4x4xf16>
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%[[L]] : tensor<4x4xf16>) outs(%{{.*}} : tensor<4x4xf16>) attrs = {mpt.precision = "low"}
// CHECK: math.exp %{{.*}} : f32
// CHECK: linalg.generic {{.*}} ins(%[[G]] : tensor<4x4xf16>) outs(%{{.*}} : tensor<4x4xf32>) attrs = {mpt.precision = "f32"}
func.func @told(%x: !x, %w: !x, %acc: !x) -> !x {
  %e = tensor.empty() : !x
  %m = linalg.matmul ins(%x, %w : !x, !x) outs(%acc : !x) -> !x
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : !x) outs(%e : !x) attrs = {mpt.precision = "low"} {
  ^bb0(%p: f32, %o: f32):
    %t = math.exp %p : f32
    linalg.yield %t : f32
  } -> !x
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : !x) outs(%e : !x) attrs = {mpt.precision = "f32"} {
  ^bb0(%p: f32, %o: f32):
    %t = math.tanh %p : f32
    linalg.yield %t : f32
  } -> !x
  %y = linalg.matmul ins(%h, %w : !x, !x) outs(%acc : !x) -> !x
  return %y : !x
}
