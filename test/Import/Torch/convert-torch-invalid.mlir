// What has no counterpart is one error with all ops, their number and their places.
//
// RUN: not mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch --split-input-file 2>&1 | FileCheck %s

// CHECK: :[[#@LINE+9]]:1: error: mpt-convert-torch: 4 ops of @all have no counterpart in the mpt dialect:
// CHECK-NEXT: aten.i0, 2 times
// CHECK-NEXT: at net.py:3
// CHECK-NEXT: at net.py:4
// CHECK-NEXT: aten.relu_, 1 time: it changes a tensor that has views, or is one; export the graph in functional form, as `python -m mpt.export` does
// CHECK-NEXT: at net.py:7
// CHECK-NEXT: my.op, 1 time
// CHECK-NEXT: at net.py:8
// CHECK-NEXT: `mpt-opt --mpt-torch-ops` lists the ops that have one
func.func @all(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %1 = "torch.aten.i0"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> loc("net.py":3:1)
  // What follows is checked, too.
  %2 = "torch.aten.i0"(%1) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> loc("net.py":4:1)
  %n = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %s = "torch.prim.ListConstruct"(%n) : (!torch.int) -> !torch.list<int>
  %v = "torch.aten.view"(%2, %s) : (!torch.vtensor<[4],f32>, !torch.list<int>) -> !torch.vtensor<[4],f32> loc("net.py":6:1)
  %3 = "torch.aten.relu_"(%v) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> loc("net.py":7:1)
  %4 = "torch.operator"(%3) {name = "torch.my.op"} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> loc("net.py":8:1)
  return %4 : !torch.vtensor<[4],f32>
}

// -----

// CHECK: error: mpt-convert-torch: argument 0 of @type: expected a tensor of known shape with elements of f64, f32, f16, bf16, si64, si32, si16, si8, i1 or complex ones, found '!torch.vtensor<[4],ui8>'
func.func @type(%x: !torch.vtensor<[4],ui8>) -> !torch.vtensor<[4],ui8> {
  return %x : !torch.vtensor<[4],ui8>
}

// -----

