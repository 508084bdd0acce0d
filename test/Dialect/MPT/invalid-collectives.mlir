// RUN: mpt-opt %s -split-input-file -verify-diagnostics

func.func @no_mesh(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.all_reduce' op expected a module with the attribute 'mpt.mesh', which says how many ranks there are along the axis 'data', such as mpt.mesh = #mpt.mesh<data = 4>; found none}}
  %0 = mpt.all_reduce %x {axis = "data"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @axis() {
  // expected-error @+1 {{'mpt.rank' op expected an axis of #mpt.mesh<data = 2>, found 'model'}}
  %0 = mpt.rank {axis = "model"} : () -> tensor<i64>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @none() {
  // expected-error @+1 {{'mpt.all_reduce' op expected one or more operands, found none}}
  mpt.all_reduce {axis = "data"} : () -> ()
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @results(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.all_gather' op expected a result for each of the 1 operands, found 2}}
  %0:2 = mpt.all_gather %x {axis = "data"} : (tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @flags(%x: tensor<4xi1>) {
  // expected-error @+1 {{'mpt.all_reduce' op expected the kind any for i1 and for nothing else, found sum of 'tensor<4xi1>'}}
  %0 = mpt.all_reduce %x {axis = "data"} : (tensor<4xi1>) -> tensor<4xi1>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @any(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.all_reduce' op expected the kind any for i1 and for nothing else, found any of 'tensor<4xi32>'}}
  %0 = mpt.all_reduce %x {axis = "data", kind = #mpt.collective_kind<any>} : (tensor<4xi32>) -> tensor<4xi32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @mean(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.all_reduce' op expected floats for the kind mean, found 'tensor<4xi32>'; use the kind sum}}
  %0 = mpt.all_reduce %x {axis = "data", kind = #mpt.collective_kind<mean>} : (tensor<4xi32>) -> tensor<4xi32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @wire(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.all_reduce' op expected 'wire' to be f32, bf16 or f16, found 'f64'}}
  %0 = mpt.all_reduce %x {axis = "data", wire = f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @wire_of_integers(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.all_reduce' op expected floats with 'wire', found 'tensor<4xi32>'}}
  %0 = mpt.all_reduce %x {axis = "data", wire = f16} : (tensor<4xi32>) -> tensor<4xi32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.all_reduce' op expected result 0 of the shape 4 and a float type, found 'tensor<8xf32>' for 'tensor<4xf32>'}}
  %0 = mpt.all_reduce %x {axis = "data"} : (tensor<4xf32>) -> tensor<8xf32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @element(%x: tensor<4xi32>) {
  // expected-error @+1 {{'mpt.all_reduce' op expected result 0 of the shape 4 and the operand's element type, found 'tensor<4xf32>' for 'tensor<4xi32>'}}
  %0 = mpt.all_reduce %x {axis = "data"} : (tensor<4xi32>) -> tensor<4xf32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 3>} {
func.func @scatter_rows(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'mpt.reduce_scatter' op expected dimension 0 to be a multiple of the 3 ranks along the axis, found 'tensor<4x2xf32>'}}
  %0 = mpt.reduce_scatter %x {axis = "data"} : (tensor<4x2xf32>) -> tensor<1x2xf32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 1>} {
func.func @scatter_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.reduce_scatter' op expected operands with a dimension 0, found 'tensor<f32>'}}
  %0 = mpt.reduce_scatter %x {axis = "data"} : (tensor<f32>) -> tensor<f32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @scatter_kind(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.reduce_scatter' op expected the kind sum or mean, found max; use mpt.all_reduce and take a slice}}
  %0 = mpt.reduce_scatter %x {axis = "data", kind = #mpt.collective_kind<max>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @gather_element(%x: tensor<4xf16>) {
  // expected-error @+1 {{'mpt.all_gather' op expected result 0 of the shape 8 and the operand's element type, found 'tensor<8xf32>' for 'tensor<4xf16>'}}
  %0 = mpt.all_gather %x {axis = "data"} : (tensor<4xf16>) -> tensor<8xf32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @gather_rows(%x: tensor<9223372036854775807x1xf32>) {
  // expected-error @+1 {{'mpt.all_gather' op expected at most 2^63 - 1 rows, found 'tensor<9223372036854775807x1xf32>' on each of 2 ranks}}
  %0 = mpt.all_gather %x {axis = "data"} : (tensor<9223372036854775807x1xf32>) -> tensor<2x1xf32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @parts(%x: tensor<3xf32>) {
  // expected-error @+1 {{'mpt.all_to_all' op expected dimension 0 to be a multiple of the 2 ranks along the axis, found 'tensor<3xf32>'}}
  %0 = mpt.all_to_all %x {axis = "data"} : (tensor<3xf32>) -> tensor<3xf32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 1>} {
func.func @no_parts(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.all_to_all' op expected operands with a dimension 0, found 'tensor<f32>'}}
  %0 = mpt.all_to_all %x {axis = "data"} : (tensor<f32>) -> tensor<f32>
  return
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @root(%x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.broadcast_from' op expected 'root' in [0, 2), the ranks along the axis, found 2}}
  %0 = mpt.broadcast_from %x {axis = "data", root = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
}

// -----

// expected-error @+1 {{expected axes of different names, found "data" twice}}
module attributes {mpt.mesh = #mpt.mesh<data = 2, data = 2>} {
}

// -----

// expected-error @+1 {{expected at least one rank along the axis "data" and at most 1048576 in all, found 0}}
module attributes {mpt.mesh = #mpt.mesh<data = 0>} {
}

// -----

// expected-error @+1 {{expected at least one rank along the axis "b" and at most 1048576 in all, found 1024}}
module attributes {mpt.mesh = #mpt.mesh<a = 1025, b = 1024>} {
}

// -----

// expected-error @+1 {{expected a mesh of one or more axes with a size each, found 0 axes and 0 sizes}}
module attributes {mpt.mesh = #mpt.mesh<>} {
}

// -----

// expected-error @+1 {{expected 'mpt.mesh' to be a mesh, such as #mpt.mesh<data = 4>; found 4}}
module attributes {mpt.mesh = 4 : i64} {
}
