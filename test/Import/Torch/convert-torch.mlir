// PyTorch's ops become ops of the mpt dialect.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch --split-input-file | FileCheck %s

// An image is [N, H, W, C] from the first convolution to where the graph looks at its
// dimensions: one transpose of the input, one of each filter, none in between.
// CHECK-LABEL: func.func @image(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3x8x8xf32> {mpt.name = "x", mpt.role = "input"}
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x3x3x3xf32> {mpt.name = "w", mpt.role = "parameter"}
// CHECK-SAME: %[[B:[^:]*]]: tensor<4xf32>
// CHECK-SAME: -> (tensor<2x4xf32> {mpt.name = "y"}, tensor<4xf32> {mpt.name = "mean.next", mpt.updates = "mean"}, tensor<4xf32> {mpt.name = "var.next", mpt.updates = "var"})
// CHECK-NEXT: %[[NHWC:.*]] = mpt.transpose %[[X]] {permutation = array<i64: 0, 2, 3, 1>}
// CHECK-NEXT: %[[C:.*]] = mpt.conv2d %[[NHWC]], %[[W]], %[[B]] {oihw, padding = array<i64: 1, 1, 1, 1>} : {{.*}} -> tensor<2x8x8x4xf32>
// CHECK-NEXT: %[[Y:.*]], %[[MEAN:.*]], %[[VAR:.*]], %{{.*}}, %{{.*}} = mpt.batch_norm %[[C]],
// CHECK-NEXT: %[[R:.*]] = mpt.relu %[[Y]]
// CHECK-NEXT: %[[A:.*]] = mpt.add %[[R]], %[[C]]
// CHECK-NEXT: %[[P:.*]] = mpt.max_pool %[[A]] {strides = array<i64: 2, 2>, window = array<i64: 2, 2>}
// CHECK-NEXT: %[[M:.*]] = mpt.reduce %[[P]] {axes = array<i64: 1, 2>, keep_dims, kind = #mpt.reduce_kind<mean>}
// CHECK-NEXT: %[[F:.*]] = mpt.reshape %[[M]] : (tensor<2x1x1x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: return %[[F]], %[[MEAN]], %[[VAR]]
func.func @image(%x: !torch.vtensor<[2,3,8,8],f32> {mpt.name = "x", mpt.role = "input"},
    %w: !torch.vtensor<[4,3,3,3],f32> {mpt.name = "w", mpt.role = "parameter"},
    %b: !torch.vtensor<[4],f32>, %g: !torch.vtensor<[4],f32>,
    %mean: !torch.vtensor<[4],f32> {mpt.name = "mean", mpt.role = "running_stat"},
    %var: !torch.vtensor<[4],f32> {mpt.name = "var", mpt.role = "running_stat"})
    -> (!torch.vtensor<[2,4],f32> {mpt.name = "y"}) {
  %none = "torch.constant.none"() : () -> !torch.none
  %0 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %last = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %false = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %eps = "torch.constant.float"() {value = 1.0e-05 : f64} : () -> !torch.float
  %momentum = "torch.constant.float"() {value = 1.0e-01 : f64} : () -> !torch.float
  %ones = "torch.prim.ListConstruct"(%1, %1) : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = "torch.prim.ListConstruct"(%0, %0) : (!torch.int, !torch.int) -> !torch.list<int>
  %twos = "torch.prim.ListConstruct"(%2, %2) : (!torch.int, !torch.int) -> !torch.list<int>
  %empty = "torch.prim.ListConstruct"() : () -> !torch.list<int>
  %c = "torch.aten.conv2d"(%x, %w, %b, %ones, %ones, %ones, %1) : (!torch.vtensor<[2,3,8,8],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.vtensor<[4],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[2,4,8,8],f32>
  %n = "torch.aten.batch_norm"(%c, %g, %b, %mean, %var, %true, %momentum, %eps, %true) : (!torch.vtensor<[2,4,8,8],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.bool, !torch.float, !torch.float, !torch.bool) -> !torch.vtensor<[2,4,8,8],f32>
  %r = "torch.aten.relu_"(%n) : (!torch.vtensor<[2,4,8,8],f32>) -> !torch.vtensor<[2,4,8,8],f32>
  // What reads %n reads what relu_ made of it.
  %a = "torch.aten.add.Tensor"(%n, %c, %1) : (!torch.vtensor<[2,4,8,8],f32>, !torch.vtensor<[2,4,8,8],f32>, !torch.int) -> !torch.vtensor<[2,4,8,8],f32>
  %p = "torch.aten.max_pool2d"(%a, %twos, %empty, %zeros, %ones, %false) : (!torch.vtensor<[2,4,8,8],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[2,4,4,4],f32>
  %m = "torch.aten.adaptive_avg_pool2d"(%p, %ones) : (!torch.vtensor<[2,4,4,4],f32>, !torch.list<int>) -> !torch.vtensor<[2,4,1,1],f32>
  %f = "torch.aten.flatten.using_ints"(%m, %1, %last) : (!torch.vtensor<[2,4,1,1],f32>, !torch.int, !torch.int) -> !torch.vtensor<[2,4],f32>
  return %f : !torch.vtensor<[2,4],f32>
}

// -----

// Types: what torch computes in f32 is cast; numbers are constants; the classes of a loss go
// last; random state becomes arguments.
// CHECK-LABEL: func.func @head(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x8xf32>, %[[W:[^:]*]]: tensor<5x8xf32>, %[[B:[^:]*]]: tensor<5xf32>, %[[Y:[^:]*]]: tensor<2xi64>
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<i64> {mpt.init = {kind = "zeros"}, mpt.name = "seed", mpt.role = "rng"}
// CHECK-SAME: %[[ATTEMPT:[^:]*]]: tensor<i64> {mpt.init = {kind = "zeros"}, mpt.name = "attempt", mpt.role = "rng"}
// CHECK: %[[D:.*]], %{{.*}} = mpt.dropout %[[X]], %[[SEED]], %[[ATTEMPT]] {rate = 1.000000e-01 : f64, stream = 0 : i64}
// CHECK-NOT: mpt.transpose
// CHECK: %[[L:.*]] = mpt.linear %[[D]], %[[W]], %[[B]] {transpose_weight}
// CHECK: %[[I:.*]] = mpt.cast %[[Y]] : (tensor<2xi64>) -> tensor<2xf32>
// CHECK: %[[LOSS:.*]], %{{.*}} = mpt.cross_entropy %[[L]], %[[Y]] {ignore_index = -100 : i64, label_smoothing = 1.000000e-01 : f64}
// CHECK: return %[[LOSS]]
func.func @head(%x: !torch.vtensor<[2,8],f32>, %w: !torch.vtensor<[5,8],f32>,
    %b: !torch.vtensor<[5],f32>, %y: !torch.vtensor<[2],si64>) -> (!torch.vtensor<[],f32>, !torch.vtensor<[2],f32>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %ignored = "torch.constant.int"() {value = -100 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %p = "torch.constant.float"() {value = 1.0e-01 : f64} : () -> !torch.float
  %half = "torch.constant.float"() {value = 5.0e-01 : f64} : () -> !torch.float
  %d = "torch.aten.dropout"(%x, %p, %true) : (!torch.vtensor<[2,8],f32>, !torch.float, !torch.bool) -> !torch.vtensor<[2,8],f32>
  %l = "torch.aten.linear"(%d, %w, %b) : (!torch.vtensor<[2,8],f32>, !torch.vtensor<[5,8],f32>, !torch.vtensor<[5],f32>) -> !torch.vtensor<[2,5],f32>
  %m = "torch.aten.mul.Scalar"(%y, %half) : (!torch.vtensor<[2],si64>, !torch.float) -> !torch.vtensor<[2],f32>
  %loss = "torch.aten.cross_entropy_loss"(%l, %y, %none, %1, %ignored, %p) : (!torch.vtensor<[2,5],f32>, !torch.vtensor<[2],si64>, !torch.none, !torch.int, !torch.int, !torch.float) -> !torch.vtensor<[],f32>
  return %loss, %m : !torch.vtensor<[],f32>, !torch.vtensor<[2],f32>
}

// -----

// Regions of torch.utils.checkpoint, lists, literals, and what has no gradient.
// CHECK-LABEL: func.func @region(
// CHECK: %[[C:.*]] = mpt.constant dense<[1, 2]> : tensor<2xi64>
// CHECK: %[[OUT:.*]] = mpt.checkpoint {
// CHECK: %[[T:.*]] = mpt.tanh %arg0
// CHECK: mpt.yield %[[T]]
// CHECK: mpt.slice %[[OUT]] {{.*}} -> tensor<2x1xf32>
// CHECK: %[[S:.*]] = mpt.slice %[[OUT]] {{.*}} -> tensor<2x3xf32>
// CHECK: mpt.stop_gradient %[[S]]
func.func @region(%x: !torch.vtensor<[2,4],f32>) -> (!torch.vtensor<[2,1],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[2],si64>) {
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %3 = "torch.constant.int"() {value = 3 : i64} : () -> !torch.int
  %c = "torch.vtensor.literal"() <{value = dense<[1, 2]> : tensor<2xsi64>}> : () -> !torch.vtensor<[2],si64>
  %t = "torch.checkpoint"() ({
    %i = "torch.aten.tanh"(%x) : (!torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32>
    "torch.checkpoint.yield"(%i) : (!torch.vtensor<[2,4],f32>) -> ()
  }) : () -> !torch.vtensor<[2,4],f32>
  %sizes = "torch.prim.ListConstruct"(%1, %3) : (!torch.int, !torch.int) -> !torch.list<int>
  %parts = "torch.aten.split_with_sizes"(%t, %sizes, %1) : (!torch.vtensor<[2,4],f32>, !torch.list<int>, !torch.int) -> !torch.list<vtensor>
  %p:2 = "torch.prim.ListUnpack"(%parts) : (!torch.list<vtensor>) -> (!torch.vtensor<[2,1],f32>, !torch.vtensor<[2,3],f32>)
  %q = "torch.aten.detach"(%p#1) : (!torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32>
  return %p#0, %q, %c : !torch.vtensor<[2,1],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[2],si64>
}

// -----

// An open batch, and a permutation to [N, C, H, W] that costs nothing.
// CHECK-LABEL: func.func @open(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4x4x3xf32>, %[[W:[^:]*]]: tensor<2x3x1x1xf32>
// CHECK-NEXT: %[[C:.*]] = mpt.conv2d %[[X]], %[[W]] {oihw} : (tensor<?x4x4x3xf32>, tensor<2x3x1x1xf32>) -> tensor<?x4x4x2xf32>
// CHECK-NEXT: return %[[C]]
func.func @open(%x: !torch.vtensor<[?,4,4,3],f32>, %w: !torch.vtensor<[2,3,1,1],f32>) -> !torch.vtensor<[?,4,4,2],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %3 = "torch.constant.int"() {value = 3 : i64} : () -> !torch.int
  %ones = "torch.prim.ListConstruct"(%1, %1) : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = "torch.prim.ListConstruct"(%0, %0) : (!torch.int, !torch.int) -> !torch.list<int>
  %first = "torch.prim.ListConstruct"(%0, %3, %1, %2) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %last = "torch.prim.ListConstruct"(%0, %2, %3, %1) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.aten.permute"(%x, %first) : (!torch.vtensor<[?,4,4,3],f32>, !torch.list<int>) -> !torch.vtensor<[?,3,4,4],f32>
  %c = "torch.aten.conv2d"(%p, %w, %none, %ones, %zeros, %ones, %1) : (!torch.vtensor<[?,3,4,4],f32>, !torch.vtensor<[2,3,1,1],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[?,2,4,4],f32>
  %q = "torch.aten.permute"(%c, %last) : (!torch.vtensor<[?,2,4,4],f32>, !torch.list<int>) -> !torch.vtensor<[?,4,4,2],f32>
  return %q : !torch.vtensor<[?,4,4,2],f32>
}

// -----

// The probabilities of the targets, with blanks between them, in a loop over time.
// CHECK-LABEL: func.func @ctc(
// CHECK: mpt.check_indices {{.*}} : (tensor<2x2xi64>) -> tensor<2x2xi64>
// CHECK: %[[E:.*]] = mpt.gather {{.*}} -> tensor<6x2x5xf32>
// CHECK: %[[S:.*]]:2 = mpt.scan {{.*}} : {{.*}}tensor<2x5xf32>
// CHECK: mpt.maximum
// CHECK: mpt.stop_gradient
// CHECK: mpt.yield {{.*}} : tensor<2x5xf32>, tensor<2x5xf32>
// CHECK: return {{.*}} : tensor<2xf32>
func.func @ctc(%x: !torch.vtensor<[6,2,3],f32>, %y: !torch.vtensor<[2,2],si64>,
    %n: !torch.vtensor<[2],si64>) -> !torch.vtensor<[2],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %l:2 = "torch.aten._ctc_loss.Tensor"(%x, %y, %n, %n, %0, %no) : (!torch.vtensor<[6,2,3],f32>, !torch.vtensor<[2,2],si64>, !torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>, !torch.int, !torch.bool) -> (!torch.vtensor<[2],f32>, !torch.vtensor<[0],f32>)
  return %l#0 : !torch.vtensor<[2],f32>
}

// -----

// A transposed convolution is the gradient of a convolution for its input, with torch's
// filter as it is. Of two more columns than windows reach one is padded with zeros, since
// a stride of 2 leaves one out.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x4x4x6xf32>, %[[W:[^:]*]]: tensor<6x3x2x2xf32>, %[[B:[^:]*]]: tensor<3xf32>
// CHECK-NEXT: %[[Y:.*]] = mpt.conv2d_input_grad %[[X]], %[[W]] {dilations = array<i64: 1, 3>, oihw, strides = array<i64: 2, 2>} : (tensor<2x4x4x6xf32>, tensor<6x3x2x2xf32>) -> tensor<2x8x11x3xf32>
// CHECK-NEXT: %[[P:.*]] = mpt.pad %[[Y]] {high = array<i64: 0, 0, 1, 0>, low = array<i64: 0, 0, 0, 0>{{.*}}} : {{.*}} -> tensor<2x8x12x3xf32>
// CHECK-NEXT: %[[S:.*]] = mpt.add %[[P]], %[[B]]
// CHECK-NEXT: return %[[S]]
func.func @transposed(%x: !torch.vtensor<[2,4,4,6],f32>, %w: !torch.vtensor<[6,3,2,2],f32>, %b: !torch.vtensor<[3],f32>) -> !torch.vtensor<[2,8,12,3],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %3 = "torch.constant.int"() {value = 3 : i64} : () -> !torch.int
  %zeros = "torch.prim.ListConstruct"(%0, %0) : (!torch.int, !torch.int) -> !torch.list<int>
  %twos = "torch.prim.ListConstruct"(%2, %2) : (!torch.int, !torch.int) -> !torch.list<int>
  %more = "torch.prim.ListConstruct"(%0, %2) : (!torch.int, !torch.int) -> !torch.list<int>
  %apart = "torch.prim.ListConstruct"(%1, %3) : (!torch.int, !torch.int) -> !torch.list<int>
  %first = "torch.prim.ListConstruct"(%0, %3, %1, %2) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %last = "torch.prim.ListConstruct"(%0, %2, %3, %1) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.aten.permute"(%x, %first) : (!torch.vtensor<[2,4,4,6],f32>, !torch.list<int>) -> !torch.vtensor<[2,6,4,4],f32>
  %c = "torch.aten.conv_transpose2d.input"(%p, %w, %b, %twos, %zeros, %more, %1, %apart) : (!torch.vtensor<[2,6,4,4],f32>, !torch.vtensor<[6,3,2,2],f32>, !torch.vtensor<[3],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int, !torch.list<int>) -> !torch.vtensor<[2,3,8,12],f32>
  %q = "torch.aten.permute"(%c, %last) : (!torch.vtensor<[2,3,8,12],f32>, !torch.list<int>) -> !torch.vtensor<[2,8,12,3],f32>
  return %q : !torch.vtensor<[2,8,12,3],f32>
}

// -----

// A row that doubles is two phases of two strided slices each.
// CHECK-LABEL: func.func @doubled(
// CHECK-NOT: mpt.matmul
// CHECK: mpt.concat {{.*}} {axis = 1 : i64} : (tensor<2x1x3xf32>, tensor<2x70x3xf32>, tensor<2x1x3xf32>) -> tensor<2x72x3xf32>
// CHECK-COUNT-4: mpt.slice {{.*}} -> tensor<2x70x3xf32>
// CHECK-NOT: mpt.slice
// CHECK: mpt.concat {{.*}} {axis = 2 : i64} : (tensor<2x70x1x3xf32>, tensor<2x70x1x3xf32>) -> tensor<2x70x2x3xf32>
func.func @doubled(%x: !torch.vtensor<[2,3,70],f32>) -> !torch.vtensor<[2,3,140],f32> {
  %n = "torch.constant.int"() {value = 140 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %none = "torch.constant.none"() : () -> !torch.none
  %out = "torch.prim.ListConstruct"(%n) : (!torch.int) -> !torch.list<int>
  %y = "torch.aten.upsample_linear1d"(%x, %out, %no, %none) : (!torch.vtensor<[2,3,70],f32>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[2,3,140],f32>
  return %y : !torch.vtensor<[2,3,140],f32>
}

// -----

// With corners no phase repeats: rows of many elements are gathered, of few multiplied.
// CHECK-LABEL: func.func @corners(
// CHECK-COUNT-2: mpt.gather {{.*}} : (tensor<140x3xf32>, tensor<280xi64>) -> tensor<280x3xf32>
// CHECK-NOT: mpt.gather
// CHECK: mpt.matmul {{.*}} : (tensor<2x20x10xf32>, tensor<2x10x3xf32>) -> tensor<2x20x3xf32>
func.func @corners(%x: !torch.vtensor<[2,3,70],f32>, %z: !torch.vtensor<[2,3,10],f32>) -> (!torch.vtensor<[2,3,140],f32>, !torch.vtensor<[2,3,20],f32>) {
  %n = "torch.constant.int"() {value = 140 : i64} : () -> !torch.int
  %m = "torch.constant.int"() {value = 20 : i64} : () -> !torch.int
  %yes = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %none = "torch.constant.none"() : () -> !torch.none
  %out = "torch.prim.ListConstruct"(%n) : (!torch.int) -> !torch.list<int>
  %few = "torch.prim.ListConstruct"(%m) : (!torch.int) -> !torch.list<int>
  %y = "torch.aten.upsample_linear1d"(%x, %out, %yes, %none) : (!torch.vtensor<[2,3,70],f32>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[2,3,140],f32>
  %w = "torch.aten.upsample_linear1d"(%z, %few, %yes, %none) : (!torch.vtensor<[2,3,10],f32>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[2,3,20],f32>
  return %y, %w : !torch.vtensor<[2,3,140],f32>, !torch.vtensor<[2,3,20],f32>
}

// -----

// One matrix times a column of each row is one matmul; times wider matrices it is many.
// CHECK-LABEL: func.func @columns(
// CHECK-NEXT: %[[R:.*]] = mpt.reshape %{{.*}} : (tensor<5x4x1xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: %[[Y:.*]] = mpt.matmul %[[R]], %{{.*}} {transpose_rhs} : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: mpt.reshape %[[Y]] : (tensor<5x3xf32>) -> tensor<5x3x1xf32>
// CHECK: mpt.matmul {{.*}} : (tensor<5x3x4xf32>, tensor<5x4x2xf32>) -> tensor<5x3x2xf32>
func.func @columns(%w: !torch.vtensor<[3,4],f32>, %x: !torch.vtensor<[5,4,1],f32>, %z: !torch.vtensor<[5,4,2],f32>) -> (!torch.vtensor<[5,3,1],f32>, !torch.vtensor<[5,3,2],f32>) {
  %y = "torch.aten.matmul"(%w, %x) : (!torch.vtensor<[3,4],f32>, !torch.vtensor<[5,4,1],f32>) -> !torch.vtensor<[5,3,1],f32>
  %v = "torch.aten.matmul"(%w, %z) : (!torch.vtensor<[3,4],f32>, !torch.vtensor<[5,4,2],f32>) -> !torch.vtensor<[5,3,2],f32>
  return %y, %v : !torch.vtensor<[5,3,1],f32>, !torch.vtensor<[5,3,2],f32>
}

// -----

// Many rows in groups are multiplied in blocks, each by the matrix of its group, as it lies.
// CHECK-LABEL: func.func @groups(
// CHECK: %[[X:.*]] = mpt.gather %{{.*}}, %{{.*}} : (tensor<256x8xf32>, tensor<7x64xi64>) -> tensor<7x64x8xf32>
// CHECK: %[[W:.*]] = mpt.gather %{{.*}}, %{{.*}} : (tensor<4x16x8xf32>, tensor<7xi64>) -> tensor<7x16x8xf32>
// CHECK: %[[Y:.*]] = mpt.matmul %[[X]], %[[W]] {transpose_rhs} : (tensor<7x64x8xf32>, tensor<7x16x8xf32>) -> tensor<7x64x16xf32>
// CHECK: %[[R:.*]] = mpt.reshape %[[Y]] : (tensor<7x64x16xf32>) -> tensor<448x16xf32>
// CHECK: mpt.gather %[[R]], %{{.*}} : (tensor<448x16xf32>, tensor<256xi64>) -> tensor<256x16xf32>
// CHECK-NOT: mpt.matmul
func.func @groups(%x: !torch.vtensor<[256,8],f32>, %w: !torch.vtensor<[4,16,8],f32>, %o: !torch.vtensor<[4],si32>) -> !torch.vtensor<[256,16],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %a = "torch.constant.int"() {value = -2 : i64} : () -> !torch.int
  %b = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %t = "torch.aten.transpose.int"(%w, %a, %b) : (!torch.vtensor<[4,16,8],f32>, !torch.int, !torch.int) -> !torch.vtensor<[4,8,16],f32>
  %y = "torch.aten._grouped_mm"(%x, %t, %o, %none, %none) : (!torch.vtensor<[256,8],f32>, !torch.vtensor<[4,8,16],f32>, !torch.vtensor<[4],si32>, !torch.none, !torch.none) -> !torch.vtensor<[256,16],f32>
  return %y : !torch.vtensor<[256,16],f32>
}

// -----

// Few rows meet the matrices of all groups.
// CHECK-LABEL: func.func @few_in_groups(
// CHECK-NOT: mpt.gather
// CHECK: mpt.matmul {{.*}} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
func.func @few_in_groups(%x: !torch.vtensor<[8,8],f32>, %w: !torch.vtensor<[4,8,16],f32>, %o: !torch.vtensor<[4],si32>) -> !torch.vtensor<[8,16],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %y = "torch.aten._grouped_mm"(%x, %w, %o, %none, %none) : (!torch.vtensor<[8,8],f32>, !torch.vtensor<[4,8,16],f32>, !torch.vtensor<[4],si32>, !torch.none, !torch.none) -> !torch.vtensor<[8,16],f32>
  return %y : !torch.vtensor<[8,16],f32>
}
