"builtin.module"() ({
  "func.func"() <{arg_attrs = [{tf._user_specified_name = "p0_w"}, {tf._user_specified_name = "p1_b"}, {tf._user_specified_name = "p2_w"}, {tf._user_specified_name = "p3_b"}, {tf._user_specified_name = "p4_w"}, {tf._user_specified_name = "p5_b"}, {tf._user_specified_name = "p6_w"}, {tf._user_specified_name = "p7_b"}, {tf._user_specified_name = "x0_x"}, {tf._user_specified_name = "x1_y"}], function_type = (tensor<3x3x1x32xf32>, tensor<32xf32>, tensor<3x3x32x64xf32>, tensor<64xf32>, tensor<3136x128xf32>, tensor<128xf32>, tensor<128x10xf32>, tensor<10xf32>, tensor<64x28x28x1xf32>, tensor<64xi32>) -> (tensor<f32>, tensor<3x3x1x32xf32>, tensor<32xf32>, tensor<3x3x32x64xf32>, tensor<64xf32>, tensor<3136x128xf32>, tensor<128xf32>, tensor<128x10xf32>, tensor<10xf32>), sym_name = "__inference_mnist_cnn_grad_853"}> ({
  ^bb0(%arg0: tensor<3x3x1x32xf32>, %arg1: tensor<32xf32>, %arg2: tensor<3x3x32x64xf32>, %arg3: tensor<64xf32>, %arg4: tensor<3136x128xf32>, %arg5: tensor<128xf32>, %arg6: tensor<128x10xf32>, %arg7: tensor<10xf32>, %arg8: tensor<64x28x28x1xf32>, %arg9: tensor<64xi32>):
    %0 = "tf.Const"() <{value = dense<0> : tensor<1xi32>}> {node = "Const"} : () -> tensor<1xi32>
    %1 = "tf.Const"() <{value = dense<[64, 3136]> : tensor<2xi32>}> {node = "Reshape/shape"} : () -> tensor<2xi32>
    %2 = "tf.Const"() <{value = dense<64> : tensor<1xi32>}> {node = "gradients/Mean_grad/Const"} : () -> tensor<1xi32>
    %3 = "tf.Const"() <{value = dense<6.400000e+01> : tensor<f32>}> {node = "gradients/Mean_grad/Const_1"} : () -> tensor<f32>
    %4 = "tf.Const"() <{value = dense<1> : tensor<1xi32>}> {node = "gradients/Mean_grad/Reshape/shape"} : () -> tensor<1xi32>
    %5 = "tf.Const"() <{value = dense<[64, 7, 7, 64]> : tensor<4xi32>}> {node = "gradients/Reshape_grad/Shape"} : () -> tensor<4xi32>
    %6 = "tf.Const"() <{value = dense<> : tensor<0xi32>}> {node = "gradients/Shape"} : () -> tensor<0xi32>
    %7 = "tf.Const"() <{value = dense<-1> : tensor<i32>}> {node = "gradients/SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits_grad/ExpandDims/dim"} : () -> tensor<i32>
    %8 = "tf.Const"() <{value = dense<1.000000e+00> : tensor<f32>}> {node = "gradients/grad_ys_0/Const"} : () -> tensor<f32>
    %9 = "tf.Fill"(%6, %8) {node = "gradients/grad_ys_0"} : (tensor<0xi32>, tensor<f32>) -> tensor<f32>
    %10 = "tf.Reshape"(%9, %4) {node = "gradients/Mean_grad/Reshape"} : (tensor<f32>, tensor<1xi32>) -> tensor<1xf32>
    %11 = "tf.Tile"(%10, %2) {node = "gradients/Mean_grad/Tile"} : (tensor<1xf32>, tensor<1xi32>) -> tensor<64xf32>
    %12 = "tf.RealDiv"(%11, %3) {node = "gradients/Mean_grad/truediv"} : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
    %13 = "tf.ExpandDims"(%12, %7) {node = "gradients/SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits_grad/ExpandDims"} : (tensor<64xf32>, tensor<i32>) -> tensor<64x1xf32>
    %14 = "tf.Conv2D"(%arg8, %arg0) <{data_format = "NHWC", dilations = [1, 1, 1, 1], explicit_paddings = [], padding = "SAME", strides = [1, 1, 1, 1], use_cudnn_on_gpu = true}> {node = "Conv2D"} : (tensor<64x28x28x1xf32>, tensor<3x3x1x32xf32>) -> tensor<64x28x28x32xf32>
    %15 = "tf.BiasAdd"(%14, %arg1) <{data_format = "NHWC"}> {node = "BiasAdd"} : (tensor<64x28x28x32xf32>, tensor<32xf32>) -> tensor<64x28x28x32xf32>
    %16 = "tf.Relu"(%15) {node = "Relu"} : (tensor<64x28x28x32xf32>) -> tensor<64x28x28x32xf32>
    %17 = "tf.MaxPool"(%16) <{data_format = "NHWC", explicit_paddings = [], ksize = [1, 2, 2, 1], padding = "SAME", strides = [1, 2, 2, 1]}> {node = "MaxPool2d"} : (tensor<64x28x28x32xf32>) -> tensor<64x14x14x32xf32>
    %18 = "tf.Conv2D"(%17, %arg2) <{data_format = "NHWC", dilations = [1, 1, 1, 1], explicit_paddings = [], padding = "SAME", strides = [1, 1, 1, 1], use_cudnn_on_gpu = true}> {node = "Conv2D_1"} : (tensor<64x14x14x32xf32>, tensor<3x3x32x64xf32>) -> tensor<64x14x14x64xf32>
    %19 = "tf.BiasAdd"(%18, %arg3) <{data_format = "NHWC"}> {node = "BiasAdd_1"} : (tensor<64x14x14x64xf32>, tensor<64xf32>) -> tensor<64x14x14x64xf32>
    %20 = "tf.Relu"(%19) {node = "Relu_1"} : (tensor<64x14x14x64xf32>) -> tensor<64x14x14x64xf32>
    %21 = "tf.MaxPool"(%20) <{data_format = "NHWC", explicit_paddings = [], ksize = [1, 2, 2, 1], padding = "SAME", strides = [1, 2, 2, 1]}> {node = "MaxPool2d_1"} : (tensor<64x14x14x64xf32>) -> tensor<64x7x7x64xf32>
    %22 = "tf.Reshape"(%21, %1) {node = "Reshape"} : (tensor<64x7x7x64xf32>, tensor<2xi32>) -> tensor<64x3136xf32>
    %23 = "tf.MatMul"(%22, %arg4) <{grad_a = false, grad_b = false, transpose_a = false, transpose_b = false}> {node = "MatMul"} : (tensor<64x3136xf32>, tensor<3136x128xf32>) -> tensor<64x128xf32>
    %24 = "tf.BiasAdd"(%23, %arg5) <{data_format = "NHWC"}> {node = "BiasAdd_2"} : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
    %25 = "tf.Relu"(%24) {node = "Relu_2"} : (tensor<64x128xf32>) -> tensor<64x128xf32>
    %26 = "tf.MatMul"(%25, %arg6) <{grad_a = false, grad_b = false, transpose_a = false, transpose_b = false}> {node = "MatMul_1"} : (tensor<64x128xf32>, tensor<128x10xf32>) -> tensor<64x10xf32>
    %27 = "tf.BiasAdd"(%26, %arg7) <{data_format = "NHWC"}> {node = "BiasAdd_3"} : (tensor<64x10xf32>, tensor<10xf32>) -> tensor<64x10xf32>
    %28:2 = "tf.ShapeN"(%17, %arg2) {node = "gradients/Conv2D_1_grad/ShapeN"} : (tensor<64x14x14x32xf32>, tensor<3x3x32x64xf32>) -> (tensor<4xi32>, tensor<4xi32>)
    %29:2 = "tf.ShapeN"(%arg8, %arg0) {node = "gradients/Conv2D_grad/ShapeN"} : (tensor<64x28x28x1xf32>, tensor<3x3x1x32xf32>) -> (tensor<4xi32>, tensor<4xi32>)
    %30:2 = "tf.SparseSoftmaxCrossEntropyWithLogits"(%27, %arg9) {node = "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits"} : (tensor<64x10xf32>, tensor<64xi32>) -> (tensor<64xf32>, tensor<64x10xf32>)
    %31 = "tf.Mean"(%30#0, %0) <{keep_dims = false}> {node = "Mean"} : (tensor<64xf32>, tensor<1xi32>) -> tensor<f32>
    %32 = "tf.Identity"(%31) {node = "Identity"} : (tensor<f32>) -> tensor<f32>
    %33 = "tf.Mul"(%30#1, %13) {node = "gradients/SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits_grad/mul"} : (tensor<64x10xf32>, tensor<64x1xf32>) -> tensor<64x10xf32>
    %34 = "tf.BiasAddGrad"(%33) <{data_format = "NHWC"}> {node = "gradients/BiasAdd_3_grad/BiasAddGrad"} : (tensor<64x10xf32>) -> tensor<10xf32>
    %35 = "tf.Identity"(%34) {node = "Identity_8"} : (tensor<10xf32>) -> tensor<10xf32>
    %36 = "tf.MatMul"(%33, %arg6) <{grad_a = true, grad_b = false, transpose_a = false, transpose_b = true}> {node = "gradients/MatMul_1_grad/MatMul"} : (tensor<64x10xf32>, tensor<128x10xf32>) -> tensor<64x128xf32>
    %37 = "tf.ReluGrad"(%36, %25) {node = "gradients/Relu_2_grad/ReluGrad"} : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    %38 = "tf.BiasAddGrad"(%37) <{data_format = "NHWC"}> {node = "gradients/BiasAdd_2_grad/BiasAddGrad"} : (tensor<64x128xf32>) -> tensor<128xf32>
    %39 = "tf.Identity"(%38) {node = "Identity_6"} : (tensor<128xf32>) -> tensor<128xf32>
    %40 = "tf.MatMul"(%37, %arg4) <{grad_a = true, grad_b = false, transpose_a = false, transpose_b = true}> {node = "gradients/MatMul_grad/MatMul"} : (tensor<64x128xf32>, tensor<3136x128xf32>) -> tensor<64x3136xf32>
    %41 = "tf.Reshape"(%40, %5) {node = "gradients/Reshape_grad/Reshape"} : (tensor<64x3136xf32>, tensor<4xi32>) -> tensor<64x7x7x64xf32>
    %42 = "tf.MaxPoolGrad"(%20, %21, %41) <{data_format = "NHWC", explicit_paddings = [], ksize = [1, 2, 2, 1], padding = "SAME", strides = [1, 2, 2, 1]}> {node = "gradients/MaxPool2d_1_grad/MaxPoolGrad"} : (tensor<64x14x14x64xf32>, tensor<64x7x7x64xf32>, tensor<64x7x7x64xf32>) -> tensor<64x14x14x64xf32>
    %43 = "tf.ReluGrad"(%42, %20) {node = "gradients/Relu_1_grad/ReluGrad"} : (tensor<64x14x14x64xf32>, tensor<64x14x14x64xf32>) -> tensor<64x14x14x64xf32>
    %44 = "tf.BiasAddGrad"(%43) <{data_format = "NHWC"}> {node = "gradients/BiasAdd_1_grad/BiasAddGrad"} : (tensor<64x14x14x64xf32>) -> tensor<64xf32>
    %45 = "tf.Identity"(%44) {node = "Identity_4"} : (tensor<64xf32>) -> tensor<64xf32>
    %46 = "tf.Conv2DBackpropFilter"(%17, %28#1, %43) <{data_format = "NHWC", dilations = [1, 1, 1, 1], explicit_paddings = [], padding = "SAME", strides = [1, 1, 1, 1], use_cudnn_on_gpu = true}> {node = "gradients/Conv2D_1_grad/Conv2DBackpropFilter"} : (tensor<64x14x14x32xf32>, tensor<4xi32>, tensor<64x14x14x64xf32>) -> tensor<3x3x32x64xf32>
    %47 = "tf.Identity"(%46) {node = "Identity_3"} : (tensor<3x3x32x64xf32>) -> tensor<3x3x32x64xf32>
    %48 = "tf.Conv2DBackpropInput"(%28#0, %arg2, %43) <{data_format = "NHWC", dilations = [1, 1, 1, 1], explicit_paddings = [], padding = "SAME", strides = [1, 1, 1, 1], use_cudnn_on_gpu = true}> {node = "gradients/Conv2D_1_grad/Conv2DBackpropInput"} : (tensor<4xi32>, tensor<3x3x32x64xf32>, tensor<64x14x14x64xf32>) -> tensor<64x14x14x32xf32>
    %49 = "tf.MaxPoolGrad"(%16, %17, %48) <{data_format = "NHWC", explicit_paddings = [], ksize = [1, 2, 2, 1], padding = "SAME", strides = [1, 2, 2, 1]}> {node = "gradients/MaxPool2d_grad/MaxPoolGrad"} : (tensor<64x28x28x32xf32>, tensor<64x14x14x32xf32>, tensor<64x14x14x32xf32>) -> tensor<64x28x28x32xf32>
    %50 = "tf.ReluGrad"(%49, %16) {node = "gradients/Relu_grad/ReluGrad"} : (tensor<64x28x28x32xf32>, tensor<64x28x28x32xf32>) -> tensor<64x28x28x32xf32>
    %51 = "tf.BiasAddGrad"(%50) <{data_format = "NHWC"}> {node = "gradients/BiasAdd_grad/BiasAddGrad"} : (tensor<64x28x28x32xf32>) -> tensor<32xf32>
    %52 = "tf.Identity"(%51) {node = "Identity_2"} : (tensor<32xf32>) -> tensor<32xf32>
    %53 = "tf.Conv2DBackpropFilter"(%arg8, %29#1, %50) <{data_format = "NHWC", dilations = [1, 1, 1, 1], explicit_paddings = [], padding = "SAME", strides = [1, 1, 1, 1], use_cudnn_on_gpu = true}> {node = "gradients/Conv2D_grad/Conv2DBackpropFilter"} : (tensor<64x28x28x1xf32>, tensor<4xi32>, tensor<64x28x28x32xf32>) -> tensor<3x3x1x32xf32>
    %54 = "tf.Identity"(%53) {node = "Identity_1"} : (tensor<3x3x1x32xf32>) -> tensor<3x3x1x32xf32>
    %55 = "tf.MatMul"(%22, %37) <{grad_a = false, grad_b = true, transpose_a = true, transpose_b = false}> {node = "gradients/MatMul_grad/MatMul_1"} : (tensor<64x3136xf32>, tensor<64x128xf32>) -> tensor<3136x128xf32>
    %56 = "tf.Identity"(%55) {node = "Identity_5"} : (tensor<3136x128xf32>) -> tensor<3136x128xf32>
    %57 = "tf.MatMul"(%25, %33) <{grad_a = false, grad_b = true, transpose_a = true, transpose_b = false}> {node = "gradients/MatMul_1_grad/MatMul_1"} : (tensor<64x128xf32>, tensor<64x10xf32>) -> tensor<128x10xf32>
    %58 = "tf.Identity"(%57) {node = "Identity_7"} : (tensor<128x10xf32>) -> tensor<128x10xf32>
    "func.return"(%32, %54, %52, %47, %45, %56, %39, %58, %35) : (tensor<f32>, tensor<3x3x1x32xf32>, tensor<32xf32>, tensor<3x3x32x64xf32>, tensor<64xf32>, tensor<3136x128xf32>, tensor<128xf32>, tensor<128x10xf32>, tensor<10xf32>) -> ()
  }) {allow_soft_placement = false, tf.entry_function = {control_outputs = "", inputs = "p0_w,p1_b,p2_w,p3_b,p4_w,p5_b,p6_w,p7_b,x0_x,x1_y", outputs = "identity_RetVal,identity_1_RetVal,identity_2_RetVal,identity_3_RetVal,identity_4_RetVal,identity_5_RetVal,identity_6_RetVal,identity_7_RetVal,identity_8_RetVal"}} : () -> ()
}) {tf.versions = {bad_consumers = [], min_consumer = 0 : i32, producer = 2474 : i32}} : () -> ()

