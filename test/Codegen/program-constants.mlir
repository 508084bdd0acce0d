// A constant of one value costs one value in the program: the table of @one, whose constant
// has 40,000,000 bytes, is a line of at most 1600 characters. One of many values is there in full.
// RUN: mpt-opt %s --mpt-plan-step="function=one" --mpt-program-to-llvm | FileCheck %s --check-prefix=ONE
// RUN: mpt-opt %s --mpt-plan-step="function=many" --mpt-program-to-llvm | FileCheck %s --check-prefix=MANY
// ONE: llvm.mlir.global internal constant @mpt_program_table("{{(.{1,200}){1,8} *}}") {addr_space = 0 : i32}{{$}}
// MANY: llvm.mlir.global internal constant @mpt_program_table("{{.*}}\00\00\80?\00\00\00@\00\00@@\00\00\80@

// The kernel that reads it holds it as a number.
// RUN: mpt-opt %s --mpt-plan-step="function=kernel" | FileCheck %s --check-prefix=KERNEL
// KERNEL: arith.constant 2.500000e-01 : f32
// KERNEL-NOT: mpt_program.buffer <constant>

func.func @one(%x: tensor<1x1000xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<1x10000xf32> {mpt.name = "y"}) {
  %c = mpt.constant dense<0.5> : tensor<1000x10000xf32>
  %y = mpt.matmul %x, %c : (tensor<1x1000xf32>, tensor<1000x10000xf32>) -> tensor<1x10000xf32>
  return %y : tensor<1x10000xf32>
}

func.func @many(%x: tensor<1x2xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<1x2xf32> {mpt.name = "y"}) {
  %c = mpt.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = mpt.matmul %x, %c : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

func.func @kernel(%x: tensor<1000x10000xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<1000x10000xf32> {mpt.name = "y"}) {
  %c = mpt.constant dense<0.25> : tensor<10000000xf32>
  %r = mpt.reshape %c : (tensor<10000000xf32>) -> tensor<1000x10000xf32>
  %y = mpt.mul %x, %r : (tensor<1000x10000xf32>, tensor<1000x10000xf32>) -> tensor<1000x10000xf32>
  return %y : tensor<1000x10000xf32>
}