// CHECK: error: mpt-convert-torch: expected a function over !torch.vtensor, found none; print the graph in MLIR's generic form
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// Operands that are not what the op takes, and results that are not what it gives.
// CHECK: error: mpt-convert-torch: 13 ops of @operands have no counterpart
// CHECK-NEXT: aten.mm, 1 time: a matmul of matrices that do not fit
// CHECK: aten.add.Tensor, 1 time: operands whose shapes do not broadcast
// CHECK: aten.transpose.int, 1 time: dimension 5 of a tensor of rank 2
// CHECK: aten.relu, 1 time: its result is tensor<2x3xf32> where the graph says tensor<3x2xf32>
// CHECK: aten.sum.dim_IntList, 1 time: a dimension that is named twice
// CHECK: aten.max_pool2d, 1 time: a window, stride or padding out of range
// CHECK: aten.lstm.input, 1 time: operand 1: expected a list of tensors that the graph builds
// CHECK: aten.embedding, 1 time: scale_grad_by_freq, or sparse gradients
// CHECK: aten.index.Tensor, 1 time: a mask as index, whose result has no fixed shape; use torch.where, or a mask that is a constant: of tensors in a closure, or of buffers with persistent=False
// CHECK: aten.conv2d, 1 time: an image of open size, or a filter that does not fit
// CHECK: aten.softmax.int, 1 time: operand 1: expected a constant integer
// CHECK: aten.masked_scatter, 1 time: a source of another type, or without elements
// CHECK: aten.batch_norm, 1 time: the statistics of a batch without elements
func.func @operands(%x: !torch.vtensor<[2,3],f32>, %i: !torch.vtensor<[2],si64>,
    %m: !torch.vtensor<[2],i1>, %image: !torch.vtensor<[1,2,4,4],f32>,
    %w: !torch.vtensor<[2,3,1,1],f32>, %empty: !torch.vtensor<[0,3],f32>)
    -> !torch.vtensor<[2,3],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %5 = "torch.constant.int"() {value = 5 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %false = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %p = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %ones = "torch.prim.ListConstruct"(%1, %1) : (!torch.int, !torch.int) -> !torch.list<int>
  %twos = "torch.prim.ListConstruct"(%2, %2) : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = "torch.prim.ListConstruct"(%0, %0) : (!torch.int, !torch.int) -> !torch.list<int>
  %mask = "torch.prim.ListConstruct"(%m) : (!torch.vtensor<[2],i1>) -> !torch.list<optional<vtensor>>
  %a = "torch.aten.mm"(%x, %x) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32>
  %b = "torch.aten.add.Tensor"(%x, %i, %1) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2],si64>, !torch.int) -> !torch.vtensor<[2,3],f32>
  %c = "torch.aten.transpose.int"(%x, %0, %5) : (!torch.vtensor<[2,3],f32>, !torch.int, !torch.int) -> !torch.vtensor<[3,2],f32>
  %d = "torch.aten.relu"(%x) : (!torch.vtensor<[2,3],f32>) -> !torch.vtensor<[3,2],f32>
  %e = "torch.aten.sum.dim_IntList"(%x, %ones, %false, %none) : (!torch.vtensor<[2,3],f32>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[2],f32>
  %f = "torch.aten.max_pool2d"(%image, %twos, %ones, %twos, %twos, %true) : (!torch.vtensor<[1,2,4,4],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[1,2,2,2],f32>
  %g:3 = "torch.aten.lstm.input"(%image, %x, %mask, %false, %1, %p, %false, %false, %false) : (!torch.vtensor<[1,2,4,4],f32>, !torch.vtensor<[2,3],f32>, !torch.list<optional<vtensor>>, !torch.bool, !torch.int, !torch.float, !torch.bool, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>)
  %h = "torch.aten.embedding"(%x, %i, %1, %true, %false) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2],si64>, !torch.int, !torch.bool, !torch.bool) -> !torch.vtensor<[2,3],f32>
  %j = "torch.aten.index.Tensor"(%x, %mask) : (!torch.vtensor<[2,3],f32>, !torch.list<optional<vtensor>>) -> !torch.vtensor<[2,3],f32>
  %k = "torch.aten.conv2d"(%image, %w, %none, %ones, %zeros, %ones, %1) : (!torch.vtensor<[1,2,4,4],f32>, !torch.vtensor<[2,3,1,1],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[1,2,4,4],f32>
  %l = "torch.aten.softmax.int"(%x, %x, %none) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.none) -> !torch.vtensor<[2,3],f32>
  %nan = "torch.aten.isnan"(%x) : (!torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],i1>
  %n = "torch.aten.masked_scatter"(%x, %nan, %i) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],i1>, !torch.vtensor<[2],si64>) -> !torch.vtensor<[2,3],f32>
  %o = "torch.aten.batch_norm"(%empty, %none, %none, %none, %none, %true, %p, %p, %false) : (!torch.vtensor<[0,3],f32>, !torch.none, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.float, !torch.float, !torch.bool) -> !torch.vtensor<[0,3],f32>
  return %l : !torch.vtensor<[2,3],f32>
}

// -----

// CHECK: error: mpt-convert-torch: 2 ops of @topk have no counterpart
// CHECK-NEXT: aten.topk, 2 times: more elements than there are, or a negative number
func.func @topk(%x: !torch.vtensor<[2,100],f32>) -> !torch.vtensor<[2,101],f32> {
  %less = "torch.constant.int"() {value = -3 : i64} : () -> !torch.int
  %more = "torch.constant.int"() {value = 101 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %yes = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %a:2 = "torch.aten.topk"(%x, %less, %1, %yes, %yes) : (!torch.vtensor<[2,100],f32>, !torch.int, !torch.int, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,100],f32>, !torch.vtensor<[2,100],si64>)
  %b:2 = "torch.aten.topk"(%x, %more, %1, %yes, %yes) : (!torch.vtensor<[2,100],f32>, !torch.int, !torch.int, !torch.bool, !torch.bool) -> (!torch.vtensor<[2,101],f32>, !torch.vtensor<[2,101],si64>)
  return %b#0 : !torch.vtensor<[2,101],f32>
}

