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
  %v1 = mpt.gather %tokens, %x
      : (tensor<96x128xf32>, tensor<?x64xi32>) -> tensor<?x64x128xf32>
  %v2 = mpt.add %v1, %positions
      : (tensor<?x64x128xf32>, tensor<64x128xf32>) -> tensor<?x64x128xf32>
  %v3_0, %v3_1, %v3_2 = mpt.layer_norm %v2, %l0_n0_gamma, %l0_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v4 = mpt.linear %v3_0, %l0_q_w, %l0_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v5 = mpt.linear %v3_0, %l0_k_w, %l0_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v6 = mpt.linear %v3_0, %l0_v_w, %l0_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v7 = mpt.reshape %v4
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v8 = mpt.transpose %v7 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v9 = mpt.reshape %v5
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v10 = mpt.transpose %v9 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v11 = mpt.reshape %v6
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v12 = mpt.transpose %v11 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v13_0, %v13_1 = mpt.attention %v8, %v10, %v12 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v14 = mpt.transpose %v13_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v15 = mpt.reshape %v14
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v16 = mpt.linear %v15, %l0_proj_w, %l0_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v17 = mpt.add %v2, %v16
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v18_0, %v18_1, %v18_2 = mpt.layer_norm %v17, %l0_n1_gamma, %l0_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v19 = mpt.linear %v18_0, %l0_up_w, %l0_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v20 = mpt.gelu %v19 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v21 = mpt.linear %v20, %l0_down_w, %l0_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v22 = mpt.add %v17, %v21
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v23_0, %v23_1, %v23_2 = mpt.layer_norm %v22, %l1_n0_gamma, %l1_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v24 = mpt.linear %v23_0, %l1_q_w, %l1_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v25 = mpt.linear %v23_0, %l1_k_w, %l1_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v26 = mpt.linear %v23_0, %l1_v_w, %l1_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v27 = mpt.reshape %v24
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v28 = mpt.transpose %v27 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v29 = mpt.reshape %v25
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v30 = mpt.transpose %v29 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v31 = mpt.reshape %v26
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v32 = mpt.transpose %v31 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v33_0, %v33_1 = mpt.attention %v28, %v30, %v32 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v34 = mpt.transpose %v33_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v35 = mpt.reshape %v34
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v36 = mpt.linear %v35, %l1_proj_w, %l1_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v37 = mpt.add %v22, %v36
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v38_0, %v38_1, %v38_2 = mpt.layer_norm %v37, %l1_n1_gamma, %l1_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v39 = mpt.linear %v38_0, %l1_up_w, %l1_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v40 = mpt.gelu %v39 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v41 = mpt.linear %v40, %l1_down_w, %l1_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v42 = mpt.add %v37, %v41
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v43_0, %v43_1, %v43_2 = mpt.layer_norm %v42, %l2_n0_gamma, %l2_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v44 = mpt.linear %v43_0, %l2_q_w, %l2_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v45 = mpt.linear %v43_0, %l2_k_w, %l2_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v46 = mpt.linear %v43_0, %l2_v_w, %l2_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v47 = mpt.reshape %v44
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v48 = mpt.transpose %v47 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v49 = mpt.reshape %v45
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v50 = mpt.transpose %v49 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v51 = mpt.reshape %v46
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v52 = mpt.transpose %v51 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v53_0, %v53_1 = mpt.attention %v48, %v50, %v52 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v54 = mpt.transpose %v53_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v55 = mpt.reshape %v54
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v56 = mpt.linear %v55, %l2_proj_w, %l2_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v57 = mpt.add %v42, %v56
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v58_0, %v58_1, %v58_2 = mpt.layer_norm %v57, %l2_n1_gamma, %l2_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v59 = mpt.linear %v58_0, %l2_up_w, %l2_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v60 = mpt.gelu %v59 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v61 = mpt.linear %v60, %l2_down_w, %l2_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v62 = mpt.add %v57, %v61
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v63_0, %v63_1, %v63_2 = mpt.layer_norm %v62, %l3_n0_gamma, %l3_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v64 = mpt.linear %v63_0, %l3_q_w, %l3_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v65 = mpt.linear %v63_0, %l3_k_w, %l3_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v66 = mpt.linear %v63_0, %l3_v_w, %l3_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v67 = mpt.reshape %v64
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v68 = mpt.transpose %v67 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v69 = mpt.reshape %v65
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v70 = mpt.transpose %v69 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v71 = mpt.reshape %v66
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v72 = mpt.transpose %v71 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v73_0, %v73_1 = mpt.attention %v68, %v70, %v72 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v74 = mpt.transpose %v73_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v75 = mpt.reshape %v74
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v76 = mpt.linear %v75, %l3_proj_w, %l3_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v77 = mpt.add %v62, %v76
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v78_0, %v78_1, %v78_2 = mpt.layer_norm %v77, %l3_n1_gamma, %l3_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v79 = mpt.linear %v78_0, %l3_up_w, %l3_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v80 = mpt.gelu %v79 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v81 = mpt.linear %v80, %l3_down_w, %l3_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v82 = mpt.add %v77, %v81
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v83_0, %v83_1, %v83_2 = mpt.layer_norm %v82, %last_gamma, %last_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v84 = mpt.linear %v83_0, %head_w, %head_b
      : (tensor<?x64x128xf32>, tensor<128x96xf32>, tensor<96xf32>) -> tensor<?x64x96xf32>
  %v85_0, %v85_1 = mpt.cross_entropy %v84, %y
      : (tensor<?x64x96xf32>, tensor<?x64xi32>) -> (tensor<f32>, tensor<?x64xf32>)
  %v86 = mpt.argmax %v84
      : (tensor<?x64x96xf32>) -> tensor<?x64xi32>
  %v87 = mpt.compare %v86, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?x64xi32>, tensor<?x64xi32>) -> tensor<?x64xi1>
  %v88 = mpt.cast %v87
      : (tensor<?x64xi1>) -> tensor<?x64xf32>
  %v89 = mpt.reduce %v88 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>}
      : (tensor<?x64xf32>) -> tensor<f32>
  return %v85_0
      : tensor<f32>
}

