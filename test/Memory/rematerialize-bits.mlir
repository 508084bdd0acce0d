// The backward pass could make %e again from the arguments, and keep nothing. The kernel of
// its sum would then run over other dimensions, because of the broadcast operand. Those of
// GPUs are divided among threads. What might add in another order is not repeated before
// fusion, and bits stay what they are.
// RUN: mpt-opt %s --mpt-plan-kernels="strategy=mincut function=sums target=cuda" --remarks-filter=mpt.remat 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS --implicit-check-not=recomputed < %t.remarks
// With a budget that the step meets, too.
// RUN: mpt-opt %s --mpt-plan-kernels="budget=1x function=sums target=cuda" --remarks-filter=mpt.remat 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS --implicit-check-not=recomputed < %t.remarks
// Kernels of CPUs take rows one after another, whether they are 256 or 16 x 16.
// RUN: mpt-opt %s --mpt-plan-kernels="strategy=none function=sums" | FileCheck %s --check-prefix=FLAT
// RUN: mpt-opt %s --mpt-plan-kernels="strategy=mincut function=sums" --remarks-filter=mpt.remat 2>%t.remarks | FileCheck %s --check-prefix=ROWS
// RUN: FileCheck %s --check-prefix=NOSUMS --implicit-check-not=kept-for-bits < %t.remarks
// FLAT-LABEL: func.func @sums
// FLAT: <column>{{.*}} domain [256, 4] chunk_rows 256
// ROWS-LABEL: func.func @sums
// ROWS: <column>{{.*}} domain [16, 16, 4] chunk_rows 256
// Without the sum the difference is made again.
// RUN: mpt-opt %s --mpt-plan-kernels="strategy=mincut function=nosums" --remarks-filter=mpt.remat -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOSUMS --implicit-check-not=kept-for-bits
// NOSUMS: mpt.remat.recomputed-in-fusion {{.*}}mpt.sub is computed again

// CHECK-LABEL: func.func @sums
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK-NOT: mpt.remat
// CHECK: return
func.func @sums(%x: tensor<16x16x4xf32> {mpt.name = "x", mpt.role = "input"}, %c: tensor<16x1x4xf32> {mpt.name = "c", mpt.role = "input"},
                %v: tensor<4x4xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<4xf32> {mpt.name = "sum"}) {
  %y = mpt.sub %x, %c : (tensor<16x16x4xf32>, tensor<16x1x4xf32>) -> tensor<16x16x4xf32>
  %e = mpt.exp %y : (tensor<16x16x4xf32>) -> tensor<16x16x4xf32>
  %r = mpt.reshape %e : (tensor<16x16x4xf32>) -> tensor<256x4xf32>
  %h = mpt.matmul %r, %v : (tensor<256x4xf32>, tensor<4x4xf32>) -> tensor<256x4xf32>
  %i = mpt.reshape %h : (tensor<256x4xf32>) -> tensor<16x16x4xf32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %b = mpt.broadcast %s : (tensor<f32>) -> tensor<16x16x4xf32>
  %f = mpt.mul %b, %i : (tensor<16x16x4xf32>, tensor<16x16x4xf32>) -> tensor<16x16x4xf32>
  %g = mpt.mul %f, %e : (tensor<16x16x4xf32>, tensor<16x16x4xf32>) -> tensor<16x16x4xf32>
  // REMARKS: rematerialize-bits.mlir:[[#@LINE+1]]:{{.*}}mpt.remat.kept-for-bits {{.*}}2 ops of 'sums' are not repeated before fusion: this sum would be taken in another order
  %d = mpt.reduce %g {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<16x16x4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func @nosums(%x: tensor<16x16x4xf32> {mpt.name = "x", mpt.role = "input"}, %c: tensor<16x1x4xf32> {mpt.name = "c", mpt.role = "input"},
                %v: tensor<4x4xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<16x16x4xf32> {mpt.name = "sum"}) {
  %y = mpt.sub %x, %c : (tensor<16x16x4xf32>, tensor<16x1x4xf32>) -> tensor<16x16x4xf32>
  %e = mpt.exp %y : (tensor<16x16x4xf32>) -> tensor<16x16x4xf32>
  %r = mpt.reshape %e : (tensor<16x16x4xf32>) -> tensor<256x4xf32>
  %h = mpt.matmul %r, %v : (tensor<256x4xf32>, tensor<4x4xf32>) -> tensor<256x4xf32>
  %i = mpt.reshape %h : (tensor<256x4xf32>) -> tensor<16x16x4xf32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %b = mpt.broadcast %s : (tensor<f32>) -> tensor<16x16x4xf32>
  %f = mpt.mul %b, %i : (tensor<16x16x4xf32>, tensor<16x16x4xf32>) -> tensor<16x16x4xf32>
  %g = mpt.mul %f, %e : (tensor<16x16x4xf32>, tensor<16x16x4xf32>) -> tensor<16x16x4xf32>
  return %g : tensor<16x16x4xf32>
}
