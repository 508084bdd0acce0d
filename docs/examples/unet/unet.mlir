// A U-Net for 32x32 images; written by make_model.py.
func.func @loss(
    %down0_conv0_w: tensor<3x3x1x8xf32> {mpt.name = "down0_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.4714045207910317 : f64}},
    %down0_norm0_gamma: tensor<8xf32> {mpt.name = "down0_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %down0_norm0_beta: tensor<8xf32> {mpt.name = "down0_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %down0_norm0_mean: tensor<8xf32> {mpt.name = "down0_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %down0_norm0_var: tensor<8xf32> {mpt.name = "down0_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %down0_conv1_w: tensor<3x3x8x8xf32> {mpt.name = "down0_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.16666666666666666 : f64}},
    %down0_norm1_gamma: tensor<8xf32> {mpt.name = "down0_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %down0_norm1_beta: tensor<8xf32> {mpt.name = "down0_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %down0_norm1_mean: tensor<8xf32> {mpt.name = "down0_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %down0_norm1_var: tensor<8xf32> {mpt.name = "down0_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %down1_conv0_w: tensor<3x3x8x16xf32> {mpt.name = "down1_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.16666666666666666 : f64}},
    %down1_norm0_gamma: tensor<16xf32> {mpt.name = "down1_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %down1_norm0_beta: tensor<16xf32> {mpt.name = "down1_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %down1_norm0_mean: tensor<16xf32> {mpt.name = "down1_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %down1_norm0_var: tensor<16xf32> {mpt.name = "down1_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %down1_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "down1_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %down1_norm1_gamma: tensor<16xf32> {mpt.name = "down1_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %down1_norm1_beta: tensor<16xf32> {mpt.name = "down1_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %down1_norm1_mean: tensor<16xf32> {mpt.name = "down1_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %down1_norm1_var: tensor<16xf32> {mpt.name = "down1_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %bottom_conv0_w: tensor<3x3x16x32xf32> {mpt.name = "bottom_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %bottom_norm0_gamma: tensor<32xf32> {mpt.name = "bottom_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %bottom_norm0_beta: tensor<32xf32> {mpt.name = "bottom_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %bottom_norm0_mean: tensor<32xf32> {mpt.name = "bottom_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %bottom_norm0_var: tensor<32xf32> {mpt.name = "bottom_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %bottom_conv1_w: tensor<3x3x32x32xf32> {mpt.name = "bottom_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.08333333333333333 : f64}},
    %bottom_norm1_gamma: tensor<32xf32> {mpt.name = "bottom_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %bottom_norm1_beta: tensor<32xf32> {mpt.name = "bottom_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %bottom_norm1_mean: tensor<32xf32> {mpt.name = "bottom_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %bottom_norm1_var: tensor<32xf32> {mpt.name = "bottom_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %up1_w: tensor<32x64xf32> {mpt.name = "up1_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 32 : i64}},
    %up1_b: tensor<64xf32> {mpt.name = "up1_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 32 : i64}},
    %merge1_conv0_w: tensor<3x3x32x16xf32> {mpt.name = "merge1_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.08333333333333333 : f64}},
    %merge1_norm0_gamma: tensor<16xf32> {mpt.name = "merge1_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %merge1_norm0_beta: tensor<16xf32> {mpt.name = "merge1_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %merge1_norm0_mean: tensor<16xf32> {mpt.name = "merge1_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %merge1_norm0_var: tensor<16xf32> {mpt.name = "merge1_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %merge1_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "merge1_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %merge1_norm1_gamma: tensor<16xf32> {mpt.name = "merge1_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %merge1_norm1_beta: tensor<16xf32> {mpt.name = "merge1_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %merge1_norm1_mean: tensor<16xf32> {mpt.name = "merge1_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %merge1_norm1_var: tensor<16xf32> {mpt.name = "merge1_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %up0_w: tensor<16x32xf32> {mpt.name = "up0_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 16 : i64}},
    %up0_b: tensor<32xf32> {mpt.name = "up0_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 16 : i64}},
    %merge0_conv0_w: tensor<3x3x16x8xf32> {mpt.name = "merge0_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %merge0_norm0_gamma: tensor<8xf32> {mpt.name = "merge0_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %merge0_norm0_beta: tensor<8xf32> {mpt.name = "merge0_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %merge0_norm0_mean: tensor<8xf32> {mpt.name = "merge0_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %merge0_norm0_var: tensor<8xf32> {mpt.name = "merge0_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %merge0_conv1_w: tensor<3x3x8x8xf32> {mpt.name = "merge0_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.16666666666666666 : f64}},
    %merge0_norm1_gamma: tensor<8xf32> {mpt.name = "merge0_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %merge0_norm1_beta: tensor<8xf32> {mpt.name = "merge0_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %merge0_norm1_mean: tensor<8xf32> {mpt.name = "merge0_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %merge0_norm1_var: tensor<8xf32> {mpt.name = "merge0_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %head_w: tensor<8x4xf32> {mpt.name = "head_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %head_b: tensor<4xf32> {mpt.name = "head_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %x: tensor<?x32x32x1xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x32x32xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<8xf32> {mpt.name = "new_down0_norm0_mean", mpt.updates = "down0_norm0_mean"},
        tensor<8xf32> {mpt.name = "new_down0_norm0_var", mpt.updates = "down0_norm0_var"},
        tensor<8xf32> {mpt.name = "new_down0_norm1_mean", mpt.updates = "down0_norm1_mean"},
        tensor<8xf32> {mpt.name = "new_down0_norm1_var", mpt.updates = "down0_norm1_var"},
        tensor<16xf32> {mpt.name = "new_down1_norm0_mean", mpt.updates = "down1_norm0_mean"},
        tensor<16xf32> {mpt.name = "new_down1_norm0_var", mpt.updates = "down1_norm0_var"},
        tensor<16xf32> {mpt.name = "new_down1_norm1_mean", mpt.updates = "down1_norm1_mean"},
        tensor<16xf32> {mpt.name = "new_down1_norm1_var", mpt.updates = "down1_norm1_var"},
        tensor<32xf32> {mpt.name = "new_bottom_norm0_mean", mpt.updates = "bottom_norm0_mean"},
        tensor<32xf32> {mpt.name = "new_bottom_norm0_var", mpt.updates = "bottom_norm0_var"},
        tensor<32xf32> {mpt.name = "new_bottom_norm1_mean", mpt.updates = "bottom_norm1_mean"},
        tensor<32xf32> {mpt.name = "new_bottom_norm1_var", mpt.updates = "bottom_norm1_var"},
        tensor<16xf32> {mpt.name = "new_merge1_norm0_mean", mpt.updates = "merge1_norm0_mean"},
        tensor<16xf32> {mpt.name = "new_merge1_norm0_var", mpt.updates = "merge1_norm0_var"},
        tensor<16xf32> {mpt.name = "new_merge1_norm1_mean", mpt.updates = "merge1_norm1_mean"},
        tensor<16xf32> {mpt.name = "new_merge1_norm1_var", mpt.updates = "merge1_norm1_var"},
        tensor<8xf32> {mpt.name = "new_merge0_norm0_mean", mpt.updates = "merge0_norm0_mean"},
        tensor<8xf32> {mpt.name = "new_merge0_norm0_var", mpt.updates = "merge0_norm0_var"},
        tensor<8xf32> {mpt.name = "new_merge0_norm1_mean", mpt.updates = "merge0_norm1_mean"},
        tensor<8xf32> {mpt.name = "new_merge0_norm1_var", mpt.updates = "merge0_norm1_var"}) {
  %v1 = mpt.conv2d %x, %down0_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x32x32x1xf32>, tensor<3x3x1x8xf32>) -> tensor<?x32x32x8xf32>
  %v2_0, %v2_1, %v2_2, %v2_3, %v2_4 = mpt.batch_norm %v1, %down0_norm0_gamma, %down0_norm0_beta, %down0_norm0_mean, %down0_norm0_var
      : (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %v3 = mpt.relu %v2_0
      : (tensor<?x32x32x8xf32>) -> tensor<?x32x32x8xf32>
  %v4 = mpt.conv2d %v3, %down0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x32x32x8xf32>, tensor<3x3x8x8xf32>) -> tensor<?x32x32x8xf32>
  %v5_0, %v5_1, %v5_2, %v5_3, %v5_4 = mpt.batch_norm %v4, %down0_norm1_gamma, %down0_norm1_beta, %down0_norm1_mean, %down0_norm1_var
      : (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %v6 = mpt.relu %v5_0
      : (tensor<?x32x32x8xf32>) -> tensor<?x32x32x8xf32>
  %v7 = mpt.max_pool %v6 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<?x32x32x8xf32>) -> tensor<?x16x16x8xf32>
  %v8 = mpt.conv2d %v7, %down1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x16x16x8xf32>, tensor<3x3x8x16xf32>) -> tensor<?x16x16x16xf32>
  %v9_0, %v9_1, %v9_2, %v9_3, %v9_4 = mpt.batch_norm %v8, %down1_norm0_gamma, %down1_norm0_beta, %down1_norm0_mean, %down1_norm0_var
      : (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v10 = mpt.relu %v9_0
      : (tensor<?x16x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v11 = mpt.conv2d %v10, %down1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x16x16x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v12_0, %v12_1, %v12_2, %v12_3, %v12_4 = mpt.batch_norm %v11, %down1_norm1_gamma, %down1_norm1_beta, %down1_norm1_mean, %down1_norm1_var
      : (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v13 = mpt.relu %v12_0
      : (tensor<?x16x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v14 = mpt.max_pool %v13 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<?x16x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v15 = mpt.conv2d %v14, %bottom_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x32xf32>) -> tensor<?x8x8x32xf32>
  %v16_0, %v16_1, %v16_2, %v16_3, %v16_4 = mpt.batch_norm %v15, %bottom_norm0_gamma, %bottom_norm0_beta, %bottom_norm0_mean, %bottom_norm0_var
      : (tensor<?x8x8x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x8x8x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %v17 = mpt.relu %v16_0
      : (tensor<?x8x8x32xf32>) -> tensor<?x8x8x32xf32>
  %v18 = mpt.conv2d %v17, %bottom_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x8x8x32xf32>
  %v19_0, %v19_1, %v19_2, %v19_3, %v19_4 = mpt.batch_norm %v18, %bottom_norm1_gamma, %bottom_norm1_beta, %bottom_norm1_mean, %bottom_norm1_var
      : (tensor<?x8x8x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x8x8x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %v20 = mpt.relu %v19_0
      : (tensor<?x8x8x32xf32>) -> tensor<?x8x8x32xf32>
  %v21 = mpt.linear %v20, %up1_w, %up1_b
      : (tensor<?x8x8x32xf32>, tensor<32x64xf32>, tensor<64xf32>) -> tensor<?x8x8x64xf32>
  %v22 = mpt.reshape %v21
      : (tensor<?x8x8x64xf32>) -> tensor<?x8x8x2x2x16xf32>
  %v23 = mpt.transpose %v22 {permutation = array<i64: 0, 1, 3, 2, 4, 5>}
      : (tensor<?x8x8x2x2x16xf32>) -> tensor<?x8x2x8x2x16xf32>
  %v24 = mpt.reshape %v23
      : (tensor<?x8x2x8x2x16xf32>) -> tensor<?x16x16x16xf32>
  %v25 = mpt.concat %v24, %v13 {axis = 3 : i64}
      : (tensor<?x16x16x16xf32>, tensor<?x16x16x16xf32>) -> tensor<?x16x16x32xf32>
  %v26 = mpt.conv2d %v25, %merge1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x16x16x32xf32>, tensor<3x3x32x16xf32>) -> tensor<?x16x16x16xf32>
  %v27_0, %v27_1, %v27_2, %v27_3, %v27_4 = mpt.batch_norm %v26, %merge1_norm0_gamma, %merge1_norm0_beta, %merge1_norm0_mean, %merge1_norm0_var
      : (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v28 = mpt.relu %v27_0
      : (tensor<?x16x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v29 = mpt.conv2d %v28, %merge1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x16x16x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v30_0, %v30_1, %v30_2, %v30_3, %v30_4 = mpt.batch_norm %v29, %merge1_norm1_gamma, %merge1_norm1_beta, %merge1_norm1_mean, %merge1_norm1_var
      : (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v31 = mpt.relu %v30_0
      : (tensor<?x16x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v32 = mpt.linear %v31, %up0_w, %up0_b
      : (tensor<?x16x16x16xf32>, tensor<16x32xf32>, tensor<32xf32>) -> tensor<?x16x16x32xf32>
  %v33 = mpt.reshape %v32
      : (tensor<?x16x16x32xf32>) -> tensor<?x16x16x2x2x8xf32>
  %v34 = mpt.transpose %v33 {permutation = array<i64: 0, 1, 3, 2, 4, 5>}
      : (tensor<?x16x16x2x2x8xf32>) -> tensor<?x16x2x16x2x8xf32>
  %v35 = mpt.reshape %v34
      : (tensor<?x16x2x16x2x8xf32>) -> tensor<?x32x32x8xf32>
  %v36 = mpt.concat %v35, %v6 {axis = 3 : i64}
      : (tensor<?x32x32x8xf32>, tensor<?x32x32x8xf32>) -> tensor<?x32x32x16xf32>
  %v37 = mpt.conv2d %v36, %merge0_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x32x32x16xf32>, tensor<3x3x16x8xf32>) -> tensor<?x32x32x8xf32>
  %v38_0, %v38_1, %v38_2, %v38_3, %v38_4 = mpt.batch_norm %v37, %merge0_norm0_gamma, %merge0_norm0_beta, %merge0_norm0_mean, %merge0_norm0_var
      : (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %v39 = mpt.relu %v38_0
      : (tensor<?x32x32x8xf32>) -> tensor<?x32x32x8xf32>
  %v40 = mpt.conv2d %v39, %merge0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x32x32x8xf32>, tensor<3x3x8x8xf32>) -> tensor<?x32x32x8xf32>
  %v41_0, %v41_1, %v41_2, %v41_3, %v41_4 = mpt.batch_norm %v40, %merge0_norm1_gamma, %merge0_norm1_beta, %merge0_norm1_mean, %merge0_norm1_var
      : (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %v42 = mpt.relu %v41_0
      : (tensor<?x32x32x8xf32>) -> tensor<?x32x32x8xf32>
  %v43 = mpt.linear %v42, %head_w, %head_b
      : (tensor<?x32x32x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<?x32x32x4xf32>
  %v44_0, %v44_1 = mpt.cross_entropy %v43, %y
      : (tensor<?x32x32x4xf32>, tensor<?x32x32xi32>) -> (tensor<f32>, tensor<?x32x32xf32>)
  return %v44_0, %v2_1, %v2_2, %v5_1, %v5_2, %v9_1, %v9_2, %v12_1, %v12_2, %v16_1, %v16_2, %v19_1, %v19_2, %v27_1, %v27_2, %v30_1, %v30_2, %v38_1, %v38_2, %v41_1, %v41_2
      : tensor<f32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// The same network on held-out data.
func.func @eval(
    %down0_conv0_w: tensor<3x3x1x8xf32> {mpt.name = "down0_conv0_w", mpt.role = "parameter"},
    %down0_norm0_gamma: tensor<8xf32> {mpt.name = "down0_norm0_gamma", mpt.role = "parameter"},
    %down0_norm0_beta: tensor<8xf32> {mpt.name = "down0_norm0_beta", mpt.role = "parameter"},
    %down0_norm0_mean: tensor<8xf32> {mpt.name = "down0_norm0_mean", mpt.role = "running_stat"},
    %down0_norm0_var: tensor<8xf32> {mpt.name = "down0_norm0_var", mpt.role = "running_stat"},
    %down0_conv1_w: tensor<3x3x8x8xf32> {mpt.name = "down0_conv1_w", mpt.role = "parameter"},
    %down0_norm1_gamma: tensor<8xf32> {mpt.name = "down0_norm1_gamma", mpt.role = "parameter"},
    %down0_norm1_beta: tensor<8xf32> {mpt.name = "down0_norm1_beta", mpt.role = "parameter"},
    %down0_norm1_mean: tensor<8xf32> {mpt.name = "down0_norm1_mean", mpt.role = "running_stat"},
    %down0_norm1_var: tensor<8xf32> {mpt.name = "down0_norm1_var", mpt.role = "running_stat"},
    %down1_conv0_w: tensor<3x3x8x16xf32> {mpt.name = "down1_conv0_w", mpt.role = "parameter"},
    %down1_norm0_gamma: tensor<16xf32> {mpt.name = "down1_norm0_gamma", mpt.role = "parameter"},
    %down1_norm0_beta: tensor<16xf32> {mpt.name = "down1_norm0_beta", mpt.role = "parameter"},
    %down1_norm0_mean: tensor<16xf32> {mpt.name = "down1_norm0_mean", mpt.role = "running_stat"},
    %down1_norm0_var: tensor<16xf32> {mpt.name = "down1_norm0_var", mpt.role = "running_stat"},
    %down1_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "down1_conv1_w", mpt.role = "parameter"},
    %down1_norm1_gamma: tensor<16xf32> {mpt.name = "down1_norm1_gamma", mpt.role = "parameter"},
    %down1_norm1_beta: tensor<16xf32> {mpt.name = "down1_norm1_beta", mpt.role = "parameter"},
    %down1_norm1_mean: tensor<16xf32> {mpt.name = "down1_norm1_mean", mpt.role = "running_stat"},
    %down1_norm1_var: tensor<16xf32> {mpt.name = "down1_norm1_var", mpt.role = "running_stat"},
    %bottom_conv0_w: tensor<3x3x16x32xf32> {mpt.name = "bottom_conv0_w", mpt.role = "parameter"},
    %bottom_norm0_gamma: tensor<32xf32> {mpt.name = "bottom_norm0_gamma", mpt.role = "parameter"},
    %bottom_norm0_beta: tensor<32xf32> {mpt.name = "bottom_norm0_beta", mpt.role = "parameter"},
    %bottom_norm0_mean: tensor<32xf32> {mpt.name = "bottom_norm0_mean", mpt.role = "running_stat"},
    %bottom_norm0_var: tensor<32xf32> {mpt.name = "bottom_norm0_var", mpt.role = "running_stat"},
    %bottom_conv1_w: tensor<3x3x32x32xf32> {mpt.name = "bottom_conv1_w", mpt.role = "parameter"},
    %bottom_norm1_gamma: tensor<32xf32> {mpt.name = "bottom_norm1_gamma", mpt.role = "parameter"},
    %bottom_norm1_beta: tensor<32xf32> {mpt.name = "bottom_norm1_beta", mpt.role = "parameter"},
    %bottom_norm1_mean: tensor<32xf32> {mpt.name = "bottom_norm1_mean", mpt.role = "running_stat"},
    %bottom_norm1_var: tensor<32xf32> {mpt.name = "bottom_norm1_var", mpt.role = "running_stat"},
    %up1_w: tensor<32x64xf32> {mpt.name = "up1_w", mpt.role = "parameter"},
    %up1_b: tensor<64xf32> {mpt.name = "up1_b", mpt.role = "parameter"},
    %merge1_conv0_w: tensor<3x3x32x16xf32> {mpt.name = "merge1_conv0_w", mpt.role = "parameter"},
    %merge1_norm0_gamma: tensor<16xf32> {mpt.name = "merge1_norm0_gamma", mpt.role = "parameter"},
    %merge1_norm0_beta: tensor<16xf32> {mpt.name = "merge1_norm0_beta", mpt.role = "parameter"},
    %merge1_norm0_mean: tensor<16xf32> {mpt.name = "merge1_norm0_mean", mpt.role = "running_stat"},
    %merge1_norm0_var: tensor<16xf32> {mpt.name = "merge1_norm0_var", mpt.role = "running_stat"},
    %merge1_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "merge1_conv1_w", mpt.role = "parameter"},
    %merge1_norm1_gamma: tensor<16xf32> {mpt.name = "merge1_norm1_gamma", mpt.role = "parameter"},
    %merge1_norm1_beta: tensor<16xf32> {mpt.name = "merge1_norm1_beta", mpt.role = "parameter"},
    %merge1_norm1_mean: tensor<16xf32> {mpt.name = "merge1_norm1_mean", mpt.role = "running_stat"},
    %merge1_norm1_var: tensor<16xf32> {mpt.name = "merge1_norm1_var", mpt.role = "running_stat"},
    %up0_w: tensor<16x32xf32> {mpt.name = "up0_w", mpt.role = "parameter"},
    %up0_b: tensor<32xf32> {mpt.name = "up0_b", mpt.role = "parameter"},
    %merge0_conv0_w: tensor<3x3x16x8xf32> {mpt.name = "merge0_conv0_w", mpt.role = "parameter"},
    %merge0_norm0_gamma: tensor<8xf32> {mpt.name = "merge0_norm0_gamma", mpt.role = "parameter"},
    %merge0_norm0_beta: tensor<8xf32> {mpt.name = "merge0_norm0_beta", mpt.role = "parameter"},
    %merge0_norm0_mean: tensor<8xf32> {mpt.name = "merge0_norm0_mean", mpt.role = "running_stat"},
    %merge0_norm0_var: tensor<8xf32> {mpt.name = "merge0_norm0_var", mpt.role = "running_stat"},
    %merge0_conv1_w: tensor<3x3x8x8xf32> {mpt.name = "merge0_conv1_w", mpt.role = "parameter"},
    %merge0_norm1_gamma: tensor<8xf32> {mpt.name = "merge0_norm1_gamma", mpt.role = "parameter"},
    %merge0_norm1_beta: tensor<8xf32> {mpt.name = "merge0_norm1_beta", mpt.role = "parameter"},
    %merge0_norm1_mean: tensor<8xf32> {mpt.name = "merge0_norm1_mean", mpt.role = "running_stat"},
    %merge0_norm1_var: tensor<8xf32> {mpt.name = "merge0_norm1_var", mpt.role = "running_stat"},
    %head_w: tensor<8x4xf32> {mpt.name = "head_w", mpt.role = "parameter"},
    %head_b: tensor<4xf32> {mpt.name = "head_b", mpt.role = "parameter"},
    %x: tensor<?x32x32x1xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x32x32xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<f32> {mpt.name = "accuracy"},
        tensor<f32> {mpt.name = "overlap"}) {
  %v1 = mpt.conv2d %x, %down0_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x32x32x1xf32>, tensor<3x3x1x8xf32>) -> tensor<?x32x32x8xf32>
  %v2 = mpt.batch_norm_inference %v1, %down0_norm0_gamma, %down0_norm0_beta, %down0_norm0_mean, %down0_norm0_var
      : (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x32x32x8xf32>
  %v3 = mpt.relu %v2
      : (tensor<?x32x32x8xf32>) -> tensor<?x32x32x8xf32>
  %v4 = mpt.conv2d %v3, %down0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x32x32x8xf32>, tensor<3x3x8x8xf32>) -> tensor<?x32x32x8xf32>
  %v5 = mpt.batch_norm_inference %v4, %down0_norm1_gamma, %down0_norm1_beta, %down0_norm1_mean, %down0_norm1_var
      : (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x32x32x8xf32>
  %v6 = mpt.relu %v5
      : (tensor<?x32x32x8xf32>) -> tensor<?x32x32x8xf32>
  %v7 = mpt.max_pool %v6 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<?x32x32x8xf32>) -> tensor<?x16x16x8xf32>
  %v8 = mpt.conv2d %v7, %down1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x16x16x8xf32>, tensor<3x3x8x16xf32>) -> tensor<?x16x16x16xf32>
  %v9 = mpt.batch_norm_inference %v8, %down1_norm0_gamma, %down1_norm0_beta, %down1_norm0_mean, %down1_norm0_var
      : (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16x16x16xf32>
  %v10 = mpt.relu %v9
      : (tensor<?x16x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v11 = mpt.conv2d %v10, %down1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x16x16x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v12 = mpt.batch_norm_inference %v11, %down1_norm1_gamma, %down1_norm1_beta, %down1_norm1_mean, %down1_norm1_var
      : (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16x16x16xf32>
  %v13 = mpt.relu %v12
      : (tensor<?x16x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v14 = mpt.max_pool %v13 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<?x16x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v15 = mpt.conv2d %v14, %bottom_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x32xf32>) -> tensor<?x8x8x32xf32>
  %v16 = mpt.batch_norm_inference %v15, %bottom_norm0_gamma, %bottom_norm0_beta, %bottom_norm0_mean, %bottom_norm0_var
      : (tensor<?x8x8x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x8x8x32xf32>
  %v17 = mpt.relu %v16
      : (tensor<?x8x8x32xf32>) -> tensor<?x8x8x32xf32>
  %v18 = mpt.conv2d %v17, %bottom_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x8x8x32xf32>
  %v19 = mpt.batch_norm_inference %v18, %bottom_norm1_gamma, %bottom_norm1_beta, %bottom_norm1_mean, %bottom_norm1_var
      : (tensor<?x8x8x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x8x8x32xf32>
  %v20 = mpt.relu %v19
      : (tensor<?x8x8x32xf32>) -> tensor<?x8x8x32xf32>
  %v21 = mpt.linear %v20, %up1_w, %up1_b
      : (tensor<?x8x8x32xf32>, tensor<32x64xf32>, tensor<64xf32>) -> tensor<?x8x8x64xf32>
  %v22 = mpt.reshape %v21
      : (tensor<?x8x8x64xf32>) -> tensor<?x8x8x2x2x16xf32>
  %v23 = mpt.transpose %v22 {permutation = array<i64: 0, 1, 3, 2, 4, 5>}
      : (tensor<?x8x8x2x2x16xf32>) -> tensor<?x8x2x8x2x16xf32>
  %v24 = mpt.reshape %v23
      : (tensor<?x8x2x8x2x16xf32>) -> tensor<?x16x16x16xf32>
  %v25 = mpt.concat %v24, %v13 {axis = 3 : i64}
      : (tensor<?x16x16x16xf32>, tensor<?x16x16x16xf32>) -> tensor<?x16x16x32xf32>
  %v26 = mpt.conv2d %v25, %merge1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x16x16x32xf32>, tensor<3x3x32x16xf32>) -> tensor<?x16x16x16xf32>
  %v27 = mpt.batch_norm_inference %v26, %merge1_norm0_gamma, %merge1_norm0_beta, %merge1_norm0_mean, %merge1_norm0_var
      : (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16x16x16xf32>
  %v28 = mpt.relu %v27
      : (tensor<?x16x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v29 = mpt.conv2d %v28, %merge1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x16x16x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v30 = mpt.batch_norm_inference %v29, %merge1_norm1_gamma, %merge1_norm1_beta, %merge1_norm1_mean, %merge1_norm1_var
      : (tensor<?x16x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16x16x16xf32>
  %v31 = mpt.relu %v30
      : (tensor<?x16x16x16xf32>) -> tensor<?x16x16x16xf32>
  %v32 = mpt.linear %v31, %up0_w, %up0_b
      : (tensor<?x16x16x16xf32>, tensor<16x32xf32>, tensor<32xf32>) -> tensor<?x16x16x32xf32>
  %v33 = mpt.reshape %v32
      : (tensor<?x16x16x32xf32>) -> tensor<?x16x16x2x2x8xf32>
  %v34 = mpt.transpose %v33 {permutation = array<i64: 0, 1, 3, 2, 4, 5>}
      : (tensor<?x16x16x2x2x8xf32>) -> tensor<?x16x2x16x2x8xf32>
  %v35 = mpt.reshape %v34
      : (tensor<?x16x2x16x2x8xf32>) -> tensor<?x32x32x8xf32>
  %v36 = mpt.concat %v35, %v6 {axis = 3 : i64}
      : (tensor<?x32x32x8xf32>, tensor<?x32x32x8xf32>) -> tensor<?x32x32x16xf32>
  %v37 = mpt.conv2d %v36, %merge0_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x32x32x16xf32>, tensor<3x3x16x8xf32>) -> tensor<?x32x32x8xf32>
  %v38 = mpt.batch_norm_inference %v37, %merge0_norm0_gamma, %merge0_norm0_beta, %merge0_norm0_mean, %merge0_norm0_var
      : (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x32x32x8xf32>
  %v39 = mpt.relu %v38
      : (tensor<?x32x32x8xf32>) -> tensor<?x32x32x8xf32>
  %v40 = mpt.conv2d %v39, %merge0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x32x32x8xf32>, tensor<3x3x8x8xf32>) -> tensor<?x32x32x8xf32>
  %v41 = mpt.batch_norm_inference %v40, %merge0_norm1_gamma, %merge0_norm1_beta, %merge0_norm1_mean, %merge0_norm1_var
      : (tensor<?x32x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x32x32x8xf32>
  %v42 = mpt.relu %v41
      : (tensor<?x32x32x8xf32>) -> tensor<?x32x32x8xf32>
  %v43 = mpt.linear %v42, %head_w, %head_b
      : (tensor<?x32x32x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<?x32x32x4xf32>
  %v44_0, %v44_1 = mpt.cross_entropy %v43, %y
      : (tensor<?x32x32x4xf32>, tensor<?x32x32xi32>) -> (tensor<f32>, tensor<?x32x32xf32>)
  %v45 = mpt.argmax %v43
      : (tensor<?x32x32x4xf32>) -> tensor<?x32x32xi32>
  %v46 = mpt.compare %v45, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?x32x32xi32>, tensor<?x32x32xi32>) -> tensor<?x32x32xi1>
  %v47 = mpt.cast %v46
      : (tensor<?x32x32xi1>) -> tensor<?x32x32xf32>
  %v48 = mpt.argmax %v43
      : (tensor<?x32x32x4xf32>) -> tensor<?x32x32xi32>
  %v49 = mpt.constant dense<0> : tensor<i32>
  %v50 = mpt.compare %v48, %v49 {predicate = #mpt.predicate<eq>}
      : (tensor<?x32x32xi32>, tensor<i32>) -> tensor<?x32x32xi1>
  %v51 = mpt.compare %y, %v49 {predicate = #mpt.predicate<eq>}
      : (tensor<?x32x32xi32>, tensor<i32>) -> tensor<?x32x32xi1>
  %v52 = mpt.and %v50, %v51
      : (tensor<?x32x32xi1>, tensor<?x32x32xi1>) -> tensor<?x32x32xi1>
  %v53 = mpt.not %v52
      : (tensor<?x32x32xi1>) -> tensor<?x32x32xi1>
  %v54 = mpt.cast %v53
      : (tensor<?x32x32xi1>) -> tensor<?x32x32xf32>
  %v55 = mpt.mul %v47, %v54
      : (tensor<?x32x32xf32>, tensor<?x32x32xf32>) -> tensor<?x32x32xf32>
  %v56 = mpt.reduce %v55 {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1, 2>}
      : (tensor<?x32x32xf32>) -> tensor<?xf32>
  %v57 = mpt.reduce %v54 {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1, 2>}
      : (tensor<?x32x32xf32>) -> tensor<?xf32>
  %v58 = mpt.div %v56, %v57
      : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %v59 = mpt.reduce %v47 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1, 2>}
      : (tensor<?x32x32xf32>) -> tensor<f32>
  %v60 = mpt.reduce %v58 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>}
      : (tensor<?xf32>) -> tensor<f32>
  return %v44_0, %v59, %v60
      : tensor<f32>, tensor<f32>, tensor<f32>
}