// The same network on held-out data.
func.func @eval(
    %tokens: tensor<96x128xf32> {mpt.name = "tokens", mpt.role = "parameter"},
    %positions: tensor<64x128xf32> {mpt.name = "positions", mpt.role = "parameter"},
    %l0_n0_gamma: tensor<128xf32> {mpt.name = "l0_n0_gamma", mpt.role = "parameter"},
    %l0_n0_beta: tensor<128xf32> {mpt.name = "l0_n0_beta", mpt.role = "parameter"},
    %l0_q_w: tensor<128x128xf32> {mpt.name = "l0_q_w", mpt.role = "parameter"},
    %l0_q_b: tensor<128xf32> {mpt.name = "l0_q_b", mpt.role = "parameter"},
    %l0_k_w: tensor<128x128xf32> {mpt.name = "l0_k_w", mpt.role = "parameter"},
    %l0_k_b: tensor<128xf32> {mpt.name = "l0_k_b", mpt.role = "parameter"},
    %l0_v_w: tensor<128x128xf32> {mpt.name = "l0_v_w", mpt.role = "parameter"},
    %l0_v_b: tensor<128xf32> {mpt.name = "l0_v_b", mpt.role = "parameter"},
    %l0_proj_w: tensor<128x128xf32> {mpt.name = "l0_proj_w", mpt.role = "parameter"},
    %l0_proj_b: tensor<128xf32> {mpt.name = "l0_proj_b", mpt.role = "parameter"},
    %l0_n1_gamma: tensor<128xf32> {mpt.name = "l0_n1_gamma", mpt.role = "parameter"},
    %l0_n1_beta: tensor<128xf32> {mpt.name = "l0_n1_beta", mpt.role = "parameter"},
    %l0_up_w: tensor<128x512xf32> {mpt.name = "l0_up_w", mpt.role = "parameter"},
    %l0_up_b: tensor<512xf32> {mpt.name = "l0_up_b", mpt.role = "parameter"},
    %l0_down_w: tensor<512x128xf32> {mpt.name = "l0_down_w", mpt.role = "parameter"},
    %l0_down_b: tensor<128xf32> {mpt.name = "l0_down_b", mpt.role = "parameter"},
    %l1_n0_gamma: tensor<128xf32> {mpt.name = "l1_n0_gamma", mpt.role = "parameter"},
    %l1_n0_beta: tensor<128xf32> {mpt.name = "l1_n0_beta", mpt.role = "parameter"},
    %l1_q_w: tensor<128x128xf32> {mpt.name = "l1_q_w", mpt.role = "parameter"},
    %l1_q_b: tensor<128xf32> {mpt.name = "l1_q_b", mpt.role = "parameter"},
    %l1_k_w: tensor<128x128xf32> {mpt.name = "l1_k_w", mpt.role = "parameter"},
    %l1_k_b: tensor<128xf32> {mpt.name = "l1_k_b", mpt.role = "parameter"},
    %l1_v_w: tensor<128x128xf32> {mpt.name = "l1_v_w", mpt.role = "parameter"},
    %l1_v_b: tensor<128xf32> {mpt.name = "l1_v_b", mpt.role = "parameter"},
    %l1_proj_w: tensor<128x128xf32> {mpt.name = "l1_proj_w", mpt.role = "parameter"},
    %l1_proj_b: tensor<128xf32> {mpt.name = "l1_proj_b", mpt.role = "parameter"},
    %l1_n1_gamma: tensor<128xf32> {mpt.name = "l1_n1_gamma", mpt.role = "parameter"},
    %l1_n1_beta: tensor<128xf32> {mpt.name = "l1_n1_beta", mpt.role = "parameter"},
    %l1_up_w: tensor<128x512xf32> {mpt.name = "l1_up_w", mpt.role = "parameter"},
    %l1_up_b: tensor<512xf32> {mpt.name = "l1_up_b", mpt.role = "parameter"},
    %l1_down_w: tensor<512x128xf32> {mpt.name = "l1_down_w", mpt.role = "parameter"},
    %l1_down_b: tensor<128xf32> {mpt.name = "l1_down_b", mpt.role = "parameter"},
    %l2_n0_gamma: tensor<128xf32> {mpt.name = "l2_n0_gamma", mpt.role = "parameter"},
    %l2_n0_beta: tensor<128xf32> {mpt.name = "l2_n0_beta", mpt.role = "parameter"},
    %l2_q_w: tensor<128x128xf32> {mpt.name = "l2_q_w", mpt.role = "parameter"},
    %l2_q_b: tensor<128xf32> {mpt.name = "l2_q_b", mpt.role = "parameter"},
    %l2_k_w: tensor<128x128xf32> {mpt.name = "l2_k_w", mpt.role = "parameter"},
    %l2_k_b: tensor<128xf32> {mpt.name = "l2_k_b", mpt.role = "parameter"},
    %l2_v_w: tensor<128x128xf32> {mpt.name = "l2_v_w", mpt.role = "parameter"},
    %l2_v_b: tensor<128xf32> {mpt.name = "l2_v_b", mpt.role = "parameter"},
    %l2_proj_w: tensor<128x128xf32> {mpt.name = "l2_proj_w", mpt.role = "parameter"},
    %l2_proj_b: tensor<128xf32> {mpt.name = "l2_proj_b", mpt.role = "parameter"},
    %l2_n1_gamma: tensor<128xf32> {mpt.name = "l2_n1_gamma", mpt.role = "parameter"},
    %l2_n1_beta: tensor<128xf32> {mpt.name = "l2_n1_beta", mpt.role = "parameter"},
    %l2_up_w: tensor<128x512xf32> {mpt.name = "l2_up_w", mpt.role = "parameter"},
    %l2_up_b: tensor<512xf32> {mpt.name = "l2_up_b", mpt.role = "parameter"},
    %l2_down_w: tensor<512x128xf32> {mpt.name = "l2_down_w", mpt.role = "parameter"},
    %l2_down_b: tensor<128xf32> {mpt.name = "l2_down_b", mpt.role = "parameter"},
    %l3_n0_gamma: tensor<128xf32> {mpt.name = "l3_n0_gamma", mpt.role = "parameter"},
    %l3_n0_beta: tensor<128xf32> {mpt.name = "l3_n0_beta", mpt.role = "parameter"},
    %l3_q_w: tensor<128x128xf32> {mpt.name = "l3_q_w", mpt.role = "parameter"},
    %l3_q_b: tensor<128xf32> {mpt.name = "l3_q_b", mpt.role = "parameter"},
    %l3_k_w: tensor<128x128xf32> {mpt.name = "l3_k_w", mpt.role = "parameter"},
    %l3_k_b: tensor<128xf32> {mpt.name = "l3_k_b", mpt.role = "parameter"},
    %l3_v_w: tensor<128x128xf32> {mpt.name = "l3_v_w", mpt.role = "parameter"},
    %l3_v_b: tensor<128xf32> {mpt.name = "l3_v_b", mpt.role = "parameter"},
    %l3_proj_w: tensor<128x128xf32> {mpt.name = "l3_proj_w", mpt.role = "parameter"},
    %l3_proj_b: tensor<128xf32> {mpt.name = "l3_proj_b", mpt.role = "parameter"},
    %l3_n1_gamma: tensor<128xf32> {mpt.name = "l3_n1_gamma", mpt.role = "parameter"},
    %l3_n1_beta: tensor<128xf32> {mpt.name = "l3_n1_beta", mpt.role = "parameter"},
    %l3_up_w: tensor<128x512xf32> {mpt.name = "l3_up_w", mpt.role = "parameter"},
    %l3_up_b: tensor<512xf32> {mpt.name = "l3_up_b", mpt.role = "parameter"},
    %l3_down_w: tensor<512x128xf32> {mpt.name = "l3_down_w", mpt.role = "parameter"},
    %l3_down_b: tensor<128xf32> {mpt.name = "l3_down_b", mpt.role = "parameter"},
    %last_gamma: tensor<128xf32> {mpt.name = "last_gamma", mpt.role = "parameter"},
    %last_beta: tensor<128xf32> {mpt.name = "last_beta", mpt.role = "parameter"},
    %head_w: tensor<128x96xf32> {mpt.name = "head_w", mpt.role = "parameter"},
    %head_b: tensor<96xf32> {mpt.name = "head_b", mpt.role = "parameter"},
    %x: tensor<?x64xi32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x64xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<f32> {mpt.name = "accuracy"}) {
  %v1 = mpt.gather %tokens, %x
      : (tensor<96x128xf32>, tensor<?x64xi32>) -> tensor<?x64x128xf32>
  %v2 = mpt.add %v1, %positions
      : (tensor<?x64x128xf32>, tensor<64x128xf32>) -> tensor<?x64x128xf32>
  %v3_0, %v3_1, %v3_2 = mpt.layer_norm %v2, %l0_n0_gamma, %l0_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v4 = mpt.linear %v3_0, %l0_q_w, %l0_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v5 = mpt.linear %v3_0, %l0_k_w, %l0_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v6 = mpt.linear %v3_0, %l0_v_w, %l0_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v7 = mpt.reshape %v4
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v8 = mpt.transpose %v7 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v9 = mpt.reshape %v5
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v10 = mpt.transpose %v9 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v11 = mpt.reshape %v6
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v12 = mpt.transpose %v11 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v13_0, %v13_1 = mpt.attention %v8, %v10, %v12 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v14 = mpt.transpose %v13_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v15 = mpt.reshape %v14
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v16 = mpt.linear %v15, %l0_proj_w, %l0_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v17 = mpt.add %v2, %v16
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v18_0, %v18_1, %v18_2 = mpt.layer_norm %v17, %l0_n1_gamma, %l0_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v19 = mpt.linear %v18_0, %l0_up_w, %l0_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v20 = mpt.gelu %v19 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v21 = mpt.linear %v20, %l0_down_w, %l0_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v22 = mpt.add %v17, %v21
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v23_0, %v23_1, %v23_2 = mpt.layer_norm %v22, %l1_n0_gamma, %l1_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v24 = mpt.linear %v23_0, %l1_q_w, %l1_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v25 = mpt.linear %v23_0, %l1_k_w, %l1_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v26 = mpt.linear %v23_0, %l1_v_w, %l1_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v27 = mpt.reshape %v24
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v28 = mpt.transpose %v27 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v29 = mpt.reshape %v25
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v30 = mpt.transpose %v29 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v31 = mpt.reshape %v26
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v32 = mpt.transpose %v31 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v33_0, %v33_1 = mpt.attention %v28, %v30, %v32 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v34 = mpt.transpose %v33_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v35 = mpt.reshape %v34
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v36 = mpt.linear %v35, %l1_proj_w, %l1_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v37 = mpt.add %v22, %v36
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v38_0, %v38_1, %v38_2 = mpt.layer_norm %v37, %l1_n1_gamma, %l1_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v39 = mpt.linear %v38_0, %l1_up_w, %l1_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v40 = mpt.gelu %v39 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v41 = mpt.linear %v40, %l1_down_w, %l1_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v42 = mpt.add %v37, %v41
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v43_0, %v43_1, %v43_2 = mpt.layer_norm %v42, %l2_n0_gamma, %l2_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v44 = mpt.linear %v43_0, %l2_q_w, %l2_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v45 = mpt.linear %v43_0, %l2_k_w, %l2_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v46 = mpt.linear %v43_0, %l2_v_w, %l2_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v47 = mpt.reshape %v44
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v48 = mpt.transpose %v47 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v49 = mpt.reshape %v45
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v50 = mpt.transpose %v49 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v51 = mpt.reshape %v46
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v52 = mpt.transpose %v51 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v53_0, %v53_1 = mpt.attention %v48, %v50, %v52 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v54 = mpt.transpose %v53_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v55 = mpt.reshape %v54
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v56 = mpt.linear %v55, %l2_proj_w, %l2_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v57 = mpt.add %v42, %v56
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v58_0, %v58_1, %v58_2 = mpt.layer_norm %v57, %l2_n1_gamma, %l2_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v59 = mpt.linear %v58_0, %l2_up_w, %l2_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v60 = mpt.gelu %v59 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v61 = mpt.linear %v60, %l2_down_w, %l2_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v62 = mpt.add %v57, %v61
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v63_0, %v63_1, %v63_2 = mpt.layer_norm %v62, %l3_n0_gamma, %l3_n0_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v64 = mpt.linear %v63_0, %l3_q_w, %l3_q_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v65 = mpt.linear %v63_0, %l3_k_w, %l3_k_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v66 = mpt.linear %v63_0, %l3_v_w, %l3_v_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v67 = mpt.reshape %v64
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v68 = mpt.transpose %v67 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v69 = mpt.reshape %v65
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v70 = mpt.transpose %v69 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v71 = mpt.reshape %v66
      : (tensor<?x64x128xf32>) -> tensor<?x64x4x32xf32>
  %v72 = mpt.transpose %v71 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x64x4x32xf32>) -> tensor<?x4x64x32xf32>
  %v73_0, %v73_1 = mpt.attention %v68, %v70, %v72 {causal}
      : (tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>, tensor<?x4x64x32xf32>) -> (tensor<?x4x64x32xf32>, tensor<?x4x64xf32>)
  %v74 = mpt.transpose %v73_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x64x32xf32>) -> tensor<?x64x4x32xf32>
  %v75 = mpt.reshape %v74
      : (tensor<?x64x4x32xf32>) -> tensor<?x64x128xf32>
  %v76 = mpt.linear %v75, %l3_proj_w, %l3_proj_b
      : (tensor<?x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v77 = mpt.add %v62, %v76
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v78_0, %v78_1, %v78_2 = mpt.layer_norm %v77, %l3_n1_gamma, %l3_n1_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v79 = mpt.linear %v78_0, %l3_up_w, %l3_up_b
      : (tensor<?x64x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x64x512xf32>
  %v80 = mpt.gelu %v79 {approximate = #mpt.gelu<tanh>}
      : (tensor<?x64x512xf32>) -> tensor<?x64x512xf32>
  %v81 = mpt.linear %v80, %l3_down_w, %l3_down_b
      : (tensor<?x64x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x64x128xf32>
  %v82 = mpt.add %v77, %v81
      : (tensor<?x64x128xf32>, tensor<?x64x128xf32>) -> tensor<?x64x128xf32>
  %v83_0, %v83_1, %v83_2 = mpt.layer_norm %v82, %last_gamma, %last_beta
      : (tensor<?x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x64x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
  %v84 = mpt.linear %v83_0, %head_w, %head_b
      : (tensor<?x64x128xf32>, tensor<128x96xf32>, tensor<96xf32>) -> tensor<?x64x96xf32>
  %v85_0, %v85_1 = mpt.cross_entropy %v84, %y
      : (tensor<?x64x96xf32>, tensor<?x64xi32>) -> (tensor<f32>, tensor<?x64xf32>)
  %v86 = mpt.argmax %v84
      : (tensor<?x64x96xf32>) -> tensor<?x64xi32>
  %v87 = mpt.compare %v86, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?x64xi32>, tensor<?x64xi32>) -> tensor<?x64xi1>
  %v88 = mpt.cast %v87
      : (tensor<?x64xi1>) -> tensor<?x64xf32>
  %v89 = mpt.reduce %v88 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>}
      : (tensor<?x64xf32>) -> tensor<f32>
  return %v85_0, %v89
      : tensor<f32>, tensor<f32>
}
