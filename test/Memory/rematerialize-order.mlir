// A fused step is planned in the order that its arena is planned in: gradients need not be
// there until all parameters are updated, so that none is made twice to save its bytes.
// RUN: mpt-opt %mpt_src_root/docs/examples/resnet/resnet.mlir --mpt-specialize="batch=64" --mpt-autodiff="function=loss" --mpt-train-step="function=loss optimizer=adamw" -o %t.mlir
// RUN: mpt-opt %t.mlir --mpt-plan-kernels="budget=0.5x function=loss effort=500000" --remarks-filter=mpt.remat -o /dev/null 2>&1 | grep -o "mpt.remat.*" | FileCheck %s --implicit-check-not="conv2d_filter_grad runs"
// CHECK-DAG: mpt.remat.summary {{.*}}predicted time 1.{{[01][0-9]}}
// CHECK-DAG: mpt.remat.recomputed {{.*}}mpt.conv2d runs 2 times

// Where the user wants another order, it is planned in that one.
// RUN: mpt-opt %t.mlir --mpt-plan-kernels="budget=0.6x function=loss effort=500000 order=keep" -o %t.keep.mlir
// RUN: mpt-opt %t.keep.mlir --mpt-memory-report="function=loss order=keep" -o /dev/null 2>&1 | FileCheck %s --check-prefix=KEEP
// KEEP: order keep
