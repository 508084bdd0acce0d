// A small convolutional network on scikit-learn's handwritten digits (8x8 grey
// images, ten classes): two convolutions with pooling, two dense layers.
//
//   mpt-run digits.mlir --data x=train_x.npy --data y=train_y.npy --batch 64
//     --eval-function=eval --eval-data x=test_x.npy --eval-data y=test_y.npy
func.func @loss(
    %c0_w: tensor<3x3x1x16xf32> {mpt.name = "c0_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 9 : i64}},
    %c0_b: tensor<16xf32> {mpt.name = "c0_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 9 : i64}},
    %c1_w: tensor<3x3x16x32xf32> {mpt.name = "c1_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 144 : i64}},
    %c1_b: tensor<32xf32> {mpt.name = "c1_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 144 : i64}},
    %d0_w: tensor<128x64xf32> {mpt.name = "d0_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 128 : i64}},
    %d0_b: tensor<64xf32> {mpt.name = "d0_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 128 : i64}},
    %d1_w: tensor<64x10xf32> {mpt.name = "d1_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 64 : i64}},
    %d1_b: tensor<10xf32> {mpt.name = "d1_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 64 : i64}},
    %x: tensor<?x8x8x1xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %c0 = mpt.conv2d %x, %c0_w, %c0_b {padding = array<i64: 1, 1, 1, 1>, epilogue = #mpt.epilogue<relu>}
      : (tensor<?x8x8x1xf32>, tensor<3x3x1x16xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32>
  %p0 = mpt.max_pool %c0 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<?x8x8x16xf32>) -> tensor<?x4x4x16xf32>
  %c1 = mpt.conv2d %p0, %c1_w, %c1_b {padding = array<i64: 1, 1, 1, 1>, epilogue = #mpt.epilogue<relu>}
      : (tensor<?x4x4x16xf32>, tensor<3x3x16x32xf32>, tensor<32xf32>) -> tensor<?x4x4x32xf32>
  %p1 = mpt.max_pool %c1 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<?x4x4x32xf32>) -> tensor<?x2x2x32xf32>
  %flat = mpt.reshape %p1 : (tensor<?x2x2x32xf32>) -> tensor<?x128xf32>
  %d0 = mpt.linear %flat, %d0_w, %d0_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<?x128xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %logits = mpt.linear %d0, %d1_w, %d1_b
      : (tensor<?x64xf32>, tensor<64x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  %loss, %lse = mpt.cross_entropy %logits, %y
      : (tensor<?x10xf32>, tensor<?xi32>) -> (tensor<f32>, tensor<?xf32>)
  return %loss : tensor<f32>
}

// The same network's accuracy on held-out images.
func.func @eval(
    %c0_w: tensor<3x3x1x16xf32> {mpt.name = "c0_w", mpt.role = "parameter"},
    %c0_b: tensor<16xf32> {mpt.name = "c0_b", mpt.role = "parameter"},
    %c1_w: tensor<3x3x16x32xf32> {mpt.name = "c1_w", mpt.role = "parameter"},
    %c1_b: tensor<32xf32> {mpt.name = "c1_b", mpt.role = "parameter"},
    %d0_w: tensor<128x64xf32> {mpt.name = "d0_w", mpt.role = "parameter"},
    %d0_b: tensor<64xf32> {mpt.name = "d0_b", mpt.role = "parameter"},
    %d1_w: tensor<64x10xf32> {mpt.name = "d1_w", mpt.role = "parameter"},
    %d1_b: tensor<10xf32> {mpt.name = "d1_b", mpt.role = "parameter"},
    %x: tensor<?x8x8x1xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<f32> {mpt.name = "accuracy"}) {
  %c0 = mpt.conv2d %x, %c0_w, %c0_b {padding = array<i64: 1, 1, 1, 1>, epilogue = #mpt.epilogue<relu>}
      : (tensor<?x8x8x1xf32>, tensor<3x3x1x16xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32>
  %p0 = mpt.max_pool %c0 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<?x8x8x16xf32>) -> tensor<?x4x4x16xf32>
  %c1 = mpt.conv2d %p0, %c1_w, %c1_b {padding = array<i64: 1, 1, 1, 1>, epilogue = #mpt.epilogue<relu>}
      : (tensor<?x4x4x16xf32>, tensor<3x3x16x32xf32>, tensor<32xf32>) -> tensor<?x4x4x32xf32>
  %p1 = mpt.max_pool %c1 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<?x4x4x32xf32>) -> tensor<?x2x2x32xf32>
  %flat = mpt.reshape %p1 : (tensor<?x2x2x32xf32>) -> tensor<?x128xf32>
  %d0 = mpt.linear %flat, %d0_w, %d0_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<?x128xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %logits = mpt.linear %d0, %d1_w, %d1_b
      : (tensor<?x64xf32>, tensor<64x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  %loss, %lse = mpt.cross_entropy %logits, %y
      : (tensor<?x10xf32>, tensor<?xi32>) -> (tensor<f32>, tensor<?xf32>)
  %class = mpt.argmax %logits : (tensor<?x10xf32>) -> tensor<?xi32>
  %right = mpt.compare %class, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  %hits = mpt.cast %right : (tensor<?xi1>) -> tensor<?xf32>
  %accuracy = mpt.reduce %hits {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>}
      : (tensor<?xf32>) -> tensor<f32>
  return %loss, %accuracy : tensor<f32>, tensor<f32>
}
