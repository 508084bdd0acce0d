// A dense layer's training step with 8-bit products; written by make_model.py.
func.func @step(
    %w: tensor<48x32xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0 : f64, std = 0.5 : f64}},
    %x8.scale: tensor<f32> {mpt.name = "x8.scale", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %x8.amax_history: tensor<16xf32> {mpt.name = "x8.amax_history", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %x8.f8: tensor<64x48xf8E4M3FN> {mpt.name = "x8.f8", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %w8.scale: tensor<f32> {mpt.name = "w8.scale", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %w8.amax_history: tensor<16xf32> {mpt.name = "w8.amax_history", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %w8.f8: tensor<48x32xf8E4M3FN> {mpt.name = "w8.f8", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %dy8.scale: tensor<f32> {mpt.name = "dy8.scale", mpt.role = "running_stat", mpt.init = {kind = "ones"}},
    %dy8.amax_history: tensor<16xf32> {mpt.name = "dy8.amax_history", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %dy8.f8: tensor<64x32xf8E5M2> {mpt.name = "dy8.f8", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %y: tensor<64x32xf32> {mpt.name = "y", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %dy: tensor<64x32xf32> {mpt.name = "dy", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %dw: tensor<48x32xf32> {mpt.name = "dw", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %dx: tensor<64x48xf32> {mpt.name = "dx", mpt.role = "running_stat", mpt.init = {kind = "zeros"}},
    %lr: tensor<f32> {mpt.name = "lr", mpt.role = "schedule", mpt.init = {kind = "constant", value = 0.1 : f64}},
    %x: tensor<64x48xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<64x32xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<f32> {mpt.name = "new_x8.scale", mpt.updates = "x8.scale"},
        tensor<16xf32> {mpt.name = "new_x8.amax_history", mpt.updates = "x8.amax_history"},
        tensor<64x48xf8E4M3FN> {mpt.name = "new_x8.f8", mpt.updates = "x8.f8"},
        tensor<f32> {mpt.name = "new_w8.scale", mpt.updates = "w8.scale"},
        tensor<16xf32> {mpt.name = "new_w8.amax_history", mpt.updates = "w8.amax_history"},
        tensor<48x32xf8E4M3FN> {mpt.name = "new_w8.f8", mpt.updates = "w8.f8"},
        tensor<f32> {mpt.name = "new_dy8.scale", mpt.updates = "dy8.scale"},
        tensor<16xf32> {mpt.name = "new_dy8.amax_history", mpt.updates = "dy8.amax_history"},
        tensor<64x32xf8E5M2> {mpt.name = "new_dy8.f8", mpt.updates = "dy8.f8"},
        tensor<64x32xf32> {mpt.name = "new_y", mpt.updates = "y"},
        tensor<64x32xf32> {mpt.name = "new_dy", mpt.updates = "dy"},
        tensor<48x32xf32> {mpt.name = "new_dw", mpt.updates = "dw"},
        tensor<64x48xf32> {mpt.name = "new_dx", mpt.updates = "dx"},
        tensor<48x32xf32> {mpt.name = "new_w", mpt.updates = "w"}) {
  %v1 = mpt.abs %x
      : (tensor<64x48xf32>) -> tensor<64x48xf32>
  %v2 = mpt.reduce %v1 {kind = #mpt.reduce_kind<max>, axes = array<i64: 0, 1>}
      : (tensor<64x48xf32>) -> tensor<f32>
  %v3 = mpt.reshape %v2
      : (tensor<f32>) -> tensor<1xf32>
  %v4 = mpt.slice %x8.amax_history {offsets = array<i64: 1>, sizes = array<i64: 15>, strides = array<i64: 1>}
      : (tensor<16xf32>) -> tensor<15xf32>
  %v5 = mpt.concat %v3, %v4 {axis = 0 : i64}
      : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
  %v6 = mpt.reduce %v5 {kind = #mpt.reduce_kind<max>, axes = array<i64: 0>}
      : (tensor<16xf32>) -> tensor<f32>
  %v7 = mpt.constant dense<448.0> : tensor<f32>
  %v8 = mpt.div %v7, %v6
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v9 = mpt.constant dense<1.0> : tensor<f32>
  %v10 = mpt.div %v8, %v9
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v11 = mpt.constant dense<3.4028234663852886e+38> : tensor<f32>
  %v12 = mpt.minimum %v10, %v11
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v13 = mpt.constant dense<0.0> : tensor<f32>
  %v14 = mpt.compare %v6, %v13 {predicate = #mpt.predicate<gt>}
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %v15 = mpt.is_finite %v6
      : (tensor<f32>) -> tensor<i1>
  %v16 = mpt.and %v14, %v15
      : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %v17 = mpt.where %v16, %v12, %x8.scale
      : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %v18 = mpt.constant dense<0.0> : tensor<1xf32>
  %v19 = mpt.slice %v5 {offsets = array<i64: 2>, sizes = array<i64: 14>, strides = array<i64: 1>}
      : (tensor<16xf32>) -> tensor<14xf32>
  %v20 = mpt.concat %v18, %v19, %v3 {axis = 0 : i64}
      : (tensor<1xf32>, tensor<14xf32>, tensor<1xf32>) -> tensor<16xf32>
  %v21 = mpt.constant dense<448.0> : tensor<f32>
  %v22 = mpt.mul %x, %x8.scale
      : (tensor<64x48xf32>, tensor<f32>) -> tensor<64x48xf32>
  %v23 = mpt.minimum %v22, %v21
      : (tensor<64x48xf32>, tensor<f32>) -> tensor<64x48xf32>
  %v24 = mpt.constant dense<-448.0> : tensor<f32>
  %v25 = mpt.maximum %v23, %v24
      : (tensor<64x48xf32>, tensor<f32>) -> tensor<64x48xf32>
  %v26 = mpt.cast %v25
      : (tensor<64x48xf32>) -> tensor<64x48xf8E4M3FN>
  %v27 = mpt.abs %w
      : (tensor<48x32xf32>) -> tensor<48x32xf32>
  %v28 = mpt.reduce %v27 {kind = #mpt.reduce_kind<max>, axes = array<i64: 0, 1>}
      : (tensor<48x32xf32>) -> tensor<f32>
  %v29 = mpt.reshape %v28
      : (tensor<f32>) -> tensor<1xf32>
  %v30 = mpt.slice %w8.amax_history {offsets = array<i64: 1>, sizes = array<i64: 15>, strides = array<i64: 1>}
      : (tensor<16xf32>) -> tensor<15xf32>
  %v31 = mpt.concat %v29, %v30 {axis = 0 : i64}
      : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
  %v32 = mpt.reduce %v31 {kind = #mpt.reduce_kind<max>, axes = array<i64: 0>}
      : (tensor<16xf32>) -> tensor<f32>
  %v33 = mpt.constant dense<448.0> : tensor<f32>
  %v34 = mpt.div %v33, %v32
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v35 = mpt.constant dense<1.0> : tensor<f32>
  %v36 = mpt.div %v34, %v35
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v37 = mpt.constant dense<3.4028234663852886e+38> : tensor<f32>
  %v38 = mpt.minimum %v36, %v37
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v39 = mpt.constant dense<0.0> : tensor<f32>
  %v40 = mpt.compare %v32, %v39 {predicate = #mpt.predicate<gt>}
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %v41 = mpt.is_finite %v32
      : (tensor<f32>) -> tensor<i1>
  %v42 = mpt.and %v40, %v41
      : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %v43 = mpt.where %v42, %v38, %w8.scale
      : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %v44 = mpt.constant dense<0.0> : tensor<1xf32>
  %v45 = mpt.slice %v31 {offsets = array<i64: 2>, sizes = array<i64: 14>, strides = array<i64: 1>}
      : (tensor<16xf32>) -> tensor<14xf32>
  %v46 = mpt.concat %v44, %v45, %v29 {axis = 0 : i64}
      : (tensor<1xf32>, tensor<14xf32>, tensor<1xf32>) -> tensor<16xf32>
  %v47 = mpt.constant dense<448.0> : tensor<f32>
  %v48 = mpt.mul %w, %w8.scale
      : (tensor<48x32xf32>, tensor<f32>) -> tensor<48x32xf32>
  %v49 = mpt.minimum %v48, %v47
      : (tensor<48x32xf32>, tensor<f32>) -> tensor<48x32xf32>
  %v50 = mpt.constant dense<-448.0> : tensor<f32>
  %v51 = mpt.maximum %v49, %v50
      : (tensor<48x32xf32>, tensor<f32>) -> tensor<48x32xf32>
  %v52 = mpt.cast %v51
      : (tensor<48x32xf32>) -> tensor<48x32xf8E4M3FN>
  %v53 = mpt.matmul %v26, %v52
      : (tensor<64x48xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<64x32xf32>
  %v54 = mpt.div %v53, %x8.scale
      : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %v55 = mpt.div %v54, %w8.scale
      : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %v56 = mpt.mse_loss %v55, %t
      : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<f32>
  %v57 = mpt.sub %v55, %t
      : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %v58 = mpt.constant dense<0.0009765625> : tensor<f32>
  %v59 = mpt.mul %v57, %v58
      : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %v60 = mpt.abs %v59
      : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %v61 = mpt.reduce %v60 {kind = #mpt.reduce_kind<max>, axes = array<i64: 0, 1>}
      : (tensor<64x32xf32>) -> tensor<f32>
  %v62 = mpt.reshape %v61
      : (tensor<f32>) -> tensor<1xf32>
  %v63 = mpt.slice %dy8.amax_history {offsets = array<i64: 1>, sizes = array<i64: 15>, strides = array<i64: 1>}
      : (tensor<16xf32>) -> tensor<15xf32>
  %v64 = mpt.concat %v62, %v63 {axis = 0 : i64}
      : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
  %v65 = mpt.reduce %v64 {kind = #mpt.reduce_kind<max>, axes = array<i64: 0>}
      : (tensor<16xf32>) -> tensor<f32>
  %v66 = mpt.constant dense<57344.0> : tensor<f32>
  %v67 = mpt.div %v66, %v65
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v68 = mpt.constant dense<1.0> : tensor<f32>
  %v69 = mpt.div %v67, %v68
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v70 = mpt.constant dense<3.4028234663852886e+38> : tensor<f32>
  %v71 = mpt.minimum %v69, %v70
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v72 = mpt.constant dense<0.0> : tensor<f32>
  %v73 = mpt.compare %v65, %v72 {predicate = #mpt.predicate<gt>}
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %v74 = mpt.is_finite %v65
      : (tensor<f32>) -> tensor<i1>
  %v75 = mpt.and %v73, %v74
      : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %v76 = mpt.where %v75, %v71, %dy8.scale
      : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %v77 = mpt.constant dense<0.0> : tensor<1xf32>
  %v78 = mpt.slice %v64 {offsets = array<i64: 2>, sizes = array<i64: 14>, strides = array<i64: 1>}
      : (tensor<16xf32>) -> tensor<14xf32>
  %v79 = mpt.concat %v77, %v78, %v62 {axis = 0 : i64}
      : (tensor<1xf32>, tensor<14xf32>, tensor<1xf32>) -> tensor<16xf32>
  %v80 = mpt.constant dense<57344.0> : tensor<f32>
  %v81 = mpt.mul %v59, %dy8.scale
      : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %v82 = mpt.minimum %v81, %v80
      : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %v83 = mpt.constant dense<-57344.0> : tensor<f32>
  %v84 = mpt.maximum %v82, %v83
      : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %v85 = mpt.cast %v84
      : (tensor<64x32xf32>) -> tensor<64x32xf8E5M2>
  %v86 = mpt.matmul %v26, %v85 {transpose_lhs}
      : (tensor<64x48xf8E4M3FN>, tensor<64x32xf8E5M2>) -> tensor<48x32xf32>
  %v87 = mpt.div %v86, %x8.scale
      : (tensor<48x32xf32>, tensor<f32>) -> tensor<48x32xf32>
  %v88 = mpt.div %v87, %dy8.scale
      : (tensor<48x32xf32>, tensor<f32>) -> tensor<48x32xf32>
  %v89 = mpt.matmul %v85, %v52 {transpose_rhs}
      : (tensor<64x32xf8E5M2>, tensor<48x32xf8E4M3FN>) -> tensor<64x48xf32>
  %v90 = mpt.div %v89, %dy8.scale
      : (tensor<64x48xf32>, tensor<f32>) -> tensor<64x48xf32>
  %v91 = mpt.div %v90, %w8.scale
      : (tensor<64x48xf32>, tensor<f32>) -> tensor<64x48xf32>
  %v92 = mpt.mul %v88, %lr
      : (tensor<48x32xf32>, tensor<f32>) -> tensor<48x32xf32>
  %v93 = mpt.sub %w, %v92
      : (tensor<48x32xf32>, tensor<48x32xf32>) -> tensor<48x32xf32>
  return %v56, %v17, %v20, %v26, %v43, %v46, %v52, %v76, %v79, %v85, %v55, %v59, %v88, %v91, %v93
      : tensor<f32>, tensor<f32>, tensor<16xf32>, tensor<64x48xf8E4M3FN>, tensor<f32>, tensor<16xf32>, tensor<48x32xf8E4M3FN>, tensor<f32>, tensor<16xf32>, tensor<64x32xf8E5M2>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<48x32xf32>, tensor<64x48xf32>, tensor<48x32xf32>
}
