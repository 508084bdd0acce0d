// Exchanges of gradients run beside the rest of the backward pass.
// RUN: mpt-opt %s --split-input-file --mpt-plan-kernels --mpt-assign-buffers | FileCheck %s

module attributes {mpt.mesh = #mpt.mesh<data = 4>} {

// The first exchange begins before the work that does not need it, and both are waited for
// where the first reader is, in their order. Sums lie where the values were, and all
// exchanges have one workspace.
// CHECK-LABEL: mpt_program.program @overlaps
// CHECK: mpt_program.matmul {{.*}} outs(%[[A:.*]] : memref<64x64xf32>)
// CHECK: mpt_program.all_reduce ins(%[[A]] : memref<64x64xf32>) outs(%[[A]] : memref<64x64xf32>) workspace(%[[WA:.*]] : memref<{{.*}}>) {async, kind = #mpt.reduce_kind<mean>, ranks = 4 : i64}
// CHECK: mpt_program.matmul {{.*}} outs(%[[B:.*]] : memref<64x64xf32>)
// CHECK: mpt_program.all_reduce ins(%[[B]] : memref<64x64xf32>) outs(%[[B]] : memref<64x64xf32>) workspace(%[[WA]] : memref<{{.*}}>) {async, kind = #mpt.reduce_kind<mean>, ranks = 4 : i64}
// CHECK: mpt_program.matmul {{.*}} outs(%[[C:.*]] : memref<64x64xf32>)
// CHECK-NEXT: mpt_program.wait ins(%[[A]] : memref<64x64xf32>) outs(%[[A]] : memref<64x64xf32>) workspace(%[[WA]] : memref<{{.*}}>)
// CHECK-NEXT: mpt_program.wait ins(%[[B]] : memref<64x64xf32>) outs(%[[B]] : memref<64x64xf32>) workspace(%[[WA]] : memref<{{.*}}>)
// CHECK: mpt_program.launch
func.func @overlaps(%x: tensor<64x64xf32> {mpt.name = "x", mpt.role = "input"},
                    %y: tensor<64x64xf32> {mpt.name = "y", mpt.role = "input"})
    -> (tensor<64x64xf32> {mpt.name = "z"}) {
  %a = mpt.matmul %x, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = mpt.all_reduce %a {axis = "data", kind = #mpt.collective_kind<mean>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = mpt.matmul %y, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = mpt.all_reduce %b {axis = "data", kind = #mpt.collective_kind<mean>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = mpt.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = mpt.add %0, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = mpt.mul %2, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 4>} {

// Who reads the later exchange waits for the one before it first.
// CHECK-LABEL: mpt_program.program @in_order
// CHECK: mpt_program.all_reduce ins(%[[A:.*]] : memref<64xf32>) {{.*}}async
// CHECK: mpt_program.all_gather ins(%[[B:.*]] : memref<64x64xf32>) {{.*}}async
// CHECK: mpt_program.wait ins(%[[A]] : memref<64xf32>)
// CHECK-NOT: mpt_program.matmul
// CHECK: mpt_program.wait ins(%[[B]] : memref<64x64xf32>) outs(%{{.*}} : memref<256x64xf32>)
// CHECK-NOT: mpt_program.wait
func.func @in_order(%x: tensor<64x64xf32> {mpt.name = "x", mpt.role = "input"},
                    %v: tensor<64xf32> {mpt.name = "v", mpt.role = "input"})
    -> (tensor<256x64xf32> {mpt.name = "z"}, tensor<64xf32> {mpt.name = "w"}) {
  %0 = mpt.all_reduce %v {axis = "data"} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = mpt.all_gather %x {axis = "data"} : (tensor<64x64xf32>) -> tensor<256x64xf32>
  %c = mpt.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = mpt.matmul %1, %c : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %3 = mpt.exp %0 : (tensor<64xf32>) -> tensor<64xf32>
  return %2, %3 : tensor<256x64xf32>, tensor<64xf32>
}

}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 4>} {

// Nothing to do meanwhile: an exchange that is read at once, and two in a row.
// CHECK-LABEL: mpt_program.program @at_once
// CHECK-NOT: async
// CHECK-NOT: mpt_program.wait
// CHECK: {{^}$}}
func.func @at_once(%x: tensor<64xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<64xf32> {mpt.name = "y"}, tensor<64xf32> {mpt.name = "z"}) {
  %0 = mpt.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  %1 = mpt.all_reduce %0 {axis = "data"} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = mpt.tanh %1 : (tensor<64xf32>) -> tensor<64xf32>
  %3 = mpt.all_reduce %2 {axis = "data"} : (tensor<64xf32>) -> tensor<64xf32>
  %4 = mpt.all_reduce %3 {axis = "data"} : (tensor<64xf32>) -> tensor<64xf32>
  return %3, %4 : tensor<64xf32>, tensor<64xf32>
}

}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 4>} {

// What is exchanged and cannot be reduced in place stays until it has been sent: the
// buffer of the next product is another one. A parameter that is exchanged is not updated
// before.
// CHECK-LABEL: mpt_program.program @stays
// CHECK: %[[P:.*]] = mpt_program.buffer <state> 0 {{.*}}name = "p"
// CHECK: mpt_program.all_reduce ins(%[[A:.*]] : memref<64x64xf32>) outs(%[[S:.*]] : memref<64x64xf32>){{.*}}async
// CHECK: mpt_program.all_reduce ins(%[[P]] : memref<64x64xf32>) outs(%[[Q:.*]] : memref<64x64xf32>){{.*}}async
// CHECK-NOT: outs(%[[A]]
// CHECK-NOT: outs(%[[P]]
// CHECK: mpt_program.wait ins(%[[A]] : memref<64x64xf32>) outs(%[[S]] : memref<64x64xf32>)
// CHECK-NOT: outs(%[[P]]
// CHECK: mpt_program.wait ins(%[[P]] : memref<64x64xf32>) outs(%[[Q]] : memref<64x64xf32>)
func.func @stays(%p: tensor<64x64xf32> {mpt.name = "p", mpt.role = "parameter"},
                 %x: tensor<64x64xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<64x64xf32> {mpt.name = "s"}, tensor<64x64xf32> {mpt.name = "q"},
        tensor<64x64xf32> {mpt.name = "c"},
        tensor<64x64xf32> {mpt.name = "p", mpt.updates = "p"}) {
  %a = mpt.matmul %x, %p : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = mpt.all_reduce %a {axis = "data"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %q = mpt.all_reduce %p {axis = "data"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = mpt.matmul %x, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = mpt.matmul %b, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %n = mpt.exp %c : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %s, %q, %c, %n : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

}
