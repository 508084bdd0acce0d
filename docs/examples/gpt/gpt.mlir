// A character GPT; written by make_model.py.
func.func @loss(
    %tokens: tensor<96x128xf32> {mpt.name = "tokens", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %positions: tensor<64x128xf32> {mpt.name = "positions", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_n0_gamma: tensor<128xf32> {mpt.name = "l0_n0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l0_n0_beta: tensor<128xf32> {mpt.name = "l0_n0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_q_w: tensor<128x128xf32> {mpt.name = "l0_q_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_q_b: tensor<128xf32> {mpt.name = "l0_q_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_k_w: tensor<128x128xf32> {mpt.name = "l0_k_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_k_b: tensor<128xf32> {mpt.name = "l0_k_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_v_w: tensor<128x128xf32> {mpt.name = "l0_v_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_v_b: tensor<128xf32> {mpt.name = "l0_v_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_proj_w: tensor<128x128xf32> {mpt.name = "l0_proj_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.0070710678118654745 : f64}},
    %l0_proj_b: tensor<128xf32> {mpt.name = "l0_proj_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_n1_gamma: tensor<128xf32> {mpt.name = "l0_n1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l0_n1_beta: tensor<128xf32> {mpt.name = "l0_n1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_up_w: tensor<128x512xf32> {mpt.name = "l0_up_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_up_b: tensor<512xf32> {mpt.name = "l0_up_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_down_w: tensor<512x128xf32> {mpt.name = "l0_down_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.0070710678118654745 : f64}},
    %l0_down_b: tensor<128xf32> {mpt.name = "l0_down_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_n0_gamma: tensor<128xf32> {mpt.name = "l1_n0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l1_n0_beta: tensor<128xf32> {mpt.name = "l1_n0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_q_w: tensor<128x128xf32> {mpt.name = "l1_q_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_q_b: tensor<128xf32> {mpt.name = "l1_q_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_k_w: tensor<128x128xf32> {mpt.name = "l1_k_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_k_b: tensor<128xf32> {mpt.name = "l1_k_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_v_w: tensor<128x128xf32> {mpt.name = "l1_v_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_v_b: tensor<128xf32> {mpt.name = "l1_v_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_proj_w: tensor<128x128xf32> {mpt.name = "l1_proj_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.0070710678118654745 : f64}},
    %l1_proj_b: tensor<128xf32> {mpt.name = "l1_proj_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_n1_gamma: tensor<128xf32> {mpt.name = "l1_n1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l1_n1_beta: tensor<128xf32> {mpt.name = "l1_n1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_up_w: tensor<128x512xf32> {mpt.name = "l1_up_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_up_b: tensor<512xf32> {mpt.name = "l1_up_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_down_w: tensor<512x128xf32> {mpt.name = "l1_down_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.0070710678118654745 : f64}},
    %l1_down_b: tensor<128xf32> {mpt.name = "l1_down_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l2_n0_gamma: tensor<128xf32> {mpt.name = "l2_n0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l2_n0_beta: tensor<128xf32> {mpt.name = "l2_n0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l2_q_w: tensor<128x128xf32> {mpt.name = "l2_q_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l2_q_b: tensor<128xf32> {mpt.name = "l2_q_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l2_k_w: tensor<128x128xf32> {mpt.name = "l2_k_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l2_k_b: tensor<128xf32> {mpt.name = "l2_k_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l2_v_w: tensor<128x128xf32> {mpt.name = "l2_v_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l2_v_b: tensor<128xf32> {mpt.name = "l2_v_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l2_proj_w: tensor<128x128xf32> {mpt.name = "l2_proj_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.0070710678118654745 : f64}},
    %l2_proj_b: tensor<128xf32> {mpt.name = "l2_proj_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l2_n1_gamma: tensor<128xf32> {mpt.name = "l2_n1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l2_n1_beta: tensor<128xf32> {mpt.name = "l2_n1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l2_up_w: tensor<128x512xf32> {mpt.name = "l2_up_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l2_up_b: tensor<512xf32> {mpt.name = "l2_up_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l2_down_w: tensor<512x128xf32> {mpt.name = "l2_down_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.0070710678118654745 : f64}},
    %l2_down_b: tensor<128xf32> {mpt.name = "l2_down_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l3_n0_gamma: tensor<128xf32> {mpt.name = "l3_n0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l3_n0_beta: tensor<128xf32> {mpt.name = "l3_n0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l3_q_w: tensor<128x128xf32> {mpt.name = "l3_q_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l3_q_b: tensor<128xf32> {mpt.name = "l3_q_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l3_k_w: tensor<128x128xf32> {mpt.name = "l3_k_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l3_k_b: tensor<128xf32> {mpt.name = "l3_k_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l3_v_w: tensor<128x128xf32> {mpt.name = "l3_v_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l3_v_b: tensor<128xf32> {mpt.name = "l3_v_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l3_proj_w: tensor<128x128xf32> {mpt.name = "l3_proj_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.0070710678118654745 : f64}},
    %l3_proj_b: tensor<128xf32> {mpt.name = "l3_proj_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l3_n1_gamma: tensor<128xf32> {mpt.name = "l3_n1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l3_n1_beta: tensor<128xf32> {mpt.name = "l3_n1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l3_up_w: tensor<128x512xf32> {mpt.name = "l3_up_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l3_up_b: tensor<512xf32> {mpt.name = "l3_up_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l3_down_w: tensor<512x128xf32> {mpt.name = "l3_down_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.0070710678118654745 : f64}},
    %l3_down_b: tensor<128xf32> {mpt.name = "l3_down_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %last_gamma: tensor<128xf32> {mpt.name = "last_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %last_beta: tensor<128xf32> {mpt.name = "last_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %head_w: tensor<128x96xf32> {mpt.name = "head_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %head_b: tensor<96xf32> {mpt.name = "head_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<?x64xi32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x64xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %v1_0 = mpt.gather %tokens, %x
      : (tensor<96x128xf32>, tensor<?x64xi32>) -> tensor<?x64x128xf32>
  %v2_0 = mpt.add %v1_0, %positions
      : (tensor<?x64x128xf32>, tensor<64x128xf32>) -> tensor<?x64x128xf32>
  %v3_0, %v3_1, %v3_2 = mpt.layer_norm %v2_0, %l0_n0_gamma, %l0_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v4_0 = mpt.linear %v3_0, %l0_q_w, %l0_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v5_0 = mpt.reshape %v4_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v6_0 = mpt.transpose %v5_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v7_0 = mpt.linear %v3_0, %l0_k_w, %l0_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v8_0 = mpt.reshape %v7_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v9_0 = mpt.transpose %v8_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v10_0 = mpt.linear %v3_0, %l0_v_w, %l0_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v11_0 = mpt.reshape %v10_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v12_0 = mpt.transpose %v11_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v13_0, %v13_1 = mpt.attention %v6_0, %v9_0, %v12_0 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v14_0 = mpt.transpose %v13_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v15_0 = mpt.reshape %v14_0
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v16_0 = mpt.linear %v15_0, %l0_proj_w, %l0_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v17_0 = mpt.add %v2_0, %v16_0
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v18_0, %v18_1, %v18_2 = mpt.layer_norm %v17_0, %l0_n1_gamma, %l0_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v19_0 = mpt.linear %v18_0, %l0_up_w, %l0_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v20_0 = mpt.gelu %v19_0 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v21_0 = mpt.linear %v20_0, %l0_down_w, %l0_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v22_0 = mpt.add %v17_0, %v21_0
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v23_0, %v23_1, %v23_2 = mpt.layer_norm %v22_0, %l1_n0_gamma, %l1_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v24_0 = mpt.linear %v23_0, %l1_q_w, %l1_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v25_0 = mpt.reshape %v24_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v26_0 = mpt.transpose %v25_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v27_0 = mpt.linear %v23_0, %l1_k_w, %l1_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v28_0 = mpt.reshape %v27_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v29_0 = mpt.transpose %v28_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v30_0 = mpt.linear %v23_0, %l1_v_w, %l1_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v31_0 = mpt.reshape %v30_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v32_0 = mpt.transpose %v31_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v33_0, %v33_1 = mpt.attention %v26_0, %v29_0, %v32_0 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v34_0 = mpt.transpose %v33_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v35_0 = mpt.reshape %v34_0
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v36_0 = mpt.linear %v35_0, %l1_proj_w, %l1_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v37_0 = mpt.add %v22_0, %v36_0
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v38_0, %v38_1, %v38_2 = mpt.layer_norm %v37_0, %l1_n1_gamma, %l1_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v39_0 = mpt.linear %v38_0, %l1_up_w, %l1_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v40_0 = mpt.gelu %v39_0 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v41_0 = mpt.linear %v40_0, %l1_down_w, %l1_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v42_0 = mpt.add %v37_0, %v41_0
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v43_0, %v43_1, %v43_2 = mpt.layer_norm %v42_0, %l2_n0_gamma, %l2_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v44_0 = mpt.linear %v43_0, %l2_q_w, %l2_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v45_0 = mpt.reshape %v44_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v46_0 = mpt.transpose %v45_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v47_0 = mpt.linear %v43_0, %l2_k_w, %l2_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v48_0 = mpt.reshape %v47_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v49_0 = mpt.transpose %v48_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v50_0 = mpt.linear %v43_0, %l2_v_w, %l2_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v51_0 = mpt.reshape %v50_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v52_0 = mpt.transpose %v51_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v53_0, %v53_1 = mpt.attention %v46_0, %v49_0, %v52_0 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v54_0 = mpt.transpose %v53_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v55_0 = mpt.reshape %v54_0
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v56_0 = mpt.linear %v55_0, %l2_proj_w, %l2_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v57_0 = mpt.add %v42_0, %v56_0
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v58_0, %v58_1, %v58_2 = mpt.layer_norm %v57_0, %l2_n1_gamma, %l2_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v59_0 = mpt.linear %v58_0, %l2_up_w, %l2_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v60_0 = mpt.gelu %v59_0 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v61_0 = mpt.linear %v60_0, %l2_down_w, %l2_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v62_0 = mpt.add %v57_0, %v61_0
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v63_0, %v63_1, %v63_2 = mpt.layer_norm %v62_0, %l3_n0_gamma, %l3_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v64_0 = mpt.linear %v63_0, %l3_q_w, %l3_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v65_0 = mpt.reshape %v64_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v66_0 = mpt.transpose %v65_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v67_0 = mpt.linear %v63_0, %l3_k_w, %l3_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v68_0 = mpt.reshape %v67_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v69_0 = mpt.transpose %v68_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v70_0 = mpt.linear %v63_0, %l3_v_w, %l3_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v71_0 = mpt.reshape %v70_0
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v72_0 = mpt.transpose %v71_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v73_0, %v73_1 = mpt.attention %v66_0, %v69_0, %v72_0 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v74_0 = mpt.transpose %v73_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v75_0 = mpt.reshape %v74_0
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v76_0 = mpt.linear %v75_0, %l3_proj_w, %l3_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v77_0 = mpt.add %v62_0, %v76_0
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v78_0, %v78_1, %v78_2 = mpt.layer_norm %v77_0, %l3_n1_gamma, %l3_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v79_0 = mpt.linear %v78_0, %l3_up_w, %l3_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v80_0 = mpt.gelu %v79_0 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v81_0 = mpt.linear %v80_0, %l3_down_w, %l3_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v82_0 = mpt.add %v77_0, %v81_0
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v83_0, %v83_1, %v83_2 = mpt.layer_norm %v82_0, %last_gamma, %last_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v84_0 = mpt.linear %v83_0, %head_w, %head_b
      : (tensor<?x64x128xf32>, tensor<128x96xf32>, tensor<96xf32>) -> tensor<?x64x96xf32>
  %v85_0, %v85_1 = mpt.cross_entropy %v84_0, %y
      : (tensor<?x64x96xf32>, tensor<?x64xi32>) -> (tensor<f32>, tensor<?x64xf32>)
  return %v85_0 : tensor<f32>
}
