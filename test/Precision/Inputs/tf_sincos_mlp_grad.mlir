"builtin.module"() ({
  "func.func"() <{arg_attrs = [{tf._user_specified_name = "p0_w"}, {tf._user_specified_name = "p1_b"}, {tf._user_specified_name = "p2_w"}, {tf._user_specified_name = "p3_b"}, {tf._user_specified_name = "p4_w"}, {tf._user_specified_name = "p5_b"}, {tf._user_specified_name = "x0_x"}, {tf._user_specified_name = "x1_y"}], function_type = (tensor<1x150xf32>, tensor<150xf32>, tensor<150x150xf32>, tensor<150xf32>, tensor<150x2xf32>, tensor<2xf32>, tensor<20000x1xf32>, tensor<20000x2xf32>) -> (tensor<f32>, tensor<1x150xf32>, tensor<150xf32>, tensor<150x150xf32>, tensor<150xf32>, tensor<150x2xf32>, tensor<2xf32>), sym_name = "__inference_sincos_mlp_grad_19685"}> ({
  ^bb0(%arg0: tensor<1x150xf32>, %arg1: tensor<150xf32>, %arg2: tensor<150x150xf32>, %arg3: tensor<150xf32>, %arg4: tensor<150x2xf32>, %arg5: tensor<2xf32>, %arg6: tensor<20000x1xf32>, %arg7: tensor<20000x2xf32>):
    %0 = "tf.Const"() <{value = dense<[0, 1]> : tensor<2xi32>}> {node = "Const"} : () -> tensor<2xi32>
    %1 = "tf.Const"() <{value = dense<[20000, 2]> : tensor<2xi32>}> {node = "gradients/Mean_grad/Const"} : () -> tensor<2xi32>
    %2 = "tf.Const"() <{value = dense<4.000000e+04> : tensor<f32>}> {node = "gradients/Mean_grad/Const_1"} : () -> tensor<f32>
    %3 = "tf.Const"() <{value = dense<1> : tensor<2xi32>}> {node = "gradients/Mean_grad/Reshape/shape"} : () -> tensor<2xi32>
    %4 = "tf.Const"() <{value = dense<> : tensor<0xi32>}> {node = "gradients/Shape"} : () -> tensor<0xi32>
    %5 = "tf.Const"() <{value = dense<1.000000e+00> : tensor<f32>}> {node = "gradients/grad_ys_0/Const"} : () -> tensor<f32>
    %6 = "tf.Fill"(%4, %5) {node = "gradients/grad_ys_0"} : (tensor<0xi32>, tensor<f32>) -> tensor<f32>
    %7 = "tf.Reshape"(%6, %3) {node = "gradients/Mean_grad/Reshape"} : (tensor<f32>, tensor<2xi32>) -> tensor<1x1xf32>
    %8 = "tf.Tile"(%7, %1) {node = "gradients/Mean_grad/Tile"} : (tensor<1x1xf32>, tensor<2xi32>) -> tensor<20000x2xf32>
    %9 = "tf.RealDiv"(%8, %2) {_has_manual_control_dependencies = true, node = "gradients/Mean_grad/truediv"} : (tensor<20000x2xf32>, tensor<f32>) -> tensor<20000x2xf32>
    %10 = "tf.Const"() <{value = dense<2.000000e+00> : tensor<f32>}> {node = "gradients/Square_grad/Const"} : () -> tensor<f32>
    %11 = "tf.MatMul"(%arg6, %arg0) <{grad_a = false, grad_b = false, transpose_a = false, transpose_b = false}> {node = "MatMul"} : (tensor<20000x1xf32>, tensor<1x150xf32>) -> tensor<20000x150xf32>
    %12 = "tf.BiasAdd"(%11, %arg1) <{data_format = "NHWC"}> {node = "BiasAdd"} : (tensor<20000x150xf32>, tensor<150xf32>) -> tensor<20000x150xf32>
    %13 = "tf.Tanh"(%12) {node = "Tanh"} : (tensor<20000x150xf32>) -> tensor<20000x150xf32>
    %14 = "tf.MatMul"(%13, %arg2) <{grad_a = false, grad_b = false, transpose_a = false, transpose_b = false}> {node = "MatMul_1"} : (tensor<20000x150xf32>, tensor<150x150xf32>) -> tensor<20000x150xf32>
    %15 = "tf.BiasAdd"(%14, %arg3) <{data_format = "NHWC"}> {node = "BiasAdd_1"} : (tensor<20000x150xf32>, tensor<150xf32>) -> tensor<20000x150xf32>
    %16 = "tf.Tanh"(%15) {node = "Tanh_1"} : (tensor<20000x150xf32>) -> tensor<20000x150xf32>
    %17 = "tf.MatMul"(%16, %arg4) <{grad_a = false, grad_b = false, transpose_a = false, transpose_b = false}> {node = "MatMul_2"} : (tensor<20000x150xf32>, tensor<150x2xf32>) -> tensor<20000x2xf32>
    %18 = "tf.BiasAdd"(%17, %arg5) <{data_format = "NHWC"}> {node = "BiasAdd_2"} : (tensor<20000x2xf32>, tensor<2xf32>) -> tensor<20000x2xf32>
    %19 = "tf.Sub"(%18, %arg7) {node = "sub"} : (tensor<20000x2xf32>, tensor<20000x2xf32>) -> tensor<20000x2xf32>
    %20 = "tf.Square"(%19) {node = "Square"} : (tensor<20000x2xf32>) -> tensor<20000x2xf32>
    %21 = "tf.Mean"(%20, %0) <{keep_dims = false}> {node = "Mean"} : (tensor<20000x2xf32>, tensor<2xi32>) -> tensor<f32>
    %22 = "tf.Identity"(%21) {node = "Identity"} : (tensor<f32>) -> tensor<f32>
    %23 = "tf.Mul"(%19, %10) {node = "gradients/Square_grad/Mul"} : (tensor<20000x2xf32>, tensor<f32>) -> tensor<20000x2xf32>
    %24 = "tf.Mul"(%23, %9) {node = "gradients/Square_grad/Mul_1"} : (tensor<20000x2xf32>, tensor<20000x2xf32>) -> tensor<20000x2xf32>
    %25 = "tf.BiasAddGrad"(%24) <{data_format = "NHWC"}> {node = "gradients/BiasAdd_2_grad/BiasAddGrad"} : (tensor<20000x2xf32>) -> tensor<2xf32>
    %26 = "tf.Identity"(%25) {node = "Identity_6"} : (tensor<2xf32>) -> tensor<2xf32>
    %27 = "tf.MatMul"(%24, %arg4) <{grad_a = true, grad_b = false, transpose_a = false, transpose_b = true}> {_has_manual_control_dependencies = true, node = "gradients/MatMul_2_grad/MatMul"} : (tensor<20000x2xf32>, tensor<150x2xf32>) -> tensor<20000x150xf32>
    %28 = "tf.TanhGrad"(%16, %27) {node = "gradients/Tanh_1_grad/TanhGrad"} : (tensor<20000x150xf32>, tensor<20000x150xf32>) -> tensor<20000x150xf32>
    %29 = "tf.BiasAddGrad"(%28) <{data_format = "NHWC"}> {node = "gradients/BiasAdd_1_grad/BiasAddGrad"} : (tensor<20000x150xf32>) -> tensor<150xf32>
    %30 = "tf.Identity"(%29) {node = "Identity_4"} : (tensor<150xf32>) -> tensor<150xf32>
    %31 = "tf.MatMul"(%28, %arg2) <{grad_a = true, grad_b = false, transpose_a = false, transpose_b = true}> {_has_manual_control_dependencies = true, node = "gradients/MatMul_1_grad/MatMul"} : (tensor<20000x150xf32>, tensor<150x150xf32>) -> tensor<20000x150xf32>
    %32 = "tf.TanhGrad"(%13, %31) {node = "gradients/Tanh_grad/TanhGrad"} : (tensor<20000x150xf32>, tensor<20000x150xf32>) -> tensor<20000x150xf32>
    %33 = "tf.BiasAddGrad"(%32) <{data_format = "NHWC"}> {node = "gradients/BiasAdd_grad/BiasAddGrad"} : (tensor<20000x150xf32>) -> tensor<150xf32>
    %34 = "tf.Identity"(%33) {node = "Identity_2"} : (tensor<150xf32>) -> tensor<150xf32>
    %35 = "tf.MatMul"(%arg6, %32) <{grad_a = false, grad_b = true, transpose_a = true, transpose_b = false}> {node = "gradients/MatMul_grad/MatMul_1"} : (tensor<20000x1xf32>, tensor<20000x150xf32>) -> tensor<1x150xf32>
    %36 = "tf.Identity"(%35) {node = "Identity_1"} : (tensor<1x150xf32>) -> tensor<1x150xf32>
    %37 = "tf.MatMul"(%13, %28) <{grad_a = false, grad_b = true, transpose_a = true, transpose_b = false}> {node = "gradients/MatMul_1_grad/MatMul_1"} : (tensor<20000x150xf32>, tensor<20000x150xf32>) -> tensor<150x150xf32>
    %38 = "tf.Identity"(%37) {node = "Identity_3"} : (tensor<150x150xf32>) -> tensor<150x150xf32>
    %39 = "tf.MatMul"(%16, %24) <{grad_a = false, grad_b = true, transpose_a = true, transpose_b = false}> {node = "gradients/MatMul_2_grad/MatMul_1"} : (tensor<20000x150xf32>, tensor<20000x2xf32>) -> tensor<150x2xf32>
    %40 = "tf.Identity"(%39) {node = "Identity_5"} : (tensor<150x2xf32>) -> tensor<150x2xf32>
    "func.return"(%22, %36, %34, %38, %30, %40, %26) : (tensor<f32>, tensor<1x150xf32>, tensor<150xf32>, tensor<150x150xf32>, tensor<150xf32>, tensor<150x2xf32>, tensor<2xf32>) -> ()
  }) {allow_soft_placement = false, tf.entry_function = {control_outputs = "", inputs = "p0_w,p1_b,p2_w,p3_b,p4_w,p5_b,x0_x,x1_y", outputs = "identity_RetVal,identity_1_RetVal,identity_2_RetVal,identity_3_RetVal,identity_4_RetVal,identity_5_RetVal,identity_6_RetVal"}} : () -> ()
}) {tf.versions = {bad_consumers = [], min_consumer = 0 : i32, producer = 2474 : i32}} : () -> ()