// -----

// Groups, bags, strides and histograms.
// CHECK: error: mpt-convert-torch: 8 ops of @groups have no counterpart
// CHECK-NEXT: aten.scatter_reduce.two, 1 time: the reduction most
// CHECK: aten.as_strided, 1 time: places outside of the tensor
// CHECK: aten.as_strided_scatter, 1 time: places that overlap
// CHECK: aten.embedding_bag.padding_idx, 1 time: the mode max, of bags by offsets
// CHECK: aten._grouped_mm, 1 time: other than rows in groups times a matrix for each group
// CHECK: aten.histc, 1 time: bounds that the data gives; pass min and max
// CHECK: aten.affine_grid_generator, 1 time: matrices of 2 x 3 or 3 x 4 for images of known shape
// CHECK: aten.einsum, 1 time: a letter that stands twice in one tensor, for dimensions of different sizes
func.func @groups(%x: !torch.vtensor<[2,3],f32>, %i: !torch.vtensor<[2,3],si64>,
    %o: !torch.vtensor<[2],si64>, %bag: !torch.vtensor<[4],si64>) -> !torch.vtensor<[2,3],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %4 = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %most = "torch.constant.str"() {value = "most"} : () -> !torch.str
  %ii = "torch.constant.str"() {value = "ii->i"} : () -> !torch.str
  %r = "torch.aten.scatter_reduce.two"(%x, %0, %i, %x, %most, %no) : (!torch.vtensor<[2,3],f32>, !torch.int, !torch.vtensor<[2,3],si64>, !torch.vtensor<[2,3],f32>, !torch.str, !torch.bool) -> !torch.vtensor<[2,3],f32>
  %size = "torch.prim.ListConstruct"(%4) : (!torch.int) -> !torch.list<int>
  %stride = "torch.prim.ListConstruct"(%2) : (!torch.int) -> !torch.list<int>
  %s = "torch.aten.as_strided"(%x, %size, %stride, %0) : (!torch.vtensor<[2,3],f32>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[4],f32>
  %same = "torch.prim.ListConstruct"(%0) : (!torch.int) -> !torch.list<int>
  %a = "torch.aten.as_strided_scatter"(%x, %s, %size, %same, %0) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[4],f32>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[2,3],f32>
  %e:4 = "torch.aten.embedding_bag.padding_idx"(%x, %bag, %o, %no, %2, %no, %none, %no, %none) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[4],si64>, !torch.vtensor<[2],si64>, !torch.bool, !torch.int, !torch.bool, !torch.none, !torch.bool, !torch.none) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[4],si64>, !torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>)
  %g = "torch.aten._grouped_mm"(%x, %x, %o) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[2],si64>) -> !torch.vtensor<[2,3],f32>
  %h = "torch.aten.histc"(%x, %4, %0, %0) : (!torch.vtensor<[2,3],f32>, !torch.int, !torch.int, !torch.int) -> !torch.vtensor<[4],f32>
  %grid = "torch.aten.affine_grid_generator"(%x, %size, %no) : (!torch.vtensor<[2,3],f32>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[2,3],f32>
  %list = "torch.prim.ListConstruct"(%x) : (!torch.vtensor<[2,3],f32>) -> !torch.list<vtensor>
  %d = "torch.aten.einsum"(%ii, %list, %none) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !torch.vtensor<[2],f32>
  return %r : !torch.vtensor<[2,3],f32>
}

// -----

