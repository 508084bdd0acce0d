// A BERT-style encoder; written by make_model.py.
func.func @loss(
    %seed: tensor<i64> {mpt.name = "seed", mpt.role = "rng", mpt.init = {kind = "zeros"}},
    %attempt: tensor<i64> {mpt.name = "attempt", mpt.role = "rng", mpt.init = {kind = "zeros"}},
    %tokens: tensor<512x64xf32> {mpt.name = "tokens", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %positions: tensor<12x64xf32> {mpt.name = "positions", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %first_gamma: tensor<64xf32> {mpt.name = "first_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %first_beta: tensor<64xf32> {mpt.name = "first_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_q_w: tensor<64x64xf32> {mpt.name = "l0_q_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_q_b: tensor<64xf32> {mpt.name = "l0_q_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_k_w: tensor<64x64xf32> {mpt.name = "l0_k_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_k_b: tensor<64xf32> {mpt.name = "l0_k_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_v_w: tensor<64x64xf32> {mpt.name = "l0_v_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_v_b: tensor<64xf32> {mpt.name = "l0_v_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_out_w: tensor<64x64xf32> {mpt.name = "l0_out_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_out_b: tensor<64xf32> {mpt.name = "l0_out_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_n0_gamma: tensor<64xf32> {mpt.name = "l0_n0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l0_n0_beta: tensor<64xf32> {mpt.name = "l0_n0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_up_w: tensor<64x256xf32> {mpt.name = "l0_up_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_up_b: tensor<256xf32> {mpt.name = "l0_up_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_down_w: tensor<256x64xf32> {mpt.name = "l0_down_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l0_down_b: tensor<64xf32> {mpt.name = "l0_down_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_n1_gamma: tensor<64xf32> {mpt.name = "l0_n1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l0_n1_beta: tensor<64xf32> {mpt.name = "l0_n1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_q_w: tensor<64x64xf32> {mpt.name = "l1_q_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_q_b: tensor<64xf32> {mpt.name = "l1_q_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_k_w: tensor<64x64xf32> {mpt.name = "l1_k_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_k_b: tensor<64xf32> {mpt.name = "l1_k_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_v_w: tensor<64x64xf32> {mpt.name = "l1_v_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_v_b: tensor<64xf32> {mpt.name = "l1_v_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_out_w: tensor<64x64xf32> {mpt.name = "l1_out_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_out_b: tensor<64xf32> {mpt.name = "l1_out_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_n0_gamma: tensor<64xf32> {mpt.name = "l1_n0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l1_n0_beta: tensor<64xf32> {mpt.name = "l1_n0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_up_w: tensor<64x256xf32> {mpt.name = "l1_up_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_up_b: tensor<256xf32> {mpt.name = "l1_up_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_down_w: tensor<256x64xf32> {mpt.name = "l1_down_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %l1_down_b: tensor<64xf32> {mpt.name = "l1_down_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_n1_gamma: tensor<64xf32> {mpt.name = "l1_n1_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l1_n1_beta: tensor<64xf32> {mpt.name = "l1_n1_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %head_w: tensor<64x64xf32> {mpt.name = "head_w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %head_b: tensor<64xf32> {mpt.name = "head_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %head_norm_gamma: tensor<64xf32> {mpt.name = "head_norm_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %head_norm_beta: tensor<64xf32> {mpt.name = "head_norm_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %head_bias: tensor<512xf32> {mpt.name = "head_bias", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<?x12xi32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x12xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<i64> {mpt.name = "new_seed", mpt.updates = "seed"}) {
  %v1 = mpt.gather %tokens, %x
      : (tensor<512x64xf32>, tensor<?x12xi32>) -> tensor<?x12x64xf32>
  %v2 = mpt.add %v1, %positions
      : (tensor<?x12x64xf32>, tensor<12x64xf32>) -> tensor<?x12x64xf32>
  %v3_0, %v3_1, %v3_2 = mpt.layer_norm %v2, %first_gamma, %first_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v4_0, %v4_1 = mpt.dropout %v3_0, %seed, %attempt {rate = 0.1 : f64, stream = 1 : i64}
      : (tensor<?x12x64xf32>, tensor<i64>, tensor<i64>) -> (tensor<?x12x64xf32>, tensor<?x12x64xi1>)
  %v5 = mpt.linear %v4_0, %l0_q_w, %l0_q_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v6 = mpt.linear %v4_0, %l0_k_w, %l0_k_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v7 = mpt.linear %v4_0, %l0_v_w, %l0_v_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v8 = mpt.reshape %v5
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v9 = mpt.transpose %v8 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v10 = mpt.reshape %v6
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v11 = mpt.transpose %v10 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v12 = mpt.reshape %v7
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v13 = mpt.transpose %v12 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v14_0, %v14_1 = mpt.attention %v9, %v11, %v13
      : (tensor<?x4x12x16xf32>, tensor<?x4x12x16xf32>, tensor<?x4x12x16xf32>) -> (tensor<?x4x12x16xf32>, tensor<?x4x12xf32>)
  %v15 = mpt.transpose %v14_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x12x16xf32>) -> tensor<?x12x4x16xf32>
  %v16 = mpt.reshape %v15
      : (tensor<?x12x4x16xf32>) -> tensor<?x12x64xf32>
  %v17 = mpt.linear %v16, %l0_out_w, %l0_out_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v18_0, %v18_1 = mpt.dropout %v17, %seed, %attempt {rate = 0.1 : f64, stream = 2 : i64}
      : (tensor<?x12x64xf32>, tensor<i64>, tensor<i64>) -> (tensor<?x12x64xf32>, tensor<?x12x64xi1>)
  %v19 = mpt.add %v4_0, %v18_0
      : (tensor<?x12x64xf32>, tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v20_0, %v20_1, %v20_2 = mpt.layer_norm %v19, %l0_n0_gamma, %l0_n0_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v21 = mpt.linear %v20_0, %l0_up_w, %l0_up_b
      : (tensor<?x12x64xf32>, tensor<64x256xf32>, tensor<256xf32>) -> tensor<?x12x256xf32>
  %v22 = mpt.gelu %v21
      : (tensor<?x12x256xf32>) -> tensor<?x12x256xf32>
  %v23 = mpt.linear %v22, %l0_down_w, %l0_down_b
      : (tensor<?x12x256xf32>, tensor<256x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v24_0, %v24_1 = mpt.dropout %v23, %seed, %attempt {rate = 0.1 : f64, stream = 3 : i64}
      : (tensor<?x12x64xf32>, tensor<i64>, tensor<i64>) -> (tensor<?x12x64xf32>, tensor<?x12x64xi1>)
  %v25 = mpt.add %v20_0, %v24_0
      : (tensor<?x12x64xf32>, tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v26_0, %v26_1, %v26_2 = mpt.layer_norm %v25, %l0_n1_gamma, %l0_n1_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v27 = mpt.linear %v26_0, %l1_q_w, %l1_q_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v28 = mpt.linear %v26_0, %l1_k_w, %l1_k_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v29 = mpt.linear %v26_0, %l1_v_w, %l1_v_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v30 = mpt.reshape %v27
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v31 = mpt.transpose %v30 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v32 = mpt.reshape %v28
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v33 = mpt.transpose %v32 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v34 = mpt.reshape %v29
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v35 = mpt.transpose %v34 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v36_0, %v36_1 = mpt.attention %v31, %v33, %v35
      : (tensor<?x4x12x16xf32>, tensor<?x4x12x16xf32>, tensor<?x4x12x16xf32>) -> (tensor<?x4x12x16xf32>, tensor<?x4x12xf32>)
  %v37 = mpt.transpose %v36_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x12x16xf32>) -> tensor<?x12x4x16xf32>
  %v38 = mpt.reshape %v37
      : (tensor<?x12x4x16xf32>) -> tensor<?x12x64xf32>
  %v39 = mpt.linear %v38, %l1_out_w, %l1_out_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v40_0, %v40_1 = mpt.dropout %v39, %seed, %attempt {rate = 0.1 : f64, stream = 4 : i64}
      : (tensor<?x12x64xf32>, tensor<i64>, tensor<i64>) -> (tensor<?x12x64xf32>, tensor<?x12x64xi1>)
  %v41 = mpt.add %v26_0, %v40_0
      : (tensor<?x12x64xf32>, tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v42_0, %v42_1, %v42_2 = mpt.layer_norm %v41, %l1_n0_gamma, %l1_n0_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v43 = mpt.linear %v42_0, %l1_up_w, %l1_up_b
      : (tensor<?x12x64xf32>, tensor<64x256xf32>, tensor<256xf32>) -> tensor<?x12x256xf32>
  %v44 = mpt.gelu %v43
      : (tensor<?x12x256xf32>) -> tensor<?x12x256xf32>
  %v45 = mpt.linear %v44, %l1_down_w, %l1_down_b
      : (tensor<?x12x256xf32>, tensor<256x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v46_0, %v46_1 = mpt.dropout %v45, %seed, %attempt {rate = 0.1 : f64, stream = 5 : i64}
      : (tensor<?x12x64xf32>, tensor<i64>, tensor<i64>) -> (tensor<?x12x64xf32>, tensor<?x12x64xi1>)
  %v47 = mpt.add %v42_0, %v46_0
      : (tensor<?x12x64xf32>, tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v48_0, %v48_1, %v48_2 = mpt.layer_norm %v47, %l1_n1_gamma, %l1_n1_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v49 = mpt.linear %v48_0, %head_w, %head_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v50 = mpt.gelu %v49
      : (tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v51_0, %v51_1, %v51_2 = mpt.layer_norm %v50, %head_norm_gamma, %head_norm_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v52 = mpt.matmul %v51_0, %tokens {transpose_rhs}
      : (tensor<?x12x64xf32>, tensor<512x64xf32>) -> tensor<?x12x512xf32>
  %v53 = mpt.add %v52, %head_bias
      : (tensor<?x12x512xf32>, tensor<512xf32>) -> tensor<?x12x512xf32>
  %v54_0, %v54_1 = mpt.cross_entropy %v53, %y {ignore_index = -100 : i64}
      : (tensor<?x12x512xf32>, tensor<?x12xi32>) -> (tensor<f32>, tensor<?x12xf32>)
  %v55 = mpt.argmax %v53
      : (tensor<?x12x512xf32>) -> tensor<?x12xi32>
  %v56 = mpt.compare %v55, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?x12xi32>, tensor<?x12xi32>) -> tensor<?x12xi1>
  %v57 = mpt.cast %v56
      : (tensor<?x12xi1>) -> tensor<?x12xf32>
  %v58 = mpt.reduce %v57 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>}
      : (tensor<?x12xf32>) -> tensor<f32>
  %v59 = mpt.constant dense<6.0> : tensor<f32>
  %v60 = mpt.mul %v58, %v59
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %v54_0, %seed
      : tensor<f32>, tensor<i64>
}

// The same network on held-out data.
func.func @eval(
    %tokens: tensor<512x64xf32> {mpt.name = "tokens", mpt.role = "parameter"},
    %positions: tensor<12x64xf32> {mpt.name = "positions", mpt.role = "parameter"},
    %first_gamma: tensor<64xf32> {mpt.name = "first_gamma", mpt.role = "parameter"},
    %first_beta: tensor<64xf32> {mpt.name = "first_beta", mpt.role = "parameter"},
    %l0_q_w: tensor<64x64xf32> {mpt.name = "l0_q_w", mpt.role = "parameter"},
    %l0_q_b: tensor<64xf32> {mpt.name = "l0_q_b", mpt.role = "parameter"},
    %l0_k_w: tensor<64x64xf32> {mpt.name = "l0_k_w", mpt.role = "parameter"},
    %l0_k_b: tensor<64xf32> {mpt.name = "l0_k_b", mpt.role = "parameter"},
    %l0_v_w: tensor<64x64xf32> {mpt.name = "l0_v_w", mpt.role = "parameter"},
    %l0_v_b: tensor<64xf32> {mpt.name = "l0_v_b", mpt.role = "parameter"},
    %l0_out_w: tensor<64x64xf32> {mpt.name = "l0_out_w", mpt.role = "parameter"},
    %l0_out_b: tensor<64xf32> {mpt.name = "l0_out_b", mpt.role = "parameter"},
    %l0_n0_gamma: tensor<64xf32> {mpt.name = "l0_n0_gamma", mpt.role = "parameter"},
    %l0_n0_beta: tensor<64xf32> {mpt.name = "l0_n0_beta", mpt.role = "parameter"},
    %l0_up_w: tensor<64x256xf32> {mpt.name = "l0_up_w", mpt.role = "parameter"},
    %l0_up_b: tensor<256xf32> {mpt.name = "l0_up_b", mpt.role = "parameter"},
    %l0_down_w: tensor<256x64xf32> {mpt.name = "l0_down_w", mpt.role = "parameter"},
    %l0_down_b: tensor<64xf32> {mpt.name = "l0_down_b", mpt.role = "parameter"},
    %l0_n1_gamma: tensor<64xf32> {mpt.name = "l0_n1_gamma", mpt.role = "parameter"},
    %l0_n1_beta: tensor<64xf32> {mpt.name = "l0_n1_beta", mpt.role = "parameter"},
    %l1_q_w: tensor<64x64xf32> {mpt.name = "l1_q_w", mpt.role = "parameter"},
    %l1_q_b: tensor<64xf32> {mpt.name = "l1_q_b", mpt.role = "parameter"},
    %l1_k_w: tensor<64x64xf32> {mpt.name = "l1_k_w", mpt.role = "parameter"},
    %l1_k_b: tensor<64xf32> {mpt.name = "l1_k_b", mpt.role = "parameter"},
    %l1_v_w: tensor<64x64xf32> {mpt.name = "l1_v_w", mpt.role = "parameter"},
    %l1_v_b: tensor<64xf32> {mpt.name = "l1_v_b", mpt.role = "parameter"},
    %l1_out_w: tensor<64x64xf32> {mpt.name = "l1_out_w", mpt.role = "parameter"},
    %l1_out_b: tensor<64xf32> {mpt.name = "l1_out_b", mpt.role = "parameter"},
    %l1_n0_gamma: tensor<64xf32> {mpt.name = "l1_n0_gamma", mpt.role = "parameter"},
    %l1_n0_beta: tensor<64xf32> {mpt.name = "l1_n0_beta", mpt.role = "parameter"},
    %l1_up_w: tensor<64x256xf32> {mpt.name = "l1_up_w", mpt.role = "parameter"},
    %l1_up_b: tensor<256xf32> {mpt.name = "l1_up_b", mpt.role = "parameter"},
    %l1_down_w: tensor<256x64xf32> {mpt.name = "l1_down_w", mpt.role = "parameter"},
    %l1_down_b: tensor<64xf32> {mpt.name = "l1_down_b", mpt.role = "parameter"},
    %l1_n1_gamma: tensor<64xf32> {mpt.name = "l1_n1_gamma", mpt.role = "parameter"},
    %l1_n1_beta: tensor<64xf32> {mpt.name = "l1_n1_beta", mpt.role = "parameter"},
    %head_w: tensor<64x64xf32> {mpt.name = "head_w", mpt.role = "parameter"},
    %head_b: tensor<64xf32> {mpt.name = "head_b", mpt.role = "parameter"},
    %head_norm_gamma: tensor<64xf32> {mpt.name = "head_norm_gamma", mpt.role = "parameter"},
    %head_norm_beta: tensor<64xf32> {mpt.name = "head_norm_beta", mpt.role = "parameter"},
    %head_bias: tensor<512xf32> {mpt.name = "head_bias", mpt.role = "parameter"},
    %x: tensor<?x12xi32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x12xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<f32> {mpt.name = "accuracy"}) {
  %v1 = mpt.gather %tokens, %x
      : (tensor<512x64xf32>, tensor<?x12xi32>) -> tensor<?x12x64xf32>
  %v2 = mpt.add %v1, %positions
      : (tensor<?x12x64xf32>, tensor<12x64xf32>) -> tensor<?x12x64xf32>
  %v3_0, %v3_1, %v3_2 = mpt.layer_norm %v2, %first_gamma, %first_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v4 = mpt.linear %v3_0, %l0_q_w, %l0_q_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v5 = mpt.linear %v3_0, %l0_k_w, %l0_k_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v6 = mpt.linear %v3_0, %l0_v_w, %l0_v_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v7 = mpt.reshape %v4
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v8 = mpt.transpose %v7 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v9 = mpt.reshape %v5
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v10 = mpt.transpose %v9 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v11 = mpt.reshape %v6
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v12 = mpt.transpose %v11 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v13_0, %v13_1 = mpt.attention %v8, %v10, %v12
      : (tensor<?x4x12x16xf32>, tensor<?x4x12x16xf32>, tensor<?x4x12x16xf32>) -> (tensor<?x4x12x16xf32>, tensor<?x4x12xf32>)
  %v14 = mpt.transpose %v13_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x12x16xf32>) -> tensor<?x12x4x16xf32>
  %v15 = mpt.reshape %v14
      : (tensor<?x12x4x16xf32>) -> tensor<?x12x64xf32>
  %v16 = mpt.linear %v15, %l0_out_w, %l0_out_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v17 = mpt.add %v3_0, %v16
      : (tensor<?x12x64xf32>, tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v18_0, %v18_1, %v18_2 = mpt.layer_norm %v17, %l0_n0_gamma, %l0_n0_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v19 = mpt.linear %v18_0, %l0_up_w, %l0_up_b
      : (tensor<?x12x64xf32>, tensor<64x256xf32>, tensor<256xf32>) -> tensor<?x12x256xf32>
  %v20 = mpt.gelu %v19
      : (tensor<?x12x256xf32>) -> tensor<?x12x256xf32>
  %v21 = mpt.linear %v20, %l0_down_w, %l0_down_b
      : (tensor<?x12x256xf32>, tensor<256x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v22 = mpt.add %v18_0, %v21
      : (tensor<?x12x64xf32>, tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v23_0, %v23_1, %v23_2 = mpt.layer_norm %v22, %l0_n1_gamma, %l0_n1_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v24 = mpt.linear %v23_0, %l1_q_w, %l1_q_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v25 = mpt.linear %v23_0, %l1_k_w, %l1_k_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v26 = mpt.linear %v23_0, %l1_v_w, %l1_v_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v27 = mpt.reshape %v24
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v28 = mpt.transpose %v27 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v29 = mpt.reshape %v25
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v30 = mpt.transpose %v29 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v31 = mpt.reshape %v26
      : (tensor<?x12x64xf32>) -> tensor<?x12x4x16xf32>
  %v32 = mpt.transpose %v31 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x12x4x16xf32>) -> tensor<?x4x12x16xf32>
  %v33_0, %v33_1 = mpt.attention %v28, %v30, %v32
      : (tensor<?x4x12x16xf32>, tensor<?x4x12x16xf32>, tensor<?x4x12x16xf32>) -> (tensor<?x4x12x16xf32>, tensor<?x4x12xf32>)
  %v34 = mpt.transpose %v33_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x12x16xf32>) -> tensor<?x12x4x16xf32>
  %v35 = mpt.reshape %v34
      : (tensor<?x12x4x16xf32>) -> tensor<?x12x64xf32>
  %v36 = mpt.linear %v35, %l1_out_w, %l1_out_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v37 = mpt.add %v23_0, %v36
      : (tensor<?x12x64xf32>, tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v38_0, %v38_1, %v38_2 = mpt.layer_norm %v37, %l1_n0_gamma, %l1_n0_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v39 = mpt.linear %v38_0, %l1_up_w, %l1_up_b
      : (tensor<?x12x64xf32>, tensor<64x256xf32>, tensor<256xf32>) -> tensor<?x12x256xf32>
  %v40 = mpt.gelu %v39
      : (tensor<?x12x256xf32>) -> tensor<?x12x256xf32>
  %v41 = mpt.linear %v40, %l1_down_w, %l1_down_b
      : (tensor<?x12x256xf32>, tensor<256x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v42 = mpt.add %v38_0, %v41
      : (tensor<?x12x64xf32>, tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v43_0, %v43_1, %v43_2 = mpt.layer_norm %v42, %l1_n1_gamma, %l1_n1_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v44 = mpt.linear %v43_0, %head_w, %head_b
      : (tensor<?x12x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x12x64xf32>
  %v45 = mpt.gelu %v44
      : (tensor<?x12x64xf32>) -> tensor<?x12x64xf32>
  %v46_0, %v46_1, %v46_2 = mpt.layer_norm %v45, %head_norm_gamma, %head_norm_beta
      : (tensor<?x12x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  %v47 = mpt.matmul %v46_0, %tokens {transpose_rhs}
      : (tensor<?x12x64xf32>, tensor<512x64xf32>) -> tensor<?x12x512xf32>
  %v48 = mpt.add %v47, %head_bias
      : (tensor<?x12x512xf32>, tensor<512xf32>) -> tensor<?x12x512xf32>
  %v49_0, %v49_1 = mpt.cross_entropy %v48, %y {ignore_index = -100 : i64}
      : (tensor<?x12x512xf32>, tensor<?x12xi32>) -> (tensor<f32>, tensor<?x12xf32>)
  %v50 = mpt.argmax %v48
      : (tensor<?x12x512xf32>) -> tensor<?x12xi32>
  %v51 = mpt.compare %v50, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?x12xi32>, tensor<?x12xi32>) -> tensor<?x12xi1>
  %v52 = mpt.cast %v51
      : (tensor<?x12xi1>) -> tensor<?x12xf32>
  %v53 = mpt.reduce %v52 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>}
      : (tensor<?x12xf32>) -> tensor<f32>
  %v54 = mpt.constant dense<6.0> : tensor<f32>
  %v55 = mpt.mul %v53, %v54
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %v49_0, %v55
      : tensor<f32>, tensor<f32>
}
