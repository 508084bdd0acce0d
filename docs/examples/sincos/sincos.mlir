// A multi-task network: learns sin x and cos x from noisy points, with a shared
// trunk of three layers and two heads. The loss is the sum of both mean squared
// errors. Initialization is PyTorch's default for nn.Linear.
//
//   make_data.py .
//   mpt-run sincos.mlir --data x=x.npy --data sin=sin.npy --data cos=cos.npy \
//     --optimizer=adam --lr=0.01 --steps=1000
func.func @loss(
    %trunk0_w: tensor<1x150xf32> {mpt.name = "trunk0_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 1 : i64}},
    %trunk0_b: tensor<150xf32> {mpt.name = "trunk0_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 1 : i64}},
    %trunk1_w: tensor<150x150xf32> {mpt.name = "trunk1_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %trunk1_b: tensor<150xf32> {mpt.name = "trunk1_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %trunk2_w: tensor<150x150xf32> {mpt.name = "trunk2_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %trunk2_b: tensor<150xf32> {mpt.name = "trunk2_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %sin0_w: tensor<150x150xf32> {mpt.name = "sin0_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %sin0_b: tensor<150xf32> {mpt.name = "sin0_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %sin1_w: tensor<150x1xf32> {mpt.name = "sin1_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %sin1_b: tensor<1xf32> {mpt.name = "sin1_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %cos0_w: tensor<150x150xf32> {mpt.name = "cos0_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %cos0_b: tensor<150xf32> {mpt.name = "cos0_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %cos1_w: tensor<150x1xf32> {mpt.name = "cos1_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %cos1_b: tensor<1xf32> {mpt.name = "cos1_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 150 : i64}},
    %x: tensor<20000x1xf32> {mpt.name = "x", mpt.role = "input"},
    %sin: tensor<20000x1xf32> {mpt.name = "sin", mpt.role = "target"},
    %cos: tensor<20000x1xf32> {mpt.name = "cos", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %h0 = mpt.linear %x, %trunk0_w, %trunk0_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<20000x1xf32>, tensor<1x150xf32>, tensor<150xf32>) -> tensor<20000x150xf32>
  %h1 = mpt.linear %h0, %trunk1_w, %trunk1_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<20000x150xf32>, tensor<150x150xf32>, tensor<150xf32>) -> tensor<20000x150xf32>
  %h2 = mpt.linear %h1, %trunk2_w, %trunk2_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<20000x150xf32>, tensor<150x150xf32>, tensor<150xf32>) -> tensor<20000x150xf32>
  %sin_h = mpt.linear %h2, %sin0_w, %sin0_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<20000x150xf32>, tensor<150x150xf32>, tensor<150xf32>) -> tensor<20000x150xf32>
  %sin_y = mpt.linear %sin_h, %sin1_w, %sin1_b
      : (tensor<20000x150xf32>, tensor<150x1xf32>, tensor<1xf32>) -> tensor<20000x1xf32>
  %sin_loss = mpt.mse_loss %sin_y, %sin
      : (tensor<20000x1xf32>, tensor<20000x1xf32>) -> tensor<f32>
  %cos_h = mpt.linear %h2, %cos0_w, %cos0_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<20000x150xf32>, tensor<150x150xf32>, tensor<150xf32>) -> tensor<20000x150xf32>
  %cos_y = mpt.linear %cos_h, %cos1_w, %cos1_b
      : (tensor<20000x150xf32>, tensor<150x1xf32>, tensor<1xf32>) -> tensor<20000x1xf32>
  %cos_loss = mpt.mse_loss %cos_y, %cos
      : (tensor<20000x1xf32>, tensor<20000x1xf32>) -> tensor<f32>
  %loss = mpt.add %sin_loss, %cos_loss : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
