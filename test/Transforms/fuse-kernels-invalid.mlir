// RUN: mpt-opt %s --mpt-fuse-kernels --split-input-file --verify-diagnostics

func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{mpt-fuse-kernels: expected static shapes, found 'tensor<?x8xf32>'; run --mpt-specialize first}}
  %y = mpt.relu %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @rounding_barrier(%x: tensor<4x8xf32>) -> tensor<4x8xbf16> {
  // expected-error @+1 {{mpt-fuse-kernels: expected one element type, found 'tensor<4x8xf32>' and 'tensor<4x8xbf16>'; run --mpt-decompose first}}
  %y = mpt.barrier %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}
