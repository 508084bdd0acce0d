// Embeddings and dense layers for a table; written by make_model.py.
func.func @loss(
    %embeddings: tensor<581x16xf32> {mpt.name = "embeddings", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %numbers_norm_gamma: tensor<4xf32> {mpt.name = "numbers_norm_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %numbers_norm_beta: tensor<4xf32> {mpt.name = "numbers_norm_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %numbers_norm_mean: tensor<4xf32> {mpt.name = "numbers_norm_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %numbers_norm_var: tensor<4xf32> {mpt.name = "numbers_norm_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %d0_w: tensor<116x128xf32> {mpt.name = "d0_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 116 : i64}},
    %d0_b: tensor<128xf32> {mpt.name = "d0_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 116 : i64}},
    %d0_norm_gamma: tensor<128xf32> {mpt.name = "d0_norm_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %d0_norm_beta: tensor<128xf32> {mpt.name = "d0_norm_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %d0_norm_mean: tensor<128xf32> {mpt.name = "d0_norm_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %d0_norm_var: tensor<128xf32> {mpt.name = "d0_norm_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %d1_w: tensor<128x64xf32> {mpt.name = "d1_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 128 : i64}},
    %d1_b: tensor<64xf32> {mpt.name = "d1_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 128 : i64}},
    %d1_norm_gamma: tensor<64xf32> {mpt.name = "d1_norm_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %d1_norm_beta: tensor<64xf32> {mpt.name = "d1_norm_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %d1_norm_mean: tensor<64xf32> {mpt.name = "d1_norm_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %d1_norm_var: tensor<64xf32> {mpt.name = "d1_norm_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %head_w: tensor<64x30xf32> {mpt.name = "head_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 64 : i64}},
    %head_b: tensor<30xf32> {mpt.name = "head_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 64 : i64}},
    %x: tensor<?x7xi32> {mpt.name = "x", mpt.role = "input"},
    %v: tensor<?x4xf32> {mpt.name = "v", mpt.role = "input"},
    %y: tensor<?xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<4xf32> {mpt.name = "new_numbers_norm_mean", mpt.updates = "numbers_norm_mean"},
        tensor<4xf32> {mpt.name = "new_numbers_norm_var", mpt.updates = "numbers_norm_var"},
        tensor<128xf32> {mpt.name = "new_d0_norm_mean", mpt.updates = "d0_norm_mean"},
        tensor<128xf32> {mpt.name = "new_d0_norm_var", mpt.updates = "d0_norm_var"},
        tensor<64xf32> {mpt.name = "new_d1_norm_mean", mpt.updates = "d1_norm_mean"},
        tensor<64xf32> {mpt.name = "new_d1_norm_var", mpt.updates = "d1_norm_var"}) {
  %v1 = mpt.gather %embeddings, %x
      : (tensor<581x16xf32>, tensor<?x7xi32>) -> tensor<?x7x16xf32>
  %v2 = mpt.reshape %v1
      : (tensor<?x7x16xf32>) -> tensor<?x112xf32>
  %v3_0, %v3_1, %v3_2, %v3_3, %v3_4 = mpt.batch_norm %v, %numbers_norm_gamma, %numbers_norm_beta, %numbers_norm_mean, %numbers_norm_var
      : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %v4 = mpt.concat %v2, %v3_0 {axis = 1 : i64}
      : (tensor<?x112xf32>, tensor<?x4xf32>) -> tensor<?x116xf32>
  %v5 = mpt.linear %v4, %d0_w, %d0_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<?x116xf32>, tensor<116x128xf32>, tensor<128xf32>) -> tensor<?x128xf32>
  %v6_0, %v6_1, %v6_2, %v6_3, %v6_4 = mpt.batch_norm %v5, %d0_norm_gamma, %d0_norm_beta, %d0_norm_mean, %d0_norm_var
      : (tensor<?x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>)
  %v7 = mpt.linear %v6_0, %d1_w, %d1_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<?x128xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %v8_0, %v8_1, %v8_2, %v8_3, %v8_4 = mpt.batch_norm %v7, %d1_norm_gamma, %d1_norm_beta, %d1_norm_mean, %d1_norm_var
      : (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %v9 = mpt.linear %v8_0, %head_w, %head_b
      : (tensor<?x64xf32>, tensor<64x30xf32>, tensor<30xf32>) -> tensor<?x30xf32>
  %v10_0, %v10_1 = mpt.cross_entropy %v9, %y
      : (tensor<?x30xf32>, tensor<?xi32>) -> (tensor<f32>, tensor<?xf32>)
  %v11 = mpt.argmax %v9
      : (tensor<?x30xf32>) -> tensor<?xi32>
  %v12 = mpt.compare %v11, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  %v13 = mpt.cast %v12
      : (tensor<?xi1>) -> tensor<?xf32>
  %v14 = mpt.reduce %v13 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>}
      : (tensor<?xf32>) -> tensor<f32>
  return %v10_0, %v3_1, %v3_2, %v6_1, %v6_2, %v8_1, %v8_2
      : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<128xf32>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>
}

// The same network on held-out data.
func.func @eval(
    %embeddings: tensor<581x16xf32> {mpt.name = "embeddings", mpt.role = "parameter"},
    %numbers_norm_gamma: tensor<4xf32> {mpt.name = "numbers_norm_gamma", mpt.role = "parameter"},
    %numbers_norm_beta: tensor<4xf32> {mpt.name = "numbers_norm_beta", mpt.role = "parameter"},
    %numbers_norm_mean: tensor<4xf32> {mpt.name = "numbers_norm_mean", mpt.role = "running_stat"},
    %numbers_norm_var: tensor<4xf32> {mpt.name = "numbers_norm_var", mpt.role = "running_stat"},
    %d0_w: tensor<116x128xf32> {mpt.name = "d0_w", mpt.role = "parameter"},
    %d0_b: tensor<128xf32> {mpt.name = "d0_b", mpt.role = "parameter"},
    %d0_norm_gamma: tensor<128xf32> {mpt.name = "d0_norm_gamma", mpt.role = "parameter"},
    %d0_norm_beta: tensor<128xf32> {mpt.name = "d0_norm_beta", mpt.role = "parameter"},
    %d0_norm_mean: tensor<128xf32> {mpt.name = "d0_norm_mean", mpt.role = "running_stat"},
    %d0_norm_var: tensor<128xf32> {mpt.name = "d0_norm_var", mpt.role = "running_stat"},
    %d1_w: tensor<128x64xf32> {mpt.name = "d1_w", mpt.role = "parameter"},
    %d1_b: tensor<64xf32> {mpt.name = "d1_b", mpt.role = "parameter"},
    %d1_norm_gamma: tensor<64xf32> {mpt.name = "d1_norm_gamma", mpt.role = "parameter"},
    %d1_norm_beta: tensor<64xf32> {mpt.name = "d1_norm_beta", mpt.role = "parameter"},
    %d1_norm_mean: tensor<64xf32> {mpt.name = "d1_norm_mean", mpt.role = "running_stat"},
    %d1_norm_var: tensor<64xf32> {mpt.name = "d1_norm_var", mpt.role = "running_stat"},
    %head_w: tensor<64x30xf32> {mpt.name = "head_w", mpt.role = "parameter"},
    %head_b: tensor<30xf32> {mpt.name = "head_b", mpt.role = "parameter"},
    %x: tensor<?x7xi32> {mpt.name = "x", mpt.role = "input"},
    %v: tensor<?x4xf32> {mpt.name = "v", mpt.role = "input"},
    %y: tensor<?xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<f32> {mpt.name = "accuracy"}) {
  %v1 = mpt.gather %embeddings, %x
      : (tensor<581x16xf32>, tensor<?x7xi32>) -> tensor<?x7x16xf32>
  %v2 = mpt.reshape %v1
      : (tensor<?x7x16xf32>) -> tensor<?x112xf32>
  %v3 = mpt.batch_norm_inference %v, %numbers_norm_gamma, %numbers_norm_beta, %numbers_norm_mean, %numbers_norm_var
      : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %v4 = mpt.concat %v2, %v3 {axis = 1 : i64}
      : (tensor<?x112xf32>, tensor<?x4xf32>) -> tensor<?x116xf32>
  %v5 = mpt.linear %v4, %d0_w, %d0_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<?x116xf32>, tensor<116x128xf32>, tensor<128xf32>) -> tensor<?x128xf32>
  %v6 = mpt.batch_norm_inference %v5, %d0_norm_gamma, %d0_norm_beta, %d0_norm_mean, %d0_norm_var
      : (tensor<?x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<?x128xf32>
  %v7 = mpt.linear %v6, %d1_w, %d1_b {epilogue = #mpt.epilogue<relu>}
      : (tensor<?x128xf32>, tensor<128x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %v8 = mpt.batch_norm_inference %v7, %d1_norm_gamma, %d1_norm_beta, %d1_norm_mean, %d1_norm_var
      : (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %v9 = mpt.linear %v8, %head_w, %head_b
      : (tensor<?x64xf32>, tensor<64x30xf32>, tensor<30xf32>) -> tensor<?x30xf32>
  %v10_0, %v10_1 = mpt.cross_entropy %v9, %y
      : (tensor<?x30xf32>, tensor<?xi32>) -> (tensor<f32>, tensor<?xf32>)
  %v11 = mpt.argmax %v9
      : (tensor<?x30xf32>) -> tensor<?xi32>
  %v12 = mpt.compare %v11, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  %v13 = mpt.cast %v12
      : (tensor<?xi1>) -> tensor<?xf32>
  %v14 = mpt.reduce %v13 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>}
      : (tensor<?xf32>) -> tensor<f32>
  return %v10_0, %v14
      : tensor<f32>, tensor<f32>
}
