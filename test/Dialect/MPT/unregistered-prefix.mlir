// RUN: mpt-opt %s -split-input-file -verify-diagnostics

// A note on an mpt op is a registered dialect's, or its dialect need not be registered.

func.func @unregistered(%x: tensor<4xf32>) {
  // expected-error @below {{'mpt.exp' op has an attribute 'acme.precision' of the dialect 'acme', which is not registered; remove it, or allow unregistered dialects (mpt-opt --allow-unregistered-dialect)}}
  %y = mpt.exp %x {acme.precision = "f32"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Frontends note things of their own on functions.

func.func @registered(%x: tensor<4xf32> {jax.arg_info = "x", mpt.name = "x"}) attributes {jax.note} {
  %y = mpt.exp %x {tosa.note = "f32"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
