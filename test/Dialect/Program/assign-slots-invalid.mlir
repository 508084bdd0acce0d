// RUN: mpt-opt %s --mpt-assign-slots --split-input-file --verify-diagnostics
// RUN: not mpt-opt %s --mpt-assign-slots="max-threads=0" --split-input-file 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not mpt-opt %s --mpt-assign-slots="function=other" --split-input-file 2>&1 | FileCheck %s --check-prefix=NAME
// THREADS: mpt-assign-slots: max-threads must be at least 1, got 0
// NAME: mpt-assign-slots: no function 'other' with a body in this module

// expected-error @below {{mpt-assign-slots: expected one function, found 0; name one with function=}}
module {
  func.func private @declared()
}

// -----

// expected-error @below {{mpt-assign-slots: expected one function, found 2; name one with function=}}
module {
  // expected-note @below {{'a'}}
  func.func @a() { return }
  // expected-note @below {{'b'}}
  func.func @b() { return }
}

// -----

// expected-error @below {{planning needs ranked tensors of static shape, but this argument is 'tensor<?xf32>'; give dynamic dimensions a size with --mpt-specialize first}}
func.func @step(%x: tensor<?xf32>) { return }

// -----

// expected-error @below {{planning needs ranked tensors of static shape, but this argument is 'index'}}
func.func @step(%x: index) { return }

// -----

// expected-error @below {{a step that is planned must have exactly one block; found 2 (control flow cannot be planned)}}
func.func @step(%x: tensor<f32>) -> tensor<f32> {
  cf.br ^end
^end:
  return %x : tensor<f32>
}

// -----

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'mpt.exp' is neither a kernel nor a library call; run --mpt-decompose and --mpt-fuse-kernels before planning}}
  %y = mpt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
