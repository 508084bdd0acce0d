// RUN: mpt-opt %s --mpt-fuse-kernels --split-input-file --verify-diagnostics

func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{mpt-fuse-kernels: expected static shapes, found 'tensor<?x8xf32>'; run --mpt-specialize first}}
  %y = mpt.relu %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @dynamic_operand(%x: tensor<?x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{mpt-fuse-kernels: expected static shapes, found 'tensor<?x8xf32>'; run --mpt-specialize first}}
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<?x8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @control_flow(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %y = mpt.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{mpt-fuse-kernels: expected a step of mpt ops without regions other than of mpt.scan, found 'scf.if'; lower or unroll it first}}
  %z = scf.if %c -> tensor<4xf32> {
    scf.yield %x : tensor<4xf32>
  } else {
    scf.yield %y : tensor<4xf32>
  }
  return %z : tensor<4xf32>
}

// -----

func.func @checkpoint(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{mpt-fuse-kernels: expected a step of mpt ops without regions other than of mpt.scan, found 'mpt.checkpoint'; run --mpt-decompose first}}
  %y = mpt.checkpoint {
    %a = mpt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Functions without ops of the dialect are none of its business, and it says so.
// expected-warning @below {{mpt-fuse-kernels: found nothing to do: there is no op of the mpt dialect in this module, which holds ops of 'arith'}}
func.func @other(%n: index) -> index {
  %c = arith.constant 1 : index
  %m = arith.addi %n, %c : index
  return %m : index
}

// -----

func.func @rounding_barrier(%x: tensor<4x8xf32>) -> tensor<4x8xbf16> {
  // expected-error @+1 {{mpt-fuse-kernels: expected one element type, found 'tensor<4x8xf32>' and 'tensor<4x8xbf16>'; run --mpt-decompose first}}
  %y = mpt.barrier %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

// Products of these sizes are no 64-bit numbers.
func.func @beyond_memory(%x: tensor<9223372036854775807x4xf32>) -> tensor<9223372036854775807x4xf32> {
  // expected-error @+1 {{mpt-fuse-kernels: a value of more than 2^50 elements cannot be planned: 'tensor<9223372036854775807x4xf32>'}}
  %y = mpt.relu %x : (tensor<9223372036854775807x4xf32>) -> tensor<9223372036854775807x4xf32>
  return %y : tensor<9223372036854775807x4xf32>
}