// CHECK: error: mpt-convert-torch: 3 ops of @ctc have no counterpart
// CHECK: aten._ctc_loss.Tensor, 1 time: targets one after another; pass them as [N, S], padded
// CHECK: aten._ctc_loss.Tensor, 1 time: lengths of these shapes
// CHECK: aten._ctc_loss.Tensor, 1 time: the sums of all paths
func.func @ctc(%x: !torch.vtensor<[5,2,3],f32>, %y: !torch.vtensor<[2,2],si64>,
    %flat: !torch.vtensor<[4],si64>, %n: !torch.vtensor<[2],si64>,
    %far: !torch.vtensor<[3],si64>) -> (!torch.vtensor<[2],f32>, !torch.vtensor<[2,5,5],f32>) {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %a:2 = "torch.aten._ctc_loss.Tensor"(%x, %flat, %n, %n, %0, %no) : (!torch.vtensor<[5,2,3],f32>, !torch.vtensor<[4],si64>, !torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>, !torch.int, !torch.bool) -> (!torch.vtensor<[2],f32>, !torch.vtensor<[2,5,5],f32>)
  %b:2 = "torch.aten._ctc_loss.Tensor"(%x, %y, %far, %n, %0, %no) : (!torch.vtensor<[5,2,3],f32>, !torch.vtensor<[2,2],si64>, !torch.vtensor<[3],si64>, !torch.vtensor<[2],si64>, !torch.int, !torch.bool) -> (!torch.vtensor<[2],f32>, !torch.vtensor<[2,5,5],f32>)
  %c:2 = "torch.aten._ctc_loss.Tensor"(%x, %y, %n, %n, %0, %no) : (!torch.vtensor<[5,2,3],f32>, !torch.vtensor<[2,2],si64>, !torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>, !torch.int, !torch.bool) -> (!torch.vtensor<[2],f32>, !torch.vtensor<[2,5,5],f32>)
  return %c#0, %c#1 : !torch.vtensor<[2],f32>, !torch.vtensor<[2,5,5],f32>
}

// -----

// CHECK: mpt-convert-torch: 5 ops of @matrices have no counterpart in the mpt dialect:
// CHECK-NEXT: aten.linalg_cholesky, 1 time: matrices that are not square
// CHECK: aten.linalg_inv, 1 time: anything but matrices of f32 or f64
// CHECK: aten.linalg_solve, 1 time: a matrix and a right side that do not fit
// CHECK: aten.linalg_matrix_power, 1 time: a power above 1023
// CHECK: aten.linalg_householder_product, 1 time: factors for another number of reflections than there are columns
func.func @matrices(%w: !torch.vtensor<[2,3],f32>, %h: !torch.vtensor<[3,3],f16>, %m: !torch.vtensor<[3,3],f32>, %v: !torch.vtensor<[4],f32>) {
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %yes = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %many = "torch.constant.int"() {value = 5000 : i64} : () -> !torch.int
  %0 = "torch.aten.linalg_cholesky"(%w, %no) : (!torch.vtensor<[2,3],f32>, !torch.bool) -> !torch.vtensor<[2,3],f32> loc("net.py":1:1)
  %1 = "torch.aten.linalg_inv"(%h) : (!torch.vtensor<[3,3],f16>) -> !torch.vtensor<[3,3],f16> loc("net.py":2:1)
  %2 = "torch.aten.linalg_solve"(%m, %v, %yes) : (!torch.vtensor<[3,3],f32>, !torch.vtensor<[4],f32>, !torch.bool) -> !torch.vtensor<[4],f32> loc("net.py":3:1)
  %3 = "torch.aten.linalg_matrix_power"(%m, %many) : (!torch.vtensor<[3,3],f32>, !torch.int) -> !torch.vtensor<[3,3],f32> loc("net.py":4:1)
  %4 = "torch.aten.linalg_householder_product"(%m, %v) : (!torch.vtensor<[3,3],f32>, !torch.vtensor<[4],f32>) -> !torch.vtensor<[3,3],f32> loc("net.py":5:1)
  return
}

