// RUN: mpt-opt %s --mpt-decompose --split-input-file | FileCheck %s

// Squares are added in blocks of 4,096 elements of a gradient, then the blocks.

// A small gradient is one block, and one row.
// CHECK-LABEL: @small
// CHECK: mpt.reduce {{.*}}axes = array<i64: 1>{{.*}} : (tensor<1x600xf32>) -> tensor<1x1xf32>
// CHECK-NOT: mpt.reduce
func.func @small(%g: tensor<20x30xf32>) -> tensor<f32> {
  %c, %n = mpt.clip_by_global_norm %g {max_norm = 1.0 : f64} : (tensor<20x30xf32>) -> (tensor<20x30xf32>, tensor<f32>)
  return %n : tensor<f32>
}

// -----

// CHECK-LABEL: @whole_blocks
// CHECK: mpt.reduce {{.*}} : (tensor<3x4096xf32>) -> tensor<3x1xf32>
// CHECK: mpt.reduce {{.*}} : (tensor<1x3xf32>) -> tensor<1x1xf32>
func.func @whole_blocks(%g: tensor<96x128xbf16>) -> tensor<f32> {
  %c, %n = mpt.clip_by_global_norm %g {max_norm = 1.0 : f64} : (tensor<96x128xbf16>) -> (tensor<96x128xbf16>, tensor<f32>)
  return %n : tensor<f32>
}

// -----

// 12,288 + 1,024 elements: rows of 1,024, four of them a block, and a last block of one.
// CHECK-LABEL: @last_block
// CHECK: mpt.reduce {{.*}} : (tensor<13x1024xf32>) -> tensor<13x1xf32>
// CHECK: mpt.pad {{.*}} : (tensor<13xf32>) -> tensor<16xf32>
// CHECK: mpt.reduce {{.*}} : (tensor<4x4xf32>) -> tensor<4x1xf32>
// CHECK: mpt.reduce {{.*}} : (tensor<1x4xf32>) -> tensor<1x1xf32>
func.func @last_block(%g: tensor<13x1024xf32>) -> tensor<f32> {
  %c, %n = mpt.clip_by_global_norm %g {max_norm = 1.0 : f64} : (tensor<13x1024xf32>) -> (tensor<13x1024xf32>, tensor<f32>)
  return %n : tensor<f32>
}

// -----

// Sizes that share no power of two of at least 32 with a block are filled up with zeros.
// CHECK-LABEL: @odd
// CHECK: mpt.pad {{.*}} : (tensor<9999xf32>) -> tensor<12288xf32>
// CHECK: mpt.reduce {{.*}} : (tensor<3x4096xf32>) -> tensor<3x1xf32>
// CHECK: mpt.reduce {{.*}} : (tensor<1x3xf32>) -> tensor<1x1xf32>
func.func @odd(%g: tensor<99x101xf32>) -> tensor<f32> {
  %c, %n = mpt.clip_by_global_norm %g {max_norm = 1.0 : f64} : (tensor<99x101xf32>) -> (tensor<99x101xf32>, tensor<f32>)
  return %n : tensor<f32>
}

// -----

// Of much, only what the last block has is copied; the others are read where they are.
// CHECK-LABEL: @long
// CHECK: [[FLAT:%.*]] = mpt.reshape {{.*}} : (tensor<20011x16xf32>) -> tensor<320176xf32>
// CHECK: [[WHOLE:%.*]] = mpt.slice [[FLAT]] {offsets = array<i64: 0>{{.*}} : (tensor<320176xf32>) -> tensor<319488xf32>
// CHECK: mpt.reshape [[WHOLE]] : (tensor<319488xf32>) -> tensor<78x4096xf32>
// CHECK: mpt.reduce {{.*}} : (tensor<78x4096xf32>) -> tensor<78x1xf32>
// CHECK: mpt.slice {{.*}} {offsets = array<i64: 319488>{{.*}} : (tensor<320176xf32>) -> tensor<688xf32>
// CHECK: mpt.pad {{.*}} : (tensor<688xf32>) -> tensor<4096xf32>
// CHECK: mpt.reduce {{.*}} : (tensor<1x4096xf32>) -> tensor<1x1xf32>
// CHECK: mpt.concat {{.*}} : (tensor<78xf32>, tensor<1xf32>) -> tensor<79xf32>
// CHECK: mpt.reduce {{.*}} : (tensor<1x79xf32>) -> tensor<1x1xf32>
func.func @long(%g: tensor<20011x16xf32>) -> tensor<f32> {
  %c, %n = mpt.clip_by_global_norm %g {max_norm = 1.0 : f64} : (tensor<20011x16xf32>) -> (tensor<20011x16xf32>, tensor<f32>)
  return %n : tensor<f32>
}

// -----

// What only looks at elements uses the same rows, so that one kernel does both.
// CHECK-LABEL: @checked
// CHECK: mpt.mul {{.*}} : (tensor<13x1024xf32>, tensor<f32>) -> tensor<13x1024xf32>
// CHECK: mpt.reduce {{.*}}<max>{{.*}} : (tensor<13x1024xf32>) -> tensor<13x1xf32>
func.func @checked(%g: tensor<13x1024xf32>, %s: tensor<f32>) -> (tensor<13x1024xf32>, tensor<i1>) {
  %u, %ok = mpt.unscale %g, %s : (tensor<13x1024xf32>, tensor<f32>) -> (tensor<13x1024xf32>, tensor<i1>)
  return %u, %ok : tensor<13x1024xf32>, tensor<i1>
}

// -----

// What is checked is unscaled in rows, so that one kernel does both.
// CHECK-LABEL: @checked
// CHECK: mpt.mul {{.*}} : (tensor<3x4096xf32>, tensor<f32>) -> tensor<3x4096xf32>
func.func @checked(%g: tensor<96x128xf32>, %scale: tensor<f32>) -> (tensor<96x128xf32>, tensor<i1>) {
  %u, %finite = mpt.unscale %g, %scale : (tensor<96x128xf32>, tensor<f32>) -> (tensor<96x128xf32>, tensor<i1>)
  return %u, %finite : tensor<96x128xf32>, tensor<i1>
}

// -----

// What is not has the shape that its update has.
// CHECK-LABEL: @unchecked
// CHECK-NOT: mpt.reshape
// CHECK: mpt.mul {{.*}} : (tensor<96x128xf32>, tensor<f32>) -> tensor<96x128xf32>
// CHECK-NOT: mpt.reshape
func.func @unchecked(%g: tensor<96x128xf32>, %scale: tensor<f32>) -> tensor<96x128xf32> {
  %u, %finite = mpt.unscale %g, %scale : (tensor<96x128xf32>, tensor<f32>) -> (tensor<96x128xf32>, tensor<i1>)
  return %u : tensor<96x128xf32>
}
