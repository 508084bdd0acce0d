// A character LSTM; written by make_model.py.
func.func @loss(
    %embeddings: tensor<96x64xf32> {mpt.name = "embeddings", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.1 : f64}},
    %cell_w: tensor<64x512xf32> {mpt.name = "cell_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 128 : i64}},
    %cell_u: tensor<128x512xf32> {mpt.name = "cell_u", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 128 : i64}},
    %cell_b: tensor<512xf32> {mpt.name = "cell_b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %head_w: tensor<128x96xf32> {mpt.name = "head_w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 128 : i64}},
    %head_b: tensor<96xf32> {mpt.name = "head_b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 128 : i64}},
    %x: tensor<?x32xi32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x32xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %v1 = mpt.constant dense<1.0> : tensor<128xf32>
  %v2 = mpt.pad %v1 {low = array<i64: 128>, high = array<i64: 256>, value = 0.0 : f64}
      : (tensor<128xf32>) -> tensor<512xf32>
  %v3 = mpt.add %cell_b, %v2
      : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
  %v4 = mpt.gather %embeddings, %x
      : (tensor<96x64xf32>, tensor<?x32xi32>) -> tensor<?x32x64xf32>
  %v5 = mpt.constant dense<0.0> : tensor<1x128xf32>
  %v6 = mpt.broadcast %v5
      : (tensor<1x128xf32>) -> tensor<?x128xf32>
  %v7 = mpt.slice %v4 {offsets = array<i64: 0, 0, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v8 = mpt.reshape %v7
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v9_0, %v9_1, %v9_2 = mpt.lstm_cell %v8, %v6, %v6, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v10 = mpt.reshape %v9_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v11 = mpt.slice %v4 {offsets = array<i64: 0, 1, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v12 = mpt.reshape %v11
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v13_0, %v13_1, %v13_2 = mpt.lstm_cell %v12, %v9_0, %v9_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v14 = mpt.reshape %v13_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v15 = mpt.slice %v4 {offsets = array<i64: 0, 2, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v16 = mpt.reshape %v15
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v17_0, %v17_1, %v17_2 = mpt.lstm_cell %v16, %v13_0, %v13_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v18 = mpt.reshape %v17_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v19 = mpt.slice %v4 {offsets = array<i64: 0, 3, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v20 = mpt.reshape %v19
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v21_0, %v21_1, %v21_2 = mpt.lstm_cell %v20, %v17_0, %v17_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v22 = mpt.reshape %v21_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v23 = mpt.slice %v4 {offsets = array<i64: 0, 4, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v24 = mpt.reshape %v23
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v25_0, %v25_1, %v25_2 = mpt.lstm_cell %v24, %v21_0, %v21_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v26 = mpt.reshape %v25_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v27 = mpt.slice %v4 {offsets = array<i64: 0, 5, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v28 = mpt.reshape %v27
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v29_0, %v29_1, %v29_2 = mpt.lstm_cell %v28, %v25_0, %v25_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v30 = mpt.reshape %v29_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v31 = mpt.slice %v4 {offsets = array<i64: 0, 6, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v32 = mpt.reshape %v31
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v33_0, %v33_1, %v33_2 = mpt.lstm_cell %v32, %v29_0, %v29_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v34 = mpt.reshape %v33_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v35 = mpt.slice %v4 {offsets = array<i64: 0, 7, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v36 = mpt.reshape %v35
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v37_0, %v37_1, %v37_2 = mpt.lstm_cell %v36, %v33_0, %v33_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v38 = mpt.reshape %v37_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v39 = mpt.slice %v4 {offsets = array<i64: 0, 8, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v40 = mpt.reshape %v39
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v41_0, %v41_1, %v41_2 = mpt.lstm_cell %v40, %v37_0, %v37_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v42 = mpt.reshape %v41_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v43 = mpt.slice %v4 {offsets = array<i64: 0, 9, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v44 = mpt.reshape %v43
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v45_0, %v45_1, %v45_2 = mpt.lstm_cell %v44, %v41_0, %v41_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v46 = mpt.reshape %v45_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v47 = mpt.slice %v4 {offsets = array<i64: 0, 10, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v48 = mpt.reshape %v47
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v49_0, %v49_1, %v49_2 = mpt.lstm_cell %v48, %v45_0, %v45_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v50 = mpt.reshape %v49_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v51 = mpt.slice %v4 {offsets = array<i64: 0, 11, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v52 = mpt.reshape %v51
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v53_0, %v53_1, %v53_2 = mpt.lstm_cell %v52, %v49_0, %v49_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v54 = mpt.reshape %v53_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v55 = mpt.slice %v4 {offsets = array<i64: 0, 12, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v56 = mpt.reshape %v55
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v57_0, %v57_1, %v57_2 = mpt.lstm_cell %v56, %v53_0, %v53_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v58 = mpt.reshape %v57_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v59 = mpt.slice %v4 {offsets = array<i64: 0, 13, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v60 = mpt.reshape %v59
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v61_0, %v61_1, %v61_2 = mpt.lstm_cell %v60, %v57_0, %v57_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v62 = mpt.reshape %v61_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v63 = mpt.slice %v4 {offsets = array<i64: 0, 14, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v64 = mpt.reshape %v63
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v65_0, %v65_1, %v65_2 = mpt.lstm_cell %v64, %v61_0, %v61_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v66 = mpt.reshape %v65_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v67 = mpt.slice %v4 {offsets = array<i64: 0, 15, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v68 = mpt.reshape %v67
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v69_0, %v69_1, %v69_2 = mpt.lstm_cell %v68, %v65_0, %v65_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v70 = mpt.reshape %v69_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v71 = mpt.slice %v4 {offsets = array<i64: 0, 16, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v72 = mpt.reshape %v71
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v73_0, %v73_1, %v73_2 = mpt.lstm_cell %v72, %v69_0, %v69_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v74 = mpt.reshape %v73_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v75 = mpt.slice %v4 {offsets = array<i64: 0, 17, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v76 = mpt.reshape %v75
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v77_0, %v77_1, %v77_2 = mpt.lstm_cell %v76, %v73_0, %v73_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v78 = mpt.reshape %v77_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v79 = mpt.slice %v4 {offsets = array<i64: 0, 18, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v80 = mpt.reshape %v79
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v81_0, %v81_1, %v81_2 = mpt.lstm_cell %v80, %v77_0, %v77_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v82 = mpt.reshape %v81_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v83 = mpt.slice %v4 {offsets = array<i64: 0, 19, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v84 = mpt.reshape %v83
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v85_0, %v85_1, %v85_2 = mpt.lstm_cell %v84, %v81_0, %v81_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v86 = mpt.reshape %v85_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v87 = mpt.slice %v4 {offsets = array<i64: 0, 20, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v88 = mpt.reshape %v87
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v89_0, %v89_1, %v89_2 = mpt.lstm_cell %v88, %v85_0, %v85_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v90 = mpt.reshape %v89_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v91 = mpt.slice %v4 {offsets = array<i64: 0, 21, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v92 = mpt.reshape %v91
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v93_0, %v93_1, %v93_2 = mpt.lstm_cell %v92, %v89_0, %v89_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v94 = mpt.reshape %v93_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v95 = mpt.slice %v4 {offsets = array<i64: 0, 22, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v96 = mpt.reshape %v95
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v97_0, %v97_1, %v97_2 = mpt.lstm_cell %v96, %v93_0, %v93_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v98 = mpt.reshape %v97_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v99 = mpt.slice %v4 {offsets = array<i64: 0, 23, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v100 = mpt.reshape %v99
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v101_0, %v101_1, %v101_2 = mpt.lstm_cell %v100, %v97_0, %v97_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v102 = mpt.reshape %v101_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v103 = mpt.slice %v4 {offsets = array<i64: 0, 24, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v104 = mpt.reshape %v103
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v105_0, %v105_1, %v105_2 = mpt.lstm_cell %v104, %v101_0, %v101_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v106 = mpt.reshape %v105_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v107 = mpt.slice %v4 {offsets = array<i64: 0, 25, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v108 = mpt.reshape %v107
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v109_0, %v109_1, %v109_2 = mpt.lstm_cell %v108, %v105_0, %v105_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v110 = mpt.reshape %v109_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v111 = mpt.slice %v4 {offsets = array<i64: 0, 26, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v112 = mpt.reshape %v111
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v113_0, %v113_1, %v113_2 = mpt.lstm_cell %v112, %v109_0, %v109_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v114 = mpt.reshape %v113_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v115 = mpt.slice %v4 {offsets = array<i64: 0, 27, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v116 = mpt.reshape %v115
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v117_0, %v117_1, %v117_2 = mpt.lstm_cell %v116, %v113_0, %v113_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v118 = mpt.reshape %v117_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v119 = mpt.slice %v4 {offsets = array<i64: 0, 28, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v120 = mpt.reshape %v119
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v121_0, %v121_1, %v121_2 = mpt.lstm_cell %v120, %v117_0, %v117_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v122 = mpt.reshape %v121_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v123 = mpt.slice %v4 {offsets = array<i64: 0, 29, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v124 = mpt.reshape %v123
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v125_0, %v125_1, %v125_2 = mpt.lstm_cell %v124, %v121_0, %v121_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v126 = mpt.reshape %v125_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v127 = mpt.slice %v4 {offsets = array<i64: 0, 30, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v128 = mpt.reshape %v127
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v129_0, %v129_1, %v129_2 = mpt.lstm_cell %v128, %v125_0, %v125_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v130 = mpt.reshape %v129_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v131 = mpt.slice %v4 {offsets = array<i64: 0, 31, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v132 = mpt.reshape %v131
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v133_0, %v133_1, %v133_2 = mpt.lstm_cell %v132, %v129_0, %v129_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v134 = mpt.reshape %v133_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v135 = mpt.concat %v10, %v14, %v18, %v22, %v26, %v30, %v34, %v38, %v42, %v46, %v50, %v54, %v58, %v62, %v66, %v70, %v74, %v78, %v82, %v86, %v90, %v94, %v98, %v102, %v106, %v110, %v114, %v118, %v122, %v126, %v130, %v134 {axis = 1 : i64}
      : (tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>) -> tensor<?x32x128xf32>
  %v136 = mpt.linear %v135, %head_w, %head_b
      : (tensor<?x32x128xf32>, tensor<128x96xf32>, tensor<96xf32>) -> tensor<?x32x96xf32>
  %v137_0, %v137_1 = mpt.cross_entropy %v136, %y
      : (tensor<?x32x96xf32>, tensor<?x32xi32>) -> (tensor<f32>, tensor<?x32xf32>)
  %v138 = mpt.argmax %v136
      : (tensor<?x32x96xf32>) -> tensor<?x32xi32>
  %v139 = mpt.compare %v138, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?x32xi32>, tensor<?x32xi32>) -> tensor<?x32xi1>
  %v140 = mpt.cast %v139
      : (tensor<?x32xi1>) -> tensor<?x32xf32>
  %v141 = mpt.reduce %v140 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>}
      : (tensor<?x32xf32>) -> tensor<f32>
  return %v137_0
      : tensor<f32>
}

// The same network on held-out data.
func.func @eval(
    %embeddings: tensor<96x64xf32> {mpt.name = "embeddings", mpt.role = "parameter"},
    %cell_w: tensor<64x512xf32> {mpt.name = "cell_w", mpt.role = "parameter"},
    %cell_u: tensor<128x512xf32> {mpt.name = "cell_u", mpt.role = "parameter"},
    %cell_b: tensor<512xf32> {mpt.name = "cell_b", mpt.role = "parameter"},
    %head_w: tensor<128x96xf32> {mpt.name = "head_w", mpt.role = "parameter"},
    %head_b: tensor<96xf32> {mpt.name = "head_b", mpt.role = "parameter"},
    %x: tensor<?x32xi32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<?x32xi32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<f32> {mpt.name = "accuracy"}) {
  %v1 = mpt.constant dense<1.0> : tensor<128xf32>
  %v2 = mpt.pad %v1 {low = array<i64: 128>, high = array<i64: 256>, value = 0.0 : f64}
      : (tensor<128xf32>) -> tensor<512xf32>
  %v3 = mpt.add %cell_b, %v2
      : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
  %v4 = mpt.gather %embeddings, %x
      : (tensor<96x64xf32>, tensor<?x32xi32>) -> tensor<?x32x64xf32>
  %v5 = mpt.constant dense<0.0> : tensor<1x128xf32>
  %v6 = mpt.broadcast %v5
      : (tensor<1x128xf32>) -> tensor<?x128xf32>
  %v7 = mpt.slice %v4 {offsets = array<i64: 0, 0, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v8 = mpt.reshape %v7
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v9_0, %v9_1, %v9_2 = mpt.lstm_cell %v8, %v6, %v6, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v10 = mpt.reshape %v9_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v11 = mpt.slice %v4 {offsets = array<i64: 0, 1, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v12 = mpt.reshape %v11
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v13_0, %v13_1, %v13_2 = mpt.lstm_cell %v12, %v9_0, %v9_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v14 = mpt.reshape %v13_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v15 = mpt.slice %v4 {offsets = array<i64: 0, 2, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v16 = mpt.reshape %v15
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v17_0, %v17_1, %v17_2 = mpt.lstm_cell %v16, %v13_0, %v13_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v18 = mpt.reshape %v17_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v19 = mpt.slice %v4 {offsets = array<i64: 0, 3, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v20 = mpt.reshape %v19
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v21_0, %v21_1, %v21_2 = mpt.lstm_cell %v20, %v17_0, %v17_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v22 = mpt.reshape %v21_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v23 = mpt.slice %v4 {offsets = array<i64: 0, 4, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v24 = mpt.reshape %v23
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v25_0, %v25_1, %v25_2 = mpt.lstm_cell %v24, %v21_0, %v21_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v26 = mpt.reshape %v25_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v27 = mpt.slice %v4 {offsets = array<i64: 0, 5, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v28 = mpt.reshape %v27
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v29_0, %v29_1, %v29_2 = mpt.lstm_cell %v28, %v25_0, %v25_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v30 = mpt.reshape %v29_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v31 = mpt.slice %v4 {offsets = array<i64: 0, 6, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v32 = mpt.reshape %v31
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v33_0, %v33_1, %v33_2 = mpt.lstm_cell %v32, %v29_0, %v29_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v34 = mpt.reshape %v33_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v35 = mpt.slice %v4 {offsets = array<i64: 0, 7, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v36 = mpt.reshape %v35
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v37_0, %v37_1, %v37_2 = mpt.lstm_cell %v36, %v33_0, %v33_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v38 = mpt.reshape %v37_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v39 = mpt.slice %v4 {offsets = array<i64: 0, 8, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v40 = mpt.reshape %v39
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v41_0, %v41_1, %v41_2 = mpt.lstm_cell %v40, %v37_0, %v37_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v42 = mpt.reshape %v41_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v43 = mpt.slice %v4 {offsets = array<i64: 0, 9, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v44 = mpt.reshape %v43
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v45_0, %v45_1, %v45_2 = mpt.lstm_cell %v44, %v41_0, %v41_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v46 = mpt.reshape %v45_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v47 = mpt.slice %v4 {offsets = array<i64: 0, 10, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v48 = mpt.reshape %v47
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v49_0, %v49_1, %v49_2 = mpt.lstm_cell %v48, %v45_0, %v45_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v50 = mpt.reshape %v49_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v51 = mpt.slice %v4 {offsets = array<i64: 0, 11, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v52 = mpt.reshape %v51
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v53_0, %v53_1, %v53_2 = mpt.lstm_cell %v52, %v49_0, %v49_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v54 = mpt.reshape %v53_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v55 = mpt.slice %v4 {offsets = array<i64: 0, 12, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v56 = mpt.reshape %v55
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v57_0, %v57_1, %v57_2 = mpt.lstm_cell %v56, %v53_0, %v53_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v58 = mpt.reshape %v57_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v59 = mpt.slice %v4 {offsets = array<i64: 0, 13, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v60 = mpt.reshape %v59
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v61_0, %v61_1, %v61_2 = mpt.lstm_cell %v60, %v57_0, %v57_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v62 = mpt.reshape %v61_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v63 = mpt.slice %v4 {offsets = array<i64: 0, 14, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v64 = mpt.reshape %v63
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v65_0, %v65_1, %v65_2 = mpt.lstm_cell %v64, %v61_0, %v61_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v66 = mpt.reshape %v65_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v67 = mpt.slice %v4 {offsets = array<i64: 0, 15, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v68 = mpt.reshape %v67
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v69_0, %v69_1, %v69_2 = mpt.lstm_cell %v68, %v65_0, %v65_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v70 = mpt.reshape %v69_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v71 = mpt.slice %v4 {offsets = array<i64: 0, 16, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v72 = mpt.reshape %v71
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v73_0, %v73_1, %v73_2 = mpt.lstm_cell %v72, %v69_0, %v69_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v74 = mpt.reshape %v73_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v75 = mpt.slice %v4 {offsets = array<i64: 0, 17, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v76 = mpt.reshape %v75
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v77_0, %v77_1, %v77_2 = mpt.lstm_cell %v76, %v73_0, %v73_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v78 = mpt.reshape %v77_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v79 = mpt.slice %v4 {offsets = array<i64: 0, 18, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v80 = mpt.reshape %v79
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v81_0, %v81_1, %v81_2 = mpt.lstm_cell %v80, %v77_0, %v77_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v82 = mpt.reshape %v81_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v83 = mpt.slice %v4 {offsets = array<i64: 0, 19, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v84 = mpt.reshape %v83
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v85_0, %v85_1, %v85_2 = mpt.lstm_cell %v84, %v81_0, %v81_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v86 = mpt.reshape %v85_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v87 = mpt.slice %v4 {offsets = array<i64: 0, 20, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v88 = mpt.reshape %v87
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v89_0, %v89_1, %v89_2 = mpt.lstm_cell %v88, %v85_0, %v85_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v90 = mpt.reshape %v89_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v91 = mpt.slice %v4 {offsets = array<i64: 0, 21, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v92 = mpt.reshape %v91
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v93_0, %v93_1, %v93_2 = mpt.lstm_cell %v92, %v89_0, %v89_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v94 = mpt.reshape %v93_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v95 = mpt.slice %v4 {offsets = array<i64: 0, 22, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v96 = mpt.reshape %v95
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v97_0, %v97_1, %v97_2 = mpt.lstm_cell %v96, %v93_0, %v93_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v98 = mpt.reshape %v97_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v99 = mpt.slice %v4 {offsets = array<i64: 0, 23, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v100 = mpt.reshape %v99
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v101_0, %v101_1, %v101_2 = mpt.lstm_cell %v100, %v97_0, %v97_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v102 = mpt.reshape %v101_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v103 = mpt.slice %v4 {offsets = array<i64: 0, 24, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v104 = mpt.reshape %v103
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v105_0, %v105_1, %v105_2 = mpt.lstm_cell %v104, %v101_0, %v101_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v106 = mpt.reshape %v105_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v107 = mpt.slice %v4 {offsets = array<i64: 0, 25, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v108 = mpt.reshape %v107
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v109_0, %v109_1, %v109_2 = mpt.lstm_cell %v108, %v105_0, %v105_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v110 = mpt.reshape %v109_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v111 = mpt.slice %v4 {offsets = array<i64: 0, 26, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v112 = mpt.reshape %v111
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v113_0, %v113_1, %v113_2 = mpt.lstm_cell %v112, %v109_0, %v109_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v114 = mpt.reshape %v113_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v115 = mpt.slice %v4 {offsets = array<i64: 0, 27, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v116 = mpt.reshape %v115
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v117_0, %v117_1, %v117_2 = mpt.lstm_cell %v116, %v113_0, %v113_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v118 = mpt.reshape %v117_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v119 = mpt.slice %v4 {offsets = array<i64: 0, 28, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v120 = mpt.reshape %v119
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v121_0, %v121_1, %v121_2 = mpt.lstm_cell %v120, %v117_0, %v117_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v122 = mpt.reshape %v121_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v123 = mpt.slice %v4 {offsets = array<i64: 0, 29, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v124 = mpt.reshape %v123
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v125_0, %v125_1, %v125_2 = mpt.lstm_cell %v124, %v121_0, %v121_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v126 = mpt.reshape %v125_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v127 = mpt.slice %v4 {offsets = array<i64: 0, 30, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v128 = mpt.reshape %v127
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v129_0, %v129_1, %v129_2 = mpt.lstm_cell %v128, %v125_0, %v125_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v130 = mpt.reshape %v129_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v131 = mpt.slice %v4 {offsets = array<i64: 0, 31, 0>, sizes = array<i64: -1, 1, -1>, strides = array<i64: 1, 1, 1>}
      : (tensor<?x32x64xf32>) -> tensor<?x1x64xf32>
  %v132 = mpt.reshape %v131
      : (tensor<?x1x64xf32>) -> tensor<?x64xf32>
  %v133_0, %v133_1, %v133_2 = mpt.lstm_cell %v132, %v129_0, %v129_1, %cell_w, %cell_u, %v3
      : (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x128xf32>, tensor<64x512xf32>, tensor<128x512xf32>, tensor<512xf32>) -> (tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x512xf32>)
  %v134 = mpt.reshape %v133_0
      : (tensor<?x128xf32>) -> tensor<?x1x128xf32>
  %v135 = mpt.concat %v10, %v14, %v18, %v22, %v26, %v30, %v34, %v38, %v42, %v46, %v50, %v54, %v58, %v62, %v66, %v70, %v74, %v78, %v82, %v86, %v90, %v94, %v98, %v102, %v106, %v110, %v114, %v118, %v122, %v126, %v130, %v134 {axis = 1 : i64}
      : (tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>) -> tensor<?x32x128xf32>
  %v136 = mpt.linear %v135, %head_w, %head_b
      : (tensor<?x32x128xf32>, tensor<128x96xf32>, tensor<96xf32>) -> tensor<?x32x96xf32>
  %v137_0, %v137_1 = mpt.cross_entropy %v136, %y
      : (tensor<?x32x96xf32>, tensor<?x32xi32>) -> (tensor<f32>, tensor<?x32xf32>)
  %v138 = mpt.argmax %v136
      : (tensor<?x32x96xf32>) -> tensor<?x32xi32>
  %v139 = mpt.compare %v138, %y {predicate = #mpt.predicate<eq>}
      : (tensor<?x32xi32>, tensor<?x32xi32>) -> tensor<?x32xi1>
  %v140 = mpt.cast %v139
      : (tensor<?x32xi1>) -> tensor<?x32xf32>
  %v141 = mpt.reduce %v140 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>}
      : (tensor<?x32xf32>) -> tensor<f32>
  return %v137_0, %v141
      : tensor<f32>, tensor<f32>
}
