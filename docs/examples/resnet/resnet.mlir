// ResNet-20 for 8x8 images; written by make_model.py.
func.func @loss(
    %stem_w: tensor<3x3x1x16xf32> {mpt.name = "stem_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.4714045207910317 : f64}},
    %stem_norm_gamma: tensor<16xf32> {mpt.name = "stem_norm_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %stem_norm_beta: tensor<16xf32> {mpt.name = "stem_norm_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %stem_norm_mean: tensor<16xf32> {mpt.name = "stem_norm_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %stem_norm_var: tensor<16xf32> {mpt.name = "stem_norm_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s0b0_conv0_w: tensor<3x3x16x16xf32> {mpt.name = "s0b0_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %s0b0_norm0_gamma: tensor<16xf32> {mpt.name = "s0b0_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s0b0_norm0_beta: tensor<16xf32> {mpt.name = "s0b0_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s0b0_norm0_mean: tensor<16xf32> {mpt.name = "s0b0_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s0b0_norm0_var: tensor<16xf32> {mpt.name = "s0b0_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s0b0_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "s0b0_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %s0b0_norm1_gamma: tensor<16xf32> {mpt.name = "s0b0_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s0b0_norm1_beta: tensor<16xf32> {mpt.name = "s0b0_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s0b0_norm1_mean: tensor<16xf32> {mpt.name = "s0b0_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s0b0_norm1_var: tensor<16xf32> {mpt.name = "s0b0_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s0b1_conv0_w: tensor<3x3x16x16xf32> {mpt.name = "s0b1_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %s0b1_norm0_gamma: tensor<16xf32> {mpt.name = "s0b1_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s0b1_norm0_beta: tensor<16xf32> {mpt.name = "s0b1_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s0b1_norm0_mean: tensor<16xf32> {mpt.name = "s0b1_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s0b1_norm0_var: tensor<16xf32> {mpt.name = "s0b1_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s0b1_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "s0b1_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %s0b1_norm1_gamma: tensor<16xf32> {mpt.name = "s0b1_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s0b1_norm1_beta: tensor<16xf32> {mpt.name = "s0b1_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s0b1_norm1_mean: tensor<16xf32> {mpt.name = "s0b1_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s0b1_norm1_var: tensor<16xf32> {mpt.name = "s0b1_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s0b2_conv0_w: tensor<3x3x16x16xf32> {mpt.name = "s0b2_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %s0b2_norm0_gamma: tensor<16xf32> {mpt.name = "s0b2_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s0b2_norm0_beta: tensor<16xf32> {mpt.name = "s0b2_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s0b2_norm0_mean: tensor<16xf32> {mpt.name = "s0b2_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s0b2_norm0_var: tensor<16xf32> {mpt.name = "s0b2_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s0b2_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "s0b2_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %s0b2_norm1_gamma: tensor<16xf32> {mpt.name = "s0b2_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s0b2_norm1_beta: tensor<16xf32> {mpt.name = "s0b2_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s0b2_norm1_mean: tensor<16xf32> {mpt.name = "s0b2_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s0b2_norm1_var: tensor<16xf32> {mpt.name = "s0b2_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s1b0_conv0_w: tensor<3x3x16x32xf32> {mpt.name = "s1b0_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.11785113019775792 : f64}},
    %s1b0_norm0_gamma: tensor<32xf32> {mpt.name = "s1b0_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s1b0_norm0_beta: tensor<32xf32> {mpt.name = "s1b0_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b0_norm0_mean: tensor<32xf32> {mpt.name = "s1b0_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s1b0_norm0_var: tensor<32xf32> {mpt.name = "s1b0_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s1b0_conv1_w: tensor<3x3x32x32xf32> {mpt.name = "s1b0_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.08333333333333333 : f64}},
    %s1b0_norm1_gamma: tensor<32xf32> {mpt.name = "s1b0_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b0_norm1_beta: tensor<32xf32> {mpt.name = "s1b0_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b0_norm1_mean: tensor<32xf32> {mpt.name = "s1b0_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s1b0_norm1_var: tensor<32xf32> {mpt.name = "s1b0_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s1b0_short_w: tensor<1x1x16x32xf32> {mpt.name = "s1b0_short_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.3535533905932738 : f64}},
    %s1b0_norm2_gamma: tensor<32xf32> {mpt.name = "s1b0_norm2_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s1b0_norm2_beta: tensor<32xf32> {mpt.name = "s1b0_norm2_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b0_norm2_mean: tensor<32xf32> {mpt.name = "s1b0_norm2_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s1b0_norm2_var: tensor<32xf32> {mpt.name = "s1b0_norm2_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s1b1_conv0_w: tensor<3x3x32x32xf32> {mpt.name = "s1b1_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.08333333333333333 : f64}},
    %s1b1_norm0_gamma: tensor<32xf32> {mpt.name = "s1b1_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s1b1_norm0_beta: tensor<32xf32> {mpt.name = "s1b1_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b1_norm0_mean: tensor<32xf32> {mpt.name = "s1b1_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s1b1_norm0_var: tensor<32xf32> {mpt.name = "s1b1_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s1b1_conv1_w: tensor<3x3x32x32xf32> {mpt.name = "s1b1_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.08333333333333333 : f64}},
    %s1b1_norm1_gamma: tensor<32xf32> {mpt.name = "s1b1_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b1_norm1_beta: tensor<32xf32> {mpt.name = "s1b1_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b1_norm1_mean: tensor<32xf32> {mpt.name = "s1b1_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s1b1_norm1_var: tensor<32xf32> {mpt.name = "s1b1_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s1b2_conv0_w: tensor<3x3x32x32xf32> {mpt.name = "s1b2_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.08333333333333333 : f64}},
    %s1b2_norm0_gamma: tensor<32xf32> {mpt.name = "s1b2_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s1b2_norm0_beta: tensor<32xf32> {mpt.name = "s1b2_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b2_norm0_mean: tensor<32xf32> {mpt.name = "s1b2_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s1b2_norm0_var: tensor<32xf32> {mpt.name = "s1b2_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s1b2_conv1_w: tensor<3x3x32x32xf32> {mpt.name = "s1b2_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.08333333333333333 : f64}},
    %s1b2_norm1_gamma: tensor<32xf32> {mpt.name = "s1b2_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b2_norm1_beta: tensor<32xf32> {mpt.name = "s1b2_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s1b2_norm1_mean: tensor<32xf32> {mpt.name = "s1b2_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s1b2_norm1_var: tensor<32xf32> {mpt.name = "s1b2_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s2b0_conv0_w: tensor<3x3x32x64xf32> {mpt.name = "s2b0_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.08333333333333333 : f64}},
    %s2b0_norm0_gamma: tensor<64xf32> {mpt.name = "s2b0_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s2b0_norm0_beta: tensor<64xf32> {mpt.name = "s2b0_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b0_norm0_mean: tensor<64xf32> {mpt.name = "s2b0_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s2b0_norm0_var: tensor<64xf32> {mpt.name = "s2b0_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s2b0_conv1_w: tensor<3x3x64x64xf32> {mpt.name = "s2b0_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05892556509887896 : f64}},
    %s2b0_norm1_gamma: tensor<64xf32> {mpt.name = "s2b0_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b0_norm1_beta: tensor<64xf32> {mpt.name = "s2b0_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b0_norm1_mean: tensor<64xf32> {mpt.name = "s2b0_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s2b0_norm1_var: tensor<64xf32> {mpt.name = "s2b0_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s2b0_short_w: tensor<1x1x32x64xf32> {mpt.name = "s2b0_short_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.25 : f64}},
    %s2b0_norm2_gamma: tensor<64xf32> {mpt.name = "s2b0_norm2_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s2b0_norm2_beta: tensor<64xf32> {mpt.name = "s2b0_norm2_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b0_norm2_mean: tensor<64xf32> {mpt.name = "s2b0_norm2_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s2b0_norm2_var: tensor<64xf32> {mpt.name = "s2b0_norm2_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s2b1_conv0_w: tensor<3x3x64x64xf32> {mpt.name = "s2b1_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05892556509887896 : f64}},
    %s2b1_norm0_gamma: tensor<64xf32> {mpt.name = "s2b1_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s2b1_norm0_beta: tensor<64xf32> {mpt.name = "s2b1_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b1_norm0_mean: tensor<64xf32> {mpt.name = "s2b1_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s2b1_norm0_var: tensor<64xf32> {mpt.name = "s2b1_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s2b1_conv1_w: tensor<3x3x64x64xf32> {mpt.name = "s2b1_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05892556509887896 : f64}},
    %s2b1_norm1_gamma: tensor<64xf32> {mpt.name = "s2b1_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b1_norm1_beta: tensor<64xf32> {mpt.name = "s2b1_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b1_norm1_mean: tensor<64xf32> {mpt.name = "s2b1_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s2b1_norm1_var: tensor<64xf32> {mpt.name = "s2b1_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s2b2_conv0_w: tensor<3x3x64x64xf32> {mpt.name = "s2b2_conv0_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05892556509887896 : f64}},
    %s2b2_norm0_gamma: tensor<64xf32> {mpt.name = "s2b2_norm0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %s2b2_norm0_beta: tensor<64xf32> {mpt.name = "s2b2_norm0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b2_norm0_mean: tensor<64xf32> {mpt.name = "s2b2_norm0_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s2b2_norm0_var: tensor<64xf32> {mpt.name = "s2b2_norm0_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %s2b2_conv1_w: tensor<3x3x64x64xf32> {mpt.name = "s2b2_conv1_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05892556509887896 : f64}},
    %s2b2_norm1_gamma: tensor<64xf32> {mpt.name = "s2b2_norm1_gamma", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b2_norm1_beta: tensor<64xf32> {mpt.name = "s2b2_norm1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %s2b2_norm1_mean: tensor<64xf32> {mpt.name = "s2b2_norm1_mean", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %s2b2_norm1_var: tensor<64xf32> {mpt.name = "s2b2_norm1_var", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %head_w: tensor<64x10xf32> {mpt.name = "head_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 64 : i64}},
    %head_b: tensor<10xf32> {mpt.name = "head_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 64 : i64}},
    %x: tensor<?x8x8x1xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<16xf32> {mpt.name = "new_stem_norm_mean", mpt.updates = "stem_norm_mean"},
        tensor<16xf32> {mpt.name = "new_stem_norm_var", mpt.updates = "stem_norm_var"},
        tensor<16xf32> {mpt.name = "new_s0b0_norm0_mean", mpt.updates = "s0b0_norm0_mean"},
        tensor<16xf32> {mpt.name = "new_s0b0_norm0_var", mpt.updates = "s0b0_norm0_var"},
        tensor<16xf32> {mpt.name = "new_s0b0_norm1_mean", mpt.updates = "s0b0_norm1_mean"},
        tensor<16xf32> {mpt.name = "new_s0b0_norm1_var", mpt.updates = "s0b0_norm1_var"},
        tensor<16xf32> {mpt.name = "new_s0b1_norm0_mean", mpt.updates = "s0b1_norm0_mean"},
        tensor<16xf32> {mpt.name = "new_s0b1_norm0_var", mpt.updates = "s0b1_norm0_var"},
        tensor<16xf32> {mpt.name = "new_s0b1_norm1_mean", mpt.updates = "s0b1_norm1_mean"},
        tensor<16xf32> {mpt.name = "new_s0b1_norm1_var", mpt.updates = "s0b1_norm1_var"},
        tensor<16xf32> {mpt.name = "new_s0b2_norm0_mean", mpt.updates = "s0b2_norm0_mean"},
        tensor<16xf32> {mpt.name = "new_s0b2_norm0_var", mpt.updates = "s0b2_norm0_var"},
        tensor<16xf32> {mpt.name = "new_s0b2_norm1_mean", mpt.updates = "s0b2_norm1_mean"},
        tensor<16xf32> {mpt.name = "new_s0b2_norm1_var", mpt.updates = "s0b2_norm1_var"},
        tensor<32xf32> {mpt.name = "new_s1b0_norm0_mean", mpt.updates = "s1b0_norm0_mean"},
        tensor<32xf32> {mpt.name = "new_s1b0_norm0_var", mpt.updates = "s1b0_norm0_var"},
        tensor<32xf32> {mpt.name = "new_s1b0_norm1_mean", mpt.updates = "s1b0_norm1_mean"},
        tensor<32xf32> {mpt.name = "new_s1b0_norm1_var", mpt.updates = "s1b0_norm1_var"},
        tensor<32xf32> {mpt.name = "new_s1b0_norm2_mean", mpt.updates = "s1b0_norm2_mean"},
        tensor<32xf32> {mpt.name = "new_s1b0_norm2_var", mpt.updates = "s1b0_norm2_var"},
        tensor<32xf32> {mpt.name = "new_s1b1_norm0_mean", mpt.updates = "s1b1_norm0_mean"},
        tensor<32xf32> {mpt.name = "new_s1b1_norm0_var", mpt.updates = "s1b1_norm0_var"},
        tensor<32xf32> {mpt.name = "new_s1b1_norm1_mean", mpt.updates = "s1b1_norm1_mean"},
        tensor<32xf32> {mpt.name = "new_s1b1_norm1_var", mpt.updates = "s1b1_norm1_var"},
        tensor<32xf32> {mpt.name = "new_s1b2_norm0_mean", mpt.updates = "s1b2_norm0_mean"},
        tensor<32xf32> {mpt.name = "new_s1b2_norm0_var", mpt.updates = "s1b2_norm0_var"},
        tensor<32xf32> {mpt.name = "new_s1b2_norm1_mean", mpt.updates = "s1b2_norm1_mean"},
        tensor<32xf32> {mpt.name = "new_s1b2_norm1_var", mpt.updates = "s1b2_norm1_var"},
        tensor<64xf32> {mpt.name = "new_s2b0_norm0_mean", mpt.updates = "s2b0_norm0_mean"},
        tensor<64xf32> {mpt.name = "new_s2b0_norm0_var", mpt.updates = "s2b0_norm0_var"},
        tensor<64xf32> {mpt.name = "new_s2b0_norm1_mean", mpt.updates = "s2b0_norm1_mean"},
        tensor<64xf32> {mpt.name = "new_s2b0_norm1_var", mpt.updates = "s2b0_norm1_var"},
        tensor<64xf32> {mpt.name = "new_s2b0_norm2_mean", mpt.updates = "s2b0_norm2_mean"},
        tensor<64xf32> {mpt.name = "new_s2b0_norm2_var", mpt.updates = "s2b0_norm2_var"},
        tensor<64xf32> {mpt.name = "new_s2b1_norm0_mean", mpt.updates = "s2b1_norm0_mean"},
        tensor<64xf32> {mpt.name = "new_s2b1_norm0_var", mpt.updates = "s2b1_norm0_var"},
        tensor<64xf32> {mpt.name = "new_s2b1_norm1_mean", mpt.updates = "s2b1_norm1_mean"},
        tensor<64xf32> {mpt.name = "new_s2b1_norm1_var", mpt.updates = "s2b1_norm1_var"},
        tensor<64xf32> {mpt.name = "new_s2b2_norm0_mean", mpt.updates = "s2b2_norm0_mean"},
        tensor<64xf32> {mpt.name = "new_s2b2_norm0_var", mpt.updates = "s2b2_norm0_var"},
        tensor<64xf32> {mpt.name = "new_s2b2_norm1_mean", mpt.updates = "s2b2_norm1_mean"},
        tensor<64xf32> {mpt.name = "new_s2b2_norm1_var", mpt.updates = "s2b2_norm1_var"}) {
  %v1 = mpt.conv2d %x, %stem_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x1xf32>, tensor<3x3x1x16xf32>) -> tensor<?x8x8x16xf32>
  %v2_0, %v2_1, %v2_2, %v2_3, %v2_4 = mpt.batch_norm %v1, %stem_norm_gamma, %stem_norm_beta, %stem_norm_mean, %stem_norm_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v3 = mpt.relu %v2_0
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v4 = mpt.conv2d %v3, %s0b0_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v5_0, %v5_1, %v5_2, %v5_3, %v5_4 = mpt.batch_norm %v4, %s0b0_norm0_gamma, %s0b0_norm0_beta, %s0b0_norm0_mean, %s0b0_norm0_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v6 = mpt.relu %v5_0
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v7 = mpt.conv2d %v6, %s0b0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v8_0, %v8_1, %v8_2, %v8_3, %v8_4 = mpt.batch_norm %v7, %s0b0_norm1_gamma, %s0b0_norm1_beta, %s0b0_norm1_mean, %s0b0_norm1_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v9 = mpt.add %v8_0, %v3
      : (tensor<?x8x8x16xf32>, tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v10 = mpt.relu %v9
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v11 = mpt.conv2d %v10, %s0b1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v12_0, %v12_1, %v12_2, %v12_3, %v12_4 = mpt.batch_norm %v11, %s0b1_norm0_gamma, %s0b1_norm0_beta, %s0b1_norm0_mean, %s0b1_norm0_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v13 = mpt.relu %v12_0
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v14 = mpt.conv2d %v13, %s0b1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v15_0, %v15_1, %v15_2, %v15_3, %v15_4 = mpt.batch_norm %v14, %s0b1_norm1_gamma, %s0b1_norm1_beta, %s0b1_norm1_mean, %s0b1_norm1_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v16 = mpt.add %v15_0, %v10
      : (tensor<?x8x8x16xf32>, tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v17 = mpt.relu %v16
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v18 = mpt.conv2d %v17, %s0b2_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v19_0, %v19_1, %v19_2, %v19_3, %v19_4 = mpt.batch_norm %v18, %s0b2_norm0_gamma, %s0b2_norm0_beta, %s0b2_norm0_mean, %s0b2_norm0_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v20 = mpt.relu %v19_0
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v21 = mpt.conv2d %v20, %s0b2_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v22_0, %v22_1, %v22_2, %v22_3, %v22_4 = mpt.batch_norm %v21, %s0b2_norm1_gamma, %s0b2_norm1_beta, %s0b2_norm1_mean, %s0b2_norm1_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %v23 = mpt.add %v22_0, %v17
      : (tensor<?x8x8x16xf32>, tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v24 = mpt.relu %v23
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v25 = mpt.conv2d %v24, %s1b0_conv0_w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x32xf32>) -> tensor<?x4x4x32xf32>
  %v26_0, %v26_1, %v26_2, %v26_3, %v26_4 = mpt.batch_norm %v25, %s1b0_norm0_gamma, %s1b0_norm0_beta, %s1b0_norm0_mean, %s1b0_norm0_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %v27 = mpt.relu %v26_0
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v28 = mpt.conv2d %v27, %s1b0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v29_0, %v29_1, %v29_2, %v29_3, %v29_4 = mpt.batch_norm %v28, %s1b0_norm1_gamma, %s1b0_norm1_beta, %s1b0_norm1_mean, %s1b0_norm1_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %v30 = mpt.conv2d %v24, %s1b0_short_w {strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
      : (tensor<?x8x8x16xf32>, tensor<1x1x16x32xf32>) -> tensor<?x4x4x32xf32>
  %v31_0, %v31_1, %v31_2, %v31_3, %v31_4 = mpt.batch_norm %v30, %s1b0_norm2_gamma, %s1b0_norm2_beta, %s1b0_norm2_mean, %s1b0_norm2_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %v32 = mpt.add %v29_0, %v31_0
      : (tensor<?x4x4x32xf32>, tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v33 = mpt.relu %v32
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v34 = mpt.conv2d %v33, %s1b1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v35_0, %v35_1, %v35_2, %v35_3, %v35_4 = mpt.batch_norm %v34, %s1b1_norm0_gamma, %s1b1_norm0_beta, %s1b1_norm0_mean, %s1b1_norm0_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %v36 = mpt.relu %v35_0
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v37 = mpt.conv2d %v36, %s1b1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v38_0, %v38_1, %v38_2, %v38_3, %v38_4 = mpt.batch_norm %v37, %s1b1_norm1_gamma, %s1b1_norm1_beta, %s1b1_norm1_mean, %s1b1_norm1_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %v39 = mpt.add %v38_0, %v33
      : (tensor<?x4x4x32xf32>, tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v40 = mpt.relu %v39
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v41 = mpt.conv2d %v40, %s1b2_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v42_0, %v42_1, %v42_2, %v42_3, %v42_4 = mpt.batch_norm %v41, %s1b2_norm0_gamma, %s1b2_norm0_beta, %s1b2_norm0_mean, %s1b2_norm0_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %v43 = mpt.relu %v42_0
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v44 = mpt.conv2d %v43, %s1b2_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v45_0, %v45_1, %v45_2, %v45_3, %v45_4 = mpt.batch_norm %v44, %s1b2_norm1_gamma, %s1b2_norm1_beta, %s1b2_norm1_mean, %s1b2_norm1_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %v46 = mpt.add %v45_0, %v40
      : (tensor<?x4x4x32xf32>, tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v47 = mpt.relu %v46
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v48 = mpt.conv2d %v47, %s2b0_conv0_w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x64xf32>) -> tensor<?x2x2x64xf32>
  %v49_0, %v49_1, %v49_2, %v49_3, %v49_4 = mpt.batch_norm %v48, %s2b0_norm0_gamma, %s2b0_norm0_beta, %s2b0_norm0_mean, %s2b0_norm0_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %v50 = mpt.relu %v49_0
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v51 = mpt.conv2d %v50, %s2b0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v52_0, %v52_1, %v52_2, %v52_3, %v52_4 = mpt.batch_norm %v51, %s2b0_norm1_gamma, %s2b0_norm1_beta, %s2b0_norm1_mean, %s2b0_norm1_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %v53 = mpt.conv2d %v47, %s2b0_short_w {strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
      : (tensor<?x4x4x32xf32>, tensor<1x1x32x64xf32>) -> tensor<?x2x2x64xf32>
  %v54_0, %v54_1, %v54_2, %v54_3, %v54_4 = mpt.batch_norm %v53, %s2b0_norm2_gamma, %s2b0_norm2_beta, %s2b0_norm2_mean, %s2b0_norm2_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %v55 = mpt.add %v52_0, %v54_0
      : (tensor<?x2x2x64xf32>, tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v56 = mpt.relu %v55
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v57 = mpt.conv2d %v56, %s2b1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v58_0, %v58_1, %v58_2, %v58_3, %v58_4 = mpt.batch_norm %v57, %s2b1_norm0_gamma, %s2b1_norm0_beta, %s2b1_norm0_mean, %s2b1_norm0_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %v59 = mpt.relu %v58_0
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v60 = mpt.conv2d %v59, %s2b1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v61_0, %v61_1, %v61_2, %v61_3, %v61_4 = mpt.batch_norm %v60, %s2b1_norm1_gamma, %s2b1_norm1_beta, %s2b1_norm1_mean, %s2b1_norm1_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %v62 = mpt.add %v61_0, %v56
      : (tensor<?x2x2x64xf32>, tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v63 = mpt.relu %v62
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v64 = mpt.conv2d %v63, %s2b2_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v65_0, %v65_1, %v65_2, %v65_3, %v65_4 = mpt.batch_norm %v64, %s2b2_norm0_gamma, %s2b2_norm0_beta, %s2b2_norm0_mean, %s2b2_norm0_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %v66 = mpt.relu %v65_0
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v67 = mpt.conv2d %v66, %s2b2_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v68_0, %v68_1, %v68_2, %v68_3, %v68_4 = mpt.batch_norm %v67, %s2b2_norm1_gamma, %s2b2_norm1_beta, %s2b2_norm1_mean, %s2b2_norm1_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %v69 = mpt.add %v68_0, %v63
      : (tensor<?x2x2x64xf32>, tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v70 = mpt.relu %v69
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v71 = mpt.reduce %v70 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 1, 2>}
      : (tensor<?x2x2x64xf32>) -> tensor<?x64xf32>
  %v72 = mpt.linear %v71, %head_w, %head_b
      : (tensor<?x64xf32>, tensor<64x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  %v73_0, %v73_1 = mpt.cross_entropy %v72, %y
      : (tensor<?x10xf32>, tensor<?xi32>) -> (tensor<f32>, tensor<?xf32>)
  %v74 = mpt.argmax %v72
      : (tensor<?x10xf32>) -> tensor<?xi32>
  %v75 = mpt.compare %v74, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  %v76 = mpt.cast %v75
      : (tensor<?xi1>) -> tensor<?xf32>
  %v77 = mpt.reduce %v76 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>}
      : (tensor<?xf32>) -> tensor<f32>
  return %v73_0, %v2_1, %v2_2, %v5_1, %v5_2, %v8_1, %v8_2, %v12_1, %v12_2, %v15_1, %v15_2, %v19_1, %v19_2, %v22_1, %v22_2, %v26_1, %v26_2, %v29_1, %v29_2, %v31_1, %v31_2, %v35_1, %v35_2, %v38_1, %v38_2, %v42_1, %v42_2, %v45_1, %v45_2, %v49_1, %v49_2, %v52_1, %v52_2, %v54_1, %v54_2, %v58_1, %v58_2, %v61_1, %v61_2, %v65_1, %v65_2, %v68_1, %v68_2
      : tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// The same network on held-out data.
func.func @eval(
    %stem_w: tensor<3x3x1x16xf32> {mpt.name = "stem_w", mpt.role = "parameter"},
    %stem_norm_gamma: tensor<16xf32> {mpt.name = "stem_norm_gamma", mpt.role = "parameter"},
    %stem_norm_beta: tensor<16xf32> {mpt.name = "stem_norm_beta", mpt.role = "parameter"},
    %stem_norm_mean: tensor<16xf32> {mpt.name = "stem_norm_mean", mpt.role = "running_stat"},
    %stem_norm_var: tensor<16xf32> {mpt.name = "stem_norm_var", mpt.role = "running_stat"},
    %s0b0_conv0_w: tensor<3x3x16x16xf32> {mpt.name = "s0b0_conv0_w", mpt.role = "parameter"},
    %s0b0_norm0_gamma: tensor<16xf32> {mpt.name = "s0b0_norm0_gamma", mpt.role = "parameter"},
    %s0b0_norm0_beta: tensor<16xf32> {mpt.name = "s0b0_norm0_beta", mpt.role = "parameter"},
    %s0b0_norm0_mean: tensor<16xf32> {mpt.name = "s0b0_norm0_mean", mpt.role = "running_stat"},
    %s0b0_norm0_var: tensor<16xf32> {mpt.name = "s0b0_norm0_var", mpt.role = "running_stat"},
    %s0b0_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "s0b0_conv1_w", mpt.role = "parameter"},
    %s0b0_norm1_gamma: tensor<16xf32> {mpt.name = "s0b0_norm1_gamma", mpt.role = "parameter"},
    %s0b0_norm1_beta: tensor<16xf32> {mpt.name = "s0b0_norm1_beta", mpt.role = "parameter"},
    %s0b0_norm1_mean: tensor<16xf32> {mpt.name = "s0b0_norm1_mean", mpt.role = "running_stat"},
    %s0b0_norm1_var: tensor<16xf32> {mpt.name = "s0b0_norm1_var", mpt.role = "running_stat"},
    %s0b1_conv0_w: tensor<3x3x16x16xf32> {mpt.name = "s0b1_conv0_w", mpt.role = "parameter"},
    %s0b1_norm0_gamma: tensor<16xf32> {mpt.name = "s0b1_norm0_gamma", mpt.role = "parameter"},
    %s0b1_norm0_beta: tensor<16xf32> {mpt.name = "s0b1_norm0_beta", mpt.role = "parameter"},
    %s0b1_norm0_mean: tensor<16xf32> {mpt.name = "s0b1_norm0_mean", mpt.role = "running_stat"},
    %s0b1_norm0_var: tensor<16xf32> {mpt.name = "s0b1_norm0_var", mpt.role = "running_stat"},
    %s0b1_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "s0b1_conv1_w", mpt.role = "parameter"},
    %s0b1_norm1_gamma: tensor<16xf32> {mpt.name = "s0b1_norm1_gamma", mpt.role = "parameter"},
    %s0b1_norm1_beta: tensor<16xf32> {mpt.name = "s0b1_norm1_beta", mpt.role = "parameter"},
    %s0b1_norm1_mean: tensor<16xf32> {mpt.name = "s0b1_norm1_mean", mpt.role = "running_stat"},
    %s0b1_norm1_var: tensor<16xf32> {mpt.name = "s0b1_norm1_var", mpt.role = "running_stat"},
    %s0b2_conv0_w: tensor<3x3x16x16xf32> {mpt.name = "s0b2_conv0_w", mpt.role = "parameter"},
    %s0b2_norm0_gamma: tensor<16xf32> {mpt.name = "s0b2_norm0_gamma", mpt.role = "parameter"},
    %s0b2_norm0_beta: tensor<16xf32> {mpt.name = "s0b2_norm0_beta", mpt.role = "parameter"},
    %s0b2_norm0_mean: tensor<16xf32> {mpt.name = "s0b2_norm0_mean", mpt.role = "running_stat"},
    %s0b2_norm0_var: tensor<16xf32> {mpt.name = "s0b2_norm0_var", mpt.role = "running_stat"},
    %s0b2_conv1_w: tensor<3x3x16x16xf32> {mpt.name = "s0b2_conv1_w", mpt.role = "parameter"},
    %s0b2_norm1_gamma: tensor<16xf32> {mpt.name = "s0b2_norm1_gamma", mpt.role = "parameter"},
    %s0b2_norm1_beta: tensor<16xf32> {mpt.name = "s0b2_norm1_beta", mpt.role = "parameter"},
    %s0b2_norm1_mean: tensor<16xf32> {mpt.name = "s0b2_norm1_mean", mpt.role = "running_stat"},
    %s0b2_norm1_var: tensor<16xf32> {mpt.name = "s0b2_norm1_var", mpt.role = "running_stat"},
    %s1b0_conv0_w: tensor<3x3x16x32xf32> {mpt.name = "s1b0_conv0_w", mpt.role = "parameter"},
    %s1b0_norm0_gamma: tensor<32xf32> {mpt.name = "s1b0_norm0_gamma", mpt.role = "parameter"},
    %s1b0_norm0_beta: tensor<32xf32> {mpt.name = "s1b0_norm0_beta", mpt.role = "parameter"},
    %s1b0_norm0_mean: tensor<32xf32> {mpt.name = "s1b0_norm0_mean", mpt.role = "running_stat"},
    %s1b0_norm0_var: tensor<32xf32> {mpt.name = "s1b0_norm0_var", mpt.role = "running_stat"},
    %s1b0_conv1_w: tensor<3x3x32x32xf32> {mpt.name = "s1b0_conv1_w", mpt.role = "parameter"},
    %s1b0_norm1_gamma: tensor<32xf32> {mpt.name = "s1b0_norm1_gamma", mpt.role = "parameter"},
    %s1b0_norm1_beta: tensor<32xf32> {mpt.name = "s1b0_norm1_beta", mpt.role = "parameter"},
    %s1b0_norm1_mean: tensor<32xf32> {mpt.name = "s1b0_norm1_mean", mpt.role = "running_stat"},
    %s1b0_norm1_var: tensor<32xf32> {mpt.name = "s1b0_norm1_var", mpt.role = "running_stat"},
    %s1b0_short_w: tensor<1x1x16x32xf32> {mpt.name = "s1b0_short_w", mpt.role = "parameter"},
    %s1b0_norm2_gamma: tensor<32xf32> {mpt.name = "s1b0_norm2_gamma", mpt.role = "parameter"},
    %s1b0_norm2_beta: tensor<32xf32> {mpt.name = "s1b0_norm2_beta", mpt.role = "parameter"},
    %s1b0_norm2_mean: tensor<32xf32> {mpt.name = "s1b0_norm2_mean", mpt.role = "running_stat"},
    %s1b0_norm2_var: tensor<32xf32> {mpt.name = "s1b0_norm2_var", mpt.role = "running_stat"},
    %s1b1_conv0_w: tensor<3x3x32x32xf32> {mpt.name = "s1b1_conv0_w", mpt.role = "parameter"},
    %s1b1_norm0_gamma: tensor<32xf32> {mpt.name = "s1b1_norm0_gamma", mpt.role = "parameter"},
    %s1b1_norm0_beta: tensor<32xf32> {mpt.name = "s1b1_norm0_beta", mpt.role = "parameter"},
    %s1b1_norm0_mean: tensor<32xf32> {mpt.name = "s1b1_norm0_mean", mpt.role = "running_stat"},
    %s1b1_norm0_var: tensor<32xf32> {mpt.name = "s1b1_norm0_var", mpt.role = "running_stat"},
    %s1b1_conv1_w: tensor<3x3x32x32xf32> {mpt.name = "s1b1_conv1_w", mpt.role = "parameter"},
    %s1b1_norm1_gamma: tensor<32xf32> {mpt.name = "s1b1_norm1_gamma", mpt.role = "parameter"},
    %s1b1_norm1_beta: tensor<32xf32> {mpt.name = "s1b1_norm1_beta", mpt.role = "parameter"},
    %s1b1_norm1_mean: tensor<32xf32> {mpt.name = "s1b1_norm1_mean", mpt.role = "running_stat"},
    %s1b1_norm1_var: tensor<32xf32> {mpt.name = "s1b1_norm1_var", mpt.role = "running_stat"},
    %s1b2_conv0_w: tensor<3x3x32x32xf32> {mpt.name = "s1b2_conv0_w", mpt.role = "parameter"},
    %s1b2_norm0_gamma: tensor<32xf32> {mpt.name = "s1b2_norm0_gamma", mpt.role = "parameter"},
    %s1b2_norm0_beta: tensor<32xf32> {mpt.name = "s1b2_norm0_beta", mpt.role = "parameter"},
    %s1b2_norm0_mean: tensor<32xf32> {mpt.name = "s1b2_norm0_mean", mpt.role = "running_stat"},
    %s1b2_norm0_var: tensor<32xf32> {mpt.name = "s1b2_norm0_var", mpt.role = "running_stat"},
    %s1b2_conv1_w: tensor<3x3x32x32xf32> {mpt.name = "s1b2_conv1_w", mpt.role = "parameter"},
    %s1b2_norm1_gamma: tensor<32xf32> {mpt.name = "s1b2_norm1_gamma", mpt.role = "parameter"},
    %s1b2_norm1_beta: tensor<32xf32> {mpt.name = "s1b2_norm1_beta", mpt.role = "parameter"},
    %s1b2_norm1_mean: tensor<32xf32> {mpt.name = "s1b2_norm1_mean", mpt.role = "running_stat"},
    %s1b2_norm1_var: tensor<32xf32> {mpt.name = "s1b2_norm1_var", mpt.role = "running_stat"},
    %s2b0_conv0_w: tensor<3x3x32x64xf32> {mpt.name = "s2b0_conv0_w", mpt.role = "parameter"},
    %s2b0_norm0_gamma: tensor<64xf32> {mpt.name = "s2b0_norm0_gamma", mpt.role = "parameter"},
    %s2b0_norm0_beta: tensor<64xf32> {mpt.name = "s2b0_norm0_beta", mpt.role = "parameter"},
    %s2b0_norm0_mean: tensor<64xf32> {mpt.name = "s2b0_norm0_mean", mpt.role = "running_stat"},
    %s2b0_norm0_var: tensor<64xf32> {mpt.name = "s2b0_norm0_var", mpt.role = "running_stat"},
    %s2b0_conv1_w: tensor<3x3x64x64xf32> {mpt.name = "s2b0_conv1_w", mpt.role = "parameter"},
    %s2b0_norm1_gamma: tensor<64xf32> {mpt.name = "s2b0_norm1_gamma", mpt.role = "parameter"},
    %s2b0_norm1_beta: tensor<64xf32> {mpt.name = "s2b0_norm1_beta", mpt.role = "parameter"},
    %s2b0_norm1_mean: tensor<64xf32> {mpt.name = "s2b0_norm1_mean", mpt.role = "running_stat"},
    %s2b0_norm1_var: tensor<64xf32> {mpt.name = "s2b0_norm1_var", mpt.role = "running_stat"},
    %s2b0_short_w: tensor<1x1x32x64xf32> {mpt.name = "s2b0_short_w", mpt.role = "parameter"},
    %s2b0_norm2_gamma: tensor<64xf32> {mpt.name = "s2b0_norm2_gamma", mpt.role = "parameter"},
    %s2b0_norm2_beta: tensor<64xf32> {mpt.name = "s2b0_norm2_beta", mpt.role = "parameter"},
    %s2b0_norm2_mean: tensor<64xf32> {mpt.name = "s2b0_norm2_mean", mpt.role = "running_stat"},
    %s2b0_norm2_var: tensor<64xf32> {mpt.name = "s2b0_norm2_var", mpt.role = "running_stat"},
    %s2b1_conv0_w: tensor<3x3x64x64xf32> {mpt.name = "s2b1_conv0_w", mpt.role = "parameter"},
    %s2b1_norm0_gamma: tensor<64xf32> {mpt.name = "s2b1_norm0_gamma", mpt.role = "parameter"},
    %s2b1_norm0_beta: tensor<64xf32> {mpt.name = "s2b1_norm0_beta", mpt.role = "parameter"},
    %s2b1_norm0_mean: tensor<64xf32> {mpt.name = "s2b1_norm0_mean", mpt.role = "running_stat"},
    %s2b1_norm0_var: tensor<64xf32> {mpt.name = "s2b1_norm0_var", mpt.role = "running_stat"},
    %s2b1_conv1_w: tensor<3x3x64x64xf32> {mpt.name = "s2b1_conv1_w", mpt.role = "parameter"},
    %s2b1_norm1_gamma: tensor<64xf32> {mpt.name = "s2b1_norm1_gamma", mpt.role = "parameter"},
    %s2b1_norm1_beta: tensor<64xf32> {mpt.name = "s2b1_norm1_beta", mpt.role = "parameter"},
    %s2b1_norm1_mean: tensor<64xf32> {mpt.name = "s2b1_norm1_mean", mpt.role = "running_stat"},
    %s2b1_norm1_var: tensor<64xf32> {mpt.name = "s2b1_norm1_var", mpt.role = "running_stat"},
    %s2b2_conv0_w: tensor<3x3x64x64xf32> {mpt.name = "s2b2_conv0_w", mpt.role = "parameter"},
    %s2b2_norm0_gamma: tensor<64xf32> {mpt.name = "s2b2_norm0_gamma", mpt.role = "parameter"},
    %s2b2_norm0_beta: tensor<64xf32> {mpt.name = "s2b2_norm0_beta", mpt.role = "parameter"},
    %s2b2_norm0_mean: tensor<64xf32> {mpt.name = "s2b2_norm0_mean", mpt.role = "running_stat"},
    %s2b2_norm0_var: tensor<64xf32> {mpt.name = "s2b2_norm0_var", mpt.role = "running_stat"},
    %s2b2_conv1_w: tensor<3x3x64x64xf32> {mpt.name = "s2b2_conv1_w", mpt.role = "parameter"},
    %s2b2_norm1_gamma: tensor<64xf32> {mpt.name = "s2b2_norm1_gamma", mpt.role = "parameter"},
    %s2b2_norm1_beta: tensor<64xf32> {mpt.name = "s2b2_norm1_beta", mpt.role = "parameter"},
    %s2b2_norm1_mean: tensor<64xf32> {mpt.name = "s2b2_norm1_mean", mpt.role = "running_stat"},
    %s2b2_norm1_var: tensor<64xf32> {mpt.name = "s2b2_norm1_var", mpt.role = "running_stat"},
    %head_w: tensor<64x10xf32> {mpt.name = "head_w", mpt.role = "parameter"},
    %head_b: tensor<10xf32> {mpt.name = "head_b", mpt.role = "parameter"},
    %x: tensor<?x8x8x1xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<f32> {mpt.name = "accuracy"}) {
  %v1 = mpt.conv2d %x, %stem_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x1xf32>, tensor<3x3x1x16xf32>) -> tensor<?x8x8x16xf32>
  %v2 = mpt.batch_norm_inference %v1, %stem_norm_gamma, %stem_norm_beta, %stem_norm_mean, %stem_norm_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32>
  %v3 = mpt.relu %v2
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v4 = mpt.conv2d %v3, %s0b0_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v5 = mpt.batch_norm_inference %v4, %s0b0_norm0_gamma, %s0b0_norm0_beta, %s0b0_norm0_mean, %s0b0_norm0_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32>
  %v6 = mpt.relu %v5
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v7 = mpt.conv2d %v6, %s0b0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v8 = mpt.batch_norm_inference %v7, %s0b0_norm1_gamma, %s0b0_norm1_beta, %s0b0_norm1_mean, %s0b0_norm1_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32>
  %v9 = mpt.add %v8, %v3
      : (tensor<?x8x8x16xf32>, tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v10 = mpt.relu %v9
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v11 = mpt.conv2d %v10, %s0b1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v12 = mpt.batch_norm_inference %v11, %s0b1_norm0_gamma, %s0b1_norm0_beta, %s0b1_norm0_mean, %s0b1_norm0_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32>
  %v13 = mpt.relu %v12
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v14 = mpt.conv2d %v13, %s0b1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v15 = mpt.batch_norm_inference %v14, %s0b1_norm1_gamma, %s0b1_norm1_beta, %s0b1_norm1_mean, %s0b1_norm1_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32>
  %v16 = mpt.add %v15, %v10
      : (tensor<?x8x8x16xf32>, tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v17 = mpt.relu %v16
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v18 = mpt.conv2d %v17, %s0b2_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v19 = mpt.batch_norm_inference %v18, %s0b2_norm0_gamma, %s0b2_norm0_beta, %s0b2_norm0_mean, %s0b2_norm0_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32>
  %v20 = mpt.relu %v19
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v21 = mpt.conv2d %v20, %s0b2_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<?x8x8x16xf32>
  %v22 = mpt.batch_norm_inference %v21, %s0b2_norm1_gamma, %s0b2_norm1_beta, %s0b2_norm1_mean, %s0b2_norm1_var
      : (tensor<?x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32>
  %v23 = mpt.add %v22, %v17
      : (tensor<?x8x8x16xf32>, tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v24 = mpt.relu %v23
      : (tensor<?x8x8x16xf32>) -> tensor<?x8x8x16xf32>
  %v25 = mpt.conv2d %v24, %s1b0_conv0_w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x8x8x16xf32>, tensor<3x3x16x32xf32>) -> tensor<?x4x4x32xf32>
  %v26 = mpt.batch_norm_inference %v25, %s1b0_norm0_gamma, %s1b0_norm0_beta, %s1b0_norm0_mean, %s1b0_norm0_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x4x4x32xf32>
  %v27 = mpt.relu %v26
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v28 = mpt.conv2d %v27, %s1b0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v29 = mpt.batch_norm_inference %v28, %s1b0_norm1_gamma, %s1b0_norm1_beta, %s1b0_norm1_mean, %s1b0_norm1_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x4x4x32xf32>
  %v30 = mpt.conv2d %v24, %s1b0_short_w {strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
      : (tensor<?x8x8x16xf32>, tensor<1x1x16x32xf32>) -> tensor<?x4x4x32xf32>
  %v31 = mpt.batch_norm_inference %v30, %s1b0_norm2_gamma, %s1b0_norm2_beta, %s1b0_norm2_mean, %s1b0_norm2_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x4x4x32xf32>
  %v32 = mpt.add %v29, %v31
      : (tensor<?x4x4x32xf32>, tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v33 = mpt.relu %v32
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v34 = mpt.conv2d %v33, %s1b1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v35 = mpt.batch_norm_inference %v34, %s1b1_norm0_gamma, %s1b1_norm0_beta, %s1b1_norm0_mean, %s1b1_norm0_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x4x4x32xf32>
  %v36 = mpt.relu %v35
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v37 = mpt.conv2d %v36, %s1b1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v38 = mpt.batch_norm_inference %v37, %s1b1_norm1_gamma, %s1b1_norm1_beta, %s1b1_norm1_mean, %s1b1_norm1_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x4x4x32xf32>
  %v39 = mpt.add %v38, %v33
      : (tensor<?x4x4x32xf32>, tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v40 = mpt.relu %v39
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v41 = mpt.conv2d %v40, %s1b2_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v42 = mpt.batch_norm_inference %v41, %s1b2_norm0_gamma, %s1b2_norm0_beta, %s1b2_norm0_mean, %s1b2_norm0_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x4x4x32xf32>
  %v43 = mpt.relu %v42
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v44 = mpt.conv2d %v43, %s1b2_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x32xf32>) -> tensor<?x4x4x32xf32>
  %v45 = mpt.batch_norm_inference %v44, %s1b2_norm1_gamma, %s1b2_norm1_beta, %s1b2_norm1_mean, %s1b2_norm1_var
      : (tensor<?x4x4x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x4x4x32xf32>
  %v46 = mpt.add %v45, %v40
      : (tensor<?x4x4x32xf32>, tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v47 = mpt.relu %v46
      : (tensor<?x4x4x32xf32>) -> tensor<?x4x4x32xf32>
  %v48 = mpt.conv2d %v47, %s2b0_conv0_w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x4x32xf32>, tensor<3x3x32x64xf32>) -> tensor<?x2x2x64xf32>
  %v49 = mpt.batch_norm_inference %v48, %s2b0_norm0_gamma, %s2b0_norm0_beta, %s2b0_norm0_mean, %s2b0_norm0_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x2x2x64xf32>
  %v50 = mpt.relu %v49
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v51 = mpt.conv2d %v50, %s2b0_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v52 = mpt.batch_norm_inference %v51, %s2b0_norm1_gamma, %s2b0_norm1_beta, %s2b0_norm1_mean, %s2b0_norm1_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x2x2x64xf32>
  %v53 = mpt.conv2d %v47, %s2b0_short_w {strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
      : (tensor<?x4x4x32xf32>, tensor<1x1x32x64xf32>) -> tensor<?x2x2x64xf32>
  %v54 = mpt.batch_norm_inference %v53, %s2b0_norm2_gamma, %s2b0_norm2_beta, %s2b0_norm2_mean, %s2b0_norm2_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x2x2x64xf32>
  %v55 = mpt.add %v52, %v54
      : (tensor<?x2x2x64xf32>, tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v56 = mpt.relu %v55
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v57 = mpt.conv2d %v56, %s2b1_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v58 = mpt.batch_norm_inference %v57, %s2b1_norm0_gamma, %s2b1_norm0_beta, %s2b1_norm0_mean, %s2b1_norm0_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x2x2x64xf32>
  %v59 = mpt.relu %v58
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v60 = mpt.conv2d %v59, %s2b1_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v61 = mpt.batch_norm_inference %v60, %s2b1_norm1_gamma, %s2b1_norm1_beta, %s2b1_norm1_mean, %s2b1_norm1_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x2x2x64xf32>
  %v62 = mpt.add %v61, %v56
      : (tensor<?x2x2x64xf32>, tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v63 = mpt.relu %v62
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v64 = mpt.conv2d %v63, %s2b2_conv0_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v65 = mpt.batch_norm_inference %v64, %s2b2_norm0_gamma, %s2b2_norm0_beta, %s2b2_norm0_mean, %s2b2_norm0_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x2x2x64xf32>
  %v66 = mpt.relu %v65
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v67 = mpt.conv2d %v66, %s2b2_conv1_w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x2x2x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x2x2x64xf32>
  %v68 = mpt.batch_norm_inference %v67, %s2b2_norm1_gamma, %s2b2_norm1_beta, %s2b2_norm1_mean, %s2b2_norm1_var
      : (tensor<?x2x2x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x2x2x64xf32>
  %v69 = mpt.add %v68, %v63
      : (tensor<?x2x2x64xf32>, tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v70 = mpt.relu %v69
      : (tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %v71 = mpt.reduce %v70 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 1, 2>}
      : (tensor<?x2x2x64xf32>) -> tensor<?x64xf32>
  %v72 = mpt.linear %v71, %head_w, %head_b
      : (tensor<?x64xf32>, tensor<64x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  %v73_0, %v73_1 = mpt.cross_entropy %v72, %y
      : (tensor<?x10xf32>, tensor<?xi32>) -> (tensor<f32>, tensor<?xf32>)
  %v74 = mpt.argmax %v72
      : (tensor<?x10xf32>) -> tensor<?xi32>
  %v75 = mpt.compare %v74, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  %v76 = mpt.cast %v75
      : (tensor<?xi1>) -> tensor<?xf32>
  %v77 = mpt.reduce %v76 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>}
      : (tensor<?xf32>) -> tensor<f32>
  return %v73_0, %v77
      : tensor<f32>, tensor<f32>
}