// -----

// What follows from a refused op's open shape is not listed; what does not is.
// CHECK: error: mpt-convert-torch: 3 ops of @follows have no counterpart
// CHECK-NEXT: aten.index.Tensor, 1 time: a mask as index
// CHECK-NEXT: at {{.*}}convert-torch-invalid.mlir
// CHECK-NEXT: aten.cat, 1 time: concatenation along an open dimension
// CHECK-NEXT: at {{.*}}convert-torch-invalid.mlir
// CHECK-NEXT: aten.i0, 1 time
// CHECK-NEXT: at {{.*}}convert-torch-invalid.mlir
// CHECK-NEXT: lists the ops
func.func @follows(%x: !torch.vtensor<[4,3],f32>, %mask: !torch.vtensor<[4],i1>,
    %open: !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %none = "torch.constant.none"() : () -> !torch.none
  %masks = "torch.prim.ListConstruct"(%mask) : (!torch.vtensor<[4],i1>) -> !torch.list<vtensor>
  %a = "torch.aten.index.Tensor"(%x, %masks) : (!torch.vtensor<[4,3],f32>, !torch.list<vtensor>) -> !torch.vtensor<[?,3],f32>
  %list = "torch.prim.ListConstruct"(%a, %x) : (!torch.vtensor<[?,3],f32>, !torch.vtensor<[4,3],f32>) -> !torch.list<vtensor>
  %b = "torch.aten.cat"(%list, %0) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[?,3],f32>
  %size = "torch.aten.size.int"(%b, %0) : (!torch.vtensor<[?,3],f32>, !torch.int) -> !torch.int
  %sizes = "torch.prim.ListConstruct"(%size) : (!torch.int) -> !torch.list<int>
  %ones = "torch.aten.ones"(%sizes, %none, %none, %none, %none) : (!torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none) -> !torch.vtensor<[?],f32>
  %sum = "torch.aten.sum"(%ones, %none) : (!torch.vtensor<[?],f32>, !torch.none) -> !torch.vtensor<[],f32>
  %more = "torch.prim.ListConstruct"(%open, %x) : (!torch.vtensor<[?,3],f32>, !torch.vtensor<[4,3],f32>) -> !torch.list<vtensor>
  %c = "torch.aten.cat"(%more, %0) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[?,3],f32>
  %d = "torch.aten.i0"(%sum) : (!torch.vtensor<[],f32>) -> !torch.vtensor<[],f32>
  return %d : !torch.vtensor<[],f32>
}

// -----

// PyTorch does not multiply f64 by f32 either.
// CHECK: error: mpt-convert-torch: 1 op of @widths has no counterpart
// CHECK-NEXT: aten.linear, 1 time: a matmul of element type f64 and another; cast one
func.func @widths(%x: !torch.vtensor<[4,3],f64>, %w: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[4,2],f64> {
  %none = "torch.constant.none"() : () -> !torch.none
  %y = "torch.aten.linear"(%x, %w, %none) : (!torch.vtensor<[4,3],f64>, !torch.vtensor<[2,3],f32>, !torch.none) -> !torch.vtensor<[4,2],f64>
  return %y : !torch.vtensor<[4,2],f64>
}

// -----

// CHECK: error: mpt-convert-torch: 1 op of @bases has no counterpart
// CHECK-NEXT: aten.linalg_svd, 1 time: bases of the whole space; pass full_matrices=False
func.func @bases(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2],f32> {
  %yes = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %none = "torch.constant.none"() : () -> !torch.none
  %u, %s, %v = "torch.aten.linalg_svd"(%x, %yes, %none) : (!torch.vtensor<[2,3],f32>, !torch.bool, !torch.none) -> (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2],f32>, !torch.vtensor<[3,3],f32>)
  return %s : !torch.vtensor<[2],f32>
}
