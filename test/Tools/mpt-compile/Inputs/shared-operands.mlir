// Two layers whose query, key and value, of grouped heads, and whose gates share their left
// operands; rotated positions in the second, with weights as PyTorch has them; and a layer
// whose query, key and value are slices.
func.func @loss(
    %tokens: tensor<40x128xf32> {mpt.name = "tokens", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l0_n0_gamma: tensor<128xf32> {mpt.name = "l0_n0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l0_n0_beta: tensor<128xf32> {mpt.name = "l0_n0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l0_q: tensor<128x256xf32> {mpt.name = "l0_q", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l0_q_b: tensor<256xf32> {mpt.name = "l0_q_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l0_k: tensor<128x128xf32> {mpt.name = "l0_k", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l0_k_b: tensor<128xf32> {mpt.name = "l0_k_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l0_v: tensor<128x128xf32> {mpt.name = "l0_v", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l0_v_b: tensor<128xf32> {mpt.name = "l0_v_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l0_out: tensor<256x128xf32> {mpt.name = "l0_out", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l0_out_b: tensor<128xf32> {mpt.name = "l0_out_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l0_gate: tensor<128x192xf32> {mpt.name = "l0_gate", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l0_gate_b: tensor<192xf32> {mpt.name = "l0_gate_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l0_up: tensor<128x192xf32> {mpt.name = "l0_up", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l0_up_b: tensor<192xf32> {mpt.name = "l0_up_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l0_down: tensor<192x128xf32> {mpt.name = "l0_down", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l0_down_b: tensor<128xf32> {mpt.name = "l0_down_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l1_n0_gamma: tensor<128xf32> {mpt.name = "l1_n0_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %l1_n0_beta: tensor<128xf32> {mpt.name = "l1_n0_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %l1_q: tensor<256x128xf32> {mpt.name = "l1_q", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l1_q_b: tensor<256xf32> {mpt.name = "l1_q_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l1_k: tensor<128x128xf32> {mpt.name = "l1_k", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l1_k_b: tensor<128xf32> {mpt.name = "l1_k_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l1_v: tensor<128x128xf32> {mpt.name = "l1_v", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l1_v_b: tensor<128xf32> {mpt.name = "l1_v_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l1_out: tensor<128x256xf32> {mpt.name = "l1_out", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l1_out_b: tensor<128xf32> {mpt.name = "l1_out_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l1_gate: tensor<192x128xf32> {mpt.name = "l1_gate", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l1_gate_b: tensor<192xf32> {mpt.name = "l1_gate_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l1_up: tensor<192x128xf32> {mpt.name = "l1_up", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l1_up_b: tensor<192xf32> {mpt.name = "l1_up_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %l1_down: tensor<128x192xf32> {mpt.name = "l1_down", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %l1_down_b: tensor<128xf32> {mpt.name = "l1_down_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %qkv: tensor<128x384xf32> {mpt.name = "qkv", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %qkv_b: tensor<384xf32> {mpt.name = "qkv_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %last_gamma: tensor<128xf32> {mpt.name = "last_gamma", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %last_beta: tensor<128xf32> {mpt.name = "last_beta", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %head: tensor<128x40xf32> {mpt.name = "head", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.05 : f64}},
    %head_b: tensor<40xf32> {mpt.name = "head_b", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %x: tensor<?x24xi32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x24xi32> {mpt.name = "y", mpt.role = "target"},
    %cos: tensor<24x1x32xf32> {mpt.name = "cos", mpt.role = "input"},
    %sin: tensor<24x1x32xf32> {mpt.name = "sin", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %v1 = mpt.gather %tokens, %x
      : (tensor<40x128xf32>, tensor<?x24xi32>) -> tensor<?x24x128xf32>
  %v2_0, %v2_1, %v2_2 = mpt.layer_norm %v1, %l0_n0_gamma, %l0_n0_beta
      : (tensor<?x24x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x24x128xf32>, tensor<?x24xf32>, tensor<?x24xf32>)
  %v3 = mpt.linear %v2_0, %l0_q, %l0_q_b
      : (tensor<?x24x128xf32>, tensor<128x256xf32>, tensor<256xf32>) -> tensor<?x24x256xf32>
  %v4 = mpt.reshape %v3
      : (tensor<?x24x256xf32>) -> tensor<?x24x4x64xf32>
  %v5 = mpt.linear %v2_0, %l0_k, %l0_k_b
      : (tensor<?x24x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x24x128xf32>
  %v6 = mpt.reshape %v5
      : (tensor<?x24x128xf32>) -> tensor<?x24x2x64xf32>
  %v7 = mpt.linear %v2_0, %l0_v, %l0_v_b
      : (tensor<?x24x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x24x128xf32>
  %v8 = mpt.reshape %v7
      : (tensor<?x24x128xf32>) -> tensor<?x24x2x64xf32>
  %v9 = mpt.transpose %v4 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x24x4x64xf32>) -> tensor<?x4x24x64xf32>
  %v10 = mpt.transpose %v6 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x24x2x64xf32>) -> tensor<?x2x24x64xf32>
  %v11 = mpt.transpose %v8 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x24x2x64xf32>) -> tensor<?x2x24x64xf32>
  %v12_0, %v12_1 = mpt.attention %v9, %v10, %v11 {causal}
      : (tensor<?x4x24x64xf32>, tensor<?x2x24x64xf32>, tensor<?x2x24x64xf32>) -> (tensor<?x4x24x64xf32>, tensor<?x4x24xf32>)
  %v13 = mpt.transpose %v12_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x24x64xf32>) -> tensor<?x24x4x64xf32>
  %v14 = mpt.reshape %v13
      : (tensor<?x24x4x64xf32>) -> tensor<?x24x256xf32>
  %v15 = mpt.linear %v14, %l0_out, %l0_out_b
      : (tensor<?x24x256xf32>, tensor<256x128xf32>, tensor<128xf32>) -> tensor<?x24x128xf32>
  %v16 = mpt.add %v1, %v15
      : (tensor<?x24x128xf32>, tensor<?x24x128xf32>) -> tensor<?x24x128xf32>
  %v17 = mpt.linear %v16, %l0_gate, %l0_gate_b
      : (tensor<?x24x128xf32>, tensor<128x192xf32>, tensor<192xf32>) -> tensor<?x24x192xf32>
  %v18 = mpt.silu %v17
      : (tensor<?x24x192xf32>) -> tensor<?x24x192xf32>
  %v19 = mpt.linear %v16, %l0_up, %l0_up_b
      : (tensor<?x24x128xf32>, tensor<128x192xf32>, tensor<192xf32>) -> tensor<?x24x192xf32>
  %v20 = mpt.mul %v18, %v19
      : (tensor<?x24x192xf32>, tensor<?x24x192xf32>) -> tensor<?x24x192xf32>
  %v21 = mpt.linear %v20, %l0_down, %l0_down_b
      : (tensor<?x24x192xf32>, tensor<192x128xf32>, tensor<128xf32>) -> tensor<?x24x128xf32>
  %v22 = mpt.add %v16, %v21
      : (tensor<?x24x128xf32>, tensor<?x24x128xf32>) -> tensor<?x24x128xf32>
  %v23_0, %v23_1, %v23_2 = mpt.layer_norm %v22, %l1_n0_gamma, %l1_n0_beta
      : (tensor<?x24x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x24x128xf32>, tensor<?x24xf32>, tensor<?x24xf32>)
  %v24 = mpt.linear %v23_0, %l1_q, %l1_q_b {transpose_weight}
      : (tensor<?x24x128xf32>, tensor<256x128xf32>, tensor<256xf32>) -> tensor<?x24x256xf32>
  %v25 = mpt.reshape %v24
      : (tensor<?x24x256xf32>) -> tensor<?x24x4x64xf32>
  %v26 = mpt.linear %v23_0, %l1_k, %l1_k_b {transpose_weight}
      : (tensor<?x24x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x24x128xf32>
  %v27 = mpt.reshape %v26
      : (tensor<?x24x128xf32>) -> tensor<?x24x2x64xf32>
  %v28 = mpt.linear %v23_0, %l1_v, %l1_v_b {transpose_weight}
      : (tensor<?x24x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x24x128xf32>
  %v29 = mpt.reshape %v28
      : (tensor<?x24x128xf32>) -> tensor<?x24x2x64xf32>
  %v30 = mpt.slice %v25 {offsets = array<i64: 0, 0, 0, 0>, sizes = array<i64: -1, -1, -1, 32>, strides = array<i64: 1, 1, 1, 1>}
      : (tensor<?x24x4x64xf32>) -> tensor<?x24x4x32xf32>
  %v31 = mpt.slice %v25 {offsets = array<i64: 0, 0, 0, 32>, sizes = array<i64: -1, -1, -1, 32>, strides = array<i64: 1, 1, 1, 1>}
      : (tensor<?x24x4x64xf32>) -> tensor<?x24x4x32xf32>
  %v32 = mpt.mul %v30, %cos
      : (tensor<?x24x4x32xf32>, tensor<24x1x32xf32>) -> tensor<?x24x4x32xf32>
  %v33 = mpt.mul %v31, %sin
      : (tensor<?x24x4x32xf32>, tensor<24x1x32xf32>) -> tensor<?x24x4x32xf32>
  %v34 = mpt.sub %v32, %v33
      : (tensor<?x24x4x32xf32>, tensor<?x24x4x32xf32>) -> tensor<?x24x4x32xf32>
  %v35 = mpt.mul %v31, %cos
      : (tensor<?x24x4x32xf32>, tensor<24x1x32xf32>) -> tensor<?x24x4x32xf32>
  %v36 = mpt.mul %v30, %sin
      : (tensor<?x24x4x32xf32>, tensor<24x1x32xf32>) -> tensor<?x24x4x32xf32>
  %v37 = mpt.add %v35, %v36
      : (tensor<?x24x4x32xf32>, tensor<?x24x4x32xf32>) -> tensor<?x24x4x32xf32>
  %v38 = mpt.concat %v34, %v37 {axis = 3 : i64}
      : (tensor<?x24x4x32xf32>, tensor<?x24x4x32xf32>) -> tensor<?x24x4x64xf32>
  %v39 = mpt.slice %v27 {offsets = array<i64: 0, 0, 0, 0>, sizes = array<i64: -1, -1, -1, 32>, strides = array<i64: 1, 1, 1, 1>}
      : (tensor<?x24x2x64xf32>) -> tensor<?x24x2x32xf32>
  %v40 = mpt.slice %v27 {offsets = array<i64: 0, 0, 0, 32>, sizes = array<i64: -1, -1, -1, 32>, strides = array<i64: 1, 1, 1, 1>}
      : (tensor<?x24x2x64xf32>) -> tensor<?x24x2x32xf32>
  %v41 = mpt.mul %v39, %cos
      : (tensor<?x24x2x32xf32>, tensor<24x1x32xf32>) -> tensor<?x24x2x32xf32>
  %v42 = mpt.mul %v40, %sin
      : (tensor<?x24x2x32xf32>, tensor<24x1x32xf32>) -> tensor<?x24x2x32xf32>
  %v43 = mpt.sub %v41, %v42
      : (tensor<?x24x2x32xf32>, tensor<?x24x2x32xf32>) -> tensor<?x24x2x32xf32>
  %v44 = mpt.mul %v40, %cos
      : (tensor<?x24x2x32xf32>, tensor<24x1x32xf32>) -> tensor<?x24x2x32xf32>
  %v45 = mpt.mul %v39, %sin
      : (tensor<?x24x2x32xf32>, tensor<24x1x32xf32>) -> tensor<?x24x2x32xf32>
  %v46 = mpt.add %v44, %v45
      : (tensor<?x24x2x32xf32>, tensor<?x24x2x32xf32>) -> tensor<?x24x2x32xf32>
  %v47 = mpt.concat %v43, %v46 {axis = 3 : i64}
      : (tensor<?x24x2x32xf32>, tensor<?x24x2x32xf32>) -> tensor<?x24x2x64xf32>
  %v48 = mpt.transpose %v38 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x24x4x64xf32>) -> tensor<?x4x24x64xf32>
  %v49 = mpt.transpose %v47 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x24x2x64xf32>) -> tensor<?x2x24x64xf32>
  %v50 = mpt.transpose %v29 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x24x2x64xf32>) -> tensor<?x2x24x64xf32>
  %v51_0, %v51_1 = mpt.attention %v48, %v49, %v50 {causal}
      : (tensor<?x4x24x64xf32>, tensor<?x2x24x64xf32>, tensor<?x2x24x64xf32>) -> (tensor<?x4x24x64xf32>, tensor<?x4x24xf32>)
  %v52 = mpt.transpose %v51_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x24x64xf32>) -> tensor<?x24x4x64xf32>
  %v53 = mpt.reshape %v52
      : (tensor<?x24x4x64xf32>) -> tensor<?x24x256xf32>
  %v54 = mpt.linear %v53, %l1_out, %l1_out_b {transpose_weight}
      : (tensor<?x24x256xf32>, tensor<128x256xf32>, tensor<128xf32>) -> tensor<?x24x128xf32>
  %v55 = mpt.add %v22, %v54
      : (tensor<?x24x128xf32>, tensor<?x24x128xf32>) -> tensor<?x24x128xf32>
  %v56 = mpt.linear %v55, %l1_gate, %l1_gate_b {transpose_weight}
      : (tensor<?x24x128xf32>, tensor<192x128xf32>, tensor<192xf32>) -> tensor<?x24x192xf32>
  %v57 = mpt.silu %v56
      : (tensor<?x24x192xf32>) -> tensor<?x24x192xf32>
  %v58 = mpt.linear %v55, %l1_up, %l1_up_b {transpose_weight}
      : (tensor<?x24x128xf32>, tensor<192x128xf32>, tensor<192xf32>) -> tensor<?x24x192xf32>
  %v59 = mpt.mul %v57, %v58
      : (tensor<?x24x192xf32>, tensor<?x24x192xf32>) -> tensor<?x24x192xf32>
  %v60 = mpt.linear %v59, %l1_down, %l1_down_b {transpose_weight}
      : (tensor<?x24x192xf32>, tensor<128x192xf32>, tensor<128xf32>) -> tensor<?x24x128xf32>
  %v61 = mpt.add %v55, %v60
      : (tensor<?x24x128xf32>, tensor<?x24x128xf32>) -> tensor<?x24x128xf32>
  %v62 = mpt.linear %v61, %qkv, %qkv_b
      : (tensor<?x24x128xf32>, tensor<128x384xf32>, tensor<384xf32>) -> tensor<?x24x384xf32>
  %v63 = mpt.slice %v62 {offsets = array<i64: 0, 0, 0>, sizes = array<i64: -1, -1, 128>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x24x384xf32>) -> tensor<?x24x128xf32>
  %v64 = mpt.slice %v62 {offsets = array<i64: 0, 0, 128>, sizes = array<i64: -1, -1, 128>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x24x384xf32>) -> tensor<?x24x128xf32>
  %v65 = mpt.slice %v62 {offsets = array<i64: 0, 0, 256>, sizes = array<i64: -1, -1, 128>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x24x384xf32>) -> tensor<?x24x128xf32>
  %v66 = mpt.reshape %v63
      : (tensor<?x24x128xf32>) -> tensor<?x24x4x32xf32>
  %v67 = mpt.transpose %v66 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x24x4x32xf32>) -> tensor<?x4x24x32xf32>
  %v68 = mpt.reshape %v64
      : (tensor<?x24x128xf32>) -> tensor<?x24x4x32xf32>
  %v69 = mpt.transpose %v68 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x24x4x32xf32>) -> tensor<?x4x24x32xf32>
  %v70 = mpt.reshape %v65
      : (tensor<?x24x128xf32>) -> tensor<?x24x4x32xf32>
  %v71 = mpt.transpose %v70 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x24x4x32xf32>) -> tensor<?x4x24x32xf32>
  %v72_0, %v72_1 = mpt.attention %v67, %v69, %v71
      : (tensor<?x4x24x32xf32>, tensor<?x4x24x32xf32>, tensor<?x4x24x32xf32>) -> (tensor<?x4x24x32xf32>, tensor<?x4x24xf32>)
  %v73 = mpt.transpose %v72_0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<?x4x24x32xf32>) -> tensor<?x24x4x32xf32>
  %v74 = mpt.reshape %v73
      : (tensor<?x24x4x32xf32>) -> tensor<?x24x128xf32>
  %v75 = mpt.add %v61, %v74
      : (tensor<?x24x128xf32>, tensor<?x24x128xf32>) -> tensor<?x24x128xf32>
  %v76_0, %v76_1, %v76_2 = mpt.layer_norm %v75, %last_gamma, %last_beta
      : (tensor<?x24x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<?x24x128xf32>, tensor<?x24xf32>, tensor<?x24xf32>)
  %v77 = mpt.linear %v76_0, %head, %head_b
      : (tensor<?x24x128xf32>, tensor<128x40xf32>, tensor<40xf32>) -> tensor<?x24x40xf32>
  %v78_0, %v78_1 = mpt.cross_entropy %v77, %y
      : (tensor<?x24x40xf32>, tensor<?x24xi32>) -> (tensor<f32>, tensor<?x24xf32>)
  return %v78_0
      : tensor<f32>
}
