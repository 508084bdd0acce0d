// What is repeated before fusion becomes part of the kernels that read it.
// RUN: mpt-opt %s --mpt-autodiff -o %t.mlir
// RUN: mpt-opt %t.mlir --mpt-plan-kernels --remarks-filter=mpt.remat 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t.remarks
// RUN: mpt-opt %t.mlir --mpt-plan-kernels="strategy=none" | FileCheck %s --check-prefix=NONE
// RUN: sed 's/"never"/"must"/' %t.mlir | mpt-opt --mpt-plan-kernels="budget=min" --remarks-filter=mpt.remat -o /dev/null 2>&1 | FileCheck %s --check-prefix=MUST
// RUN: sed 's/"never"/"must"/' %t.mlir | mpt-opt --mpt-plan-kernels="budget=min" --mpt-assign-buffers | FileCheck %s --check-prefix=CALLS --implicit-check-not="mpt.re"
// RUN: sed 's/mpt.save = "never"/my.other/' %t.mlir | mpt-opt --allow-unregistered-dialect --mpt-plan-kernels="strategy=mincut" | FileCheck %s --check-prefix=MINCUT
// RUN: not mpt-opt %t.mlir --mpt-plan-kernels="strategy=best" 2>&1 | FileCheck %s --check-prefix=STRATEGY
// STRATEGY: error: mpt-plan-kernels: unknown strategy 'best'; expected auto, none, segments, mincut or optimal

// Fusion is a pass of its own: without a budget or marks it is the two passes that it is
// made of, and mpt-rematerialize does not fuse.
// RUN: sed 's/mpt.save = "never"/my.other/' %t.mlir > %t.free.mlir
// RUN: mpt-opt --allow-unregistered-dialect %t.free.mlir --mpt-plan-kernels -o %t.planned.mlir
// RUN: mpt-opt --allow-unregistered-dialect %t.free.mlir --mpt-decompose --canonicalize --cse --mpt-fuse-kernels --canonicalize --cse -o %t.fused.mlir
// RUN: diff %t.planned.mlir %t.fused.mlir
// RUN: mpt-opt --allow-unregistered-dialect %t.free.mlir --mpt-rematerialize="budget=min" | FileCheck %s --check-prefix=OPS --implicit-check-not=mpt_kernel.kernel
// OPS: mpt.matmul

// A checkpoint region: the kernel that makes what the products read runs a second time,
// behind the product of the backward pass, and later passes do not merge the two.
// RUN: mpt-opt %t.mlir --mpt-plan-kernels --cse --canonicalize --cse | FileCheck %s
// CHECK-LABEL: func.func @loss
// CHECK: %[[A:.*]] = mpt.matmul
// CHECK: mpt_kernel.kernel <
// CHECK: math.exp
// CHECK: math.exp
// CHECK: mpt.matmul
// CHECK: mpt_kernel.kernel <
// CHECK: math.sin
// CHECK: mpt.matmul {{.*}} {transpose_rhs}
// CHECK: mpt_kernel.kernel <{{.*}} {mpt.remat = {{[0-9]+}} : i64} :
// CHECK: math.exp
// CHECK: math.exp
// CHECK: mpt.matmul {{.*}} {transpose_lhs}
// CHECK-NOT: mpt.save
// CHECK: return
// REMARKS: .mlir:[[#SILU:]]:{{.*}}mpt.remat.recomputed-in-fusion{{.*}}mpt.silu is computed again where the backward pass reads it: 65536 bytes need not be kept for that
// REMARKS: .mlir:[[#SILU+1]]:{{.*}}mpt.remat.recomputed-in-fusion{{.*}}mpt.exp is computed again

// NONE-NOT: mpt.remat
// MUST: mpt.remat.recomputed {{.*}}mpt.matmul runs 2 times
// MUST: mpt.remat.kept-always {{.*}}it has mpt.save = "must"

// Calls have the attributes of ops that say what is computed, not the marks on them: of
// checkpoint regions and of clones.
// CALLS-COUNT-6: mpt_program.matmul

// The strategy finds this without marks.
// MINCUT: mpt_kernel.kernel <{{.*}} {mpt.remat = {{[0-9]+}} : i64} :

func.func @loss(%x: tensor<256x64xf32> {mpt.name = "x", mpt.role = "input"},
                %w: tensor<64x64xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
                %v: tensor<64x64xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "zeros"}})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %a = mpt.matmul %x, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %b = mpt.checkpoint {
    %c = mpt.silu %a : (tensor<256x64xf32>) -> tensor<256x64xf32>
    %d = mpt.exp %c : (tensor<256x64xf32>) -> tensor<256x64xf32>
    %e = mpt.matmul %d, %v : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
    mpt.yield %e : tensor<256x64xf32>
  } : tensor<256x64xf32>
  %f = mpt.sin %b : (tensor<256x64xf32>) -> tensor<256x64xf32>
  %l = mpt.reduce %f {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<256x64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
