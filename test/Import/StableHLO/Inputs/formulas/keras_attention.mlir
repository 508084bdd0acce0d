"builtin.module"() <{sym_name = "jit_loss"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<16x4x4xf32>, tensor<4x4xf32>, tensor<16x4x4xf32>, tensor<4x4xf32>, tensor<16x4x4xf32>, tensor<4x4xf32>, tensor<4x4x16xf32>, tensor<16xf32>, tensor<2x6x16xf32>, tensor<2x6x16xf32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x4x4xf32>, %arg1: tensor<4x4xf32>, %arg2: tensor<16x4x4xf32>, %arg3: tensor<4x4xf32>, %arg4: tensor<16x4x4xf32>, %arg5: tensor<4x4xf32>, %arg6: tensor<4x4x16xf32>, %arg7: tensor<16xf32>, %arg8: tensor<2x6x16xf32>, %arg9: tensor<2x6x16xf32>):
    %0 = "stablehlo.dot_general"(%arg8, %arg0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x16xf32>, tensor<16x4x4xf32>) -> tensor<2x6x4x4xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x4xf32>) -> tensor<2x6x4x4xf32>
    %3 = "stablehlo.add"(%0, %2) : (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
    %4 = "stablehlo.dot_general"(%arg9, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x16xf32>, tensor<16x4x4xf32>) -> tensor<2x6x4x4xf32>
    %5 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x4xf32>) -> tensor<2x6x4x4xf32>
    %7 = "stablehlo.add"(%4, %6) : (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
    %8 = "stablehlo.dot_general"(%arg9, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x16xf32>, tensor<16x4x4xf32>) -> tensor<2x6x4x4xf32>
    %9 = "stablehlo.broadcast_in_dim"(%arg5) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x4xf32>) -> tensor<2x6x4x4xf32>
    %11 = "stablehlo.add"(%8, %10) : (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
    %12 = "stablehlo.reshape"(%3) : (tensor<2x6x4x4xf32>) -> tensor<2x6x4x1x4xf32>
    %13 = "stablehlo.dot_general"(%12, %7) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x4x1x4xf32>, tensor<2x6x4x4xf32>) -> tensor<2x4x6x1x6xf32>
    %14 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x6x1x6xf32>
    %16 = "stablehlo.multiply"(%13, %15) : (tensor<2x4x6x1x6xf32>, tensor<2x4x6x1x6xf32>) -> tensor<2x4x6x1x6xf32>
    %17 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %18 = "stablehlo.reduce"(%16, %17) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %49 = "stablehlo.maximum"(%arg14, %arg15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%49) : (tensor<f32>) -> ()
    }) : (tensor<2x4x6x1x6xf32>, tensor<f32>) -> tensor<2x4x6x1xf32>
    %19 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x6x1xf32>
    %21 = "stablehlo.maximum"(%20, %18) : (tensor<2x4x6x1xf32>, tensor<2x4x6x1xf32>) -> tensor<2x4x6x1xf32>
    %22 = "stablehlo.transpose"(%21) <{permutation = array<i64: 3, 0, 1, 2>}> : (tensor<2x4x6x1xf32>) -> tensor<1x2x4x6xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x6xf32>) -> tensor<1x2x4x6x1xf32>
    %24 = "stablehlo.transpose"(%16) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x4x6x1x6xf32>) -> tensor<1x2x4x6x6xf32>
    %25 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x6x1xf32>) -> tensor<1x2x4x6x6xf32>
    %26 = "stablehlo.subtract"(%24, %25) : (tensor<1x2x4x6x6xf32>, tensor<1x2x4x6x6xf32>) -> tensor<1x2x4x6x6xf32>
    %27 = "stablehlo.exponential"(%26) : (tensor<1x2x4x6x6xf32>) -> tensor<1x2x4x6x6xf32>
    %28 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %29 = "stablehlo.reduce"(%27, %28) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg12: tensor<f32>, %arg13: tensor<f32>):
      %48 = "stablehlo.add"(%arg12, %arg13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%48) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x6x6xf32>, tensor<f32>) -> tensor<1x2x4x6xf32>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x6xf32>) -> tensor<1x2x4x6x1xf32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x6x1xf32>) -> tensor<1x2x4x6x6xf32>
    %32 = "stablehlo.divide"(%27, %31) : (tensor<1x2x4x6x6xf32>, tensor<1x2x4x6x6xf32>) -> tensor<1x2x4x6x6xf32>
    %33 = "stablehlo.dot_general"(%11, %32) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x4x4xf32>, tensor<1x2x4x6x6xf32>) -> tensor<2x4x4x1x6xf32>
    %34 = "stablehlo.transpose"(%33) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x4x4x1x6xf32>) -> tensor<1x2x6x4x4xf32>
    %35 = "stablehlo.transpose"(%34) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x2x6x4x4xf32>) -> tensor<2x6x4x1x4xf32>
    %36 = "stablehlo.reshape"(%35) : (tensor<2x6x4x1x4xf32>) -> tensor<2x6x4x4xf32>
    %37 = "stablehlo.dot_general"(%36, %arg6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x4x4xf32>, tensor<4x4x16xf32>) -> tensor<2x6x16xf32>
    %38 = "stablehlo.broadcast_in_dim"(%arg7) <{broadcast_dimensions = array<i64: 2>}> : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x16xf32>) -> tensor<2x6x16xf32>
    %40 = "stablehlo.add"(%37, %39) : (tensor<2x6x16xf32>, tensor<2x6x16xf32>) -> tensor<2x6x16xf32>
    %41 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<192xf32>
    %42 = "stablehlo.sine"(%41) : (tensor<192xf32>) -> tensor<192xf32>
    %43 = "stablehlo.reshape"(%42) : (tensor<192xf32>) -> tensor<2x6x16xf32>
    %44 = "stablehlo.multiply"(%40, %43) : (tensor<2x6x16xf32>, tensor<2x6x16xf32>) -> tensor<2x6x16xf32>
    %45 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %46 = "stablehlo.reduce"(%44, %45) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg10: tensor<f32>, %arg11: tensor<f32>):
      %47 = "stablehlo.add"(%arg10, %arg11) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%47) : (tensor<f32>) -> ()
    }) : (tensor<2x6x16xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%46) : (tensor<f32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

