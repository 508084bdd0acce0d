// What a kernel for the CPU computes of one byte in many instructions, vectors read from a table of its 256 numbers.
// RUN: rm -rf %t && split-file %s %t
// RUN: mpt-opt %t/codes.mlir --mpt-plan-step="function=codes" --mpt-convert-kernels-to-vector | FileCheck %t/codes.mlir
// RUN: mpt-opt %t/few.mlir --mpt-convert-kernels-to-vector | FileCheck %t/few.mlir

//--- codes.mlir
// Both kernels read one table, from -0.993 to 1.
// CHECK: llvm.mlir.global internal constant @[[T:mpt_byte_table_0]](dense<"0x33337EBF{{[0-9A-F]*}}0000803F"> : tensor<256xf32>) {{.*}}alignment = 64
// CHECK-NOT: mpt_byte_table_1
// CHECK: func.func @[[K:codes_kernel.*]](
// The lanes' bytes where they lie.
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @[[T]]
// CHECK: %[[B:.*]] = llvm.load {{.*}} {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK: %[[I:.*]] = arith.extui %[[B]] : i8 to i64
// CHECK: %[[P:.*]] = llvm.getelementptr %[[TABLE]][%[[I]]]
// CHECK: llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: vector.from_elements {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// The tail's are loaded together.
// CHECK: llvm.load {{.*}} -> vector<8xi8>
// CHECK: vector.extract {{.*}}[0] : i8 from vector<16xi8>
// CHECK: func.func @
// CHECK: llvm.mlir.addressof @[[T]]
// CHECK-NOT: math.fma
func.func @codes(%a: tensor<40xi8> {mpt.name = "a", mpt.role = "input"}, %b: tensor<3x20xi8> {mpt.name = "b", mpt.role = "input"}, %c: tensor<20xf32> {mpt.name = "c", mpt.role = "input"})
    -> (tensor<40xf32> {mpt.name = "x"}, tensor<3x20xf32> {mpt.name = "y"}) {
  %x = mpt.dynamic_value %a : (tensor<40xi8>) -> tensor<40xf32>
  %v = mpt.dynamic_value %b : (tensor<3x20xi8>) -> tensor<3x20xf32>
  %y = mpt.mul %v, %c : (tensor<3x20xf32>, tensor<20xf32>) -> tensor<3x20xf32>
  return %x, %y : tensor<40xf32>, tensor<3x20xf32>
}

//--- few.mlir
// Few instructions, two bytes, or one that is approximated: no table.
// CHECK-NOT: mpt_byte_table
#id = affine_map<(d0) -> (d0)>
mpt_kernel.func <pointwise> @few domain [32] chunk_rows 1 maps [#id] -> [#id] : (tensor<32xi8>) -> tensor<32xf32> {
^bb0(%a: i8):
  %k = arith.constant 0.5 : f32
  %i = arith.extui %a : i8 to i32
  %f = arith.sitofp %i : i32 to f32
  %x = arith.mulf %f, %k : f32
  mpt_kernel.yield %x : f32
}
mpt_kernel.func <pointwise> @two domain [32] chunk_rows 1 maps [#id, #id] -> [#id] : (tensor<32xi8>, tensor<32xi8>) -> tensor<32xf32> {
^bb0(%a: i8, %b: i8):
  %s = arith.addi %a, %b : i8
  %f = arith.sitofp %s : i8 to f32
  %0 = arith.mulf %f, %f : f32
  %1 = arith.addf %0, %f : f32
  %2 = arith.mulf %1, %f : f32
  %3 = arith.addf %2, %f : f32
  %4 = arith.mulf %3, %f : f32
  %5 = arith.addf %4, %f : f32
  %6 = arith.mulf %5, %f : f32
  %7 = arith.addf %6, %f : f32
  %8 = arith.mulf %7, %f : f32
  %9 = arith.addf %8, %f : f32
  %10 = arith.mulf %9, %f : f32
  %11 = arith.addf %10, %f : f32
  %12 = arith.mulf %11, %f : f32
  %13 = arith.addf %12, %f : f32
  %14 = arith.mulf %13, %f : f32
  mpt_kernel.yield %14 : f32
}
mpt_kernel.func <pointwise> @approximated domain [32] chunk_rows 1 maps [#id] -> [#id] : (tensor<32xi8>) -> tensor<32xf32> {
^bb0(%a: i8):
  %f = arith.sitofp %a : i8 to f32
  %e = math.exp %f : f32
  %0 = arith.mulf %e, %f : f32
  %1 = arith.addf %0, %f : f32
  %2 = arith.mulf %1, %f : f32
  %3 = arith.addf %2, %f : f32
  %4 = arith.mulf %3, %f : f32
  %5 = arith.addf %4, %f : f32
  %6 = arith.mulf %5, %f : f32
  %7 = arith.addf %6, %f : f32
  %8 = arith.mulf %7, %f : f32
  %9 = arith.addf %8, %f : f32
  %10 = arith.mulf %9, %f : f32
  %11 = arith.addf %10, %f : f32
  %12 = arith.mulf %11, %f : f32
  %13 = arith.addf %12, %f : f32
  %14 = arith.mulf %13, %f : f32
  mpt_kernel.yield %14 : f32
}
